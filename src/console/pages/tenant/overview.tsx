import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { TenantDetails } from "../../../client/api.ts";
import { type Answer, call, Refused } from "../../api.ts";
import { Dates } from "../../parts/dates.tsx";
import { Dialog, Form, TextField } from "../../parts/form.tsx";
import { Failure, useAction } from "../../parts/load.tsx";
import { Copy, Name, say, Time } from "../../parts/text.tsx";
import { Written } from "../../parts/written.tsx";
import { go, path } from "../../router.ts";
import { Reject } from "../waiting.tsx";
import type { Open } from "./open.ts";

export function Overview({ load, answer }: { load: Open; answer: Answer<TenantDetails> }) {
  const tenant = answer.body;
  const { tenant_id, members_count, registration } = tenant;
  return (
    <>
      <Moves load={load} answer={answer} />
      {members_count === 0 && (
        <p class="note">
          Nobody belongs to it yet. <a href={path(["tenant", tenant_id, "members"])}>Add its first owner</a>.
        </p>
      )}
      <div class="cards">
        <a class="card" href={path(["tenant", tenant_id, "members"])}>
          <b>{members_count.toLocaleString("en")}</b>
          <span>{members_count === 1 ? "member" : "members"}</span>
        </a>
      </div>
      <div class="grid">
        <section class="panel" aria-label="Facts">
          <h2>Facts</h2>
          <dl class="facts">
            <dt>Id</dt>
            <dd>
              <Copy label="id">{tenant_id}</Copy>
            </dd>
            <Dates tenant={tenant} />
          </dl>
        </section>
        <Rename load={load} answer={answer} />
        {registration && (
          <section class="panel" aria-label="Registration">
            <h2>Registration</h2>
            <Written>{registration}</Written>
          </section>
        )}
      </div>
    </>
  );
}

/** What may become of it next, by its status. */
function Moves({ load, answer }: { load: Open; answer: Answer<TenantDetails> }) {
  const { tenant_id, slug, status, name, purge_at } = answer.body;
  const params = { tenant_id };
  const action = useAction();
  const [asking, setAsking] = useState<"suspend" | "reject" | null>(null);
  const move = (operation: "approveTenant" | "resumeTenant" | "restoreTenant", words: string) =>
    action.run(async () => {
      await call(operation, { params });
      say(`${slug} ${words}`);
      load.reload();
    });
  const button = (label: string, work: () => unknown, primary = false): ComponentChildren => (
    <button type="button" class={primary ? "primary" : ""} disabled={action.busy} onClick={() => void work()}>
      {label}
    </button>
  );
  return (
    <>
      {status === "pending" && (
        <div class="note warn head">
          <p>It waits for approval; its people are refused until then.</p>
          <div class="buttons">
            {button("Reject…", () => setAsking("reject"))}
            {button("Approve", () => move("approveTenant", "is approved"), true)}
          </div>
        </div>
      )}
      {status === "suspended" && (
        <div class="note bad head">
          <p>It is suspended: its people are refused, and nothing is deleted.</p>
          {button("Resume", () => move("resumeTenant", "is active again"), true)}
        </div>
      )}
      {status === "deleted" && (
        <div class="note bad head">
          <p>
            It is deleted{" "}
            {purge_at && (
              <>
                and can be restored until it is removed for good (<Time at={purge_at} />)
              </>
            )}
            . Its people are refused.
          </p>
          {button("Restore", () => move("restoreTenant", "is restored"), true)}
        </div>
      )}
      {action.error !== undefined && <Failure error={action.error} />}
      {status === "active" && <div class="buttons">{button("Suspend…", () => setAsking("suspend"))}</div>}
      {asking === "reject" && (
        <Reject tenant={answer.body} close={() => setAsking(null)} done={() => go("#/waiting")} />
      )}
      {asking === "suspend" && (
        <Suspend
          name={name}
          close={() => setAsking(null)}
          suspend={async reason => {
            await call("suspendTenant", { params, ...(reason && { body: { reason } }) });
            say(`${slug} is suspended`);
            setAsking(null);
            load.reload();
          }}
        />
      )}
    </>
  );
}

function Suspend({
  name,
  suspend,
  close,
}: {
  name: string;
  suspend: (reason: string) => Promise<void>;
  close: () => void;
}) {
  const action = useAction();
  return (
    <Dialog
      title={
        <>
          Suspend <Name>{name}</Name>?
        </>
      }
      onClose={close}
    >
      <Form
        action={action}
        submit="Suspend"
        danger
        onSubmit={({ reason = "" }) => action.run(() => suspend(reason.trim()))}
      >
        <p>Its people are refused from the next request on, until you resume it. Nothing is deleted.</p>
        <TextField label="Reason" name="reason" maxLength={500} hint="Optional. It stands in the activity." />
      </Form>
    </Dialog>
  );
}

function Rename({ load, answer }: { load: Open; answer: Answer<TenantDetails> }) {
  const { tenant_id, name, slug } = answer.body;
  const action = useAction();
  const [edited, setEdited] = useState({ name, slug });
  const rename = () =>
    action.run(async () => {
      const headers = answer.etag ? { "If-Match": answer.etag } : {};
      try {
        const found = await call("updateTenant", { params: { tenant_id }, headers, body: edited });
        load.set({ ...found, body: { ...answer.body, ...found.body } });
        say("The names are saved");
      } catch (error) {
        // The page shows what the tenant is called now; what was typed stays in the form.
        if (error instanceof Refused && error.status === 412) load.reload();
        throw error;
      }
    });
  return (
    <section class="panel" aria-label="Names">
      <h2>Names</h2>
      <Form
        action={action}
        submit="Save names"
        disabled={edited.name === name && edited.slug === slug}
        onSubmit={rename}
      >
        <TextField
          label="Name"
          name="name"
          required
          maxLength={255}
          value={edited.name}
          onInput={text => setEdited({ ...edited, name: text })}
        />
        <TextField
          label="Slug"
          name="slug"
          required
          maxLength={255}
          value={edited.slug}
          hint="Requests name the tenant by it, so a new one changes what clients must send."
          onInput={text => setEdited({ ...edited, slug: text })}
        />
      </Form>
    </section>
  );
}
