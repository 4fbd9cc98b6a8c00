/** How the data checks read: whole or in slices, what they need not ask again, and sums in place of merges. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createDatabase, rolledBack } from "../harness.ts";
import { REPLICA } from "./plants/data.ts";
import { idsOf, SIZES, seedTenants } from "./world.ts";

const database = await createDatabase();
await seedTenants(database.sql, 10);
const a = await idsOf(database.sql, "t2");
const b = await idsOf(database.sql, "t5");
after(() => database.drop());

void describe("the data checks", () => {
  it("read tables that were not vacuumed whole, and others in slices, all questions at once; a ledger, and one tenant, always so", () =>
    rolledBack(database.sql, async sql => {
      // As it is, but that it tells how many slices it was given.
      await sql.unsafe(`
        alter function audit.count_suspects(text[], text[], boolean) rename to counted;
        create function audit.count_suspects(p_questions text[], p_slices text[], p_merge boolean) returns jsonb language plpgsql set search_path = pg_catalog, pg_temp
        as $$ begin
          perform set_config('test.slices', concat(current_setting('test.slices', true), ' ', (
            select string_agg(concat(coalesce(case when p_merge then substring(q from '\\mid = c\\.(\\w+)') end, 'pairs'), case when p_slices <> '{true}' then '*' end), '+')
            from unnest(p_questions) q where p_merge or q like '%app.boards%')), true);
          return audit.counted(p_questions, p_slices, p_merge);
        end $$;
        ${SIZES.large}`);
      const sliced = async (
        tenant: string | null,
        visible: string,
        tables = ["app.credit_transactions", "app.generations", "app.media"],
      ) => {
        await sql.unsafe(`update pg_class set relpages = 1000, relallvisible = ${visible} where relnamespace = 'app'::regnamespace and relkind = 'r';
          set local test.slices = ''`);
        for (const table of tables)
          await sql`select * from control.examine(${`scan ${table}`}, ${tenant}, 1)`;
        const [row] = await sql<{ asked: string }[]>`select current_setting('test.slices') as asked`;
        return row!.asked.trim().split(/ +/).sort();
      };
      // A generation's board and user are asked of pairs of both.
      const all = ["generation_id*", "generation_id*+user_id*", "pairs*"];
      assert.deepEqual(await sliced(null, "1000"), all);
      assert.deepEqual(await sliced(null, "500"), all);
      assert.deepEqual(await sliced(null, "499"), ["generation_id", "generation_id", "pairs", "user_id*"]);
      // The parents' pages count as well.
      assert.deepEqual(await sliced(null, "case relname when 'media' then 1000 else 400 end"), [
        "generation_id",
        "generation_id*",
        "pairs",
        "user_id*",
      ]);
      assert.deepEqual(await sliced(a.tenant!, "0"), all);
      const references = Array.from(
        { length: 9 },
        (_, n) => `b${n} uuid, foreign key (tenant_id, b${n}) references app.boards`,
      );
      await sql.unsafe(
        `create table app.z_many (tenant_id uuid not null, ${references.join(", ")}); alter table app.z_many owner to tms_owner; grant select on app.z_many to tms_auditor`,
      );
      const many = await sliced(null, "1000", ["app.z_many"]);
      assert.deepEqual(
        many.map(questions => questions.split("+").length),
        [1, 8],
        "no more than eight",
      );
    }));

  it("ask for tenants that do not exist where the fewest rows are, and not again in one run", () =>
    rolledBack(database.sql, async sql => {
      await sql.unsafe(`
        alter function audit.count_lost_tenants(regclass) rename to counted_lost;
        create function audit.count_lost_tenants(p_table regclass) returns bigint language plpgsql set search_path = pg_catalog, pg_temp
        as $$ begin
          perform set_config('test.asked', concat(current_setting('test.asked', true), p_table), true);
          return audit.counted_lost(p_table);
        end $$;
        analyze`);
      const asked = async (table: string, settled: string[] | null) => {
        await sql`select set_config('test.asked', '', true)`;
        await sql`select * from control.examine(${`scan ${table}`}, null, 1, ${settled})`;
        const [row] = await sql<{ asked: string }[]>`select current_setting('test.asked') as asked`;
        return row!.asked;
      };
      assert.equal(await asked("app.users", []), "app.users");
      assert.equal(await asked("app.users", ["app.users"]), "app.users", "which only it can tell");
      // There are fewer boards than users.
      assert.equal(await asked("app.generations", []), "app.boards");
      assert.equal(await asked("app.generations", ["app.tenants", "app.media"]), "app.boards");
      assert.equal(await asked("app.generations", null), "app.boards");
      assert.equal(await asked("app.generations", ["app.users"]), "");
      // Of rows without a parent their parents say nothing.
      await sql.unsafe(
        `${REPLICA} update app.generations set user_id = gen_random_uuid() where id = '${a.generation}'`,
      );
      assert.equal(await asked("app.generations", ["app.boards", "app.users"]), "app.generations");
    }));

  it("read parents before their children, also where a table refers to itself", () =>
    rolledBack(database.sql, async sql => {
      await sql.unsafe(`create table app.z_parents (tenant_id uuid not null, id int, above int, primary key (tenant_id, id), foreign key (tenant_id, above) references app.z_parents);
        create table app.a_children (tenant_id uuid not null, id int, parent int, primary key (tenant_id, id), foreign key (tenant_id, parent) references app.z_parents)`);
      const passes = await sql<{ pass: string }[]>`
        select pass from audit.passes('data') with ordinality as p (pass, n) where pass ~ 'app.(z_parents|a_children)$' order by n`;
      assert.deepEqual(
        passes.map(({ pass }) => pass),
        ["scan app.z_parents", "scan app.a_children"],
      );
    }));

  it("take sums of keys for an answer where each completed generation has one medium, and for none where anything else is so", async () => {
    const answer = (plant: string, size: keyof typeof SIZES = "paired") =>
      rolledBack(database.sql, async sql => {
        await sql.unsafe(`${plant}; ${SIZES[size]}`);
        const [row] = await sql<{ answer: string[] | null }[]>`select audit.media_of_each() as answer`;
        return row!.answer;
      });
    const [rows] = await database.sql<{ media: string; generations: string }[]>`
        select (select count(*) from app.media) as media, (select count(*) from app.generations) as generations`;
    assert.deepEqual(await answer(""), [rows!.media, "0", rows!.generations, "0"]);
    for (const size of ["small", "large"] as const) assert.equal(await answer("", size), null, size);

    const one = (tenant?: string) =>
      `(select generation_id from app.media where tenant_id = '${tenant}' order by id limit 1)`;
    const broken = {
      "a medium too many": `insert into app.media (tenant_id, generation_id, storage_url) values ('${a.tenant}', ${one(a.tenant)}, 's3://x')`,
      "a medium too few": `delete from app.media where tenant_id = '${a.tenant}' and generation_id = ${one(a.tenant)}`,
      "two of one generation, and none of another": `update app.media set generation_id = ${one(a.tenant)} where tenant_id = '${a.tenant}'`,
      "a generation that is not completed": `update app.generations set status = 'failed' where tenant_id = '${a.tenant}' and id = ${one(a.tenant)}`,
      "a generation that is gone": `${REPLICA} update app.media set generation_id = gen_random_uuid() where tenant_id = '${a.tenant}'`,
      "two generations of each other's tenants": `${REPLICA} update app.media m set generation_id =
          case m.tenant_id when '${a.tenant}' then ${one(b.tenant)} else ${one(a.tenant)} end
          where (m.tenant_id, m.generation_id) in (('${a.tenant}', ${one(a.tenant)}), ('${b.tenant}', ${one(b.tenant)}))`,
    };
    for (const [what, plant] of Object.entries(broken)) assert.equal(await answer(plant), null, what);
  });
});
