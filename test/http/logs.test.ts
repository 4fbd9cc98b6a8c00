import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { after, beforeEach, test } from "node:test";
import { loadConfig } from "../../src/config/config.ts";
import { freePort } from "../../src/embedded/server.ts";
import { loggerOptions, traceId } from "../../src/observability/log.ts";
import { makeSecret, tokenOf } from "../../src/values/invitation-token.ts";
import { built } from "../cli/command.ts";
import {
  addressWith,
  createService,
  seedTenant,
  seedUser,
  TEST_SECRET,
  token,
  withService,
} from "../harness.ts";
import { until } from "../until.ts";
import { createWorld } from "./world.ts";

const world = await createWorld();
await seedUser(world.database.sql, await seedTenant(world.database.sql, { slug: "acme" }), {
  subject: "alice",
});
const alice = await token({ sub: "alice" });
after(() => world.end());
beforeEach(() => {
  world.service.logs.length = 0;
});

test("every line of a request carries its id, and after the resolution the tenant's slug", async () => {
  await world.service.request({
    url: "/api/tenants/current",
    token: alice,
    tenant: "acme",
    headers: { "x-request-id": "id-1" },
  });
  assert.deepEqual(
    world.service.logs.map(({ msg, request_id, tenant_slug, level }) => [
      msg,
      request_id,
      tenant_slug,
      level,
    ]),
    [
      ["incoming request", "id-1", undefined, 20],
      ["tenant resolved", "id-1", "acme", 30],
      ["request completed", "id-1", "acme", 30],
    ],
  );
  const { method, url, status, ms, ip } = world.service.logs[2]!;
  assert.deepEqual([method, url, status, ip], ["GET", "/api/tenants/current", 200, "127.0.0.1"]);
  assert.match(String(ms), /^\d+(\.\d{1,3})?$/, "microseconds are enough");
});

test("a valid X-Request-Id of the caller is kept; otherwise the service makes one", async () => {
  const idOf = async (id: string) => {
    const { headers } = await world.service.request({ url: "/x", headers: { "x-request-id": id } });
    const [line] = world.service.logs.splice(0);
    assert.equal(line!.request_id, headers["x-request-id"]);
    return line!.request_id;
  };
  for (const id of ["a", "A_b-9".padEnd(64, "x")]) assert.equal(await idOf(id), id);
  for (const id of ["", "a b", "é", "x".repeat(65)]) assert.match(String(await idOf(id)), /^[\da-f-]{36}$/);
});

test("a value that only the database refuses is a warning with its cause, and with the tenant at every log level", async () => {
  await world.database.sql`alter table app.tenants add constraint odd check (name <> 'odd')`;
  const operator = await token({ sub: "op", tenant: "acme", roles: "tenant-operator" });
  await withService(world.database, { SERVICE_LOG_LEVEL: "warn" }, async service => {
    const body = { name: "odd", slug: "odd" };
    assert.equal(
      (await service.request({ method: "POST", url: "/api/setup/tenant", token: operator, body })).status,
      422,
    );
    assert.deepEqual(
      service.logs.map(({ tenant_slug }) => tenant_slug),
      ["acme"],
    );
  });
  const create = (body: object) =>
    world.service.request({ method: "POST", url: "/api/setup/tenant", token: operator, body });
  assert.equal((await create({ name: "odd", slug: "odd" })).status, 422);
  assert.equal((await create({ name: "", slug: "odd" })).status, 422);
  assert.equal((await create({ name: "Acme", slug: "acme" })).status, 409);
  await world.database.sql`alter table app.tenants drop constraint odd`;
  const warnings = world.service.logs.filter(({ level }) => level === 40);
  assert.deepEqual(
    warnings.map(({ msg, err }) => [msg, (err as { code: string }).code]),
    [["the database refused a value that no check of the service refuses", "23514"]],
  );
});

test("a tenant is resolved once per request, and not when the database failed", async () => {
  const resolved = (lines: Record<string, unknown>[]) =>
    lines.filter(({ msg }) => msg === "tenant resolved").length;
  const body = { query: "{ boards { title } }" };
  await world.service.request({ method: "POST", url: "/graphql", token: alice, tenant: "acme", body });
  assert.equal(resolved(world.service.logs), 1);
  const address = addressWith(world.database.urls.service, { lock_timeout: "50ms" });
  await withService(world.database, { SERVICE_DATABASE_URL: address }, async service => {
    await world.database.sql.begin(async sql => {
      await sql`lock table app.users`;
      assert.equal((await service.request({ url: "/api/boards", token: alice, tenant: "acme" })).status, 503);
    });
    assert.equal(resolved(service.logs), 0);
  });
});

test("a request without a resolved tenant leaves no slug in the log", async () => {
  await world.service.request({ url: "/api/tenants/current", token: alice, tenant: "globex" });
  assert.ok(world.service.logs.length >= 2);
  for (const line of world.service.logs) assert.equal(line.tenant_slug, undefined);
});

test("every line has the trace of a valid traceparent; an invalid one is ignored", async () => {
  const trace = "0af7651916cd43dd8448eb211c80319c";
  const headers = { traceparent: `00-${trace}-b7ad6b7169203331-01` };
  await world.service.request({ url: "/api/tenants/current", token: alice, tenant: "acme", headers });
  assert.deepEqual([...new Set(world.service.logs.map(line => line.trace_id))], [trace]);
  for (const wrong of [
    undefined,
    "",
    "00-0-0-0",
    `00-${"0".repeat(32)}-b7ad6b7169203331-01`,
    `00-${trace}-${"0".repeat(16)}-01`,
    `ff-${trace}-b7ad6b7169203331-01`,
    `00-${trace.toUpperCase()}-b7ad6b7169203331-01`,
  ])
    assert.equal(traceId(wrong), undefined, wrong);
  assert.equal(traceId(`01-${trace}-b7ad6b7169203331-01-more`), trace);
});

test("no token and no secret reaches the log, wherever it was sent", async () => {
  const half = Buffer.from('{"alg":"HS256","kid":"of-somebody"}').toString("base64url");
  const password = decodeURIComponent(new URL(world.database.urls.service).password);
  const places = [
    { url: `/api/boards?access_token=${alice}`, token: alice, tenant: "acme" },
    { url: "/api/boards?api_key=hunter2-hunter2&limit=1", token: alice, tenant: "acme" },
    { url: `/${alice}` },
    // Without dots: a cut token, or an opaque one.
    { url: `/x?token=${half}` },
    { url: "/x", headers: { "x-tenant": `Bearer ${half}` } },
    { url: `/${half}${half}` },
    { url: `/api/boards?q=${encodeURIComponent(`Bearer ${alice}`)}` },
    { url: "/api/boards", headers: { "x-tenant": `Bearer ${alice}` }, token: alice },
    { url: "/api/boards", token: alice, tenant: alice },
    { url: `/${password}` },
    { url: `/x?secret=${encodeURIComponent(TEST_SECRET)}` },
  ];
  for (const place of places) await world.service.request(place);
  world.service.app.log.error(
    {
      err: new Error(`connecting to ${world.database.urls.service} with ${TEST_SECRET} and Bearer ${alice}`),
    },
    "a library says too much",
  );
  const text = JSON.stringify(world.service.logs);
  const [, payload, signature] = alice.split(".");
  for (const secret of [payload!, signature!, half, password, TEST_SECRET, "hunter2"])
    assert.ok(!text.includes(secret), `${secret} stands in ${text}`);
  assert.ok(text.includes("[redacted]"));
  assert.ok(text.includes("limit=1"), "what is no secret stays");
});

test("secrets are redacted in every spelling; other text stays", () => {
  const secret = 'a "secret" of (32) bytes or more, [with] a \\ in it';
  const { config } = loadConfig({
    SERVICE_DATABASE_URL: "postgres://tms_service:first%2Fword@db/tms",
    SERVICE_DATABASE_READ_URL: "postgres://tms_service:shortie@db/tms",
    SERVICE_JWT_SECRET: secret,
  });
  const { logger } = loggerOptions(config, undefined) as {
    logger: { hooks: { streamWrite: (line: string) => string } };
  };
  const other = { ...config, databaseReadUrl: "postgres://tms_service:otherwrd@db/tms" };
  const ofOther = (loggerOptions(other, undefined) as { logger: typeof logger }).logger.hooks.streamWrite;
  assert.equal(ofOther("x otherwrd y"), "x [redacted] y");
  for (const [line, told] of [
    [JSON.stringify({ msg: secret }), '{"msg":"[redacted]"}'],
    ["x first%2Fword y", "x [redacted] y"],
    ["x first/word y", "x [redacted] y"],
    ["the word shortie is no secret", "the word shortie is no secret"],
    ["bearer abc", "bearer [redacted]"],
    ["Bearer%20abc", "Bearer%20[redacted]"],
    ["Bearer+abc", "Bearer+[redacted]"],
    ["x eyJhbGciOi.b.c.d.e.f y", "x [redacted].f y"],
    ["eyJ is short", "eyJ is short"],
    ...[
      "/console/?invitation=X",
      "/api/tenants/invitations/X",
      "/x/X?y",
      "/console/#/invitation/X",
      "/x?next=%2FX%2F",
    ].map(line => [line.replace("X", tokenOf(randomUUID(), makeSecret())), line.replace("X", "[redacted]")]),
    ...[
      "token",
      "id_token_hint",
      "jwt",
      "client_secret",
      "password",
      "authcode",
      "apikey",
      "API_KEY",
      "X-Api-Key",
    ].flatMap(name => [
      [`/x?${name}=v1`, `/x?${name}=[redacted]`],
      [`a&${name}=v2&b"`, `a&${name}=[redacted]&b"`],
    ]),
    ["/x?limit=1&cursor=2", "/x?limit=1&cursor=2"],
  ])
    assert.equal(logger.hooks.streamWrite(line!), told);
});

test("a lost connection is one line, without the driver's client object", async () => {
  const [killed] = await world.database.sql<{ n: number }[]>`
    select count(pg_terminate_backend(pid))::int as n from pg_stat_activity where usename = 'tms_service' and datname = ${world.database.name}`;
  assert.ok(killed!.n > 0, "an idle connection");
  const lost = () => world.service.logs.filter(({ msg }) => msg === "database connection lost");
  await until("every lost connection has its line", () => lost().length >= killed!.n);
  assert.equal(lost().length, killed!.n);
  assert.equal(lost()[0]!.code, "57P01");
  assert.ok(JSON.stringify(lost()[0]).length < 300, JSON.stringify(lost()[0]));
});

test("the line for a certificate of another host has no copy of the certificate", () => {
  const { app, logs } = world.service;
  const code = "ERR_TLS_CERT_ALTNAME_INVALID";
  app.log.warn({
    err: Object.assign(new Error("no such name"), { code, cert: { raw: Buffer.alloc(2000) } }),
  });
  const err = logs.at(-1)!.err as Record<string, unknown>;
  assert.deepEqual([err.message, err.code, err.cert], ["no such name", code, undefined]);
});

test("connections that end with the service are not logged as lost, though the embedded Postgres may end first", async () => {
  const stopped = await createService(world.database);
  const { pool } = stopped.app.pg;
  const client = await pool.connect();
  const closed = stopped.close();
  await until("the pool ends", () => pool.ending);
  client.emit("error", Object.assign(new Error("terminating connection"), { code: "57P01" }));
  client.release();
  await closed;
  assert.deepEqual(
    stopped.logs.filter(({ level }) => (level as number) >= 40),
    [],
  );
});

test("a log that cannot be written loses lines, but neither ends the service nor blocks its stop", {
  skip: !existsSync("/dev/full") && "this system has no /dev/full",
}, async () => {
  const port = await freePort();
  const full = openSync("/dev/full", "w");
  const child = spawn(process.execPath, ["dist/cli.js", "start"], {
    cwd: built,
    env: {
      PATH: process.env.PATH,
      SERVICE_DATABASE_URL: world.database.urls.service,
      SERVICE_JWT_SECRET: TEST_SECRET,
      SERVICE_PORT: String(port),
      SERVICE_SURPLUS: "1", // a warning
    },
    stdio: ["ignore", full, "inherit"],
  });
  closeSync(full);
  const ended = once(child, "exit");
  const health = () => fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(5_000) });
  await until("it answers", () => {
    assert.equal(child.exitCode, null);
    return health().then(
      () => true,
      () => false,
    );
  });
  for (let i = 0; i < 20; i++) assert.equal((await health()).status, 200);
  child.kill("SIGTERM");
  const late = setTimeout(() => child.kill("SIGKILL"), 30_000);
  assert.deepEqual(await ended, [0, null]);
  clearTimeout(late);
});
