/** From a request to its call of the database, and back: what the call shows about the caller stands in the request and its log. */
import type { FastifyRequest } from "fastify";
import { type Asking, type Call, callAs, callerName, isDenied, type Row } from "../database/database.ts";
import type { ApiFunction, Arguments } from "../database/statement.ts";
import { Problem } from "../errors/errors.ts";
import { tenantLog } from "../observability/log.ts";
import { slugOf } from "../values/request-tenant.ts";

/** Calls the function of an operation as the caller of the request, in its tenant. @throws Problem */
export async function callAsCaller<F extends ApiFunction>(
  request: FastifyRequest,
  { config: call }: { config: Call & { calls: F } },
  given: Arguments<F>,
): Promise<Row> {
  const { key } = request.identity;
  const span = request.span?.call(call.calls);
  try {
    const row = await callAs(request.server, askingOf(request), call, given);
    if (key && row.key_id && row.tenant_slug) key.admitted(row.key_id, row.tenant_slug);
    resolved(request, row.tenant_slug ?? undefined);
    return row;
  } catch (error) {
    if (error instanceof Problem && isDenied(error)) key?.refused();
    else if (error instanceof Problem && error.status < 500)
      resolved(request, error.keyTenant ?? key?.tenant ?? undefined);
    throw error;
  } finally {
    span?.end();
  }
}

function askingOf({ id, identity, tenant, server }: FastifyRequest): Asking {
  const { key, provider, subject, email, name, operator } = identity;
  const slug = { default: null, of_key: "", named: slugOf(tenant)! }[tenant.kind];
  const missing = operator ? null : server.database.operatorRole;
  return {
    caller: [slug, provider, key?.credential ?? subject, email, name, missing],
    name: callerName(identity),
    tenant: key && tenant.kind !== "default" ? (key.tenant ?? undefined) : slugOf(tenant),
    byKey: key !== undefined,
    operator,
    requestId: id,
  };
}

/** The request is in its tenant, which only the database knows of a key. Logs it once, though GraphQL calls several functions. */
function resolved(request: FastifyRequest, keyTenant: string | undefined): void {
  const { identity, tenant } = request;
  if (identity.key && tenant.kind !== "default" && keyTenant !== undefined)
    request.tenant = { kind: "named", slug: keyTenant, source: "key" };
  if (request.resolved) return;
  request.resolved = true;
  // A child logger costs more than the rest of this function; below `info` only sendError() may need one, and makes it.
  if (!request.log.isLevelEnabled("info")) return;
  request.log = tenantLog(request);
  request.log.info({ tenant_source: tenant.source }, "tenant resolved");
}
