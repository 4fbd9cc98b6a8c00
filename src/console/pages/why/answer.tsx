import { useLayoutEffect, useRef } from "preact/hooks";
import type { Explanation } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { useLoad } from "../../parts/load.tsx";
import { Table } from "../../parts/table.tsx";
import { Badge, Name, Time, visible } from "../../parts/text.tsx";
import { path } from "../../router.ts";
import { Because } from "../tenant/status.tsx";

/** `person`: as the reader asked for them. */
export function Answer({ found, person }: { found: Explanation; person: string }) {
  const {
    allowed,
    because,
    refusal,
    tenant,
    membership,
    identity,
    operator,
    roles,
    tables = [],
    notes = [],
  } = found;
  const answer = useRef<HTMLElement>(null);
  // On a phone it is below the form.
  useLayoutEffect(() => {
    answer.current?.focus({ preventScroll: true });
    answer.current?.scrollIntoView({ block: "nearest" });
  }, [found]);
  return (
    <section ref={answer} class="stack answer" aria-label="Answer" tabIndex={-1}>
      <div class={`note ${allowed ? "good" : "bad"}`}>
        <p>
          <b>{allowed ? "Let in." : "Refused."}</b> {visible(because)}
          {/[.!]$/.test(because) ? "" : "."}
        </p>
        {tenant?.tenant_id && tenant.status === "suspended" && <Suspended tenant_id={tenant.tenant_id} />}
      </div>
      {!allowed && (
        <p>
          What they see: <b>{refusal ? `${refusal.status} ${refusal.error}` : "403 Access denied"}</b>
          {refusal ? "" : ", “User does not belong to tenant”: the same whatever the cause"}.{" "}
          {tenant?.tenant_id && <TenantLink tenant_id={tenant.tenant_id} name={tenant.name ?? tenant.slug} />}
        </p>
      )}
      {tenant?.tenant_id && !membership && person.includes("@") && (
        <Invited tenant_id={tenant.tenant_id} email={person} />
      )}
      {notes.map(note => (
        <p key={note} class="note warn">
          {visible(note)}.
        </p>
      ))}
      {tenant && (
        <ol class="flow" aria-label="The way of the request">
          <li>
            <b>Identity</b>
            <Name>{identity?.subject}</Name>
            <code class="dim">{visible(identity?.provider ?? "")}</code>
            {operator && <Badge>operator</Badge>}
          </li>
          <li>
            <b>Tenant</b>
            <code>{visible(tenant.slug ?? "(default)")}</code>
            <span class="dim">
              {tenant.source === "given" ? "as given" : `named by ${tenant.source.replaceAll("_", " ")}`}
            </span>
            {tenant.exists ? <Badge>{tenant.status ?? "unknown"}</Badge> : <Badge>unknown</Badge>}
          </li>
          <li>
            <b>Membership</b>
            {membership ? (
              <>
                <Badge>{membership.role}</Badge>
                <span class="dim">
                  since <Time at={membership.joined_at} />
                </span>
                {membership.removed_at && (
                  <span>
                    ended <Time at={membership.removed_at} />
                  </span>
                )}
              </>
            ) : (
              "none"
            )}
          </li>
          <li>
            <b>Database</b>
            <code>{roles?.login.name}</code>
            <span class="dim">acts as</span>
            <code>{roles?.acts_as.name}</code>
          </li>
        </ol>
      )}
      {tenant?.exists && tables.length > 0 && (
        <div class="panel flush">
          <Table
            label="What they would see"
            rows={tables}
            keyOf={({ table }) => table}
            columns={[
              ["Table", ({ table }) => <code>{table}</code>],
              ["Row security", ({ row_security }) => <Badge>{row_security}</Badge>, "mark"],
              [
                "The tenant has",
                ({ held, more }) => (held === null ? "?" : `${held.toLocaleString("en")}${more ? "+" : ""}`),
                "num",
              ],
              ["They see", ({ shown }) => (shown === null ? "?" : shown.toLocaleString("en")), "num"],
            ]}
          />
        </div>
      )}
    </section>
  );
}

/** The commonest cause: they have not accepted yet. */
function Invited({ tenant_id, email }: { tenant_id: string; email: string }) {
  const load = useLoad(`invitations of ${tenant_id} for ${email}`, async signal => {
    const query = { limit: 1000 };
    const { body } = await call("listTenantInvitations", { params: { tenant_id }, query }, { signal });
    return body.invitations.find(one => one.email?.toLowerCase() === email.toLowerCase()) ?? null;
  });
  if (!load.value) return null;
  const { role, created_at } = load.value;
  return (
    <p class="note warn">
      They were invited as {role}, <Time at={created_at} />, and have not accepted yet.{" "}
      <a href={path(["tenant", tenant_id, "invitations"])}>Open invitations</a>
    </p>
  );
}

function Suspended({ tenant_id }: { tenant_id: string }) {
  const load = useLoad(`tenant ${tenant_id}`, async signal => {
    return (await call("getTenant", { params: { tenant_id } }, { signal })).body.suspension ?? null;
  });
  return load.value ? <Because of={load.value} /> : null;
}

/** Where the operator sees the cause and can end it. */
const TenantLink = ({ tenant_id, name }: { tenant_id: string; name: string | null }) => (
  <>
    <a href={path(["tenant", tenant_id])}>
      Open <Name>{name}</Name>
    </a>{" "}
    or <a href={path(["tenant", tenant_id, "members"])}>its members</a>.
  </>
);
