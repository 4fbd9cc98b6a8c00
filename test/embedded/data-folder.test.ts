import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { openEmbedded } from "../../src/embedded/embedded.ts";
import { placeFor, removeDrafts, requireOwner } from "../../src/embedded/files.ts";
import { lock, readLock } from "../../src/embedded/lock.ts";
import { commandOf, startOf } from "../../src/embedded/processes.ts";
import { readSecrets } from "../../src/embedded/secrets.ts";
import { endOrphan, startServer } from "../../src/embedded/server.ts";
import { until } from "../until.ts";

const folder = (t: { after(end: () => void): void }) => {
  const made = mkdtempSync(path.join(tmpdir(), "tms-folder-"));
  t.after(() => rmSync(made, { recursive: true }));
  return made;
};
const several = <T>(count: number, work: () => Promise<T>) =>
  Promise.allSettled(Array.from({ length: count }, work));

const LOCK = path.resolve(import.meta.dirname, "../../dist/embedded/lock.js");

/** Tells, for each round, whether it got the lock; all contenders begin a round at the same moment. */
const CONTENDER = `
  import { setTimeout as sleep } from "node:timers/promises";
  import { lock } from "${LOCK}";
  import { once } from "node:events";
  const folders = process.argv.slice(1);
  console.log("ready");
  const [start] = await once(process.stdin.setEncoding("utf8"), "data");
  const got = [];
  for (const [round, folder] of folders.entries()) {
    await sleep(Number(start) + round * 100 - Date.now());
    got.push(await lock(folder).then(() => "mine", error => error.message));
  }
  console.log(JSON.stringify(got));
  process.stdin.resume(); // alive, and its locks with it, until all have told`;

test("of several processes that find the lock of a dead one, one takes it over", async t => {
  const rounds = Array.from({ length: 15 }, () => folder(t));
  for (const dataDir of rounds)
    writeFileSync(path.join(dataDir, "lock"), JSON.stringify({ pid: 2 ** 22 + 1, started: "long ago" }));
  const args = ["--input-type=module", `--eval=${CONTENDER}`, ...rounds];
  const contenders = [1, 2, 3].map(() =>
    spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] }),
  );
  const heard = () =>
    Promise.all(
      contenders.map(async ({ stdout }) => String((await once(stdout.setEncoding("utf8"), "data"))[0])),
    );
  await heard();
  const start = String(Date.now() + 100);
  for (const { stdin } of contenders) stdin.write(start);
  const answers = (await heard()).map(text => JSON.parse(text) as string[]);
  for (const { stdin } of contenders) stdin.end();
  for (const round of rounds.keys()) {
    const got = answers.map(answer => answer[round]!);
    assert.equal(got.filter(answer => answer === "mine").length, 1, got.join("; "));
    for (const other of got.filter(answer => answer !== "mine"))
      assert.match(other, /^The data folder .* is in use by process \d+/);
  }
});

test("a lock that was left empty, or by a process whose number is another's by now, is taken over; another's is left", async t => {
  const dataDir = folder(t);
  const file = path.join(dataDir, "lock");
  for (const left of ["", JSON.stringify({ pid: process.pid, started: "1" })]) {
    writeFileSync(file, left);
    await (await lock(dataDir))();
    assert.deepEqual(readdirSync(dataDir), []);
  }
  const release = await lock(dataDir);
  writeFileSync(file, "another's");
  await release();
  assert.deepEqual(readdirSync(dataDir), ["lock"]);
});

test("a folder that was copied or reached by another way while it is in use: the copy is free, the folder is not", async t => {
  const [dataDir, parent] = [folder(t), folder(t)];
  const [copy, way, moved] = ["copy", "way", "moved"].map(name => path.join(parent, name)) as [
    string,
    string,
    string,
  ];
  symlinkSync(dataDir, way);
  const release = await lock(way);
  cpSync(dataDir, copy, { recursive: true });
  assert.equal(readLock(copy), undefined);
  await (await lock(copy))();
  for (const held of [dataDir, way]) {
    assert.equal(readLock(held)?.pid, process.pid);
    await assert.rejects(lock(held), /in use by process/);
  }
  renameSync(dataDir, moved);
  assert.equal(readLock(moved)?.pid, process.pid);
  renameSync(moved, dataDir);
  await release();
});

test("a lock that cannot be written leaves nothing behind", {
  skip: process.platform === "win32" && "Windows has no such shell",
}, t => {
  const dataDir = folder(t);
  const locking = `import("${LOCK}").then(({ lock }) => lock(process.argv[1]))`;
  const limited = `trap '' XFSZ; ulimit -f 0; exec "$0" --eval '${locking}' "$1" 2>&1`;
  const { stdout } = spawnSync("sh", ["-c", limited, process.execPath, dataDir], {
    encoding: "utf8",
  });
  assert.match(stdout, /EFBIG/);
  assert.deepEqual(readdirSync(dataDir), []);
});

test("when Postgres does not start, the error has its last log line, or names the full disk", async t => {
  const dataDir = folder(t);
  mkdirSync(path.join(dataDir, "bin"));
  const full = 'FATAL:  could not write blocks 8..8 in file "base/1/2673": No space left on device';
  const shared = 'could not resize shared memory segment "/x" to 8 bytes: No space left on device';
  const checkpoint = "FATAL:  checkpoint request failed";
  const lost = "The embedded Postgres did not start:";
  const log = path.join(dataDir, "postgres.log");
  for (const [said, options, told] of [
    [[full, checkpoint], {}, { code: "ENOSPC" }],
    [[`FATAL:  ${shared}`], {}, { message: `${lost} ${shared}` }],
    [["wrote only 4096 of 8192 bytes", checkpoint], {}, { code: "ENOSPC" }],
    [["LOG:  starting", "FATAL:  first", "PANIC:  last", "HINT:  none"], {}, { message: `${lost} last` }],
    [["LOG:  starting"], {}, { message: `${lost} see ${log}` }],
    [["LOG:  could not bind"], { port: 1 }, { message: "Port 1 for the embedded Postgres is taken" }],
    [["LOG:  could not bind"], {}, { message: `${lost} see ${log}` }],
  ] as const) {
    const tries = path.join(dataDir, "tries");
    rmSync(tries, { force: true });
    const postgres = ["#!/bin/sh", ...said.map(line => `echo '${line}'`), `echo >> ${tries}`, "exit 1", ""];
    writeFileSync(path.join(dataDir, "bin", "postgres"), postgres.join("\n"), { mode: 0o755 });
    await assert.rejects(
      startServer(dataDir, path.join(dataDir, "postgres"), dataDir, undefined, options),
      told,
    );
    // A port that was free, and is not any more, is the only fault that another try mends.
    const tried = readFileSync(tries, "utf8").length;
    assert.equal(tried, said[0] === "LOG:  could not bind" && !("port" in options) ? 5 : 1);
  }
});

test("when Postgres ends because the disk is full, the error says so", async t => {
  const dataDir = folder(t);
  const ready = path.join(dataDir, "postgres", "postmaster.pid");
  const lines = [`printf '\\n\\n\\n7\\n\\n\\n\\nready\\n' > ${ready}`, "echo $0", "sleep 1", "exit 1", ""];
  for (const name of ["bin", "postgres"]) mkdirSync(path.join(dataDir, name));
  for (const [said, told] of [
    ["PANIC:  could not write to file: No space left on device", `The disk is full: ${dataDir}`],
    ["LOG:  ", `The embedded Postgres stopped by itself; ${path.join(dataDir, "postgres.log")} says why`],
  ] as const) {
    const script = ["#!/bin/sh", `echo '${said}'`, ...lines].join("\n");
    writeFileSync(path.join(dataDir, "bin", "postgres"), script, { mode: 0o755 });
    rmSync(ready, { force: true });
    const words = await new Promise<string>((onExit, reject) =>
      startServer(dataDir, path.join(dataDir, "postgres"), dataDir, undefined, { port: 7, onExit }).catch(
        reject,
      ),
    );
    assert.equal(words, told);
  }
});

test("what a kill left of files that are made aside is removed, but for what may be in use", t => {
  const dataDir = folder(t);
  const uuid = "00000000-0000-4000-8000-000000000000";
  const old = [`lock.${uuid}`, `lock.stale.${uuid}`, `secrets.json.${uuid}`];
  const kept = ["lock", `lock.${uuid.replace("4", "5")}`, "secrets.json", `x.${uuid}`];
  const longAgo = new Date(Date.now() - 3_700_000);
  for (const name of [...old, ...kept]) {
    writeFileSync(path.join(dataDir, name), "");
    if (name !== kept[1]) utimesSync(path.join(dataDir, name), longAgo, longAgo);
  }
  removeDrafts(dataDir);
  assert.deepEqual(readdirSync(dataDir).sort(), kept.sort());
});

test("secrets that are damaged are not made anew over a database", async t => {
  const dataDir = folder(t);
  writeFileSync(path.join(dataDir, "secrets.json"), "{");
  await assert.rejects(
    readSecrets(dataDir, "/cluster"),
    /secrets\.json is damaged: restore it from a backup/,
  );
});

test("root takes a database that is there for the one that is meant, and starts no empty one elsewhere", t => {
  const dataDir = folder(t);
  const [cluster, account] = [path.join(dataDir, "postgres"), { uid: 2 ** 30, gid: 2 ** 30 }];
  assert.notEqual(placeFor(dataDir, account), cluster);
  mkdirSync(cluster);
  assert.equal(placeFor(dataDir, account), cluster);
  assert.throws(() => requireOwner(cluster, account), /postgres is the database of another user/);
});

test("root's Postgres lies elsewhere where its user cannot pass through the folder, by the bits that count for that user", t => {
  const dataDir = folder(t);
  const { uid, gid } = statSync(dataDir);
  const [me, colleague, stranger] = [
    { uid, gid },
    { uid: 2 ** 30, gid },
    { uid: 2 ** 30, gid: 2 ** 30 },
  ];
  for (const [mode, account, passes] of [
    [0o700, me, true],
    [0o077, me, false],
    [0o710, colleague, true],
    [0o707, colleague, false],
    [0o701, stranger, true],
    [0o770, stranger, false],
  ] as const) {
    chmodSync(dataDir, mode);
    const place = placeFor(dataDir, account);
    chmodSync(dataDir, 0o700);
    assert.equal(place === path.join(dataDir, "postgres"), passes, mode.toString(8));
  }
});

test("secrets that others could read are the owner's alone again", async t => {
  const dataDir = folder(t);
  const file = path.join(dataDir, "secrets.json");
  writeFileSync(file, "{}");
  chmodSync(file, 0o644);
  await readSecrets(dataDir, "/cluster");
  assert.equal(statSync(file).mode & 0o777, 0o600);
});

test("a folder whose Postgres is not up yet is in use, and no second one is started beside it", async t => {
  const dataDir = folder(t);
  const release = await lock(dataDir);
  await assert.rejects(openEmbedded({ dataDir }), /in use by process \d+; stop that one first/);
  await release();
  assert.deepEqual(readdirSync(dataDir), []);
});

test("several that make a folder's secrets at once get the same", async t => {
  for (let round = 0; round < 20; round++) {
    const dataDir = folder(t);
    const made = await several(5, () => readSecrets(dataDir, path.join(dataDir, "postgres")));
    const [first] = made.map(one => (one.status === "fulfilled" ? one.value : one.reason));
    for (const one of made) assert.deepEqual(one, { status: "fulfilled", value: first });
    assert.deepEqual(readdirSync(dataDir), ["secrets.json"]);
  }
});

test("ps tells a process alike in every time zone and on a terminal of any width", {
  skip: spawnSync("ps", ["-p", "1"]).status !== 0 && "ps is not installed",
}, t => {
  const { platform, env } = process;
  t.after(() => {
    Object.defineProperty(process, "platform", { value: platform });
    process.env = env;
  });
  Object.defineProperty(process, "platform", { value: "darwin" });
  const told = [
    { TZ: "UTC", COLUMNS: "200" },
    { TZ: "Asia/Tokyo", COLUMNS: "20" },
  ].map(terminal => {
    process.env = { ...env, ...terminal };
    return [startOf(process.pid), commandOf(process.pid)];
  });
  assert.deepEqual(told[0], told[1]);
  assert.match(told[0]![1]!, /data-folder\.test\.js$/);
});

test("a Postgres that was started by hand keeps its postmaster.pid, and the error names it", async t => {
  const cluster = folder(t);
  const args = ["-e", "process.stdin.resume()", "--", "-D", cluster, "-k", ""];
  const { pid, stdin } = spawn(process.execPath, args, { stdio: ["pipe", "ignore", "ignore"] });
  t.after(() => stdin.end());
  const file = path.join(cluster, "postmaster.pid");
  writeFileSync(file, `${pid}\n${cluster}\n`);
  await until("it runs", () => commandOf(pid!).includes(cluster));
  await assert.rejects(endOrphan(cluster), {
    message: `${cluster} is in use by process ${pid}, a Postgres that somebody started by hand: stop it first`,
  });
  assert.equal(readFileSync(file, "utf8"), `${pid}\n${cluster}\n`);
});
