import type { FastifyInstance } from "fastify";
import { newSecret } from "../../identity/keys.ts";
import { callAsCaller } from "../call.ts";
import { createKey, listKeys, revokeKey } from "../operations.ts";
import { located, sendable, sendPage, sendRow, sendSecret } from "../responses.ts";
import type { CreateKey, ListPage } from "../schemas/tenants.ts";

/** The API keys of the tenant of the request. */
export default async function keys(app: FastifyInstance): Promise<void> {
  app.get<{ Querystring: ListPage }>("", listKeys, async (request, reply) => {
    const { limit, cursor } = request.query;
    return sendPage(reply, await callAsCaller(request, listKeys, { limit, cursor }));
  });

  app.post<{ Body: CreateKey }>("", createKey, async (request, reply) => {
    const { name, role, expires_at } = request.body;
    const { hash, keyIn } = newSecret();
    const given = { name, role, expires_at, secret_hash: hash };
    const { body, tenant_id } = await callAsCaller(request, createKey, given);
    const key = JSON.parse(body) as { key_id: string };
    located(reply, `/api/tenants/keys/${key.key_id}`);
    return sendSecret(reply, { ...key, key: keyIn(tenant_id!) });
  });

  app.delete<{ Params: { key_id: string } }>("/:key_id", revokeKey, async (request, reply) =>
    sendRow(reply, await callAsCaller(request, revokeKey, { key_id: sendable(request.params.key_id) })),
  );
}
