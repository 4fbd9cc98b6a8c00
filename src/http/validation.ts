import { Ajv } from "ajv";
import type { FastifyInstance, FastifySchemaValidationError } from "fastify";
import fp from "fastify-plugin";
import { asciiDomain } from "../values/domain.ts";
import { splitEmail } from "../values/email.ts";
import { textFault } from "../values/json-text.ts";
import { SLUG_PATTERN } from "../values/slug.ts";
import { VISIBLE_PATTERN } from "../values/visible.ts";
import { invalid } from "./json-body.ts";
import { CURSOR_PATTERN, PRINTABLE_PATTERN, UUID_PATTERN } from "./schemas/common.ts";

const formats = {
  "email-address": isEmail,
  "faithful-text": (text: string) => !textFault(text, ""),
  "json-object": isJsonObject,
  instant: isInstant,
};

/** Drops no field and coerces no type. */
const ajv = new Ajv({
  allErrors: true,
  removeAdditional: false,
  useDefaults: true,
  strict: true,
  strictTypes: false,
  coerceTypes: false,
  formats,
});

export default fp(async (app: FastifyInstance) => {
  app.setValidatorCompiler<{ properties?: Record<string, { type?: string }> }>(({ schema, httpPart }) => {
    const validate = ajv.compile(schema);
    if (httpPart !== "querystring") return validate;
    // Query parameters are strings. Ajv's coercion would take Infinity, 1e2 and 0x10 for integers.
    const named = (wanted: string) =>
      Object.entries(schema.properties ?? {}).flatMap(([name, { type }]) => (type === wanted ? name : []));
    const [integers, flags] = [named("integer"), named("boolean")];
    return (query: Record<string, unknown>) => {
      const twice = Object.keys(query).filter(name => Array.isArray(query[name]));
      if (twice.length) return { error: twice.map(name => ({ ...REPEATED, instancePath: `/${name}` })) };
      for (const name of integers) {
        const text = query[name];
        if (typeof text === "string" && /^[+-]?\d+$/.test(text)) query[name] = Number(text);
      }
      for (const name of flags) {
        const text = query[name];
        if (text === "true" || text === "false") query[name] = text === "true";
      }
      return validate(query) || { error: validate.errors! };
    };
  });
  app.setSchemaErrorFormatter((errors, part) =>
    invalid(errors.filter(isInformative).map(error => explain(error, part))),
  );
});

const REPEATED = { keyword: "repeated", params: {}, schemaPath: "", message: "must be given only once" };

/** The patterns of the schemas in words. */
const PATTERNS: Record<string, string> = {
  [VISIBLE_PATTERN]: "must have a character that shows",
  [SLUG_PATTERN]: "must contain only lowercase letters, numbers and hyphens",
  [PRINTABLE_PATTERN]: "must not contain control characters",
  [UUID_PATTERN]: "must be a UUID",
  [CURSOR_PATTERN]: "was not made by this service",
};

/** Leaves out errors that say nothing new: that a nullable field is not null, and that an empty one misses a pattern. */
const isInformative = (
  { keyword, params, instancePath }: FastifySchemaValidationError,
  _: number,
  all: FastifySchemaValidationError[],
) =>
  keyword !== "anyOf" &&
  params.type !== "null" &&
  !(
    keyword === "pattern" &&
    all.some(other => other.keyword === "minLength" && other.instancePath === instancePath)
  );

function explain({ instancePath, keyword, params, message }: FastifySchemaValidationError, part: string) {
  const path = instancePath.slice(1).replaceAll("/", ".");
  const inner = (name: unknown) => [path, name].filter(Boolean).join(".");
  if (keyword === "required") return { field: inner(params.missingProperty), message: "is required" };
  if (keyword === "additionalProperties")
    return { field: inner(params.additionalProperty), message: "is not a known field" };
  if (keyword === "enum")
    return { field: path, message: `must be one of ${(params.allowedValues as string[]).join(", ")}` };
  if (keyword === "type") {
    const type = params.type as string;
    return { field: path || part, message: `must be ${/^[aio]/.test(type) ? "an" : "a"} ${type}` };
  }
  if (keyword === "minLength") return { field: path, message: "must not be empty" };
  if (keyword === "maxLength")
    return { field: path, message: `must have at most ${params.limit as number} characters` };
  const words = keyword === "pattern" && PATTERNS[params.pattern as string];
  if (words) return { field: path, message: words };
  if (params.format === "email-address") return { field: path, message: "must be an e-mail address" };
  if (params.format === "faithful-text")
    return { field: path, message: "contains a NUL character or half of a surrogate pair" };
  if (params.format === "instant")
    return { field: path, message: "must be a time with a time zone, such as 2099-12-31T23:59:59Z" };
  if (params.format === "json-object") return { field: path, message: "must be a JSON object" };
  return { field: path || part, message: message ?? "is not valid" };
}

/** Null too, as in a JSON body. */
function isJsonObject(text: string): boolean {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === "object" && !Array.isArray(value);
  } catch {
    return false;
  }
}

const INSTANT =
  /^(\d{4})-(0[1-9]|1[0-2])-(\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](0\d|1[0-4]):[0-5]\d)$/;

/** RFC 3339, of the years and offsets that Postgres knows. JavaScript takes February 30 for a day in March. */
function isInstant(text: string): boolean {
  const [, year, month, day] = INSTANT.exec(text)?.map(Number) ?? [];
  return year !== undefined && year > 0 && new Date(Date.UTC(year, month! - 1, day)).getUTCDate() === day;
}

/** `local@domain.tld`, with a domain of any script that IDNA can write in ASCII. */
function isEmail(text: string): boolean {
  const { local, domain } = splitEmail(text) ?? { local: "", domain: "" };
  return (
    /^[^\s\p{Cc}@"(),:;<>[\]\\]{1,64}$/u.test(local) &&
    !/^\.|\.\.|\.$/.test(local) &&
    !text.endsWith(".") && // asciiDomain() accepts the dot of the root, e-mail does not
    asciiDomain(domain) !== null
  );
}
