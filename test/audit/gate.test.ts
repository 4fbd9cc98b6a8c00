/** A migration that leaves a table unprotected is stopped: in the development loop, in the pipeline, at the start. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, describe, it } from "node:test";
import { GRAPHILE_CLI } from "../../src/migrate/graphile.ts";
import { migrate } from "../../src/migrate/migrate.ts";
import { createDatabase, rolledBack } from "../harness.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const FORGOTTEN =
  "create table if not exists app.invoices (tenant_id uuid not null, id uuid not null default gen_random_uuid(), primary key (tenant_id, id));";

const database = await createDatabase();
const checkIsolation = () => migrate({ ownerUrl: database.urls.owner });
const folder = await mkdtemp(path.join(tmpdir(), "tms-gate-"));
for (const name of ["db", "src", ".gmrc", "package.json"])
  await cp(path.join(ROOT, name), path.join(folder, name), { recursive: true, dereference: true });
await symlink(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"));
after(async () => {
  await rm(folder, { recursive: true });
  await database.drop();
});

void describe("the gate", () => {
  /** graphile-migrate's own development loop, once. */
  async function develop(current: string): Promise<{ status: number | null; said: string }> {
    await writeFile(
      path.join(folder, "db", "migrations", "current.sql"),
      `--! Message: next\n\n${current}\n`,
    );
    const { status, stdout, stderr } = spawnSync(process.execPath, [GRAPHILE_CLI, "current"], {
      cwd: folder,
      env: { ...process.env, DATABASE_URL: database.urls.owner, NO_COLOR: "1", FORCE_COLOR: "0" },
      encoding: "utf8",
    });
    return { status, said: stdout + stderr };
  }

  it("stops graphile-migrate's development loop, naming the table and the remedy", async () => {
    const { status, said } = await develop(FORGOTTEN);
    assert.notEqual(status, 0, said);
    assert.match(said, /app\.invoices: row-level security is not enabled/);
    assert.match(said, /select app\.isolate\('app\.invoices'\);/);
  });

  it("stops npm run migrate and the start of the service, also when there is nothing left to migrate", async () => {
    await database.sql.unsafe(`${FORGOTTEN} alter table app.invoices owner to tms_owner`);
    await assert.rejects(checkIsolation(), {
      message:
        /^Tenants are not isolated: app\.invoices: row-level security is not enabled.*app\.isolate\('app\.invoices'\)/,
    });
  });

  it("lets the same migration through once its table is isolated", async () => {
    const { status, said } = await develop(`${FORGOTTEN}\nselect app.isolate('app.invoices');`);
    assert.equal(status, 0, said);
    await checkIsolation();
  });

  it("prints a remedy on one line, its comments closed", () =>
    assert.rejects(
      rolledBack(database.sql, async sql => {
        await sql.unsafe(`create function public.f(text) returns uuid language sql return null::uuid; create cast (text as uuid) with function public.f(text);
          create or replace function app.tenant_id() returns uuid language sql stable parallel safe return current_setting('app.tenant_id', true)::text::uuid`);
        await sql`select audit.require_isolation()`;
      }),
      /Fix it with: drop cast \(text as uuid\); \/\* as its owner, or as a superuser \*\/ create or replace function app\.tenant_id\(\)/,
    ));

  it("stops for a function that was changed by hand, or a trigger on the users, says how to mend that, and not for a warning", async () => {
    await database.sql.unsafe("create publication gate_feed for table app.boards");
    await checkIsolation();
    await database.sql`
      update pg_proc set prosrc = prosrc || ' ' where oid = 'app.enter_tenant(app.caller)'::regprocedure`;
    await assert.rejects(checkIsolation(), {
      message:
        /enter_tenant\(.*\): the function is not what the release made\. Fix it with: \/\* install the release again: npm run migrate -- --reinstall \*\//,
    });
    await migrate({ ownerUrl: database.urls.owner, reinstall: true });
    await database.sql.unsafe(`create function public.owns() returns trigger language plpgsql as $$ begin new.role := 'owner'; return new; end $$;
      alter function public.owns() owner to tms_owner; create trigger owns before insert on app.users for each row execute function public.owns()`);
    await assert.rejects(checkIsolation(), {
      message: /the trigger owns on app\.users is not of this release.*drop trigger owns on app\.users/,
    });
    await database.sql.unsafe("drop trigger owns on app.users; drop function public.owns()");
  });

  it("stops for every error of the audit's schema checks: a definer of no release, another function of a name of the release", async () => {
    const definer = (name: string) =>
      `create function ${name} returns bigint language sql security definer set search_path = pg_catalog, pg_temp as 'select count(*) from app.users'`;
    for (const schema of ["app", "api", "control", "audit"])
      await rolledBack(database.sql, async sql => {
        await sql.unsafe(`${definer(`${schema}.everyone()`)}; alter function ${schema}.everyone() owner to tms_app;
          revoke all on function ${schema}.everyone() from public`);
        const gate = () => sql.savepoint(sp => sp`select control.gate()`);
        await assert.rejects(gate(), new RegExp(`${schema}\\.everyone\\(\\): .* is not of this release`));
        await sql`select audit.accept(${`${schema}.everyone()`})`;
        if (schema === "app") await gate();
      });
    const [named] = await database.sql<{ names: string[] }[]>`
      select array(select distinct on (split_part(name, '.', 1)) split_part(name, '(', 1) from audit.manifest()
        where kind = 'function' and name ~ '^(app|api|control|audit)\\.' order by split_part(name, '.', 1)) as names`;
    assert.equal(named!.names.length, 4);
    for (const name of named!.names)
      await assert.rejects(
        rolledBack(database.sql, sql =>
          sql.unsafe(`create function ${name}(xid8) returns int language sql set search_path = pg_catalog, pg_temp as 'select 1';
            revoke all on function ${name}(xid8) from public; alter function ${name}(xid8) owner to tms_owner; select control.gate()`),
        ),
        /the function has the name of one of this release/,
        name,
      );
  });

  it("stops for a trigger on any table of the release", async () => {
    const tables = await database.sql<{ name: string }[]>`
      select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'r' and n.nspname in ('app', 'control', 'audit') and c.oid <> 'app.invoices'::regclass order by 1`;
    assert.ok(tables.length > 18);
    for (const { name } of tables)
      await assert.rejects(
        rolledBack(database.sql, sql =>
          sql.unsafe(`create function public.owns() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as 'begin return new; end';
            create trigger owns before insert on ${name} for each row execute function public.owns(); select control.gate()`),
        ),
        /the trigger owns on \S+ is not of this release/,
        name,
      );
  });
});
