import type postgres from "postgres";
import { StartupError } from "../errors/startup-error.ts";

interface Found {
  database: string;
  schema: string | null;
  connect: string | null;
  temporary: string | null;
  usage: string | null;
  creation: string | null;
}

/**
 * The first migration revokes the database, and the schema public, from PUBLIC. Refuses if a login owns objects there (ids from 16384
 * up), or has privileges on them, and would lose CONNECT, TEMPORARY, or USAGE or CREATE in public: the database may be another
 * application's. A grant to the login says that it is not. Refuses also if a schema has one of the service's names.
 */
export async function refuseNeighbours(sql: postgres.Sql): Promise<void> {
  const [found] = await sql<Found[]>`
    with logins as (
      select r.oid, quote_ident(r.rolname) as name, d.oid as database
      from pg_catalog.pg_database d
      join pg_catalog.pg_roles r
        on r.rolcanlogin and not r.rolsuper and r.rolname !~ '^tms_' and r.oid <> d.datdba
        and has_database_privilege(r.oid, d.oid, 'connect')
      where d.datname = current_database()
    ), objects as (
      select s.refobjid as role, coalesce(c.relnamespace, f.pronamespace, t.typnamespace) = to_regnamespace('public') as in_public,
        s.deptype = 'o' as owned
      from pg_catalog.pg_shdepend s
      left join pg_catalog.pg_class c on s.classid = 'pg_class'::regclass and c.oid = s.objid
      left join pg_catalog.pg_proc f on s.classid = 'pg_proc'::regclass and f.oid = s.objid
      left join pg_catalog.pg_type t on s.classid = 'pg_type'::regclass and t.oid = s.objid
      where s.dbid = (select oid from pg_catalog.pg_database where datname = current_database())
        and s.refclassid = 'pg_authid'::regclass and s.objid >= 16384
        and s.classid not in ('pg_extension'::regclass, 'pg_default_acl'::regclass)
    ), named as (
      select a.grantee, a.privilege_type as privilege
      from pg_catalog.pg_database d, aclexplode(d.datacl) a
      where d.datname = current_database() and a.grantee <> 0
      union all
      select a.grantee, a.privilege_type || ' in public'
      from pg_catalog.pg_namespace n, aclexplode(n.nspacl) a
      where n.nspname = 'public' and a.grantee <> 0
      union all
      select n.nspowner, privilege || ' in public'
      from pg_catalog.pg_namespace n, unnest('{USAGE,CREATE}'::text[]) privilege
      where n.nspname = 'public'
    ), held as (
      select l.oid, l.name, array(select n.privilege from named n where pg_has_role(l.oid, n.grantee, 'usage')) as by_name,
        has_database_privilege(l.oid, l.database, 'temporary') as temporary,
        coalesce(bool_or(o.in_public), false) as in_public, coalesce(bool_or(o.in_public and o.owned), false) as owns
      from logins l
      join objects o on pg_has_role(l.oid, o.role, 'usage')
      group by l.oid, l.name, l.database
    ), losing as (
      select name, 'CONNECT' <> all (by_name) as connect, temporary and 'TEMPORARY' <> all (by_name) as temporary, usage,
        usage and owns or in_public and has_schema_privilege(oid, 'public', 'create') and 'CREATE in public' <> all (by_name) as creation
      from held
      cross join lateral (
        select in_public and has_schema_privilege(oid, 'public', 'usage') and 'USAGE in public' <> all (by_name) as usage) u
    )
    select current_database() as database,
      (select min(nspname) from pg_catalog.pg_namespace where nspname in ('app', 'api', 'audit', 'control')) as schema,
      (select string_agg(name, ', ' order by name) from losing where connect) as connect,
      (select string_agg(name, ', ' order by name) from losing where temporary) as temporary,
      (select string_agg(name, ', ' order by name) from losing where usage) as usage,
      (select string_agg(name, ', ' order by name) from losing where creation) as creation`;
  const { database, schema, connect, temporary, usage, creation } = found!;
  if (schema)
    throw new StartupError(
      `The database ${database} has a schema ${schema} already, which the first migration makes: use a database of its own, or rename yours before ` +
        `(alter schema ${schema} rename to …;). Where it is this service's, restored without its schema graphile_migrate, restore the whole dump`,
    );
  const grants = [
    connect && `grant connect on database ${database} to ${connect};`,
    temporary && `grant temporary on database ${database} to ${temporary};`,
    usage && `grant usage on schema public to ${usage};`,
    creation && `grant create on schema public to ${creation};`,
  ].filter(Boolean);
  if (grants.length === 0) return;
  throw new StartupError(
    `The first migration closes the database ${database} and its schema public, in which others have objects or rights: use a database of ` +
      `its own (with ROOT_DATABASE_URL migrate makes one), or let them in by name before: ${grants.join(" ")}`,
  );
}
