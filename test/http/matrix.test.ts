/**
 * Every operation of the OpenAPI document, asked by every kind of caller: access-matrix.txt has the statuses. An operation
 * without a row fails. Each cell has a tenant of its own, so that no request changes what another one finds.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { CALLERS, head, matrix, operationsOf, wrongAnswers, wrongForKeys } from "./matrix.ts";
import { createWorld } from "./world.ts";

const world = await createWorld({ SERVICE_LOG_LEVEL: "silent" });
const operations = await operationsOf(world);
after(() => world.end());

test("the matrix has a column for every caller and a row for every operation", () => {
  assert.deepEqual(head!.slice(1), Object.keys(CALLERS));
  assert.deepEqual(
    [...matrix.keys()].toSorted(),
    operations.map(({ operationId }) => operationId).toSorted(),
  );
});

test("every operation answers every caller with the status of the matrix, and refuses all strangers alike", async () => {
  assert.equal((await wrongAnswers(world)).join("\n"), "");
});

test("an API key gets what a person of its role gets, but for what only people do; a revoked one gets 401", async () => {
  assert.equal((await wrongForKeys(world)).join("\n"), "");
});
