/**
 * `npm test [-- files]`: one Postgres for the whole run, one template database with the schema, then node's own runner.
 * With TEST_DATABASE_URL (a superuser on Postgres 15 to 18) that server is used and its tms_ passwords are changed.
 */
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import postgres from "postgres";
import { startEmbedded } from "../src/embedded/embedded.ts";
import { applyRoles } from "../src/migrate/administrator.ts";
import { migrate } from "../src/migrate/migrate.ts";

const root = path.resolve(import.meta.dirname, "..");

async function main(): Promise<number> {
  const given = process.argv.slice(2);
  const files = given.length > 0 ? given : testFiles(path.join(root, "test"));
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
      return await runTests(files, JSON.stringify({ ...urls, template: prefix }));
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

const testFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter(name => name.endsWith(".test.ts"))
    .sort()
    .map(name => path.join(folder, name));

function runTests(files: string[], database: string): Promise<number> {
  // Node 20 counts it for a whole file: long enough for any on a slow machine, and one that waits for ever fails.
  const timeout = "--test-timeout=1800000";
  const args = ["--import", "tsx", "--test", "--test-concurrency=3", timeout, ...files];
  const built = mkdtempSync(path.join(tmpdir(), "tms-test-build-"));
  const env = { ...process.env, TMS_TEST_DATABASE: database, TMS_TEST_BUILD: built };
  const child = spawn(process.execPath, args, { stdio: "inherit", env });
  // Ctrl-C reaches the runner through the terminal; we stay to clean up after it.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  const ended = new Promise<number>((resolve, reject) =>
    child.on("error", reject).on("close", code => resolve(code ?? 1)),
  );
  return ended.finally(() => rmSync(built, { recursive: true }));
}

main().then(
  code => {
    process.exitCode = code;
  },
  error => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
