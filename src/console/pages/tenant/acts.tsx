import { useState } from "preact/hooks";
import type { TenantDetails } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { useAction } from "../../parts/action.ts";
import { Cancel } from "../../parts/dialog.tsx";
import { Dialog, Form, TextField } from "../../parts/form.tsx";
import { Name, say } from "../../parts/text.tsx";

/** The reason of what ends somebody's access, and who reads it. */
export const Reason = ({ inAddress = false }: { inAddress?: boolean }) => (
  <TextField
    label="Reason"
    name="reason"
    maxLength={500}
    hint={
      <>
        Optional. Operators read it in the activity; the organization's people do not see it.
        {inAddress && " It is in access logs, too: write nothing secret."}
      </>
    }
  />
);

export function Suspend({
  tenant: { tenant_id, name },
  close,
  done,
}: {
  tenant: TenantDetails;
  close: () => void;
  done: () => void;
}) {
  const action = useAction(done);
  const suspend = ({ reason = "" }: Record<string, string>) =>
    action.run(async () => {
      const given = reason.trim();
      await call("suspendTenant", { params: { tenant_id }, ...(given && { body: { reason: given } }) });
      say(`${name} is suspended`);
      close();
      done();
    });
  return (
    <Dialog
      title={
        <>
          Suspend <Name>{name}</Name>?
        </>
      }
      onClose={close}
    >
      <Form action={action} submit="Suspend" danger onSubmit={suspend} beside={<Cancel />}>
        <p>
          Its people and API keys are refused from the next request on, until you resume it. Nothing is
          deleted.
        </p>
        <Reason />
      </Form>
    </Dialog>
  );
}

/** Name and slug. Somebody else may change them at the same time. */
export function Rename({
  tenant,
  etag,
  close,
  done,
}: {
  tenant: TenantDetails;
  etag: string | null;
  close: () => void;
  done: () => void;
}) {
  const { tenant_id } = tenant;
  const [base, setBase] = useState({ name: tenant.name, slug: tenant.slug, etag });
  const [edited, setEdited] = useState({ name: tenant.name, slug: tenant.slug });
  const [theirs, setTheirs] = useState<{ name: string; slug: string } | null>(null);
  const look = async () => {
    const { body, etag } = await call("getTenant", { params: { tenant_id } });
    setTheirs({ name: body.name, slug: body.slug });
    setBase({ name: body.name, slug: body.slug, etag });
  };
  const action = useAction(() => void look().catch(done));
  const rename = () =>
    action.run(async () => {
      const changed = Object.fromEntries(
        (["name", "slug"] as const).filter(key => edited[key] !== base[key]).map(key => [key, edited[key]]),
      );
      const headers = base.etag ? { "If-Match": base.etag } : {};
      await call("updateTenant", { params: { tenant_id }, headers, body: changed });
      say(`${edited.name} is saved`);
      close();
      done();
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
