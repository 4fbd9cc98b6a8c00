/**
 * Every operation of the OpenAPI document, asked by every kind of caller: access-matrix.txt has the statuses. An operation
 * without a row fails. Each cell has a tenant of its own, so that no request changes what another one finds.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { CALLERS, head, matrix, operationsOf, requestOf, wrongAnswers, wrongForKeys } from "./matrix.ts";
import { createWorld } from "./world.ts";

const world = await createWorld({ SERVICE_LOG_LEVEL: "silent", SERVICE_TENANT_DELETION_GRACE: "7" });
const { sql } = world.database;
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

/** Every row of the service's tables, but for those that count requests. */
async function allRows(): Promise<string> {
  const tables = await sql<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
    where relkind = 'r' and relnamespace in ('app'::regnamespace, 'control'::regnamespace) and relname <> 'rate_limits' order by 1`;
  const each = tables.map(
    ({ name }) => `select '${name}' as name, md5(string_agg(t::text, ',' order by t::text)) from ${name} t`,
  );
  return JSON.stringify(await sql.unsafe(each.join(" union all ")));
}

/** Each makes another one under a new id, as a POST may. */
const MAKES_ANOTHER = ["createInvitation", "createTenantInvitation", "createKey"];

test("a repeated request never does more than the first", async () => {
  const wrong: string[] = [];
  for (const operation of operations.filter(({ method }) => method !== "GET")) {
    const { operationId } = operation;
    const statuses = matrix.get(operationId)!;
    const able = Object.values(CALLERS).findLast((_, i) => statuses[i]!.startsWith("20"))!;
    const send = await requestOf(world, operation, able);
    const { statusCode } = await send();
    if (statusCode >= 300) wrong.push(`${operationId}: ${statusCode}`);
    const once = await allRows();
    await send();
    if ((once === (await allRows())) === MAKES_ANOTHER.includes(operationId)) wrong.push(operationId);
  }
  assert.equal(wrong.join("\n"), "");
});

test("an API key gets what a person of its role gets, but for what only people do; a revoked one gets 401", async () => {
  assert.equal((await wrongForKeys(world)).join("\n"), "");
});
