/** A login that asks for it is told that it entered no tenant, where others see no row. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import postgres from "postgres";
import { createDatabase, requireProofs, rolledBack, seedTenant, seedUser } from "../../harness.ts";
import { as, sqlstate, type Transaction } from "../support.ts";

const database = await createDatabase();
const { sql } = database;
const job = `job_${database.name.slice(-8)}`;
const login = postgres(Object.assign(new URL(database.urls.root), { username: job, password: "job" }).href, {
  max: 2,
  onnotice: () => {},
});
let acme = "";

before(async () => {
  acme = await seedTenant(sql, { slug: "acme" });
  const user = await seedUser(sql, acme, { subject: "ann" });
  await sql`insert into app.boards (tenant_id, owner_id, title) values (${acme}, ${user}, 'plans')`;
  await sql.unsafe(`create role ${job} login noinherit password 'job'; grant tms_app to ${job};
    grant connect on database ${database.name} to ${job}; alter role ${job} set app.require_tenant = on`);
});
after(async () => {
  await login.end();
  await sql.unsafe(`drop owned by ${job}; drop role ${job}`);
  await database.drop();
});

const STATEMENTS = [
  "table app.boards",
  "select count(*) from app.boards b join app.users u using (tenant_id)",
  "table app.media", // has no row
  "update app.boards set title = 'x'",
  "delete from app.media",
  "insert into app.users (tenant_id, auth_provider, auth_subject) select id, 'jwt', 'x' from app.tenants",
  "select app.tenant_id()",
];

async function assertRequired() {
  const inNone = (work: (tx: Transaction) => Promise<unknown>) =>
    rolledBack(login, async tx => {
      await tx`set local role tms_app`;
      return work(tx as unknown as Transaction);
    });
  for (const setting of ["", "set local app.tenant_id = ''", "set local app.tenant_id = 'acme'"])
    for (const statement of STATEMENTS)
      await assert.rejects(
        inNone(async tx => {
          await tx.unsafe(setting);
          await tx.unsafe(statement);
        }),
        { code: "TM428", message: "no tenant was entered", constraint_name: "no_tenant" },
        `${setting}; ${statement}`,
      );
  await inNone(async tx => {
    await tx`select tenant_id from app.enter_tenant(slug => 'acme', provider => 'jwt', subject => 'ann')`.catch(
      error => assert.equal(error.code, "TM503"), // without a proof, where the database asks for one
    );
  });
}

test("with app.require_tenant a statement outside a tenant raises TM428, on empty tables too", async () => {
  await assertRequired();
});

test("with app.require_tenant a member enters a tenant and sees its rows, and none in the next transaction", async () => {
  await rolledBack(login, async tx => {
    await tx`set local role tms_app`;
    await tx`select app.enter_tenant(slug => 'acme', provider => 'jwt', subject => 'ann')`;
    assert.deepEqual([...(await tx`select title from app.boards`)], [{ title: "plans" }]);
    await tx`select app.set_tenant(null)`;
    assert.equal(await sqlstate(tx.savepoint(sp => sp`table app.boards`)), "TM428");
  });
});

test("without the setting, or with off, no tenant means no row", async () => {
  for (const setting of ["set local app.require_tenant = off", "set local app.require_tenant = ''"])
    await rolledBack(login, async tx => {
      await tx.unsafe(`${setting}; set local role tms_app`);
      assert.equal((await tx`table app.boards`).count, 0);
    });
});

test("app.tenant_id() is inlined where a tenant is set: the plan calls no function of ours", async () => {
  await rolledBack(sql, tx =>
    as(tx, "tms_app", async sp => {
      await sp`select app.set_tenant(${acme})`;
      const plan = await sp.unsafe("explain (verbose, costs off) select title from app.boards");
      const text = plan.map(row => row["QUERY PLAN"]).join("\n");
      assert.match(text, /InitPlan/);
      assert.match(text, /current_setting\('app\.tenant_id'/);
      assert.doesNotMatch(text, /app\.tenant_id\(\)/);
    }),
  );
});

test("with proofs the same statements raise TM428, also for a tenant that was set without one", async () => {
  await requireProofs(database);
  await assertRequired();
  await rolledBack(login, async tx => {
    await tx.unsafe(`set local role tms_app; set local app.tenant_id = '${acme}'`);
    assert.equal(await sqlstate(tx.savepoint(sp => sp`table app.boards`)), "TM428");
  });
  await rolledBack(sql, async tx => {
    await tx.unsafe("set local app.require_tenant = on; set local role tms_auditor");
    await tx`select app.set_tenant(${acme})`;
    await tx`set local role tms_app`;
    await tx`select app.set_tenant(${acme})`; // who is in the tenant needs no proof
    assert.deepEqual([...(await tx`select title from app.boards`)], [{ title: "plans" }]);
  });
});
