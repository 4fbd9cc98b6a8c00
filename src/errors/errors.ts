import pg from "pg";
import { isUnreachable, NO_CONNECT, UNTRUSTED } from "./network.ts";
import { SQLSTATE } from "./sqlstates.ts";

export interface Beside {
  /** More fields of the body. */
  extra?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** The reason in one word, for logs and metrics; never sent. */
  reason?: string | undefined;
  keyTenant?: string;
  /** For the log only. */
  cause?: unknown;
}

/** A refusal for the client to read: the HTTP status, the `error` title, and a `detail` sentence. */
export class Problem extends Error {
  readonly extra: Record<string, unknown>;
  readonly headers: Record<string, string>;
  readonly reason: string | undefined;
  /** The slug of the tenant that an API key has entered, as app.refuse() sends it. */
  readonly keyTenant: string | undefined;

  constructor(
    readonly status: number,
    readonly error: string,
    detail: string,
    { extra = {}, headers = {}, reason, keyTenant, cause }: Beside = {},
  ) {
    super(detail, { cause });
    this.extra = extra;
    this.headers = headers;
    this.reason = reason;
    this.keyTenant = keyTenant;
  }
}

/** One word for logs and metrics: docs/reference/errors.md lists them. */
export const reasonOf = ({ reason, error }: Problem): string =>
  reason ?? error.toLowerCase().replace(/[^a-z0-9]+/g, "_");

export const CHALLENGE = 'Bearer realm="tenants"';

/** The header of a 401 (RFC 6750). */
export const challengeOf = (detail: string, code = "invalid_token"): string =>
  `${CHALLENGE}, error="${code}", error_description="${detail}"`;

type Titled = readonly [status: number, error: string, detail: string];

type OwnConstraint = "tenants_slug_key" | "users_tenant_identity_key" | "users_tenant_id_fkey";

/** Constraint violations by name: a request that races past a check gets the answer of the check. */
export const BY_CONSTRAINT: Record<OwnConstraint, Titled> = {
  tenants_slug_key: [409, "Conflict", "A tenant with this slug already exists"],
  users_tenant_identity_key: [409, "Conflict", "This identity is already a member of the tenant"],
  // The tenant was deleted between the check and the insert.
  users_tenant_id_fkey: [403, "Access denied", "User does not belong to tenant"],
};

/** By SQLSTATE, else by its class. `TMnnn` is not here: it carries its own status. docs/reference/errors.md has this table. */
export const BY_SQLSTATE: Record<string, Titled> = {
  "40": [503, "Service unavailable", "The database asked for another try; send the request again"],
  [SQLSTATE.lock_not_available]: [503, "Service unavailable", "The row is busy; send the request again"],
  [SQLSTATE.object_not_in_prerequisite_state]: [
    503,
    "Service unavailable",
    "The database cannot answer right now",
  ],
  [SQLSTATE.read_only_sql_transaction]: [
    503,
    "Service unavailable",
    "The database takes no writes right now; send the request again",
  ],
  [SQLSTATE.idle_in_transaction_session_timeout]: [
    503,
    "Service unavailable",
    "The database cannot answer right now",
  ],
  [SQLSTATE.transaction_timeout]: [503, "Service unavailable", "The database cannot answer right now"],
  "57": [503, "Service unavailable", "The database cannot answer right now"],
  "53": [503, "Service unavailable", "The database cannot answer right now"],
  "08": [503, "Service unavailable", "The database cannot be reached"],
  "28": [503, "Service unavailable", "The database cannot be reached"],
  "3D": [503, "Service unavailable", "The database cannot be reached"],
  "22": [422, "Validation failed", "The database cannot store this value faithfully"],
  [SQLSTATE.unique_violation]: [409, "Conflict", "The value is already used"],
  "23": [422, "Validation failed", "The value breaks a rule of the database"],
};

/** Errors of this machine and of node-postgres that have no SQLSTATE; isUnreachable() knows those of the network. */
const NO_CONNECTION =
  /^(EADDRNOTAVAIL|EMFILE|ENFILE)|Client has encountered a connection error|SSL connection|received invalid response|Query read timeout|Cannot use a pool after calling end/;

/** Errors of Fastify and of Node that a client causes, by status; their own texts are not sent. docs/reference/errors.md has this table. */
export const BY_STATUS: Record<number, Titled> = {
  400: [400, "Bad Request", "The request could not be understood"],
  401: [401, "Unauthorized", "A valid bearer token is required"],
  404: [404, "Not found", "There is nothing at this address"],
  405: [405, "Method not allowed", "This address does not take this method"],
  408: [408, "Request timeout", "The request took too long to arrive"],
  413: [413, "Payload too large", "The body is larger than this service takes"],
  414: [414, "URI too long", "A part of the address is longer than this service takes"],
  415: [415, "Unsupported media type", "Send the body as application/json"],
  417: [417, "Expectation failed", "Send the request without an Expect header"],
  431: [431, "Request header fields too large", "The headers are larger than this service takes"],
  503: [503, "Service unavailable", "The service is overloaded or stopping; send the request again"],
};

/** The SQLSTATE of an error, or the operating system's code; "" for an error without one. */
export const codeOf = (error: unknown): string => (error as { code?: string } | undefined)?.code ?? "";

/**
 * Two SQLSTATEs have a second meaning. A standby refuses to plan a query on an unlogged table, such as the rate limit counters, before
 * it refuses the write. A login without the right to connect gets the same code as one without a right inside the database.
 */
const sqlstateOf = (error: pg.DatabaseError) => {
  const [code, { routine }] = [codeOf(error), error];
  if (code === SQLSTATE.feature_not_supported && routine === "get_relation_info")
    return SQLSTATE.read_only_sql_transaction;
  return code === SQLSTATE.insufficient_privilege && routine === NO_CONNECT
    ? SQLSTATE.invalid_authorization_specification
    : code;
};

/** The server is read-only (a standby); a reconnect may reach the primary. */
export const takesNoWrites = (error: unknown) =>
  error instanceof pg.DatabaseError && sqlstateOf(error) === SQLSTATE.read_only_sql_transaction;

/** The violated constraint, if it has its own answer. Citus leaves the field empty: its message has the name, with the shard's number. */
const constraintOf = ({ code, constraint, message }: pg.DatabaseError) =>
  code?.startsWith("23")
    ? (Object.keys(BY_CONSTRAINT) as OwnConstraint[]).find(
        name => constraint === name || (!constraint && new RegExp(`\\b${name}_\\d+\\b`).test(message)),
      )
    : undefined;

/** More fields of the body, as `app.refuse()` writes them. A function that raises by itself may have any text there. */
function fieldsOf({ detail }: pg.DatabaseError): Record<string, unknown> {
  try {
    const fields: unknown = JSON.parse(detail || "{}");
    return typeof fields === "object" && !Array.isArray(fields) ? { ...fields } : {};
  } catch {
    return {};
  }
}

function fromDatabase(error: pg.DatabaseError): Problem | undefined {
  const own = /^TM([45]\d\d)$/.exec(codeOf(error));
  if (own) {
    return new Problem(Number(own[1]), error.hint ?? "Error", error.message, {
      extra: fieldsOf(error),
      ...(own[1] === "401" && { headers: { "www-authenticate": challengeOf(error.message) } }),
      reason: error.constraint,
      ...(error.schema && { keyTenant: error.schema }),
    });
  }
  const reason = constraintOf(error);
  if (reason) return new Problem(...BY_CONSTRAINT[reason], { reason });
  const code = sqlstateOf(error);
  const known = [code, code.slice(0, 2)].map(code => BY_SQLSTATE[code]).find(Boolean);
  return known && new Problem(...known, { cause: error });
}

/** The Problem that a client gets for an error; `undefined` means a fault of the service: 500. */
export function toProblem(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (typeof error !== "object" || error === null) return undefined;
  // Errors of Postgres come first: their messages repeat what clients sent, and EPIPE looks like an SQLSTATE.
  if (error instanceof pg.DatabaseError) return fromDatabase(error);
  const { message = "", statusCode } = error as { message?: string; statusCode?: number };
  // Before errors of the network: for a client that leaves in the middle of its body Fastify has both 400 and ECONNRESET.
  if (statusCode !== undefined) {
    const known = BY_STATUS[statusCode];
    if (known) return new Problem(...known);
    const [, ...words] = BY_STATUS[400]!;
    if (statusCode >= 400 && statusCode < 500) return new Problem(statusCode, ...words);
  }
  // All connections of the pool are in use, which says nothing of the server.
  if (message.startsWith("timeout exceeded")) return new Problem(...BY_SQLSTATE["53"]!);
  const code = codeOf(error);
  if (isUnreachable(error) || UNTRUSTED.test(code) || NO_CONNECTION.test(`${code} ${message}`))
    return new Problem(...BY_SQLSTATE["08"]!);
  return undefined;
}

/** The answer to every error that is not a Problem. */
export const INTERNAL = new Problem(
  500,
  "Internal error",
  "Something went wrong on our side; the request id finds it in the log",
);
