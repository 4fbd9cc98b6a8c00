/** A line for each object, with all that makes it what it is: what a remedy changes, and what it leaves alone. */
import type postgres from "postgres";

const QUERY = `
  with own as (
    select c.*, format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname !~ '^pg_' and n.nspname <> 'information_schema')
  select 'function ' || p.oid::regprocedure as name, concat_ws('|', case when p.prokind in ('f', 'p') then pg_get_functiondef(p.oid) end, p.proowner::regrole, p.proacl) as text
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
  union all select 'relation ' || c.name, concat_ws('|', c.relkind, c.relowner::regrole, c.relacl, c.relrowsecurity, c.relforcerowsecurity, c.reloptions,
      (select string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attacl, pg_get_expr(adbin, adrelid)), ',' order by attnum)
        from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum where attrelid = c.oid and attnum > 0 and not attisdropped),
      case when c.relkind in ('v', 'm') then pg_get_viewdef(c.oid) end) from own c where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
  union all select concat('parent of ', c.name, ': ', inhparent::regclass), '' from pg_inherits join own c on c.oid = inhrelid
  union all select 'index ' || c.name, concat_ws('|', pg_get_indexdef(c.oid), i.indisvalid) from own c join pg_index i on i.indexrelid = c.oid
  union all select format('constraint %s of %s', conname, c.name), concat_ws('|', pg_get_constraintdef(k.oid), convalidated)
    from pg_constraint k join own c on c.oid = conrelid where contype <> 'n'
  union all select format('policy %s of %s', polname, c.name), concat_ws('|', polpermissive, polcmd, polroles::regrole[], pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid))
    from pg_policy join own c on c.oid = polrelid
  union all select format('trigger %s of %s', case when tgisinternal then regexp_replace(tgname, '\\d+$', '') || coalesce((select conname from pg_constraint where oid = tgconstraint), '') else tgname end, c.name),
      string_agg(tgenabled::text, '') from pg_trigger t join own c on c.oid = tgrelid group by 1
  union all select format('rule %s of %s', rulename, c.name), pg_get_ruledef(r.oid) from pg_rewrite r join own c on c.oid = ev_class where rulename <> '_RETURN'
  union all select 'schema ' || nspname, concat_ws('|', nspowner::regrole, nspacl) from pg_namespace where nspname !~ '^pg_(temp|toast)'
  union all select format('defaults of %s in %s', defaclrole::regrole, nullif(defaclnamespace, 0)::regnamespace), string_agg(concat(defaclobjtype, defaclacl), ',' order by 1) from pg_default_acl group by defaclrole, defaclnamespace
  union all select 'publication ' || pubname, (select string_agg(concat(prrelid::regclass, pg_get_expr(prqual, prrelid)), ',' order by 1) from pg_publication_rel where prpubid = p.oid) from pg_publication p
  union all select 'role ' || rolname, concat_ws('|', rolsuper, rolbypassrls, rolreplication, rolcreaterole, rolcanlogin) from pg_roles where rolname !~ '^pg_'
  union all select format('member %s of %s', member::regrole, roleid::regrole), '' from pg_auth_members where member >= 16384
  union all select format('setting of %s', coalesce(nullif(setrole, 0)::regrole::text, 'all')), string_agg(setconfig::text, ',') from pg_db_role_setting group by setrole
  union all select 'system object ' || attrelid::regclass || '.' || attname, attacl::text from pg_attribute where attacl is not null and attrelid < 16384`;

/** The objects' lines, and for each table how many rows it has and a hash of them. */
export async function fingerprint(sql: postgres.TransactionSql): Promise<Map<string, string>> {
  const lines = await sql.unsafe<{ name: string; text: string }[]>(QUERY);
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('app', 'shop', 'control') and c.relkind = 'r'`;
  const rows = await Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await sql.unsafe<{ text: string }[]>(
        `select concat(count(*), ' ', md5(string_agg(t::text, ',' order by t::text))) as text from only ${name} t`,
      );
      return [`rows of ${name}`, row!.text] as const;
    }),
  );
  return new Map([...lines.map(({ name, text }) => [name, text] as const), ...rows]);
}

/** What came (+), went (-) and changed (~). */
export function changes(before: Map<string, string>, after: Map<string, string>): string[] {
  const gone = [...before.keys()].filter(name => !after.has(name)).map(name => `- ${name}`);
  const more = [...after].flatMap(([name, text]) =>
    !before.has(name) ? [`+ ${name}`] : before.get(name) === text ? [] : [`~ ${name}`],
  );
  return [...gone, ...more].sort();
}
