/** The steps that keep each row to its tenant: policies, and privileges. */
import { ident } from "../values/sql-names.ts";
import { bridged, withoutBridge } from "./bridges.ts";
import type { Living, Table } from "./living.ts";
import { bridgeOf, isAdopted, isBridge, ONLY, OWNER, PEOPLE, ROWS, SHARED, TENANCY_ID } from "./names.ts";
import { type Step, stepsOf, when } from "./step.ts";
import { isForRequests, type Treatment } from "./treat.ts";

/** The transaction's tenant: an InitPlan, so it runs once in a statement. */
const CURRENT = "(select app.tenant_id())";

/** The same in the product's own key. */
const current = ({ relation, key, keyType }: Living["tenants"]) =>
  keyType === "uuid"
    ? CURRENT
    : `(select x.${ident(key)} from ${relation} x where x.${TENANCY_ID} = ${CURRENT})`;

/** A restrictive policy for the tenant and a permissive one: no later policy can show rows of another tenant. */
export function policySteps(
  living: Living,
  table: Table,
  treatment: Treatment,
  bridges: Record<string, string>,
): Step[] {
  const { role, membership, tenants, unbound } = living;
  const { relation, owner, granted, policies } = table;
  const to = ident(role);
  const own = (sql: string, facts = {}) => stepsOf(table)("policies", sql, facts);
  const grants = when(
    !granted.includes(role),
    own(`grant ${rightsOf(living, table, treatment)} on table ${relation} to ${to};`),
    ...(treatment === "rows" ? table.sequences : []).map(name =>
      own(`grant usage on sequence ${name} to ${to};`),
    ),
  );
  if (treatment === "shared") {
    const seen = !table.enabled || policies.some(({ roles }) => isForRequests(roles, role));
    const all = own(`create policy ${SHARED} on ${relation} for select to ${to} using (true);`);
    return [...when(!seen, all), ...grants];
  }
  const has = (name: string) => policies.some(policy => policy.name === name);
  const wanted = new Map<string, string[]>();
  for (const name of bridged(table, bridges)) {
    const policy = bridgeOf(bridges[name]!);
    wanted.set(policy, [...(wanted.get(policy) ?? []), name]);
  }
  const old = policies.filter(({ name }) => isBridge(name));
  const same = (name: string, roles: string[]) =>
    wanted.get(name)?.toSorted().join() === roles.toSorted().join();
  const over = isAdopted(table) ? withoutBridge(living, table, bridges) : [];
  const isMine =
    treatment === "tenants"
      ? `${ident(tenants.id)} = ${CURRENT}`
      : `${ident(table.tenantColumn)} = ${current(tenants)}`;
  const force = !Object.hasOwn(bridges, owner) && !unbound.includes(owner);
  return [
    ...(treatment === "people"
      ? when(
          !has(PEOPLE),
          own(
            `create policy ${PEOPLE} on ${relation} for select to ${to}\n  using (exists (select from ${membership!.relation} m where m.${ident(membership!.person)} = ${relation}.${ident(membership!.key)}));`,
          ),
        )
      : [
          ...when(
            !has(ONLY),
            own(`create policy ${ONLY} on ${relation} as restrictive for all to ${to}\n  using (${isMine});`),
          ),
          ...when(!has(ROWS), own(`create policy ${ROWS} on ${relation} for all to ${to} using (true);`)),
        ]),
    ...old
      .filter(({ name, roles }) => !same(name, roles))
      .map(({ name }) => own(`drop policy ${ident(name)} on ${relation};`)),
    ...[...wanted]
      .filter(([name]) => !old.some(one => one.name === name && same(name, one.roles)))
      .map(([name, roles]) =>
        own(
          `create policy ${ident(name)} on ${relation} for all to ${roles.map(ident).join(", ")} using (true);`,
        ),
      ),
    ...when(
      over.length > 0,
      own(`revoke all on table ${relation} from ${over.map(ident).join(", ")};`, { revokes: over }),
    ),
    ...when(
      force && !has(OWNER),
      own(
        `create policy ${OWNER} on ${relation} for all to ${ident(owner)}\n  using ((select current_setting('app.maintenance', true)) = 'on');`,
      ),
    ),
    ...when(!table.enabled, own(`alter table ${relation} enable row level security;`, { protects: true })),
    ...when(
      !force && has(OWNER),
      own(`alter table ${relation} no force row level security;`),
      own(`drop policy ${OWNER} on ${relation};`),
    ),
    ...when(force && !table.forced, own(`alter table ${relation} force row level security;`)),
    ...grants,
  ];
}

const SECRET = /passw|secret|token|hash|salt|otp|mfa|credential/i;

function rightsOf({ tenants }: Living, { columns }: Table, treatment: Treatment): string {
  if (treatment === "rows") return "select, insert, update, delete";
  // A request inserts no tenants, and does not change the key of its own.
  if (treatment === "tenants") {
    const own = columns.filter(name => name !== tenants.key && name !== TENANCY_ID);
    return own.length > 0 ? `select, update (${own.map(ident).join(", ")})` : "select";
  }
  if (treatment === "shared" || !columns.some(name => SECRET.test(name))) return "select";
  return `select (${columns
    .filter(name => !SECRET.test(name))
    .map(ident)
    .join(", ")})`;
}
