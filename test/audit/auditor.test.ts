/** What a login that is a tms_auditor and nothing else could make of the audit's own functions. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import postgres from "postgres";
import { createDatabase, rolledBack } from "../harness.ts";
import { seedTenants } from "./world.ts";

const login = `audit_ann_${process.pid}`;
const database = await createDatabase();
await seedTenants(database.sql, 2);
await database.sql.unsafe(`create role ${login} login password 'only for this test' in role tms_auditor;
  create schema ann authorization ${login}`);
const url = Object.assign(new URL(database.urls.root), {
  username: login,
  password: "only for this test",
});
const ann = postgres(url.href, { max: 1, onnotice: () => {} });
after(async () => {
  await ann.end();
  await database.sql.unsafe(`drop schema ann cascade; drop role ${login}`);
  await database.drop();
});

void describe("a tms_auditor", () => {
  it("has no code of its own run by others, by no function that takes a relation", async () => {
    await ann.unsafe(`
      create function ann.say() returns boolean language plpgsql as $$ begin raise exception 'ran as %', current_user; end $$;
      create view ann.view as select null::uuid as tenant_id where ann.say();
      create table ann.guarded (tenant_id uuid);
      create policy p on ann.guarded using (ann.say());
      alter table ann.guarded enable row level security, force row level security;
      grant usage on schema ann to public;
      grant all on all tables in schema ann to public`);
    const functions = await ann<{ name: string; types: string[] }[]>`
      select p.oid::regproc::text as name, array(select t::regtype::text from unnest(p.proargtypes::oid[]) t) as types
      from pg_proc p
      where p.prosecdef and has_function_privilege(p.oid, 'execute') and 'regclass'::regtype = any (p.proargtypes::oid[])
        and p.pronamespace in ('app'::regnamespace, 'api'::regnamespace, 'audit'::regnamespace)`;
    assert.ok(functions.length >= 3, "there are such functions");
    const values: Record<string, string> = { name: "'tenant_id'", "uuid[]": "array[null]::uuid[]" };
    for (const { name, types } of functions) {
      for (const [relation, code] of [
        ["ann.view", "42809"],
        ["ann.guarded", "42501"],
      ] as const) {
        const given = types.map(type => (type === "regclass" ? `'${relation}'` : (values[type] ?? "null")));
        const call = `select * from ${name}(${given.join(", ")})`;
        await assert.rejects(
          ann.unsafe(call),
          ({ code: found, message }) => {
            assert.deepEqual([found, /ran as/.test(message)], [code, false], `${call}: ${message}`);
            return true;
          },
          call,
        );
      }
    }
  });

  it("cannot close a run that did not ask everything, nor ask one thing for all", async () => {
    const [started] = await ann`select audit.start_run(null, null, 20) as id`;
    const id = started!.id as string;
    await assert.rejects(async () => ann`select audit.finish_run(${id})`, { code: "55000" });
    await ann`select audit.record_pass(${id}, 'rls_disabled')`;
    await assert.rejects(async () => ann`select audit.record_pass(${id}, 'rls_disabled')`, { code: "55000" });
    await assert.rejects(async () => ann`select audit.record_pass(${id}, 'no_such_pass')`, { code: "55000" });
    await assert.rejects(async () => ann`select audit.finish_run(${id})`, { code: "55000" });
    assert.equal((await ann`select from audit.last_run`).length, 0);
    await ann`call audit.run(p_only => 'data')`;
    const [run] = await ann`select run_id from audit.last_run`;
    await assert.rejects(
      async () => ann`select audit.finish_run(${run!.run_id})`,
      { code: "55000" },
      "twice",
    );
  });

  it("cannot alter what runs with the rights of tms_auditor or tms_app, though a member of both owns it", async () => {
    const functions = await database.sql<{ name: string }[]>`
      select oid::regprocedure::text as name from pg_proc
      where proowner in ('tms_auditor'::regrole, 'tms_app'::regrole) and pronamespace::regnamespace::text in ('audit', 'control')`;
    assert.ok(functions.length >= 5);
    const changes = functions.flatMap(({ name }) =>
      ["strict", "security invoker set search_path = ann, pg_catalog"].map(
        how => `alter function ${name} ${how}`,
      ),
    );
    changes.push(...["tms_auditor", "tms_app"].map(role => `reassign owned by ${role} to ${login}`));
    // Roles are the cluster's: once committed, the audits of tests that run beside this one would tell of the membership.
    await rolledBack(database.sql, async tx => {
      await tx.unsafe(`grant tms_app to ${login}; set local session authorization ${login}`);
      for (const change of changes) {
        for (const role of [login, "tms_auditor", "tms_app"])
          await assert.rejects(
            tx.savepoint(sql => sql.unsafe(`set local role ${role}; ${change}`)),
            ({ code }) => code === "42501",
            change,
          );
      }
    });
  });
});
