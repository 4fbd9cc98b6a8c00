/** Every mutant of the service's own catalog is a finding of the manifest: the mutants are made from the catalog, a kind at a time. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type postgres from "postgres";
import { differences, manifestLines, shippedLines } from "../../src/migrate/objects.ts";
import { createDatabase, rolledBack } from "../harness.ts";

const database = await createDatabase();
const { sql } = database;
after(() => database.drop());

const shipped = shippedLines();
const found = async (tx: postgres.TransactionSql) => differences(shipped, await manifestLines(tx));

/** A query that gives `object`, as the finding's row names it, and `mutant`, the statement. `shared`: of the whole cluster. */
interface Mutants {
  what: string;
  of: string;
}

const OURS = "in ('app', 'api', 'control', 'audit')";
const OF_RELATIONS = `pg_class c join pg_namespace n on n.oid = relnamespace where nspname ${OURS} and relkind = 'r'`;
const FUNCTIONS = `pg_proc f join pg_namespace n on n.oid = pronamespace where nspname ${OURS}
  and not exists (select from pg_depend where classid = 'pg_proc'::regclass and objid = f.oid and deptype = 'e')`;
const POLICIES = `pg_policy p join pg_class c on c.oid = polrelid join pg_namespace n on n.oid = relnamespace where nspname ${OURS}`;
const policy = "jsonb_build_object('policy', format('%I on %s', polname, polrelid::regclass))";
const table = "jsonb_build_object('table', c.oid::regclass)";
const fn = "jsonb_build_object(case when prosecdef then 'definer' else 'function' end, f.oid::regprocedure)";
const FIVE = "unnest(array['tms_owner', 'tms_service', 'tms_app', 'tms_registrar', 'tms_auditor']) r";

const MUTANTS: Mutants[] = [
  {
    what: "a policy dropped",
    of: `${policy}, format('drop policy %I on %s', polname, polrelid::regclass) from ${POLICIES}`,
  },
  {
    what: "a policy that shows more",
    of: `${policy}, format('alter policy %I on %s using (true or current_user = ''x'')', polname, polrelid::regclass) from ${POLICIES} and polqual is not null`,
  },
  {
    what: "a policy that is narrower",
    of: `${policy}, format('alter policy %I on %s using (false)', polname, polrelid::regclass) from ${POLICIES} and polqual is not null`,
  },
  {
    what: "a policy that lets more be written",
    of: `${policy}, format('alter policy %I on %s with check (current_user <> ''x'')', polname, polrelid::regclass) from ${POLICIES} and polcmd not in ('r', 'd')`,
  },
  {
    what: "a policy for everybody",
    of: `${policy}, format('alter policy %I on %s to public', polname, polrelid::regclass) from ${POLICIES}`,
  },
  {
    what: "a policy that is the other of permissive and restrictive",
    of: `${policy}, format('update pg_policy set polpermissive = not polpermissive where oid = %s', p.oid) from ${POLICIES}`,
  },
  {
    what: "one policy more",
    of: `jsonb_build_object('policy', 'more on ' || c.oid::regclass), format('create policy more on %s using (true)', c.oid::regclass) from ${OF_RELATIONS}`,
  },
  {
    what: "row-level security off",
    of: `${table}, format('alter table %s disable row level security', c.oid::regclass) from ${OF_RELATIONS} and relrowsecurity`,
  },
  {
    what: "row-level security on",
    of: `${table}, format('alter table %s enable row level security', c.oid::regclass) from ${OF_RELATIONS} and not relrowsecurity`,
  },
  {
    what: "FORCE off",
    of: `${table}, format('alter table %s no force row level security', c.oid::regclass) from ${OF_RELATIONS} and relforcerowsecurity`,
  },
  {
    what: "another owner",
    of: `${table}, format('alter table %s owner to tms_auditor', c.oid::regclass) from ${OF_RELATIONS}`,
  },
  {
    what: "TRUNCATE",
    of: `${table}, format('grant truncate on %s to tms_app', c.oid::regclass) from ${OF_RELATIONS}`,
  },
  {
    what: "SELECT for everybody",
    of: `${table}, format('grant select on %s to public', c.oid::regclass) from ${OF_RELATIONS}`,
  },
  {
    what: "a right that may be passed on",
    of: `${table}, format('grant select on %s to tms_app with grant option', c.oid::regclass) from ${OF_RELATIONS} and nspname = 'app'`,
  },
  {
    what: "a right less",
    of: `${table}, format('revoke all on %s from tms_app, tms_registrar, tms_auditor', c.oid::regclass) from ${OF_RELATIONS} and relacl::text ~ 'tms_(app|registrar|auditor)='`,
  },
  {
    what: "a child",
    of: `${table}, format('create table public.parent_of_%s (like %s); alter table %2$s inherit public.parent_of_%1$s', c.oid, c.oid::regclass) from ${OF_RELATIONS}`,
  },
  {
    what: "keys switched off",
    of: `jsonb_build_object('keys', c.oid::regclass), format('alter table %s disable trigger all', c.oid::regclass) from ${OF_RELATIONS}
    and exists (select from pg_trigger where tgrelid = c.oid and tgisinternal)`,
  },
  {
    what: "one trigger more",
    of: `jsonb_build_object('trigger', 'more on ' || c.oid::regclass),
      format('create trigger more before insert on %s for each row execute function suppress_redundant_updates_trigger()', c.oid::regclass) from ${OF_RELATIONS}`,
  },
  {
    what: "a rule",
    of: `jsonb_build_object('rule', 'more on ' || c.oid::regclass), format('create rule more as on delete to %s do instead nothing', c.oid::regclass) from ${OF_RELATIONS}`,
  },
  {
    what: "a column more",
    of: `jsonb_build_object('column', c.oid::regclass || '.more'), format('alter table %s add more int default 1', c.oid::regclass) from ${OF_RELATIONS}`,
  },
  {
    what: "a column that may be null, or may no longer",
    of: `jsonb_build_object('column', format('%s.%I', attrelid::regclass, attname)), format('update pg_attribute set attnotnull = not attnotnull where attrelid = %s and attnum = %s', attrelid, attnum)
      from pg_attribute a join pg_class c on c.oid = attrelid join pg_namespace n on n.oid = relnamespace where nspname ${OURS} and relkind = 'r' and attnum > 0 and not attisdropped`,
  },
  {
    what: "a column for everybody",
    of: `jsonb_build_object('column', format('%s.%I', attrelid::regclass, attname)), format('grant select (%I) on %s to public', attname, attrelid::regclass)
      from pg_attribute a join pg_class c on c.oid = attrelid join pg_namespace n on n.oid = relnamespace where nspname ${OURS} and relkind = 'r' and attnum > 0 and not attisdropped`,
  },
  {
    what: "a default dropped",
    of: `jsonb_build_object('column', format('%s.%I', attrelid::regclass, attname)), format('alter table %s alter %I drop default', attrelid::regclass, attname)
      from pg_attribute a join pg_class c on c.oid = attrelid join pg_namespace n on n.oid = relnamespace where nspname ${OURS} and relkind = 'r' and attnum > 0 and atthasdef and attgenerated = ''`,
  },
  {
    what: "a constraint not valid",
    of: `jsonb_build_object('constraint', format('%I on %s', conname, conrelid::regclass)), format('update pg_constraint set convalidated = false where oid = %s', k.oid)
      from pg_constraint k join pg_namespace n on n.oid = connamespace where nspname ${OURS} and contype <> 'n' and conrelid <> 0`,
  },
  {
    what: "a foreign key or a test dropped",
    of: `jsonb_build_object('constraint', format('%I on %s', conname, conrelid::regclass)), format('alter table %s drop constraint %I', conrelid::regclass, conname)
      from pg_constraint k join pg_namespace n on n.oid = connamespace where nspname ${OURS} and contype in ('f', 'c') and conrelid <> 0`,
  },
  {
    what: "an index that is not valid",
    of: `jsonb_build_object(case when indisunique then 'unique index' else 'index' end, format('%s on %s', indexrelid::regclass, indrelid::regclass)),
      format('update pg_index set indisvalid = false where indexrelid = %s', indexrelid) from pg_index i join ${OF_RELATIONS.replace("where", "on indrelid = c.oid where")}`.replace(
      "pg_class c join pg_namespace n on n.oid = relnamespace on indrelid = c.oid where",
      "pg_class c on indrelid = c.oid join pg_namespace n on n.oid = relnamespace where",
    ),
  },
  {
    what: "a changed function",
    of: `${fn}, format('update pg_proc set prosqlbody = null, prosrc = ''select 1'' where oid = %s', f.oid) from ${FUNCTIONS}`,
  },
  {
    what: "a function for everybody",
    of: `${fn}, format('grant execute on routine %s to public', f.oid::regprocedure) from ${FUNCTIONS}`,
  },
  {
    what: "a function of another owner",
    of: `${fn}, format('alter routine %s owner to postgres', f.oid::regprocedure) from ${FUNCTIONS} and proowner <> 'postgres'::regrole`,
  },
  {
    what: "a definer or no longer",
    of: `jsonb_build_object(case when prosecdef then 'function' else 'definer' end, f.oid::regprocedure), format('update pg_proc set prosecdef = not prosecdef where oid = %s', f.oid) from ${FUNCTIONS}`,
  },
  {
    what: "a function with another search_path",
    of: `${fn}, format('update pg_proc set proconfig = ''{search_path=public}'' where oid = %s', f.oid) from ${FUNCTIONS}`,
  },
  {
    what: "a function that is leakproof",
    of: `${fn}, format('update pg_proc set proleakproof = not proleakproof where oid = %s', f.oid) from ${FUNCTIONS}`,
  },
  {
    what: "a function that is immutable",
    of: `${fn}, format('update pg_proc set provolatile = case provolatile when ''i'' then ''v'' else ''i'' end where oid = %s', f.oid) from ${FUNCTIONS}`,
  },
  {
    what: "an overload",
    of: `jsonb_build_object('function', name || '(point)'), format('create function %s(point) returns int language sql return 1', name)
      from (select distinct f.oid::regproc::text as name from ${FUNCTIONS} and prokind = 'f') o`,
  },
  {
    what: "a view that runs otherwise, another's, everybody's",
    of: `jsonb_build_object('view', c.oid::regclass), format(m, c.oid::regclass) from pg_class c join pg_namespace n on n.oid = relnamespace,
      unnest(array['alter view %s set (security_barrier = true)', 'alter view %s owner to postgres', 'grant select on %s to public']) m where nspname ${OURS} and relkind = 'v'`,
  },
  {
    what: "a view of other rows",
    of: `jsonb_build_object('view', c.oid::regclass), format('create or replace view %s as select * from (%s) v where true', c.oid::regclass, rtrim(pg_get_viewdef(c.oid), ';'))
      from pg_class c join pg_namespace n on n.oid = relnamespace where nspname ${OURS} and relkind = 'v'`,
  },
  {
    what: "a trigger off, always on, or gone",
    of: `jsonb_build_object('trigger', format('%I on %s', tgname, tgrelid::regclass)), format('alter table %s disable trigger %I', tgrelid::regclass, tgname) from pg_trigger where not tgisinternal`,
  },
  {
    what: "a trigger dropped",
    of: `jsonb_build_object('trigger', format('%I on %s', tgname, tgrelid::regclass)), format('drop trigger %I on %s', tgname, tgrelid::regclass) from pg_trigger where not tgisinternal`,
  },
  {
    what: "a schema in which everybody may create",
    of: `jsonb_build_object('schema', nspname), format('grant create on schema %I to public', nspname) from pg_namespace n where nspname ${OURS}`,
  },
  {
    what: "a schema of another owner",
    of: `jsonb_build_object('schema', nspname), format('alter schema %I owner to postgres', nspname) from pg_namespace n where nspname ${OURS}`,
  },
  {
    what: "a sequence that everybody reads",
    of: `jsonb_build_object('sequence', c.oid::regclass), format('grant select on sequence %s to public', c.oid::regclass) from pg_class c join pg_namespace n on n.oid = relnamespace where nspname ${OURS} and relkind = 'S'`,
  },
  {
    what: "a domain's test",
    of: `jsonb_build_object('type', t.oid::regtype), format('alter type %s owner to postgres', t.oid::regtype) from pg_type t join pg_namespace n on n.oid = typnamespace
      where nspname ${OURS} and typtype = 'c' and exists (select from pg_class where oid = typrelid and relkind = 'c')`,
  },
  ...["superuser", "bypassrls", "createrole", "createdb", "replication", "inherit"].map(attribute => ({
    what: `a role with ${attribute}`,
    of: `jsonb_build_object('role', r), format('alter role %I ${attribute}', r) from ${FIVE}`,
  })),
  {
    what: "a membership of one of the five",
    of: `jsonb_build_object('member', r || ' of pg_read_all_data'), format('grant pg_read_all_data to %I', r) from ${FIVE}`,
  },
  {
    what: "a member of the owner, the registrar, the login",
    of: `jsonb_build_object('member', 'tms_stranger of ' || r), format('grant %I to tms_stranger', r) from ${FIVE} where r in ('tms_owner', 'tms_service', 'tms_registrar')`,
  },
  {
    what: "a membership less",
    of: `jsonb_build_object('member', 'tms_owner of ' || r), format('revoke %I from tms_owner', r) from ${FIVE} where r in ('tms_app', 'tms_registrar', 'tms_auditor')`,
  },
  {
    what: "a setting of a role",
    of: `jsonb_build_object('setting', 'row_security of ' || r), format('alter role %I set row_security = off', r) from ${FIVE}`,
  },
  {
    what: "a tenant for every session",
    of: `jsonb_build_object('setting', w), m from (values ('app.tenant_id of every role in this database', 'alter database ' || current_database() || ' set app.tenant_id = ''x'''),
      ('app.tenant_id of tms_stranger', 'alter role tms_stranger set app.tenant_id = ''x''')) x (w, m)`,
  },
  {
    what: "a setting less",
    of: "jsonb_build_object('setting', 'search_path of tms_service'), 'alter role tms_service reset search_path'",
  },
  {
    what: "default privileges",
    of: "jsonb_build_object('default privileges', 'tms_owner app r'), 'alter default privileges for role tms_owner in schema app grant select on tables to tms_app'",
  },
  {
    what: "TEMP for everybody, CREATE for the service",
    of: `jsonb_build_object('database', 'the database'), format('grant %s on database %I to %s', p, current_database(), r) from (values ('temp', 'public'), ('create', 'tms_service')) x (p, r)`,
  },
  {
    what: "a right on what Postgres ships",
    of: `jsonb_build_object('system object', w), m from (values
      ('pg_statistic', 'grant select on pg_statistic to tms_app'), ('pg_authid (rolpassword)', 'grant select (rolpassword) on pg_authid to public'),
      ('pg_read_file(text)', 'grant execute on function pg_read_file(text) to tms_service'), ('pg_catalog', 'grant create on schema pg_catalog to tms_owner'),
      ('session_replication_role', 'grant set on parameter session_replication_role to public')) x (w, m)`,
  },
  {
    what: "something of one's own in pg_catalog, or marked there",
    of: `jsonb_build_object('in pg_catalog', w), m from (values
      ('function lower(uuid)', 'create function pg_catalog.lower(uuid) returns text language sql return null'),
      ('function lower(text)', 'update pg_proc set prosecdef = true where oid = ''lower(text)''::regprocedure')) x (w, m)`,
  },
  {
    what: "something that the login owns",
    of: "jsonb_build_object('owned', 'table public.t'), 'create table public.t (); alter table public.t owner to tms_service'",
  },
  {
    what: "an event trigger",
    of: "jsonb_build_object('event trigger', 'more'), 'create function public.f() returns event_trigger language plpgsql as $$ begin end $$; create event trigger more on ddl_command_end execute function public.f()'",
  },
];

void describe("the manifest", () => {
  it("is what a new database has, whatever the session looks for names in", async () => {
    const lines = await rolledBack(sql, async tx => {
      await tx.unsafe(
        "create function public.left(text, int) returns text language sql return 'x'; set search_path = public, pg_catalog",
      );
      return found(tx);
    });
    assert.deepEqual(lines, []);
  });

  for (const { what, of } of MUTANTS) {
    it(`tells ${what}`, async () => {
      const { mutants, findings } = await rolledBack(sql, async tx => {
        await tx.unsafe(
          "create role tms_stranger; set local allow_system_table_mods = on; set local check_function_bodies = off; set local client_min_messages = error",
        );
        const mutants = await tx.unsafe<{ object: Record<string, string>; mutant: string }[]>(
          `select object, mutant from (select ${of}) x (object, mutant)`,
        );
        for (const { mutant } of mutants) await tx.unsafe(mutant);
        return { mutants: [...mutants], findings: await found(tx) };
      });
      assert.ok(mutants.length > 0);
      const told = new Set(findings.map(({ row }) => JSON.stringify(row)));
      const missed = mutants.filter(({ object }) => !told.has(JSON.stringify(object)));
      assert.deepEqual(missed, []);
    });
  }

  it("leaves alone what somebody builds on the service", async () => {
    const findings = await rolledBack(sql, async tx => {
      await tx.unsafe(`
        create schema shop; create table shop.orders (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id));
        alter table shop.orders owner to tms_owner; alter schema shop owner to tms_owner; select app.isolate('shop.orders');
        create function app.price(int) returns int language sql return 1;
        create table app.notes (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id)); alter table app.notes owner to tms_owner; select app.isolate('app.notes');
        create index on app.media (created_at); create role a_dba; grant tms_auditor, tms_app to a_dba; alter role a_dba set search_path = shop;
        create role an_administrator createrole; grant tms_app to an_administrator with admin option`);
      return found(tx);
    });
    assert.deepEqual(findings, []);
  });

  it("takes the bodies that a tenant context secret brings, and not one of the two alone", async () => {
    const bodies = (...names: string[]) =>
      names.map(
        name => `do $do$ begin execute replace(pg_get_functiondef('control.${name === "app.tenant_id()" ? "signed_tenant_id" : "proof_required"}()'::regprocedure),
          'control.${name === "app.tenant_id()" ? "signed_tenant_id" : "proof_required"}()', '${name}'); end $do$`,
      );
    const told = (statements: string[]) =>
      rolledBack(sql, async tx => {
        for (const statement of statements) await tx.unsafe(statement);
        return (await found(tx)).map(({ row }) => row);
      });
    assert.deepEqual(await told(bodies("app.tenant_id()", "app.requires_proof()")), []);
    assert.equal((await told(bodies("app.tenant_id()"))).length, 1);
  });
});
