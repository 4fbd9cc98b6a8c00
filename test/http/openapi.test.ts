import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { FastifyContextConfig } from "fastify";
import { PROBLEMS } from "../../src/errors/problems.ts";
import type { Document } from "../../src/http/openapi.ts";
import * as entries from "../../src/http/operations.ts";
import * as product from "../../src/product/operations.ts";
import { seedTenant, seedUser, token } from "../harness.ts";
import { createWorld } from "./world.ts";

type Json = Record<string, unknown>;
interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  security?: object[];
  parameters?: (Json & { in?: string; name?: string })[];
  requestBody?: { content: Record<string, { example?: unknown; schema: Json }> };
  responses: Record<string, Json>;
}

const tokens = { operator: "", owner: "", newcomer: "" };

const world = await createWorld();
const document = (await world.service.request({ url: "/openapi.json" })).body as Document;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    ...(operation as never as Operation),
    method,
    path,
  })),
);
const acme = await seedTenant(world.database.sql, { slug: "acme" });
await seedUser(world.database.sql, acme, { subject: "ada", role: "owner" });
tokens.operator = await token({ sub: "operator", roles: ["tenant-operator"], tenant: "default" });
tokens.owner = await token({ sub: "ada", tenant: "acme" });
tokens.newcomer = await token({ sub: "carol", tenant: "hooli" });
after(() => world.end());

function* nodes(value: unknown, path = "#"): Generator<[Json, string]> {
  if (typeof value !== "object" || value === null) return;
  yield [value as Json, path];
  for (const [key, inner] of Object.entries(value)) yield* nodes(inner, `${path}/${key}`);
}

const resolve = (ref: string) =>
  ref
    .slice(2)
    .split("/")
    .reduce<unknown>((at, key) => (at as Json)?.[key], document);

test("the document is self-contained OpenAPI 3.1", () => {
  assert.equal(document.openapi, "3.1.0");
  for (const [{ $ref }, path] of nodes(document))
    if (typeof $ref === "string") assert.ok($ref.startsWith("#/") && resolve($ref), `${path}: ${$ref}`);
  const ajv = new Ajv2020({ strict: false, formats: { "idn-email": true } });
  formats.default(ajv);
  ajv.addSchema({ $id: "document", ...document });
  for (const name of Object.keys(document.components.schemas!))
    assert.ok(ajv.getSchema(`document#/components/schemas/${name}`), name);
});

test("every operation has a name of its own, a summary, a description, a declared tag and declared path parameters", () => {
  assert.ok(operations.length > 20);
  assert.equal(new Set(operations.map(({ operationId }) => operationId)).size, operations.length);
  const tags = (document.tags as { name: string }[]).map(({ name }) => name);
  for (const { operationId, summary, description, tags: its, path, parameters = [] } of operations) {
    assert.match(summary, /^[A-Z].*[^.]$/, operationId);
    assert.match(String(description), /[.]$/, operationId);
    assert.deepEqual(its.filter(tag => tags.includes(tag)).length, 1, operationId);
    const wanted = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
    assert.deepEqual(
      parameters.filter(one => one.in === "path").map(({ name }) => name),
      wanted,
      operationId,
    );
  }
});

test("a replica, which may lag, answers only operations that need no membership", () => {
  const { moves, ...rest } = entries;
  const all: { config: FastifyContextConfig }[] = [
    ...Object.values(moves),
    ...Object.values(rest),
    ...Object.values(product),
  ];
  assert.equal(all.length, operations.length);
  const replicated = all.filter(({ config }) => config.reads?.replica);
  assert.ok(replicated.length > 0);
  for (const { config } of replicated) assert.equal(config.needsMembership, false, config.calls);
});

test("every response has a description, and every error the error schema and an example that fits it", () => {
  const validate = new Ajv2020({ strict: false }).compile({
    ...(document.components.schemas!.ErrorBody as object),
    components: document.components,
  });
  for (const { operationId, responses, security } of operations) {
    const wanted = security ? ["500"] : ["400", "401", "403", "500", "503"];
    for (const status of wanted) assert.ok(responses[status], `${operationId} lists no ${status}`);
    for (const [status, given] of Object.entries(responses)) {
      const response = (given.$ref ? resolve(given.$ref as string) : given) as Json & { content?: Json };
      assert.ok(response.description, `${operationId} ${status}`);
      if (Number(status) < 400 || !response.content) continue;
      const { examples } = response.content["application/json"] as {
        examples: Record<string, { value: Json }>;
      };
      for (const [name, { value }] of Object.entries(examples)) {
        assert.ok(validate(value), `${name}: ${JSON.stringify(validate.errors)}`);
        assert.equal(String(PROBLEMS[name as keyof typeof PROBLEMS][0]), status);
      }
    }
  }
});

test("every problem of the table is one that some operation lists", () => {
  const listed = new Set([...nodes(document)].flatMap(([{ examples }]) => Object.keys(examples ?? {})));
  assert.deepEqual(
    Object.keys(PROBLEMS).filter(name => !listed.has(name)),
    [],
  );
});

test("only the service's own operations go without a token, and the document and the pages do too", async () => {
  const open = operations.filter(({ security }) => security?.length === 0).map(({ path }) => path);
  assert.ok(
    open.includes("/health") && open.every(path => !path.startsWith("/api/") && path !== "/graphql"),
    open.join(),
  );
  for (const url of ["/openapi.json", "/docs", "/docs/json"])
    assert.equal((await world.service.request({ url })).status, 200, url);
});

test("the page names the headers that a proxy must let pages of other origins send and read", () => {
  const page = readFileSync(new URL("../../docs/decisions.md", import.meta.url), "utf8");
  const told = (name: string) => page.match(new RegExp(`${name}: ([\\w,\\s-]+)`))?.[1]?.split(/,\s+/);
  const { headers, parameters } = document.components;
  assert.deepEqual(told("Access-Control-Expose-Headers"), Object.keys(headers!).toSorted());
  const traced = ["Baggage", "Traceparent", "Tracestate"];
  const sent = [
    "Authorization",
    "Content-Type",
    "X-Request-Id",
    "X-Tenant",
    ...traced,
    ...Object.keys(parameters!),
  ];
  assert.deepEqual(told("Access-Control-Allow-Headers"), sent.toSorted());
});

test("every operation refuses a query parameter that it does not have, and changes nothing", async () => {
  const id = await seedTenant(world.database.sql, { slug: "left-alone" });
  const rows = () => world.database.sql`select id, slug, status, updated_at from app.tenants order by id`;
  const before = await rows();
  const by: Record<string, string> = { Setup: tokens.operator, Registration: tokens.newcomer };
  // Machines that watch the service add parameters of their own to the address of a probe.
  for (const { operationId, method, path, tags, requestBody, security } of operations.filter(
    ({ tags }) => tags[0] !== "Service",
  )) {
    const token = security ? {} : { token: by[tags[0]!] ?? tokens.owner };
    const url = path.replace(/\{\w+\}/, id);
    const body = requestBody && { body: Object.values(requestBody.content)[0]!.example };
    const answer = await world.service.request({
      method: method.toUpperCase() as "GET",
      url: `${url}?perhaps=true`,
      ...token,
      ...body,
    });
    assert.equal(answer.status, tags[0] === "GraphQL" ? 400 : 422, operationId);
    assert.match(JSON.stringify(answer.body), /perhaps is not a known field/, operationId);
  }
  assert.deepEqual(await rows(), before);
});

test("every answer has a request id", async () => {
  for (const url of ["/health", "/ready", "/openapi.json", "/docs", "/api/tenants/current", "/nothing"]) {
    const answer = await world.service.request({
      url,
      token: tokens.owner,
      headers: { "x-request-id": "asked-1" },
      undocumented: true,
    });
    assert.equal(answer.headers["x-request-id"], "asked-1", url);
  }
});

test("the service accepts the example body of every operation", async () => {
  const id = await seedTenant(world.database.sql, { slug: "globex" });
  const pending = await seedTenant(world.database.sql, { slug: "waiting", status: "pending" });
  const by: Record<string, string> = { Setup: tokens.operator, Registration: tokens.newcomer };
  const members = [
    await seedUser(world.database.sql, id, { subject: "bob" }),
    await seedUser(world.database.sql, acme, { subject: "bob" }),
  ] as const;
  const { token: invitation } = (
    await world.service.request({
      method: "POST",
      url: "/api/tenants/invitations",
      token: tokens.owner,
      body: { role: "member" },
    })
  ).body;
  const shown = operations.filter(({ requestBody }) => requestBody);
  assert.ok(shown.length > 4);
  for (const { operationId, method, path, tags, requestBody } of shown) {
    const { example } = Object.values(requestBody!.content)[0]!;
    assert.ok(example, `${operationId} shows no body`);
    const answer = await world.service.request({
      method: method.toUpperCase() as "POST",
      url: path
        .replace("{tenant_id}", operationId === "rejectTenant" ? pending : id)
        .replace("{user_id}", members[tags[0] === "Setup" ? 0 : 1]),
      token: operationId === "acceptInvitation" ? tokens.newcomer : (by[tags[0]!] ?? tokens.owner),
      // The example's invitation does not exist.
      body: operationId === "acceptInvitation" ? { token: invitation } : example,
    });
    assert.ok(answer.status < 300, `${operationId}: ${JSON.stringify(answer.body)}`);
    assert.equal(answer.body.errors, undefined);
  }
});

test("fields with a default are not required", () => {
  const { required } = document.components.schemas!.CreateTenant as { required: string[] };
  assert.deepEqual(required, ["name", "slug"]);
  const { parameters } = operations.find(({ operationId }) => operationId === "listTenants")!;
  assert.ok(parameters!.every(({ required: asked }) => asked === false));
});

test("a request that is refused before GraphQL gets the usual body, and a faulty query that of GraphQL", async () => {
  const query = (body: unknown, as = tokens.owner) =>
    world.service.request({ method: "POST", url: "/graphql", token: as, body });
  const unknown = await world.service.request({
    method: "POST",
    url: "/graphql",
    body: { query: "{ tenant { slug } }" },
  });
  assert.deepEqual([unknown.status, unknown.body.error], [401, "Unauthorized"]);
  assert.ok(unknown.headers["www-authenticate"]);
  const stranger = await query(
    { query: "{ tenant { slug } }" },
    await token({ sub: "mallory", tenant: "acme" }),
  );
  assert.deepEqual(
    [stranger.status, stranger.body],
    [403, { error: "Access denied", detail: "User does not belong to tenant" }],
  );
  const broken = await query("{");
  assert.deepEqual([broken.status, broken.body.error], [400, "Bad Request"]);
  const faulty = await query({ query: "{ nobody }" });
  assert.deepEqual([faulty.status, Object.keys(faulty.body)], [400, ["errors"]]);
  assert.match(faulty.body.errors[0].message, /nobody/);
  const empty = await query({});
  assert.match(empty.body.errors[0].message, /query/);
});

test("the example answers of the document are those of the service", async () => {
  const { GraphqlAnswer, GraphqlRefusal, Tenant, RegisteredTenant } = document.components.schemas as Record<
    string,
    { properties: Record<string, Json>; examples: unknown[] }
  >;
  for (const { properties } of [Tenant!, RegisteredTenant!]) {
    const { $ref, ...own } = properties.status!;
    const status = (typeof $ref === "string" ? resolve($ref) : own) as {
      enum: string[];
      examples?: string[];
    };
    assert.deepEqual([status.enum[0], status.examples], ["active", undefined]);
  }
  for (const [query, { examples }] of [
    ["{ tenant { name slug } membership { role } }", GraphqlAnswer!],
    ["{ nobody }", GraphqlRefusal!],
  ] as const) {
    const { body } = await world.service.request({
      method: "POST",
      url: "/graphql",
      token: tokens.owner,
      body: { query },
    });
    const shape = (value: unknown) =>
      JSON.stringify(value, (_key, one) => (typeof one === "object" ? one : 0));
    assert.equal(shape(examples?.[0]), shape(body));
  }
});

test("the pages load everything from this service, and allow no other source", async () => {
  const { body, headers } = await world.service.request({ url: "/docs" });
  const sources = [...(body as string).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, source]) => source!);
  assert.ok(sources.length > 5);
  for (const source of sources) {
    assert.ok(source.startsWith("/docs/static/"), source);
    assert.equal((await world.service.request({ url: source })).status, 200, source);
  }
  assert.match(String(headers["content-security-policy"]), /default-src 'self'/);
  assert.doesNotMatch(String(headers["content-security-policy"]), /https?:|upgrade-insecure-requests/);
});
