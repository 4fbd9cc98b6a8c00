/** The steps that give a table the tenant's column, and keep each row to its tenant. */
import { ident, literal } from "../values/sql-names.ts";
import type { Living, Table } from "./living.ts";
import {
  bridgeOf,
  checkOf,
  FILL,
  fillOf,
  indexOf,
  ONLY,
  OWNER,
  PEOPLE,
  ROWS,
  TENANCY_ID,
  uniqueOf,
} from "./names.ts";
import type { Phase, Step } from "./step.ts";
import { isOurs, type Treatment } from "./treat.ts";

/** The column that says whose a row is, once the plan was carried out. */
export const tenantColumn = (
  { tenants }: Living,
  { relation, column }: Pick<Table, "relation" | "column">,
) => (relation === tenants.relation ? tenants.key : (column ?? tenants.columns[0] ?? "tenant_id"));

/** The column of the tenants' table that app.tenants has as its id. */
export const idOfTenants = ({ key, keyType }: Living["tenants"]) => (keyType === "uuid" ? key : TENANCY_ID);

/** The tenant of the transaction, as the product's tables name it: an InitPlan, asked once a statement. */
function current(living: Living): string {
  const { relation, key, keyType } = living.tenants;
  const own = "(select app.tenant_id())";
  return keyType === "uuid"
    ? own
    : `(select x.${ident(key)} from ${relation} x where x.${TENANCY_ID} = ${own})`;
}

const stepsOf =
  (table: Table) =>
  (phase: Phase, sql: string): Step => ({
    phase,
    sql,
    table: table.relation,
    as: table.owner,
  });

/** The uuid of each tenant, where its key is none. New tenants get one by the default. */
export function idSteps(living: Living, table: Table): Step[] {
  if (living.tenants.keyType === "uuid") return [];
  const step = stepsOf(table);
  const { relation, name, columns, required, indexes } = table;
  const complete = required.includes(TENANCY_ID);
  const unique = indexes.some(index => index.referable && index.columns.join() === TENANCY_ID);
  return [
    ...(columns.includes(TENANCY_ID)
      ? []
      : [step("columns", `alter table ${relation} add column ${TENANCY_ID} uuid;`)]),
    ...(complete
      ? []
      : [
          step(
            "columns",
            `alter table ${relation} alter column ${TENANCY_ID} set default gen_random_uuid();`,
          ),
          step(
            "fill",
            `update ${relation} set ${TENANCY_ID} = gen_random_uuid() where ${TENANCY_ID} is null;`,
          ),
        ]),
    ...(unique
      ? []
      : [
          step(
            "indexes",
            `create unique index concurrently ${ident(uniqueOf(name, [TENANCY_ID]))} on ${relation} (${TENANCY_ID});`,
          ),
        ]),
    ...(complete ? [] : notNull(table, TENANCY_ID)),
  ];
}

/** VALIDATE has read the rows, so that SET NOT NULL does not. */
function notNull(table: Table, column: string): Step[] {
  const step = stepsOf(table);
  const check = checkOf(table.name, column);
  const there = table.checks.find(({ name }) => name === check);
  const alter = `alter table ${table.relation}`;
  return [
    ...(there
      ? []
      : [
          step(
            "constraints",
            `${alter} add constraint ${ident(check)} check (${ident(column)} is not null) not valid;`,
          ),
        ]),
    ...(there?.valid ? [] : [step("constraints", `${alter} validate constraint ${ident(check)};`)]),
    step("constraints", `${alter} alter column ${ident(column)} set not null;`),
    // Of the plan's own making: the column itself says it now.
    step("constraints", `${alter} drop constraint ${ident(check)};`),
  ];
}

/** The column of a table whose rows are a tenant's through a parent. A trigger fills it for the old application, which does not name it. */
function parentSteps(living: Living, table: Table): Step[] {
  const step = stepsOf(table);
  const { relation, schema, name, parent } = table;
  const column = ident(tenantColumn(living, table));
  const of = living.tables.find(one => one.relation === parent!.relation)!;
  const from = ident(tenantColumn(living, of));
  const pairs = (row: string) =>
    parent!.columns.map((own, i) => `p.${ident(parent!.parents[i]!)} = ${row}.${ident(own)}`).join(" and ");
  const fill = `${ident(schema)}.${ident(fillOf(name))}`;
  const body = `
begin
  if new.${column} is null then
    select p.${from} into new.${column} from ${parent!.relation} p where ${pairs("new")};
  end if;
  return new;
end
`;
  return [
    ...(table.column
      ? []
      : [step("columns", `alter table ${relation} add column ${column} ${living.tenants.keyType};`)]),
    ...(table.filled
      ? []
      : [
          step(
            "columns",
            `create or replace function ${fill}() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as ${literal(body)};`,
          ),
          step("columns", `revoke all on function ${fill}() from public;`),
          step(
            "columns",
            `create trigger ${FILL} before insert on ${relation} for each row execute function ${fill}();`,
          ),
        ]),
    step(
      "fill",
      `update ${relation} t set ${column} = p.${from} from ${parent!.relation} p where ${pairs("t")} and t.${column} is null;`,
    ),
  ];
}

/** The column, its index, and that it is never null. */
export function columnSteps(living: Living, table: Table): Step[] {
  const column = tenantColumn(living, table);
  const isTenants = table.relation === living.tenants.relation;
  const complete = table.column !== null && !table.nullable;
  const indexed = table.indexes.some(index => !index.partial && index.columns[0] === column);
  return [
    ...(table.parent && !complete ? parentSteps(living, table) : []),
    ...(indexed || isTenants
      ? []
      : [
          stepsOf(table)(
            "indexes",
            `create index concurrently ${ident(indexOf(table.name, [column]))} on ${table.relation} (${ident(column)});`,
          ),
        ]),
    ...(complete ? [] : notNull(table, column)),
  ];
}

/** One policy that names the tenant, and one that admits rows at all: what is added later can only narrow. */
export function policySteps(
  living: Living,
  table: Table,
  treatment: Treatment,
  bridges: Record<string, string>,
): Step[] {
  const { role, membership, unbound } = living;
  const { relation, owner, granted, policies } = table;
  const to = ident(role);
  const own = (sql: string) => stepsOf(table)("policies", sql);
  const has = (name: string) => policies.some(policy => policy.name === name);
  const ownerIsOpen = owner in bridges;
  const wanted = new Map<string, string[]>();
  for (const name of granted.filter(one => one in bridges)) {
    const policy = bridgeOf(bridges[name]!);
    wanted.set(policy, [...(wanted.get(policy) ?? []), name]);
  }
  const old = policies.filter(({ name }) => name.startsWith("bridge_until_"));
  const same = (name: string, roles: string[]) =>
    wanted.get(name)?.toSorted().join() === roles.toSorted().join();
  // Who has a policy of its own there keeps its privileges.
  const kept = [
    role,
    ...Object.keys(bridges),
    ...unbound,
    ...policies.filter(({ name }) => !isOurs(name)).flatMap(({ roles }) => roles),
  ];
  const over = granted.filter(name => name !== "" && !kept.includes(name) && !name.startsWith("tms_"));
  const isOwn = `${ident(tenantColumn(living, table))} = ${current(living)}`;
  const isMine =
    treatment === "tenants" ? `${ident(idOfTenants(living.tenants))} = (select app.tenant_id())` : isOwn;
  const force = !ownerIsOpen && !unbound.includes(owner);
  return [
    ...(treatment === "people"
      ? has(PEOPLE)
        ? []
        : [
            own(
              `create policy ${PEOPLE} on ${relation} for select to ${to}\n  using (exists (select from ${membership!.relation} m where m.${ident(membership!.person)} = ${relation}.${ident(membership!.key)}));`,
            ),
          ]
      : [
          ...(has(ONLY)
            ? []
            : [
                own(
                  `create policy ${ONLY} on ${relation} as restrictive for all to ${to}\n  using (${isMine});`,
                ),
              ]),
          ...(has(ROWS) ? [] : [own(`create policy ${ROWS} on ${relation} for all to ${to} using (true);`)]),
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
    ...(over.length > 0 ? [own(`revoke all on table ${relation} from ${over.map(ident).join(", ")};`)] : []),
    ...(force && !has(OWNER)
      ? [
          own(
            `create policy ${OWNER} on ${relation} for all to ${ident(owner)}\n  using ((select current_setting('app.maintenance', true)) = 'on');`,
          ),
        ]
      : []),
    ...(table.enabled ? [] : [own(`alter table ${relation} enable row level security;`)]),
    ...(force && !table.forced ? [own(`alter table ${relation} force row level security;`)] : []),
    ...(granted.includes(role)
      ? []
      : [own(`grant ${rightsOf(living, table, treatment)} on table ${relation} to ${to};`)]),
    ...(granted.includes(role) || treatment !== "rows"
      ? []
      : table.sequences.map(sequence => own(`grant usage on sequence ${sequence} to ${to};`))),
  ];
}

const SECRET = /passw|secret|token|hash|salt|otp|mfa|credential/i;

function rightsOf({ tenants }: Living, { columns }: Table, treatment: Treatment): string {
  if (treatment === "rows") return "select, insert, update, delete";
  // A new tenant is not made by a request in another one, and none becomes another.
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

export const sharedSteps = ({ role }: Living, table: Table): Step[] =>
  table.granted.includes(role)
    ? []
    : [stepsOf(table)("policies", `grant select on table ${table.relation} to ${ident(role)};`)];

/** app.tenants has each tenant of the product; run it again whenever there may be new ones. */
export function tenantSteps(living: Living, name: string, slug: string): Step[] {
  if (living.uncopied === 0) return [];
  const { relation } = living.tenants;
  const id = ident(idOfTenants(living.tenants));
  return [
    {
      phase: "tenants",
      table: relation,
      as: null,
      sql: `insert into app.tenants (id, name, slug)
select t.${id}, ${name}, ${slug} from ${relation} t
where not exists (select from app.tenants a where a.id = t.${id});`,
    },
  ];
}

/** What app.tenants should have as name and slug: SQL over a row t. */
export function nameAndSlug({ tenants, tables }: Living): { name: string; slug: string } {
  const columns = tables.find(({ relation }) => relation === tenants.relation)?.columns ?? [];
  const like = (pattern: RegExp) => columns.find(column => pattern.test(column));
  const id = `t.${ident(tenants.key)}::text`;
  const named = like(/^(name|title|display_?name|company_?name)$/i);
  const handle = like(/^(slug|handle|subdomain|url_?key)$/i);
  const text = handle ? `coalesce(t.${ident(handle)}, ${id})` : id;
  return {
    name: named ? `coalesce(nullif(btrim(left(t.${ident(named)}, 255)), ''), ${id})` : id,
    slug: `btrim(regexp_replace(lower(${text}), '[^a-z0-9]+', '-', 'g'), '-')`,
  };
}
