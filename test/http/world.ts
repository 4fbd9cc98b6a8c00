/** Shared by the HTTP tests: a service on its own database, and tokens for callers. */
import assert from "node:assert/strict";
import {
  createDatabase,
  createService,
  type Database,
  type Service,
  type TestResponse,
  token,
} from "../harness.ts";

export interface World {
  database: Database;
  service: Service;
  /** Closes everything. A property: tests take it out of its world. */
  end: () => Promise<void>;
}

export async function createWorld(env: Record<string, string> = {}): Promise<World> {
  const database = await createDatabase();
  const service = await createService(database, env).catch(async error => {
    await database.drop();
    throw error;
  });
  const end = async () => {
    await service.close();
    await database.drop();
  };
  return { database, service, end };
}

/** Moves the service's monotonic clock by a second, so that it refreshes answers that it shares for that time. */
export function passASecond() {
  const now = performance.now.bind(performance);
  performance.now = () => now() + 1_010;
}

let made = 0;

/** A token of a new operator, with rate limits of its own. The tenant that it names need not exist. */
export const operator = (claims: object = {}) =>
  token({ sub: `operator-${++made}`, roles: ["tenant-operator"], tenant: "operations", ...claims });

/** A token of a person, with a tenant claim or without. */
export const person = (sub: string, tenant?: string, claims: object = {}) =>
  token({ sub, ...(tenant !== undefined && { tenant }), ...claims });

export const DENIED = { error: "Access denied", detail: "User does not belong to tenant" };

/** Fails unless the answer is exactly this error, in JSON. */
export function assertError(answer: TestResponse, status: number, body: object) {
  assert.deepEqual({ status: answer.status, body: answer.body }, { status, body });
  assert.deepEqual(
    ["content-type", "cache-control", "x-content-type-options"].map(name => answer.headers[name]),
    ["application/json; charset=utf-8", "no-store", "nosniff"],
  );
  assert.match(String(answer.headers["x-request-id"]), /^[\w-]{1,64}$/);
}

/** Requests to /api/setup, each as a new operator unless the test gives a token. */
export const setupOf = ({ service }: World) => ({
  create: async (body: object, headers = {}, token?: string) =>
    service.request({
      method: "POST",
      url: "/api/setup/tenant",
      token: token ?? (await operator()),
      headers,
      body,
    }),
  send: async (
    method: "GET" | "PUT" | "PATCH" | "POST" | "DELETE" | "HEAD",
    path: string,
    body?: unknown,
    headers = {},
  ) => service.request({ method, url: `/api/setup/${path}`, token: await operator(), headers, body }),
});
