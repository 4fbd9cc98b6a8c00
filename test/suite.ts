/**
 * Runs compiled test files: one Postgres for all, one template database with the schema, then node's own runner.
 * With TEST_DATABASE_URL (a superuser on Postgres 15 to 18) that server is used and its tms_ passwords are changed.
 */
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Readable } from "node:stream";
import { run } from "node:test";
import { spec, type TestEvent, tap } from "node:test/reporters";
import { inspect } from "node:util";
import postgres from "postgres";
import { startEmbedded } from "../src/embedded/embedded.ts";
import { applyRoles } from "../src/migrate/administrator.ts";
import { migrate } from "../src/migrate/migrate.ts";
import type { Time } from "./times.ts";

const folder = path.resolve(import.meta.dirname, "..");
/** This run's times, a line for each file; and those of the last run of each file. */
const notes = path.join(folder, "times.jsonl");
const cache = path.join(folder, "node_modules", ".cache", "tms-test-times.json");

async function main(): Promise<void> {
  const server = await startServer();
  try {
    const prefix = `tms_test_${randomBytes(4).toString("hex")}`;
    const sql = postgres(server.root, { max: 1, onnotice: () => {} });
    const urls = { root: server.root, owner: server.owner, service: server.service };
    try {
      const at = (url: string) => Object.assign(new URL(url), { pathname: `/${prefix}` }).href;
      await migrate({
        ownerUrl: at(urls.owner),
        serviceUrl: at(urls.service),
        rootUrl: urls.root,
        current: true,
      });
      process.env.TMS_TEST_DATABASE = JSON.stringify({ ...urls, template: prefix });
      process.env.TMS_TEST_TIMES = notes;
      const files = process.argv.slice(2);
      const browser = await browserFor(files);
      if (browser) process.env.TMS_TEST_BROWSER = browser.wsEndpoint();
      await runTests(files).finally(() => browser?.close());
    } finally {
      const left = await sql`select datname from pg_database where starts_with(datname, ${prefix})`;
      for (const { datname } of left)
        await sql`drop database if exists ${sql(datname as string)} with (force)`;
      await sql.end();
    }
  } finally {
    await server.stop();
  }
}

async function browserFor(files: string[]) {
  if (!files.some(file => path.basename(path.dirname(file)) === "console")) return undefined;
  const { serveBrowser, skip } = await import("./console/browser.ts");
  return skip ? undefined : serveBrowser();
}

async function startServer() {
  const external = process.env.TEST_DATABASE_URL;
  if (external) {
    const login = (user: string) =>
      Object.assign(new URL(external), { username: user, password: randomBytes(16).toString("hex") }).href;
    const [owner, service] = [login("tms_owner"), login("tms_service")];
    await applyRoles(external);
    await setPasswords(external, [owner, service]);
    return { root: external, owner, service, stop: async () => {} };
  }
  const dataDir = mkdtempSync(path.join(tmpdir(), "tms-test-"));
  chmodSync(dataDir, 0o711); // root's Postgres runs as another user
  const settings = {
    fsync: "off",
    wal_level: "logical",
    synchronous_commit: "off",
    full_page_writes: "off",
    max_connections: "200",
  };
  const embedded = await startEmbedded({ dataDir, settings });
  return { ...embedded.urls, stop: embedded.remove };
}

/** Whatever else relies on them there: migrate would refuse. */
async function setPasswords(rootUrl: string, urls: string[]) {
  const sql = postgres(rootUrl, { max: 1, onnotice: () => {} });
  for (const { username, password } of urls.map(url => new URL(url)))
    await sql.unsafe(`alter role ${username} password '${password}'`);
  await sql.end();
}

async function runTests(files: string[]): Promise<void> {
  const last = lastTimes();
  // The longest first. A file that never ran comes before all, the largest before the others.
  const weight = (file: string) => last[nameOf(file)] ?? 1e6 + statSync(file).size;
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());
  const stream = run({
    files: files.toSorted((a, b) => weight(b) - weight(a)),
    signal: stop.signal,
    concurrency: 3,
    // Node 20 counts it for a whole file: long enough for any on a slow machine, and one that waits for ever fails.
    timeout: 1_800_000,
  });
  stream.on("test:fail", () => {
    process.exitCode = 1;
  });
  const events = withSummary(stream);
  // What node chooses.
  const report = process.stdout.isTTY ? Readable.from(events).pipe(new spec()) : tap(events);
  for await (const text of report) process.stdout.write(text);
  try {
    const took = timesOfThisRun().map(({ file, seconds }) => [nameOf(file), Math.round(seconds * 10) / 10]);
    mkdirSync(path.dirname(cache), { recursive: true });
    writeFileSync(cache, JSON.stringify({ ...last, ...Object.fromEntries(took) }));
  } catch {
    // A folder that may not be written only costs the next run its order.
  }
}

const nameOf = (file: string) => path.relative(folder, file).replace(/\.js$/, ".ts");

function lastTimes(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(cache, "utf8"));
  } catch {
    return {};
  }
}

const timesOfThisRun = (): Time[] =>
  !existsSync(notes)
    ? []
    : readFileSync(notes, "utf8")
        .trim()
        .split("\n")
        .map(line => JSON.parse(line));

/** Adds the slowest files to the run's own summary, and every failure once more: of a long log often only the end is kept. */
async function* withSummary(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent, void> {
  let told = false;
  const failures: string[] = [];
  for await (const event of events) {
    if (
      event.type === "test:fail" &&
      (event.data.details.error as { failureType?: string }).failureType !== "subtestsFailed"
    ) {
      const { file = "", line = 0, name, details } = event.data;
      const cause: unknown = details.error.cause ?? details.error;
      // What a test throws need not be an Error, nor have a toString().
      const text = cause instanceof Error ? String(cause) : inspect(cause);
      failures.push(`failed: ${path.relative(process.cwd(), file)}:${line}: ${name}: ${text}`);
    }
    if (!told && event.type === "test:diagnostic" && /^tests \d/.test(event.data.message)) {
      told = true;
      for (const failure of failures)
        for (const message of failure.split("\n").slice(0, 20))
          yield { type: "test:diagnostic", data: { ...event.data, message } };
      for (const { file, seconds, cpu } of timesOfThisRun()
        .sort((a, b) => b.seconds - a.seconds)
        .slice(0, 10)) {
        const message = `${seconds.toFixed(1)} s (${cpu.toFixed(1)} s of CPU in its process): ${nameOf(file)}`;
        yield { type: "test:diagnostic", data: { ...event.data, message } };
      }
    }
    yield event;
  }
}

await main().catch(error => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
