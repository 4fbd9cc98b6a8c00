import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { Audit } from "../../src/audit/run.ts";
import { toText } from "../../src/audit/text.ts";
import { createDatabase, type Database, seedTenant, seedUser, token, withSettings } from "../harness.ts";
import { lockWaiters, until } from "../until.ts";
import { outcome, projectRoot, tenancy } from "./command.ts";

let database: Database;
let env: Record<string, string>;
const folder = mkdtempSync(path.join(tmpdir(), "tms-tools-"));
before(async () => {
  database = await createDatabase();
  env = { DATABASE_URL: database.urls.owner, SERVICE_MULTI_TENANT_MODE: "true" };
  const acme = await seedTenant(database.sql, { slug: "acme", name: "Acme" });
  await seedUser(database.sql, acme, { subject: "alice", role: "owner" });
});
after(async () => {
  await database.drop();
  rmSync(folder, { recursive: true });
});
const run = (...args: string[]) => outcome(tenancy(args, env));

test("export writes a file that only its owner reads; import makes the tenant anew, under another slug", async () => {
  const file = path.join(folder, "acme.jsonl");
  const exported = await run("export", "--tenant", "acme", "--output", file);
  assert.equal(exported.code, 0, exported.stderr);
  assert.match(exported.stderr, /^Wrote acme to .*acme\.jsonl, \d+ bytes$/);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const again = await run("export", "--tenant", "acme", "--output", file);
  assert.deepEqual([again.code, /EEXIST/.test(again.stderr)], [1, true]);
  const imported = await run("import", file, "--slug", "acme-2", "--json");
  assert.equal(imported.code, 0, imported.stderr);
  const { slug, counts } = JSON.parse(imported.stdout) as { slug: string; counts: Record<string, number> };
  assert.deepEqual([slug, counts["app.users"]], ["acme-2", 1]);
});

test("export to standard output is the file and nothing else", async () => {
  const { code, stdout } = await run("export", "--tenant", "acme");
  assert.equal(code, 0);
  assert.equal(JSON.parse(stdout.trim().split("\n").at(-1)!).end, true);
});

test("a tenant that is not there leaves no file; a broken file changes nothing", async () => {
  const file = path.join(folder, "nobody.jsonl");
  const { code, stderr } = await run("export", "--tenant", "nobody", "--output", file);
  assert.deepEqual([code, stderr], [1, "There is no tenant with the slug nobody"]);
  assert.throws(() => readFileSync(file), /ENOENT/);
  writeFileSync(file, "{}\n");
  const imported = await run("import", file);
  assert.deepEqual([imported.code, imported.stderr], [1, "The file is not a tenant's export"]);
  for (const [unreadable, why] of [
    [path.join(folder, "missing"), "ENOENT"],
    [folder, "EISDIR"],
  ] as const) {
    const { code, stderr } = await run("import", unreadable);
    assert.deepEqual([code, stderr], [1, `${unreadable} cannot be read (${why})`]);
  }
  assert.match((await run("import", file, "--slug", "Not A Slug")).stderr, /lowercase letters/);
});

test("an export that a policy keeps from being whole leaves no file", async () => {
  const { sql } = database;
  const narrowed = await seedTenant(sql, { slug: "narrowed" });
  await seedUser(sql, narrowed, { subject: "gone" });
  const file = path.join(folder, "narrowed.jsonl");
  await sql`create policy live on app.users as restrictive to tms_app using (auth_subject <> 'gone')`;
  try {
    const { code, stderr } = await run("export", "--tenant", "narrowed", "--output", file);
    assert.deepEqual([code, existsSync(file), existsSync(`${file}.part`)], [1, false, false]);
    assert.match(
      stderr,
      /^app\.users holds 1 row of narrowed, and tms_app, who reads them, sees 0: a policy/,
    );
  } finally {
    await sql`drop policy live on app.users`;
  }
});

test("an export that is interrupted leaves nothing, one that is killed its part, and both replace nothing", async () => {
  const file = path.join(folder, "stopped.jsonl");
  const part = `${file}.part`;
  const args = ["export", "--tenant", "acme", "--output", file];
  const { sql } = database;
  const stopped = (signal: NodeJS.Signals) =>
    sql.begin(async sql => {
      await sql`lock table app.boards`;
      const command = tenancy(args, env);
      await lockWaiters(database.sql);
      command.child.kill(signal);
      return outcome(command);
    });
  const interrupted = await stopped("SIGTERM");
  assert.deepEqual([interrupted.code, interrupted.stderr], [143, "Interrupted"]);
  assert.deepEqual([existsSync(file), existsSync(part)], [false, false]);
  await stopped("SIGKILL");
  assert.deepEqual([existsSync(file), existsSync(part)], [false, true]);
  const beside = await run(...args);
  assert.deepEqual(
    [beside.code, beside.stderr],
    [1, `${part} exists already: an export is writing it, or was killed; remove it then`],
  );
  rmSync(part);
  assert.equal((await run(...args)).code, 0);
  writeFileSync(file, "older");
  const again = await run(...args);
  assert.deepEqual([again.code, again.stderr], [1, `${file} exists already (EEXIST)`]);
  assert.deepEqual([readFileSync(file, "utf8"), existsSync(part)], ["older", false]);
});

test("of many imports under one slug one makes the tenant, and the others say that it exists", async () => {
  const file = path.join(folder, "raced.jsonl");
  assert.equal((await run("export", "--tenant", "acme", "--output", file)).code, 0);
  const done = await Promise.all(Array.from({ length: 5 }, () => run("import", file, "--slug", "raced")));
  const refused = done.filter(({ code }) => code === 1).map(({ stderr }) => stderr);
  assert.deepEqual(
    refused,
    Array(4).fill("A tenant with the slug raced exists: --slug names another one"),
    JSON.stringify(done),
  );
});

for (const [how, line, code] of [
  ["at a signal", 'exec "$0" "$@"', 143],
  ["with the shell that npm runs it in", '"$0" "$@"; true', null],
] as const)
  test(`an import ends ${how}, says so, and writes nothing`, {
    skip: process.platform === "win32" && "Windows has no such shell",
  }, async () => {
    const whole = (await run("export", "--tenant", "acme")).stdout;
    const end = whole.lastIndexOf("\n");
    const command = [process.execPath, "--import", "tsx", "src/cli.ts", "import", "-", "--slug", "stopped"];
    // Node would close the input of a shell that has ended.
    const input = spawn("cat", { stdio: ["pipe", "pipe", "ignore"] });
    const shell = spawn("sh", ["-c", line, ...command], {
      cwd: projectRoot,
      env: { PATH: process.env.PATH, npm_lifecycle_event: "tenancy", ...env },
      stdio: [input.stdout, "ignore", "pipe"],
    });
    let said = "";
    shell.stderr!.setEncoding("utf8").on("data", text => {
      said += text;
    });
    const closed = new Promise<number | null>(resolve => shell.on("close", resolve));
    input.stdin.on("error", () => {}).write(whole.slice(0, end));
    await until("the import's transaction waits for more of the file", async () => {
      const [working] = await database.sql`
        select from pg_stat_activity where datname = ${database.name} and state = 'idle in transaction'`;
      return working;
    });
    shell.kill("SIGTERM");
    await Promise.race([closed, sleep(5_000, null, { ref: false })]);
    // One that goes on would end well now.
    input.stdin.end(whole.slice(end));
    assert.deepEqual([await closed, said], [code, "Interrupted\n"]);
    assert.deepEqual([...(await database.sql`select from app.tenants where slug = 'stopped'`)], []);
  });

test("a file that ends inside a character is cut off, and one in another encoding is no export", async () => {
  const file = path.join(folder, "cut.jsonl");
  writeFileSync(file, Buffer.from('{"format":"é').subarray(0, -1));
  assert.equal((await run("import", file)).stderr, "The file is cut off: its last line is missing");
  writeFileSync(file, Buffer.from("é\n", "latin1"));
  assert.match((await run("import", file)).stderr, /^The file is .*it is not UTF-8$/);
});

test("a database without the schema says what to run", async () => {
  const name = `${database.name}_bare`;
  await database.sql`create database ${database.sql(name)} owner tms_owner`;
  const bare = { DATABASE_URL: Object.assign(new URL(database.urls.owner), { pathname: `/${name}` }).href };
  const file = path.join(folder, "bare.jsonl");
  assert.equal((await run("export", "--tenant", "acme", "--output", file)).code, 0);
  for (const args of [["events"], ["explain"], ["export", "--tenant", "acme"], ["import", file]]) {
    const { code, stderr } = await outcome(tenancy(args, bare));
    assert.deepEqual(
      [code, stderr],
      [1, "The database's schema is missing, or behind this release: run npm run migrate"],
      args[0],
    );
  }
  await database.sql`drop database ${database.sql(name)}`;
});

test("an option that takes one value is not given twice", async () => {
  for (const [args, status] of [
    [["audit", "--format", "json", "--format", "text"], 2],
    [["audit", "--only", "data", "--only", "schema"], 2],
    [["events", "--last", "1", "--last", "2"], 1],
  ] as const) {
    const { code, stdout, stderr } = await run(...args);
    assert.deepEqual([code, stdout, stderr], [status, "", `${args[1]} is given more than once`]);
  }
});

test("explain says why, by slug and identity, by claims and by token", async () => {
  const refused = await run("explain", "--tenant", "acme", "--subject", "bob");
  assert.equal(refused.code, 0, refused.stderr);
  assert.match(refused.stdout, /^Refused: bob of jwt is not a member of the tenant\n/);
  assert.match(refused.stdout, /app\.users +forced +1 +0/);
  const claims = await run("explain", "--claims", '{"sub":"alice","org":"Acme"}');
  assert.match(
    claims.stdout,
    /^Allowed: alice is a member of the tenant, as owner\n(.*\n)*.*named by organization/,
  );
  const signed = await token({ sub: "alice", tenant: "acme" });
  const byToken = await run("explain", "--token", signed, "--json");
  assert.equal(JSON.parse(byToken.stdout).tenant.source, "tenant");
  const nowhere = await run("explain", "--claims", '{"sub":"alice"}');
  assert.match(
    nowhere.stdout,
    /^Refused: The X-Tenant header is required .* \(400 Missing X-Tenant header\)$/m,
  );
  const header = await run("explain", "--claims", '{"sub":"alice"}', "--tenant", "acme", "--json");
  assert.deepEqual(JSON.parse(header.stdout).allowed, true);
  assert.match((await run("explain", "--claims", "[1]")).stderr, /--claims takes a JSON object/);
});

test("commands go by their own settings, and not by those that a database has for requests", async () => {
  const odd = { row_security: "off", quote_all_identifiers: "on", statement_timeout: "1" };
  await withSettings(database, odd, async () => {
    const explained = await run("explain", "--tenant", "acme", "--subject", "alice");
    assert.equal(explained.code, 0, explained.stderr);
    assert.match(explained.stdout, /^app\.boards /m);
    assert.equal((await run("events")).code, 0);
  });
});

test("events prints what happened, of one tenant on request, and follows", async () => {
  const { sql } = database;
  const all = await run("events", "--tenant", "acme");
  assert.match(
    all.stdout,
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}created {5}acme \(Acme\) {2}by the login postgres$/m,
  );
  assert.doesNotMatch(all.stdout, /acme-2/);
  const json = await run("events", "--last", "1", "--json");
  assert.equal(json.stdout.trim().split("\n").length, 1);
  assert.equal(JSON.parse(json.stdout).event, "imported");
  const following = tenancy(["events", "--follow", "--last", "1", "--tenant", "globex"], env);
  await seedTenant(sql, { slug: "other" });
  await seedTenant(sql, { slug: "globex", name: "Globex" });
  await following.prints(/created {5}globex/);
  await sql`update app.tenants set slug = 'globex-2' where slug = 'globex'`;
  await sql`delete from app.tenants where slug = 'globex-2'`;
  await following.prints(/updated {5}globex-2 \(Globex\) slug .*\n.*deleted {5}globex-2/);
  assert.doesNotMatch(following.stdout, /other|acme/);
  // A connection that is lost is taken up again; a right that is gone is an error.
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'tms_owner' and datname = current_database()`;
  await seedTenant(sql, { slug: "globex", name: "Back" });
  await following.prints(/created {5}globex \(Back\)/);
  // More at once than one look takes.
  await sql`
    insert into app.tenants (slug, name) select 'bulk-' || n, 'Bulk' from generate_series(1, 5000) n`;
  await sql`update app.tenants set name = 'Again' where slug = 'globex'`;
  await following.prints(/updated {5}globex/);
  await sql`revoke select on control.tenant_events from tms_owner`;
  const code = await following.ended;
  await sql`grant select on control.tenant_events to tms_owner`;
  assert.equal(code, 1);
  assert.match(following.stderr, /permission denied for table tenant_events/);
});

test("what a name holds stays in its line, and commands no terminal", async () => {
  const name = "A\nB\r\x1b[31m\x9b2J\u2028\u202eC\x7f";
  const id = await seedTenant(database.sql, { slug: "forged", name });
  const shown = "A\\u000aB\\u000d\\u001b[31m\\u009b2J\\u2028\\u202eC\\u007f";
  const { stdout } = await run("events", "--tenant", "forged");
  assert.ok(stdout.includes(`forged (${shown})`), stdout);
  assert.equal(stdout.split("\n").length, 1);
  const json = await run("events", "--tenant", "forged", "--json");
  assert.doesNotMatch(json.stdout, /[^\P{Cc}\n]|[\u2028\u202e]/u);
  assert.equal(JSON.parse(json.stdout).name, name);
  const explained = await run("explain", "--tenant", "forged", "--subject", "x\n\x1b[2K\x9bAllowed: x");
  assert.equal(explained.stdout.split("\n")[1], "");
  assert.doesNotMatch(explained.stdout, /[^\P{Cc}\n]/u);
  const claims = JSON.stringify({ sub: "x", tenant: "forged" });
  assert.match((await run("explain", "--claims", claims)).stdout, /^Refused: x of jwt is not a member/);
  await database.sql`delete from app.tenants where id = ${id}`;
});

test("the audit's report keeps a key in its line", () => {
  const finding = {
    check: "c",
    category: "data_consistency",
    severity: "error",
    tenant_id: null,
    relation: "app.boards",
    row: { title: "x\nPASSED" },
    detail: "d",
    remedy: "r",
  } as const;
  const report = {
    started_at: "",
    finished_at: "",
    tenant: null,
    checks: [{ ...finding, checked: 1, findings: 1 }],
    findings: [finding],
    summary: { checks: 1, errors: 1, warnings: 0 },
  };
  const server = { database: "d", version: "18", schema: null };
  const audit = { report, server, about: new Map(), results: [], notRun: [], runId: 1 };
  assert.match(toText(audit as unknown as Audit), /^ {2}- app\.boards, title x\\u000aPASSED$/m);
});

test("an import under another id says how many media go on naming the former tenant's files", async () => {
  const { sql } = database;
  const file = path.join(folder, "filed.jsonl");
  const id = await seedTenant(sql, { slug: "filed" });
  const user = await seedUser(sql, id, { subject: "fred" });
  await sql.begin(async sql => {
    await sql`select app.set_tenant(${id})`;
    await sql`select app.create_sample_data(${id}, ${user})`;
    await sql`
      insert into app.media (tenant_id, generation_id, storage_url, content_type, size_bytes)
      select tenant_id, generation_id, 's3://elsewhere/file', content_type, size_bytes from app.media where tenant_id = ${id} limit 1`;
  });
  const [media] = await sql`select count(*)::int - 1 as n from app.media where tenant_id = ${id}`;
  assert.ok(media!.n > 1);
  assert.equal((await run("export", "--tenant", "filed", "--output", file)).code, 0);
  const imported = await run("import", file, "--slug", "filed-2");
  assert.match(imported.stdout, /^Imported filed-2 /);
  assert.equal(
    imported.stdout.split("\n")[1],
    `${media!.n} media still name the files of the tenant they were exported from: see docs/operations.md`,
  );
  await sql`delete from app.tenants where slug = 'filed'`;
  assert.match((await run("import", file)).stdout, /^Imported filed \(.*\): \d+ rows in \d+ tables$/);
  await sql`delete from app.tenants where slug in ('filed', 'filed-2')`;
});

const eventsInShell = (line: string) =>
  spawnSync("sh", ["-c", `"${process.execPath}" --import tsx src/cli.ts events ${line}`], {
    cwd: projectRoot,
    env: { PATH: process.env.PATH, ...env },
    encoding: "utf8",
  });

test("events ends quietly when its reader has gone", () => {
  // The reader ends before the first line, so that every write meets a closed pipe.
  for (const options of ["", "--follow"])
    assert.equal(eventsInShell(`--json ${options} | { exec <&-; sleep 1; }`).stderr, "", options);
});

test("events ends in one line when it cannot be written", {
  skip: !existsSync("/dev/full") && "this system has no /dev/full",
}, () => {
  const { status, stderr } = eventsInShell("> /dev/full");
  assert.deepEqual([status, stderr], [1, "Standard output cannot be written (ENOSPC)\n"]);
});

test("events --last takes a number of events", async () => {
  for (const last of ["x", "-3", "0", "1.5", ""]) {
    const { code, stdout, stderr } = await run("events", `--last=${last}`);
    assert.deepEqual(
      [code, stdout, stderr],
      [1, "", `--last takes a number of events, and not ${JSON.stringify(last)}`],
    );
  }
});

test("a database that is not named says which variable is missing", async () => {
  env = { SERVICE_DATABASE_URL: database.urls.service };
  const { code, stderr } = await run("events");
  assert.equal(code, 1);
  assert.match(stderr, /^DATABASE_URL, tms_owner's login, is missing/);
  for (const command of ["events", "audit", "migrate"]) {
    env = { DATABASE_URL: "nonsense", SERVICE_DEBUG: "false" };
    const { stderr } = await run(command);
    assert.match(stderr, /DATABASE_URL\b.*postgres:\/\//, command);
    assert.doesNotMatch(stderr, /^ +at /m, "no stack");
  }
  env = { DATABASE_URL: database.urls.owner, ROOT_DATABASE_URL: "nonsense" };
  assert.match((await run("migrate")).stderr, /^ROOT_DATABASE_URL: expected an address/);
});

test("completion prints a script, and completes commands", async () => {
  env = {};
  const { code, stdout } = await run("completion");
  assert.equal(code, 0);
  assert.match(stdout, /complete .* tenancy/);
  const { stdout: words } = await run("--get-yargs-completions", "tenancy", "ex");
  assert.match(words, /explain/);
  assert.match(words, /export/);
});
