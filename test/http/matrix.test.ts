/**
 * Every operation of the OpenAPI document, asked by every kind of caller: access-matrix.txt has the statuses. An operation
 * without a row fails. Each cell has a tenant of its own, so that no request changes what another one finds.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { SignJWT } from "jose";
import type { Document } from "../../src/http/openapi.ts";
import { hashOf, makeSecret, tokenOf } from "../../src/values/invitation-token.ts";
import { token } from "../harness.ts";
import { createWorld } from "./world.ts";

const world = await createWorld({ SERVICE_LOG_LEVEL: "silent" });
const { sql } = world.database;
after(() => world.end());

/** A tenant with its people. */
interface Cell {
  n: number;
  slug: string;
  id: string;
  /** A member whom the request is about, and an API key. */
  target: string;
  key: string;
  /** An open invitation. */
  invitation: string;
  token: string;
}

const ROLES = ["owner", "admin", "member"];
let cells = 0;

async function newCell(status: string): Promise<Cell> {
  const n = ++cells;
  const slug = `cell-${n}`;
  const secret = makeSecret();
  const [row] = await sql<{ id: string; target: string; invitation: string; key: string }[]>`
    with t as (
      insert into app.tenants (slug, name, status, deleted_at, purge_at, status_before)
      select ${slug}, ${slug}, ${status}, d.at, d.at, case when d.at is not null then 'active' end
      from (select case when ${status} = 'deleted' then now() end) d (at)
      returning id),
    people (subject, role, removed_at) as (
      values ('owner', 'owner', null), ('admin', 'admin', null), ('member', 'member', null), ('target', 'member', null),
        ('removed', 'owner', now())),
    u as (
      insert into app.users (tenant_id, auth_provider, auth_subject, role, removed_at)
      select t.id, 'jwt', p.subject || ${`-${n}`}, p.role, p.removed_at from t, people p
      returning tenant_id, id, auth_subject),
    i as (
      insert into app.invitations (tenant_id, token_hash, invited_by)
      select tenant_id, decode(${hashOf(secret)}, 'hex'), id from u where auth_subject like 'owner%'
      returning id),
    k as (
      insert into app.api_keys (tenant_id, user_id, name, secret_hash, created_by)
      select tenant_id, id, 'CI', sha256('x'), id from u where auth_subject like 'target%'
      returning id)
    select u.tenant_id as id, u.id as target, i.id as invitation, k.id as key from u, i, k where auth_subject like 'target%'`;
  return { n, slug, ...row!, token: tokenOf(row!.id, secret) };
}

const bearer = (given: string) => ({ authorization: `Bearer ${given}` });
const named = async (sub: string, tenant: string, claims = {}) =>
  bearer(await token({ sub, tenant, ...claims }));
const inCell =
  (who: string) =>
  ({ n, slug }: Cell) =>
    named(`${who}-${n}`, slug);

/** A kind of caller: what its request says of it, and the status of the tenant when that is not the one that the operation needs. */
interface Caller {
  says: (cell: Cell) => Promise<Record<string, string>>;
  status?: string;
}

const forged = ({ n, slug }: Cell) =>
  new SignJWT({ sub: `owner-${n}`, tenant: slug, roles: ["tenant-operator"] })
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("1h")
    .sign(new TextEncoder().encode("another secret than that of the service, as long"));

const CALLERS: Record<string, Caller> = {
  nobody: { says: async () => ({}) },
  forged: { says: async cell => bearer(await forged(cell)) },
  // Refused alike, so that nobody learns which tenants exist.
  unknown: { says: ({ n }) => named(`owner-${n}`, `unknown-${n}`) },
  outsider: { says: inCell("outsider") },
  other: {
    says: async ({ slug }) => named(`owner-${(await newCell("active")).n}`, slug),
  },
  pending: { says: inCell("owner"), status: "pending" },
  suspended: { says: inCell("owner"), status: "suspended" },
  deleted: { says: inCell("owner"), status: "deleted" },
  removed: { says: inCell("removed") },
  ...Object.fromEntries(ROLES.toReversed().map(role => [role, { says: inCell(role) }])),
  operator: { says: ({ n, slug }) => named(`operator-${n}`, slug, { roles: ["tenant-operator"] }) },
};
const STRANGERS = ["unknown", "outsider", "other", "pending", "suspended", "deleted", "removed"];

/** What an operation needs beyond its address. */
const REQUESTS: Record<
  string,
  { body?: (cell: Cell) => object; query?: string; status?: string; type?: string }
> = {
  explainAccess: { query: "?subject=ann" },
  explainClaims: { body: ({ slug }) => ({ claims: { sub: "ann", tenant: slug } }) },
  createTenant: { body: ({ n }) => ({ name: "New", slug: `new-${n}-${++cells}` }) },
  updateTenant: { body: () => ({ name: "Renamed" }) },
  patchTenant: { body: () => ({ settings: { theme: "dark" } }), type: "application/merge-patch+json" },
  patchCurrentTenant: { body: () => ({ name: "Renamed" }), type: "application/merge-patch+json" },
  approveTenant: { status: "pending" },
  rejectTenant: { status: "pending" },
  resumeTenant: { status: "suspended" },
  restoreTenant: { status: "deleted" },
  registerTenant: {
    body: () => ({
      organization_name: "New",
      organization_slug: `registered-${++cells}`,
      admin_email: "ann@example.com",
    }),
  },
  addTenantMember: { body: () => ({ auth_subject: "somebody", role: "owner" }) },
  changeTenantMember: { body: () => ({ role: "owner" }) },
  changeMember: { body: () => ({ role: "admin" }) },
  createInvitation: { body: () => ({ role: "admin" }) },
  acceptInvitation: { body: ({ token }) => ({ token }) },
  addMember: { body: () => ({ auth_subject: "somebody" }) },
  createKey: { body: () => ({ name: "CI", role: "member" }) },
  queryGraphql: { body: () => ({ query: "{ tenant { slug } }" }) },
  queryGraphqlByGet: { query: "?query={tenant{slug}}" },
};

const { paths } = (await world.service.request({ url: "/openapi.json" })).body as Document;
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    operationId: (operation as { operationId: string }).operationId,
    method: method.toUpperCase() as "GET",
    path,
  })),
);

const lines = readFileSync(path.join(import.meta.dirname, "access-matrix.txt"), "utf8")
  .trim()
  .split("\n");
const [head, ...rows] = lines.map(line => line.split(/[\s|]+/));
const matrix = new Map(rows.map(([operationId, ...statuses]) => [operationId!, statuses]));

test("the matrix has a column for every caller and a row for every operation", () => {
  assert.deepEqual(head!.slice(1), Object.keys(CALLERS));
  assert.deepEqual(
    [...matrix.keys()].toSorted(),
    operations.map(({ operationId }) => operationId).toSorted(),
  );
});

/** Headers that differ between two equal requests. */
const PASSING = ["date", "x-request-id", "x-ratelimit-reset"];

async function ask({ operationId, method, path }: (typeof operations)[number], { says, status }: Caller) {
  const {
    body,
    query = "",
    status: needed = "active",
    type = "application/json",
  } = REQUESTS[operationId] ?? {};
  const cell = await newCell(status ?? needed);
  const ids: Record<string, string> = {
    tenant_id: cell.id,
    user_id: cell.target,
    invitation_id: cell.invitation,
    key_id: cell.key,
  };
  const url = path.replace(/\{(\w+)\}/g, (_all, name) => ids[name]!) + query;
  const answer = await world.service.app.inject({
    method,
    url,
    headers: { ...(await says(cell)), ...(body && { "content-type": type }) },
    ...(body && { payload: JSON.stringify(body(cell)) }),
  });
  const headers = Object.entries(answer.headers).filter(([name]) => !PASSING.includes(name));
  return { status: answer.statusCode, bytes: JSON.stringify([headers, answer.body]) };
}

test("every operation answers every caller with the status of the matrix, and refuses all strangers alike", async () => {
  const wrong: string[] = [];
  for (const operation of operations) {
    const { operationId } = operation;
    const answers = await Promise.all(Object.values(CALLERS).map(caller => ask(operation, caller)));
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
    const answers = await Promise.all(KEYS.map(([caller]) => ask(operation, caller)));
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
