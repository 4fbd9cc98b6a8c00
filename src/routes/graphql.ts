import type { FastifyInstance, FastifyRequest } from "fastify";
import mercurius, { type MercuriusContext } from "mercurius";
import { callAsCaller } from "../database.ts";

const schema = `
  "The tenant of the request."
  type Tenant { tenant_id: ID!, name: String!, slug: String!, status: String!, created_at: String!, updated_at: String! }
  "The caller's membership of it."
  type Membership { user_id: ID!, role: String!, email: String, display_name: String, joined_at: String! }
  type Board { board_id: ID!, title: String!, description: String, owner_id: ID!, created_at: String!, updated_at: String! }
  type Query {
    tenant: Tenant!
    membership: Membership!
    "Newest first, 1 to 1000 of them."
    boards(limit: Int! = 100): [Board!]!
  }
`;

declare module "mercurius" {
  interface MercuriusContext {
    request: FastifyRequest;
  }
}

interface Current {
  tenant: object;
  membership: object;
}
const current = new WeakMap<FastifyRequest, Current>();

const resolvers = {
  Query: {
    tenant: (_root: unknown, _args: unknown, { request }: MercuriusContext) => current.get(request)!.tenant,
    membership: (_root: unknown, _args: unknown, { request }: MercuriusContext) =>
      current.get(request)!.membership,
    boards: async (_root: unknown, { limit }: { limit: number }, { request }: MercuriusContext) => {
      const { body } = await callAsCaller(request, "list_boards", Math.min(1000, Math.max(1, limit)), null);
      return (JSON.parse(body) as { boards: object[] }).boards;
    },
  },
};

/** Read-only GraphQL over the same functions. A caller who is not a member is refused before a query is looked at. */
export default async function graphql(app: FastifyInstance): Promise<void> {
  app.addHook("preHandler", async request => {
    const { body } = await callAsCaller(request, "get_current_tenant");
    current.set(request, JSON.parse(body) as Current);
  });
  await app.register(mercurius, {
    schema,
    resolvers,
    graphiql: false,
    queryDepth: 8,
    context: (request: FastifyRequest) => ({ request }),
  });
}
