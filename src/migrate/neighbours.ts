import type postgres from "postgres";
import { StartupError } from "../errors/startup-error.ts";

interface Found {
  database: string;
  schema: string | null;
  connect: string | null;
  usage: string | null;
  creation: string | null;
}

/**
 * The first migration takes CONNECT on the database, and the schema public, from PUBLIC. Refuses if a login owns objects there (ids from
 * 16384 up), or has rights on them, and could reach them through PUBLIC only: the database may be another application's. A grant to the
 * login says that it is not. Refuses also if a schema has one of the service's names.
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
    ), losing as (
      select l.name, bool_or(o.in_public and o.owned) as owns,
        not exists (
          select from pg_catalog.pg_database d, aclexplode(d.datacl) a
          where d.oid = l.database and a.privilege_type = 'CONNECT' and pg_has_role(l.oid, a.grantee, 'usage')) as connect,
        coalesce(bool_or(o.in_public), false) and has_schema_privilege(l.oid, 'public', 'usage') and not exists (
          select from pg_catalog.pg_namespace n, aclexplode(n.nspacl) a
          where n.nspname = 'public' and a.privilege_type = 'USAGE'
            and (pg_has_role(l.oid, a.grantee, 'usage') or pg_has_role(l.oid, n.nspowner, 'usage'))) as usage
      from logins l
      join objects o on pg_has_role(l.oid, o.role, 'usage')
      group by l.oid, l.name, l.database
    )
    select current_database() as database,
      (select min(nspname) from pg_catalog.pg_namespace where nspname in ('app', 'api', 'audit', 'control')) as schema,
      (select string_agg(name, ', ' order by name) from losing where connect) as connect,
      (select string_agg(name, ', ' order by name) from losing where usage) as usage,
      (select string_agg(name, ', ' order by name) from losing where usage and owns) as creation`;
  const { database, schema, connect, usage, creation } = found!;
  if (schema)
    throw new StartupError(
      `The database ${database} has a schema ${schema} already, which the first migration makes: use a database of its own, or rename yours before ` +
        `(alter schema ${schema} rename to …;). Where it is this service's, restored without its schema graphile_migrate, restore the whole dump`,
    );
  const grants = [
    connect && `grant connect on database ${database} to ${connect};`,
    usage && `grant usage on schema public to ${usage};`,
    creation && `grant create on schema public to ${creation};`,
  ].filter(Boolean);
  if (grants.length === 0) return;
  throw new StartupError(
    `The first migration closes the database ${database} and its schema public, in which others have objects or rights: use a database of ` +
      `its own (with ROOT_DATABASE_URL migrate makes one), or let them in by name before: ${grants.join(" ")}`,
  );
}
