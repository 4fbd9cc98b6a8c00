/**
 * Runs what README.md, docs/ and examples/ show: shell blocks with curl, TypeScript and SQL, each document on a service of
 * its own that looks like the demo's. An error status that a block causes must be named in it or beside it. A block
 * after `<!-- not run: reason -->` is left out, and the reason printed.
 */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { type TestContext, test } from "node:test";
import postgres from "postgres";
import { createDatabase, createService, token } from "../harness.ts";

const root = path.resolve(import.meta.dirname, "../..");
const has = (program: string) => spawnSync(program, ["--version"]).status === 0;
const [hasCurl, hasBash, hasPsql] = ["curl", "bash", "psql"].map(has);

interface Block {
  kind: "sh" | "ts" | "sql";
  code: string;
  /** The block and what stands around it. */
  nearby: string;
  line: number;
  notRun?: string;
}

const KINDS: Record<string, Block["kind"]> = {
  sh: "sh",
  bash: "sh",
  ts: "ts",
  typescript: "ts",
  sql: "sql",
  psql: "sql",
};
const FENCE = /(?:<!-- not run: (?<reason>[^>]*) -->\s*)?^ *```(?<language>\w+)\n(?<code>[\s\S]*?)^ *```$/gm;

function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(FENCE)].flatMap(found => {
    const { language = "", code = "", reason } = found.groups!;
    const kind = KINDS[language];
    // A shell block without curl installs, starts or deploys: other tests do that.
    if (!kind || (kind === "sh" && !/\bcurl\b/.test(code))) return [];
    const nearby = markdown.slice(Math.max(0, found.index - 400), found.index + found[0].length + 400);
    const line = markdown.slice(0, found.index).split("\n").length;
    return [{ kind, code, nearby, line, ...(reason !== undefined && { notRun: reason }) }];
  });
}

const files = (folder: string, ending: string) =>
  readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
    .filter(name => name.endsWith(ending))
    .sort()
    .map(name => path.posix.join(folder, name));

const whole = (file: string, kind: Block["kind"]): Block[] => {
  const code = readFileSync(path.join(root, file), "utf8");
  return [{ kind, code, nearby: code, line: 1 }];
};

/** What a product's migrations do: run as tms_owner. */
const AS_OWNER = ["docs/guides/own-tables.md", "docs/guides/existing-tables.md"];

/** Run by psql.test.ts, which also compares what it prints, and by start.test.ts, in a copy of the tree. */
const ELSEWHERE = ["docs/guides/psql.md", "docs/start.md"];

const documents: [name: string, blocks: Block[]][] = [
  ...[...readdirSync(root).filter(name => name === "README.md"), ...files("docs", ".md")]
    .filter(file => !ELSEWHERE.includes(file))
    .map((file): [string, Block[]] => [file, blocksOf(readFileSync(path.join(root, file), "utf8"))]),
  ...files("examples/curl", ".sh").map((file): [string, Block[]] => [file, whole(file, "sh")]),
  ...files("examples/psql", ".sql").map((file): [string, Block[]] => [file, whole(file, "sql")]),
  ["examples/typescript/tenants.ts", whole("examples/typescript/tenants.ts", "ts")],
];

interface World {
  env: NodeJS.ProcessEnv;
  folder: string;
  answers: { line: string; status: number }[];
  close(): Promise<void>;
}

/** A listening service with what `npm run demo` sets up and names. */
async function createWorld(name: string): Promise<World> {
  const database = await createDatabase();
  const service = await createService(database);
  const answers: World["answers"] = [];
  await service.app.listen({ host: "127.0.0.1", port: 0 });
  service.app.server.on("request", ({ method, url }, response) =>
    response.on("finish", () => answers.push({ line: `${method} ${url}`, status: response.statusCode })),
  );
  const URL = `http://127.0.0.1:${(service.app.server.address() as AddressInfo).port}`;
  for (const [sub, slug, organization_name] of [
    ["alice", "acme", "Acme"],
    ["bob", "globex", "Globex"],
  ]) {
    const body = { organization_name, organization_slug: slug, admin_email: `${sub}@${slug}.example` };
    const as = await token({ sub: sub!, tenant: slug });
    await service.request({ method: "POST", url: "/api/tenants/register", token: as, body });
  }
  const env = {
    ...process.env,
    URL,
    API: `${URL}/api`,
    JSON: "Content-Type: application/json",
    OPERATOR: await token({ sub: "operator", roles: ["tenant-operator"], tenant: "default" }),
    ALICE: await token({ sub: "alice" }),
    BOB: await token({ sub: "bob" }),
    CAROL: await token({ sub: "carol", tenant: "hooli" }),
    DATABASE: AS_OWNER.includes(name) ? database.urls.owner : database.urls.root,
  };
  const folder = mkdtempSync(path.join(tmpdir(), "tms-docs-"));
  const close = async () => {
    await service.close();
    await database.drop();
    rmSync(folder, { recursive: true });
  };
  return { env, folder, answers, close };
}

function run(program: string, args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { env, cwd: root, timeout: 300_000 }, (error, stdout, stderr) =>
      error ? reject(new Error(`${error.message}\n${stdout}\n${stderr}`)) : resolve(),
    );
  });
}

/** Shell blocks share one shell, as the reader's do: what an earlier one sets, a later one has. */
async function runShell(blocks: Block[], { env, answers }: World): Promise<void> {
  let state = "";
  for (const { code, nearby, line } of blocks) {
    const before = answers.length;
    const script = `set -euo pipefail\n${state}\nset -a\n${code}\nexport -p > "$STATE"`;
    const file = path.join(tmpdir(), `tms-docs-${process.pid}.state`);
    await run("bash", ["-c", script], { ...env, STATE: file });
    state = readFileSync(file, "utf8").replaceAll(/^declare -x (STATE|PWD|OLDPWD|SHLVL)=.*$/gm, "");
    rmSync(file);
    const made = answers.slice(before);
    assert.ok(made.length > 0, `line ${line}: no request reached the service`);
    for (const { line: request, status } of made)
      assert.ok(
        status < 400 || nearby.includes(String(status)),
        `line ${line}: ${request} was answered ${status}, which the text does not say`,
      );
  }
}

async function runTypescript({ code, line }: Block, { env, folder }: World): Promise<void> {
  const file = path.join(folder, `line-${line}.mts`);
  writeFileSync(
    file,
    code.replaceAll(
      /from "(\.[^"]+)"/g,
      (_all, to) => `from "${path.join(root, "examples/typescript", to)}"`,
    ),
  );
  await run(process.execPath, ["--import", "tsx", file], env);
}

async function withoutPsql(code: string, url: string): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await sql.unsafe(code).simple();
  } finally {
    await sql.end();
  }
}

/** As a DBA's psql runs it; without psql, by the driver, which knows no backslash commands. */
async function runSql({ code, line }: Block, { env, folder }: World): Promise<void> {
  if (!hasPsql) return withoutPsql(code.replaceAll(/^\\.*$/gm, ""), env.DATABASE!);
  const file = path.join(folder, `line-${line}.sql`);
  writeFileSync(file, code);
  await run("psql", ["-X", "-v", "ON_ERROR_STOP=1", "-f", file, env.DATABASE!], env);
}

async function runAll(name: string, blocks: Block[], t: TestContext): Promise<void> {
  for (const { notRun, line } of blocks) if (notRun) t.diagnostic(`line ${line} is not run: ${notRun}`);
  const wanted = blocks.filter(({ notRun }) => !notRun);
  const shell = wanted.filter(({ kind }) => kind === "sh");
  const world = await createWorld(name);
  try {
    if (hasCurl && hasBash) await runShell(shell, world);
    else if (shell.length > 0) t.diagnostic("the shell blocks are not run: bash or curl is missing here");
    if (!hasPsql && wanted.some(({ kind }) => kind === "sql"))
      t.diagnostic(
        "the SQL blocks are run by the driver, which knows no backslash commands: psql is missing here",
      );
    for (const block of wanted) {
      if (block.kind === "ts") await runTypescript(block, world);
      if (block.kind === "sql") await runSql(block, world);
    }
  } finally {
    await world.close();
  }
}

test("the fences of documents are found", () => {
  const found = documents.flatMap(([name, blocks]) => (name.endsWith(".md") ? blocks : []));
  // A few less than there are.
  for (const [kind, least] of Object.entries({ sh: 6, sql: 3, ts: 1 })) {
    const { length } = found.filter(block => block.kind === kind);
    assert.ok(length >= least, `${length} of ${kind}`);
  }
});

const PAGES = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  "SECURITY.md",
  ...files("docs", ".md"),
  ...files("db", ".md"),
];

test("every link of a document leads to a file, and to a heading of it", () => {
  const textOf = (name: string) => readFileSync(path.join(root, name), "utf8").replaceAll(FENCE, "");
  const anchorsOf = (name: string) =>
    [...textOf(name).matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, "")
        .replaceAll(" ", "-"),
    );
  for (const name of PAGES)
    for (const [, to = ""] of textOf(name).matchAll(/\]\(((?!http)[^)\s]+)\)/g)) {
      const [file, anchor] = to.split("#", 2);
      const target = file ? path.posix.join(path.posix.dirname(name), file) : name;
      assert.ok(existsSync(path.join(root, target)), `${name}: ${to}`);
      if (anchor) assert.ok(anchorsOf(target).includes(anchor), `${name}: ${to}`);
    }
});

test("no shell block of a document has a comment: a zsh that is typed into takes it as arguments", () => {
  for (const name of PAGES)
    for (const { groups } of readFileSync(path.join(root, name), "utf8").matchAll(FENCE))
      if (KINDS[groups!.language!] === "sh") assert.doesNotMatch(groups!.code!, /(^|\s)#\s/, name);
});

test("a command that serves until Ctrl-C is the last of its shell block", () => {
  for (const name of PAGES)
    for (const { groups } of readFileSync(path.join(root, name), "utf8").matchAll(FENCE))
      if (KINDS[groups!.language!] === "sh")
        assert.doesNotMatch(groups!.code!, /npm (run demo|start|run gm -- watch)\b[^&\n]*\n./, name);
});

for (const [name, blocks] of documents) {
  if (blocks.length === 0) continue;
  test(`${name} shows what works: ${blocks.length} block(s)`, t => runAll(name, blocks, t));
}
