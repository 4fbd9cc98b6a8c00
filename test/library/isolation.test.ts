/** assertIsolated() in an adopter's suite: on a table of theirs, in a database with tenants. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { assertIsolated } from "../../src/library/testing.ts";
import { createDatabase, seedTenant } from "../harness.ts";

const database = await createDatabase();
const { sql } = database;
const prove = (relation = "public.invoices") =>
  assertIsolated({ url: database.urls.root, relation, asSuperuser: true });

before(async () => {
  for (const slug of ["acme", "beta"]) await seedTenant(sql, { slug });
  await sql.unsafe(`grant usage on schema public to tms_app, tms_auditor;
    create table public.invoices (tenant_id uuid not null, number text not null, primary key (tenant_id, number));
    alter table public.invoices owner to tms_owner;
    create table public.drafts (like public.invoices including all); alter table public.drafts owner to tms_owner`);
  for (const table of ["invoices", "drafts"])
    await sql`select app.isolate(${`public.${table}`}::text::regclass)`;
  await sql`insert into public.invoices select id, n from app.tenants, unnest(array['1', '2']) n`;
});
after(() => database.drop());

test("assertIsolated passes for an isolated table, and says how much it proved", async () => {
  assert.ok((await prove()) > 3);
});

test("assertIsolated fails for a policy that shows a row of another tenant, and for one that lets it be written", async () => {
  for (const [change, message] of [
    [
      "alter policy tenant_only on public.invoices using (true)",
      /public\.invoices: .*not|public\.invoices: .*sees/,
    ],
    ["alter policy tenant_only on public.invoices with check (true)", /public\.invoices/],
  ] as const) {
    await sql.unsafe(change);
    try {
      await assert.rejects(prove(), { name: "AssertionError", message });
    } finally {
      await sql`select app.isolate('public.invoices')`;
    }
  }
  await prove();
});

test("assertIsolated fails where nothing was proved", async () => {
  await sql.unsafe(
    "alter policy tenant_only on public.drafts using (tenant_id = (select app.tenant_id()) and number <> '')",
  );
  await assert.rejects(prove("public.drafts"), {
    name: "AssertionError",
    message: /public\.drafts: .*not proved/,
  });
  // A table that is no tenant's.
  await sql.unsafe("create table public.countries (code text primary key)");
  await assert.rejects(prove("public.countries"), {
    name: "AssertionError",
    message: /Nothing was proved|countries/,
  });
});
