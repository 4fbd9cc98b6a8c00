import { isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyRequest, RouteOptions } from "fastify";
import fp from "fastify-plugin";
import { Problem } from "../errors/errors.ts";
import { PROBLEMS } from "../errors/problems.ts";
import { type FieldError, MOST_ERRORS } from "../values/field-errors.ts";
import { faultOf } from "../values/json-text.ts";

/** Each of a hundred errors may repeat a path. */
const LONGEST_FIELD = 200;

export function invalid(found: FieldError[]): Problem {
  const errors = found.slice(0, MOST_ERRORS).map(({ field, message }) => ({ field: cut(field), message }));
  const detail = errors.map(({ field, message }) => `${field} ${message}`).join("; ");
  return new Problem(422, "Validation failed", detail, { extra: { errors } });
}

const cut = (field: string) => (field.length > LONGEST_FIELD ? `${field.slice(0, LONGEST_FIELD)}…` : field);

/** For operations without a body: refuses any field, accepts an empty object. */
async function refuseBody({ body }: FastifyRequest): Promise<void> {
  if (body === undefined) return;
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw invalid([{ field: "body", message: "must be empty" }]);
  const fields = Object.keys(body);
  if (fields.length > 0) throw invalid(fields.map(field => ({ field, message: "is not a known field" })));
}

/** For operations whose body need not be there: none is an empty object. */
async function fillBody(request: FastifyRequest): Promise<void> {
  if (request.body === undefined) request.body = {};
}

/** A longer text has more than 255 characters in every normal form: validation refuses it, so normalizing it is a waste. */
const LONGEST_NAME = 2_048;

/** Normalizes names to NFC: names that look equal are stored equal, and their lengths count what is stored. */
async function normalizeNames({ body }: FastifyRequest): Promise<void> {
  if (typeof body !== "object" || body === null) return;
  const { owner } = body as { owner?: unknown };
  const inner = typeof owner === "object" && owner !== null ? [owner] : [];
  for (const fields of [body, ...inner] as Record<string, unknown>[]) {
    for (const field of ["name", "organization_name", "admin_name", "display_name"]) {
      const text = fields[field];
      if (typeof text === "string" && text.length <= LONGEST_NAME) fields[field] = text.normalize("NFC");
    }
  }
}

/** What an operation's body needs before it is validated; its schema tells. */
function preparationOf({ method, schema }: RouteOptions) {
  if (schema?.operationId === undefined || method === "GET" || method === "HEAD") return [];
  return schema.body === undefined ? [refuseBody] : schema.optionalBody ? [fillBody] : [normalizeNames];
}

const ZIPPED = new Problem(415, "Unsupported media type", "Send the body as it is, without Content-Encoding");

/** Parses JSON bodies, and refuses values that Postgres or JSON would change. */
export default fp(async (app: FastifyInstance) => {
  app.addHook("onRequest", ({ headers }, _reply, done) => {
    const { "content-encoding": encoding, "content-length": length = "0" } = headers;
    const zipped = encoding !== undefined && encoding.toLowerCase() !== "identity";
    done(zipped && (Number(length) > 0 || headers["transfer-encoding"]) ? ZIPPED : undefined);
  });
  app.addHook("onRoute", route => {
    route.preValidation = [...[route.preValidation ?? []].flat(), ...preparationOf(route)];
  });
  app.removeContentTypeParser("text/plain");
  app.addContentTypeParser("application/json", { parseAs: "buffer" }, parseJson);
});

export async function parseJson(_request: unknown, bytes: Buffer): Promise<unknown> {
  if (bytes.length === 0) return undefined; // many clients send Content-Type with a DELETE without a body
  if (!isUtf8(bytes)) throw new Problem(400, "Bad Request", "The body is not valid UTF-8");
  const text = bytes.toString("utf8");
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new Problem(...PROBLEMS.malformed);
  }
  const fault = faultOf(text);
  if (fault) throw invalid([fault]);
  return body;
}
