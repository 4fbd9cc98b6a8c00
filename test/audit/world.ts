/** The audit's text in a session's pg_temp, as a client sends it; and what its checks find of one plant, which is rolled back. */
import { readdirSync, readFileSync } from "node:fs";
import postgres from "postgres";
import { shippedLines } from "../../src/migrate/objects.ts";
import type { Database } from "../harness.ts";
import { isOfAnotherTest } from "./tenants.ts";

const FOLDER = new URL("../../db/audit/", import.meta.url);

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

export const source = (name: string) => readFileSync(new URL(name, FOLDER), "utf8");
export const read = (name: string) => source(name).replaceAll(/\baudit\.(?=[a-z_])/g, "pg_temp.");

export const namesIn = (folder: "checks" | "product") =>
  readdirSync(new URL(`${folder}/`, FOLDER))
    .filter(name => name.endsWith(".sql"))
    .map(name => name.replace(".sql", ""))
    .sort();

export const CHECKS = namesIn("checks");
export const PRODUCT = namesIn("product");

/** What a client compared with the release's manifest. */
const RELEASED = shippedLines()
  .filter(({ kind }) => kind === "function" || kind === "definer")
  .map(({ name }) => ({ kind: "function", object: name, hash: null, reason: "the release's manifest" }));

const SEARCH_PATH = "pg_catalog, pg_temp";

/** A session of its own with the audit in it. End it before the database is dropped. */
export async function openAudit(database: Database, profile = "service-profile.sql"): Promise<postgres.Sql> {
  const sql = postgres(database.urls.root, { max: 1, onnotice: () => {} });
  await sql.unsafe(`set search_path = ${SEARCH_PATH}; set jit = off`);
  for (const name of ["../tables/profile.sql", "profile.sql"]) await sql.unsafe(read(name));
  await freeze(sql);
  for (const name of ["../tables/vouched.sql", "vouched.sql", "support.sql", "citus.sql"])
    await sql.unsafe(read(name));
  await freeze(sql);
  for (const name of ["data.sql", "proof.sql", ...CHECKS.map(name => `checks/${name}.sql`)])
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
export async function refresh(sql: postgres.TransactionSql): Promise<void> {
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
    for (const check of made) await savepoint.unsafe(read(`product/${check}.sql`));
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
