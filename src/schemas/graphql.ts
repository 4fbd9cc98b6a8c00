import { type Static, Type } from "typebox";
import { JsonObject, Nullable } from "./common.ts";

/** GraphQL over HTTP; for clients that accept it. */
export const RESPONSE_TYPE = "application/graphql-response+json";

const query = Type.String({ examples: ["{ tenant { name slug } membership { role } }"] });
const operationName = Type.Optional(Nullable(Type.String()));

export const GraphqlQuery = Type.Object(
  {
    query,
    operationName,
    variables: Type.Optional(Nullable(JsonObject)),
    extensions: Type.Optional(Nullable(JsonObject)),
  },
  {
    title: "GraphqlQuery",
    examples: [
      { query: "query ($limit: Int!) { boards(limit: $limit) { title } }", variables: { limit: 10 } },
    ],
  },
);
export type GraphqlQuery = Static<typeof GraphqlQuery>;

export const GraphqlQueryString = Type.Object({
  query,
  operationName: Type.Optional(Type.String()),
  variables: Type.Optional(Type.String({ format: "json-object", description: "A JSON object, as text" })),
});
export type GraphqlQueryString = Static<typeof GraphqlQueryString>;

const errors = Type.Array(
  Type.Object({
    message: Type.String(),
    locations: Type.Optional(Type.Array(Type.Object({ line: Type.Integer(), column: Type.Integer() }))),
    path: Type.Optional(Type.Array(Type.Unsafe<string | number>({ type: ["string", "integer"] }))),
    extensions: Type.Optional(JsonObject),
  }),
);

export const GraphqlAnswer = Type.Object(
  { data: Nullable(JsonObject), errors: Type.Optional(errors) },
  { title: "GraphqlAnswer" },
);

/** A query that cannot be run at all. */
export const GraphqlRefusal = Type.Object({ errors }, { title: "GraphqlRefusal" });
