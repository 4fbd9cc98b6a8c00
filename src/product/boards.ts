import type { FastifyInstance } from "fastify";
import { callAsCaller } from "../http/call.ts";
import { sendPage } from "../http/responses.ts";
import type { ListPage } from "../http/schemas/tenants.ts";
import { listBoards } from "./operations.ts";

/** The boards of the tenant: the pattern for every resource that a tenant owns. */
export default async function boards(app: FastifyInstance): Promise<void> {
  app.get<{ Querystring: ListPage }>("", listBoards, async (request, reply) => {
    const { limit, cursor } = request.query;
    return sendPage(reply, await callAsCaller(request, listBoards, { limit, cursor }));
  });
}
