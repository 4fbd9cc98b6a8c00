import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";

/** A refusal the client is meant to read: the HTTP status, the spec's `error` title, and a `detail` sentence. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly error: string,
    detail: string,
    readonly extra: Record<string, unknown> = {},
    readonly headers: Record<string, string> = {},
  ) {
    super(detail);
  }
}

type Titled = readonly [status: number, error: string, detail: string];

/** Real constraint violations, by the constraint's name: what races past a check still answers like it. */
const BY_CONSTRAINT: Record<string, Titled> = {
  tenants_slug_key: [409, "Conflict", "A tenant with this slug already exists"],
  users_tenant_identity_key: [409, "Conflict", "This identity is already a member of the tenant"],
};

/** SQLSTATEs, the longest prefix first. `TMnnn` is not here: it carries its own status. Printed in docs/errors.md. */
export const BY_SQLSTATE: Record<string, Titled> = {
  "40": [503, "Service unavailable", "The database asked for another try; send the request again"],
  "55P03": [503, "Service unavailable", "The row is busy; send the request again"],
  "57": [503, "Service unavailable", "The database cannot answer right now"],
  "53": [503, "Service unavailable", "The database cannot answer right now"],
  "08": [503, "Service unavailable", "The database cannot be reached"],
  "28": [503, "Service unavailable", "The database cannot be reached"],
  "3D": [503, "Service unavailable", "The database cannot be reached"],
  "22": [422, "Validation failed", "The database cannot store this value faithfully"],
  "23505": [409, "Conflict", "The value is already used"],
  "23": [422, "Validation failed", "The value breaks a rule of the database"],
};

/** Errors of the driver and the network that come without an SQLSTATE. */
const UNREACHABLE =
  /^(ECONN|ENOTFOUND|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|EPIPE|EAI_AGAIN)|timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Query read timeout|Cannot use a pool after calling end/;

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
  431: [431, "Request header fields too large", "The headers are larger than this service takes"],
  503: [503, "Service unavailable", "The service is overloaded or stopping; send the request again"],
};

const problem = ([status, error, detail]: Titled, extra?: Record<string, unknown>) => new Problem(status, error, detail, extra);

interface DatabaseError {
  code: string;
  message: string;
  detail?: string;
  hint?: string;
  constraint?: string;
}

function fromDatabase(error: DatabaseError): Problem | undefined {
  const own = /^TM(\d{3})$/.exec(error.code);
  if (own) {
    const extra = error.detail ? (JSON.parse(error.detail) as Record<string, unknown>) : {};
    return new Problem(Number(own[1]), error.hint ?? "Error", error.message, extra);
  }
  const named = error.constraint && BY_CONSTRAINT[error.constraint];
  if (named) return problem(named);
  const known = [error.code, error.code.slice(0, 2)].map(code => BY_SQLSTATE[code]).find(Boolean);
  return known && problem(known);
}

/** Every fault becomes a Problem; `undefined` means it is ours, not the client's: 500. */
export function toProblem(error: unknown): Problem | undefined {
  if (error instanceof Problem) return error;
  if (typeof error !== "object" || error === null) return undefined;
  const { code, message = "", statusCode } = error as { code?: unknown; message?: string; statusCode?: number };
  if (UNREACHABLE.test(typeof code === "string" ? code : "") || UNREACHABLE.test(message)) {
    return problem(BY_SQLSTATE["08"]!);
  }
  if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code)) return fromDatabase(error as DatabaseError);
  if (statusCode !== undefined && statusCode !== 500) {
    const known = BY_STATUS[statusCode];
    if (known) return problem(known);
    if (statusCode >= 400 && statusCode < 500) return new Problem(statusCode, "Bad Request", "The request could not be understood");
  }
  return undefined;
}

/** The one place that writes an error: body `{error, detail, …extra, request_id}`; causes go to the log alone. */
export function sendError(error: FastifyError | unknown, request: FastifyRequest, reply: FastifyReply) {
  const found = toProblem(error);
  if (!found) request.log.error({ err: error }, "unexpected fault");
  else if (found.status >= 500) request.log.warn({ err: error }, "request refused: a dependency is unavailable");
  const { status, error: title, message, extra, headers } =
    found ?? new Problem(500, "Internal error", "Something went wrong on our side; the request id finds it in the log");
  if (status === 503) reply.header("retry-after", headers["retry-after"] ?? "1");
  return reply
    .code(status)
    .headers(headers)
    .type("application/json; charset=utf-8")
    .send(JSON.stringify({ error: title, detail: message, ...extra, request_id: request.id }));
}
