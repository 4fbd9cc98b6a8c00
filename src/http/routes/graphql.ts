import { setImmediate } from "node:timers/promises";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { GraphQLError, Kind, parse, type SelectionSetNode, type ValidationRule } from "graphql";
import mercurius, { type MercuriusContext } from "mercurius";
import { Shares } from "../../admission/shares.ts";
import { toProblem } from "../../errors/errors.ts";
import { slugOf } from "../../values/request-tenant.ts";
import { callAsCaller } from "../call.ts";
import { sendError } from "../error-handler.ts";
import { getCurrentTenant, queryGraphql, queryGraphqlByGet } from "../operations.ts";
import { sendRow } from "../responses.ts";
import { type GraphqlQuery, type GraphqlQueryString, RESPONSE_TYPE } from "../schemas/graphql.ts";

/** What a product adds. */
export interface GraphqlPart {
  types: string;
  /** Fields of Query. */
  queries: string;
  resolvers: Record<string, Record<string, (root: never, args: never, context: MercuriusContext) => unknown>>;
  rules: ValidationRule[];
  /** Why the answer to the request is too large; undefined: it is not. */
  excess: (request: FastifyRequest) => string | undefined;
}

const NO_PRODUCT: GraphqlPart = { types: "", queries: "", resolvers: {}, rules: [], excess: () => undefined };

const schemaWith = ({ types, queries }: GraphqlPart) => `
  "The tenant of the request."
  type Tenant { tenant_id: ID!, name: String!, slug: String!, status: String!, created_at: String!, updated_at: String! }
  "The caller's membership of it."
  type Membership { user_id: ID!, role: String!, email: String, display_name: String, joined_at: String! }
  ${types}
  type Query {
    tenant: Tenant!
    membership: Membership!
    ${queries}
  }
`;

declare module "mercurius" {
  interface MercuriusContext {
    request: FastifyRequest;
  }
}

/** The cost of a document, by `limitCost`. The introspection query of common tools costs 29,000. */
const MOST_COST = 40_000;
/** Fields of the introspection that are lists, and their typical length in this schema. */
const LISTS = new Set([
  "types",
  "fields",
  "args",
  "inputFields",
  "interfaces",
  "possibleTypes",
  "enumValues",
  "directives",
]);
const LIST_LENGTH = 8;

interface Current {
  tenant: object;
  membership: object;
}
const current = new WeakMap<FastifyRequest, Current>();

/** The whole request gets 400 with it, not one field. */
export class TooLarge extends GraphQLError {}

const resolvers = {
  tenant: (_root: unknown, _args: unknown, { request }: MercuriusContext) => current.get(request)!.tenant,
  membership: (_root: unknown, _args: unknown, { request }: MercuriusContext) =>
    current.get(request)!.membership,
};

/** Executions of one tenant at once, in an instance: the most expensive document takes 40 ms of the event loop. */
const MOST_AT_ONCE = 2;

const parseOptions = { maxTokens: 1_000 };

/** Without this rule a mutation would fail in execution, with status 200. */
const queriesOnly: ValidationRule = context => ({
  OperationDefinition(node) {
    if (node.operation !== "query")
      context.reportError(new GraphQLError("Only queries are served", { nodes: node }));
  },
});

/** Introspection is recursive: with aliases and fragments, a small document asks for millions of fields. */
const limitCost: ValidationRule = context => {
  const ofFragments = new Map<string, number>();
  const ofFragment = (name: string): number => {
    const known = ofFragments.get(name);
    if (known !== undefined) return known;
    ofFragments.set(name, 0); // another rule refuses a fragment that contains itself
    const selections = context.getFragment(name)?.selectionSet;
    const cost = selections ? costOf(selections) : 0;
    ofFragments.set(name, cost);
    return cost;
  };
  const costOf = ({ selections }: SelectionSetNode): number => {
    let cost = 0;
    for (const node of selections) {
      if (node.kind === Kind.FRAGMENT_SPREAD) cost += ofFragment(node.name.value);
      else if (node.kind === Kind.INLINE_FRAGMENT) cost += costOf(node.selectionSet);
      else {
        const each = LISTS.has(node.name.value) ? LIST_LENGTH : 1;
        cost += 1 + (node.selectionSet ? each * costOf(node.selectionSet) : 0);
      }
    }
    return cost;
  };
  return {
    OperationDefinition(node) {
      if (costOf(node.selectionSet) > MOST_COST)
        context.reportError(new GraphQLError("The document asks for too many fields", { nodes: node }));
    },
  };
};

type Fault = Error & {
  code?: string | undefined;
  /** Set by Fastify: the part of the request that a schema refused. */
  validationContext?: string;
  errors?: readonly GraphQLError[];
};

/** Clients that accept the media type of GraphQL trust the body of a 400 only with it. */
function send({ headers }: FastifyRequest, reply: FastifyReply, answer: object, status?: number) {
  const type = headers.accept?.includes(RESPONSE_TYPE) ? `${RESPONSE_TYPE}; charset=utf-8` : undefined;
  const vary = [reply.getHeader("vary") ?? [], "Accept"].flat().join(", ");
  return sendRow(reply.header("vary", vary), { body: JSON.stringify(answer) }, status, type);
}

/** The answer to a persisted query, which names a document by its hash. Clients then send the whole document. */
const NO_HASHES = new GraphQLError("PersistedQueryNotSupported");
function isHash({ body, query }: FastifyRequest): boolean {
  const { query: document, extensions } = { ...((body ?? query) as Partial<GraphqlQuery>) };
  return document === undefined && JSON.stringify(extensions ?? null).includes("persistedQuery");
}

/** Errors of the query are answered as GraphQL does; all others as everywhere. */
function answerFault(error: Fault, request: FastifyRequest, reply: FastifyReply): void {
  if (!(error instanceof GraphQLError || error.code?.startsWith("MER_") || error.validationContext))
    return void sendError(error, request, reply);
  const found = error.validationContext && isHash(request) ? NO_HASHES : (error as GraphQLError);
  const errors = (error.errors ?? [found]).map(({ message, locations }) => ({
    message,
    locations,
  }));
  send(request, reply, { errors }, 400);
}

/** Errors of resolvers that are not for clients, such as a lost database, are answered as everywhere. */
function raiseFaults<Result extends { errors?: readonly GraphQLError[] }>(result: Result) {
  for (const error of result.errors ?? []) {
    const { originalError: cause = error } = error;
    if (cause instanceof TooLarge) throw cause;
    if (!(cause instanceof GraphQLError) && (toProblem(cause)?.status ?? 500) >= 500) throw cause;
  }
  return { statusCode: 200, response: result };
}

/** Read-only GraphQL over the same functions. A caller who is not a member is refused before the query is read. */
export default async function graphql(
  app: FastifyInstance,
  { product = NO_PRODUCT }: { product?: GraphqlPart | undefined },
): Promise<void> {
  app.setErrorHandler(answerFault);
  // Before validation, which tells about the query.
  app.addHook("preValidation", async request => {
    const { body } = await callAsCaller(request, getCurrentTenant, {});
    current.set(request, JSON.parse(body) as Current);
  });
  await app.register(mercurius, {
    schema: schemaWith(product),
    resolvers: { ...product.resolvers, Query: { ...resolvers, ...product.resolvers.Query } },
    // Mercurius's own routes accept other media types, and answer 500 to a GET without a query.
    routes: false,
    graphiql: false,
    errorFormatter: raiseFaults,
    graphql: { parseOptions },
    validationRules: [queriesOnly, ...product.rules, limitCost],
    // The cache keeps whole documents: few, and none of them large.
    cache: 200,
  });
  // Mercurius would read other text as a syntax tree in JSON, which passes no limit and no check.
  app.graphql.addHook("preParsing", async (_schema, source) => void parse(source, parseOptions));

  app.graphql.addHook("preExecution", async (_schema, { definitions }, _context, variables) => {
    const known = new Set(
      definitions.flatMap(one =>
        one.kind === Kind.OPERATION_DEFINITION
          ? (one.variableDefinitions ?? []).map(({ variable }) => variable.name.value)
          : [],
      ),
    );
    const unused = Object.keys(variables ?? {}).find(name => !known.has(name));
    if (unused !== undefined)
      throw new GraphQLError(
        `Variable "$${unused.slice(0, 100)}" is not defined by any operation of the document`,
      );
  });

  const turns = new Shares(Number.MAX_SAFE_INTEGER);
  const answer = async (request: FastifyRequest, reply: FastifyReply, asked: GraphqlQuery) => {
    const { query, variables, operationName } = asked;
    // Without an object mercurius would not check for missing variables before it runs.
    const execute = () => app.graphql(query, { request }, { ...variables }, operationName ?? undefined);
    const found = await turns.run(slugOf(request.tenant) ?? "", 1, MOST_AT_ONCE, async () => {
      await setImmediate(); // other requests come first
      return execute();
    });
    const excess = product.excess(request);
    if (excess !== undefined) throw new TooLarge(excess);
    return send(request, reply, found);
  };
  app.post<{ Body: GraphqlQuery }>("/graphql", queryGraphql, (request, reply) =>
    answer(request, reply, request.body),
  );
  app.get<{ Querystring: GraphqlQueryString }>("/graphql", queryGraphqlByGet, (request, reply) => {
    const { variables = "null", query, operationName = null } = request.query;
    return answer(request, reply, {
      query,
      operationName,
      variables: JSON.parse(variables) as object | null,
    });
  });
}
