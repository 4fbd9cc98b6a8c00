/** Remedies are pasted as they are printed: what they restore must be what was there. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type postgres from "postgres";
import { createDatabase, type Database } from "../harness.ts";
import { type Found, seedTenants } from "./world.ts";

const KEYS = `select conrelid::regclass::text || ' ' || conname || ' ' || pg_get_constraintdef(oid) as key
  from pg_constraint where conrelid in (select relid from audit.relations()) and contype in ('p', 'u', 'f') and conname not like '%tenant_id_fkey'`;

void describe("the remedies", () => {
  let database: Database;
  before(async () => {
    database = await createDatabase();
    await seedTenants(database.sql, 2);
  });
  after(() => database.drop());

  const undone = (work: (sql: postgres.TransactionSql) => Promise<void>) =>
    database.sql
      .begin(async sql => {
        await work(sql);
        throw new Error("undone");
      })
      .catch(error => {
        if ((error as Error).message !== "undone") throw error;
      });
  const paste = async (sql: postgres.TransactionSql, check: string) => {
    const found = await sql<Found[]>`select * from audit.run_check(${check})`;
    for (const { remedy } of found) await sql.unsafe(remedy);
    return found.length;
  };

  it("restore every key of the service's tables, by name and with its action", () =>
    undone(async sql => {
      const keys = async () => (await sql.unsafe(KEYS)).map(row => row.key as string).sort();
      const before = await keys();
      await sql.unsafe(`do $$
        declare k record;
        begin
          for k in select conrelid::regclass as t, conname from pg_constraint
            where conrelid in (select relid from audit.relations()) and conname not like '%tenant_id_fkey' and contype in ('p', 'u', 'f')
              and not (conrelid = 'app.tenants'::regclass and contype = 'p')
            order by contype = 'f' desc
          loop execute format('alter table %s drop constraint %I', k.t, k.conname); end loop;
        end $$`);
      assert.ok((await keys()).length < 3);
      assert.ok((await paste(sql, "unique_key_missing")) > 8);
      assert.equal(await paste(sql, "foreign_key_missing"), 9);
      assert.deepEqual(await keys(), before);
    }));

  it("give a key its CASCADE back", () =>
    undone(async sql => {
      const before = (await sql.unsafe(KEYS)).map(row => row.key as string).sort();
      await sql.unsafe(
        "alter table app.media drop constraint media_generation, add constraint media_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id)",
      );
      assert.equal(await paste(sql, "foreign_key_missing"), 1);
      assert.deepEqual((await sql.unsafe(KEYS)).map(row => row.key as string).sort(), before);
    }));

  it("take a table out of each kind of publication", () =>
    undone(async sql => {
      await sql.unsafe(
        "create publication everything for all tables; create publication table_only for table app.media; create publication schema_only for tables in schema app",
      );
      const found = await sql<Found[]>`select * from audit.run_check('publication')`;
      for (const remedy of new Set(found.map(one => one.remedy))) await sql.unsafe(remedy);
      assert.deepEqual([...(await sql`select * from audit.run_check('publication')`)], []);
    }));

  it("blame the role, and not its functions, where a role of ours passes every policy", () =>
    undone(async sql => {
      await sql.unsafe("alter role tms_app bypassrls; create schema extra");
      await sql.unsafe(
        "create function extra.help() returns int language sql security definer set search_path = pg_catalog, pg_temp return 1",
      );
      const found = await sql<Found[]>`select * from audit.run_check('function_bypass')`;
      const remedies = [...new Set(found.map(one => one.remedy.replace(/\n/g, " ")))].sort();
      assert.deepEqual(remedies, [
        "-- as an administrator: \\i db/roles.sql",
        "alter routine extra.help() security invoker;",
      ]);
    }));

  it("take a procedure of the audit's from the service's login", () =>
    undone(async sql => {
      await sql.unsafe("grant execute on procedure audit.run to tms_service");
      const found = await sql<Found[]>`select * from audit.run_check('service_reach')`;
      for (const { remedy } of found) await sql.unsafe(remedy);
      assert.deepEqual([...(await sql`select * from audit.run_check('service_reach')`)], []);
    }));
});
