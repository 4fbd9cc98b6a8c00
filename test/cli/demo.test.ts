import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { after, before, test } from "node:test";
import { decodeJwt } from "jose";
import pg from "pg";
import { freePort } from "../../src/embedded/server.ts";
import { long } from "../harness.ts";
import { until } from "../until.ts";
import { type Command, makeFolder, outcome, tenancy } from "./command.ts";

const folder = makeFolder();
let demo: Command;

const launch = (port: string, env: Record<string, string> = {}) =>
  tenancy(["demo"], { SERVICE_DATA_DIR: path.join(folder, "demo"), SERVICE_PORT: port, ...env });

async function startDemo(port: string, env?: Record<string, string>): Promise<string> {
  demo = launch(port, env);
  await demo.prints(/^SQL$/m);
  return demo.stdout;
}

async function stopDemo() {
  demo.child.kill("SIGINT");
  assert.equal(await demo.ended, 0);
}

let interrupted: Awaited<ReturnType<typeof outcome>>;
before(async () => {
  const port = String(await freePort());
  const early = launch(port);
  const health = `http://127.0.0.1:${port}/health`;
  await until("the service answers", () =>
    fetch(health).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  early.child.kill("SIGINT");
  interrupted = await outcome(early);
  await startDemo("0");
});
after(async () => {
  demo.child.kill("SIGINT");
  await demo.ended;
  rmSync(folder, { recursive: true, force: true });
});

test("a demo that is interrupted while it registers its tenants stops as it does later", () => {
  const { code, stderr } = interrupted;
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
});

const hasCurl = spawnSync("curl", ["--version"]).status === 0;

test("the demo's curl lines work as printed", { skip: !hasCurl && "curl is not installed" }, () => {
  const lines = /^\[ -z "\$ZSH_VERSION"[\s\S]*?(?=^# The database itself)/m.exec(demo.stdout)![0];
  const { stdout, stderr } = spawnSync("sh", ["-c", lines], { encoding: "utf8" });
  assert.equal(stderr, "");
  const answers = stdout
    .trim()
    .split("\n")
    .map(line => JSON.parse(line) as Record<string, unknown>);
  const [created, listed, read, updated, deleted, registered, acme, refused, globex] = answers;
  assert.equal(answers.length, 9);
  assert.equal(created!.slug, "initech");
  assert.equal(listed!.total_count, 5);
  assert.equal(read!.name, "Initech");
  assert.equal(updated!.name, "Initrode");
  assert.equal(deleted!.message, "Tenant 'Initrode' (initech) deleted successfully");
  assert.deepEqual([registered!.tenant_slug, registered!.status], ["hooli", "pending"]);
  assert.equal((acme!.tenant as { slug: string }).slug, "acme");
  assert.equal(refused!.error, "Access denied");
  assert.equal((globex!.tenant as { slug: string }).slug, "globex");
});

test("its links lead to the console, and one registration waits there", async () => {
  const links = [...demo.stdout.matchAll(/^(http\S+\/console\/)#token=(\S+)$/gm)];
  assert.equal(links.length, 2);
  const [[, page, operator], [, , alice]] = links as unknown as [string[], string[]];
  assert.match(await (await fetch(page!)).text(), /<div id="console">/);
  const ask = async (token: string, path: string) => {
    const answer = await fetch(new URL(`../api/${path}`, page), {
      headers: { authorization: `Bearer ${token}`, "x-tenant": "acme" },
    });
    return (await answer.json()) as { tenants: { slug: string }[] };
  };
  const { tenants } = await ask(operator!, "setup/tenants?status=pending&search=vandelay");
  assert.deepEqual(
    tenants.map(({ slug }) => slug),
    ["vandelay"],
  );
  assert.deepEqual(
    (await ask(alice!, "tenants/mine")).tenants.map(({ slug }) => slug),
    ["acme"],
  );
});

test("the demo's tokens live for the twelve hours that it says", () => {
  assert.match(demo.stdout, /for the next 12 hours:$/m);
  for (const [, token] of demo.stdout.matchAll(/^(?:OPERATOR|ALICE|BOB|CAROL)=(.+)$/gm))
    assert.equal(Math.round(decodeJwt(token!).exp! / 3600 - Date.now() / 3_600_000), 12);
});

test("the demo's SQL lines show a DBA one tenant's boards, and none without a tenant", async () => {
  const url = /^DATABASE='(.+)'$/m.exec(demo.stdout)![1]!;
  const lines = /<<'SQL'\n([\s\S]*?)^SQL$/m.exec(demo.stdout)![1]!;
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const results = (await client.query(lines)) as unknown as pg.QueryResult[];
  await client.end();
  const shown = results.filter(result => result.command === "SELECT").map(result => result.rowCount);
  assert.deepEqual(shown, [1, 0]);
});

test("the demo prints no secret of others, no log line, and nothing on standard error", () => {
  assert.equal(demo.stderr, "");
  assert.doesNotMatch(demo.stdout, /"level":|does not read/);
});

long(
  "a second demo finds its tenants, takes another port when its own is taken, and says what it does not read",
  async () => {
    await stopDemo();
    const other = createServer();
    await new Promise<void>(resolve => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as { port: number };
    const secret = "a secret of somebody's production, of which nothing is signed";
    const env = { SERVICE_MULTI_TENANT_MODE: "false", SERVICE_JWT_SECRET: secret, SERVICE_LOG_LEVEL: "" };
    const printed = await startDemo(String(port), env);
    other.close();
    assert.match(
      printed,
      /^The demo has settings of its own: it does not read SERVICE_MULTI_TENANT_MODE, SERVICE_JWT_SECRET\.$/m,
    );
    assert.match(
      printed,
      new RegExp(`^Port ${port} is taken by another program, so the demo listens on another one\\.$`, "m"),
    );
    const token = /^ALICE=(.+)$/m.exec(printed)![1]!;
    const api = /^API=(.+)$/m.exec(printed)![1]!;
    const answer = await fetch(`${api}/tenants/current`, {
      headers: { authorization: `Bearer ${token}`, "x-tenant": "acme" },
    });
    assert.equal(answer.status, 200);
  },
);

test("a demo brings an audit along, and starts again whatever was done to its tenants", async () => {
  const api = () => /^API=(.+)$/m.exec(demo.stdout)![1]!;
  const as = async (name: string, path: string, slug: string) => {
    const token = new RegExp(`^${name}=(.+)$`, "m").exec(demo.stdout)![1]!;
    const headers = { authorization: `Bearer ${token}`, "x-tenant": slug };
    return fetch(`${api()}/${path}`, { headers });
  };
  await until("the audit has ended", async () => {
    const { run } = (await (await as("OPERATOR", "setup/audit", "default")).json()) as {
      run: { result: string } | null;
    };
    return run?.result === "clean";
  });
  const client = new pg.Client({ connectionString: /^DATABASE='(.+)'$/m.exec(demo.stdout)![1]! });
  await client.connect();
  await client.query("update app.users set removed_at = now() where auth_subject = 'alice'");
  await client.query("update app.tenants set status = 'suspended' where slug = 'globex'");
  await client.query("delete from app.tenants where slug = 'vandelay'");
  await client.end();
  await stopDemo();
  assert.deepEqual(readdirSync(path.join(folder, "demo")).sort(), [
    "postgres",
    "postgres.log",
    "secrets.json",
  ]);
  assert.equal(existsSync(path.join(folder, "demo", "postgres", "postmaster.pid")), false);
  assert.equal(statSync(path.join(folder, "demo")).mode & 0o066, 0, "nobody else looks into it");
  await startDemo("0");
  assert.equal((await as("ALICE", "tenants/current", "acme")).status, 200);
  assert.equal((await as("BOB", "tenants/current", "globex")).status, 200);
});
