import { useEffect, useRef, useState } from "preact/hooks";
import type { DeletionPreview, TenantDetails } from "../../../client/api.ts";
import { type Answer, call } from "../../api.ts";
import { useAction } from "../../parts/action.ts";
import { Failure } from "../../parts/failure.tsx";
import { Form, TextField } from "../../parts/form.tsx";
import { Table } from "../../parts/table.tsx";
import { count, Name, say } from "../../parts/text.tsx";
import { exact } from "../../parts/time.ts";
import { goFromDeleted, path, route } from "../../router.ts";
import { settings } from "../../settings.ts";
import { useStore } from "../../store.ts";
import { Reason } from "../reason.tsx";
import type { Open } from "./open.ts";

const DAY_MS = 86_400_000;

/** Whether it can be undone, before anything is done. */
function Warning({ status }: TenantDetails) {
  if (status === "deleted")
    return (
      <p>
        This is <b>for good</b>: it cannot be restored afterwards.
      </p>
    );
  const days = settings.deletionGraceDays;
  if (days === 0)
    return (
      <p>
        This is <b>for good</b>: this deployment keeps nothing of deleted tenants.
      </p>
    );
  return (
    <p>
      Its people are refused at once. You can restore it for {count(days, "day")}, until{" "}
      {exact(new Date(Date.now() + days * DAY_MS).toISOString())}. Then it is deleted for good.
    </p>
  );
}

/** First what would be deleted, then the slug by hand. Deleting a deleted tenant for good is an act of its own. */
export function Deletion({ load, tenant }: { load: Open; tenant: TenantDetails }) {
  const { tenant_id, name, slug, status } = tenant;
  const params = { tenant_id };
  const forGood = status === "deleted";
  const [verb, way] = forGood ? ["Delete for good", { purge: true }] : ["Delete", {}];
  const trial = useAction(load.reload);
  const action = useAction(load.reload);
  const [counted, setCounted] = useState<Answer<DeletionPreview> | null>(null);
  const [typed, setTyped] = useState("");
  const zone = useRef<HTMLElement>(null);
  const asked = useStore(route).query.get("act") === "delete";
  useEffect(() => {
    if (asked) zone.current?.scrollIntoView({ block: "center" });
  }, [asked]);
  const countRows = () =>
    trial.run(async () => {
      const found = await call("deleteTenant", { params, query: { dry_run: true, ...way } });
      setCounted(found as Answer<DeletionPreview>);
    });
  const remove = ({ reason = "" }: Record<string, string>) =>
    action.run(async () => {
      const { etag } = counted!;
      await call("deleteTenant", {
        params,
        headers: etag ? { "If-Match": etag } : {},
        query: { ...way, ...(reason.trim() && { reason: reason.trim() }) },
      });
      if (forGood || settings.deletionGraceDays === 0) {
        say(`${name} is deleted for good`);
        return goFromDeleted("#/tenants");
      }
      say(`${name} is deleted. It can be restored here`);
      goFromDeleted(path(["tenant", tenant_id]));
      load.reload();
    });
  return (
    <section ref={zone} class="panel bad" aria-label={verb}>
      <h2>
        {verb}: <Name>{name}</Name>
        {counted && ` and ${count(counted.body.total_rows, "row")}`}
      </h2>
      <Warning {...tenant} />
      {!counted ? (
        <>
          {trial.error !== undefined && <Failure error={trial.error} />}
          <div class="buttons">
            <button type="button" disabled={trial.busy} onClick={countRows}>
              {trial.busy ? "Counting…" : "Count what would be deleted"}
            </button>
            <span class="dim">Nothing is deleted yet.</span>
          </div>
        </>
      ) : (
        <>
          <div class="panel flush">
            <Table
              label="Rows that would be deleted"
              rows={counted.body.rows.filter(({ rows }) => rows !== 0)}
              keyOf={({ relation }) => relation}
              columns={[
                [
                  "Table",
                  ({ relation }) => (
                    <>
                      <code>{relation}</code>
                      {relation === "app.users" && <span class="dim"> removed members, too</span>}
                    </>
                  ),
                ],
                ["Rows", ({ rows }) => rows?.toLocaleString("en") ?? "not counted", "num"],
              ]}
            />
          </div>
          <Form
            action={action}
            submit={verb}
            danger
            disabled={typed !== slug}
            onSubmit={remove}
            beside={
              <button
                type="button"
                onClick={() => {
                  setCounted(null);
                  load.reload();
                }}
              >
                Do not delete
              </button>
            }
          >
            <TextField
              label={
                <>
                  Type the slug <code>{slug}</code>
                </>
              }
              name="typed"
              value={typed}
              onInput={setTyped}
            />
            <Reason inAddress />
          </Form>
        </>
      )}
    </section>
  );
}
