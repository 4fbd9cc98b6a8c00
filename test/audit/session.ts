/**
 * The audit's text in a session's pg_temp, as a client sends it: `audited()` in a transaction that is rolled back; `openAudit()` in a
 * session for many plants, each of which is rolled back.
 */
import postgres from "postgres";
import {
  AFTER_CHECKS,
  BEFORE_CHECKS,
  checksIn,
  PRODUCT_CHECKS,
  temporaryText as read,
  SERVICE_CHECKS,
  serviceProfile,
} from "../../src/audit/sql-text.ts";
import { shippedLines } from "../../src/migrate/objects.ts";
import { type Database, rolledBack } from "../harness.ts";
import { isOfAnotherTest } from "./tenants.ts";

export { read };
export const CHECKS = checksIn("checks");
const SERVICE = checksIn(SERVICE_CHECKS);
/** The checks of rows: the service's, and the sample product's. */
export const PRODUCT = [...SERVICE, ...checksIn(PRODUCT_CHECKS)].sort();
export const pageOf = (check: string) =>
  `${SERVICE.includes(check) ? SERVICE_CHECKS : PRODUCT_CHECKS}/${check}.sql`;

export interface Finding {
  check: string;
  severity: string;
  tenant_id: string | null;
  relation: string | null;
  /** What it is about, in the catalog; null for a check of rows. */
  object: string | null;
  /** The key, for a check of rows. */
  row: Record<string, unknown> | null;
  detail: string;
  remedy: string;
}

/** All of it but the checks of the catalog. */
const HEART = [...BEFORE_CHECKS, ...AFTER_CHECKS].map(read).join("\n");

/** In a session of its own and one snapshot; `plant` first, as the superuser and by everybody's search_path. */
export async function audited<T>(
  url: string,
  { plant = "", profile = serviceProfile(), texts = [] as string[] },
  work: (sql: postgres.TransactionSql) => Promise<T>,
): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await rolledBack(sql, async transaction => {
      await transaction.unsafe("set transaction isolation level repeatable read");
      await transaction.unsafe(plant);
      await transaction.unsafe(
        "set local search_path = pg_catalog, pg_temp; set local client_min_messages = warning; set local jit = off",
      );
      await transaction.unsafe([HEART, profile, ...texts].join("\n"));
      return work(transaction);
    });
  } finally {
    await sql.end();
  }
}

/** The proof's findings; writes are tried. */
export async function proved(
  sql: postgres.ISql,
  relation: string | null = null,
  sample = 2,
): Promise<Finding[]> {
  await sql`select from pg_temp.prove(${relation}::text::regclass, ${sample}, true, true)`;
  return [...(await sql<Finding[]>`select * from pg_temp.proof_findings() order by relation`)];
}

export const lines = (found: Finding[]) => found.map(one => `${one.check} ${one.relation}: ${one.detail}`);

/** The address of a login that is no superuser, sees every row and may become these roles, as docs recommend; and what removes it. */
export async function auditor(
  database: Database,
  roles: string[],
): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `auditor_${database.name}`;
  const [{ options }] = await database.sql<[{ options: boolean }]>`
    select current_setting('server_version_num')::int >= 160000 as options`;
  await database.sql.unsafe(`
    create role ${name} login bypassrls password 'x' in role pg_read_all_data;
    grant connect, temporary on database ${database.name} to ${name};
    ${roles.map(role => `grant ${role} to ${name} ${options ? "with inherit false, set true" : ""};`).join("\n")}`);
  return {
    url: Object.assign(new URL(database.urls.root), { username: name, password: "x" }).href,
    drop: async () => void (await database.sql.unsafe(`drop owned by ${name}; drop role ${name}`)),
  };
}

/** What a client compared with the release's manifest. */
const RELEASED = shippedLines()
  .filter(({ kind }) => kind === "function" || kind === "definer")
  .map(({ name }) => ({ kind: "function", object: name, hash: null, reason: "the release's manifest" }));

const SEARCH_PATH = "pg_catalog, pg_temp";

/** A session of its own with the audit in it. End it before the database is dropped. */
export async function openAudit(database: Database, profile = "service-profile.sql"): Promise<postgres.Sql> {
  const sql = postgres(database.urls.root, { max: 1, onnotice: () => {} });
  await sql.unsafe(`set search_path = ${SEARCH_PATH}; set jit = off`);
  for (const name of BEFORE_CHECKS) {
    await sql.unsafe(read(name));
    if (name === "profile.sql") await freeze(sql);
  }
  await freeze(sql);
  for (const name of [
    "data.sql",
    "proof.sql",
    "proof-writes.sql",
    "proof-verdict.sql",
    ...CHECKS.map(name => `checks/${name}.sql`),
  ])
    await sql.unsafe(read(name));
  await sql.unsafe(read(profile));
  await sql`insert into pg_temp.vouched ${sql(RELEASED)}`;
  return sql;
}

/** Puts a table in the place of each view that checks read: planning them anew for each check is most of the time. */
async function freeze(sql: postgres.Sql): Promise<void> {
  const views = await sql<{ name: string }[]>`
    select relname as name from pg_class
    where relnamespace = pg_my_temp_schema() and relkind = 'v' and relname !~ '_live$'
      and not exists (select from pg_class l where l.relnamespace = pg_my_temp_schema() and l.relname = pg_class.relname || '_live')
    order by oid`;
  for (const { name } of views)
    await sql.unsafe(
      `alter view pg_temp.${name} rename to ${name}_live; create temp table ${name} as table pg_temp.${name}_live with no data`,
    );
  const functions = await sql<{ definition: string }[]>`
    select pg_get_functiondef(oid) as definition from pg_proc where pronamespace = pg_my_temp_schema() and prosqlbody is not null`;
  for (const { definition } of functions) await sql.unsafe(definition.replaceAll("_live", ""));
}

/** Reads the catalog again, as a client's run does once at its beginning. */
async function refresh(sql: postgres.TransactionSql): Promise<void> {
  const views = await sql<{ name: string }[]>`
    select replace(relname, '_live', '') as name from pg_class
    where relnamespace = pg_my_temp_schema() and relname ~ '_live$' order by oid`;
  for (const { name } of views)
    await sql.unsafe(
      `delete from pg_temp.${name}; insert into pg_temp.${name} select * from pg_temp.${name}_live`,
    );
}

/** What these checks find now. A check that cannot run is a finding of its own. */
export async function findings(sql: postgres.TransactionSql, checks: readonly string[]): Promise<Finding[]> {
  await refresh(sql);
  const all = await found(sql, checks).catch(() => null);
  if (all) return all;
  const each: Finding[] = [];
  for (const check of checks)
    each.push(
      ...(await found(sql, [check]).catch((error: Error) => [
        {
          check,
          severity: "error",
          tenant_id: null,
          relation: null,
          object: null,
          row: null,
          detail: `could not run: ${error.message}`,
          remedy: "",
        },
      ])),
    );
  return each;
}

function found(sql: postgres.TransactionSql, checks: readonly string[]): Promise<Finding[]> {
  return sql.savepoint(async savepoint => {
    // Made at this moment: what hangs on a table would keep a plant from dropping it.
    const made = checks.filter(check => PRODUCT.includes(check));
    for (const check of made) await savepoint.unsafe(read(pageOf(check)));
    const each = checks.map(check => `select '${check}' as name, to_jsonb(c) as r from pg_temp.${check} c`);
    const rows = await savepoint.unsafe<Finding[]>(`
      select name as "check", r ->> 'severity' as severity, r ->> 'tenant_id' as tenant_id, r ->> 'relation' as relation,
        r ->> 'object' as object, r -> 'row' as row, r ->> 'detail' as detail, r ->> 'remedy' as remedy
      from (${each.join(" union all ")}) f`);
    for (const check of made) await savepoint.unsafe(`drop view pg_temp.${check}`);
    return rows.filter(({ object }) => !isOfAnotherTest(object));
  });
}

/** Plants as a person at psql would, with the search_path of everybody. */
export async function plant(sql: postgres.TransactionSql, text: string): Promise<void> {
  await sql.unsafe(`set local search_path = "$user", public`);
  await sql.unsafe(text);
  await sql.unsafe(`set local search_path = ${SEARCH_PATH}; set local session_replication_role = origin`);
}

/** What the generic checks of rows find now. */
export async function rowFindings(sql: postgres.TransactionSql): Promise<Finding[]> {
  await refresh(sql);
  const rows = await sql<Omit<Finding, "object">[]>`
    select f.* from pg_temp.data_statements s cross join lateral pg_temp.find_rows(s) f`;
  return rows.map(row => ({ ...row, object: null }));
}
