/**
 * Mutation: every policy, every FORCE, every key with a tenant in it, every definer function of the catalog is broken in
 * turn, and the audit must notice. `npm test -- test/audit/mutation.long.test.ts` prints the score.
 */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createDatabase, rolledBack } from "../harness.ts";
import { seedTenants } from "./world.ts";

interface Mutant {
  name: string;
  sql: string;
}

/** The check that is asked first, for speed; the whole gate is asked when it finds nothing. */
const EXPECTED: [mutant: RegExp, check: string][] = [
  [/^policy dropped/, "policy_missing"],
  [/security disabled/, "rls_disabled"],
  [/not forced/, "rls_not_forced"],
  [/not validated/, "constraint_not_valid"],
  [/triggers off/, "trigger_disabled"],
  [/^key dropped.*(key)$/, "unique_key_missing"],
  [/^key dropped.*(tenant_id_fkey)$/, "tenant_key"],
  [/^key dropped.*(pkey)$/, "table_rules"],
  [/^key dropped/, "foreign_key_missing"],
  [/without the tenant|across tenants|nullable/, "table_rules"],
  [/owned by/, "function_owner"],
  [/made invoker/, "function_security"],
  [/search_path|pg_temp/, "function_search_path"],
  [/^definer for everybody/, "function_public"],
  [/another body/, "function_changed"],
  [/tenant of its own/, "function_settings"],
  [/./, "policy_changed"],
];

/** Made from the catalog by the database, so that what is added tomorrow is broken tomorrow. */
const MUTANTS = `
  with policy as (
    select format('%s.%s', polrelid::regclass, polname) as name, polrelid::regclass as t, polname as p, polpermissive,
      pg_get_expr(polqual, polrelid) as qual, pg_get_expr(polwithcheck, polrelid) as checked, polcmd,
      (select string_agg(r::regrole::text, ', ') from unnest(polroles) r) as roles
    from pg_policy
    -- Those of the bookkeeping let tms_registrar read all: broken, they show less or the same. Others that open it have plants.
    where polrelid::regclass::text not like 'control.%'
  ), shape as (
    select *, format('create policy %I on %s as %s for %s to %s using (%s)%s', p, t,
        case when polpermissive then 'restrictive' else 'permissive' end, case polcmd when 'r' then 'select' else 'all' end, roles, qual,
        coalesce(' with check (' || checked || ')', '')) as flipped
    from policy
  ), keys as (
    select c.oid, c.conname, c.conrelid::regclass as t, c.contype, pg_get_constraintdef(c.oid) as def, c.confrelid::regclass as parent
    from pg_constraint c join pg_namespace n on n.oid = c.connamespace
    where n.nspname = 'app' and c.contype in ('f', 'p', 'u') and c.conparentid = 0
  ), definer as (
    select f.oid, f.oid::regprocedure as f, n.nspname, f.prosrc from pg_proc f join pg_namespace n on n.oid = f.pronamespace
    where f.prosecdef and n.nspname in ('app', 'api', 'control', 'audit')
  )
  select 'policy dropped: ' || name as name, format('drop policy %I on %s', p, t) as sql from shape
  union all select 'policy flipped between restrictive and permissive: ' || name, format('drop policy %I on %s; %s', p, t, flipped) from shape
  union all select 'USING (true): ' || name, format('alter policy %I on %s using (true)', p, t) from shape where qual <> 'true'
  union all select 'USING … OR true for who has no tenant: ' || name, format('alter policy %I on %s using (%s or app.tenant_id() is null)', p, t, qual) from shape
  union all select 'USING (false): ' || name, format('alter policy %I on %s using (false)', p, t) from shape
  union all select 'WITH CHECK (true): ' || name, format('alter policy %I on %s with check (true)', p, t) from shape where checked is distinct from 'true' and polcmd <> 'r'
  union all select 'policy for everybody: ' || name, format('alter policy %I on %s to public', p, t) from shape
  union all select 'policy for select only: ' || name, format('drop policy %I on %s; create policy %I on %s as %s for select to %s using (%s)', p, t, p, t,
      case when polpermissive then 'permissive' else 'restrictive' end, roles, qual) from shape where polcmd = '*'
  union all select 'row-level security disabled: ' || relid, format('alter table %s disable row level security', relid) from audit.relations()
  union all select 'row-level security not forced: ' || relid, format('alter table %s no force row level security', relid) from audit.relations()
  union all select 'tenant_id nullable: ' || r.relid, format('alter table %s drop constraint %I cascade, alter tenant_id drop not null', r.relid, k.conname)
    from audit.relations() r join keys k on k.t = r.relid and k.contype = 'p' where r.tenant_column = 'tenant_id'
  union all select 'key dropped: ' || t || '.' || conname, format('alter table %s drop constraint %I cascade', t, conname) from keys
  union all select 'foreign key not validated: ' || t || '.' || conname, format('alter table %s drop constraint %I, add constraint %I %s not valid', t, conname, conname, def)
    from keys where contype = 'f'
  union all select 'foreign key without the tenant: ' || t || '.' || conname,
      format('create unique index on %s (id); alter table %s drop constraint %I, add constraint %I foreign key (%s) references %s (id)', parent, t, conname, conname,
        substring(def from 'tenant_id, (\\w+)\\) REFERENCES'), parent)
    from keys where contype = 'f' and def ~ 'FOREIGN KEY \\(tenant_id, '
  union all select 'foreign key as superuser left it, triggers off: ' || t || '.' || conname,
      format('do $x$ declare g record; begin for g in select tgname, tgrelid::regclass as r from pg_trigger where tgconstraint = %s loop execute format(''alter table %%s disable trigger %%I'', g.r, g.tgname); end loop; end $x$', oid)
    from keys where contype = 'f'
  union all select 'primary key without the tenant: ' || t || '.' || conname, format('alter table %s drop constraint %I cascade, add primary key (id)', t, conname)
    from keys where contype = 'p' and def ~ 'PRIMARY KEY \\(tenant_id, id\\)'
  union all select 'unique key across tenants: ' || t || '.' || conname,
      format('alter table %s drop constraint %I cascade, add unique (%s)', t, conname, substring(def from 'tenant_id, (.*)\\)'))
    from keys where contype = 'u' and def ~ 'tenant_id, '
  union all select 'definer with another body: ' || f, format('update pg_proc set prosrc = prosrc || '' --'' where oid = %s', oid) from definer where prosrc <> '' and f::text <> 'audit.manifest()'
  union all select 'definer owned by a superuser: ' || f, format('alter function %s owner to postgres', f) from definer
  union all select 'definer owned by the service''s login: ' || f, format('alter function %s owner to tms_service', f) from definer
  union all select 'definer made invoker: ' || f, format('alter function %s security invoker', f) from definer
  union all select 'definer without search_path: ' || f, format('alter function %s reset search_path', f) from definer
  union all select 'definer with pg_temp first: ' || f, format('alter function %s set search_path = pg_temp, pg_catalog', f) from definer
  union all select 'definer for everybody: ' || f, format('grant execute on function %s to public', f) from definer
  union all select 'definer with a tenant of its own: ' || f, format('alter function %s set app.tenant_id = ''00000000-0000-0000-0000-000000000001''', f) from definer
`;

const database = await createDatabase();
await seedTenants(database.sql, 3);
// So that a key across tenants can be made at all.
await database.sql`update app.users set auth_subject = auth_subject || tenant_id`;
await database.sql`update app.provider_configs set provider_name = provider_name || tenant_id`;
after(() => database.drop());

void describe("the audit under mutation", () => {
  it("finds every mutant of every policy, FORCE flag, key and definer function", async t => {
    const { sql } = database;
    const mutants = [...(await sql.unsafe<Mutant[]>(MUTANTS))];
    const survivors: string[] = [];
    const [clean] =
      await sql`select (select count(*) from audit.run_family('schema', true) where severity = 'error')::int
        + (select count(*) from audit.run_check('function_changed') where severity = 'error')::int as n`;
    assert.equal(clean!.n, 0, "nothing is found where nothing was broken");
    for (const mutant of mutants) {
      const [, check] = EXPECTED.find(([pattern]) => pattern.test(mutant.name))!;
      const found = await rolledBack(sql, async tx => {
        await tx.unsafe(mutant.sql).catch(error => {
          throw new Error(`${mutant.name}: ${error.message} in ${mutant.sql}`);
        });
        const [row] = await tx<{ found: boolean }[]>`
          select exists (select from audit.run_check(${check}) where severity = 'error')
              or exists (select from audit.run_family('schema', true) where severity = 'error') as found`;
        return row!.found;
      });
      if (!found) survivors.push(mutant.name);
    }
    const kinds = new Set(mutants.map(mutant => mutant.name.replace(/:.*/, "")));
    t.diagnostic(
      `mutation score: ${mutants.length - survivors.length} of ${mutants.length} found, ${kinds.size} kinds`,
    );
    assert.deepEqual(survivors, []);
    assert.ok(mutants.length > 300, `${mutants.length} mutants`);
  });

  it("lets an equivalent mutant live: a comment, an index, a view that asks for its reader's rights", async () => {
    const { sql } = database;
    await sql.unsafe(`comment on table app.boards is 'x'; create index extra_index on app.boards (tenant_id, title);
      create view app.own_boards with (security_invoker = true) as select * from app.boards; alter view app.own_boards owner to tms_owner`);
    try {
      const found = await sql`select * from audit.run_family('schema', true) where severity <> 'info'`;
      assert.deepEqual([...found], []);
    } finally {
      await sql.unsafe("drop view app.own_boards; drop index app.extra_index");
    }
  });
});
