import type { ComponentChildren } from "preact";
import type { Event, TenantDetails } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { Failure, useAction, useLoad } from "../../parts/load.tsx";
import { Name, say, Time } from "../../parts/text.tsx";
import { exact } from "../../parts/time.ts";
import type { Open } from "./open.ts";

const LAST: Record<string, string> = {
  suspended: "tenant.suspended",
  deleted: "tenant.deletion_scheduled",
};

/** By whom, since when and why it is as it is: the last event of that kind. */
function Because({ tenant: { tenant_id, status } }: { tenant: TenantDetails }) {
  const type = LAST[status] as Event["type"] | undefined;
  const load = useLoad(`why ${tenant_id} ${status}`, async signal => {
    const query = { tenant_id, order: "-at" as const, limit: 1, ...(type && { type }) };
    return (await call("listEvents", { query }, { signal })).body.events[0];
  });
  const event = load.value;
  if (!event) return null;
  return (
    <p>
      By {event.actor ? <Name>{event.actor.auth_subject}</Name> : "somebody in the database"},{" "}
      <Time at={event.at} />
      {event.reason ? (
        <>
          : “<Name>{event.reason}</Name>”
        </>
      ) : (
        ", without a reason"
      )}
      .
    </p>
  );
}

/** What stands in the way of its people, and what may become of it next. */
export function Status({ load, tenant, reject }: { load: Open; tenant: TenantDetails; reject: () => void }) {
  const { tenant_id, slug, status, purge_at } = tenant;
  const action = useAction(load.reload);
  const move = (operation: "approveTenant" | "resumeTenant" | "restoreTenant", words: string) =>
    action.run(async () => {
      await call(operation, { params: { tenant_id } });
      say(`${slug} ${words}`);
      load.reload();
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
            <Because tenant={tenant} />
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
            <Because tenant={tenant} />
          </div>
          {button("Restore", () => move("restoreTenant", "is restored"))}
        </div>
      )}
      {action.error !== undefined && <Failure error={action.error} />}
    </>
  );
}
