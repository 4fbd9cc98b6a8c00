import type { FastifyInstance } from "fastify";
import { callAsCaller } from "../../database/database.ts";
import { refuseBody } from "../json-body.ts";
import * as operations from "../operations.ts";
import { normalizeNames, sendable, sendPage, sendRow } from "../responses.ts";
import type { AddMember, ListPage } from "../schemas/tenants.ts";

/** Who belongs to the tenant of the request. */
export default async function members(app: FastifyInstance): Promise<void> {
  app.get<{ Querystring: ListPage }>("", { schema: operations.listMembers }, async (request, reply) =>
    sendPage(
      request,
      reply,
      await callAsCaller(request, "list_members", request.query.limit, request.query.cursor),
    ),
  );

  app.post<{ Body: AddMember }>(
    "",
    { preValidation: normalizeNames, schema: operations.addMember },
    async (request, reply) => {
      const { auth_provider, auth_subject, email, display_name, role } = request.body;
      const row = await callAsCaller(
        request,
        "add_member",
        auth_provider,
        auth_subject,
        email,
        display_name,
        role,
      );
      const { user_id } = JSON.parse(row.body) as { user_id: string };
      return sendRow(reply.header("location", `/api/tenants/members/${user_id}`), row, 201);
    },
  );

  app.delete<{ Params: { user_id: string } }>(
    "/:user_id",
    { preValidation: refuseBody, schema: operations.removeMember },
    async (request, reply) =>
      sendRow(reply, await callAsCaller(request, "remove_member", sendable(request.params.user_id))),
  );
}
