/**
 * Every operation of the OpenAPI document, asked by every kind of caller: access-matrix.txt has the statuses. An operation
 * without a row fails. Each cell has a tenant of its own, so that no request changes what another one finds.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  ask,
  bearer,
  CALLERS,
  type Caller,
  type Cell,
  head,
  matrix,
  operationsOf,
  STRANGERS,
} from "./matrix.ts";
import { createWorld } from "./world.ts";

const world = await createWorld({ SERVICE_LOG_LEVEL: "silent" });
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
  const wrong: string[] = [];
  for (const operation of operations) {
    const { operationId } = operation;
    const answers = await Promise.all(Object.values(CALLERS).map(caller => ask(world, operation, caller)));
    const statuses = answers.map(({ status }) => String(status));
    if (statuses.join() !== matrix.get(operationId)?.join())
      wrong.push(`${operationId} ${statuses.join(" ")}, in the matrix ${matrix.get(operationId)?.join(" ")}`);
    const refusals = answers.filter(
      ({ status }, i) => status === 403 && STRANGERS.includes(Object.keys(CALLERS)[i]!),
    );
    const alike = new Set(refusals.map(({ bytes }) => bytes));
    if (alike.size > 1) wrong.push(`${operationId} tells strangers apart: ${[...alike].join(" ")}`);
  }
  assert.equal(wrong.join("\n"), "");
});

const byKey =
  (role: string, revoked = false) =>
  async ({ id, target }: Cell) => {
    const secret = "ab".repeat(32);
    await sql`
      with u as (
        insert into app.users (tenant_id, auth_provider, auth_subject, role)
        values (${id}, 'key', gen_random_uuid(), ${role}) returning *)
      insert into app.api_keys (tenant_id, user_id, id, name, secret_hash, created_by, revoked_at)
      select u.tenant_id, u.id, u.auth_subject::uuid, 'n', sha256(${secret}::text::bytea), ${target}, ${revoked ? new Date() : null} from u`;
    return bearer(`tms_${id}_${secret}`);
  };

/** A key, and the column of the matrix whose statuses it gets. */
const KEYS: [caller: Caller, column: string][] = [
  [{ says: byKey("member") }, "member"],
  [{ says: byKey("admin") }, "admin"],
  [{ says: byKey("admin"), status: "suspended" }, "suspended"],
  [{ says: byKey("admin", true) }, "forged"],
];
/** Only people do this. */
const NOT_FOR_KEYS = ["registerTenant", "acceptInvitation", "createKey", "listKeys", "revokeKey"];
/** The default issuer of a new member is that of the caller's token, which a key has not. */
const WITHOUT_ISSUER = ["addMember"];

test("an API key gets what a person of its role gets, but for what only people do; a revoked one gets 401", async () => {
  const wrong: string[] = [];
  for (const operation of operations) {
    const { operationId } = operation;
    const answers = await Promise.all(KEYS.map(([caller]) => ask(world, operation, caller)));
    const expected = KEYS.map(([, column]) => {
      const status = matrix.get(operationId)?.[head!.indexOf(column) - 1];
      if (column === "forged" || status === "401") return status;
      if (NOT_FOR_KEYS.includes(operationId)) return "403";
      // A key always enters its tenant.
      if (column === "suspended" && operationId === "listMyTenants") return "403";
      return column === "admin" && WITHOUT_ISSUER.includes(operationId) ? "422" : status;
    });
    const statuses = answers.map(({ status }) => String(status));
    if (statuses.join() !== expected.join())
      wrong.push(`${operationId} ${statuses.join(" ")}, expected ${expected.join(" ")}`);
  }
  assert.equal(wrong.join("\n"), "");
});
