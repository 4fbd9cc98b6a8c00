import assert from "node:assert/strict";
import { test } from "node:test";
import { Shares } from "../../src/database/connection-shares.ts";
import { Problem } from "../../src/errors/errors.ts";

test("a name is forgotten when its last work has ended, failed or timed out", async () => {
  const shares = new Shares(2);
  assert.equal(await shares.run("done", 2, async () => shares.size), 1);
  assert.equal(shares.size, 0);
  const fails = shares.run("fails", 2, async () => {
    throw new Error("no");
  });
  await assert.rejects(fails, /no/);
  assert.equal(shares.size, 0);
  let end = () => {};
  const long = shares.run("long", 2, () => new Promise<void>(resolve => (end = resolve)));
  await assert.rejects(
    shares.run("long", 2, async () => {}),
    (error: Problem) => error instanceof Problem && error.status === 503,
  );
  assert.equal(shares.size, 1);
  const next = shares.run("long", 2, async () => {});
  end();
  await Promise.all([long, next]);
  assert.equal(shares.size, 0);
});
