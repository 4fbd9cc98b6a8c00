import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Config } from "../../config/config.ts";
import { configurationAdvice } from "../../config/recommendations.ts";
import { refusal } from "../../errors/problems.ts";
import { hasState } from "../../errors/sqlstates.ts";
import type { Claims } from "../../identity/auth.ts";
import { type Asked, askedByClaims, type Refused } from "../../identity/explain.ts";
import { RELEASE } from "../../migrate/release.ts";
import { callAsCaller } from "../call.ts";
import { ifMatch } from "../etags.ts";
import { sendEvents } from "../event-stream.ts";
import { invalid } from "../json-body.ts";
import { takeMergePatches } from "../merge-patch.ts";
import * as operations from "../operations.ts";
import { located, sendable, sendPage, sendRow, sendUnlessKnown, tenantOf } from "../responses.ts";
import { IDEMPOTENCY_KEY_PATTERN } from "../schemas/common.ts";
import type { ListEvents } from "../schemas/events.ts";
import type {
  AuditPage,
  CreateTenant,
  DeleteTenant,
  ExplainByClaims,
  ExplainBySlug,
  ListTenants,
  PatchTenant,
  UpdateTenant,
  WithReason,
} from "../schemas/setup.ts";
import type { AddMember, ChangeMember, ListMembers } from "../schemas/tenants.ts";
import { type SettingsSchema, writeValidated } from "../settings-schema.ts";
import { invitationsByOperator } from "./invitations.ts";
import { fieldsOf, pageOf, userOf } from "./members.ts";

type One = { Params: { tenant_id: string } };

/** Tenants, for operators. */
export default async function setup(
  app: FastifyInstance,
  { config, settingsSchema }: { config: Config; settingsSchema: SettingsSchema },
): Promise<void> {
  const advice = configurationAdvice(config);
  const claimsWin = config.tenantPrecedence === "claims";
  const status = (request: FastifyRequest) =>
    callAsCaller(request, operations.getSetupStatus, {
      release: RELEASE.number,
      advice,
      claims_win: claimsWin,
    });

  // Before validation: a caller who is not an operator gets the database's refusal, not a list of wrong fields.
  app.addHook("preValidation", async request => {
    if (!request.identity.operator) await status(request);
  });

  app.get("/status", operations.getSetupStatus, async (request, reply) =>
    sendRow(reply, await status(request)),
  );

  app.get<{ Querystring: AuditPage }>("/audit", operations.getAudit, async (request, reply) => {
    const { limit, cursor } = request.query;
    return sendPage(reply, await callAsCaller(request, operations.getAudit, { limit, cursor }));
  });

  app.get<{ Querystring: ListEvents }>("/events", operations.listEvents, (request, reply) => {
    const { type, tenant_id } = request.query;
    return sendEvents(request, reply, request.query, (asking, limit, after, order) =>
      callAsCaller(asking, operations.listEvents, { limit, after, order, type, tenant_id }),
    );
  });

  const explain = async (request: FastifyRequest, reply: FastifyReply, asked: Asked | Refused) => {
    // The caller is an operator (preValidation): a refusal by the claims alone needs no database.
    if ("refusal" in asked) return reply.header("cache-control", "no-store").send(asked);
    const { slug, provider, subject, email, source, operator } = asked;
    const given = {
      asked_slug: slug,
      asked_provider: provider,
      asked_subject: subject,
      source,
      operator,
      asked_email: email,
    };
    return sendRow(reply, await callAsCaller(request, operations.explainAccess, given));
  };

  app.get<{ Querystring: ExplainBySlug }>("/explain", operations.explainAccess, (request, reply) => {
    const { tenant: slug = null, provider, subject = null, email } = request.query;
    if (subject !== null && email !== undefined)
      throw invalid([{ field: "email", message: "cannot be given together with subject" }]);
    return explain(request, reply, { slug, source: "given", provider, subject, email, operator: false });
  });

  app.post<{ Body: ExplainByClaims }>("/explain", operations.explainClaims, (request, reply) =>
    explain(request, reply, askedByClaims(request.body.claims as Claims, request.body.header, config)),
  );

  app.post<{ Body: CreateTenant }>("/tenant", operations.createTenant, async (request, reply) => {
    const { name, slug, settings, include_sample_data, owner } = request.body;
    // The database refuses the others.
    if (request.identity.operator) await settingsSchema.check(`new ${slug}`, JSON.stringify(settings ?? {}));
    const mayBeDefault = !config.multiTenantMode && slug === config.defaultTenant.slug;
    const row = await callAsCaller(request, operations.createTenant, {
      name,
      slug,
      settings,
      sample_data: include_sample_data,
      may_be_default: mayBeDefault,
      idempotency_key: idempotencyKey(request),
      owner,
    });
    return sendRow(located(reply, locationOf(row.body)), row, row.created ? 201 : 200);
  });

  app.get<{ Querystring: ListTenants }>("/tenants", operations.listTenants, async (request, reply) => {
    const { limit, cursor, status, search, slug, order } = request.query;
    const given = { limit, cursor, status, search: search?.normalize("NFC") || undefined, slug, order };
    return sendPage(reply, await callAsCaller(request, operations.listTenants, given));
  });

  app.get<One>("/tenant/:tenant_id", operations.getTenant, async (request, reply) => {
    const row = await callAsCaller(request, operations.getTenant, tenantOf(request));
    return sendUnlessKnown(request, reply, row);
  });

  app.put<One & { Body: UpdateTenant }>(
    "/tenant/:tenant_id",
    operations.updateTenant,
    async (request, reply) => {
      const { name, slug, settings } = request.body;
      if (settings && request.identity.operator)
        await settingsSchema.check(request.params.tenant_id, JSON.stringify(settings));
      const given = { ...found(request), name, slug, settings };
      return sendRow(reply, await callAsCaller(request, operations.updateTenant, given));
    },
  );

  await app.register(async patches => {
    takeMergePatches(patches);
    patches.patch<One & { Body: PatchTenant }>(
      "/tenant/:tenant_id",
      operations.patchTenant,
      async (request, reply) => {
        const { name, slug, settings } = request.body;
        const given = { ...found(request), name, slug, settings, has_schema: settingsSchema.schema !== null };
        const row = await writeValidated(
          settingsSchema,
          () => request.params.tenant_id,
          validated => callAsCaller(request, operations.patchTenant, { ...given, validated }),
        );
        return sendRow(reply, row);
      },
    );
  });

  app.delete<One & { Querystring: DeleteTenant }>(
    "/tenant/:tenant_id",
    operations.deleteTenant,
    async (request, reply) => {
      const { dry_run, purge, reason } = request.query;
      const { config: run } = operations.deleteTenant;
      if (dry_run)
        return sendRow(
          reply,
          await callAsCaller(request, { config: run.dryRun }, { ...found(request), purge }),
        );
      const deletion = purge
        ? callAsCaller(request, { config: run.purge }, { ...found(request), reason })
        : callAsCaller(request, operations.deleteTenant, {
            ...found(request),
            grace_days: config.deletionGraceDays,
            reason,
          });
      const deleted = deletion.catch((error: Error) => {
        // A deletion waits only for writers of its tenant.
        const metWriters = hasState(error.cause, "lock_not_available", "deadlock_detected");
        throw metWriters ? refusal("tenant_busy", { cause: error.cause }) : error;
      });
      return sendRow(reply, await deleted);
    },
  );

  type Reasoned = One & { Body: WithReason };
  app.post<Reasoned>("/tenant/:tenant_id/reject", operations.rejectTenant, async (request, reply) => {
    const given = { ...found(request), reason: request.body.reason };
    return sendRow(reply, await callAsCaller(request, operations.rejectTenant, given));
  });

  app.post<Reasoned>("/tenant/:tenant_id/suspend", operations.suspendTenant, async (request, reply) => {
    const given = { ...found(request), reason: request.body.reason };
    return sendRow(reply, await callAsCaller(request, operations.suspendTenant, given));
  });

  await app.register(members, { prefix: "/tenant/:tenant_id/members" });
  await app.register(invitationsByOperator, {
    prefix: "/tenant/:tenant_id/invitations",
    frontendBaseUrl: config.frontendBaseUrl,
  });

  for (const [move, operation] of Object.entries(operations.moves)) {
    app.post<One>(`/tenant/:tenant_id/${move}`, operation, async (request, reply) =>
      sendRow(reply, await callAsCaller(request, operation, found(request))),
    );
  }
}

/** What owners do in their tenant, in any tenant. */
async function members(app: FastifyInstance): Promise<void> {
  type Member = { Params: { tenant_id: string; user_id: string } };

  app.get<One & { Querystring: ListMembers }>("", operations.listTenantMembers, async (request, reply) => {
    const given = { ...tenantOf(request), ...pageOf(request.query) };
    return sendPage(reply, await callAsCaller(request, operations.listTenantMembers, given));
  });

  app.post<One & { Body: AddMember }>("", operations.addTenantMember, async (request, reply) => {
    const given = { ...tenantOf(request), ...fieldsOf(request.body) };
    const row = await callAsCaller(request, operations.addTenantMember, given);
    const path = `/api/setup/tenant/${request.params.tenant_id}/members/${userOf(row)}`;
    return sendRow(located(reply, path), row, 201);
  });

  const changing = operations.changeTenantMember;
  app.patch<Member & { Body: ChangeMember }>("/:user_id", changing, async (request, reply) => {
    const given = { ...memberOf(request), role: request.body.role };
    return sendRow(reply, await callAsCaller(request, changing, given));
  });

  app.delete<Member>("/:user_id", operations.removeTenantMember, async (request, reply) => {
    return sendRow(reply, await callAsCaller(request, operations.removeTenantMember, memberOf(request)));
  });
}

const found = (request: FastifyRequest<One>) => ({ ...tenantOf(request), if_match: ifMatch(request) });

const memberOf = ({ params }: { params: { tenant_id: string; user_id: string } }) => ({
  ...tenantOf({ params }),
  user_id: sendable(params.user_id),
});

export const locationOf = (body: string) =>
  `/api/setup/tenant/${(JSON.parse(body) as { tenant_id: string }).tenant_id}`;

const KEY = new RegExp(IDEMPOTENCY_KEY_PATTERN);

function idempotencyKey({ raw: { rawHeaders } }: FastifyRequest): string | null {
  // Node joins two of them to one header.
  const [key, ...more] = rawHeaders.filter(
    (_, i) => rawHeaders[i - 1]?.toLowerCase() === "idempotency-key" && i % 2 === 1,
  );
  if (key === undefined) return null;
  if (more.length === 0 && KEY.test(key)) return key;
  throw invalid([{ field: "Idempotency-Key", message: "must be 8 to 255 printable ASCII characters" }]);
}
