import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { GraphQLError, parse } from "graphql";
import mercurius, { type MercuriusContext } from "mercurius";
import { callAsCaller } from "../database.ts";
import { sendError, toProblem } from "../errors.ts";
import { queryGraphql, queryGraphqlByGet } from "../operations.ts";

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
  /** By limit: a document may ask for the same boards under many aliases. */
  boards: Map<number, Promise<object[]>>;
}
const current = new WeakMap<FastifyRequest, Current>();

async function readBoards(request: FastifyRequest, limit: number): Promise<object[]> {
  const { body } = await callAsCaller(request, "list_boards", limit, null);
  return (JSON.parse(body) as { boards: object[] }).boards;
}

const resolvers = {
  Query: {
    tenant: (_root: unknown, _args: unknown, { request }: MercuriusContext) => current.get(request)!.tenant,
    membership: (_root: unknown, _args: unknown, { request }: MercuriusContext) =>
      current.get(request)!.membership,
    boards: (_root: unknown, { limit: wanted }: { limit: number }, { request }: MercuriusContext) => {
      const { boards } = current.get(request)!;
      const limit = Math.min(1000, Math.max(1, wanted));
      if (!boards.has(limit)) boards.set(limit, readBoards(request, limit));
      return boards.get(limit);
    },
  },
};

const parseOptions = { maxTokens: 1_000 };

type Fault = Error & { code?: string | undefined; errors?: readonly (Error & { locations?: unknown })[] };

/** A fault of the query is GraphQL's to tell; everything else is answered like everywhere. */
function answerFault(error: Fault, request: FastifyRequest, reply: FastifyReply): void {
  if (!(error instanceof GraphQLError || error.code?.startsWith("MER_")))
    return void sendError(error, request, reply);
  const errors = (error.errors ?? [error as Fault & { locations?: unknown }]).map(
    ({ message, locations }) => ({ message, locations }),
  );
  reply.code(400).send({ data: null, errors });
}

/** What a resolver threw is told only when a client is meant to read it. */
function hideFaults<Result extends { errors?: readonly GraphQLError[] }>(
  result: Result,
  request: FastifyRequest,
) {
  const errors = result.errors?.map(error => {
    const cause = error.originalError;
    if (!cause || cause instanceof GraphQLError || toProblem(cause)) return error;
    request.log.error({ err: cause }, "unexpected fault");
    return new GraphQLError("Internal error", { nodes: error.nodes ?? null, path: error.path ?? null });
  });
  return { statusCode: 200, response: { ...result, errors } };
}

/** Read-only GraphQL over the same functions. A caller who is not a member is refused before a query is looked at. */
export default async function graphql(app: FastifyInstance): Promise<void> {
  app.addHook("onRoute", route => {
    route.schema = route.method === "POST" ? queryGraphql : queryGraphqlByGet;
  });
  app.addHook("preHandler", async request => {
    const { body } = await callAsCaller(request, "get_current_tenant");
    current.set(request, { ...(JSON.parse(body) as Current), boards: new Map() });
  });
  await app.register(mercurius, {
    schema,
    resolvers,
    graphiql: false,
    errorHandler: answerFault,
    errorFormatter: (result, { request }) => hideFaults(result, request),
    queryDepth: 8,
    graphql: { parseOptions },
    // It keeps whole documents: few, and none of them large.
    cache: 200,
    additionalRouteOptions: { bodyLimit: 32 * 1024 },
    context: (request: FastifyRequest) => ({ request }),
  });
  // What is no document the library reads as a syntax tree in JSON, which no limit and no check of form would look at.
  app.graphql.addHook("preParsing", async (_schema, source) => void parse(source, parseOptions));
}
