import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createDatabase, rolledBack } from "../../harness.ts";
import { as, call, createTenant, operator, refused, rowsRead } from "../support.ts";

const database = await createDatabase();
after(() => database.drop());

test("an idempotency key returns the first result again, only to the same caller with the same request", () =>
  rolledBack(database.sql, async tx => {
    const first = await createTenant(tx, "acme", { key: "key-12345", settings: { b: 1, a: 2 } });
    const again = await createTenant(tx, "acme", { key: "key-12345", settings: { a: 2, b: 1 } });
    assert.deepEqual([again.created, again.body], [false, { ...first.body, existing: true }]);
    const other = [
      422,
      "Validation failed",
      "The Idempotency-Key was already used with another request",
    ] as const;
    await refused(createTenant(tx, "acme", { key: "key-12345" }), ...other);
    await refused(createTenant(tx, "beta", { key: "key-12345", settings: { a: 2, b: 1 } }), ...other);
    await refused(
      createTenant(tx, "acme", { key: "key-12345", settings: { a: 2, b: 1 }, sample: true }),
      ...other,
    );
    await refused(
      call(tx, "create_tenant", operator, "The acme", "beta", { a: 2, b: 1 }, false, false, "key-12345"),
      ...other,
    );
    const somebody = { ...operator, subject: "op2" };
    await refused(
      call(tx, "create_tenant", somebody, "The acme", "acme", { a: 2, b: 1 }, false, false, "key-12345"),
      409,
      "Conflict",
      "A tenant with slug 'acme' already exists",
    );
    await call(tx, "create_tenant", somebody, "Other", "other", null, false, false, "key-12345");
  }));

test("each caller has keys of their own, and two keys of a caller are independent", () =>
  rolledBack(database.sql, async tx => {
    const claims = [
      ["jwt", "op", "key-12345"],
      ["jwt", "op", "key-67890"],
      ["jwt", "op2", "key-12345"],
      ["https://other", "op", "key-12345"],
    ] as const;
    for (const existing of [false, true])
      for (const [i, [provider, subject, key]] of claims.entries()) {
        const { body } = await as(tx, "tms_service", async sp => {
          const [row] = await sp`
            select body from api.create_tenant(row('x', ${provider}, ${subject}, null, null, null),
              'n', ${`s-${i}`}, null, false, false, ${key})`;
          return row!;
        });
        assert.deepEqual([body.slug, body.existing], [`s-${i}`, existing]);
      }
  }));

test("each new key deletes ten keys older than a day, except locked ones", async t => {
  const { sql } = database;
  await sql`
    insert into control.idempotency_keys (auth_provider, auth_subject, key, request_hash, created_at)
    select 'jwt', age, 'key-1234-' || i, '', now() - age::interval
    from unnest(array['24 hours 1 minute', '23 hours 59 minutes']) age, generate_series(1, 13) i`;
  t.after(() => sql`delete from control.idempotency_keys`);
  await sql.begin(async holder => {
    await holder`select from control.idempotency_keys where auth_subject like '24 %' and key like '%-1' for update`;
    await rolledBack(sql, async tx => {
      await tx`set local lock_timeout = '1s'`;
      for (const left of [3, 1]) {
        await createTenant(tx, `new-${left}`, { key: `key-of-${left}` });
        assert.equal(
          (await tx`select from control.idempotency_keys where auth_subject like '24 %'`).count,
          left,
        );
      }
      assert.equal((await tx`select from control.idempotency_keys where auth_subject like '23 %'`).count, 13);
    });
  });
});

test("a new key, and the deletion of its tenant, read only a few of many keys", () =>
  rolledBack(database.sql, async tx => {
    await tx`
      insert into control.idempotency_keys (auth_provider, auth_subject, key, request_hash)
      select 'jwt', 'other', 'key-1234-' || i, '' from generate_series(1, 5000) i`;
    await tx`analyze control.idempotency_keys`;
    const rows = await rowsRead(tx, "control.idempotency_keys", async () => {
      const { body } = await createTenant(tx, "acme", { key: "key-12345" });
      await call(tx, "delete_tenant", operator, body.tenant_id);
    });
    assert.ok(rows < 100, `${rows} rows`);
  }));

test("a key that is deleted while its first result is read is claimed by the caller", () =>
  rolledBack(database.sql, async tx => {
    await tx`insert into control.idempotency_keys (auth_provider, auth_subject, key, request_hash, created_at)
      values ('jwt', 'op', 'key-12345', '', '2001-01-01')`;
    await tx.unsafe(`
      create function public.sweep() returns trigger language plpgsql as $$
        begin delete from control.idempotency_keys where created_at = '2001-01-01'; return null; end $$;
      create trigger sweep after insert on control.idempotency_keys for each statement execute function public.sweep()`);
    const existing: boolean[] = [];
    for (let i = 0; i < 2; i++)
      existing.push((await createTenant(tx, "acme", { key: "key-12345" })).body.existing);
    assert.deepEqual(existing, [false, true]);
  }));

test("a failed creation frees its idempotency key, and so does the deletion of its tenant", () =>
  rolledBack(database.sql, async tx => {
    await createTenant(tx, "taken");
    await refused(
      createTenant(tx, "taken", { key: "key-12345" }),
      409,
      "Conflict",
      "A tenant with slug 'taken' already exists",
    );
    const { body, created } = await createTenant(tx, "free", { key: "key-12345" });
    assert.equal(created, true);
    await call(tx, "delete_tenant", operator, body.tenant_id);
    const anew = await createTenant(tx, "free", { key: "key-12345" });
    assert.deepEqual([anew.created, anew.body.existing], [true, false]);
    assert.notEqual(anew.body.tenant_id, body.tenant_id);
    const other = await createTenant(tx, "other", { key: "key-of-another" });
    await call(tx, "delete_tenant", operator, other.body.tenant_id);
    await createTenant(tx, "by-hand", { key: "key-of-a-third" });
    await tx`delete from app.tenants where slug = 'by-hand'`;
    assert.equal((await createTenant(tx, "third", { key: "key-of-a-third" })).created, true);
    assert.equal(
      (await createTenant(tx, "free", { key: "key-12345" })).body.existing,
      true,
      "its tenant is there",
    );
  }));
