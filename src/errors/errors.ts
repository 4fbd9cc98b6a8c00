import pg from "pg";
import { isUnreachable, NO_CONNECT, UNTRUSTED } from "./network.ts";

interface Beside {
  /** More fields of the body. */
  extra?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** Why, in one word for logs and metrics; never sent. */
  reason?: string | undefined;
  /** For the log alone. */
  cause?: unknown;
}

/** A refusal the client is meant to read: the HTTP status, the spec's `error` title, and a `detail` sentence. */
export class Problem extends Error {
  readonly extra: Record<string, unknown>;
  readonly headers: Record<string, string>;
  readonly reason: string | undefined;

  constructor(
    readonly status: number,
    readonly error: string,
    detail: string,
    { extra = {}, headers = {}, reason, cause }: Beside = {},
  ) {
    super(detail, { cause });
    this.extra = extra;
    this.headers = headers;
    this.reason = reason;
  }
}

/** One word for logs and metrics: docs/errors.md lists them. */
export const reasonOf = ({ reason, error }: Problem): string =>
  reason ?? error.toLowerCase().replace(/[^a-z0-9]+/g, "_");

type Titled = readonly [status: number, error: string, detail: string];

type OwnConstraint = "tenants_slug_key" | "users_tenant_identity_key" | "users_tenant_id_fkey";

/** Real constraint violations, by the constraint's name: what races past a check still answers like it. */
export const BY_CONSTRAINT: Record<OwnConstraint, Titled> = {
  tenants_slug_key: [409, "Conflict", "A tenant with this slug already exists"],
  users_tenant_identity_key: [409, "Conflict", "This identity is already a member of the tenant"],
  // The tenant was deleted in between.
  users_tenant_id_fkey: [403, "Access denied", "User does not belong to tenant"],
};

/** SQLSTATEs, the longest prefix first. `TMnnn` is not here: it carries its own status. Printed in docs/errors.md. */
export const BY_SQLSTATE: Record<string, Titled> = {
  "40": [503, "Service unavailable", "The database asked for another try; send the request again"],
  "55P03": [503, "Service unavailable", "The row is busy; send the request again"],
  "55000": [503, "Service unavailable", "The database cannot answer right now"],
  "25006": [503, "Service unavailable", "The database takes no writes right now; send the request again"],
  "25P03": [503, "Service unavailable", "The database cannot answer right now"],
  "25P04": [503, "Service unavailable", "The database cannot answer right now"],
  "57": [503, "Service unavailable", "The database cannot answer right now"],
  "53": [503, "Service unavailable", "The database cannot answer right now"],
  "08": [503, "Service unavailable", "The database cannot be reached"],
  "28": [503, "Service unavailable", "The database cannot be reached"],
  "3D": [503, "Service unavailable", "The database cannot be reached"],
  "22": [422, "Validation failed", "The database cannot store this value faithfully"],
  "23505": [409, "Conflict", "The value is already used"],
  "23": [422, "Validation failed", "The value breaks a rule of the database"],
};

/** Beside the network's: what this end, and the driver of the requests, say without an SQLSTATE. */
const NO_CONNECTION =
  /^(EADDRNOTAVAIL|EMFILE|ENFILE)|Client has encountered a connection error|SSL connection|received invalid response|Query read timeout|Cannot use a pool after calling end/;

/** Framework faults that a client causes, by status. The framework's own words stay out of the answer. Printed in docs/errors.md. */
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

/** The SQLSTATE of an error, or the system's word for it; "" where it has neither. */
export const codeOf = (error: unknown): string => (error as { code?: string } | undefined)?.code ?? "";

/**
 * On a standby Postgres refuses to plan anything on an unlogged table, such as the counters of limits, before it refuses to write.
 * And who may not connect to the database gets the code of a missing right inside it.
 */
const sqlstateOf = (error: pg.DatabaseError) => {
  const [code, { routine }] = [codeOf(error), error];
  if (code === "0A000" && routine === "get_relation_info") return "25006";
  return code === "42501" && routine === NO_CONNECT ? "28000" : code;
};

/** Asked again, its address may lead to one that does. */
export const takesNoWrites = (error: unknown) =>
  error instanceof pg.DatabaseError && sqlstateOf(error) === "25006";

/** Of a constraint with an answer of its own. Citus leaves the field empty, and names it in the message with the shard's number. */
const constraintOf = ({ code, constraint, message }: pg.DatabaseError) =>
  code?.startsWith("23")
    ? (Object.keys(BY_CONSTRAINT) as OwnConstraint[]).find(
        name => constraint === name || (!constraint && new RegExp(`\\b${name}_\\d+\\b`).test(message)),
      )
    : undefined;

/** As `app.refuse()` writes them; a product's function that raises by hand may say anything there. */
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
      reason: error.constraint,
    });
  }
  const reason = constraintOf(error);
  if (reason) return new Problem(...BY_CONSTRAINT[reason], { reason });
  const code = sqlstateOf(error);
  const known = [code, code.slice(0, 2)].map(code => BY_SQLSTATE[code]).find(Boolean);
  return known && new Problem(...known, { cause: error });
}

/** Every fault becomes a Problem; `undefined` means it is ours, not the client's: 500. */
export function toProblem(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (typeof error !== "object" || error === null) return undefined;
  // First what Postgres itself says: its messages repeat what clients sent, and EPIPE looks like an SQLSTATE.
  if (error instanceof pg.DatabaseError) return fromDatabase(error);
  const { message = "", statusCode } = error as { message?: string; statusCode?: number };
  // Before the network's errors: the framework calls a client that leaves in the middle of its body 400, and ECONNRESET.
  if (statusCode !== undefined) {
    const known = BY_STATUS[statusCode];
    if (known) return new Problem(...known);
    const [, ...words] = BY_STATUS[400]!;
    if (statusCode >= 400 && statusCode < 500) return new Problem(statusCode, ...words);
  }
  // Of the requests' pool: its connections are all in use, which says nothing of the server.
  if (message.startsWith("timeout exceeded")) return new Problem(...BY_SQLSTATE["53"]!);
  const code = codeOf(error);
  if (isUnreachable(error) || UNTRUSTED.test(code) || NO_CONNECTION.test(`${code} ${message}`))
    return new Problem(...BY_SQLSTATE["08"]!);
  return undefined;
}

/** Whatever is no Problem. */
export const INTERNAL = new Problem(
  500,
  "Internal error",
  "Something went wrong on our side; the request id finds it in the log",
);
