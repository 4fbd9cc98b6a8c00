/**
 * A product of 40 tables under load: the service is installed, tables are adopted in several migrations, the backend moves login by login,
 * and the bridges go. No request fails, no row changes, and the proof holds at the end.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after } from "node:test";
import postgres from "postgres";
import { migrate } from "../../src/migrate/migrate.ts";
import { outcome, tenancy } from "../cli/command.ts";
import { temporaryFolder } from "../folder.ts";
import { createDatabase, long } from "../harness.ts";
import { auditedBy, carryOut, laterOf, statementsOf } from "./living.ts";
import { bigProduct, Client, seedRows } from "./load.ts";

const server = await createDatabase();
const suffix = randomBytes(3).toString("hex");
const [owner, web, job, backend] = ["owner", "web", "job", "backend"].map(
  name => `live_${name}_${suffix}`,
) as [string, string, string, string];
const [name, copy, role] = [`tms_live_${suffix}`, `tms_copy_${suffix}`, `live_tenant_${suffix}`];
const at = (database: string, user?: string) => {
  const url = Object.assign(new URL(server.urls.root), { pathname: `/${database}` });
  if (user) Object.assign(url, { username: user, password: "secret" });
  return url.href;
};
const sql = postgres(at(name), { max: 2, onnotice: () => {} });
const file = path.join(temporaryFolder("live"), "adopt.json");
after(async () => {
  await sql.end();
  for (const database of [name, copy])
    await server.sql.unsafe(`drop database if exists ${database} with (force)`);
  await server.sql.unsafe(`drop role if exists ${[owner, web, job, backend, role].join(", ")}`);
  await server.drop();
});

const plan = (...args: string[]) =>
  outcome(tenancy(["adopt", "--plan", "--answers", file, "--database", at(name), ...args]));
const run = (command: string, ...args: string[]) =>
  outcome(tenancy([command, ...args], { DATABASE_URL: ownerUrl }));
const ownerUrl = Object.assign(new URL(server.urls.owner), { pathname: `/${name}` }).href;

/** Plans and carries out until nothing is left of it. A lock that was not got stops a plan, and the next one begins there. */
async function adoptNow(...args: string[]): Promise<number> {
  for (let stops = 0; ; stops++) {
    assert.ok(stops < 20, "it comes to no end");
    const { stdout, stderr } = await plan("--no-rehearse", ...args);
    assert.notEqual(stdout, "", stderr);
    if (statementsOf(stdout).length === 0) return stops;
    await carryOut(sql, stdout).catch(async (error: { code?: string; message: string }) => {
      assert.equal(error.code, "55P03", error.message);
    });
  }
}

long("a product of 40 tables is adopted under load, table by table, and no request fails", async t => {
  await server.sql.unsafe(`create role ${owner} login; create role ${web} login password 'secret'; create role ${job} login password 'secret';
    create role ${backend} login noinherit password 'secret'`);
  await server.sql.unsafe(`create database ${name} owner ${owner} template template0 encoding 'UTF8'`);
  await sql.unsafe(`grant create on schema public to ${owner}`);
  await sql.unsafe(bigProduct(owner, [web, job]));
  const tables = await sql<{ name: string; columns: string[] }[]>`
    select relname as name, array_to_json(array_agg(attname order by attnum)) as columns from pg_class join pg_attribute on attrelid = pg_class.oid
    where relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0 group by 1 having bool_or(attname = 'id') order by 1`;
  const seeds = async () => [...(await sql.unsafe(seedRows(tables)))];
  const before = await seeds();

  const clients = [new Client("web", at(name, web), role), new Client("job", at(name, job), role)];
  const failures = () => clients.flatMap(({ failed }) => failed);
  try {
    // 1. The service comes in, beside the product.
    await server.sql.unsafe(`alter database ${name} owner to tms_owner`);
    const refusal = await migrate({ ownerUrl }).then(
      () => "",
      (error: Error) => error.message,
    );
    const grants = refusal.slice(refusal.indexOf("before: ") + 8);
    assert.match(
      grants,
      /^grant connect on database .*; grant usage on schema public to .*; grant create on schema public to/,
    );
    await sql.unsafe(grants);
    await migrate({ ownerUrl });
    assert.deepEqual(failures(), []);
    const audited = await outcome(
      tenancy(["audit", "--database", at(name), "--as-superuser", "--only", "schema"]),
    );
    assert.equal(audited.code, 0, "the service alone is in order");

    // 2. The plan, answered, and rehearsed in a copy.
    writeFileSync(
      file,
      JSON.stringify({
        adopt: { role, tables: { 'public."Country"': "shared", 'public."Session"': "closed" }, keys: {} },
      }),
    );
    const first = await plan("--save", file);
    assert.equal(first.code, 2);
    assert.match(
      first.stdout,
      /^-- NOT REHEARSED: the rehearsal would lock tables that live_job_\w+, live_web_\w+ may use now/m,
    );
    const answered = JSON.parse(readFileSync(file, "utf8")) as {
      adopt: { keys: Record<string, string>; bridges: object };
    };
    for (const key of Object.keys(answered.adopt.keys)) answered.adopt.keys[key] = "world";
    writeFileSync(file, JSON.stringify(answered));
    await restored(grants);
    const rehearsed = await outcome(tenancy(["adopt", "--plan", "--answers", file, "--database", at(copy)]));
    assert.equal(rehearsed.code, 0, rehearsed.stdout.slice(0, 3000));
    assert.match(rehearsed.stdout, /^-- Rehearsed and rolled back: PASSED for 38 tables\.$/m);

    // 3. In five migrations.
    const all = [...first.stdout.matchAll(/^-- {3}(public\.\S+) .* -> (?:rows|people|shared)/gm)].map(
      ([, relation]) => relation!,
    );
    assert.equal(all.length, 37);
    const order = (relation: string) =>
      /Thing/.test(relation) ? 0 : Number(/Part(\d+)/.exec(relation)?.[1] ?? 0) + 1;
    all.sort((a, b) => order(a) - order(b));
    let stops = 0;
    for (let i = 0; i < all.length; i += 8)
      stops += await adoptNow("--tables", all.slice(i, i + 8).join(","));
    stops += await adoptNow();
    t.diagnostic(`${stops} plans were carried out`);
    assert.deepEqual(failures(), []);

    // 4. The backend moves, login by login.
    await server.sql.unsafe(
      `grant ${role} to ${backend}; grant connect on database ${name} to ${backend}; alter role ${backend} set app.require_tenant = on`,
    );
    const ids = Object.fromEntries(
      (await sql`select id, tenancy_id from "Team"`).map(row => [row.id as string, row.tenancy_id as string]),
    );
    await clients[0]!.move(at(name, backend), ids);
    await moved(clients[0]!);
    await clients[1]!.move(at(name, backend), ids);
    await moved(clients[1]!);

    // 5. The bridges go, and the old keys.
    const now = JSON.parse(readFileSync(file, "utf8")) as { adopt: { bridges: object } };
    now.adopt.bridges = {};
    writeFileSync(file, JSON.stringify(now));
    await adoptNow();
    const last = await plan("--no-rehearse", "--save", file);
    for (const statement of laterOf(last.stdout)) await hurried(statement);
    await moved(clients[0]!);
  } finally {
    await Promise.all(clients.map(client => client.end()));
  }
  assert.deepEqual(failures(), []);
  t.diagnostic(`${clients.map(({ name: of, done }) => `${of}: ${done.length}`).join(", ")} transactions`);

  // Nothing is lost, and nothing changed.
  assert.deepEqual(await seeds(), before);
  const [{ written }] = await sql<[{ written: string[] }]>`
    select array_to_json(array_agg(id)) as written from (${sql.unsafe(
      tables
        .filter(one => one.name.startsWith("Thing"))
        .map(one => `select id from "${one.name}"`)
        .join(" union all "),
    )}) x`;
  const there = new Set(written);
  assert.deepEqual(
    clients.flatMap(({ done }) => done).filter(id => !there.has(id)),
    [],
  );

  // The end: the whole plan holds, and the audit with its proof passes, with nothing to warn of but the server.
  const end = await plan("--save", file);
  assert.equal(end.code, 0, end.stdout.slice(0, 3000));
  assert.match(end.stdout, /Nothing is left to do\./);
  const findings = await auditedBy(file, at(name));
  assert.deepEqual(
    findings
      .filter(
        ({ check, severity }) =>
          severity !== "info" && !/^(server_|not_as_released|role_bypasses)/.test(check),
      )
      .map(({ check, detail }) => `${check} ${detail}`),
    [],
  );
  assert.equal((await run("migrate", "--status")).code, 0);
});

/** Again, until it gets its locks. */
async function hurried(statement: string) {
  for (let tries = 0; tries < 100; tries++) {
    const done = await sql
      .begin(async tx => {
        await tx`set local lock_timeout = '500ms'`;
        await tx.unsafe(statement);
      })
      .then(
        () => true,
        (error: { code?: string; message: string }) => assert.equal(error.code, "55P03", error.message),
      );
    if (done) return;
  }
  assert.fail(statement);
}

const moved = async (client: Client) => {
  const { length } = client.done;
  while (client.done.length < length + 30 && client.failed.length === 0)
    await new Promise(resolve => setTimeout(resolve, 100));
};

/** As the dump of last night, restored elsewhere. */
async function restored(grants: string) {
  await server.sql.unsafe(`create database ${copy} owner tms_owner template template0 encoding 'UTF8'`);
  const inside = postgres(at(copy), { max: 1, onnotice: () => {} });
  try {
    await inside.unsafe(`grant create on schema public to ${owner}`);
    await inside.unsafe(bigProduct(owner, [web, job]));
    await inside.unsafe(grants.replaceAll(name, copy));
  } finally {
    await inside.end();
  }
  await migrate({ ownerUrl: Object.assign(new URL(ownerUrl), { pathname: `/${copy}` }).href });
}
