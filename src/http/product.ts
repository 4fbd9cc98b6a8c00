import type { FastifyPluginAsync } from "fastify";
import type { Document } from "./openapi.ts";
import type { GraphqlPart } from "./routes/graphql.ts";

/** What a product adds to the service. A database has it or not: without it nothing of this is served. */
export interface Product {
  /** Registered where a request has a verified token and a tenant. */
  routes: FastifyPluginAsync;
  graphql: GraphqlPart;
  /** The document, as it is where the database has no product. */
  withoutIt: (document: Document) => Document;
}
