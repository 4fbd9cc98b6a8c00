/** docs/start.md, followed in a copy of the tree: its files, the lines that it adds to others, and the test that it ends with. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { temporaryFolder } from "../folder.ts";

const root = path.dirname(realpathSync(path.join(import.meta.dirname, "../../package.json")));
const page = readFileSync(path.join(root, "docs/start.md"), "utf8");
const copy = temporaryFolder("start");
chmodSync(copy, 0o711); // root's Postgres runs as another user

/** A new file is written. In one that exists, imports come first, and a line comes after the keys' like it, or last. */
function place(file: string, code: string): void {
  const name = path.join(copy, file);
  if (!existsSync(name)) {
    mkdirSync(path.dirname(name), { recursive: true });
    writeFileSync(name, code);
    return;
  }
  const imports = code.match(/^import .*\n/gm)?.join("") ?? "";
  const line = code.replace(imports, "").replaceAll(/^\n|\n$/g, "");
  const text = imports + readFileSync(name, "utf8");
  const sibling = line.replaceAll("bookmarks", "keys").replace('"/api/keys"', '"/api/tenants/keys"');
  writeFileSync(
    name,
    text.includes(sibling) ? text.replace(sibling, `${sibling}\n${line}`) : `${text.trimEnd()}\n${line}\n`,
  );
}

function run(script: string): void {
  // The copy's own run starts its own Postgres and runner.
  const env = {
    ...process.env,
    NODE_TEST_CONTEXT: undefined,
    TMS_TEST_DATABASE: undefined,
    TMS_TEST_TIMES: undefined,
  };
  const { status, stdout, stderr } = spawnSync("sh", ["-ec", script], { cwd: copy, env, encoding: "utf8" });
  assert.equal(status, 0, `${script}\n${stdout}\n${stderr}`);
}

test("the table, the function, the schema, the route and the test of the page work together", () => {
  for (const part of [
    ".gmrc",
    "bench",
    "biome.json",
    "package.json",
    "tsconfig.json",
    "db",
    "examples",
    "src",
    "test",
  ])
    cpSync(path.join(root, part), path.join(copy, part), { recursive: true });
  symlinkSync(path.join(root, "node_modules"), path.join(copy, "node_modules"));
  const blocks = page.matchAll(
    /^`(?<file>[\w./-]+)`\n```\w+\n(?<code>[\s\S]*?)^```$|^```sh\n(?<script>[\s\S]*?)^```$/gm,
  );
  const ran: string[] = [];
  for (const { groups } of blocks) {
    const { file, code, script } = groups!;
    if (file) place(file, code!);
    else if (/^(cat|npm test|npm run (release|gm -- commit))/.test(script!)) {
      run(script!);
      ran.push(script!);
    }
  }
  assert.equal(ran.length, 4);
});
