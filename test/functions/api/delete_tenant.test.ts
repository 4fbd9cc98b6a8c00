import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createDatabase, rolledBack, seedTenant, seedUser } from "../../harness.ts";
import { call, createTenant, operator, refused, type Transaction } from "../support.ts";

const database = await createDatabase();
after(() => database.drop());

const remove = (tx: Transaction, id: string, days: number, reason: string | null = null, caller = operator) =>
  call(tx, "delete_tenant", caller, id, null, days, reason);

/** What the transaction has deleted so far, table by table. */
const deletedRows = async (tx: Transaction) => {
  const rows = await tx<{ name: string; n: number }[]>`
    select relid::regclass::text as name, n_tup_del::int as n from pg_stat_xact_user_tables where n_tup_del > 0`;
  return new Map(rows.map(({ name, n }) => [name, n]));
};

test("a dry run counts to the row what the deletion deletes, tables isolated a moment ago included", () =>
  rolledBack(database.sql, async tx => {
    await tx.unsafe(`set local role tms_owner; set local app.maintenance = on;
      create table app.notes (tenant_id uuid not null, id int not null, primary key (tenant_id, id));
      select app.isolate('app.notes');
      create table app.parts (tenant_id uuid not null, id int not null, primary key (tenant_id, id)) partition by hash (tenant_id);
      create table app.parts_0 partition of app.parts for values with (modulus 1, remainder 0);
      select app.isolate('app.parts');
      create table app.heirs (more text) inherits (app.notes);
      alter table app.heirs add primary key (tenant_id, id);
      select app.isolate('app.notes');
      -- Hides rows from the tenant, but not from a deletion.
      create policy visible on app.notes as restrictive to tms_app using (id > 2);
      reset role; set local app.maintenance = ''`);
    const acme = await createTenant(tx, "acme", { sample: true, key: "key-12345" });
    const beta = await createTenant(tx, "beta", { sample: true });
    const { tenant_id: id } = acme.body;
    for (const tenant of [id, beta.body.tenant_id]) {
      await tx`insert into app.notes select ${tenant}, n from generate_series(1, 5) n`;
      await tx`insert into app.heirs select ${tenant}, n from generate_series(6, 8) n`;
      await tx`insert into app.parts select ${tenant}, n from generate_series(1, 4) n`;
    }
    const shown = await call(tx, "get_tenant", operator, id);
    const { body, etag } = await call(tx, "preview_deletion", operator, id, null);
    assert.equal(etag, shown.etag);
    const { rows, ...rest } = body as { rows: { relation: string; rows: number }[] };
    const total = rows.reduce((sum, { rows }) => sum + rows, 0);
    assert.deepEqual(rest, { tenant_id: id, dry_run: true, total_rows: total });
    assert.deepEqual(
      rows.map(({ relation }) => relation),
      rows.map(({ relation }) => relation).toSorted(),
    );
    assert.equal((await call(tx, "get_tenant", operator, id)).etag, shown.etag, "nothing has changed");

    const before = await deletedRows(tx);
    await remove(tx, id, 0);
    const gone = await deletedRows(tx);
    const counted = new Map(
      rows.filter(({ rows }) => rows > 0).map(({ relation, rows }) => [relation, rows]),
    );
    // Postgres counts in the partition and in the child, the dry run in what they belong to.
    const root: Record<string, string> = { "app.parts_0": "app.parts", "app.heirs": "app.notes" };
    const found = new Map<string, number>();
    for (const [name, n] of gone) {
      const here = n - (before.get(name) ?? 0);
      if (here > 0) found.set(root[name] ?? name, (found.get(root[name] ?? name) ?? 0) + here);
    }
    assert.deepEqual(Object.fromEntries(found), Object.fromEntries(counted));
    assert.deepEqual([counted.get("app.notes"), counted.get("app.parts")], [8, 4]);
    assert.equal(counted.get("control.idempotency_keys"), 1);
  }));

test("a dry run says null for a table that the service may not read", () =>
  rolledBack(database.sql, async tx => {
    const { body } = await createTenant(tx, "acme");
    await tx`create table app.foreign_rows (tenant_id uuid not null references app.tenants on delete cascade)`;
    const preview = await call(tx, "preview_deletion", operator, body.tenant_id, null);
    const found = preview.body.rows.find(
      ({ relation }: { relation: string }) => relation === "app.foreign_rows",
    );
    assert.deepEqual(found, { relation: "app.foreign_rows", rows: null });
    assert.equal(preview.body.total_rows, 1, "the tenant's own row");
  }));

test("with days of grace a deletion keeps every row, and restore gives the status back that was there", () =>
  rolledBack(database.sql, async tx => {
    for (const status of ["pending", "active", "suspended"]) {
      const id = await seedTenant(tx, { slug: `was-${status}`, status });
      await seedUser(tx, id, { subject: "ann", role: "owner" });
      await tx`select app.set_tenant(${id})`;
      await tx`select app.create_sample_data(${id}, (select id from app.users where tenant_id = ${id}))`;
      const sums = async () => {
        const found: Record<string, unknown> = {};
        for (const { name } of await tx<{ name: string }[]>`
            select relid::text as name from app.tenant_tables() where relid <> 'app.tenants'::regclass and not is_partition`)
          found[name] = (
            await tx.unsafe(
              `select count(*)::int as n, md5(string_agg(t::text, ',' order by t::text)) as sum from ${name} t where tenant_id = $1`,
              [id],
            )
          )[0];
        const [tenant] = await tx`
          select id, name, slug, settings, status, is_default, registration, created_at::text from app.tenants where id = ${id}`;
        return { ...found, tenant };
      };
      const before = await sums();
      const { body } = await remove(tx, id, 30, "why not");
      const [row] = await tx<{ status: string; days: number; at: string; reason: string }[]>`
        select status, extract(epoch from purge_at - deleted_at)::int / 86400 as days, app.iso_time(purge_at) as at,
          current_setting('app.reason') as reason
        from app.tenants where id = ${id}`;
      assert.deepEqual([row!.status, row!.days, row!.reason], ["deleted", 30, "why not"]);
      assert.deepEqual(body, {
        message: `Tenant 'was-${status}' (was-${status}) deleted successfully`,
        tenant_id: id,
        warning:
          `All related data is kept until ${row!.at}, and can be brought back until then: ` +
          `POST /api/setup/tenant/${id}/restore. After that it will be permanently deleted`,
      });
      const shown = await call(tx, "get_tenant", operator, id);
      assert.equal(shown.body.purge_at, row!.at);
      await refused(
        call(tx, "suspend_tenant", operator, id, null, "again"),
        409,
        "Conflict",
        "The tenant is deleted, not active",
      );
      const restored = await call(tx, "restore_tenant", operator, id, [shown.etag]);
      assert.deepEqual([restored.body.status, "purge_at" in restored.body], [status, false]);
      assert.deepEqual(await sums(), before);
      await refused(
        call(tx, "restore_tenant", operator, id),
        409,
        "Conflict",
        `The tenant is ${status}, not deleted`,
      );
    }
  }));

test("a second deletion changes nothing, with any window; purge_tenant deletes for good", () =>
  rolledBack(database.sql, async tx => {
    const { body: made } = await createTenant(tx, "twice", { sample: true });
    const id = made.tenant_id as string;
    const purge = (match: string[] | null = null) => call(tx, "purge_tenant", operator, id, match, null);
    await refused(purge(), 409, "Conflict", "The tenant is active, not deleted");
    const first = await remove(tx, id, 30);
    const row = () => tx`select * from app.tenants where id = ${id}`;
    const kept = await row();
    for (const again of [
      () => remove(tx, id, 30),
      () => remove(tx, id, 0),
      () => call(tx, "delete_tenant", operator, id),
    ]) {
      assert.deepEqual((await again()).body, first.body);
      assert.deepEqual(await row(), kept);
    }
    await refused(purge(['"x"']), 412, "Precondition failed", "The tenant has changed since it was read");
    assert.match((await purge()).body.warning, /has been permanently deleted/);
    assert.equal((await row()).count, 0);
    assert.equal((await tx`select from app.users where tenant_id = ${id}`).count, 0);
    await refused(purge(), 404, "Tenant not found", `Tenant with ID ${id} not found`);
  }));

test("purge removes a tenant past its date, and none before it, nor one that was restored", () =>
  rolledBack(database.sql, async tx => {
    const due = async (id: string) => {
      const [row] = await tx<{ purged: boolean }[]>`select app.purge_tenant(${id}) as purged`;
      return row!.purged;
    };
    const { body } = await createTenant(tx, "past", { sample: true });
    assert.equal(await due(body.tenant_id), false, "it is not deleted");
    await remove(tx, body.tenant_id, 1);
    assert.equal(await due(body.tenant_id), false, "it has a day left");
    const expire = () =>
      tx`update app.tenants set deleted_at = deleted_at - interval '2 days', purge_at = purge_at - interval '2 days' where id = ${body.tenant_id}`;
    await expire();
    // Past its date it can still be restored, as long as it is there.
    assert.equal((await call(tx, "restore_tenant", operator, body.tenant_id)).body.status, "active");
    assert.equal(await due(body.tenant_id), false);
    await remove(tx, body.tenant_id, 1);
    await expire();
    assert.equal(await due(body.tenant_id), true);
    assert.equal((await tx`select from app.tenants where id = ${body.tenant_id}`).count, 0);
    assert.equal(await due(body.tenant_id), false);
    for (const role of ["tms_service", "tms_app"])
      for (const [name, argument] of [
        ["purge_tenant", "uuid"],
        ["deletion_counts", "uuid"],
      ])
        assert.equal(
          (
            await tx`select has_function_privilege(${role}, ${`app.${name}(${argument})`}, 'execute') as may`
          )[0]!.may,
          false,
        );
  }));

test("the default tenant has the same refusals in single-tenant mode, dry run or not", () =>
  rolledBack(database.sql, async tx => {
    const id = await seedTenant(tx, { slug: "default", isDefault: true });
    const single = { ...operator, slug: null };
    const words = [
      400,
      "Default tenant",
      "The default tenant cannot be deleted in single-tenant mode",
    ] as const;
    await refused(call(tx, "preview_deletion", single, id, null), ...words);
    await refused(call(tx, "delete_tenant", single, id, null, 30, null), ...words);
    await refused(call(tx, "purge_tenant", single, id, null, null), ...words);
    assert.match((await remove(tx, id, 30)).body.warning, /is kept until/);
    const status = await call(tx, "get_setup_status", single, 1, [], true);
    assert.equal(status.body.setup_needed, true);
    assert.match(status.body.recommendations.join("\n"), /The default tenant is deleted, .*\/restore/);
    // A member of single-tenant mode is refused as in a suspended tenant.
    await refused(
      call(tx, "get_current_tenant", { slug: null }),
      403,
      "Access denied",
      "User does not belong to tenant",
    );
    await tx`update app.tenants set deleted_at = now() - interval '9 days', purge_at = now() - interval '2 days'`;
    const later = await call(tx, "get_setup_status", operator, 1, [], true);
    assert.match(
      later.body.recommendations.join("\n"),
      /Deleted tenants are past their date for a day or more \(1\)/,
    );
  }));
