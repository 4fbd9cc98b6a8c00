import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createDatabase, rolledBack, seedTenant, seedUser } from "../../harness.ts";
import { tenantTables } from "../rows.ts";
import { call, createTenant, operator, refused } from "../support.ts";

const database = await createDatabase();
after(() => database.drop());

const UNKNOWN = "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10";
const FIELDS = [
  "tenant_id",
  "name",
  "slug",
  "status",
  "settings",
  "created_at",
  "updated_at",
  "registration",
  "members_count",
];

test("create_tenant returns the new tenant, and get_tenant returns it with a hash of the body as ETag", () =>
  rolledBack(database.sql, async tx => {
    const { body, created } = await createTenant(tx, "acme", { settings: { a: { b: [1, null] } } });
    assert.equal(created, true);
    assert.deepEqual(
      { ...body, tenant_id: null },
      {
        tenant_id: null,
        name: "The acme",
        slug: "acme",
        message: "Tenant 'The acme' (acme) created successfully",
        existing: false,
      },
    );
    const shown = await call(tx, "get_tenant", operator, body.tenant_id);
    assert.deepEqual(Object.keys(shown.body), FIELDS);
    assert.deepEqual(shown.body.settings, { a: { b: [1, null] } });
    assert.match(shown.body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.match(shown.etag, /^"[0-9a-f]{32}-0"$/);
    assert.equal((await tx`select from app.tenants where is_default`).count, 0);
    assert.equal((await call(tx, "get_tenant", operator, body.tenant_id.toUpperCase())).etag, shown.etag);
  }));

test("a violation of another unique index is not reported as a used slug", () =>
  rolledBack(database.sql, async tx => {
    const { body } = await createTenant(tx, "acme");
    await createTenant(tx, "beta");
    await tx`create unique index own_name on app.tenants (lower(name))`;
    for (const slug of [null, "acme", "gamma"])
      await assert.rejects(
        call(tx, "update_tenant", operator, body.tenant_id, "the BETA", slug, null, null),
        { code: "23505", constraint_name: "own_name" },
      );
    // Registration does not try another slug either.
    await tx`set local statement_timeout = '10s'`;
    for (const made of [
      () => call(tx, "create_tenant", operator, "the BETA", "delta", null, false, false, null),
      () => tx.savepoint(sp => sp`select from app.insert_tenant('the BETA', null, 'delta', 'active', null)`),
    ])
      await assert.rejects(made(), { code: "23505", constraint_name: "own_name" });
  }));

test("a used slug is 409 on create and update, and an unknown id is 404, whatever its form", () =>
  rolledBack(database.sql, async tx => {
    const { body } = await createTenant(tx, "acme");
    await createTenant(tx, "beta");
    const used = (slug: string) => `A tenant with slug '${slug}' already exists`;
    await refused(createTenant(tx, "acme"), 409, "Conflict", used("acme"));
    const update = (id: string, slug: string) =>
      call(tx, "update_tenant", operator, id, null, slug, null, null);
    await refused(update(body.tenant_id, "beta"), 409, "Conflict", used("beta"));
    for (const id of [
      UNKNOWN,
      "",
      "nil",
      `{${body.tenant_id}}`,
      body.tenant_id.replaceAll("-", ""),
      `x${body.tenant_id}`,
      `${body.tenant_id}x`,
      "Connection terminated",
    ]) {
      const gone: [number, string, string] = [404, "Tenant not found", `Tenant with ID ${id} not found`];
      await refused(call(tx, "get_tenant", operator, id), ...gone);
      await refused(update(id, "x"), ...gone);
      for (const name of [
        "delete_tenant",
        "approve_tenant",
        "reject_tenant",
        "suspend_tenant",
        "resume_tenant",
        "restore_tenant",
      ])
        await refused(call(tx, name, operator, id), ...gone);
    }
  }));

test("update_tenant replaces only the given fields, and without any keeps updated_at", () =>
  rolledBack(database.sql, async tx => {
    const { body } = await createTenant(tx, "acme", { settings: { keep: 1, nested: { a: 1 } } });
    await createTenant(tx, "beta");
    const beta = async () => [...(await tx`select * from app.tenants where slug = 'beta'`)];
    const untouched = await beta();
    const update = (...values: unknown[]) => call(tx, "update_tenant", operator, body.tenant_id, ...values);
    const before = await call(tx, "get_tenant", operator, body.tenant_id);
    assert.deepEqual(await update(null, null, null, null), before);
    const renamed = await update("New name", null, null, null);
    assert.deepEqual(
      { ...renamed.body, updated_at: "" },
      { ...before.body, name: "New name", updated_at: "" },
    );
    assert.ok(renamed.body.updated_at > before.body.updated_at);
    assert.notEqual(renamed.etag, before.etag);
    const settled = await update(null, null, { nested: { b: 2 } }, null);
    assert.deepEqual(settled.body.settings, { nested: { b: 2 } });
    assert.equal((await update(null, "acme-2", null, null)).body.slug, "acme-2");
    assert.equal((await update(null, "acme-2", null, null)).body.slug, "acme-2", "its own slug is not taken");
    assert.deepEqual(await beta(), untouched);
  }));

test("update_tenant requires one of the given ETags", () =>
  rolledBack(database.sql, async tx => {
    const { body } = await createTenant(tx, "acme");
    const { etag } = await call(tx, "get_tenant", operator, body.tenant_id);
    const update = (match: string[]) =>
      call(tx, "update_tenant", operator, body.tenant_id, "Again", null, null, match);
    for (const stale of [[], ['"x"'], [etag.slice(1)]])
      await refused(update(stale), 412, "Precondition failed", "The tenant has changed since it was read");
    await update(['"x"', etag]);
    await refused(update([etag]), 412, "Precondition failed", "The tenant has changed since it was read");
    await update(["*"]);
  }));

test("approve, reject, suspend and resume apply only to their own status", () =>
  rolledBack(database.sql, async tx => {
    const moves = {
      approve: ["pending", "active"],
      suspend: ["active", "suspended"],
      restore: ["deleted", "active"],
      resume: ["suspended", "active"],
      reject: ["pending", "gone"],
    };
    for (const status of ["pending", "active", "suspended"]) {
      for (const [move, [from, to]] of Object.entries(moves)) {
        const id = await seedTenant(tx, { slug: `${move}-${status}`, status });
        const moved = () => call(tx, `${move}_tenant`, operator, id);
        if (status !== from) {
          await refused(moved(), 409, "Conflict", `The tenant is ${status}, not ${from}`);
          continue;
        }
        const { body } = await moved();
        const [row] = await tx`select status from app.tenants where id = ${id}`;
        assert.equal(row?.status ?? "gone", to);
        const fields = move === "suspend" ? FIELDS.toSpliced(-1, 0, "suspension") : FIELDS;
        if (move !== "reject") assert.deepEqual([Object.keys(body), body.status], [fields, to]);
        else
          assert.equal(body.message, `Tenant '${move}-${status}' (${move}-${status}) deleted successfully`);
      }
    }
  }));

test("delete_tenant leaves no row of the tenant in any table of the catalog, and every row of the others", () =>
  rolledBack(database.sql, async tx => {
    const [acme, beta] = [
      await createTenant(tx, "acme", { sample: true }),
      await createTenant(tx, "beta", { sample: true }),
    ];
    const tables = (await tenantTables(tx)).filter(table => table.tenant === "tenant_id");
    const count = async (id: string) => {
      const counts: Record<string, number> = {};
      for (const { name } of tables)
        counts[name] = (await tx.unsafe(`select from ${name} where tenant_id = $1`, [id])).count;
      return counts;
    };
    // Sample data fills all tables but these.
    await tx`insert into app.board_members (tenant_id, board_id, user_id) select tenant_id, id, owner_id from app.boards`;
    await tx`insert into app.invitations (tenant_id, token_hash, invited_by) select tenant_id, sha256('x'), id from app.users`;
    await tx`insert into app.api_keys (tenant_id, user_id, name, secret_hash, created_by)
      select tenant_id, id, 'a key', sha256('x'), id from app.users`;
    const before = await count(beta.body.tenant_id);
    for (const [name, rows] of Object.entries(before)) assert.ok(rows > 0, `${name} has no row to delete`);
    const { body } = await call(tx, "delete_tenant", operator, acme.body.tenant_id);
    assert.deepEqual(body, {
      message: "Tenant 'The acme' (acme) deleted successfully",
      tenant_id: acme.body.tenant_id,
      warning:
        "All related data has been permanently deleted: api keys, board members, boards, credit transactions, " +
        "generations, invitations, media, provider configs, users",
    });
    assert.deepEqual(
      Object.values(await count(acme.body.tenant_id)),
      tables.map(() => 0),
    );
    assert.deepEqual(await count(beta.body.tenant_id), before);
  }));

test("sample data is one board, three kinds of generation with media, a grant and its use, one disabled provider", () =>
  rolledBack(database.sql, async tx => {
    const { body } = await createTenant(tx, "acme", { sample: true });
    const [row] = await tx`
      select (select json_agg(json_build_object('subject', auth_subject, 'role', role)) from app.users) as users,
        (select count(*)::int from app.boards b join app.users u on u.tenant_id = b.tenant_id and u.id = b.owner_id) as boards,
        (select array_agg(artifact_type || ' ' || status order by artifact_type) from app.generations) as generations,
        (select count(distinct generation_id)::int from app.media) as media,
        (select array_agg(amount || ' ' || balance_after order by created_at, id) from app.credit_transactions) as credits,
        (select count(distinct created_at)::int || ' moments, paid: ' || count(generation_id) from app.credit_transactions) as ledger,
        (select array_agg(is_enabled) from app.provider_configs) as providers,
        (select count(*)::int from app.boards where tenant_id <> ${body.tenant_id}) as astray`;
    assert.deepEqual(
      { ...row },
      {
        users: [{ subject: "sample-user", role: "member" }],
        boards: 1,
        generations: ["audio completed", "image completed", "text completed"],
        media: 3,
        credits: ["100 100", "-10 90"],
        ledger: "2 moments, paid: 1",
        providers: [false],
        astray: 0,
      },
    );
    assert.equal(
      (await tx`select from app.users where tenant_id = ${(await createTenant(tx, "bare")).body.tenant_id}`)
        .count,
      0,
    );
  }));

test("every CHECK constraint refuses a value just outside it", () =>
  rolledBack(database.sql, async tx => {
    await createTenant(tx, "checked", { sample: true, key: "key-12345" });
    await tx`insert into app.board_members (tenant_id, board_id, user_id) select tenant_id, id, owner_id from app.boards`;
    await tx`insert into app.invitations (tenant_id, token_hash, invited_by) select tenant_id, sha256('x'), id from app.users`;
    await tx`insert into app.api_keys (tenant_id, user_id, name, secret_hash, created_by)
      select tenant_id, id, 'a key', sha256('x'), id from app.users`;
    await tx`insert into control.deployment default values on conflict do nothing`;
    const key = "decode(repeat('00', 64), 'hex')";
    await tx.unsafe(`insert into control.tenant_context (inner_key, outer_key, setting_inner_key, setting_outer_key)
      values (${[key, key, key, key].join()})`);
    await tx`insert into audit.runs default values`;
    await tx`insert into audit.vouched (kind, object, reason) values ('function', 'shop.f()', 'read')`;
    await tx`insert into audit.found select id, 'x', 1, 'info', null, null, '{}', '', '' from audit.runs`;
    const before = "now() - interval '1 hour'";
    await tx`insert into app.tenants (name, slug, status, deleted_at, purge_at, status_before)
      values ('Gone', 'gone', 'deleted', now(), now(), 'active')`;
    const text = (max: number) => ["''", `repeat('x', ${max + 1})`];
    const refused: Record<string, string[]> = {
      "api_keys_expires_after_creation expires_at": [before],
      "api_keys_name_length name": ["repeat('x', 256)"],
      "api_keys_name_not_blank name": ["E' \\t'"],
      "api_keys_secret_hash_length secret_hash": ["'\\x00'"],
      "board_members_role_known role": ["'owner'"],
      "boards_description_length description": ["repeat('x', 10001)"],
      "boards_settings_is_object settings": ["'[]'"],
      "boards_settings_size settings": ["jsonb_build_object('x', repeat('x', 1048576))"],
      "boards_times_in_order updated_at": [before],
      "boards_title_length title": text(255),
      "credit_transactions_description_length description": ["repeat('x', 10001)"],
      "credit_transactions_type_length type": text(50),
      "deployment_singleton_check singleton": ["false"],
      "found_severity_known severity": ["'fatal'"],
      "generations_artifact_type_length artifact_type": text(50),
      "generations_error_length error": ["repeat('x', 10001)"],
      "generations_input_is_object input": ["'[]'"],
      "generations_input_size input": ["jsonb_build_object('x', repeat('x', 1048576))"],
      "generations_status_known status": ["'done'"],
      "generations_times_in_order completed_at": [before],
      "idempotency_keys_length key": ["repeat('x', 7)", "repeat('x', 256)"],
      "invitations_email_length email": ["repeat('x', 321)"],
      "invitations_hash_length token_hash": ["'short'"],
      "invitations_lifetime expires_at": ["created_at", "created_at + interval '31 days'"],
      "invitations_role_known role": ["'operator'"],
      "media_content_type_length content_type": ["repeat('x', 256)"],
      "media_size_not_negative size_bytes": ["-1"],
      "media_storage_url_length storage_url": text(2048),
      "profile_check tenant_key": ["null"],
      "profile_one_check one": ["false"],
      "profile_per_table_check per_table": ["'[]'"],
      "provider_configs_config_is_object config": ["'[]'"],
      "provider_configs_config_size config": ["jsonb_build_object('x', repeat('x', 1048576))"],
      "provider_configs_name_length provider_name": text(255),
      "provider_configs_times_in_order updated_at": [before],
      "release_number_positive number": ["0"],
      "runs_family_known family": ["'all'"],
      "runs_sample_positive sample": ["0"],
      "tenant_context_lengths inner_key": ["'x'"],
      "tenant_context_previous previous_inner_key": ["'x'", key],
      "tenant_context_singleton_check singleton": ["false"],
      "tenant_counts_shard_check shard": ["-1", "64"],
      "tenant_events_known event": ["'closed'"],
      "tenant_events_reason_length reason": text(500),
      "tenant_events_request_id_length request_id": text(64),
      "tenant_events_role_before_known role_before": ["'operator'"],
      "tenant_events_role_known role": ["'operator'"],
      "tenants_deletion_in_order purge_at": [`case when status = 'deleted' then ${before} end`],
      "tenants_deletion_whole deleted_at": ["null"],
      "tenants_name_length name": ["repeat('x', 256)"],
      "tenants_name_not_blank name": ["E' \\t'"],
      "tenants_registration_is_object registration": ["'[]'"],
      "tenants_registration_size registration": ["jsonb_build_object('x', repeat('x', 1048576))"],
      "tenants_settings_is_object settings": ["'[]'"],
      "tenants_settings_size settings": ["jsonb_build_object('x', repeat('x', 1048576))"],
      "tenants_slug_format slug": ["''", "'Acme'", "'a_b'", "E'a\\n'", "repeat('x', 256)"],
      "tenants_status_before_known status_before": ["case when status = 'deleted' then 'deleted' end"],
      "tenants_status_known status": ["'closed'"],
      "tenants_times_in_order updated_at": [before],
      "users_display_name_length display_name": ["repeat('x', 256)"],
      "users_display_name_not_blank display_name": ["''", "chr(8203)"],
      "users_email_length email": ["repeat('x', 321)"],
      "users_provider_length auth_provider": text(255),
      "users_role_known role": ["'operator'"],
      "users_subject_length auth_subject": text(255),
      "users_times_in_order updated_at": [before],
      "vouched_kind_check kind": ["'view'"],
    };
    const checks = await tx<{ name: string; table: string }[]>`
      select conname as name, conrelid::regclass::text as table from pg_constraint
      where connamespace::regnamespace in ('app', 'control', 'audit') and contype = 'c' order by 1`;
    assert.deepEqual(
      Object.keys(refused).map(key => key.split(" ")[0]),
      checks.map(({ name }) => name),
    );
    for (const { name, table } of checks) {
      const [key, values] = Object.entries(refused).find(([key]) => key.startsWith(`${name} `))!;
      for (const value of values)
        await assert.rejects(
          tx.savepoint(sp => sp.unsafe(`update ${table} set ${key.split(" ")[1]} = ${value}`)),
          (error: { constraint_name?: string }) => error.constraint_name === name,
          `${key} = ${value}`,
        );
    }
  }));

test("the count by status is exact after every kind of change, also after statements on many tenants", () =>
  rolledBack(database.sql, async tx => {
    const agree = async () => {
      for (const status of [null, "pending", "active", "suspended", "deleted"]) {
        const [row] = await tx`
          select app.count_tenants(${status})::int as counted,
                 (select count(*)::int from app.tenants
                  where status = ${status} or ${status}::text is null and status <> 'deleted') as there`;
        assert.equal(row!.counted, row!.there);
      }
      const [none] = await tx`select app.count_tenants('unheard of')::int as counted`;
      assert.equal(none!.counted, 0);
    };
    await tx`insert into app.tenants (name, slug, status)
      select 'n', 's-' || i, (array['pending', 'active', 'suspended'])[1 + i % 3] from generate_series(1, 30) i`;
    await agree();
    await tx`update app.tenants set status = 'active' where slug like 's-1%'`;
    await agree();
    await tx`update app.tenants set status = 'deleted', status_before = status, deleted_at = now(), purge_at = now() where slug like 's-1_'`;
    await agree();
    await tx`delete from app.tenants where slug like 's-12'`;
    await agree();
    await tx`update app.tenants set status = status_before, status_before = null, deleted_at = null, purge_at = null where slug like 's-13'`;
    await agree();
    await tx`delete from app.tenants where slug like 's-2%'`;
    await agree();
    for (const status of ["pending", "active", "suspended"]) {
      await tx`insert into app.tenants (name, slug, status) values ('n', ${`one-${status}`}, ${status})`;
      await agree();
      await tx`delete from app.tenants where slug = (select min(slug) from app.tenants where status = ${status})`;
      await agree();
    }
    const counters = () => tx`select ctid, * from control.tenant_counts`;
    const before = [...(await counters())];
    await tx`update app.tenants set name = 'renamed'`;
    assert.deepEqual([...(await counters())], before, "no counter is locked for what it does not count");
    await tx`truncate app.tenants cascade`;
    await agree();
  }));

test("callers who are not operators are refused: members with the name of the missing role, strangers as everywhere", () =>
  rolledBack(database.sql, async tx => {
    const id = await seedTenant(tx, { slug: "acme" });
    await seedUser(tx, id, { subject: "ann", role: "owner" });
    const calls: [name: string, ...values: unknown[]][] = [
      ["create_tenant", "n", "new", null, false, false, null],
      ["list_tenants", 10, null, null, null],
      ["get_tenant", id],
      ["update_tenant", id, "n", null, null, null],
      ["get_setup_status", 1, [], true],
      ["explain_for_operator", "acme", "jwt", "ann", "given", false, null],
      ["preview_deletion", id, null],
      ...["delete", "approve", "reject", "suspend", "resume", "restore"].map(
        move => [`${move}_tenant`, id] as [string, string],
      ),
    ];
    for (const [name, ...values] of calls) {
      await refused(
        call(tx, name, { slug: "acme" }, ...values),
        403,
        "Access denied",
        "The role tenant-operator is required",
      );
      for (const slug of ["acme", "nowhere"])
        await refused(
          call(tx, name, { slug, subject: "eve" }, ...values),
          403,
          "Access denied",
          "User does not belong to tenant",
        );
    }
    assert.equal((await tx`select from app.tenants`).count, 1);
  }));
