import { useState } from "preact/hooks";
import type { DeletedTenant, DeletionPreview, TenantDetails } from "../../../client/api.ts";
import { type Answer, call } from "../../api.ts";
import { Form, TextField } from "../../parts/form.tsx";
import { Failure, useAction } from "../../parts/load.tsx";
import { Table } from "../../parts/table.tsx";
import { count, Name, say } from "../../parts/text.tsx";
import { go } from "../../router.ts";
import type { Open } from "./open.ts";

/** First what would be deleted, then the slug by hand. */
export function Deletion({ load, answer }: { load: Open; answer: Answer<TenantDetails> }) {
  const { tenant_id, name, slug, status } = answer.body;
  const params = { tenant_id };
  // Deleting a deleted tenant again changes nothing; for good is an action of its own.
  const [verb, way] =
    status === "deleted" ? (["Delete for good", { purge: true }] as const) : (["Delete", {}] as const);
  const trial = useAction();
  const action = useAction();
  const [counted, setCounted] = useState<Answer<DeletionPreview> | null>(null);
  const [typed, setTyped] = useState("");
  const countRows = () =>
    trial.run(async () => {
      const found = await call("deleteTenant", { params, query: { dry_run: true, ...way } });
      setCounted(found as Answer<DeletionPreview>);
    });
  const remove = ({ reason = "" }: Record<string, string>) =>
    action.run(async () => {
      const { etag } = counted!;
      const { body } = await call("deleteTenant", {
        params,
        headers: etag ? { "If-Match": etag } : {},
        query: { ...way, ...(reason.trim() && { reason: reason.trim() }) },
      });
      const { message, warning } = body as DeletedTenant;
      say(`${message}. ${warning}`);
      go("#/tenants");
    });
  if (!counted)
    return (
      <section class="panel" aria-label="Delete">
        <h2>
          {verb}: <Name>{name}</Name>
        </h2>
        <p>First the rows are counted, and nothing is changed.</p>
        {trial.error !== undefined && <Failure error={trial.error} />}
        <div class="buttons">
          <button type="button" disabled={trial.busy} onClick={countRows}>
            {trial.busy ? "Counting…" : "Count what would be deleted"}
          </button>
        </div>
      </section>
    );
  return (
    <section class="panel bad" aria-label="Delete">
      <h2>
        {verb}: <Name>{name}</Name> and {count(counted.body.total_rows, "row")}
      </h2>
      <div class="panel flush">
        <Table
          label="Rows that would be deleted"
          rows={counted.body.rows.filter(({ rows }) => rows !== 0)}
          keyOf={({ relation }) => relation}
          columns={[
            ["Table", ({ relation }) => <code>{relation}</code>],
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
        <TextField label="Reason" name="reason" maxLength={500} hint="Optional. It stands in the activity." />
      </Form>
    </section>
  );
}
