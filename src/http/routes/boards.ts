import type { FastifyInstance } from "fastify";
import { callAsCaller } from "../../database/database.ts";
import * as operations from "../operations.ts";
import { sendPage } from "../responses.ts";
import type { ListPage } from "../schemas/tenants.ts";

/** The boards of the tenant: the pattern for every resource that a tenant owns. */
export default async function boards(app: FastifyInstance): Promise<void> {
  app.get<{ Querystring: ListPage }>("", { schema: operations.listBoards }, async (request, reply) =>
    sendPage(
      request,
      reply,
      await callAsCaller(request, "list_boards", request.query.limit, request.query.cursor),
    ),
  );
}
