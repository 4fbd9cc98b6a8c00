import { randomBytes } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Static } from "typebox";
import type { Config } from "../../config/config.ts";
import { callAsCaller } from "../../database/database.ts";
import { slugify } from "../../identity/tenant.ts";
import { asciiDomain } from "../../values/domain.ts";
import { splitEmail } from "../../values/email.ts";
import * as operations from "../operations.ts";
import { normalizeNames, sendRow } from "../responses.ts";
import type { Register, RegisteredTenant } from "../schemas/tenants.ts";
import { locationOf } from "./setup.ts";

/** Self-service registration, and what a member sees of the own tenants. */
export default async function tenants(app: FastifyInstance, { config }: { config: Config }): Promise<void> {
  const { requiresApproval, maxTenantsPerUser, allowedDomains } = config.registration;

  app.get("/registration/status", { schema: operations.getRegistrationStatus }, async (request, reply) =>
    sendRow(
      reply,
      await callAsCaller(
        request,
        "get_registration_status",
        requiresApproval,
        maxTenantsPerUser,
        allowedDomains,
      ),
    ),
  );

  app.post<{ Body: Register }>(
    "/register",
    {
      config: { limit: "register" },
      preValidation: config.multiTenantMode ? normalizeNames : refuseRegistration,
      schema: operations.registerTenant,
    },
    async (request, reply) => {
      const { organization_name, organization_slug, include_sample_data, admin_email, ...rest } =
        request.body;
      const { local, domain } = splitEmail(admin_email)!; // validated
      const registration = { ...rest, admin_email: `${local}@${domain.toLowerCase()}` };
      const row = await callAsCaller(
        request,
        "register_tenant",
        organization_name,
        organization_slug,
        slugBase(organization_name),
        asciiDomain(domain),
        JSON.stringify(registration),
        include_sample_data,
        requiresApproval,
        maxTenantsPerUser,
        allowedDomains,
        config.frontendBaseUrl,
      );
      return sendRow(
        reply.header("location", locationOf(row.body)),
        { ...row, body: reachable(row.body, request) },
        row.status === "pending" ? 202 : 201,
      );
    },
  );

  app.get("/current", { schema: operations.getCurrentTenant }, async (request, reply) =>
    sendRow(reply, await callAsCaller(request, "get_current_tenant")),
  );

  app.get("/mine", { schema: operations.listMyTenants }, async (request, reply) =>
    sendRow(reply, await callAsCaller(request, "list_my_tenants")),
  );
}

/** The answer, with a word to who would send the X-Tenant that it tells to send, and be refused: claims win over it. */
function reachable(body: string, { tenant: { slug, source } }: FastifyRequest): string {
  const registered = JSON.parse(body) as Static<typeof RegisteredTenant>;
  if (source === "header" || slug === registered.tenant_slug) return body;
  registered.admin_instructions += ` It counts only with a token that names no tenant: yours names ${slug}.`;
  return JSON.stringify(registered);
}

/** In single-tenant mode, whatever fields the body has: before they are validated. */
async function refuseRegistration(request: FastifyRequest): Promise<void> {
  await callAsCaller(request, "register_tenant", ...Array.from({ length: 10 }, () => null));
}

function slugBase(name: string): string {
  const slug = slugify(name);
  return slug.length >= 3 ? slug : `org-${randomBytes(4).toString("hex")}`;
}
