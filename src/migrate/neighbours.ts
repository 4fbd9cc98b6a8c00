import type postgres from "postgres";
import { StartupError } from "../errors/startup-error.ts";

/**
 * The first migration revokes CONNECT on the database from PUBLIC. Refuses if a login owns objects there (ids from 16384 up), or has
 * rights on them, and could connect through PUBLIC only: the database may be another application's. A grant to the login says that it is
 * not. Refuses also if a schema has one of the service's names.
 */
export async function refuseNeighbours(sql: postgres.Sql): Promise<void> {
  const [found] = await sql<{ database: string; schema: string | null; logins: string | null }[]>`
    select d.datname as database,
      (select min(nspname) from pg_catalog.pg_namespace where nspname in ('app', 'api', 'audit', 'control')) as schema,
      string_agg(quote_ident(r.rolname), ', ' order by r.rolname) as logins
    from pg_catalog.pg_database d
    left join pg_catalog.pg_roles r
      on r.rolcanlogin and not r.rolsuper and r.rolname !~ '^tms_' and r.oid <> d.datdba
      and has_database_privilege(r.oid, d.oid, 'connect')
      and not exists (
        select from aclexplode(d.datacl)
        where privilege_type = 'CONNECT' and pg_has_role(r.oid, grantee, 'usage'))
      and exists (
        select from pg_catalog.pg_shdepend s
        where s.dbid = d.oid and s.refclassid = 'pg_authid'::regclass and s.objid >= 16384
          and s.classid not in ('pg_extension'::regclass, 'pg_default_acl'::regclass)
          and pg_has_role(r.oid, s.refobjid, 'usage'))
    where d.datname = current_database()
    group by d.datname`;
  const { database, schema, logins } = found!;
  if (schema)
    throw new StartupError(
      `The database ${database} has a schema ${schema} already, which the first migration makes: use a database of its own, or rename yours before ` +
        `(alter schema ${schema} rename to …;). Where it is this service's, restored without its schema graphile_migrate, restore the whole dump`,
    );
  if (!logins) return;
  throw new StartupError(
    `The first migration closes the database ${database}, in which others have objects or rights: use a database of its own ` +
      `(with ROOT_DATABASE_URL migrate makes one), or let them in by name before: grant connect on database ${database} to ${logins};`,
  );
}
