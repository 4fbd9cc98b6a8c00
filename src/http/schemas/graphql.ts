import { type Static, Type } from "typebox";
import { Nullable } from "./common.ts";

/** The media type of GraphQL over HTTP, for clients that accept it. */
export const RESPONSE_TYPE = "application/graphql-response+json";

/** Any fields: the GraphQL document decides which. */
const Fields = Type.Object({}, { additionalProperties: true });
const query = Type.String({ examples: ["{ tenant { name slug } membership { role } }"] });
const operationName = Type.Optional(Nullable(Type.String()));

export const GraphqlQuery = Type.Object(
  {
    query,
    operationName,
    variables: Type.Optional(Nullable(Fields)),
    extensions: Type.Optional(Nullable(Fields)),
  },
  {
    title: "GraphqlQuery",
    examples: [
      { query: "query ($limit: Int!) { boards(limit: $limit) { title } }", variables: { limit: 10 } },
    ],
  },
);
export type GraphqlQuery = Static<typeof GraphqlQuery>;

const objectAsText = Type.Optional(
  Type.String({ format: "json-object", description: "A JSON object as text" }),
);
export const GraphqlQueryString = Type.Object(
  {
    query,
    operationName: Type.Optional(Type.String()),
    variables: objectAsText,
    extensions: objectAsText,
  },
  { additionalProperties: false },
);
export type GraphqlQueryString = Static<typeof GraphqlQueryString>;

const errors = Type.Array(
  Type.Object({
    message: Type.String(),
    locations: Type.Optional(Type.Array(Type.Object({ line: Type.Integer(), column: Type.Integer() }))),
    path: Type.Optional(Type.Array(Type.Unsafe<string | number>({ type: ["string", "integer"] }))),
    extensions: Type.Optional(Fields),
  }),
);

export const GraphqlAnswer = Type.Object(
  { data: Nullable(Fields), errors: Type.Optional(errors) },
  {
    title: "GraphqlAnswer",
    examples: [{ data: { tenant: { name: "Acme Corp", slug: "acme" }, membership: { role: "owner" } } }],
  },
);

/** A query that cannot run. */
export const GraphqlRefusal = Type.Object(
  { errors },
  {
    title: "GraphqlRefusal",
    examples: [
      {
        errors: [
          { message: 'Cannot query field "nobody" on type "Query".', locations: [{ line: 1, column: 3 }] },
        ],
      },
    ],
  },
);
