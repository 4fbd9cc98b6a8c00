/**
 * Compares the functions in the database with the manifest that this build ships. It calls no function of the database: a replaced
 * check would not report itself.
 */
import { existsSync, readFileSync } from "node:fs";
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
export const WITH_SECRET: Record<string, string> = {
  "app.requires_proof()": "control.proof_required()",
  "app.tenant_id()": "control.signed_tenant_id()",
};

export interface Changed {
  name: string;
  detail: string;
  remedy: string;
}

const AGAIN = "install the release again: npm run migrate -- --reinstall";

// Tests are compiled too, in a folder that has the source.
const BUILT = !existsSync(path.join(PACKAGE_ROOT, "src"));
const OTHER_FILES: Changed = {
  name: "db/",
  detail: `its files are not those of release ${RELEASE.number}, so that nothing tells a changed function`,
  remedy: "build from a tree whose db/release.json is written: npm run release",
};

interface Shipped {
  name: string;
  owner: string;
  body: string;
}

/** The body of audit.manifest(). */
const source = BODY.exec(readFileSync(MANIFEST_SQL, "utf8"))![0].replaceAll("\r\n", "\n");
const shipped = [...source.matchAll(FUNCTION)].map(
  ([, name, owner, body]) => ({ name, owner, body }) as Shipped,
);
/**
 * Those that differ, and those of no release that a call could mean, or that run with rights of their owner and are not in
 * audit.accepted. Of a release of another number all differ, and only the manifest is named.
 */
export async function changedFunctions(sql: postgres.Sql): Promise<Changed[]> {
  // Of a tree that is edited the manifest is not written yet, and a build without a hash is no release.
  if (releaseHash() !== RELEASE.hash) return BUILT && RELEASE.hash !== "" ? [OTHER_FILES] : [];
  const bodyOf = (other: string) => shipped.find(({ name }) => name === other)!.body;
  return sql.begin("read only", async tx => {
    await tx`set local search_path = pg_catalog, pg_temp`;
    await settle(tx);
    const [manifest] = await tx`
      select from pg_proc where pronamespace = to_regnamespace('audit') and proname = 'manifest' and replace(prosrc, E'\r\n', E'\n') = ${source}`;
    if (!manifest) {
      const detail = `the list of the release's functions is not that of this build, release ${RELEASE.number}: the database has another release, or somebody changed the list`;
      return [{ name: "audit.manifest()", detail, remedy: AGAIN }];
    }
    const context = await hasSecret(tx);
    const expected = context
      ? shipped.map(one => ({
          ...one,
          body: WITH_SECRET[one.name] ? bodyOf(WITH_SECRET[one.name]!) : one.body,
        }))
      : shipped;
    // As audit.definition_hash() has it; a test holds the two together.
    const changed = await tx<Changed[]>`
      with shipped as (
        select * from jsonb_to_recordset(${tx.json(expected as unknown as postgres.JSONValue)}) s (name text, owner text, body text)
      ), installed as materialized (
        select f.oid::regprocedure::text as name, pg_get_userbyid(f.proowner)::text as owner, f.prosecdef as definer,
          exists (select from aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) where grantee = 0) as open,
          exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = f.oid and deptype = 'e') as packed,
          left(encode(sha256(convert_to(concat_ws('|', l.lanname, f.prokind, f.provolatile, f.proisstrict, f.prosecdef, f.proparallel,
            pg_get_function_arguments(f.oid), pg_get_function_result(f.oid),
            (select string_agg(replace(c, '"', ''), ', ' order by c) from unnest(f.proconfig) c),
            coalesce(regexp_replace(pg_get_function_sqlbody(f.oid), '\\s+', ' ', 'g'), replace(f.prosrc, E'\r\n', E'\n')), f.probin),
            'UTF8')), 'hex'), 32) as body
        from pg_proc f
        join pg_namespace n on n.oid = f.pronamespace and n.nspname in ('app', 'api', 'control', 'audit')
        join pg_language l on l.oid = f.prolang
      )
      select s.name, case
          when f.name is null then 'the function is not there'
          when s.body not in ('', f.body) then 'the function is not what the release made'
          when s.owner <> f.owner then format('the function belongs to %s instead of %s', f.owner, s.owner)
          else 'everybody may execute the function' end as detail,
          ${AGAIN}::text as remedy
      from shipped s left join installed f using (name)
      where f.name is null or s.body not in ('', f.body) or s.owner <> f.owner or f.open
      union all
      select f.name, case when m.called is not null then 'the function has the name of one of this release, and may be called in its place'
        else format('the function is not of this release, and runs with the rights of %s', f.owner) end,
          format('drop routine %s;', f.name) || case when m.called is null then format(' or, once you have read it: select audit.accept(%L);', f.name) else '' end
      from installed f
      left join (select distinct split_part(name, '(', 1) as called from shipped) m on m.called = split_part(f.name, '(', 1)
      where f.name not in (select name from shipped)
        and (m.called is not null and not f.packed
          or f.definer and not exists (
            select from audit.accepted a where a.kind = 'function' and a.name = f.name and a.owner = f.owner and a.body = f.body))
      order by name`;
    return [...changed];
  });
}

/** Members of tms_auditor may not read the secret's keys, and ask a function that is in the manifest itself. */
async function hasSecret(tx: postgres.TransactionSql): Promise<boolean> {
  const [may] = await tx<{ read: boolean | null }[]>`
    select has_schema_privilege(c.relnamespace, 'usage') and has_table_privilege(c.oid, 'select') as read
    from pg_class c where c.relnamespace = to_regnamespace('control') and c.relname = 'tenant_context'`;
  const [row] = may?.read
    ? await tx`select exists (select from control.tenant_context) as secret`
    : await tx`select app.has_context_secret() as secret`;
  return row!.secret as boolean;
}

/** Whether the database has the release of this build, whose files are as the release has them. */
export const isOfThisBuild = (changed: readonly Changed[]): boolean =>
  releaseHash() === RELEASE.hash && !changed.some(({ name }) => name === "audit.manifest()");

/** @throws StartupError where a function of the release is not as this build ships it */
export async function requireShippedFunctions(sql: postgres.Sql): Promise<void> {
  const changed = await changedFunctions(sql);
  if (changed.length === 0) return;
  const [first, ...more] = changed;
  const others = more.length > 0 ? ` (and ${more.length} more)` : "";
  throw new StartupError(
    `The release in the database was changed: ${first!.name}: ${first!.detail}${others}. To mend it, ${first!.remedy}`,
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
