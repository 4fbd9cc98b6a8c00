import type { Tenant } from "../../client/api.ts";
import { call, Refused } from "../api.ts";
import { useAction } from "../parts/action.ts";
import { Cancel } from "../parts/dialog.tsx";
import { Dialog, Form } from "../parts/form.tsx";
import { Name, say } from "../parts/text.tsx";
import { Reason } from "./tenant/acts.tsx";

/** Another operator was first. A rejected registration is deleted. */
export async function sayDecided({ tenant_id, name }: Tenant): Promise<void> {
  const status = await call("getTenant", { params: { tenant_id } }).then(
    ({ body }) => body.status,
    (error: unknown) => (error instanceof Refused && error.status === 404 ? "rejected" : undefined),
  );
  const did = { active: "approved", rejected: "rejected" }[status as string] ?? "decided about";
  say(`Another operator has ${did} ${name} in the meantime`);
}

export function Reject({ tenant, close, done }: { tenant: Tenant; close: () => void; done: () => void }) {
  const { tenant_id, name } = tenant;
  const action = useAction(() => {
    void sayDecided(tenant);
    done();
  });
  const reject = ({ reason = "" }: Record<string, string>) =>
    action.run(async () => {
      const body = reason.trim() ? { body: { reason: reason.trim() } } : {};
      await call("rejectTenant", { params: { tenant_id }, ...body });
      say(`${name} is rejected`);
      done();
    });
  return (
    <Dialog
      title={
        <>
          Reject <Name>{name}</Name>?
        </>
      }
      onClose={close}
    >
      <Form action={action} submit="Reject and delete" danger onSubmit={reject} beside={<Cancel />}>
        <p>
          The registration is deleted for good, and its slug is free again. The person is not told: they see
          that they belong nowhere.
        </p>
        <Reason />
      </Form>
    </Dialog>
  );
}
