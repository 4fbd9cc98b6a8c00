import type { FastifySchema } from "fastify";
import type { TSchema } from "typebox";
import type { ProblemName } from "../errors/problems.ts";
import {
  GraphqlAnswer,
  GraphqlQuery,
  GraphqlQueryString,
  GraphqlRefusal,
  RESPONSE_TYPE,
} from "./schemas/graphql.ts";
import { NotReady, Readiness } from "./schemas/service.ts";
import {
  CreatedTenant,
  CreateTenant,
  DeletedTenant,
  ExplainByClaims,
  ExplainBySlug,
  Explanation,
  ListTenants,
  SetupStatus,
  Tenant,
  TenantList,
  UpdateTenant,
} from "./schemas/setup.ts";
import {
  AddMember,
  BoardList,
  CurrentTenant,
  ListPage,
  Member,
  MemberList,
  MyTenants,
  Register,
  RegisteredTenant,
  RegistrationStatus,
  RemovedMember,
} from "./schemas/tenants.ts";

export type RequestHeader = "Idempotency-Key" | "If-Match" | "If-None-Match";
export type ResponseHeader = "ETag" | "Link" | "Location";

/** What /openapi.json tells of an operation beyond what validates; src/http/openapi.ts adds what all operations share. */
interface Told {
  operationId: string;
  summary: string;
  description?: string;
  tags: [string];
  accepts?: RequestHeader[];
  sends?: ResponseHeader[];
  /** Beyond those that the method, the body and the place of the route imply. */
  problems?: ProblemName[];
  security?: [];
}

declare module "fastify" {
  interface FastifySchema extends Partial<Pick<Told, "accepts" | "sends" | "problems">> {}
}

type Validated = { body?: TSchema; querystring?: TSchema; response: Record<number, TSchema | object> };

const tagged =
  (tag: string, ...problems: ProblemName[]) =>
  (
    operationId: string,
    summary: string,
    { response, ...rest }: Omit<Told, "operationId" | "summary" | "tags"> & Validated,
  ) =>
    ({
      ...rest,
      operationId,
      summary,
      tags: [tag],
      response,
      problems: [...problems, ...(rest.problems ?? [])],
    }) satisfies FastifySchema & Told;

const setup = tagged("Setup", "not_an_operator");
const registration = tagged("Registration");
const membership = tagged("Tenants");
const work = tagged("Boards");
const service = tagged("Service");

const sendsTenant = { response: { 200: Tenant }, sends: ["ETag"] as ResponseHeader[] };
const unknownTenant: ProblemName[] = ["malformed_address", "tenant_not_found", "uri_too_long"];
const changesTenant = (...problems: ProblemName[]) => ({
  accepts: ["If-Match"] as RequestHeader[],
  problems: [...unknownTenant, "stale_etag" as const, "not_an_etag" as const, ...problems],
});
const paged = {
  sends: ["Link"] as ResponseHeader[],
  problems: ["bad_limit", "bad_cursor"] as ProblemName[],
};

// Setup: for operators.

export const getSetupStatus = setup("getSetupStatus", "Is the deployment set up, and what should be better", {
  description: "Reads only. `recommendations` come from real checks of the database and the configuration.",
  response: { 200: SetupStatus },
});

export const explainAccess = setup("explainAccess", "Why is somebody refused, or shown nothing", {
  description:
    "The tenant by its slug, the identity by `provider` and `subject`. Without `tenant` the default one is meant.",
  querystring: ExplainBySlug,
  response: { 200: Explanation },
});

export const explainClaims = setup("explainClaims", "The same for a token's claims", {
  description:
    "Tells which claim names the tenant. The claims need no signature: nothing is done in their name.",
  body: ExplainByClaims,
  response: { 200: Explanation },
});

export const createTenant = setup("createTenant", "Create a tenant", {
  description:
    "With an `Idempotency-Key`, a repeat with the same body answers the first result with `existing: true` and 200.",
  body: CreateTenant,
  response: { 200: CreatedTenant, 201: CreatedTenant },
  accepts: ["Idempotency-Key"],
  sends: ["Location"],
  problems: ["tenants_slug_key", "idempotency_key_reused"],
});

export const listTenants = setup("listTenants", "List tenants, newest first", {
  description: "`total_count` counts all that match the filter. The `Link` header leads to the next page.",
  querystring: ListTenants,
  response: { 200: TenantList },
  ...paged,
});

export const getTenant = setup("getTenant", "Read a tenant", {
  description: "With `If-None-Match` 304, without a body, for as long as nothing has changed.",
  ...sendsTenant,
  accepts: ["If-None-Match"],
  problems: unknownTenant,
});

export const updateTenant = setup("updateTenant", "Change a tenant", {
  description: "Each given field is replaced as a whole; an empty object changes nothing.",
  body: UpdateTenant,
  ...sendsTenant,
  ...changesTenant("tenants_slug_key"),
});

export const deleteTenant = setup("deleteTenant", "Delete a tenant and all of its data", {
  description: "Irreversible. Every row of the tenant goes with it, in one transaction.",
  response: { 200: DeletedTenant },
  ...changesTenant("default_tenant_delete", "tenant_busy"),
});

const move = (operationId: string, summary: string, description: string, ...problems: ProblemName[]) =>
  setup(operationId, summary, {
    description,
    ...sendsTenant,
    ...changesTenant("wrong_status", ...problems),
  });

export const moves = {
  approve: move("approveTenant", "Approve a pending registration", "Lets its members in. Takes no body."),
  suspend: move(
    "suspendTenant",
    "Suspend an active tenant",
    "Its members are refused until it is resumed; nothing is deleted. Takes no body.",
    "default_tenant_suspend",
  ),
  resume: move("resumeTenant", "Resume a suspended tenant", "Lets its members in again. Takes no body."),
};

export const rejectTenant = setup("rejectTenant", "Reject a pending registration: deletes the tenant", {
  description: "Its slug is free again. Takes no body.",
  response: { 200: DeletedTenant },
  ...changesTenant("wrong_status"),
});

// Registration: for everybody with a token.

export const getRegistrationStatus = registration("getRegistrationStatus", "May tenants be registered here", {
  description: "`null` is no limit, and every domain.",
  response: { 200: RegistrationStatus },
});

export const registerTenant = registration("registerTenant", "Register an organization as a new tenant", {
  description:
    "The caller becomes its owner. 201 when the tenant is active, 202 when it waits for an operator's approval. " +
    "The slug that the request names with its token or `X-Tenant` may be one that no tenant has yet.",
  body: Register,
  response: { 201: RegisteredTenant, 202: RegisteredTenant },
  sends: ["Location"],
  problems: ["registration_disabled", "domain_not_allowed", "tenant_limit", "tenants_slug_key"],
});

// Tenants, members, boards: for members.

export const getCurrentTenant = membership(
  "getCurrentTenant",
  "The tenant of this request, and my membership",
  {
    description:
      "What the request's token and `X-Tenant` lead to: the first to ask, to see whether both are right.",
    response: { 200: CurrentTenant },
  },
);

export const listMyTenants = membership("listMyTenants", "Every tenant that I belong to", {
  description:
    "The oldest membership first, all at once. Also for who is no member of the tenant that the request names.",
  response: { 200: MyTenants },
});

export const listMembers = membership("listMembers", "List the members of the tenant", {
  description: "Newest first. The `Link` header leads to the next page.",
  querystring: ListPage,
  response: { 200: MemberList },
  ...paged,
});

export const addMember = membership("addMember", "Add a member, before the first sign-in", {
  description: "For owners and admins of the tenant; only an owner makes another owner.",
  body: AddMember,
  response: { 201: Member },
  sends: ["Location"],
  problems: ["not_an_admin", "users_tenant_identity_key"],
});

export const removeMember = membership("removeMember", "Remove a member, or leave", {
  description: "For owners and admins of the tenant, and for the member. Takes effect with the next request.",
  response: { 200: RemovedMember },
  problems: ["not_an_admin", "malformed_address", "member_not_found", "uri_too_long", "last_owner"],
});

export const listBoards = work("listBoards", "List the boards of the tenant", {
  description: "Newest first. The `Link` header leads to the next page.",
  querystring: ListPage,
  response: { 200: BoardList },
  ...paged,
});

// GraphQL.

const underBothTypes = (schema: TSchema) => ({
  content: { "application/json": { schema }, [RESPONSE_TYPE]: { schema } },
});
const graphql = (operationId: string, summary: string, takes: Pick<Validated, "body" | "querystring">) =>
  tagged("GraphQL")(operationId, summary, {
    description:
      "Queries only: `tenant`, `membership` and `boards` of the tenant of the request. Introspection tells the rest.",
    ...takes,
    response: { 200: underBothTypes(GraphqlAnswer), 400: underBothTypes(GraphqlRefusal) },
  });

export const queryGraphql = graphql("queryGraphql", "Query the tenant of the request", {
  body: GraphqlQuery,
});
export const queryGraphqlByGet = graphql("queryGraphqlByGet", "The same, as an address", {
  querystring: GraphqlQueryString,
});

// The service itself: no token, no tenant.

export const getHealth = service("getHealth", "Is the process up", {
  description: "Asks nothing else, not even the database: `/ready` does.",
  response: { 200: { type: "object", required: ["status"], properties: { status: { const: "ok" } } } },
  security: [],
});

export const getReady = service("getReady", "Can the service do its work", {
  description:
    "The database answers, its schema has what this release needs, and it keeps tenants apart. 503 says what does not hold; " +
    "`last_audit` is told and changes nothing.",
  response: { 200: Readiness, 503: NotReady },
  security: [],
});

export const getMetrics = service("getMetrics", "Figures for Prometheus", {
  description: "Each has its own words, as `# HELP`.",
  response: { 200: { content: { "text/plain": { schema: { type: "string" } } } } },
  security: [],
});
