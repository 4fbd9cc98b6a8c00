import swagger from "@fastify/swagger";
import type { FastifyInstance, FastifySchema, RouteOptions } from "fastify";
import fp from "fastify-plugin";
import type { Config } from "../config/config.ts";
import { type Example, PROBLEMS, type ProblemName } from "../errors/problems.ts";
import { VISIBLE_PATTERN } from "../values/visible.ts";
import type { RequestHeader, ResponseHeader } from "./operation.ts";
import { ErrorBody, IDEMPOTENCY_KEY_PATTERN, Uuid } from "./schemas/common.ts";

type Json = Record<string, unknown>;
interface Operation extends Json {
  operationId: string;
  parameters?: { in: string; name: string; required?: boolean; schema: Json }[];
  requestBody?: { required?: boolean };
  responses: Record<string, Json>;
}
export interface Document extends Json {
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Json>;
}

const VERSION = "1";
const DESCRIPTION = `Every request carries \`Authorization: Bearer <token>\`: a JWT, or an API key, which names its tenant. In multi-tenant mode a request with a JWT also names a tenant: by a claim
of the token, even the domain of its \`email\`, or by \`X-Tenant\`. The claim wins if they differ, or \`X-Tenant\` where the deployment says so
(\`SERVICE_TENANT_PRECEDENCE\`). **Authorize** fills both in for all requests of
this page. Every error is \`{error, detail}\` and the fields of its example; \`X-Request-Id\` finds it in the log.

Values that cannot be stored exactly are refused with 422: NUL, half of a surrogate pair, numbers that a JSON parser would round, fields
nested deeper than 32 levels.`;

const TAGS = [
  { name: "Registration", description: "For every caller with a token: create a tenant" },
  { name: "Tenants", description: "For members: the tenant, its members, my other tenants" },
  { name: "Boards", description: "The boards of a tenant" },
  { name: "GraphQL", description: "The same reads in one query" },
  { name: "Setup", description: "For operators of the deployment" },
  { name: "Service", description: "The service itself: no token, no tenant" },
];

const text = (description: string, schema: Json = { type: "string" }) => ({ description, schema });
const number = (description: string) => text(description, { type: "integer" });

const RESPONSE_HEADERS = {
  "X-Request-Id": text(
    "Finds the request in the log. A request may bring its own: 1 to 64 letters, digits, _ and -",
  ),
  "X-RateLimit-Limit": number(
    "Requests allowed in the window; absent when the operation has no limit or did not count the request",
  ),
  "X-RateLimit-Remaining": number("Requests left in the window"),
  "X-RateLimit-Reset": number("When the window ends: Unix time in seconds"),
  "Retry-After": number("Seconds to wait before the next try"),
  "WWW-Authenticate": text("The challenge of RFC 6750, with the reason"),
  "Accept-Patch": text("The media type that the operation takes"),
  ETag: text("The version of the tenant, for If-Match and If-None-Match"),
  Link: text(
    'The next page, rel="next"; missing on the last page, but for pages of events that begin with the oldest',
  ),
  Location: text("Where the new resource is"),
} satisfies Record<ResponseHeader, object> & Record<string, object>;

const REQUEST_HEADERS: Record<RequestHeader, Json> = {
  "Idempotency-Key": text("Makes it safe to repeat the request", {
    type: "string",
    pattern: IDEMPOTENCY_KEY_PATTERN,
    examples: ["2026-11-20-initech"],
  }),
  "If-Match": text("The ETag that the tenant must have; otherwise 412"),
  "Last-Event-ID": text("For a stream: the `cursor` of the last event that the client has"),
  "If-None-Match": text("The ETag that the client has; 304 when the tenant still has it"),
};

const LIMITED = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];

/** The route of an operation, kept while @fastify/swagger makes its document. */
type Route = Pick<RouteOptions, "method" | "config"> & { schema: FastifySchema & { security?: [] } };

const referTo = (section: string, name: string) => ({ $ref: `#/components/${section}/${name}` });
const refsTo = (section: string, names: string[]) =>
  Object.fromEntries(names.map(name => [name, referTo(section, name)]));

/** Responses that all operations share, by the names that generated clients use. */
const SHARED: Record<number, string> = {
  401: "Unauthorized",
  413: "PayloadTooLarge",
  414: "UriTooLong",
  415: "UnsupportedMediaType",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
};

/** Every problem of an operation: its own, and those that its method, body and limit imply. */
function problemsOf({ method, config, schema }: Route): ProblemName[] {
  const always: ProblemName[] = ["malformed_query", "internal_error", "stopping"];
  if (schema.security) return [...always, "field_unknown", "too_many_at_once"];
  const names: ProblemName[] = [
    "too_many_at_once",
    "tenant_missing",
    "tenant_header_malformed",
    "no_credentials",
    "expired",
    "key_invalid",
    "not_a_member",
  ];
  if (method !== "GET") names.push("malformed", "payload_too_large", "number_lost");
  if (method !== "GET" && !schema.problems?.includes("not_a_merge_patch"))
    names.push("unsupported_media_type");
  // GraphQL has its own answer to invalid fields.
  const own = 400 in (schema.response as object);
  if (schema.body && !own) names.push("field_missing", "field_unknown");
  if (schema.querystring && !own) names.push("field_unknown");
  if (config?.limit) names.push("too_many_requests");
  return [
    ...names,
    ...(schema.problems ?? []),
    ...always,
    "service_unavailable",
    "being_deleted",
    "proof_refused",
    "overloaded",
  ];
}

function problemResponse(status: number, names: ProblemName[], limited: boolean): Json {
  const examples = names.map(name => {
    const [, error, detail, extra] = PROBLEMS[name] as Example;
    return [name, { summary: detail, value: { error, detail, ...extra } }] as const;
  });
  return {
    description: [...new Set(examples.map(([, { value }]) => value.error))].join(", "),
    headers: refsTo("headers", [
      "X-Request-Id",
      ...(status === 401 ? ["WWW-Authenticate"] : []),
      ...(names.includes("not_a_merge_patch") ? ["Accept-Patch"] : []),
      ...(status === 429 || status === 503 ? ["Retry-After"] : []),
      ...(limited && status !== 401 ? LIMITED : []),
    ]),
    content: {
      "application/json": { schema: referTo("schemas", "ErrorBody"), examples: Object.fromEntries(examples) },
    },
  };
}

function problemResponses(route: Route, own: Record<string, Json>, components: Json): Record<string, Json> {
  const byStatus = new Map<number, ProblemName[]>();
  for (const name of problemsOf(route)) {
    const [status] = PROBLEMS[name];
    byStatus.set(status, [...(byStatus.get(status) ?? []), name]);
  }
  const answer = ([status, names]: [number, ProblemName[]]) => {
    const special =
      route.schema.security ?? route.schema.problems?.find(name => PROBLEMS[name][0] === status);
    const [shared, mine] = [special ? undefined : SHARED[status], own[status]];
    const response = problemResponse(status, names, Boolean(route.config?.limit ?? shared) && !mine);
    if (mine) return [status, either(mine, response)];
    if (!shared) return [status, response];
    components[shared] ??= response;
    return [status, referTo("responses", shared)];
  };
  return Object.fromEntries([...byStatus].map(answer));
}

/** A status for which the operation has a body of its own too, as GraphQL has for 400. */
function either(mine: Json, problem: Json): Json {
  const [a, b] = [problem, mine].map(({ content }) => (content as Content)["application/json"]!);
  const schema = { anyOf: [a!.schema, b!.schema] };
  return { ...problem, content: { ...(mine.content as Content), "application/json": { ...a, schema } } };
}
type Content = Record<string, { schema: Json; examples?: Json }>;

function complete(operation: Operation, route: Route, shared: Json): void {
  const { accepts = [], sends = [], optionalBody } = route.schema;
  if (optionalBody) operation.requestBody!.required = false;
  const parameters = operation.parameters ?? [];
  for (const parameter of parameters) {
    if (parameter.in === "path") parameter.schema = { ...Uuid };
    if ("default" in parameter.schema) parameter.required = false;
  }
  if (parameters.length + accepts.length > 0)
    operation.parameters = [...parameters, ...(accepts.map(name => referTo("parameters", name)) as never[])];
  for (const [status, response] of Object.entries(operation.responses)) {
    const headers = ["X-Request-Id", ...sends, ...(route.config?.limit ? LIMITED : [])];
    response.description =
      { 200: "Done", 201: "Created", 202: "Accepted, waits for approval" }[status] ?? status;
    response.headers = refsTo("headers", headers);
  }
  if (accepts.includes("If-None-Match")) {
    operation.responses["304"] = {
      description: "Not changed",
      headers: refsTo("headers", ["X-Request-Id", "ETag", ...LIMITED]),
    };
  }
  Object.assign(operation.responses, problemResponses(route, operation.responses, shared));
}

/** Moves every schema with a title to the components, and replaces what only our validator knows. */
function share(value: unknown, schemas: Json): unknown {
  if (Array.isArray(value)) return value.map(item => share(item, schemas));
  if (typeof value !== "object" || value === null) return value;
  const found = Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, key === "examples" ? inner : share(inner, schemas)]),
  );
  if (found.format === "email-address") found.format = "idn-email";
  if (found.format === "instant") found.format = "date-time";
  if (found.pattern === VISIBLE_PATTERN) delete found.pattern; // few validators of other languages know \p
  if (found.format === "faithful-text" || found.format === "json-object") delete found.format;
  if (Array.isArray(found.enum) && found.enum.every(one => typeof one === "string")) found.type = "string";
  // The validator fills in defaults before it checks for missing fields.
  if (Array.isArray(found.required) && found.properties) {
    const properties = found.properties as Record<string, Json>;
    found.required = found.required.filter((name: string) => !("default" in properties[name]!));
  }
  if (typeof found.title !== "string" || !("type" in found || "anyOf" in found)) return found;
  const { title, ...schema } = found;
  schemas[title as string] ??= schema;
  return referTo("schemas", title as string);
}

/** `GET /openapi.json`, made at its first request from the schemas that validate. Registered before the routes. */
export default fp(
  async (
    app: FastifyInstance,
    { config, withoutProduct }: { config: Config; withoutProduct: (document: Document) => Document },
  ) => {
    app.decorate("publicUrl", config.publicUrl ?? "");
    // The database makes the JSON of responses: their schemas only document it.
    app.setSerializerCompiler(() => JSON.stringify);
    const routes = new Map<string, Route>();

    await app.register(swagger, {
      convertConstToEnum: false,
      openapi: {
        openapi: "3.1.0",
        info: {
          title: "Tenant management",
          version: VERSION,
          description: DESCRIPTION,
          license: { name: "MIT", identifier: "MIT" } as { name: string },
        },
        servers: [{ url: config.publicUrl ?? "/" }],
        tags: TAGS,
        security: [{ token: [], tenant: [] }, { token: [] }],
        components: {
          securitySchemes: {
            token: {
              type: "http",
              scheme: "bearer",
              bearerFormat: "JWT or API key",
              description:
                "A JWT, or an API key of a tenant (`tms_…`), without `Bearer`. `npm run token` signs a JWT, `npm run demo` prints some.",
            },
            tenant: {
              type: "apiKey",
              in: "header",
              name: "X-Tenant",
              description: "The slug of the tenant. Needed in multi-tenant mode when the token names none.",
            },
          },
        },
      },
      transform: ({ schema, url, route }) => {
        const { operationId } = (schema ?? {}) as { operationId?: string };
        if (!operationId) return { schema: { hide: true }, url };
        routes.set(operationId, route as unknown as Route);
        return { schema, url };
      },
      transformObject: given => {
        const document = (given as unknown as { openapiObject: Document }).openapiObject;
        const responses: Json = {};
        for (const operation of Object.values(document.paths).flatMap(path => Object.values(path)))
          complete(operation, routes.get(operation.operationId)!, responses);
        const schemas: Json = {};
        document.paths = share(document.paths, schemas) as Document["paths"];
        share(ErrorBody, schemas);
        Object.assign(document.components, {
          schemas,
          responses,
          headers: RESPONSE_HEADERS,
          parameters: Object.fromEntries(
            Object.entries(REQUEST_HEADERS).map(([name, header]) => [
              name,
              { in: "header", name, ...header },
            ]),
          ),
        });
        return (app.hasProduct ? document : withoutProduct(document)) as never;
      },
    });

    app.get("/openapi.json", async (_request, reply) =>
      reply.header("cache-control", "no-cache").send(app.swagger()),
    );
  },
  { name: "openapi" },
);

declare module "fastify" {
  interface FastifyInstance {
    /** What stands before the paths of this service where clients see them; "" when nothing says so. */
    publicUrl: string;
  }
}
