import type { Tenant } from "../../client/api.ts";
import { call, Refused } from "../api.ts";
import { say } from "../parts/text.tsx";
import { AskReason } from "./reason.tsx";

/** Another operator was first, or another window of this one. A rejected registration is deleted. */
export async function sayDecided({ tenant_id, name }: Tenant): Promise<void> {
  const status = await call("getTenant", { params: { tenant_id } }).then(
    ({ body }) => body.status,
    (error: unknown) => (error instanceof Refused && error.status === 404 ? "rejected" : undefined),
  );
  const did = { active: "approved", rejected: "rejected" }[status as string] ?? "decided about";
  say(`${name} was ${did} in the meantime`);
}

export function Reject({ tenant, close, done }: { tenant: Tenant; close: () => void; done: () => void }) {
  const { tenant_id, name } = tenant;
  return (
    <AskReason
      verb="Reject"
      submit="Reject and delete"
      name={name}
      close={close}
      stale={() => {
        void sayDecided(tenant);
        done();
      }}
      act={async reason => {
        await call("rejectTenant", { params: { tenant_id }, ...reason });
        say(`${name} is rejected`);
        done();
      }}
    >
      The registration is deleted for good, and its slug is free again. The person is not told: they see that
      they belong nowhere.
    </AskReason>
  );
}
