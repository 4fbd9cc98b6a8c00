import type { FastifyInstance } from "fastify";
import { callAsCaller } from "../../database/database.ts";
import { refuseBody } from "../json-body.ts";
import { addMember, listMembers, removeMember } from "../operations.ts";
import { located, normalizeNames, sendable, sendPage, sendRow } from "../responses.ts";
import type { AddMember, ListPage } from "../schemas/tenants.ts";

/** The members of the tenant of the request. */
export default async function members(app: FastifyInstance): Promise<void> {
  app.get<{ Querystring: ListPage }>("", listMembers, async (request, reply) => {
    const { limit, cursor } = request.query;
    return sendPage(reply, await callAsCaller(request, listMembers, limit, cursor));
  });

  const adding = { ...addMember, preValidation: normalizeNames };
  app.post<{ Body: AddMember }>("", adding, async (request, reply) => {
    const { auth_provider, auth_subject, email, display_name, role } = request.body;
    const given = [auth_provider, auth_subject, email, display_name, role];
    const row = await callAsCaller(request, addMember, ...given);
    const { user_id } = JSON.parse(row.body) as { user_id: string };
    return sendRow(located(reply, `/api/tenants/members/${user_id}`), row, 201);
  });

  const removing = { ...removeMember, preValidation: refuseBody };
  app.delete<{ Params: { user_id: string } }>("/:user_id", removing, async (request, reply) =>
    sendRow(reply, await callAsCaller(request, removeMember, sendable(request.params.user_id))),
  );
}
