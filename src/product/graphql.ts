import type { FastifyRequest } from "fastify";
import { GraphQLError, type ValidationRule } from "graphql";
import type { MercuriusContext } from "mercurius";
import { callAsCaller } from "../http/call.ts";
import { type GraphqlPart, TooLarge } from "../http/routes/graphql.ts";
import { listBoards } from "./operations.ts";

/** The sum of all `boards` limits in a request. */
const MOST_BOARDS = 1_000;
/** Characters of boards in an answer: as much as a page of /api/boards holds. An alias costs as much as a field. */
const MOST_TEXT = 2 * 1024 * 1024;
/** Fields of boards in a document, with fragments and aliases: each is repeated for every board. */
const MOST_FIELDS = 24;

interface Asked {
  limit: number;
  total: number;
  /** Characters of boards so far. */
  text: number;
  /** One read for all aliases. */
  boards?: Promise<object[]>;
}
const requests = new WeakMap<FastifyRequest, Asked>();

function askedOf(request: FastifyRequest): Asked {
  const known = requests.get(request);
  if (known) return known;
  const asked = { limit: 0, total: 0, text: 0 };
  requests.set(request, asked);
  return asked;
}

async function readBoards(request: FastifyRequest, limit: number): Promise<object[]> {
  const { body, next_cursor } = await callAsCaller(request, listBoards, { limit, cursor: null });
  const { boards } = JSON.parse(body) as { boards: object[] };
  if (next_cursor && boards.length < limit)
    throw new TooLarge(`These boards are too large for one answer; ask for at most ${boards.length} of them`);
  return boards;
}

/** Beyond the limit it goes on without the values: as many errors as fields would cost more than the answer. */
function boardField(name: string) {
  return (board: Record<string, string | null>, _args: unknown, { request }: MercuriusContext) => {
    const asked = askedOf(request);
    const value = board[name]!;
    asked.text += value?.length ?? 0;
    return asked.text > MOST_TEXT ? "" : value;
  };
}

/** A document may have many aliases. All resolvers run before the read begins, so one read with the largest limit serves them. */
async function boards(_root: unknown, { limit }: { limit: number }, { request }: MercuriusContext) {
  if (limit < 1 || limit > MOST_BOARDS) throw new GraphQLError(`limit must be 1 to ${MOST_BOARDS}`);
  const asked = askedOf(request);
  asked.total += limit;
  if (asked.total > MOST_BOARDS)
    throw new GraphQLError(`All boards of a request together must be at most ${MOST_BOARDS}`);
  asked.limit = Math.max(asked.limit, limit);
  asked.boards ??= Promise.resolve().then(() => readBoards(request, asked.limit));
  return (await asked.boards).slice(0, limit);
}

const limitFields: ValidationRule = context => {
  let fields = 0;
  return {
    Field(node) {
      if (context.getParentType()?.name === "Board" && ++fields === MOST_FIELDS + 1)
        context.reportError(
          new GraphQLError(`A document must ask for at most ${MOST_FIELDS} fields of boards`, {
            nodes: node,
          }),
        );
    },
  };
};

export const boardsInGraphql: GraphqlPart = {
  types:
    "type Board { board_id: ID!, title: String!, description: String, owner_id: ID!, created_at: String!, updated_at: String! }",
  queries: `"Newest first, 1 to 1000 of them."
    boards(limit: Int! = 100): [Board!]!`,
  resolvers: {
    Query: { boards },
    Board: Object.fromEntries(["title", "description"].map(name => [name, boardField(name)])),
  },
  rules: [limitFields],
  excess: request =>
    askedOf(request).text > MOST_TEXT
      ? "The answer would be too large; ask for fewer boards, or for each field once"
      : undefined,
};
