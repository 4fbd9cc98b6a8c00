import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import postgres from "postgres";
import { audited, CHECKS, findings, openAudit, proved } from "../../audit/session.ts";
import { createDatabase, rolledBack, seedTenant } from "../../harness.ts";
import { as, type Transaction } from "../support.ts";

const database = await createDatabase();
const { sql } = database;
/** The login of the old application, and one that requests act as. Roles are the cluster's. */
const OLD = `old_${database.name}`;
const NEW = `new_${database.name}`;
let acme: string;

before(async () => {
  acme = await seedTenant(sql, { slug: "acme" });
  await seedTenant(sql, { slug: "globex" });
  await sql.unsafe(`
    create role ${OLD} login password 'x'; create role ${NEW} login in role tms_app; create role ${OLD}_group;
    grant connect on database ${database.name} to ${OLD};
    create schema shop; grant usage on schema shop to tms_app, tms_auditor, tms_owner, ${OLD};
    create table shop.orders (tenant_id uuid not null, id int, primary key (tenant_id, id)) partition by hash (id);
    create table shop.orders_0 partition of shop.orders for values with (modulus 1, remainder 0);
    alter table shop.orders owner to tms_owner; alter table shop.orders_0 owner to tms_owner;
    insert into shop.orders select id, 1 from app.tenants; grant select, insert, update, delete on shop.orders to ${OLD}`);
});
after(async () => {
  await sql.unsafe(`drop schema shop cascade; drop owned by ${OLD}; drop role ${OLD}, ${NEW}, ${OLD}_group`);
  await database.drop();
});

const bridge = (login: string, until = "current_date + 30") =>
  `select app.isolate('shop.orders', bridge => ${login}, until => ${until})`;
const policies = (tx: Transaction) => tx<{ table: string; name: string }[]>`
  select polrelid::regclass::text as table, polname as name from pg_policy
  where polrelid in ('shop.orders'::regclass, 'shop.orders_0'::regclass) and polname ~ '^bridge' order by 1`;

test("with a bridge the old login reaches every row as before, over its own connection; tms_app sees its tenant's", async () => {
  await sql.unsafe(bridge(`'${OLD}'`));
  const url = Object.assign(new URL(database.urls.root), { username: OLD, password: "x" }).href;
  const old = postgres(url, { max: 1 });
  const application = postgres(database.urls.root, { max: 1 });
  try {
    assert.equal((await old`select from shop.orders`).count, 2);
    assert.equal((await old`insert into shop.orders values (${acme}, 2)`).count, 1);
    assert.equal((await old`update shop.orders set id = 3 where id = 2`).count, 1);
    assert.equal((await old`delete from shop.orders where id = 3`).count, 1);
    const seen = await application.begin(async tx => {
      await tx.unsafe(`set local role tms_app; set local app.tenant_id = '${acme}'`);
      return tx`select tenant_id from shop.orders`;
    });
    assert.deepEqual([...seen], [{ tenant_id: acme }]);
    await sql`select app.isolate('shop.orders')`;
    assert.equal((await old`select from shop.orders`).count, 0);
  } finally {
    await Promise.all([old.end(), application.end()]);
  }
});

test("the date is in the policy's name; a later call moves it, and one without a bridge removes it, on partitions too", () =>
  rolledBack(sql, async tx => {
    await tx.unsafe(bridge(`'${OLD}'`));
    const [{ today } = { today: "" }] = await tx<{ today: string }[]>`
      select to_char(current_date, 'YYYY_MM_DD') as today`;
    await tx.unsafe(bridge(`'${OLD}'`, "current_date"));
    assert.deepEqual(
      (await policies(tx)).map(({ table, name }) => `${table} ${name}`),
      ["shop.orders", "shop.orders_0"].map(table => `${table} bridge_until_${today}`),
    );
    await tx`select app.isolate('shop.orders')`;
    assert.equal((await policies(tx)).length, 0);
  }));

const refusals: [what: string, login: string, until: string, message: RegExp][] = [
  ["a login without a date", `'${OLD}'`, "null", /bridge and until go together/],
  ["a date without a login", "null", "current_date + 1", /bridge and until go together/],
  ["a role that does not exist", "'nobody_here'", "current_date + 1", /there is no role nobody_here/],
  ["PUBLIC", "'public'", "current_date + 1", /there is no role public/],
  ["a group", `'${OLD}_group'`, "current_date + 1", /is not a login/],
  ["a superuser", "current_user", "current_date + 1", /needs no bridge/],
  ["the service's login", "'tms_service'", "current_date + 1", /tms_service is a role of this service/],
  ["a login that requests act as", `'${NEW}'`, "current_date + 1", /requests act as new_/],
  ["yesterday", `'${OLD}'`, "current_date - 1", /until must be between/],
  ["a day more than a year ahead", `'${OLD}'`, "current_date + 400", /until must be between/],
  ["for ever", `'${OLD}'`, "'infinity'", /until must be between/],
];
for (const [what, login, until, message] of refusals)
  test(`a bridge is refused for ${what}`, () =>
    rolledBack(sql, async tx => {
      await assert.rejects(
        tx.savepoint(sp => sp.unsafe(bridge(login, until))),
        (error: Error & { code: string }) => error.code === "22023" && message.test(error.message),
      );
      assert.equal((await policies(tx)).length, 0);
    }));

test("a bridge is refused for a login that had its privileges by PUBLIC alone", () =>
  rolledBack(sql, async tx => {
    await tx.unsafe(`revoke all on shop.orders from ${OLD}; grant select on shop.orders to public`);
    await assert.rejects(
      tx.savepoint(sp => sp.unsafe(bridge(`'${OLD}'`))),
      /has no privilege on shop.orders, or had it by PUBLIC/,
    );
  }));

test("the audit warns of a bridge, once, calls it an error after its day or for requests, and finds nothing else", async () => {
  const audit = await openAudit(database);
  try {
    await rolledBack(audit, async tx => {
      const found = async () =>
        (
          await findings(
            tx,
            CHECKS.filter(check => check !== "server_version"),
          )
        ).map(({ check, severity, relation }) => `${check} ${severity} ${relation}`);
      await tx.unsafe(bridge(`'${OLD}'`, "current_date"));
      assert.deepEqual(await found(), ["bridge_open warning shop.orders"]);
      const [name] = await policies(tx);
      const rename = (to: string) => tx.unsafe(`alter policy ${name!.name} on shop.orders rename to ${to}`);
      await tx.unsafe("alter table shop.orders detach partition shop.orders_0; drop table shop.orders_0");
      await tx.savepoint(async sp => {
        await rename("bridge_until_2026_11_01");
        assert.deepEqual(await found(), ["bridge_open error shop.orders"]);
        await sp.unsafe(`alter policy bridge_until_2026_11_01 on shop.orders rename to bridge_until_soon`);
        assert.deepEqual(await found(), ["bridge_open error shop.orders"]);
        await sp.unsafe(`alter policy bridge_until_soon on shop.orders rename to ${name!.name}`);
      });
      await tx.unsafe(`grant ${OLD} to tms_app`);
      assert.ok((await found()).includes("bridge_open error shop.orders"));
    });
  } finally {
    await audit.end();
  }
});

test("the gate lets a bridge stand until its day, and fails after it", () =>
  rolledBack(sql, async tx => {
    await tx.unsafe(bridge(`'${OLD}'`, "current_date"));
    const gate = () =>
      as(tx, "tms_owner", async sp => {
        await sp`set local app.maintenance = on`;
        await sp`select control.gate()`;
      });
    await gate();
    const [name] = await policies(tx);
    await tx.unsafe(`alter policy ${name!.name} on shop.orders rename to bridge_until_2026_11_01`);
    await assert.rejects(
      gate(),
      /^PostgresError: Tenants are not isolated: shop\.orders: .* should have stopped on 2026-11-01/,
    );
  }));

test("the proof holds beside a bridge", () =>
  audited(database.urls.root, { plant: bridge(`'${OLD}'`) }, async tx => {
    assert.deepEqual(await proved(tx, "shop.orders"), []);
    const [{ claims }] = await tx<[{ claims: number }]>`
      select count(*)::int as claims from pg_temp.prove('shop.orders', 2, true, true) where result = 'proved'`;
    assert.ok(claims > 4, `${claims}`);
  }));
