/**
 * Compares the functions in the database with the manifest that this build ships. It calls no function of the database: a replaced
 * check would not report itself.
 */
import { readFileSync } from "node:fs";
import path from "node:path";
import type postgres from "postgres";
import { PACKAGE_ROOT } from "../config/paths.ts";
import { StartupError } from "../errors/startup-error.ts";
import { RELEASE, releaseHash } from "./release.ts";
import { settle } from "./session.ts";

export const MANIFEST_SQL = path.join(PACKAGE_ROOT, "db", "audit", "manifest.sql");
const BODY = /(?<=as \$\$)[\s\S]*?(?=\$\$;)/;
const FUNCTION = /\('function', '([^']+)', '([^']+)', '[^']*', '(\w*)'\)/g;

/** While a tenant context secret is stored, these functions have the body of others: control.switch_tenant_context(). */
const WITH_SECRET: Record<string, string> = {
  "app.requires_proof()": "control.proof_required()",
  "app.tenant_id()": "control.signed_tenant_id()",
};

export interface Changed {
  name: string;
  detail: string;
}

/** Those that differ; of a release of another number all do, and only the manifest is named. */
export async function changedFunctions(sql: postgres.Sql): Promise<Changed[]> {
  // Of a tree that was edited the manifest is not written yet.
  if (releaseHash() !== RELEASE.hash) return [];
  const source = BODY.exec(readFileSync(MANIFEST_SQL, "utf8"))![0].replaceAll("\r\n", "\n");
  const shipped = [...source.matchAll(FUNCTION)].map(([, name, owner, body]) => ({ name, owner, body }));
  const bodyOf = (other: string) => shipped.find(({ name }) => name === other)!.body;
  return sql.begin("read only", async tx => {
    await tx`set local search_path = pg_catalog, pg_temp`;
    await settle(tx);
    const [manifest] = await tx`
      select from pg_proc where pronamespace = to_regnamespace('audit') and proname = 'manifest' and replace(prosrc, E'\r\n', E'\n') = ${source}`;
    if (!manifest) {
      const detail = `the list of the release's functions is not that of this build, release ${RELEASE.number}: the database has another release, or somebody changed the list`;
      return [{ name: "audit.manifest()", detail }];
    }
    const [context] = await tx`select from control.tenant_context`;
    const expected = context
      ? shipped.map(one => ({
          ...one,
          body: WITH_SECRET[one.name!] ? bodyOf(WITH_SECRET[one.name!]!) : one.body,
        }))
      : shipped;
    // As audit.definition_hash() has it; a test holds the two together.
    const changed = await tx<Changed[]>`
      select s.name, case
          when f.name is null then 'the function is not there'
          when s.body not in ('', f.body) then 'the function is not what the release made'
          when s.owner <> f.owner then format('the function belongs to %s instead of %s', f.owner, s.owner)
          else 'everybody may execute the function' end as detail
      from jsonb_to_recordset(${tx.json(expected)}) s (name text, owner text, body text)
      left join (
        select f.oid::regprocedure::text as name, pg_get_userbyid(f.proowner)::text as owner,
          exists (select from aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) where grantee = 0) as open,
          left(encode(sha256(convert_to(concat_ws('|', l.lanname, f.prokind, f.provolatile, f.proisstrict, f.prosecdef, f.proparallel,
            pg_get_function_arguments(f.oid), pg_get_function_result(f.oid),
            (select string_agg(replace(c, '"', ''), ', ' order by c) from unnest(f.proconfig) c),
            coalesce(regexp_replace(pg_get_function_sqlbody(f.oid), '\\s+', ' ', 'g'), replace(f.prosrc, E'\r\n', E'\n')), f.probin),
            'UTF8')), 'hex'), 32) as body
        from pg_proc f
        join pg_namespace n on n.oid = f.pronamespace and n.nspname in ('app', 'api', 'control', 'audit')
        join pg_language l on l.oid = f.prolang) f using (name)
      where f.name is null or s.body not in ('', f.body) or s.owner <> f.owner or f.open
      order by s.name`;
    return [...changed];
  });
}

/** @throws StartupError where a function of the release is not as this build ships it */
export async function requireShippedFunctions(sql: postgres.Sql): Promise<void> {
  const changed = await changedFunctions(sql);
  if (changed.length === 0) return;
  const [first, ...more] = changed.map(({ name, detail }) => `${name}: ${detail}`);
  const others = more.length > 0 ? ` (and ${more.length} more)` : "";
  throw new StartupError(
    `The release in the database was changed: ${first}${others}. Install it again: npm run migrate -- --reinstall`,
  );
}

interface Row {
  kind: string;
  name: string;
  owner: string;
  granted: string;
  body: string;
}

/** The page, with what the database has. */
export async function writtenManifest(sql: postgres.ISql): Promise<string> {
  const rows = await sql<Row[]>`
    select kind, name, owner, granted, body from audit.installed() order by kind, name collate "C"`;
  const values = rows.map(
    row =>
      `    (${[row.kind, row.name, row.owner, row.granted, row.body].map(text => `'${text}'`).join(", ")})`,
  );
  return readFileSync(MANIFEST_SQL, "utf8").replace(BODY, () => `\n  values\n${values.join(",\n")}\n`);
}
