/** The catalog of the service's schemas as sorted lines, one an object, so that two databases can be compared. */
import type postgres from "postgres";

const OURS = "('app', 'api', 'audit', 'control')";

/** Tables, their columns, constraints, indexes, policies, types and rights. */
const TABLES = `
  select format('schema %s %s %s %s', nspname, nspowner::regrole, nspacl, obj_description(oid, 'pg_namespace')) as line
  from pg_namespace where nspname in ${OURS} or nspname = 'public'
  union all
  select format('%s %s %s %s rls=%s force=%s %s', relkind, c.oid::regclass, relowner::regrole,
    (select array_agg(a order by a::text) from unnest(relacl) a), relrowsecurity, relforcerowsecurity, obj_description(c.oid, 'pg_class'))
  from pg_class c where relnamespace::regnamespace::text in ${OURS} and relkind in ('r', 'p', 'S')
  union all
  select format('column %s.%s %s notnull=%s default=%s identity=%s %s', attrelid::regclass, attname, format_type(atttypid, atttypmod),
    attnotnull, pg_get_expr(adbin, adrelid), attidentity, col_description(attrelid, attnum))
  from pg_attribute a join pg_class c on c.oid = attrelid left join pg_attrdef d on adrelid = attrelid and adnum = attnum
  where relnamespace::regnamespace::text in ${OURS} and (relkind in ('r', 'p') or relkind = 'c' and relnamespace <> 'audit'::regnamespace) and attnum > 0 and not attisdropped
  union all
  select format('constraint %s.%s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated)
  from pg_constraint where connamespace::regnamespace::text in ${OURS}
  union all
  select format('index %s %s', pg_get_indexdef(indexrelid), obj_description(indexrelid, 'pg_class'))
  from pg_index join pg_class c on c.oid = indrelid where relnamespace::regnamespace::text in ${OURS}
  union all
  select format('policy %s on %s %s %s %s using %s check %s', polname, polrelid::regclass, polpermissive, polcmd, polroles::regrole[],
    pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)) from pg_policy
  union all
  select format('default rights %s %s %s', defaclrole::regrole, defaclobjtype, defaclacl) from pg_default_acl`;

/** Functions, views and triggers. */
const INSTALLED = `
  select format('function %s %s %s %s %s', oid::regprocedure, proowner::regrole, (select array_agg(a order by a::text) from unnest(proacl) a),
    md5(pg_get_functiondef(oid)), obj_description(oid, 'pg_proc')) as line
  from pg_proc p where pronamespace::regnamespace::text in ${OURS} and prokind in ('f', 'p')
    and not exists (select from pg_depend where objid = p.oid and deptype = 'e')
  union all
  select format('view %s %s %s %s', oid::regclass, relowner::regrole, relacl, pg_get_viewdef(oid))
  from pg_class where relkind = 'v' and relnamespace::regnamespace::text in ${OURS}
  union all
  select format('trigger %s %s', pg_get_triggerdef(t.oid), tgenabled)
  from pg_trigger t join pg_class c on c.oid = tgrelid where not tgisinternal and relnamespace::regnamespace::text in ${OURS}`;

export const tablesOf = (sql: postgres.ISql) => linesOf(sql, TABLES);
export const catalogOf = (sql: postgres.ISql) => linesOf(sql, `${TABLES} union all ${INSTALLED}`);

async function linesOf(sql: postgres.ISql, query: string): Promise<string[]> {
  const rows = await sql.unsafe<{ line: string }[]>(query);
  return rows.map(({ line }) => line).sort();
}
