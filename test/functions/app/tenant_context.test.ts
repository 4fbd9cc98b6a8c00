/** The tenant context with SERVICE_TENANT_CONTEXT_SECRET: no login enters a tenant without a proof. */
import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import postgres from "postgres";
import { type ProofKind, proofOf } from "../../../src/database/proof.ts";
import { changedObjects } from "../../../src/migrate/released.ts";
import { dropOldSecret, removeSecret, storeSecret } from "../../../src/migrate/tenant-context.ts";
import { createDatabase, rolledBack, seedTenant, seedUser } from "../../harness.ts";
import { sqlstate } from "../support.ts";

const SECRET = "a tenant context secret of more than thirty-two bytes";
const database = await createDatabase();
const { sql } = database;
const owner = postgres(database.urls.owner, { max: 1, onnotice: () => {} });
/** A product's own login: a member of tms_app, with SQL of its own choice. */
const shop = `shop_${database.name.slice(-8)}`;
const product = postgres(
  Object.assign(new URL(database.urls.root), { username: shop, password: "shop" }).href,
  { max: 2, onnotice: () => {} },
);
const service = postgres(database.urls.service, { max: 2, onnotice: () => {} });
let acme = "";
let globex = "";

before(async () => {
  [acme, globex] = [await seedTenant(sql, { slug: "acme" }), await seedTenant(sql, { slug: "globex" })];
  for (const [id, subject] of [
    [acme, "ann"],
    [globex, "bob"],
  ] as const) {
    const user = await seedUser(sql, id, { subject, role: "owner" });
    await sql`insert into app.boards (tenant_id, owner_id, title) values (${id}, ${user}, ${subject})`;
  }
  await sql.unsafe(`create role ${shop} login noinherit password 'shop'; grant tms_app to ${shop};
    grant connect on database ${database.name} to ${shop}`);
  assert.equal(await storeSecret(owner, SECRET), "stored");
});
after(async () => {
  await Promise.all([owner.end(), product.end(), service.end()]);
  await sql.unsafe(`drop owned by ${shop}; drop role ${shop}`);
  await database.drop();
});

const ANN = ["acme", "jwt", "ann", null, null];
const REFUSED = (why: string) => ({ code: "TM503", message: `The proof of the caller ${why}` });

const outcome = (work: Promise<unknown>) =>
  work.then(
    value => value,
    ({ code, message }) => ({ code, message }),
  );

/** The titles that a query without a predicate shows to the product. */
const titles = async (tx: postgres.ISql) =>
  (await tx<{ title: string }[]>`select title from app.boards order by title`).map(({ title }) => title);

/** A transaction of the product's login as tms_app, which is rolled back. */
const asProduct = <T>(work: (tx: postgres.TransactionSql) => Promise<T>) =>
  rolledBack(product, async tx => {
    await tx`set local role tms_app`;
    return work(tx);
  });

const prove = (tx: postgres.ISql, kind: ProofKind, values: (string | null)[], secret = SECRET) =>
  tx`select set_config('app.proof', ${proofOf(secret, kind, values)}, true)`;

/** A proof with a head of one's own choice, as its HMAC covers it. */
const signed = (head: string, values: (string | null)[], key = SECRET) => {
  const list = values.map(value => (value === null ? "-" : `${Buffer.byteLength(value)}:${value}`));
  const hashed = createHash("sha256").update(key).digest();
  return `${head}.${createHmac("sha256", hashed)
    .update([head, ...list].join())
    .digest("hex")}`;
};

const enter = (tx: postgres.ISql, values: (string | null)[]) =>
  tx`select tenant_id from app.enter_tenant(${values[0]!}, ${values[1]!}, ${values[2]!}, ${values[3]!}, ${values[4]!})`;

test("a proof of a caller, or of a tenant, opens that tenant to tms_app", () =>
  asProduct(async tx => {
    await prove(tx, "caller", ANN);
    assert.deepEqual([...(await enter(tx, ANN))], [{ tenant_id: acme }]);
    assert.deepEqual(await titles(tx), ["ann"]);
    await prove(tx, "tenant", [globex]);
    await tx`select app.set_tenant(${globex})`;
    assert.deepEqual(await titles(tx), ["bob"]);
    await tx`select app.set_tenant(null)`;
    assert.deepEqual(await titles(tx), []);
  }));

test("the setting alone opens nothing to tms_app, whatever is written into it", () =>
  asProduct(async tx => {
    const forged = createHmac("sha256", SECRET).update(acme).digest("hex");
    for (const value of [
      acme,
      `${acme}.`,
      `${acme}.${forged}`,
      `${acme}.${"0".repeat(64)}`,
      `${acme}.x.y`,
      "",
      "x",
    ]) {
      await tx`select set_config('app.tenant_id', ${value}, true)`;
      assert.deepEqual(await titles(tx), [], value);
      const written = tx.savepoint(
        sp => sp`insert into app.provider_configs (tenant_id, provider_name) values (${acme}, 'stolen')`,
      );
      assert.equal(await sqlstate(written), "42501", value);
    }
    await tx.unsafe(`set local app.tenant_id = '${acme}'`);
    assert.equal((await tx`update app.boards set title = 'stolen'`).count, 0);
  }));

test("a proof that is missing, forged, expired, of another kind or of other values is refused", () =>
  asProduct(async tx => {
    const [kind, expires, mac] = proofOf(SECRET, "caller", ANN).split(".") as [string, string, string];
    const past = Date.now;
    Date.now = () => past() - 61_000;
    const expired = proofOf(SECRET, "caller", ANN);
    Date.now = past;
    const cases: [proof: string, why: string][] = [
      ["", "is missing"],
      ["x", "is not valid"],
      [mac, "is not valid"],
      [`${kind}.${expires}.${"0".repeat(64)}`, "is not valid"],
      [`${kind}.${Number(expires) + 3600}.${mac}`, "is not valid"],
      [`operator.${expires}.${mac}`, "is not valid"],
      [proofOf("another secret of more than thirty-two bytes", "caller", ANN), "is not valid"],
      [proofOf(SECRET, "tenant", ANN), "is not valid"],
      [proofOf(SECRET, "start", []), "is not valid"],
      [proofOf(SECRET, "caller", ["acme", "jwt", "ann", null]), "is not valid"],
      [proofOf(SECRET, "caller", ["acme", "jwt", "ann", "", null]), "is not valid"],
      [expired, "has expired"],
    ];
    for (const [i, value] of ANN.entries())
      cases.push([proofOf(SECRET, "caller", ANN.with(i, `${value}x`)), "is not valid"]);
    for (const head of [
      "caller",
      "caller.",
      "caller.x",
      `caller.${expires}.`,
      `caller.0${expires}`,
      `caller.+${expires.slice(1)}`,
    ])
      cases.push([signed(head, ANN), "is not valid"]);
    // What one text would be under the HMAC: values that were shifted into the head.
    cases.push([signed(`caller.${expires},4:acme`, ANN.slice(1)), "is not valid"]);
    cases.push([signed(`caller.${expires}`, ANN).replace(expires, `${expires},-`), "is not valid"]);
    for (const [proof, why] of cases.splice(0)) {
      await tx`select set_config('app.proof', ${proof}, true)`;
      assert.deepEqual(await outcome(tx.savepoint(sp => enter(sp, ANN))), REFUSED(why), proof);
    }
    // A proof of one tenant is not one of another, and one of a caller is none of a tenant.
    for (const [kind, values] of [
      ["tenant", [acme]],
      ["caller", ANN],
    ] as const) {
      await prove(tx, kind, [...values]);
      assert.deepEqual(
        await outcome(tx.savepoint(sp => sp`select app.set_tenant(${globex})`)),
        REFUSED("is not valid"),
      );
    }
    assert.deepEqual(await titles(tx), []);
  }));

test("a proof is valid for 60 s at most, also one that was made by a clock that is ahead", () =>
  asProduct(async tx => {
    for (const [seconds, why] of [
      [-1, "has expired"],
      [2, null],
      [58, null],
      [62, "is from the future"],
      [86_400, "is from the future"],
    ] as const) {
      const [{ now } = { now: 0 }] = await tx<
        { now: number }[]
      >`select extract(epoch from clock_timestamp())::float8 as now`;
      await tx`select set_config('app.proof', ${signed(`caller.${Math.floor(now) + seconds}`, ANN)}, true)`;
      const entered = await outcome(tx.savepoint(sp => enter(sp, ANN)));
      if (why) assert.deepEqual(entered, REFUSED(why), String(seconds));
      else assert.equal((entered as { tenant_id: string }[])[0]?.tenant_id, acme, String(seconds));
    }
  }));

test("what one transaction holds is worth nothing in another, of the same session or of another", async () => {
  const session = await product.reserve();
  const other = await product.reserve();
  try {
    await session`begin`;
    await session`set local role tms_app`;
    await prove(session, "caller", ANN);
    await enter(session, ANN);
    const [{ setting } = { setting: "" }] = await session<{ setting: string }[]>`
      select current_setting('app.tenant_id') as setting`;
    assert.deepEqual(await titles(session), ["ann"]);
    for (const next of [other, session]) {
      if (next === session) await session`commit`;
      await next`begin`;
      await next`set local role tms_app`;
      await next`select set_config('app.tenant_id', ${setting}, false)`;
      assert.deepEqual(await titles(next), []);
      await next`commit`;
      // It stays for the session, and opens none of the transactions that follow.
      await next`begin`;
      await next`set local role tms_app`;
      assert.deepEqual(await titles(next), []);
      await next`rollback`;
    }
  } finally {
    session.release();
    other.release();
  }
});

test("a rollback to a savepoint restores the tenant", () =>
  asProduct(async tx => {
    await prove(tx, "caller", ANN);
    await enter(tx, ANN);
    await tx
      .savepoint(async sp => {
        await prove(sp, "tenant", [globex]);
        await sp`select app.set_tenant(${globex})`;
        assert.deepEqual(await titles(sp), ["bob"]);
        throw new Error("back");
      })
      .catch(() => {});
    assert.deepEqual(await titles(tx), ["ann"]);
    await tx`select app.set_tenant(${acme})`; // who is in it needs no second proof
    assert.deepEqual(await titles(tx), ["ann"]);
  }));

test("a login with pg_read_all_data reads none of the bookkeeping", () =>
  rolledBack(sql, async tx => {
    const tables = await tx<{ name: string }[]>`
      select oid::regclass::text as name from pg_class where relnamespace = 'control'::regnamespace and relkind in ('r', 'p')`;
    assert.ok(tables.length >= 7);
    const reader = `reader_${database.name.slice(-8)}`;
    await tx.unsafe(`create role ${reader}; grant pg_read_all_data to ${reader}`);
    await tx.savepoint(async sp => {
      await sp.unsafe(`set local role ${reader}`);
      for (const { name } of tables) assert.equal((await sp.unsafe(`select from ${name}`)).count, 0, name);
      await sp`set local role none`;
    });
    assert.equal((await tx`select from control.tenant_context`).count, 1);
  }));

test("what the database stores does not show the secret", async () => {
  const [stored] = await sql<{ inner_key: Buffer }[]>`select inner_key from control.tenant_context`;
  const key = Buffer.from(stored!.inner_key.map(byte => byte ^ 0x36)).subarray(0, 32);
  assert.deepEqual(key, createHash("sha256").update(SECRET).digest());
});

test("a proof names no database: with the same secret it is good in another one", async () => {
  const other = await createDatabase();
  const away = postgres(other.urls.owner, { max: 1, onnotice: () => {} });
  try {
    await storeSecret(away, SECRET);
    const id = await seedTenant(other.sql, { slug: "elsewhere" });
    await rolledBack(other.sql, async tx => {
      await tx`set local role tms_app`;
      await prove(tx, "tenant", [id]);
      await tx`select app.set_tenant(${id})`;
      assert.equal((await tx`select from app.tenants`).count, 1);
    });
  } finally {
    await away.end();
    await other.drop();
  }
});

test("two transactions in one message share a signature, and it opens the tenant that was proved, no other", async () => {
  const session = await product.reserve();
  try {
    const set = `set local role tms_app; select set_config('app.proof', '${proofOf(SECRET, "tenant", [acme])}', true)`;
    const rows = await session
      .unsafe(`begin; ${set}; select app.set_tenant('${acme}'); select set_config('shop.kept', current_setting('app.tenant_id'), false); commit;
        begin; set local role tms_app; select set_config('app.tenant_id', current_setting('shop.kept'), true); select title from app.boards; commit`)
      .simple();
    const shown = (rows as unknown as object[][]).flat().filter(row => "title" in row);
    assert.deepEqual(shown, [{ title: "ann" }]);
    await session`begin`;
    await session`set local role tms_app`;
    await session`select set_config('app.tenant_id', current_setting('shop.kept'), true)`;
    assert.deepEqual(await titles(session), []);
    await session`rollback`;
  } finally {
    session.release();
  }
});

test("no login of tms_app reads a key, or signs", () =>
  asProduct(async tx => {
    for (const statement of [
      "select * from control.tenant_context",
      `select app.sign_tenant('${acme}')`,
      `select app.sign_proved_tenant('{caller}', '', '${acme}')`,
      "select control.signed_tenant_id()",
      "select app.hmac('a', 'b', 'c')",
      "select app.context_faults(null)",
      "select control.store_tenant_context('a', 'b')",
      "select control.switch_tenant_context()",
      "create or replace function app.tenant_id() returns uuid language sql return null",
      "alter function app.requires_proof() reset all",
      "set local role tms_registrar",
    ])
      assert.equal(await sqlstate(tx.savepoint(sp => sp.unsafe(statement))), "42501", statement);
    // What tms_app owns may be changed by its members, and signs for nobody.
    assert.equal(
      await sqlstate(tx.savepoint(sp => sp`select * from app.shown_rows(${globex}, 10)`)),
      "TM503",
    );
    assert.equal(await sqlstate(tx.savepoint(sp => sp`select app.empty_tenant(${globex})`)), "TM503");
  }));

test("the policies evaluate the proof once a statement, and use their indexes", () =>
  asProduct(async tx => {
    await prove(tx, "caller", ANN);
    await enter(tx, ANN);
    await tx`set local enable_seqscan = off`;
    const plan = await tx<{ "QUERY PLAN": string }[]>`
      explain select * from app.boards where tenant_id = ${acme} order by created_at desc limit 5`;
    const text = plan.map(row => row["QUERY PLAN"]).join("\n");
    assert.match(text, /InitPlan 1/);
    assert.match(text, /Index Scan using|Bitmap Index Scan/);
    assert.doesNotMatch(text, /tenant_id\(\)/); // in the InitPlan only, which explain does not print
  }));

/** Values for the parameters of a function that enters a tenant which the proof does not name. */
const argumentsOf = (name: string, type: string, token: { hash: string }) => {
  const known: Record<string, string> = {
    p_caller: "row('acme', 'jwt', 'ann', null, null, null)",
    slug: "'acme'",
    provider: "'jwt'",
    subject: "'ann'",
    p_token_hash: type === "bytea" ? `'\\x${token.hash}'` : `'${token.hash}'`,
    p_verified_email: "'ann@example.com'",
  };
  const literal =
    known[name] ??
    (type === "uuid" || /tenant/.test(name) ? `'${globex}'` : /bool/.test(type) ? "true" : "null");
  return `${literal}::${type}`;
};

test("no function that tms_app may call enters a tenant by anything else than a proof, an invitation neither", async () => {
  const hash = createHash("sha256").update("a secret of an invitation").digest("hex");
  await sql`
    insert into app.invitations (tenant_id, token_hash, role, email, invited_by, expires_at)
    select ${globex}, decode(${hash}, 'hex'), 'owner', 'somebody@else.example', id, now() + interval '1 day'
    from app.users where tenant_id = ${globex}`;
  const functions = await sql<{ name: string; names: string[]; types: string[] }[]>`
    select p.oid::regproc::text as name, coalesce(p.proargnames[1:p.pronargs], '{}') as names,
      array(select format_type(t, null) from unnest(p.proargtypes) t) as types
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where p.prokind = 'f' and p.prorettype <> 'trigger'::regtype and n.nspname in ('app', 'api', 'control', 'audit')
      and has_schema_privilege('tms_app', n.oid, 'usage') and has_function_privilege('tms_app', p.oid, 'execute')`;
  assert.ok(functions.length > 40);
  await asProduct(async tx => {
    for (const { name, names, types } of functions) {
      const given = types.map((type, i) => argumentsOf(names[i] ?? "", type, { hash }));
      for (const kind of ["caller", "operator"] as const) {
        await prove(tx, kind, ANN);
        await tx.savepoint(sp => sp.unsafe(`select ${name}(${given.join(", ")})`)).catch(() => {});
        // An operator may enter every tenant.
        if (kind === "caller")
          assert.deepEqual(
            (await titles(tx)).filter(title => title === "bob"),
            [],
            name,
          );
        await tx`select set_config('app.tenant_id', '', true)`;
      }
    }
  });
});

test("an invitation opens its tenant only to the person who accepts it, after a check of address, inviter and tenant", async () => {
  const hash = createHash("sha256").update("another secret of an invitation").digest("hex");
  const [invited] = await sql`
    insert into app.invitations (tenant_id, token_hash, role, email, invited_by, expires_at)
    select ${globex}, decode(${hash}, 'hex'), 'member', 'ann@example.com', id, now() + interval '1 day'
    from app.users where tenant_id = ${globex} returning id, invited_by`;
  const accept = (email: string | null) =>
    outcome(
      rolledBack(service, async tx => {
        await prove(tx, "caller", ANN);
        const [row] = await tx`
          select api.accept_invitation(row('acme', 'jwt', 'ann', null, null, null), ${globex}, ${hash}, ${email}) ->> 'tenant' is not null as joined`;
        return row!.joined;
      }),
    );
  const refused = { code: "TM403", message: "The invitation cannot be used" };
  const during = async (statement: string, undo: string) => {
    await sql.unsafe(statement);
    assert.deepEqual(await accept("ann@example.com"), refused, statement);
    await sql.unsafe(undo);
  };
  assert.deepEqual(await accept("eve@example.com"), refused);
  assert.deepEqual(await accept(null), refused);
  await during(
    `update app.tenants set status = 'suspended' where id = '${globex}'`,
    `update app.tenants set status = 'active' where id = '${globex}'`,
  );
  await during(
    `update app.users set role = 'member' where id = '${invited!.invited_by}'`,
    `update app.users set role = 'owner' where id = '${invited!.invited_by}'`,
  );
  assert.equal(await accept("ann@example.com"), true);
  await asProduct(async tx => {
    await prove(tx, "caller", ANN);
    const asked = tx.savepoint(
      sp =>
        sp`select api.accept_invitation(row('acme', 'jwt', 'ann', null, null, null), ${globex}, ${hash}, 'ann@example.com')`,
    );
    assert.equal(await sqlstate(asked), "42501");
  });
});

// ---- the service's login ----------------------------------------------------------------------------------------

/** Every function of api that the service may call, with the number of its arguments and whether it is told of a caller. */
const doors = () => sql<{ name: string; arguments: number; caller: boolean }[]>`
  select proname as name, pronargs::int as arguments, 'app.caller'::regtype = any (proargtypes) as caller
  from pg_proc where pronamespace = 'api'::regnamespace and has_function_privilege('tms_service', oid, 'execute')
  order by proname`;

test("every function of api with a caller checks the proof", async () => {
  let asked = 0;
  for (const { name, arguments: count } of (await doors()).filter(({ caller }) => caller)) {
    for (const [slug, lacks] of [
      ["acme", "'tenant-operator'"],
      ["acme", "null"],
      [null, "'tenant-operator'"],
    ]) {
      const given = [slug === null ? "null" : `'${slug}'`, "'jwt'", "'ann'", "null", "null", lacks];
      const rest = Array.from({ length: count - 1 }, () => "null");
      // Null is no limit, and registering is refused before anything is asked in single-tenant mode.
      const answer = await outcome(
        service.unsafe(`select api.${name}(${[`row(${given.join(", ")})`, ...rest].join(", ")})`),
      );
      if (slug === null && name === "register_tenant") continue;
      assert.deepEqual(answer, REFUSED("is missing"), `${name} ${slug} ${lacks}`);
      asked++;
    }
  }
  assert.ok(asked > 40);
});

test("these functions of api take no caller", async () => {
  // A new one must give nothing of a tenant to whoever has the password of tms_service. An API key is a proof of its own.
  assert.deepEqual(
    (await doors()).filter(({ caller }) => !caller).map(({ name }) => name),
    [
      "ensure_default_tenant",
      "get_context_faults",
      "get_login_faults",
      "get_readiness",
      "get_release",
      "take_key_rate_limit",
      "take_rate_limit",
    ],
  );
});

test("tms_service acts as the caller in the proof, and as an operator only if the proof says so", async () => {
  const call = (kind: ProofKind, values: (string | null)[], lacks: string | null) =>
    outcome(
      service.begin(async tx => {
        await prove(tx, kind, values);
        const all = [...ANN, lacks] as never[];
        const [row] = await tx.unsafe(
          "select api.get_current_tenant(row($1, $2, $3, $4, $5, $6)) is not null as done",
          all,
        );
        const [list] =
          lacks === null
            ? await tx.unsafe(
                "select body is not null as listed from api.list_tenants(row($1, $2, $3, $4, $5, $6), 10, null, null, null)",
                all,
              )
            : [];
        return [row?.done, list?.listed];
      }),
    );
  assert.deepEqual(await call("caller", ANN, "tenant-operator"), [true, undefined]);
  assert.deepEqual(await call("operator", ANN, null), [true, true]);
  assert.deepEqual(await call("caller", ANN, null), REFUSED("is not valid"));
  assert.deepEqual(
    await call("caller", ["globex", ...ANN.slice(1)], "tenant-operator"),
    REFUSED("is not valid"),
  );
});

// ---- operators of the database ------------------------------------------------------------------------------------

test("tms_auditor, tms_owner and superusers sign a tenant, and then act in it as tms_app", async () => {
  for (const role of ["tms_auditor", "tms_owner", "none"])
    await rolledBack(sql, async tx => {
      await tx.unsafe(`set local role ${role}`);
      await tx`select app.set_tenant(${acme})`;
      await tx`set local role tms_app`;
      assert.deepEqual(await titles(tx), ["ann"], role);
      assert.deepEqual(
        await outcome(tx.savepoint(sp => sp`select app.set_tenant(${globex})`)),
        REFUSED("is missing"),
      );
    });
});

test("the audit finds no fault, proves every tenant, and names functions that ask for no proof", async () => {
  const errors = () => sql`
    select "check", detail from audit.findings where severity = 'error' and "check" <> 'server_version'`;
  await owner`set app.maintenance = on`;
  await owner`call audit.run()`;
  await owner`reset app.maintenance`;
  assert.deepEqual([...(await errors())], []);
  assert.deepEqual(await owner.begin(changedObjects), []);
  await owner.begin(async tx => {
    await tx`set local check_function_bodies = off`;
    await tx`create or replace function app.requires_proof() returns boolean language sql stable parallel safe return false`;
  });
  const [changed] = await owner.begin(changedObjects);
  assert.match(changed!.detail, /^function app\.tenant_id\(\) is not as the release made it/);
  const faults =
    await service`select * from api.get_context_faults(${proofOf(SECRET, "start", [])}) as f (fault)`;
  assert.match(faults[0]!.fault, /its functions do not ask for proofs/);
  await owner`select control.switch_tenant_context()`;
  assert.deepEqual(await owner.begin(changedObjects), []);
});

test("a secret is replaced while the one before still serves, and switched off", async () => {
  const next = "the next tenant context secret, thirty-two bytes or more";
  const enters = (secret: string) =>
    outcome(
      asProduct(async tx => {
        await prove(tx, "tenant", [acme], secret);
        await tx`select app.set_tenant(${acme})`;
        return titles(tx);
      }),
    );
  assert.equal(await storeSecret(owner, SECRET), "unchanged");
  assert.equal(await storeSecret(owner, next), "replaced");
  assert.deepEqual([await enters(SECRET), await enters(next)], [["ann"], ["ann"]]);
  assert.equal(await dropOldSecret(owner), true);
  assert.equal(await dropOldSecret(owner), false);
  assert.deepEqual([await enters(SECRET), await enters(next)], [REFUSED("is not valid"), ["ann"]]);
  const long = "a secret that is longer than the block of SHA-256, ".repeat(2);
  assert.equal(await storeSecret(owner, long), "replaced");
  assert.deepEqual(await enters(long), ["ann"]);

  assert.equal(await removeSecret(owner), true);
  assert.equal(await removeSecret(owner), false);
  await asProduct(async tx => {
    await tx.unsafe(`set local app.tenant_id = '${acme}'`);
    assert.deepEqual(await titles(tx), ["ann"]);
  });
  assert.deepEqual(await owner.begin(changedObjects), []);
  assert.equal(await storeSecret(owner, SECRET), "stored");
});

test("a distributed database refuses a secret", async () => {
  await removeSecret(owner);
  await owner`create function app.distribute(p_table regclass) returns void language sql as ''`;
  await assert.rejects(storeSecret(owner, SECRET), /A distributed database cannot ask for proofs/);
  await owner`drop function app.distribute(regclass)`;
  const [stored] = await owner`select from control.tenant_context`;
  assert.equal(stored, undefined);
  await storeSecret(owner, SECRET);
});
