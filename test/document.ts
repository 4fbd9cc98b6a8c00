/** Compares every answer that a test gets with /openapi.json. */
import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { FastifyInstance } from "fastify";
import type { Document } from "../src/http/openapi.ts";

interface Answer {
  method: string;
  url: string;
  status: number;
  body: unknown;
  headers: Record<string, unknown>;
}
type Json = Record<string, unknown>;
interface Response {
  content?: Record<string, { schema: Json; examples?: Record<string, { value: { error?: string } }> }>;
  headers?: Json;
}

let document: Document | undefined;
let operations: {
  pattern: RegExp;
  methods: Record<string, { responses: Record<string, Response>; requestBody?: { content: Json } }>;
}[];
const ajv = new Ajv2020({ strict: false, allErrors: true, formats: { "idn-email": true } });
formats.default(ajv);
const compiled = new WeakMap<object, ValidateFunction>();

/** The document allows fields of later releases, but the answers of this one must have no others. */
function close(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(close);
  if (typeof value !== "object" || value === null) return value;
  const found = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, close(inner)]));
  return found.properties && found.type === "object" ? { additionalProperties: false, ...found } : found;
}

function load(app: FastifyInstance): Document {
  document = structuredClone(app.swagger()) as unknown as Document;
  ajv.addSchema({
    $id: "document",
    ...(close({ components: { schemas: document.components.schemas } }) as Json),
  });
  operations = Object.entries(document.paths).map(([path, methods]) => ({
    pattern: new RegExp(`^${path.replaceAll(/\{[^}]+\}/g, "[^/]+")}$`),
    methods: methods as never,
  }));
  return document;
}

const at = <T>(value: T | { $ref: string }): T =>
  typeof value === "object" && value !== null && "$ref" in value
    ? (value.$ref
        .slice(2)
        .split("/")
        .reduce<unknown>((inner, key) => (inner as Json)[key], document) as T)
    : (value as T);

function validator(schema: Json): ValidateFunction {
  let found = compiled.get(schema);
  if (!found) {
    const absolute = JSON.stringify(close(schema)).replaceAll('"$ref":"#/', '"$ref":"document#/');
    found = ajv.compile(JSON.parse(absolute) as Json);
    compiled.set(schema, found);
  }
  return found;
}

/** The media type of an operation's body. */
export function mediaOf(app: FastifyInstance, method: string, url: string): string {
  document ??= load(app);
  const path = url.split("?", 1)[0]!;
  const { requestBody } =
    operations.find(({ pattern }) => pattern.test(path))?.methods[method.toLowerCase()] ?? {};
  return Object.keys(requestBody?.content ?? {})[0] ?? "application/json";
}

/** @throws AssertionError when the document does not list the status, or describes another body for it */
export function assertDocumented(app: FastifyInstance, { method, url, status, body, headers }: Answer): void {
  document ??= load(app);
  const path = url.split("?", 1)[0]!;
  const found = operations.find(({ pattern }) => pattern.test(path));
  const operation = found?.methods[method === "HEAD" ? "get" : method.toLowerCase()];
  const say = `${method} ${path} answered ${status}, and /openapi.json`;
  if (!operation) {
    const allowed =
      found || path === "/openapi.json" || path.startsWith("/docs")
        ? status < 500
        : status >= 400 && status < 500;
    assert.ok(allowed, `${say} does not know this operation: describe it in src/http/operations.ts`);
    return;
  }
  const response = at(operation.responses[status]);
  assert.ok(response, `${say} lists only ${Object.keys(operation.responses).join(", ")}`);
  for (const name of ["retry-after", "x-ratelimit-limit", "etag", "link", "location", "www-authenticate"]) {
    const listed = Object.keys(response.headers ?? {}).some(header => header.toLowerCase() === name);
    assert.ok(
      listed || headers[name] === undefined,
      `${say} does not list the header ${name} of that status`,
    );
  }
  const media = response.content?.[String(headers["content-type"]).split(";", 1)[0]!];
  if (!media || method === "HEAD") return;
  const validate = validator(media.schema);
  assert.ok(
    validate(body),
    `${say} describes another body: ${ajv.errorsText(validate.errors)}\n${JSON.stringify(body)}`,
  );
  const { error } = body as { error?: string };
  if (!media.examples || error === undefined) return;
  const named = Object.values(media.examples).map(({ value }) => value.error);
  assert.ok(named.includes(error), `${say} has no example of "${error}" there, only ${named.join(", ")}`);
}
