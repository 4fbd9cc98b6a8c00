import { useEffect, useState } from "preact/hooks";
import type { Tenant } from "../../client/api.ts";
import { call } from "../api.ts";
import { useAction } from "../parts/action.ts";
import { Failure } from "../parts/failure.tsx";
import { More, Rows, useList } from "../parts/list.tsx";
import { Loaded, useLoad, useReturn } from "../parts/load.tsx";
import { Copy, Name, say, Time, Title } from "../parts/text.tsx";
import { Written } from "../parts/written.tsx";
import { path } from "../router.ts";
import { Reject, sayDecided } from "./reject.tsx";
import { waitingNumber } from "./waiting-number.ts";

export function Waiting() {
  const list = useList<Tenant>("waiting", async (cursor, signal) => {
    const query = { status: "pending" as const, limit: 20, ...(cursor && { cursor }) };
    const answer = await call("listTenants", { query }, { signal });
    return { ...answer, body: { items: answer.body.tenants, total: answer.body.total_count } };
  });
  useReturn(list.reload);
  const [approved, setApproved] = useState<Tenant | null>(null);
  useEffect(() => {
    if (list.total !== undefined) waitingNumber.set(list.total);
  }, [list.total]);
  const gone = (tenant: Tenant, isApproved = false) => {
    list.change(items => items.filter(({ tenant_id }) => tenant_id !== tenant.tenant_id));
    setApproved(isApproved ? tenant : null);
  };
  return (
    <>
      <div class="head">
        <div>
          <Title id="waiting">Waiting for approval</Title>
          <p class="lead">
            Organizations that were registered, newest first. Their people get in once you approve.
          </p>
        </div>
        <button
          type="button"
          onClick={() => {
            setApproved(null);
            list.reload();
          }}
          disabled={list.load.loading}
        >
          Refresh
        </button>
      </div>
      {approved && (
        <p class="note good">
          <Name>{approved.name}</Name> is approved. Its people get in when they look again; nobody is
          notified. <a href={path(["tenant", approved.tenant_id])}>Open it</a>
        </p>
      )}
      <Rows
        list={list}
        empty={
          <>
            <p>Nobody waits for approval.</p>
            {!approved && (
              <p>
                New registrations appear here. They need an approval only where{" "}
                <code>SERVICE_TENANT_REGISTRATION_REQUIRES_APPROVAL</code> is on.{" "}
                <a href="#/tenants">All tenants</a>
              </p>
            )}
          </>
        }
      >
        {items => items.map(tenant => <Registration key={tenant.tenant_id} tenant={tenant} gone={gone} />)}
      </Rows>
      <More list={list} one="registration" />
    </>
  );
}

function Registration({
  tenant,
  gone,
}: {
  tenant: Tenant;
  gone: (tenant: Tenant, isApproved?: boolean) => void;
}) {
  const { tenant_id, name, slug, created_at } = tenant;
  const action = useAction(() => {
    void sayDecided(tenant);
    gone(tenant);
  });
  const [rejecting, setRejecting] = useState(false);
  const written = useLoad(tenant_id, signal => call("getTenant", { params: { tenant_id } }, { signal }));
  const approve = () =>
    action.run(async () => {
      await call("approveTenant", { params: { tenant_id } });
      say(`${name} is approved`);
      gone(tenant, true);
    });
  return (
    <article class="panel" aria-labelledby={`name-${tenant_id}`}>
      <div class="head">
        <div>
          <h2 id={`name-${tenant_id}`}>
            <a class="row" href={path(["tenant", tenant_id])}>
              <Name>{name}</Name>
            </a>
          </h2>
          <p class="dim">
            <Copy label="slug">{slug}</Copy> registered <Time at={created_at} />
          </p>
        </div>
        <div class="buttons">
          <button type="button" onClick={() => setRejecting(true)} disabled={action.busy}>
            Reject…
          </button>
          <button type="button" class="primary" onClick={approve} disabled={action.busy}>
            {action.busy ? "Working…" : "Approve"}
          </button>
        </div>
      </div>
      <Loaded of={written}>
        {({ body: { registration } }) => registration && <Written>{registration}</Written>}
      </Loaded>
      {action.error !== undefined && <Failure error={action.error} />}
      {rejecting && <Reject tenant={tenant} close={() => setRejecting(false)} done={() => gone(tenant)} />}
    </article>
  );
}
