import type { FastifyInstance } from "fastify";
import type { Config } from "../../config/config.ts";
import { isVerified } from "../../identity/claims.ts";
import { comparableEmail } from "../../values/email.ts";
import { hashOf, makeSecret, partsOf, tokenOf } from "../../values/invitation-token.ts";
import { callAsCaller } from "../call.ts";
import { refuseBody } from "../json-body.ts";
import { acceptInvitation, createInvitation, listInvitations, revokeInvitation } from "../operations.ts";
import { located, sendable, sendPage, sendRow } from "../responses.ts";
import type { AcceptInvitation, CreateInvitation, ListPage } from "../schemas/tenants.ts";

/** Invitations into the tenant of the request, and their acceptance. */
export default async function invitations(
  app: FastifyInstance,
  { config: { frontendBaseUrl } }: { config: Config },
): Promise<void> {
  app.get<{ Querystring: ListPage }>("", listInvitations, async (request, reply) => {
    const { limit, cursor } = request.query;
    return sendPage(reply, await callAsCaller(request, listInvitations, { limit, cursor }));
  });

  app.post<{ Body: CreateInvitation }>("", createInvitation, async (request, reply) => {
    const { role, email, expires_in } = request.body;
    const secret = makeSecret();
    const address = email === undefined ? null : comparableEmail(email);
    const given = { role, invited_email: address, expires_in, token_hash: hashOf(secret) };
    const { body, tenant_id } = await callAsCaller(request, createInvitation, given);
    const invitation = JSON.parse(body) as { invitation_id: string };
    const token = tokenOf(tenant_id!, secret);
    const path = `/api/tenants/invitations/${invitation.invitation_id}`;
    return located(reply, path)
      .code(201)
      .header("cache-control", "no-store")
      .header("x-content-type-options", "nosniff")
      .send({
        ...invitation,
        token,
        // After the #: browsers send that part neither to a server nor in a Referer.
        ...(frontendBaseUrl !== null && { accept_url: `${frontendBaseUrl}/#invitation=${token}` }),
      });
  });

  const revoking = { ...revokeInvitation, preValidation: refuseBody };
  app.delete<{ Params: { invitation_id: string } }>("/:invitation_id", revoking, async (request, reply) => {
    const invitation_id = sendable(request.params.invitation_id);
    return sendRow(reply, await callAsCaller(request, revokeInvitation, { invitation_id }));
  });

  app.post<{ Body: AcceptInvitation }>("/accept", acceptInvitation, async (request, reply) => {
    const { tenantId, hash } = partsOf(request.body.token);
    const { email, claims } = request.identity;
    const verified = email !== null && isVerified(claims, "email") !== false ? comparableEmail(email) : null;
    const given = { invited_tenant: sendable(tenantId), token_hash: hash, verified_email: verified };
    return sendRow(reply, await callAsCaller(request, acceptInvitation, given));
  });
}
