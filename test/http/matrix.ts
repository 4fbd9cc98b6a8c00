/** Every operation of the OpenAPI document, and every kind of caller. Each request has a tenant of its own. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { SignJWT } from "jose";
import type postgres from "postgres";
import type { Document } from "../../src/http/openapi.ts";
import { makeSecret, tokenOf } from "../../src/values/invitation-token.ts";
import { hashOf } from "../../src/values/secret.ts";
import { token } from "../harness.ts";
import type { World } from "./world.ts";

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

async function newCell(sql: postgres.Sql, status: string): Promise<Cell> {
  const n = ++cells;
  const slug = `cell-${n}`;
  const secret = makeSecret();
  const [id, target, invitation, key, owner] = Array.from({ length: 5 }, () => randomUUID());
  const now = new Date();
  const deleted = status === "deleted" ? now : null;
  // Statements that Citus accepts too, sent together.
  await sql.begin(tx => [
    tx`
      insert into app.tenants (id, slug, name, status, deleted_at, purge_at, status_before)
      values (${id!}, ${slug}, ${slug}, ${status}, ${deleted}, ${deleted}, ${deleted && "active"})`,
    tx`
      insert into app.users (tenant_id, id, auth_provider, auth_subject, role, removed_at)
      values (${id!}, ${owner!}, 'jwt', ${`owner-${n}`}, 'owner', null),
        (${id!}, ${randomUUID()}, 'jwt', ${`admin-${n}`}, 'admin', null),
        (${id!}, ${randomUUID()}, 'jwt', ${`member-${n}`}, 'member', null),
        (${id!}, ${target!}, 'jwt', ${`target-${n}`}, 'member', null),
        (${id!}, ${randomUUID()}, 'jwt', ${`removed-${n}`}, 'owner', now())`,
    tx`
      insert into app.invitations (tenant_id, id, token_hash, invited_by)
      values (${id!}, ${invitation!}, decode(${hashOf(secret)}, 'hex'), ${owner!})`,
    tx`
      insert into app.api_keys (tenant_id, id, user_id, name, secret_hash, created_by)
      values (${id!}, ${key!}, ${target!}, 'CI', sha256('x'), ${target!})`,
  ]);
  return {
    n,
    slug,
    id: id!,
    target: target!,
    invitation: invitation!,
    key: key!,
    token: tokenOf(id!, secret),
  };
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
  says: (cell: Cell, sql: postgres.Sql) => Promise<Record<string, string>>;
  status?: string;
}

const forged = ({ n, slug }: Cell) =>
  new SignJWT({ sub: `owner-${n}`, tenant: slug, roles: ["tenant-operator"] })
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("1h")
    .sign(new TextEncoder().encode("another secret than that of the service, as long"));

export const CALLERS: Record<string, Caller> = {
  nobody: { says: async () => ({}) },
  forged: { says: async cell => bearer(await forged(cell)) },
  // Refused alike, so that nobody learns which tenants exist.
  unknown: { says: ({ n }) => named(`owner-${n}`, `unknown-${n}`) },
  outsider: { says: inCell("outsider") },
  other: {
    says: async ({ slug }, sql) => named(`owner-${(await newCell(sql, "active")).n}`, slug),
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
  createTenantInvitation: { body: () => ({ role: "owner" }) },
  acceptInvitation: { body: ({ token }) => ({ token }) },
  addMember: { body: () => ({ auth_subject: "somebody" }) },
  createKey: { body: () => ({ name: "CI", role: "member" }) },
  queryGraphql: { body: () => ({ query: "{ tenant { slug } }" }) },
  queryGraphqlByGet: { query: "?query={tenant{slug}}" },
};

export async function operationsOf({ service }: World) {
  const { paths } = (await service.request({ url: "/openapi.json" })).body as Document;
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      operationId: (operation as { operationId: string }).operationId,
      method: method.toUpperCase() as "GET",
      path,
    })),
  );
}
type Operation = Awaited<ReturnType<typeof operationsOf>>[number];

const lines = readFileSync(path.join(import.meta.dirname, "access-matrix.txt"), "utf8")
  .trim()
  .split("\n");
export const [head, ...rows] = lines.map(line => line.split(/[\s|]+/));
export const matrix = new Map(rows.map(([operationId, ...statuses]) => [operationId!, statuses]));

/** Headers that differ between two equal requests. */
const PASSING = ["date", "x-request-id", "x-ratelimit-reset"];

/** Sends the same request as often as it is called. */
export async function requestOf(
  { service, database: { sql } }: World,
  { operationId, method, path }: Operation,
  { says, status }: Caller,
) {
  const {
    body,
    query = "",
    status: needed = "active",
    type = "application/json",
  } = REQUESTS[operationId] ?? {};
  const cell = await newCell(sql, status ?? needed);
  const ids: Record<string, string> = {
    tenant_id: cell.id,
    user_id: cell.target,
    invitation_id: cell.invitation,
    key_id: cell.key,
  };
  const url = path.replace(/\{(\w+)\}/g, (_all, name) => ids[name]!) + query;
  const headers = { ...(await says(cell, sql)), ...(body && { "content-type": type }) };
  const payload = body && JSON.stringify(body(cell));
  return () => service.app.inject({ method, url, headers, ...(payload && { payload }) });
}

async function ask(world: World, operation: Operation, caller: Caller) {
  const answer = await (await requestOf(world, operation, caller))();
  const headers = Object.entries(answer.headers).filter(([name]) => !PASSING.includes(name));
  return { status: answer.statusCode, bytes: JSON.stringify([headers, answer.body]) };
}

/** Operations whose statuses are not those of the matrix, or that tell strangers apart. */
export async function wrongAnswers(world: World): Promise<string[]> {
  const wrong: string[] = [];
  for (const operation of await operationsOf(world)) {
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
  return wrong;
}

const byKey =
  (role: string, revoked = false) =>
  async ({ id, target }: Cell, sql: postgres.Sql) => {
    const secret = "ab".repeat(32);
    const [user, key] = [randomUUID(), randomUUID()];
    await sql.begin(tx => [
      tx`
        insert into app.users (tenant_id, id, auth_provider, auth_subject, role)
        values (${id}, ${user}, 'key', ${key}, ${role})`,
      tx`
        insert into app.api_keys (tenant_id, user_id, id, name, secret_hash, created_by, revoked_at)
        values (${id}, ${user}, ${key}, 'n', sha256(${secret}::text::bytea), ${target}, ${revoked ? new Date() : null})`,
    ]);
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

/** Operations that answer API keys otherwise than a person of the same role, but for what only people do. */
export async function wrongForKeys(world: World): Promise<string[]> {
  const wrong: string[] = [];
  for (const operation of await operationsOf(world)) {
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
  return wrong;
}
