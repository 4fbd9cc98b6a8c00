/** Statements whose result changes by the plan: those of the old application, and those of the backend that enters tenants. */
import { ident } from "../values/sql-names.ts";
import { names } from "./foreign-key.ts";
import { globalKeys } from "./global-keys.ts";
import type { Table } from "./living.ts";
import type { Plan } from "./plan.ts";
import { tenantColumn } from "./tenants.ts";

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

/** While its bridge is open, its other statements do what they did. */
function ofOldApplication({ living, open, steps }: Plan, rows: Table[]): Meaning[] {
  const filled = rows.filter(({ parent, nullable, column }) => parent && (!column || nullable));
  const required = rows.filter(({ parent, nullable }) => nullable && !parent);
  const [first, ...others] = steps.filter(step => step.protects).map(({ table }) => table!);
  const logins = Object.keys(open).map(ident).join(", ");
  const also = others.length > 0 ? ` (and of ${others.length} more tables)` : "";
  return [
    ...filled.map(table => ({
      statement: `insert into ${table.relation} … without ${ident(tenantColumn(living, table))}`,
      becomes: `a trigger copies it from ${table.parent!.relation}; select * returns one more column`,
    })),
    ...required.map(table => ({
      statement: `insert into ${table.relation} … without ${ident(table.column!)}, or with null`,
      becomes: "fails (23502)",
    })),
    ...steps.flatMap(({ table, key, holds }) =>
      key === undefined
        ? []
        : [
            {
              statement: `insert or update of ${table} that refers to a row of another tenant (${ident(key)})`,
              becomes: "fails (23503)",
            },
            ...(holds
              ? [
                  {
                    statement: `update of the tenant of a row of ${holds} to which rows of ${table} refer (${ident(key)})`,
                    becomes: "fails (23503)",
                  },
                ]
              : []),
          ],
    ),
    ...(first
      ? [
          {
            statement: `copy ${first} from …, or pg_dump, by a login that does not own the table${also}`,
            becomes:
              "fails: copy with 0A000, use insert; pg_dump with 42501, dump as the owner or with BYPASSRLS",
          },
          {
            statement: `any statement on ${first}${also} by a role other than ${[living.role, logins].filter(Boolean).join(", ")}, superusers and roles with BYPASSRLS`,
            becomes: "finds no row and writes none",
          },
        ]
      : []),
    ...steps.flatMap(({ table, revokes = [] }) =>
      revokes.map(role => ({
        statement: `any statement of ${ident(role)} on ${table}`,
        becomes: "fails (42501): it has no open bridge",
      })),
    ),
  ];
}

/** Of the backend that becomes the role and enters a tenant. */
function ofRequests({ living, chosen, treatments }: Plan, rows: Table[]): Meaning[] {
  const { role, tenants } = living;
  const as = `as ${ident(role)}:`;
  const of = (treatment: string) =>
    chosen.filter(({ relation }) => treatments.get(relation) === treatment).map(({ relation }) => relation);
  const [plain, ...others] = rows.filter(({ parent }) => !parent);
  if (chosen.length === 0) return [];
  return [
    {
      statement: `${as} select, update, delete without a tenant`,
      becomes: "finds no row and raises no error; with app.require_tenant = on it raises TM428",
    },
    {
      statement: `${as} select, update, delete without a condition on the tenant`,
      becomes: "finds only the rows of the tenant that was entered",
    },
    ...(plain
      ? [
          {
            statement: `${as} insert into ${plain.relation} … without ${ident(tenantColumn(living, plain))}, or with another tenant's${others.length > 0 ? ` (and into ${others.length} more tables)` : ""}`,
            becomes: "fails (42501)",
          },
        ]
      : []),
    {
      statement: `${as} insert into ${tenants.relation}, delete from ${tenants.relation}, truncate`,
      becomes: "fails (42501)",
    },
    ...of("people").map(name => ({
      statement: `${as} select from ${name}`,
      becomes: "finds the members of the tenant; writes fail (42501)",
    })),
    ...of("shared").map(name => ({
      statement: `${as} select from ${name}`,
      becomes: "finds every row; writes fail (42501)",
    })),
  ];
}

function ofKeys({ living, later }: Plan, table: Table): Meaning[] {
  return globalKeys(living.keys, table).map(index => {
    const columns = index.columns.filter(column => column !== null);
    const isPlain = columns.length === index.columns.length && !index.partial;
    const target = isPlain ? `(${names(columns)})` : index.keys;
    const drop = later.find(one => one.index === index);
    return drop
      ? {
          statement: `insert into ${table.relation} … on conflict ${target}`,
          becomes: `fails (42P10) once ${index.name} is dropped: use on conflict (${ident(tenantColumn(living, table))}, ${target.slice(1)}`,
        }
      : {
          statement: `as ${ident(living.role)}: insert into ${table.relation} … with a value of ${target} that another tenant has`,
          becomes: "fails (23505); on conflict do nothing adds no row; on conflict do update fails (42501)",
        };
  });
}

const ofViews = (views: string[]): Meaning[] =>
  views.map(view => ({
    statement: `select from the view ${view}`,
    becomes: `reads with the rights of the view's owner. Before you grant it to requests: alter view ${view} set (security_invoker = true)`,
  }));
