/** The checks of rows that are made from the foreign keys: each fault once, in its check, with its tenant and key. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { createDatabase } from "../harness.ts";
import { data } from "./data-plants.ts";
import { audited, auditor, type Finding } from "./session.ts";
import { role, STYLES } from "./styles.ts";
import { idsOf, seedTenants } from "./tenants.ts";

const TENANTS = 40;
const database = await createDatabase();
await seedTenants(database.sql, TENANTS);
const t1 = await idsOf(database.sql, "t1");
const t2 = await idsOf(database.sql, "t2");
const other = await createDatabase();
await other.sql.unsafe(
  `drop schema if exists app, api, control, audit, graphile_migrate, public cascade; ${STYLES.prisma.schema}`,
);
after(async () => {
  await database.drop();
  await other.drop();
});

const GONE = "00000000-0000-4000-8000-000000000000";
const unbound = (sql: string) =>
  `set local session_replication_role = replica; ${sql}; set local session_replication_role = origin;`;
/** What every statement finds. */
const FOUND =
  "select f.* from pg_temp.data_statements s cross join lateral pg_temp.find_rows(s) f order by 1, 4";
const told = (found: Finding[]) => found.map(one => [one.check, one.tenant_id, one.relation, one.row]);

/** What is planted, and the one finding of it. */
const PLANTS: [
  what: string,
  sql: string,
  found: [check: string, tenant: string, relation: string, row: object],
][] = [
  [
    "a medium of another tenant's generation",
    `update app.media set generation_id = '${t2.generation}' where id = '${t1.medium}'`,
    ["parent_in_other_tenant", t1.tenant!, "app.media", { tenant_id: t1.tenant, id: t1.medium }],
  ],
  [
    "a board of somebody who does not exist",
    `update app.boards set owner_id = '${GONE}' where id = '${t2.board}'`,
    ["parent_missing", t2.tenant!, "app.boards", { tenant_id: t2.tenant, id: t2.board }],
  ],
  [
    "what a tenant left behind",
    `update app.provider_configs set tenant_id = '${GONE}' where id = '${t1.provider}'`,
    ["tenant_missing", GONE, "app.provider_configs", { tenant_id: GONE, id: t1.provider }],
  ],
];

for (const [what, sql, found] of PLANTS)
  test(`${what} is one finding`, async () => {
    const all = await audited(database.urls.root, { plant: unbound(sql) }, session =>
      session.unsafe<Finding[]>(FOUND),
    );
    assert.deepEqual(told([...all]), [found]);
    assert.match(all[0]!.detail, /: 1$/);
  });

test("each way in which rows come apart is found, in its check, with its tenant and key", async () => {
  const generic = data.filter(({ check }) => /^parent_|^tenant_missing$/.test(check));
  const plants = await Promise.all(
    generic.map(async (one, i) => ({
      ...one,
      a: await idsOf(database.sql, `t${10 + 2 * i}`),
      b: await idsOf(database.sql, `t${11 + 2 * i}`),
    })),
  );
  assert.ok(plants.length > 9);
  const plant = plants.map(one => `${one.sql(one.a, one.b)}; set local session_replication_role = origin;`);
  const found = await audited(database.urls.root, { plant: plant.join("\n") }, sql =>
    sql.unsafe<Finding[]>(FOUND),
  );
  for (const { how, check, relation, row, a, b } of plants) {
    const key = row(a);
    if (key.user_id === "of b") key.user_id = b.member;
    assert.ok(
      found.some(
        one =>
          one.check === check &&
          one.relation === relation &&
          isDeepStrictEqual(one.row, key) &&
          one.tenant_id === a.tenant,
      ),
      `${how}: ${check} ${relation} ${JSON.stringify(key)}`,
    );
  }
});

test("the remedy of a finding lists its rows, and changes none", async () => {
  await audited(database.urls.root, { plant: unbound(PLANTS.map(([, sql]) => sql).join(";")) }, async sql => {
    for (const { remedy, row } of await sql.unsafe<Finding[]>(FOUND)) {
      const rows = await sql.unsafe(remedy);
      assert.deepEqual(
        rows.map(({ id }) => id as string),
        [(row as { id: string }).id],
      );
    }
  });
});

test("a row without a tenant is told as such alone; a reference that is not set is no fault", async () => {
  const plant = `alter table app.generations disable trigger all; alter table app.media drop constraint media_pkey; alter table app.media alter tenant_id drop not null;
    ${unbound(`update app.media set tenant_id = null where id = '${t1.medium}'; update app.credit_transactions set generation_id = null`)}`;
  const found = await audited(database.urls.root, { plant }, sql => sql.unsafe<Finding[]>(FOUND));
  assert.equal(found.length, 1);
  const [{ check, tenant_id, relation, row, detail }] = found as unknown as [Finding];
  assert.deepEqual([check, tenant_id, relation], ["no_tenant", null, "app.media"]);
  assert.ok("ctid" in row!); // it has no key
  assert.equal(detail, "rows whose tenant_id is null: 1");
});

test("many rows of one broken key are a finding for each tenant, with their number", async () => {
  const plant = unbound(`update app.generations set user_id = '${GONE}'`);
  const found = await audited(database.urls.root, { plant }, sql => sql.unsafe<Finding[]>(FOUND));
  assert.deepEqual([...new Set(found.map(one => one.check))], ["parent_missing"]);
  assert.deepEqual(
    found.map(one => one.detail),
    Array(TENANTS).fill("rows whose parent in app.users does not exist, by generations_user: 3"),
  );
});

test("the checks read every row or none: not as a login that policies filter, but as one that a policy shows all", async () => {
  const run = (url: string) =>
    audited(url, { texts: ["set local app.maintenance = on"] }, async sql =>
      [...(await sql<Finding[]>`select * from pg_temp.run_once('data')`)].map(one => one.detail),
    );
  assert.match((await run(database.urls.owner)).join(), /^4 checks, 0 errors/);
  const login = await auditor(database, []);
  try {
    await database.sql.unsafe(`alter role ${new URL(login.url).username} nobypassrls`);
    for (const detail of (await run(login.url)).slice(0, -1))
      assert.match(
        detail,
        /could not run \(rows of \w+\.\w+\): \w+\.\w+: no policy shows auditor_\w+ every row$/,
      );
  } finally {
    await login.drop();
  }
});

test("children without a tenant column, and text ids: another team's parent is found by either way there", async () => {
  const plant =
    unbound(`alter table public."Page" add "authorTeam" text; create table public."Link" ("siteId" text not null references public."Site", "pageId" text not null references public."Page");
    insert into public."Link" values ('steam1', 'steam1-1'), ('steam2', 'steam3-1'), ('steam1', 'none');
    update public."Page" set "siteId" = 'nowhere' where id = 'steam1-2'`);
  const profile = `select pg_temp.load_profile(pg_temp.propose('{${role("kiosk")}}'))`;
  const found = await audited(other.urls.root, { plant, profile }, sql => sql.unsafe<Finding[]>(FOUND));
  assert.deepEqual(
    found.map(one => [one.check, one.tenant_id, one.relation]),
    [
      ["parent_in_other_tenant", "team2", 'public."Link"'],
      ["parent_missing", "team1", 'public."Link"'],
      ["parent_missing", null, 'public."Page"'],
    ],
  );
});
