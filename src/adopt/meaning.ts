/** Statements that mean something else after the plan: of the old application, and of the one that enters tenants. */
import { ident } from "../values/sql-names.ts";
import type { Table } from "./living.ts";
import type { Plan } from "./plan.ts";
import { tenantColumn } from "./rows.ts";
import { globalKeys } from "./treat.ts";

export interface Meaning {
  statement: string;
  becomes: string;
}

export function meaningsOf(plan: Plan): Meaning[] {
  const { living, chosen, treatments } = plan;
  const rows = chosen.filter(({ relation }) => treatments.get(relation) === "rows");
  return [
    ...ofOldApplication(plan, rows),
    ...ofRequests(plan, rows),
    ...rows.flatMap(table => ofKeys(plan, table)),
    ...ofViews(living.views),
  ];
}

/** While its bridge is open it goes on as before, but for these. */
function ofOldApplication({ living, bridges, steps, chosen }: Plan, rows: Table[]): Meaning[] {
  const filled = rows.filter(({ parent, nullable, column }) => parent && (!column || nullable));
  const required = rows.filter(({ parent, nullable }) => nullable && !parent);
  const protectedTables = chosen.filter(({ relation }) =>
    steps.some(step => step.table === relation && step.sql.includes("enable row level security")),
  );
  const loses = steps.filter(({ sql }) => sql.startsWith("revoke all on table"));
  const moved = steps.filter(({ sql }) => sql.includes("not valid") && sql.includes("foreign key"));
  const logins = Object.keys(bridges).map(ident).join(", ");
  return [
    ...filled.map(table => ({
      statement: `insert into ${table.relation} … without ${tenantColumn(living, table)}`,
      becomes: `a trigger takes it from ${table.parent!.relation}; select * has one column more`,
    })),
    ...required.map(table => ({
      statement: `insert into ${table.relation} … with ${table.column} null, or without it`,
      becomes: "fails (23502)",
    })),
    ...moved.map(({ table, sql }) => ({
      statement: `insert or update of ${table} that refers to another tenant's row (${/constraint (\S+|".*?") foreign/.exec(sql)?.[1]})`,
      becomes: "fails (23503)",
    })),
    ...(protectedTables.length > 0
      ? [
          {
            statement: `copy ${protectedTables[0]!.relation} from …, and pg_dump, by a login that does not own the table${protectedTables.length > 1 ? ` (as of the other ${protectedTables.length - 1})` : ""}`,
            becomes: "fails (0A000; pg_dump: 42501, it needs BYPASSRLS): insert instead, dump as the owner",
          },
          ...(logins
            ? [
                {
                  statement: `any statement of a role other than ${living.role}, ${logins}, superusers and BYPASSRLS on these tables`,
                  becomes: "sees no row and writes none",
                },
              ]
            : []),
        ]
      : []),
    ...loses.map(({ sql }) => ({
      statement: sql.replace(/^revoke all on table (\S+|".*?") from (.*);$/, "any statement of $2 on $1"),
      becomes: "fails (42501): its bridge is over",
    })),
  ];
}

/** Of the backend that becomes the role and enters a tenant. */
function ofRequests({ living, chosen, treatments }: Plan, rows: Table[]): Meaning[] {
  const { role, tenants } = living;
  const as = `as ${role}:`;
  const of = (treatment: string) =>
    chosen.filter(({ relation }) => treatments.get(relation) === treatment).map(({ relation }) => relation);
  const plain = rows.filter(({ parent }) => !parent);
  const [people, shared] = [of("people"), of("shared")];
  if (chosen.length === 0) return [];
  return [
    {
      statement: `${as} select, update, delete without a tenant`,
      becomes: "finds no row, and no error; TM428 with app.require_tenant = on",
    },
    {
      statement: `${as} select, update, delete without a where for the tenant`,
      becomes: "finds the rows of the tenant that was entered, no others",
    },
    ...(plain.length > 0
      ? [
          {
            statement: `${as} insert into ${plain[0]!.relation} … without ${tenantColumn(living, plain[0]!)}${plain.length > 1 ? ` (likewise ${plain.length - 1} more)` : ""}, or with another tenant's`,
            becomes: "fails (42501)",
          },
        ]
      : []),
    {
      statement: `${as} insert into ${tenants.relation}, delete from ${tenants.relation}, truncate`,
      becomes: "fails (42501)",
    },
    ...people.map(name => ({
      statement: `${as} select from ${name}`,
      becomes: "finds the members of the tenant; writes fail (42501)",
    })),
    ...shared.map(name => ({
      statement: `${as} select from ${name}`,
      becomes: "finds every row; writes fail (42501)",
    })),
  ];
}

function ofKeys({ living, later }: Plan, table: Table): Meaning[] {
  return globalKeys(living.keys, table).map(({ name, columns, keys, constraint }) => {
    const target = columns.every(column => column !== null)
      ? columns.map(column => ident(column!)).join(", ")
      : keys;
    const goes = `${constraint ? `drop constraint ${ident(constraint)}` : `drop index concurrently ${name}`};`;
    return later.some(sql => sql.endsWith(goes))
      ? {
          statement: `insert into ${table.relation} … on conflict (${target})`,
          becomes: `fails (42P10) once ${name} is dropped: on conflict (${ident(tenantColumn(living, table))}, ${target})`,
        }
      : {
          statement: `as ${living.role}: insert into ${table.relation} … with a value of (${target}) that another tenant has`,
          becomes: "fails (23505); on conflict do nothing adds no row; on conflict do update fails (42501)",
        };
  });
}

const ofViews = (views: string[]): Meaning[] =>
  views.map(view => ({
    statement: `select from the view ${view}`,
    becomes: `reads as the view's owner. Before requests may: alter view ${view} set (security_invoker = true)`,
  }));
