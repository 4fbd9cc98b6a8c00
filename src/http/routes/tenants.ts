import { randomBytes } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Static } from "typebox";
import type { Config } from "../../config/config.ts";
import { refusal } from "../../errors/problems.ts";
import { slugify } from "../../identity/tenant.ts";
import { asciiDomain } from "../../values/domain.ts";
import { splitEmail } from "../../values/email.ts";
import { slugOf } from "../../values/request-tenant.ts";
import { callAsCaller } from "../call.ts";
import { ifMatch } from "../etags.ts";
import { sendEvents } from "../event-stream.ts";
import { takeMergePatches } from "../merge-patch.ts";
import {
  getCurrentTenant,
  getRegistrationStatus,
  getSettingsSchema,
  listMyTenants,
  listTenantEvents,
  patchCurrentTenant,
  registerTenant,
} from "../operations.ts";
import { located, sendPage, sendRow, sendUnlessKnown } from "../responses.ts";
import type { ListTenantEvents } from "../schemas/events.ts";
import type {
  ListPage,
  MyTenants,
  PatchCurrentTenant,
  Register,
  RegisteredTenant,
} from "../schemas/tenants.ts";
import { type SettingsSchema, writeValidated } from "../settings-schema.ts";
import { locationOf } from "./setup.ts";

/** Self-service registration, and the tenants of the caller. */
export default async function tenants(
  app: FastifyInstance,
  { config, settingsSchema }: { config: Config; settingsSchema: SettingsSchema },
): Promise<void> {
  const { enabled, requiresApproval, maxTenantsPerUser, allowedDomains } = config.registration;
  const claimsWin = config.tenantPrecedence === "claims";
  const rules = {
    requires_approval: requiresApproval,
    max_tenants_per_user: maxTenantsPerUser,
    allowed_domains: allowedDomains,
  };

  app.get("/registration/status", getRegistrationStatus, async (request, reply) => {
    const { body } = await callAsCaller(request, getRegistrationStatus, rules);
    const off = () => JSON.stringify({ ...(JSON.parse(body) as object), enabled: false });
    return sendRow(reply, { body: enabled ? body : off() });
  });

  const registering = {
    ...registerTenant,
    preValidation: !config.multiTenantMode ? [refuseRegistration] : enabled ? [] : [refuseAll],
  };
  app.post<{ Body: Register }>("/register", registering, async (request, reply) => {
    const { organization_name, organization_slug, include_sample_data, admin_email, ...rest } = request.body;
    const { local, domain } = splitEmail(admin_email)!; // validated
    const registration = { ...rest, admin_email: `${local}@${domain.toLowerCase()}` };
    const row = await callAsCaller(request, registerTenant, {
      organization_name,
      organization_slug,
      slug_base: slugBase(organization_name),
      email_domain: asciiDomain(domain),
      registration: JSON.stringify(registration),
      sample_data: include_sample_data,
      ...rules,
      frontend_base_url: config.frontendBaseUrl,
    });
    return sendRow(
      located(reply, locationOf(row.body)),
      { ...row, body: claimsWin ? reachable(row.body, request) : row.body },
      row.status === "pending" ? 202 : 201,
    );
  });

  app.get("/current", getCurrentTenant, async (request, reply) =>
    sendUnlessKnown(request, reply, await callAsCaller(request, getCurrentTenant, {})),
  );

  await app.register(async patches => {
    takeMergePatches(patches);
    patches.patch<{ Body: PatchCurrentTenant }>("/current", patchCurrentTenant, async (request, reply) => {
      const { name, settings } = request.body;
      const given = {
        name,
        settings,
        writable: settingsSchema.writable,
        if_match: ifMatch(request),
        has_schema: settingsSchema.schema !== null,
      };
      const row = await writeValidated(
        settingsSchema,
        () => slugOf(request.tenant) ?? "",
        validated => callAsCaller(request, patchCurrentTenant, { ...given, validated }),
      );
      return sendRow(reply, row);
    });
  });

  app.get("/settings-schema", getSettingsSchema, async (request, reply) => {
    if (!request.identity.operator) await callAsCaller(request, getSettingsSchema, {});
    const { schema, writable } = settingsSchema;
    return sendRow(reply, { body: JSON.stringify({ schema, writable }) });
  });

  app.get<{ Querystring: ListTenantEvents }>("/events", listTenantEvents, (request, reply) =>
    sendEvents(request, reply, request.query, (asking, limit, after, order) =>
      callAsCaller(asking, listTenantEvents, { limit, after, order, type: request.query.type }),
    ),
  );

  app.get<{ Querystring: ListPage }>("/mine", listMyTenants, async (request, reply) => {
    const { limit, cursor } = request.query;
    const row = await callAsCaller(request, listMyTenants, { limit, cursor });
    const { operator } = request.identity;
    const caller = { operator, token_tenant: claimsWin ? namedByToken(request) : null };
    return sendPage(reply, {
      ...row,
      body: JSON.stringify({ ...(JSON.parse(row.body) as object), ...caller }),
    });
  });
}

/** The only tenant that the caller can work in, whatever X-Tenant says; null if the header counts. */
function namedByToken({ tenant }: FastifyRequest): MyTenants["token_tenant"] {
  if (tenant.kind !== "named" || tenant.source === "header" || tenant.source === "key") return null;
  return { slug: tenant.slug, source: tenant.source };
}

/** The answer says to send X-Tenant. Where claims win, it adds a warning for a caller whose token names another tenant. */
function reachable(body: string, { tenant }: FastifyRequest): string {
  const slug = slugOf(tenant);
  const registered = JSON.parse(body) as Static<typeof RegisteredTenant>;
  if (tenant.source === "header" || slug === registered.tenant_slug) return body;
  registered.admin_instructions += ` It counts only with a token that names no tenant: yours names ${slug}.`;
  return JSON.stringify(registered);
}

/** Before validation, so that the refusal does not depend on the body. No caller's request reaches the database. */
async function refuseRegistration(): Promise<void> {
  throw refusal("registration_disabled");
}

async function refuseAll(): Promise<void> {
  throw refusal("registration_disabled", { detail: "Tenant registration is switched off" });
}

function slugBase(name: string): string {
  const slug = slugify(name);
  return slug.length >= 3 ? slug : `org-${randomBytes(4).toString("hex")}`;
}
