import type { Register as Body } from "../../client/api.ts";
import { call } from "../api.ts";
import { useAction } from "../parts/action.ts";
import { Form, SelectField, TextField } from "../parts/form.tsx";
import { Loaded, useLoad } from "../parts/load.tsx";
import { Name, say, Title } from "../parts/text.tsx";
import { go, path } from "../router.ts";
import { session } from "../session.ts";
import { stored } from "../storage.ts";
import type { Here } from "./here.ts";

const SIZES = [
  ["", "(not said)"],
  ["small", "small"],
  ["medium", "medium"],
  ["large", "large"],
  ["enterprise", "enterprise"],
] as const;

/** What the reader registered in this tab: a rejected registration leaves no trace that they could read. */
const registered = stored<{ slug: string; name: string }>("registered");

/** They were told to come back later. */
export function Rejected({ here: { me } }: { here: Here }) {
  const found = registered.read();
  if (!found || me.tenants.some(({ slug }) => slug === found.slug)) return null;
  return (
    <p class="note warn">
      The registration of <Name>{found.name}</Name> was not approved, or was removed since: there is no
      organization <code>{found.slug}</code> of yours. Ask an operator of this deployment why; you can
      register again.
    </p>
  );
}

/** For people who belong nowhere yet. */
export function Register({ here }: { here: Here }) {
  const status = useLoad("registration", signal => call("getRegistrationStatus", undefined, { signal }));
  return (
    <>
      <Rejected here={here} />
      <Title id="register">
        {here.me.tenants.length > 0 ? "Register an organization" : "You belong to no organization yet"}
      </Title>
      {here.me.tenants.length === 0 && (
        <p class="lead">
          Have a member invite you and open the link that they send, or register an organization of your own.
        </p>
      )}
      <Loaded of={status}>
        {({ body: { enabled, requires_approval, allowed_domains } }) =>
          enabled ? (
            <Fields approval={requires_approval} domains={allowed_domains} here={here} />
          ) : (
            <p class="note">Registration is switched off here.</p>
          )
        }
      </Loaded>
    </>
  );
}

function Fields({ approval, domains, here }: { approval: boolean; domains: string[] | null; here: Here }) {
  const action = useAction();
  const email = session.get()?.claims.email;
  const register = (fields: Record<string, string>) =>
    action.run(async () => {
      const { organization_slug: slug = "", ...rest } = fields;
      const given = Object.fromEntries(Object.entries(rest).filter(([, text]) => text.trim() !== ""));
      const body = { ...given, ...(slug && { organization_slug: slug }) } as unknown as Body;
      const { body: made } = await call("registerTenant", { body });
      say(made.status === "pending" ? "Registered. An operator has to approve it" : "Registered");
      registered.write({ slug: made.tenant_slug, name: made.organization_name });
      here.reload();
      go(path(["org", made.tenant_slug]));
    });
  return (
    <div class="panel narrow">
      {approval && <p class="note">An operator approves it before anybody gets in.</p>}
      <Form action={action} submit="Register" onSubmit={register}>
        <TextField label="Name of the organization" name="organization_name" required maxLength={255} />
        <TextField
          label="Slug"
          name="organization_slug"
          hint="Optional. The short name in requests and addresses: lower-case letters, digits, hyphens. Without one it is made from the name."
        />
        <TextField
          label="Your e-mail"
          name="admin_email"
          type="email"
          required
          value={typeof email === "string" ? email : ""}
          hint={domains ? `Of one of these domains: ${domains.join(", ")}` : undefined}
        />
        <TextField label="Your name" name="admin_name" maxLength={255} />
        <TextField label="What for" name="use_case" rows={3} />
        <SelectField label="Size" name="organization_size" options={SIZES} />
      </Form>
    </div>
  );
}
