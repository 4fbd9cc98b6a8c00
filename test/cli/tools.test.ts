/** What the commands about tenants say: explain, events, and what all commands have in common. Export and import are in transfer.test.ts. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { type AddressInfo, connect as connectTo, createServer } from "node:net";
import path from "node:path";
import { after, test } from "node:test";
import { connect } from "../../src/database/command-connection.ts";
import { freePort } from "../../src/embedded/server.ts";
import { startWire } from "../faults/wire.ts";
import { temporaryFolder } from "../folder.ts";
import {
  createDatabase,
  long,
  seedTenant,
  seedUser,
  settled,
  some,
  TEST_SECRET,
  token,
  withSettings,
} from "../harness.ts";
import { until } from "../until.ts";
import { built, inShell, outcome, projectRoot, tenancy } from "./command.ts";

const folder = temporaryFolder("tools");
const database = await createDatabase();
let env: Record<string, string> = { DATABASE_URL: database.urls.owner, SERVICE_MULTI_TENANT_MODE: "true" };
const acme = await seedTenant(database.sql, { slug: "acme", name: "Acme" });
await seedUser(database.sql, acme, { subject: "alice", role: "owner" });
after(async () => {
  await database.drop();
});
const run = (...args: string[]) => outcome(tenancy(args, env));

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
  await database.sql`alter function api.explain_access rename to explain_later`;
  const { stderr } = await run("explain");
  await database.sql`alter function api.explain_later rename to explain_access`;
  assert.match(stderr, /^The database's schema is missing, or behind this release/);
});

test("an unknown or repeated argument gives an error of one line", async () => {
  for (const [line, status, sentence] of some([
    ["audit --format json --format text", 2, "--format is given more than once"],
    ["audit --only data --only schema", 2, "--only is given more than once"],
    ["events --last 1 --last 2", 1, "--last is given more than once"],
    ["migrate --only-role", 1, "Unknown argument: only-role"],
    ["--", 1, "Name a command; tenancy --help lists them"],
    ["import", 1, "import and diff take a file that export wrote; - is standard input"],
    ["import  --json", 1, "import and diff take a file that export wrote; - is standard input"],
  ] as const)) {
    const { code, stdout, stderr } = await run(...line.split(" "));
    assert.deepEqual([code, stdout, stderr], [status, "", sentence]);
  }
});

test("tenancy tells its version and its commands wherever it is called, and breaks lines between words", () => {
  const call = (option: string) =>
    spawnSync(process.execPath, [path.join(built, "dist", "cli.js"), option], {
      cwd: folder,
      encoding: "utf8",
    }).stdout;
  const { version } = JSON.parse(readFileSync(path.join(built, "package.json"), "utf8"));
  assert.equal(call("--version"), `${version}\n`);
  const help = call("--help");
  assert.match(help, /^tenancy <command>\n\nMulti-tenant .* docs\/ describes the environment variables\.\n/);
  assert.match(help, /\n {2}tenancy completion .*\bcommand\n +tenancy on the PATH\n/);
});

long(
  "the benchmark refuses what it does not know, before it begins minutes of work and writes its figures",
  () => {
    for (const option of ["--help", "--qick", "--only=htp"]) {
      const args = ["--import", "tsx", "bench/run.ts", option];
      const { status, stderr } = spawnSync(process.execPath, args, {
        cwd: projectRoot,
        encoding: "utf8",
        timeout: 120_000,
      });
      assert.equal(status, 2, option);
      assert.match(
        stderr,
        /^Unknown: .*There are --quick and --only=http,rls,growth,deletion,audit,context,fairness\n$/,
      );
    }
  },
);

test("explain says why, by slug and identity, by claims and by token", async () => {
  const refused = await run("explain", "--tenant", "acme", "--subject", "bob");
  assert.equal(refused.code, 0, refused.stderr);
  assert.match(refused.stdout, /^Refused: bob of jwt is not a member of the tenant\n/);
  assert.match(refused.stdout, /^membership {2}none\n(.*\n)*app\.users +forced +1 +0$/m);
  // What the service would need beside its own addresses is not asked for.
  const { service } = database.urls;
  const beside = { ...env, SERVICE_DATABASE_URL: service, SERVICE_DATABASE_READ_URL: service };
  const claims = await outcome(tenancy(["explain", "--claims", '{"sub":"alice","org":"Acme"}'], beside));
  const head = claims.stdout
    .split("\napp.")[0]!
    .replace(/[\da-f]{8}-[\da-f-]{27}/, "ID")
    .replace(/\d{4}-\S+/, "AT");
  assert.equal(
    head,
    [
      "Allowed: alice is a member of the tenant, as owner",
      "",
      "tenant      acme, named by organization: active, ID",
      "membership  owner since AT",
      "operator    no",
      "roles       logged in as tms_owner; requests act as tms_app",
      "",
      "table                          row security    holds   shows",
    ].join("\n"),
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
  for (const [args, fault] of [
    [["--claims", "[1]"], /^--claims takes a JSON object$/],
    [["--token", "x.y"], /^--token takes a JWT$/],
    [["--token="], /^--token takes a JWT$/],
    [["--token", signed, "--subject", "alice"], /^Arguments \w+ and \w+ are mutually exclusive$/],
    [["--token", signed, "--claims", "{}"], /^Arguments \w+ and \w+ are mutually exclusive$/],
    [["--claims", "{}", "--subject", "alice"], /^Arguments \w+ and \w+ are mutually exclusive$/],
  ] as const) {
    // No database is asked for it, nor made.
    const { code, stderr } = await outcome(tenancy(["explain", ...args], { SERVICE_DATA_DIR: "/proc/none" }));
    assert.equal(code, 1);
    assert.match(stderr, fault);
  }
});

test("commands go by their own settings, and not by those that a database has for requests", async () => {
  const large = await seedTenant(database.sql, { slug: "large" });
  const owner = await seedUser(database.sql, large, { subject: "ann" });
  await database.sql`
    insert into app.boards (tenant_id, owner_id, title) select ${large}, ${owner}, repeat('x', 200) from generate_series(1, 2000)`;
  const odd = {
    row_security: "off",
    quote_all_identifiers: "on",
    statement_timeout: "1",
    idle_in_transaction_session_timeout: "1",
  };
  await withSettings(database, odd, async () => {
    const explained = await run("explain", "--tenant", "acme", "--subject", "alice");
    assert.equal(explained.code, 0, explained.stderr);
    assert.match(explained.stdout, /^app\.boards /m);
    assert.equal((await run("events")).code, 0);
    const { stdout, stderr } = inShell("export --tenant large | { sleep 0.2; tail -n 1; }", env);
    assert.deepEqual([stderr, JSON.parse(stdout).end], ["", true]);
  });
});

test("events prints what happened, of one tenant on request, and follows", async () => {
  const { sql } = database;
  const file = path.join(folder, "acme.jsonl");
  assert.equal((await run("export", "--tenant", "acme", "--output", file)).code, 0);
  assert.equal((await run("import", file, "--slug", "acme-2")).code, 0);
  const all = await run("events", "--tenant", "acme");
  assert.match(
    all.stdout,
    /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ {2}tenant\.created +acme \(Acme\) {2}by the login postgres$/m,
  );
  assert.doesNotMatch(all.stdout, /acme-2/);
  const json = await run("events", "--last", "1", "--json");
  assert.equal(json.stdout.trim().split("\n").length, 1);
  const { id, event } = JSON.parse(json.stdout);
  assert.deepEqual([typeof id, event], ["number", "tenant.imported"]);
  const following = tenancy(["events", "--follow", "--last", "1", "--tenant", "globex"], env);
  await seedTenant(sql, { slug: "other" });
  await seedTenant(sql, { slug: "globex", name: "Globex" });
  await following.prints(/tenant\.created +globex/);
  await sql`update app.tenants set slug = 'globex-2' where slug = 'globex'`;
  await sql`delete from app.tenants where slug = 'globex-2'`;
  await following.prints(/tenant\.updated +globex-2 \(Globex\) slug .*\n.*tenant\.deleted +globex-2/);
  assert.doesNotMatch(following.stdout, /other|acme/);
  // A connection that is lost is taken up again; a right that is gone is an error.
  await sql`select pg_terminate_backend(pid) from pg_stat_activity where usename = 'tms_owner' and datname = current_database()`;
  await seedTenant(sql, { slug: "globex", name: "Back" });
  await following.prints(/tenant\.created +globex \(Back\)/);
  // More at once than one look takes.
  await sql`
    insert into app.tenants (slug, name) select 'bulk-' || n, 'Bulk' from generate_series(1, 5000) n`;
  await sql`update app.tenants set name = 'Again' where slug = 'globex'`;
  await following.prints(/tenant\.updated +globex/);
  // Of a tenant to which nothing happened for so long, the last event is the last one, too.
  const old = tenancy(["events", "--follow", "--last", "1", "--tenant", "globex-2"], env);
  await old.prints(/tenant\.deleted +globex-2/);
  await seedTenant(sql, { slug: "globex-2", name: "New" });
  await old.prints(/tenant\.created +globex-2 \(New\)/);
  old.child.kill("SIGTERM");
  assert.equal((await outcome(old)).stdout.split("\n").length, 2);
  await sql`revoke select on control.tenant_events from tms_owner`;
  const code = await following.ended;
  await sql`grant select on control.tenant_events to tms_owner`;
  assert.equal(code, 1);
  assert.match(following.stderr, /permission denied for table tenant_events/);
});

long(
  "events that follow wait for older transactions, keep their order, and none is told twice; a database that is away is awaited",
  async t => {
    const { sql } = database;
    await settled(sql);
    const { stdout: last } = await run("events", "--last", "1");
    const wire = await startWire(database.urls.owner);
    const following = tenancy(["events", "--follow", "--last", "1"], { DATABASE_URL: wire.url });
    t.after(() => {
      following.child.kill("SIGKILL");
      return wire.close();
    });
    await following.prints(/\n/);
    await sql.begin(async late => {
      await late`select set_config('app.actor', '["jwt", "ann"]', true)`;
      await seedTenant(late, { slug: "late" });
      await sql`insert into app.tenants (slug, name) select 'many-' || n, 'Many' from generate_series(1, 5000) n`;
      await seedTenant(sql, { slug: "early" });
      assert.match((await run("events", "--last", "1")).stdout, /early/, "one look shows what is committed");
      assert.doesNotMatch(following.stdout, /early|many/);
    });
    await following.prints(/tenant\.created +late \(late\) {2}by ann of jwt\n/);
    await following.prints(/tenant\.created +early /);
    const away = "The database cannot be reached; retrying\n";
    for (const [i, slug] of ["back", "again"].entries()) {
      wire.refuse(true);
      wire.cut();
      await until("it is told", () => following.stderr === away.repeat(i + 1));
      await seedTenant(sql, { slug });
      wire.refuse(false);
      await following.prints(new RegExp(`tenant.created +${slug} `));
    }
    following.child.kill("SIGTERM");
    const { code, stdout, stderr } = await outcome(following);
    assert.deepEqual([code, stderr], [143, `${away.repeat(2)}Interrupted`]);
    const [shown, ...news] = stdout.split("\n");
    assert.equal(shown, last);
    assert.equal(news.length, 5_004);
    assert.deepEqual(
      news.map(line => line.split(/ +/)[2]).filter(slug => !slug!.startsWith("many-")),
      ["late", "early", "back", "again"],
    );
  },
);

long("events that follow tell what was committed between their first two looks", async t => {
  const { port, hostname } = new URL(database.urls.owner);
  let sent = Promise.resolve();
  let looked = false;
  const relay = createServer(client => {
    const server = connectTo(Number(port), hostname).on("error", () => {});
    server.on("close", () => client.destroy()).pipe(client);
    client.on("error", () => {}).on("close", () => server.destroy());
    client.on("data", bytes => {
      sent = sent.then(async () => {
        if (!looked && bytes.includes("(e.epoch, e.xid, e.n) <=")) {
          looked = true;
          for (const slug of ["between", "beyond"]) await seedTenant(database.sql, { slug });
        }
        server.write(bytes);
      });
    });
  });
  await new Promise<void>(resolve => relay.listen(0, "127.0.0.1", resolve));
  const to = { hostname: "127.0.0.1", port: String((relay.address() as AddressInfo).port) };
  const following = tenancy(["events", "--follow", "--last", "1"], {
    DATABASE_URL: Object.assign(new URL(database.urls.owner), to).href,
  });
  t.after(async () => {
    following.child.kill("SIGKILL");
    await following.ended;
    relay.close();
  });
  await following.prints(/tenant\.created +beyond /);
  await seedTenant(database.sql, { slug: "behind" });
  await following.prints(/tenant\.created +behind /);
  assert.match(following.stdout, /tenant\.created +between /);
});

long("a connection that was refused is made once the server is there", async t => {
  const port = await freePort();
  const address = Object.assign(new URL(database.urls.owner), { hostname: "127.0.0.1", port: String(port) });
  const sql = connect(address.href, { connect_timeout: 60 });
  t.after(() => sql.end());
  for (let i = 0; i < 2; i++)
    await assert.rejects(async () => void (await sql`select`), { code: "ECONNREFUSED" });
  const wire = await startWire(database.urls.owner, port);
  t.after(() => wire.close());
  await sql`select`;
});

long("a query that is sent while its connection is lost fails at once", async t => {
  const wire = await startWire(database.urls.owner);
  const sql = connect(wire.url);
  t.after(async () => {
    await sql.end({ timeout: 0 });
    await wire.close();
  });
  for (let i = 0; i < 2; i++) {
    await sql`select`;
    const asked = sql.unsafe("select pg_sleep(600)").catch(() => sql`select 'and then'`);
    await until("it is asked", async () => {
      const [asleep] =
        await database.sql`select from pg_stat_activity where query = 'select pg_sleep(600)' and state = 'active' and datname = ${database.name}`;
      return asleep;
    });
    wire.cut();
    await assert.rejects(asked, { code: "CONNECTION_CLOSED" });
  }
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

test("events names a slug that no tenant has or had; of a tenant without events there are none to show", async () => {
  const { sql } = database;
  const unknown = await run("events", "--tenant", "nosuch");
  assert.deepEqual(
    [unknown.code, unknown.stdout, unknown.stderr],
    [1, "", "There is no tenant with the slug nosuch, and no event of one"],
  );
  const id = await seedTenant(sql, { slug: "fleeting" });
  await sql`delete from control.tenant_events where tenant_id = ${id}`;
  const silent = await run("events", "--tenant", "fleeting");
  assert.deepEqual([silent.code, silent.stdout, silent.stderr], [0, "", ""]);
  await sql`delete from app.tenants where id = ${id}`;
  assert.match((await run("events", "--tenant", "fleeting")).stdout, /tenant\.deleted +fleeting/);
});

test("events ends quietly when its reader has gone", () => {
  // The reader ends before the first line, so that every write meets a closed pipe.
  for (const options of ["", "--follow"])
    assert.equal(inShell(`events --json ${options} | { exec <&-; sleep 1; }`, env).stderr, "", options);
});

long(
  "what cannot be written ends in one line",
  {
    skip: !existsSync("/dev/full") && "this system has no /dev/full",
  },
  () => {
    for (const command of ["events", "token --sub alice", "export --tenant acme"]) {
      const { status, stderr } = inShell(`${command} > /dev/full`, {
        SERVICE_JWT_SECRET: TEST_SECRET,
        ...env,
      });
      assert.deepEqual([status, stderr], [1, "Standard output cannot be written (ENOSPC)\n"], command);
    }
  },
);

test("an option whose value a variable of the shell was to give is refused without one, as is a value for a flag", async () => {
  for (const [line, status, sentence] of some([
    ["audit --format", 2, "Not enough arguments following: format"],
    ["audit --only --sample 1", 2, "Not enough arguments following: only"],
    ["audit --tenant=", 2, "--tenant is empty"],
    ["audit --sample", 2, "Not enough arguments following: sample"],
    ["audit --diff=", 2, "--diff is empty"],
    ["events --tenant=", 1, "--tenant is empty"],
    ["events --follow=", 1, "--follow takes no value"],
    ["explain --tenant=", 1, "--tenant is empty"],
    ["explain --provider=", 1, "--provider is empty"],
    ["explain --subject=", 1, "--subject is empty"],
    ["export --tenant=", 1, "--tenant is empty"],
    ["export --tenant acme --output=", 1, "--output is empty"],
    ["import file --slug", 1, "Not enough arguments following: slug"],
    ["migrate --only-roles=no", 1, "--only-roles takes no value"],
    ["token --sub a --email=", 1, "--email is empty"],
    ["token --sub a --operator=", 1, "--operator takes no value"],
  ] as const)) {
    const { code, stdout, stderr } = await run(...line.split(" "));
    assert.deepEqual([code, stdout, stderr], [status, "", sentence], line);
  }
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
  for (const other of ["SERVICE_DATABASE_URL", "ROOT_DATABASE_URL"]) {
    env = { [other]: database.urls.service };
    for (const [command, status, login] of [
      ["events", 1, "tms_owner's login"],
      ["audit", 2, "tms_owner's login or that of a member of tms_auditor"],
    ] as const) {
      const { code, stderr } = await run(command);
      assert.deepEqual([code, stderr], [status, `DATABASE_URL, ${login}, is missing, and ${other} is set`]);
    }
  }
  for (const command of ["events", "audit", "migrate"]) {
    env = { DATABASE_URL: "nonsense", SERVICE_DEBUG: "false" };
    const { stderr } = await run(command);
    assert.match(stderr, /DATABASE_URL\b.*postgres:\/\//, command);
    assert.doesNotMatch(stderr, /^ +at /m, "no stack");
  }
  env = { DATABASE_URL: database.urls.owner, ROOT_DATABASE_URL: "nonsense" };
  assert.match((await run("migrate")).stderr, /^ROOT_DATABASE_URL: expected postgres:/);
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
