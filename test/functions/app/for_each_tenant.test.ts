import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import postgres from "postgres";
import { createDatabase, requireProofs, seedTenant, seedUser } from "../../harness.ts";

const database = await createDatabase();
const { sql } = database;
const job = `job_${database.name.slice(-8)}`;
const warnings: string[] = [];
const login = postgres(Object.assign(new URL(database.urls.root), { username: job, password: "job" }).href, {
  max: 1,
  onnotice: ({ message }) => void warnings.push(message!),
});

before(async () => {
  for (const slug of ["acme", "beta", "gamma"])
    await seedUser(sql, await seedTenant(sql, { slug }), { subject: slug });
  await seedUser(sql, await seedTenant(sql, { slug: "suspended", status: "suspended" }), { subject: "sue" });
  await sql.unsafe(`create role ${job} login noinherit password 'job'; grant tms_app, tms_auditor to ${job};
    grant connect on database ${database.name} to ${job}; alter role ${job} set app.require_tenant = on`);
});
after(async () => {
  await login.end();
  await sql.unsafe(`drop owned by ${job}; drop role ${job}`);
  await database.drop();
});
afterEach(async () => {
  warnings.length = 0;
  await login`reset role`;
  await sql`delete from app.boards`;
});

const WORK = `insert into app.boards (tenant_id, owner_id, title) select tenant_id, id, auth_subject from app.users`;
const titles = async () =>
  (await sql<{ title: string }[]>`select title from app.boards order by title`).map(({ title }) => title);
const call = async (work: string) => {
  await login`set role tms_auditor`;
  await login`call app.for_each_tenant(${work})`;
};

test("the work runs once in each active tenant, as tms_app", async () => {
  await call(WORK);
  assert.deepEqual(await titles(), ["acme", "beta", "gamma"]);
  const [now] = await login`
    select current_user as role, coalesce(current_setting('app.tenant_id', true), '') as tenant`;
  assert.deepEqual({ ...now }, { role: "tms_auditor", tenant: "" });
});

test("a tenant that fails is rolled back and named, the others are committed, and the call fails at its end", async () => {
  await assert.rejects(
    call(`do $w$ begin ${WORK};
      if exists (select from app.users where auth_subject = 'beta') then raise 'no beta today'; end if; end $w$`),
    {
      code: "TM500",
      message: "1 of 3 tenants failed, and were rolled back; the others are committed",
      detail: "beta: no beta today (P0001)",
    },
  );
  assert.deepEqual(await titles(), ["acme", "gamma"]);
  assert.deepEqual(warnings, ["tenant beta: no beta today"]);
});

test("a deferred constraint that one tenant breaks is that tenant's failure", async () => {
  await sql.unsafe(`create function public.no_gamma() returns trigger language plpgsql as $$ begin
      if new.title = 'gamma' then raise 'no gamma'; end if; return null; end $$;
    create constraint trigger later after insert on app.boards deferrable initially deferred
      for each row execute function public.no_gamma()`);
  try {
    await assert.rejects(call(WORK), { code: "TM500", detail: "gamma: no gamma (P0001)" });
    assert.deepEqual(await titles(), ["acme", "beta"]);
  } finally {
    await sql.unsafe("drop function public.no_gamma() cascade");
  }
});

test("inside a transaction block it fails before any work", async () => {
  await login`set role tms_auditor`;
  await assert.rejects(
    login.begin(tx => tx`call app.for_each_tenant(${WORK})`),
    { code: "2D000" },
  );
  assert.deepEqual(await titles(), []);
});

test("a login that may not read the list of tenants cannot call it", async () => {
  await sql.unsafe(`revoke tms_auditor from ${job}`);
  try {
    await assert.rejects(call(WORK), { code: "42501" });
  } finally {
    await sql.unsafe(`grant tms_auditor to ${job}`);
  }
});

test("tms_owner, in a migration, works in each tenant behind its policies", async () => {
  const owner = postgres(database.urls.owner, { max: 1, onnotice: () => {} });
  try {
    await owner`call app.for_each_tenant(${WORK})`;
    assert.deepEqual(await titles(), ["acme", "beta", "gamma"]);
  } finally {
    await owner.end();
  }
});

test("with proofs it enters each tenant without one", async () => {
  await requireProofs(database);
  await call(WORK);
  assert.deepEqual(await titles(), ["acme", "beta", "gamma"]);
});
