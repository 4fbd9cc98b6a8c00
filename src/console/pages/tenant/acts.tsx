import { useState } from "preact/hooks";
import type { TenantDetails } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { useAction } from "../../parts/action.ts";
import { Cancel } from "../../parts/dialog.tsx";
import { Dialog, Form, TextField } from "../../parts/form.tsx";
import { Name, say } from "../../parts/text.tsx";
import { AskReason } from "../reason.tsx";
import type { Open } from "./open.ts";

interface Props {
  load: Open;
  tenant: TenantDetails;
  close: () => void;
}

export const Suspend = ({ load, tenant: { tenant_id, name }, close }: Props) => (
  <AskReason
    verb="Suspend"
    submit="Suspend"
    name={name}
    close={close}
    stale={load.reload}
    act={async reason => {
      load.set(await call("suspendTenant", { params: { tenant_id }, ...reason }));
      say(`${name} is suspended`);
      close();
    }}
  >
    Its people and API keys are refused from the next request on, until you resume it. Nothing is deleted.
  </AskReason>
);

/** Name and slug. Somebody else may change them at the same time. */
export function Rename({ load, tenant, etag, close }: Props & { etag: string | null }) {
  const { tenant_id } = tenant;
  const [base, setBase] = useState({ name: tenant.name, slug: tenant.slug, etag });
  const [edited, setEdited] = useState({ name: tenant.name, slug: tenant.slug });
  const [theirs, setTheirs] = useState<{ name: string; slug: string } | null>(null);
  const look = async () => {
    const { body, etag } = await call("getTenant", { params: { tenant_id } });
    setTheirs({ name: body.name, slug: body.slug });
    setBase({ name: body.name, slug: body.slug, etag });
  };
  const action = useAction(() => void look().catch(load.reload));
  const rename = () =>
    action.run(async () => {
      const changed = Object.fromEntries(
        (["name", "slug"] as const).filter(key => edited[key] !== base[key]).map(key => [key, edited[key]]),
      );
      const headers = base.etag ? { "If-Match": base.etag } : {};
      load.set(await call("updateTenant", { params: { tenant_id }, headers, body: changed }));
      say(`${edited.name} is saved`);
      close();
    });
  return (
    <Dialog title="Rename" onClose={close}>
      <Form
        action={action}
        submit={theirs ? "Save mine over it" : "Save names"}
        disabled={edited.name === base.name && edited.slug === base.slug}
        onSubmit={rename}
        beside={<Cancel />}
      >
        <TextField
          label="Name"
          name="name"
          required
          maxLength={255}
          value={edited.name}
          onInput={name => setEdited({ ...edited, name })}
        />
        <TextField
          label="Slug"
          name="slug"
          required
          maxLength={255}
          value={edited.slug}
          hint="The short name in requests (X-Tenant) and addresses. Clients that send the old one are refused at once."
          onInput={slug => setEdited({ ...edited, slug })}
        />
        {theirs && (
          <div class="note warn">
            <p>Meanwhile somebody else saved:</p>
            <dl class="facts">
              <dt>Name</dt>
              <dd>
                <Name>{theirs.name}</Name>
                {theirs.name !== tenant.name && " (changed)"}
              </dd>
              <dt>Slug</dt>
              <dd>
                <code>{theirs.slug}</code>
                {theirs.slug !== tenant.slug && " (changed)"}
              </dd>
            </dl>
          </div>
        )}
      </Form>
    </Dialog>
  );
}
