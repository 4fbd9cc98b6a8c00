import type { FastifyInstance, FastifyReply } from "fastify";
import type { Config } from "../../config/config.ts";
import type { Row } from "../../database/database.ts";
import { isVerified } from "../../identity/claims.ts";
import { comparableEmail } from "../../values/email.ts";
import { makeSecret, partsOf, tokenOf } from "../../values/invitation-token.ts";
import { hashOf } from "../../values/secret.ts";
import { callAsCaller } from "../call.ts";
import * as operations from "../operations.ts";
import { located, sendable, sendPage, sendRow, sendSecret, tenantOf } from "../responses.ts";
import type { AcceptInvitation, CreateInvitation, ListPage } from "../schemas/tenants.ts";

/** Invitations into the tenant of the request, and their acceptance. */
export default async function invitations(
  app: FastifyInstance,
  { config: { frontendBaseUrl } }: { config: Config },
): Promise<void> {
  const { acceptInvitation, createInvitation, listInvitations, revokeInvitation } = operations;

  app.get<{ Querystring: ListPage }>("", listInvitations, async (request, reply) => {
    const { limit, cursor } = request.query;
    return sendPage(reply, await callAsCaller(request, listInvitations, { limit, cursor }));
  });

  app.post<{ Body: CreateInvitation }>("", createInvitation, async (request, reply) => {
    const { given, secret } = asked(request.body);
    const row = await callAsCaller(request, createInvitation, given);
    return sendMade(reply, row, secret, "/api/tenants/invitations", frontendBaseUrl);
  });

  app.delete<{ Params: { invitation_id: string } }>(
    "/:invitation_id",
    revokeInvitation,
    async (request, reply) => {
      const invitation_id = sendable(request.params.invitation_id);
      return sendRow(reply, await callAsCaller(request, revokeInvitation, { invitation_id }));
    },
  );

  app.post<{ Body: AcceptInvitation }>("/accept", acceptInvitation, async (request, reply) => {
    const { tenantId, hash } = partsOf(request.body.token);
    const { email, claims } = request.identity;
    const verified = email !== null && isVerified(claims, "email") !== false ? comparableEmail(email) : null;
    const given = { invited_tenant: sendable(tenantId), token_hash: hash, verified_email: verified };
    return sendRow(reply, await callAsCaller(request, acceptInvitation, given));
  });
}

type Of<Others = object> = { Params: { tenant_id: string } & Others };

/** Invitations into any tenant, for operators. */
export async function invitationsByOperator(
  app: FastifyInstance,
  { frontendBaseUrl }: Pick<Config, "frontendBaseUrl">,
): Promise<void> {
  const { listTenantInvitations, createTenantInvitation, revokeTenantInvitation } = operations;

  app.get<Of & { Querystring: ListPage }>("", listTenantInvitations, async (request, reply) => {
    const { limit, cursor } = request.query;
    const given = { ...tenantOf(request), limit, cursor };
    return sendPage(reply, await callAsCaller(request, listTenantInvitations, given));
  });

  app.post<Of & { Body: CreateInvitation }>("", createTenantInvitation, async (request, reply) => {
    const { given, secret } = asked(request.body);
    const row = await callAsCaller(request, createTenantInvitation, { ...tenantOf(request), ...given });
    const under = `/api/setup/tenant/${request.params.tenant_id}/invitations`;
    return sendMade(reply, row, secret, under, frontendBaseUrl);
  });

  app.delete<Of<{ invitation_id: string }>>(
    "/:invitation_id",
    revokeTenantInvitation,
    async (request, reply) => {
      const given = { ...tenantOf(request), invitation_id: sendable(request.params.invitation_id) };
      return sendRow(reply, await callAsCaller(request, revokeTenantInvitation, given));
    },
  );
}

/** What the database learns of a new invitation, and the secret, which it does not. */
function asked({ role, email, expires_in }: CreateInvitation) {
  const secret = makeSecret();
  const invited_email = email === undefined ? null : comparableEmail(email);
  return { given: { role, invited_email, expires_in, token_hash: hashOf(secret) }, secret };
}

function sendMade(
  reply: FastifyReply,
  { body, tenant_id }: Row,
  secret: string,
  under: string,
  frontendBaseUrl: string | null,
) {
  const invitation = JSON.parse(body) as { invitation_id: string };
  const token = tokenOf(tenant_id!, secret);
  return sendSecret(located(reply, `${under}/${invitation.invitation_id}`), {
    ...invitation,
    token,
    // After the #: browsers send that part neither to a server nor in a Referer.
    ...(frontendBaseUrl !== null && { accept_url: `${frontendBaseUrl}/#invitation=${token}` }),
  });
}
