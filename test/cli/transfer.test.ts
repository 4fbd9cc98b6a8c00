/** `tenancy export` and `import` as commands: their files, words, exit status and ends. What they carry is in database/transfer.test.ts. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startWire } from "../faults/wire.ts";
import { temporaryFolder } from "../folder.ts";
import { createDatabase, long, seedTenant, seedUser } from "../harness.ts";
import { lockWaiters, until } from "../until.ts";
import { built, inShell, outcome, tenancy } from "./command.ts";

const folder = temporaryFolder("transfer");
const database = await createDatabase();
const { sql } = database;
const env = { DATABASE_URL: database.urls.owner };
const acme = await seedTenant(sql, { slug: "acme", name: "Acme" });
await seedUser(sql, acme, { subject: "alice", role: "owner" });
after(async () => {
  await database.drop();
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
  const long = path.join(folder, "x".repeat(300));
  const unnamed = await run("export", "--tenant", "acme", "--output", long);
  assert.equal(unnamed.stderr, `${long} cannot be written (ENAMETOOLONG)`);
  const imported = await run("import", file, "--slug", "acme-2", "--json");
  assert.equal(imported.code, 0, imported.stderr);
  const { slug, counts } = JSON.parse(imported.stdout) as { slug: string; counts: Record<string, number> };
  assert.deepEqual([slug, counts["app.users"]], ["acme-2", 1]);
});

test("an import that cannot say what it wrote says that it is written", {
  skip: !existsSync("/dev/full") && "this system has no /dev/full",
}, async () => {
  const file = path.join(folder, "told.jsonl");
  assert.equal((await run("export", "--tenant", "acme", "--output", file)).code, 0);
  const { status, stderr } = inShell(`import ${file} --slug told > /dev/full`, env);
  const words = "told is imported, but: Standard output cannot be written (ENOSPC)\n";
  assert.deepEqual([status, stderr], [1, words]);
  assert.equal((await sql`select from app.tenants where slug = 'told'`).length, 1);
});

test("export to standard output is the file and nothing else", async () => {
  const { code, stdout } = await run("export", "--tenant", "acme");
  assert.equal(code, 0);
  assert.equal(JSON.parse(stdout.trim().split("\n").at(-1)!).end, true);
});

long(
  "an export to standard output whose last line is cut off has not succeeded",
  {
    skip: process.platform === "win32" && "Windows has no such shell",
  },
  async () => {
    const cut = await seedTenant(sql, { slug: "cut" });
    const pad = (length: number) =>
      sql`update app.tenants set settings = jsonb_build_object('padding', repeat('x', ${length})) where id = ${cut}`;
    await pad(0);
    const { length } = (await run("export", "--tenant", "cut")).stdout;
    // Some twenty characters more than a limit of files allows, which counts in blocks of 512.
    await pad(512 - (length % 512) + 20);
    const { stdout } = await run("export", "--tenant", "cut");
    const file = path.join(folder, "cut-off.jsonl");
    const limited = `trap '' XFSZ; ulimit -f ${Math.floor(stdout.length / 512)}; exec "$0" dist/cli.js export --tenant cut > ${file}`;
    const { status, stderr } = spawnSync("sh", ["-c", limited, process.execPath], {
      cwd: built,
      env: { PATH: process.env.PATH, ...env },
      encoding: "utf8",
    });
    const missing = stdout.length - readFileSync(file).length;
    assert.ok(missing > 0 && missing < 60, `${missing} characters are missing`);
    assert.deepEqual([status, stderr], [1, "Standard output cannot be written (EFBIG)\n"]);
  },
);

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
  const named = tenancy(["import", file, "--slug", "Not A Slug"], { SERVICE_DATA_DIR: "/proc/none" });
  assert.match((await outcome(named)).stderr, /lowercase letters/);
});

test("an export that a policy keeps from being whole leaves no file", async () => {
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

long(
  "an export that is interrupted leaves nothing, one that is killed its part, and both replace nothing",
  async () => {
    const file = path.join(folder, "stopped.jsonl");
    const part = `${file}.part`;
    const args = ["export", "--tenant", "acme", "--output", file];
    const stopped = (signal: NodeJS.Signals) =>
      sql.begin(async blocker => {
        await blocker`lock table app.boards`;
        const command = tenancy(args, env);
        await lockWaiters(sql);
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
  },
);

long("an export or import whose connection is lost says so, and leaves nothing", async () => {
  const file = path.join(folder, "whole.jsonl");
  const lost = path.join(folder, "lost.jsonl");
  assert.equal((await run("export", "--tenant", "acme", "--output", file)).code, 0);
  const wire = await startWire(database.urls.owner);
  try {
    for (const [table, ...args] of [
      ["app.users", "import", file, "--slug", "lost"],
      ["app.boards", "export", "--tenant", "acme", "--output", lost],
      ["app.users", "import", file, "--slug", "lost"],
    ] as const) {
      const { code, stderr } = await sql.begin(async blocker => {
        await blocker.unsafe(`lock table ${table}`);
        const command = tenancy(args as unknown as string[], { DATABASE_URL: wire.url });
        await lockWaiters(sql);
        wire.cut();
        return outcome(command);
      });
      assert.match(stderr, /^The database at .* cannot be reached: it closed the connection$/, args[0]);
      assert.equal(code, 1);
    }
    assert.deepEqual([existsSync(lost), existsSync(`${lost}.part`)], [false, false]);
    assert.deepEqual([...(await sql`select from app.tenants where slug = 'lost'`)], []);
  } finally {
    await wire.close();
  }
});

long("of many imports under one slug one makes the tenant, and the others say that it exists", async () => {
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
  long(
    `an import ends ${how}, says so, and writes nothing`,
    {
      skip: process.platform === "win32" && "Windows has no such shell",
    },
    async () => {
      const whole = (await run("export", "--tenant", "acme")).stdout;
      const end = whole.lastIndexOf("\n");
      const command = [process.execPath, "dist/cli.js", "import", "-", "--slug", "stopped"];
      // Node would close the input of a shell that has ended.
      const input = spawn("cat", { stdio: ["pipe", "pipe", "ignore"] });
      const shell = spawn("sh", ["-c", line, ...command], {
        cwd: built,
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
        const [working] = await sql`
        select from pg_stat_activity where datname = ${database.name} and state = 'idle in transaction'`;
        return working;
      });
      shell.kill("SIGTERM");
      // One that goes on, also until its connection is closed, would end well now.
      if (code === null) await Promise.race([closed, sleep(60_000, null, { ref: false })]);
      input.stdin.end(whole.slice(end));
      assert.deepEqual([await closed, said], [code, "Interrupted\n"]);
      assert.deepEqual([...(await sql`select from app.tenants where slug = 'stopped'`)], []);
    },
  );

test("a file that ends inside a character is cut off, and one in another encoding is no export", async () => {
  const file = path.join(folder, "cut.jsonl");
  writeFileSync(file, Buffer.from('{"format":"é').subarray(0, -1));
  assert.equal((await run("import", file)).stderr, "The file is cut off: its last line is missing");
  writeFileSync(file, Buffer.from("é\n", "latin1"));
  assert.match((await run("import", file)).stderr, /^The file is .*it is not UTF-8$/);
});

test("an import under another id says how many media go on naming the former tenant's files", async () => {
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
    `${media!.n} media still name the files of the tenant they were exported from: see docs/guides/export-import.md`,
  );
  await sql`delete from app.tenants where slug = 'filed'`;
  assert.match((await run("import", file)).stdout, /^Imported filed \(.*\): \d+ rows in \d+ tables$/);
  await sql`delete from app.tenants where slug in ('filed', 'filed-2')`;
});
