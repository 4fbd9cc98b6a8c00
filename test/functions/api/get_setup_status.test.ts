import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createDatabase, rolledBack, seedTenant, seedUser } from "../../harness.ts";
import { call, operator } from "../support.ts";

const database = await createDatabase();
after(() => database.drop());

test("get_setup_status writes nothing, and recommends what to repair", () =>
  rolledBack(database.sql, async tx => {
    const [row] = await tx`select app.release() as release`;
    const NEVER = "Isolation was never audited as a whole: run npm run audit";
    await tx.unsafe("set session authorization tms_service");
    const status = async (slug: string | null, release = row!.release as number) => {
      const { body } = await call(
        tx,
        "get_setup_status",
        { ...operator, slug },
        release,
        ["An advice"],
        true,
      );
      // Transactions of other tests, in other databases of the server, keep events waiting too.
      const { events_wait_seconds, ...rest } = body;
      assert.equal(typeof events_wait_seconds, "number");
      return rest;
    };
    assert.deepEqual(await status(null), {
      setup_needed: true,
      has_default_tenant: false,
      default_tenant_id: null,
      default_tenant_slug: null,
      multi_tenant_mode: false,
      auth_provider: "jwt",
      recommendations: [
        "There is no default tenant: create it with POST /api/setup/tenant and the default slug",
        NEVER,
        "An advice",
      ],
    });
    assert.deepEqual(await status("acme"), {
      setup_needed: false,
      has_default_tenant: false,
      default_tenant_id: null,
      default_tenant_slug: null,
      multi_tenant_mode: true,
      auth_provider: "jwt",
      recommendations: [NEVER, "An advice"],
    });
    await tx.unsafe("reset session authorization");
    const id = await seedTenant(tx, { slug: "old", isDefault: true });
    await seedTenant(tx, { slug: "waiting", status: "pending" });
    const found = await status(null, row!.release + 1);
    assert.deepEqual(
      [found.setup_needed, found.default_tenant_id, found.default_tenant_slug],
      [true, id, "old"],
    );
    assert.match(
      found.recommendations.join("\n"),
      /schema is behind this release[\s\S]*Tenants wait for approval \(1\)/,
    );
    assert.doesNotMatch(found.recommendations.join("\n"), /There is no default tenant/);
    await tx`update app.tenants set status = 'suspended' where id = ${id}`;
    const suspended = await Promise.all([status(null), status("acme")]);
    assert.deepEqual(
      suspended.map(({ setup_needed, recommendations }) => [
        setup_needed,
        /The default tenant is suspended, .*\/resume/.test(recommendations.join("\n")),
      ]),
      [
        [true, true],
        [false, false],
      ],
    );
    await tx`update app.tenants set status = 'active' where id = ${id}`;
    const ofSeveral = async (slug: string | null, claimsWin = true) => {
      const { body } = await call(tx, "get_setup_status", { ...operator, slug }, 1, [], claimsWin);
      return /Some people belong to several tenants, .*SERVICE_TENANT_PRECEDENCE=header/.test(
        body.recommendations.join(),
      );
    };
    for (const tenant of [id, await seedTenant(tx, { slug: "other" })])
      for (const subject of [`only in ${tenant}`, "ada"]) {
        assert.equal(await ofSeveral("acme"), false);
        await seedUser(tx, tenant, { subject });
      }
    assert.deepEqual(
      [await ofSeveral("acme"), await ofSeveral("acme", false), await ofSeveral(null)],
      [true, false, false],
    );
    await tx`update app.users set removed_at = now() where tenant_id = ${id} and auth_subject = 'ada'`;
    assert.equal(await ofSeveral("acme"), false, "a membership that ended");
    await tx.unsafe("alter table app.boards no force row level security");
    const advice = async () => (await status(null)).recommendations.join("\n") as string;
    assert.match(await advice(), /app\.boards/);
    assert.doesNotMatch(await advice(), /The table app\.boards/, "said once, as a breach");
    // Other breaches, and what the last audit found.
    assert.match(await advice(), /Isolation is broken: the service's login: it is a superuser: give/);
    await tx.unsafe("alter table app.boards force row level security; drop policy tenant_only on app.boards");
    assert.match(await advice(), /Isolation is broken: app\.boards: the policy .* is missing: npm run audit/);
    await tx.unsafe(
      `insert into app.users (tenant_id, auth_provider, auth_subject) select id, 'jwt', 'x' from app.tenants`,
    );
    await tx.unsafe("drop policy tenant_only on app.users");
    assert.match(await advice(), /Isolation is broken: app\.users: rows are visible outside their tenant/);
    await tx.unsafe(`create table app.notes (id int) partition by list (id); create table app.notes_0 partition of app.notes default;
      alter table app.notes enable row level security; alter table app.notes_0 force row level security`);
    for (const table of ["notes", "notes_0"])
      assert.match(await advice(), RegExp(`The table app\\.${table} has no forced row-level security`));
    assert.doesNotMatch(await advice(), /The table app\.(boards|users)/, "said once, as a breach");
    const audited = (age: string, errors: number, family: string | null = null, notRun = 0) =>
      tx`insert into audit.runs (started_at, finished_at, errors, family, not_run)
        values (now(), clock_timestamp() - ${age}::interval, ${errors}, ${family}, ${notRun})`;
    await audited("8 days", 0);
    assert.match(await advice(), /The last audit is 8 days old/);
    await audited("7 days 23 hours", 0);
    assert.doesNotMatch(await advice(), /audit is|last audit/);
    await audited("1 hour", 0, null, 1);
    assert.match(await advice(), /The last audit \(.*\) found 0 error\(s\), and 1 check\(s\) could not run/);
    await audited("1 hour", 1);
    await audited("1 minute", 0, "schema");
    assert.match(await advice(), /The last audit \(.*\) found 1 error\(s\)/);
    await audited("1 second", 0);
    assert.doesNotMatch(await advice(), /audit is|last audit/);
    await tx`delete from control.release`;
    const [behind] = await tx`select app.is_behind(1) as needed, app.is_behind(null) as asked`;
    assert.deepEqual(behind, { needed: true, asked: false });
  }));
