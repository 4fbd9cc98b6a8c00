import { useState } from "preact/hooks";
import { call } from "../api.ts";
import { useAction } from "../parts/action.ts";
import { Form, TextField } from "../parts/form.tsx";
import { say, Title } from "../parts/text.tsx";
import { go, path } from "../router.ts";
import { settings } from "../settings.ts";
import { randomId } from "../storage.ts";

const slugOf = (name: string) =>
  name
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, 255);

export function NewTenant() {
  const action = useAction();
  const [name, setName] = useState("");
  const [slug, setSlug] = useState("");
  /** The same for a second press after a lost answer. */
  const [key] = useState(() => randomId());
  const create = ({ samples, owner }: Record<string, string>) =>
    action.run(async () => {
      const body = {
        name,
        slug: slug || slugOf(name),
        include_sample_data: samples === "on",
        ...(owner?.trim() && { owner: { auth_subject: owner.trim() } }),
      };
      const { body: made } = await call("createTenant", { headers: { "Idempotency-Key": key }, body });
      say(`${made.name} is created`);
      go(path(["tenant", made.tenant_id]));
    });
  return (
    <>
      <p class="crumb">
        <a href="#/tenants">Tenants</a>
      </p>
      <Title id="new">New tenant</Title>
      <div class="panel narrow">
        <Form action={action} submit="Create tenant" onSubmit={create}>
          <TextField label="Name" name="name" required maxLength={255} value={name} onInput={setName} />
          <TextField
            label="Slug"
            name="slug"
            value={slug}
            onInput={setSlug}
            placeholder={slugOf(name)}
            hint="The short name in requests (X-Tenant) and addresses: lower-case letters, digits, hyphens. Without one it is made from the name."
          />
          <TextField
            label="First owner"
            name="owner"
            field="owner.auth_subject"
            maxLength={255}
            hint="Their subject: the “sub” of their token, as the identity provider names the account. Unknown? Leave it empty, and invite them by a link afterwards."
          />
          {settings.sampleData && (
            <label class="check">
              <input type="checkbox" name="samples" /> With sample data
            </label>
          )}
        </Form>
      </div>
    </>
  );
}
