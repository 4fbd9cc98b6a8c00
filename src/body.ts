import { isUtf8 } from "node:buffer";
import type { FastifyInstance, FastifyRequest } from "fastify";
import fp from "fastify-plugin";
import { Problem } from "./errors.ts";

const MAX_DEPTH = 32;

interface FieldError {
  field: string;
  message: string;
}

/** A body of fields that nobody knows has thousands, and their answer would be ten times as long. */
const MOST_ERRORS = 100;

export function invalid(found: FieldError[]): Problem {
  const errors = found.slice(0, MOST_ERRORS);
  const detail = errors.map(({ field, message }) => `${field} ${message}`).join("; ");
  return new Problem(422, "Validation failed", detail, { extra: { errors } });
}

/** For operations that take no body: a field that would be dropped is refused, an empty object is nothing. */
export async function refuseBody({ body }: FastifyRequest): Promise<void> {
  if (body === undefined) return;
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw invalid([{ field: "body", message: "must be empty" }]);
  const fields = Object.keys(body);
  if (fields.length > 0) throw invalid(fields.map(field => ({ field, message: "is not a known field" })));
}

/** Reads JSON bodies and refuses what Postgres or JSON could only hold by changing it. */
export default fp(async (app: FastifyInstance) => {
  app.removeContentTypeParser("text/plain");
  app.addContentTypeParser(
    "application/json",
    { parseAs: "buffer" },
    async (_request: unknown, bytes: Buffer) => {
      if (bytes.length === 0) return undefined; // many clients send the header with a DELETE and no body
      if (!isUtf8(bytes)) throw new Problem(400, "Bad Request", "The body is not valid UTF-8");
      const text = bytes.toString("utf8");
      let body: unknown;
      try {
        body = JSON.parse(text);
      } catch {
        throw new Problem(400, "Bad Request", "The body is not valid JSON");
      }
      const fault = findFault(body, "") ?? findInText(text, body);
      if (fault) throw invalid([fault]);
      return body;
    },
  );
});

function findFault(value: unknown, path: string, depth = 0): FieldError | undefined {
  const field = path || "body";
  if (typeof value === "string") return textFault(value, field);
  if (typeof value === "number")
    return Number.isFinite(value) ? undefined : { field, message: "is a number out of range" };
  if (typeof value !== "object" || value === null) return undefined;
  if (depth > MAX_DEPTH)
    return { field: path.split(".")[0] || "body", message: `is nested deeper than ${MAX_DEPTH} levels` };
  for (const [key, inner] of Object.entries(value)) {
    const found = textFault(key, field) ?? findFault(inner, path ? `${path}.${key}` : key, depth + 1);
    if (found) return found;
  }
  return undefined;
}

export function textFault(text: string, field: string): FieldError | undefined {
  if (text.includes("\0")) return { field, message: "contains a NUL character" };
  if (!text.isWellFormed()) return { field, message: "contains half of a surrogate pair" };
  return undefined;
}

/** Postgres writes powers of ten out: 1e308 has five characters here and 309 there, and a body is full of them. */
const MOST_DIGITS = 100_000;

const LITERALS = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d+(?:\.\d+)?(?:[eE]([+-]?\d+))?/g;

/** JSON.parse rounds numbers and keeps the last of equal keys: either way something else would be stored than was sent. */
function findInText(text: string, body: unknown): FieldError | undefined {
  let keys = 0;
  let digits = 0;
  for (const [literal, isKey, exponent = "0"] of text.matchAll(LITERALS)) {
    digits += Math.abs(Number(exponent));
    if (isKey) keys += 1;
    else if (literal[0] !== '"' && canonical(literal) !== canonical(String(Number(literal)))) {
      return {
        field: "body",
        message: `contains the number ${literal.slice(0, 40)}, which cannot be kept exactly`,
      };
    }
  }
  if (digits > MOST_DIGITS)
    return { field: "body", message: `contains powers of ten of more than ${MOST_DIGITS} digits together` };
  return keys === countKeys(body) ? undefined : { field: "body", message: "contains a field twice" };
}

function countKeys(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const inner = Object.values(value);
  return inner.reduce<number>((sum, one) => sum + countKeys(one), Array.isArray(value) ? 0 : inner.length);
}

/** Sign, digits without leading and trailing zeros, and the power of ten: equal for equal decimals. */
function canonical(literal: string): string {
  const [, sign, whole, fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(literal) ?? [];
  if (whole === undefined) return literal;
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/(?<!0)0+$/, "");
  if (!significant) return "0";
  return `${sign}${significant}e${Number(exponent) - fraction.length + digits.length - significant.length}`;
}
