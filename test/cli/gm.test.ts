import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { projectRoot } from "./command.ts";

// Nothing listens there: what gets as far as a connection says so.
const DATABASE_URL = "postgres://tms_owner:x@127.0.0.1:1/tms";
const gm = (args: string[]) =>
  spawnSync(process.execPath, ["--import", "tsx", "src/cli/gm.ts", ...args], {
    cwd: projectRoot,
    env: { PATH: process.env.PATH, DATABASE_URL, NO_COLOR: "1" },
    encoding: "utf8",
  });

test("a command that needs the shadow database says which variable is missing, and begins nothing", () => {
  for (const line of [
    "commit -m later",
    "uncommit",
    "status",
    "reset --shadow --erase",
    "migrate --shadow",
  ]) {
    const { status, stdout, stderr } = gm(line.split(" "));
    assert.deepEqual(
      [status, stdout, stderr],
      [1, "", "SHADOW_DATABASE_URL is missing: tms_owner's login on an empty database that may be wiped\n"],
      line,
    );
  }
});

test("a command that does without the shadow database is left to graphile-migrate", () => {
  const { status, stderr } = gm(["migrate"]);
  assert.notEqual(status, 0);
  assert.match(stderr, /ECONNREFUSED/);
  assert.doesNotMatch(stderr, /SHADOW_DATABASE_URL/);
});
