import type { ComponentChildren } from "preact";
import type { TenantDetails } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { useAction } from "../../parts/action.ts";
import { Failure } from "../../parts/failure.tsx";
import { useLoad } from "../../parts/load.tsx";
import { Name, Said, say, Time } from "../../parts/text.tsx";
import { exact } from "../../parts/time.ts";
import { decided } from "../waiting-number.ts";
import type { Open } from "./open.ts";

type Reason = NonNullable<TenantDetails["suspension"]>;

/** By whom, since when and why it is as it is. */
export function Because({ of: { actor, at, reason } }: { of: Reason }) {
  return (
    <p>
      By {actor ? <Name>{actor.auth_subject}</Name> : "somebody in the database"}, <Time at={at} />
      {reason ? (
        <>
          : “<Said>{reason}</Said>”
        </>
      ) : (
        ", without a reason"
      )}
      .
    </p>
  );
}

/** The feed has it a moment later: it waits for older transactions. */
function Deletion({ tenant_id }: { tenant_id: string }) {
  const load = useLoad(`deletion of ${tenant_id}`, async signal => {
    const query = { tenant_id, order: "-at", limit: 1, type: "tenant.deletion_scheduled" } as const;
    return (await call("listEvents", { query }, { signal })).body.events[0];
  });
  return load.value ? <Because of={load.value} /> : null;
}

/** Why its people are refused, and what the operator can do about it. */
export function Status({ load, tenant, reject }: { load: Open; tenant: TenantDetails; reject: () => void }) {
  const { tenant_id, name, status, purge_at, suspension } = tenant;
  const action = useAction(load.reload);
  const move = (operation: "approveTenant" | "resumeTenant" | "restoreTenant", words: string) =>
    action.run(async () => {
      load.set(await call(operation, { params: { tenant_id } }));
      say(`${name} ${words}`);
      if (operation === "approveTenant") decided();
    });
  const button = (label: string, work: () => unknown): ComponentChildren => (
    <button type="button" class="primary" disabled={action.busy} onClick={() => void work()}>
      {label}
    </button>
  );
  return (
    <>
      {status === "pending" && (
        <div class="note warn head">
          <p>
            It waits for approval; its people are refused until then. Nobody is notified: they look again.
          </p>
          <div class="buttons">
            <button type="button" disabled={action.busy} onClick={reject}>
              Reject…
            </button>
            {button("Approve", () => move("approveTenant", "is approved"))}
          </div>
        </div>
      )}
      {status === "suspended" && (
        <div class="note bad head">
          <div>
            <p>
              <b>It is suspended.</b> Its people are refused, and nothing is deleted.
            </p>
            {suspension && <Because of={suspension} />}
          </div>
          {button("Resume", () => move("resumeTenant", "is active again"))}
        </div>
      )}
      {status === "deleted" && (
        <div class="note bad head">
          <div>
            <p>
              <b>It is deleted.</b> Its people are refused.{" "}
              {purge_at && <>It can be restored until {exact(purge_at)}.</>}
            </p>
            <Deletion tenant_id={tenant_id} />
          </div>
          {button("Restore", () => move("restoreTenant", "is restored"))}
        </div>
      )}
      {action.error !== undefined && <Failure error={action.error} />}
    </>
  );
}
