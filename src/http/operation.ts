/** What an operation is, for the entries of src/http/operations.ts and of the product. */
import type { FastifySchema } from "fastify";
import type { TSchema } from "typebox";
import type { Call } from "../database/database.ts";
import type { ProblemName } from "../errors/problems.ts";
import type { Bucket } from "./rate-limit.ts";
import { NoParameters } from "./schemas/common.ts";

export type RequestHeader = "Idempotency-Key" | "If-Match" | "If-None-Match" | "Last-Event-ID";
export type ResponseHeader = "ETag" | "Link" | "Location";

/** How an operation runs: Fastify's `config` of its route. */
interface Run extends Partial<Call> {
  /** The bucket of src/http/rate-limit.ts that counts it. */
  limit?: Bucket;
  /** What runs instead with the query `dry_run=true`, and the bucket that counts it. */
  dryRun?: Call & { limit: Bucket };
  /** What runs instead with the query `purge=true`. */
  purge?: Call;
  /** For machines that watch the service: answered under load too. */
  probe?: true;
}

/** What /openapi.json has of an operation beyond its schemas; src/http/openapi.ts adds what all operations share. */
interface Documented {
  operationId: string;
  summary: string;
  description?: string;
  tags: [string];
  /** Media types of the body, where it is not JSON. */
  consumes?: string[];
  accepts?: RequestHeader[];
  sends?: ResponseHeader[];
  /** Beyond those that the method, the body and the place of the route imply. */
  problems?: ProblemName[];
  security?: [];
  /** A request without a body is one with an empty object: see src/http/json-body.ts. */
  optionalBody?: true;
  /** Bytes of a body. */
  bodyLimit?: number;
}

declare module "fastify" {
  interface FastifySchema
    extends Partial<Pick<Documented, "accepts" | "sends" | "problems" | "optionalBody">> {}
  interface FastifyContextConfig extends Run {}
}

export type Validated = { body?: TSchema; querystring?: TSchema; response: Record<number, TSchema | object> };

/** An operation is what its route gives to Fastify beside the path and the handler. */
export const tagged =
  <Shared extends Run>(tag: string, shared: Shared, ...problems: ProblemName[]) =>
  <Own extends Run>(
    operationId: string,
    summary: string,
    {
      config,
      response,
      bodyLimit,
      ...rest
    }: { config: Own } & Omit<Documented, "operationId" | "summary" | "tags"> & Validated,
  ) => ({
    config: { ...shared, ...config },
    ...(bodyLimit !== undefined && { bodyLimit }),
    schema: {
      // Machines that watch add parameters of their own.
      ...(shared.probe ? {} : { querystring: NoParameters }),
      ...rest,
      operationId,
      summary,
      tags: [tag],
      response,
      problems: [...problems, ...(rest.problems ?? [])],
    } satisfies FastifySchema & Documented,
  });

export const paged = {
  sends: ["Link"] as ResponseHeader[],
  problems: ["bad_limit", "bad_cursor"] as ProblemName[],
};
