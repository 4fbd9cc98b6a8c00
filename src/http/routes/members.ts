import type { FastifyInstance } from "fastify";
import type { Config } from "../../config/config.ts";
import type { Row } from "../../database/database.ts";
import { callAsCaller } from "../call.ts";
import { addMember, changeMember, listMembers, removeMember } from "../operations.ts";
import { located, sendable, sendPage, sendRow } from "../responses.ts";
import type { AddMember, ChangeMember, ListMembers } from "../schemas/tenants.ts";

type One = { user_id: string };

/** As api.add_member() and api.add_tenant_member() take them. */
export const fieldsOf = ({ auth_provider, auth_subject, email, display_name, role }: AddMember) => ({
  new_provider: auth_provider,
  new_subject: auth_subject,
  new_email: email,
  new_display_name: display_name,
  new_role: role,
});

export const pageOf = ({ limit, cursor, q }: ListMembers) => ({ limit, cursor, q: q || undefined });

export const userOf = ({ body }: Row) => (JSON.parse(body) as One).user_id;

/** The members of the tenant of the request. */
export default async function members(app: FastifyInstance, { config }: { config: Config }): Promise<void> {
  app.get<{ Querystring: ListMembers }>("", listMembers, async (request, reply) =>
    sendPage(reply, await callAsCaller(request, listMembers, pageOf(request.query))),
  );

  app.post<{ Body: AddMember }>("", addMember, async (request, reply) => {
    // The default is the issuer of the caller's own token, which a key has not.
    const provider = request.body.auth_provider ?? ((request.identity.key && config.jwt.issuer) || undefined);
    const given = fieldsOf({ ...request.body, ...(provider !== undefined && { auth_provider: provider }) });
    const row = await callAsCaller(request, addMember, given);
    return sendRow(located(reply, `/api/tenants/members/${userOf(row)}`), row, 201);
  });

  app.patch<{ Params: One; Body: ChangeMember }>("/:user_id", changeMember, async (request, reply) => {
    const given = { user_id: sendable(request.params.user_id), role: request.body.role };
    return sendRow(reply, await callAsCaller(request, changeMember, given));
  });

  app.delete<{ Params: One }>("/:user_id", removeMember, async (request, reply) =>
    sendRow(reply, await callAsCaller(request, removeMember, { user_id: sendable(request.params.user_id) })),
  );
}
