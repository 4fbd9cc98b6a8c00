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
  const [title, ...lines] = demo.stdout.split("\n").slice(0, 3);
  assert.equal(title, "Open the console");
  const arrived = lines.map(async line => {
    const [, link] = /^ {2}as .+: +(http\S+)$/.exec(line)!;
    assert.ok(line.length < 100 && !link!.includes("ey"), line);
    const answer = await fetch(link!, { redirect: "manual" });
    assert.equal(answer.headers.get("cache-control"), "no-store");
    const to = new URL(answer.headers.get("location")!, link);
    assert.match(await (await fetch(to)).text(), /<div id="console">/);
    return [to.href.split("#")[0], to.hash.replace("#token=", "")];
  });
  const [[page, operator], [, alice]] = (await Promise.all(arrived)) as [string[], string[]];
  const guessed = new URL(`../demo/operator-${"0".repeat(10)}`, page);
  assert.equal((await fetch(guessed, { redirect: "manual" })).status, 404);
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

/** What the demo prints before its first link. */
const told = (printed: string) => printed.slice(0, printed.indexOf("Open the console"));

/** What the demo leaves behind when it has ended. */
function assertStopped() {
  assert.deepEqual(readdirSync(path.join(folder, "demo")).sort(), [
    "postgres",
    "postgres.log",
    "secrets.json",
  ]);
  assert.equal(existsSync(path.join(folder, "demo", "postgres", "postmaster.pid")), false);
  assert.equal(statSync(path.join(folder, "demo")).mode & 0o066, 0, "nobody else looks into it");
}

async function restartDemo(): Promise<string> {
  await stopDemo();
  assertStopped();
  return startDemo("0");
}

/** As the operator, and as the members, whose tokens the running demo has printed. */
function actors() {
  const variable = (name: string) => RegExp(`^${name}=(.+)$`, "m").exec(demo.stdout)![1]!;
  const api = async (
    who: string,
    tenant: string | undefined,
    method: string,
    path: string,
    body?: object,
  ) => {
    const headers = {
      authorization: `Bearer ${variable(who)}`,
      ...(tenant !== undefined && { "x-tenant": tenant }),
      ...(body && { "content-type": "application/json" }),
    };
    const sent = body && { body: JSON.stringify(body) };
    const answer = await fetch(`${variable("API")}/${path}`, { method, headers, ...sent });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  const idOf = async (slug: string): Promise<string> => {
    const { body } = await api("OPERATOR", undefined, "GET", `setup/tenants?slug=${slug}`);
    return (body.tenants as { tenant_id: string }[])[0]!.tenant_id;
  };
  const act = async (slug: string, method: string, path = "", body?: object) => {
    const answer = await api("OPERATOR", undefined, method, `setup/tenant/${await idOf(slug)}${path}`, body);
    assert.ok(answer.status < 300, JSON.stringify(answer.body));
    return answer.body;
  };
  const roleOf = async (who: string, slug: string) => {
    const { body } = await api(who, slug, "GET", "tenants/current");
    return (body.membership as { role: string } | undefined)?.role;
  };
  return { api, act, roleOf };
}

async function inDatabase(text: string) {
  const client = new pg.Client({ connectionString: /^DATABASE='(.+)'$/m.exec(demo.stdout)![1]! });
  await client.connect();
  await client.query(text);
  await client.end();
}

test("a demo brings an audit along, also where an earlier one was stopped inside its audit", async () => {
  await inDatabase("delete from audit.runs; insert into audit.runs default values");
  await restartDemo();
  const client = new pg.Client({ connectionString: /^DATABASE='(.+)'$/m.exec(demo.stdout)![1]! });
  await client.connect();
  await until("the audit has ended", async () => {
    const { rows } = await client.query(
      "select from audit.runs where finished_at is not null and errors = 0",
    );
    return rows.length === 1;
  });
  await client.end();
});

test("after a day's play the demo starts again, puts its cast right, and tells what it found", async () => {
  const { act, roleOf } = actors();
  const { user_id } = (await act("globex", "POST", "/members", { auth_subject: "eve", role: "owner" })) as {
    user_id: string;
  };
  assert.ok(user_id);
  const { members } = (await act("globex", "GET", "/members")) as {
    members: { user_id: string; auth_subject: string }[];
  };
  const bob = members.find(({ auth_subject }) => auth_subject === "bob")!;
  await act("globex", "PATCH", `/members/${bob.user_id}`, { role: "member" });
  await act("globex", "POST", "/suspend", { reason: "To see what happens" });
  await act("acme", "PUT", "", { name: "Acme, renamed", slug: "acme-renamed" });
  await act("vandelay", "POST", "/reject");
  assert.equal(
    told(await restartDemo()),
    "The tenant globex was suspended; the demo resumed it.\nbob was member of globex, and is an owner again.\n",
  );
  assert.deepEqual([await roleOf("ALICE", "acme"), await roleOf("BOB", "globex")], ["owner", "owner"]);
  assert.match(demo.stdout, /Vandelay Industries waits for approval/);
});

long(
  "it starts without its tenants and members, and where another tenant has the default one's slug",
  async () => {
    const { api, act } = actors();
    await act("globex", "DELETE");
    await act("vandelay", "POST", "/approve");
    await act("default", "DELETE");
    const { status } = await api("OPERATOR", undefined, "POST", "setup/tenant", {
      name: "Taken",
      slug: "default",
    });
    assert.equal(status, 201);
    await inDatabase("update app.users set removed_at = now() where auth_subject = 'alice'");
    assert.equal(told(await restartDemo()), "alice was not in acme, and is an owner again.\n");
    const { roleOf } = actors();
    assert.deepEqual([await roleOf("ALICE", "acme"), await roleOf("BOB", "globex")], ["owner", "owner"]);
    assert.doesNotMatch(demo.stdout, /waits for approval/);
  },
);

long("whatever is done to its tenants in a day, and however often, the demo starts again", async () => {
  const { api, act } = actors();
  const key = await api("ALICE", "acme", "POST", "tenants/keys", { name: "k", role: "member" });
  await api("ALICE", "acme", "DELETE", `tenants/keys/${String(key.body.key_id)}`);
  await act("globex", "POST", "/members", { auth_subject: "zoe", role: "owner" });
  const { members } = (await act("globex", "GET", "/members")) as {
    members: { user_id: string; auth_subject: string }[];
  };
  const bob = members.find(({ auth_subject }) => auth_subject === "bob")!;
  await act("globex", "DELETE", `/members/${bob.user_id}`);
  const { body } = await api("OPERATOR", undefined, "GET", "setup/tenants");
  for (const { slug } of body.tenants as { slug: string }[])
    if (!["acme", "globex"].includes(slug)) await act(slug, "POST", "/suspend").catch(() => {});
  await act("acme", "DELETE");
  await act("vandelay", "DELETE");
  // Who plays a whole day has registered too often for an hour.
  await inDatabase("update control.rate_limits set hits = 1000, reset_at = now() + interval '1 hour'");
  assert.equal(told(await restartDemo()), "bob was not in globex, and is an owner again.\n");
  const after = actors();
  assert.deepEqual(
    [await after.roleOf("ALICE", "acme"), await after.roleOf("BOB", "globex")],
    ["owner", "owner"],
  );
  assert.match(demo.stdout, /Vandelay Industries waits for approval/);
});

long(
  "a demo that cannot put its cast right says what failed, and which folder to remove, and leaves no Postgres",
  async () => {
    await inDatabase(`update app.users set removed_at = now() where auth_subject = 'alice';
    alter table app.users add constraint no_alice check (auth_subject <> 'alice' or removed_at is not null)`);
    await stopDemo();
    const { code, stdout, stderr } = await outcome(launch("0"));
    assert.equal(code, 1);
    assert.doesNotMatch(stdout, /^(?!\{"level":40,)/m, "the service's own warning only");
    assert.match(
      stderr,
      new RegExp(
        `^The demo could not make alice an owner of acme: .+\\. To begin anew, remove the demo's folder ${folder}/demo$`,
      ),
    );
    assertStopped();
  },
);
