import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Config } from "../../config/config.ts";
import { configurationAdvice } from "../../config/recommendations.ts";
import { callAsCaller, callAsCallerPatiently } from "../../database/database.ts";
import { codeOf } from "../../errors/errors.ts";
import { refusal } from "../../errors/problems.ts";
import type { Claims } from "../../identity/auth.ts";
import { type Asked, askedByClaims, type Refused } from "../../identity/explain.ts";
import { RELEASE } from "../../migrate/release.ts";
import { invalid, refuseBody } from "../json-body.ts";
import * as operations from "../operations.ts";
import { CACHING, etagOf, normalizeNames, sendable, sendPage, sendRow } from "../responses.ts";
import { IDEMPOTENCY_KEY_PATTERN } from "../schemas/common.ts";
import type {
  CreateTenant,
  ExplainByClaims,
  ExplainBySlug,
  ListTenants,
  UpdateTenant,
} from "../schemas/setup.ts";

type One = { Params: { tenant_id: string } };

/** A lock that did not come free, and deadlocks: a deletion waits for nothing but who writes to its tenant. */
const MET_WRITERS = ["55P03", "40P01"];

/** Tenant CRUD for operators. */
export default async function setup(app: FastifyInstance, { config }: { config: Config }): Promise<void> {
  const advice = configurationAdvice(config);
  const status = (request: FastifyRequest) =>
    callAsCaller(request, "get_setup_status", RELEASE.number, advice);

  // Who is no operator is told that, and not which fields are wrong. The refusal is the database's, as everywhere.
  app.addHook("preValidation", async request => {
    if (!request.identity.operator) await status(request);
  });

  app.get(
    "/status",
    { config: { limit: "setup_read" }, schema: operations.getSetupStatus },
    async (request, reply) => sendRow(reply, await status(request)),
  );

  const explain = async (request: FastifyRequest, reply: FastifyReply, asked: Asked | Refused) => {
    // Who asks is an operator (preValidation): what the claims alone decide needs no database.
    if ("refusal" in asked) return reply.header("cache-control", "no-store").send(asked);
    const { slug, provider, subject, source, operator } = asked;
    return sendRow(
      reply,
      await callAsCaller(request, "explain_for_operator", slug, provider, subject, source, operator),
    );
  };

  app.get<{ Querystring: ExplainBySlug }>(
    "/explain",
    { config: { limit: "setup_read" }, schema: operations.explainAccess },
    (request, reply) => {
      const { tenant: slug = null, provider, subject = null } = request.query;
      return explain(request, reply, { slug, source: "given", provider, subject, operator: false });
    },
  );

  app.post<{ Body: ExplainByClaims }>(
    "/explain",
    { config: { limit: "setup_read" }, schema: operations.explainClaims },
    (request, reply) =>
      explain(request, reply, askedByClaims(request.body.claims as Claims, request.body.header, config)),
  );

  app.post<{ Body: CreateTenant }>(
    "/tenant",
    {
      config: { limit: "setup_create" },
      preValidation: normalizeNames,
      schema: operations.createTenant,
    },
    async (request, reply) => {
      const { name, slug, settings, include_sample_data } = request.body;
      const mayBeDefault = !config.multiTenantMode && slug === config.defaultTenant.slug;
      const key = idempotencyKey(request);
      const row = await callAsCaller(
        request,
        "create_tenant",
        name,
        slug,
        settings,
        include_sample_data,
        mayBeDefault,
        key,
      );
      reply.header("location", locationOf(row.body));
      return sendRow(reply, row, row.created ? 201 : 200);
    },
  );

  app.get<{ Querystring: ListTenants }>(
    "/tenants",
    { config: { limit: "setup_read" }, schema: operations.listTenants },
    async (request, reply) => {
      const { limit, cursor, status, search } = request.query;
      const text = search?.normalize("NFC") || undefined;
      return sendPage(
        request,
        reply,
        await callAsCaller(request, "list_tenants", limit, cursor, status, text),
      );
    },
  );

  app.get<One>(
    "/tenant/:tenant_id",
    { config: { limit: "setup_read" }, schema: operations.getTenant },
    async (request, reply) => {
      const row = await callAsCaller(request, "get_tenant", tenantId(request));
      const known = request.headers["if-none-match"];
      if (known && (tags(known, true).includes(row.etag!) || known === "*")) {
        return reply.code(304).header("etag", row.etag).header("cache-control", CACHING).send();
      }
      return sendRow(reply, row);
    },
  );

  app.put<One & { Body: UpdateTenant }>(
    "/tenant/:tenant_id",
    { preValidation: normalizeNames, schema: operations.updateTenant },
    async (request, reply) => {
      const { name, slug, settings } = request.body;
      const row = await callAsCaller(
        request,
        "update_tenant",
        tenantId(request),
        name,
        slug,
        settings,
        ifMatch(request),
      );
      return sendRow(reply, row);
    },
  );

  app.delete<One>(
    "/tenant/:tenant_id",
    { config: { limit: "setup_delete" }, preValidation: refuseBody, schema: operations.deleteTenant },
    async (request, reply) => {
      const deleted = callAsCallerPatiently(request, "delete_tenant", tenantId(request), ifMatch(request));
      return sendRow(
        reply,
        await deleted.catch((error: Error) => {
          throw MET_WRITERS.includes(codeOf(error.cause)) ? refusal("tenant_busy", {}, error.cause) : error;
        }),
      );
    },
  );

  for (const move of ["approve", "suspend", "resume"] as const) {
    const options = { preValidation: refuseBody, schema: operations.moves[move] };
    app.post<One>(`/tenant/:tenant_id/${move}`, options, async (request, reply) => {
      const row = await moveTenant(request, `${move}_tenant`);
      return sendRow(reply, { ...row, etag: etagOf(row.body) });
    });
  }
  const rejecting = { preValidation: refuseBody, schema: operations.rejectTenant };
  app.post<One>("/tenant/:tenant_id/reject", rejecting, async (request, reply) =>
    sendRow(reply, await moveTenant(request, "reject_tenant")),
  );
}

const moveTenant = (request: FastifyRequest<One>, name: string) =>
  callAsCaller(request, name, tenantId(request), ifMatch(request));

const tenantId = ({ params }: FastifyRequest<One>) => sendable(params.tenant_id);

export const locationOf = (body: string) =>
  `/api/setup/tenant/${(JSON.parse(body) as { tenant_id: string }).tenant_id}`;

/** The entity tags of a list. Weak ones say only "about the same", which is enough to skip a body, not to change a row. */
function tags(header: string, weakToo: boolean): string[] {
  return [...header.matchAll(/(W\/)?("[^"]*")/g)]
    .filter(([, weak]) => weakToo || !weak)
    .map(([, , tag]) => tag!);
}

/** null asks nothing. */
function ifMatch({ headers: { "if-match": given } }: FastifyRequest<One>): string[] | null {
  if (given === undefined) return null;
  if (given === "*") return ["*"];
  if (tags(given, true).length === 0) throw refusal("not_an_etag");
  return tags(given, false);
}

const KEY = new RegExp(IDEMPOTENCY_KEY_PATTERN);

function idempotencyKey({ raw: { rawHeaders } }: FastifyRequest): string | null {
  // Two of them Node would join to one.
  const [key, ...more] = rawHeaders.filter(
    (_, i) => rawHeaders[i - 1]?.toLowerCase() === "idempotency-key" && i % 2 === 1,
  );
  if (key === undefined) return null;
  if (more.length === 0 && KEY.test(key)) return key;
  throw invalid([{ field: "Idempotency-Key", message: "must be 8 to 255 printable ASCII characters" }]);
}
