import { type TSchema, Type } from "typebox";
import type { ProblemName } from "../errors/problems.ts";
import { MERGE_PATCH } from "./merge-patch.ts";
import { paged, type RequestHeader, type ResponseHeader, tagged, type Validated } from "./operation.ts";
import { EventPage, ListEvents, ListTenantEvents } from "./schemas/events.ts";
import {
  GraphqlAnswer,
  GraphqlQuery,
  GraphqlQueryString,
  GraphqlRefusal,
  RESPONSE_TYPE,
} from "./schemas/graphql.ts";
import { NotReady, Readiness } from "./schemas/service.ts";
import {
  Audit,
  AuditPage,
  CreatedTenant,
  CreateTenant,
  DeletedTenant,
  DeleteTenant,
  DeletionPreview,
  ExplainByClaims,
  ExplainBySlug,
  Explanation,
  ListTenants,
  PatchTenant,
  SetupStatus,
  TenantDetails,
  TenantList,
  UpdateTenant,
  WithReason,
} from "./schemas/setup.ts";
import {
  AcceptInvitation,
  AddMember,
  ChangeMember,
  CreatedInvitation,
  CreatedKey,
  CreateInvitation,
  CreateKey,
  CurrentTenant,
  InvitationList,
  KeyList,
  ListMembers,
  ListPage,
  Member,
  MemberList,
  MyTenants,
  PatchCurrentTenant,
  Register,
  RegisteredTenant,
  RegistrationStatus,
  RemovedMember,
  RevokedInvitation,
  RevokedKey,
  SettingsSchema,
} from "./schemas/tenants.ts";

/** For settings and metadata; src/http/server-options.ts has what others take. */
const LARGE_BODY = { bodyLimit: 128 * 1024 };

const setup = tagged("Setup", { needsMembership: false }, "not_an_operator");
const registration = tagged("Registration", { needsMembership: false });
const membership = tagged("Tenants", {});
const service = tagged("Service", { probe: true });

const sendsTenant = { response: { 200: TenantDetails }, sends: ["ETag"] as ResponseHeader[] };
const unknownTenant: ProblemName[] = ["malformed_address", "tenant_not_found", "uri_too_long"];
const changesTenant = (...problems: ProblemName[]) => ({
  accepts: ["If-Match"] as RequestHeader[],
  problems: [...unknownTenant, "stale_etag" as const, "not_an_etag" as const, ...problems],
});

const eventful = {
  response: {
    200: {
      content: {
        "application/json": { schema: EventPage },
        "text/event-stream": { schema: { type: "string" } },
      },
    },
  },
  accepts: ["Last-Event-ID"] as RequestHeader[],
  ...paged,
};

// Setup: for operators.

export const getSetupStatus = setup(
  "getSetupStatus",
  "Whether the deployment is set up, and what to improve",
  {
    config: { calls: "get_setup_status", reads: { replica: true }, limit: "setup_read" },
    description: "Changes nothing. `recommendations` come from checks of the database and the configuration.",
    response: { 200: SetupStatus },
  },
);

export const getAudit = setup("getAudit", "What the isolation audit has found", {
  config: { calls: "get_audit", reads: { replica: true }, limit: "setup_read" },
  description: "The last run, the findings that are still open, and the trend. Starts no audit.",
  querystring: AuditPage,
  response: { 200: Audit },
  ...paged,
});

export const listEvents = setup("listEvents", "What happened, to all tenants", {
  config: { calls: "list_events", reads: { short: true }, limit: "setup_read" },
  description:
    "The oldest first. The `Link` header and `cursor` lead on, after the last event too. " +
    "`Accept: text/event-stream` gives what there is, then each new event.",
  querystring: ListEvents,
  ...eventful,
});

export const explainAccess = setup("explainAccess", "Why a caller is refused, or sees no rows", {
  config: { calls: "explain_for_operator", reads: {}, limit: "setup_read" },
  description:
    "The tenant by its slug, the identity by `provider` and `subject`, or by the `email` that the tenant has of it. Without `tenant`, the default tenant.",
  querystring: ExplainBySlug,
  response: { 200: Explanation },
});

export const explainClaims = setup("explainClaims", "The same, for the claims of a token", {
  config: { calls: "explain_for_operator", reads: {}, limit: "setup_read" },
  description:
    "Shows which claim names the tenant. The claims need no signature: the service only explains, and does nothing as this caller.",
  body: ExplainByClaims,
  response: { 200: Explanation },
});

export const createTenant = setup("createTenant", "Create a tenant", {
  config: { calls: "create_tenant", limit: "setup_create" },
  description:
    "With an `Idempotency-Key`, a repeat with the same body returns the first result with `existing: true` and status 200.",
  body: CreateTenant,
  ...LARGE_BODY,
  response: { 200: CreatedTenant, 201: CreatedTenant },
  accepts: ["Idempotency-Key"],
  sends: ["Location"],
  problems: [
    "tenants_slug_key",
    "slug_of_deleted",
    "tenant_deleted",
    "idempotency_key_reused",
    "settings_invalid",
  ],
});

export const listTenants = setup("listTenants", "List tenants", {
  config: { calls: "list_tenants", reads: { replica: true }, limit: "setup_read" },
  description:
    "The newest first, unless `order` says otherwise. `total_count` counts all that match the filter. The `Link` header leads to the next page.",
  querystring: ListTenants,
  response: { 200: TenantList },
  sends: paged.sends,
  problems: [...paged.problems, "foreign_cursor"],
});

export const getTenant = setup("getTenant", "Read a tenant", {
  config: { calls: "get_tenant", reads: { short: true, replica: true }, limit: "setup_read" },
  description: "With `If-None-Match`, 304 without a body as long as the tenant has not changed.",
  ...sendsTenant,
  accepts: ["If-None-Match"],
  problems: unknownTenant,
});

export const updateTenant = setup("updateTenant", "Change a tenant", {
  config: { calls: "update_tenant" },
  description: "Each given field is replaced as a whole. What changes nothing keeps `updated_at`.",
  body: UpdateTenant,
  ...LARGE_BODY,
  ...sendsTenant,
  ...changesTenant("tenants_slug_key", "slug_of_deleted", "settings_invalid"),
});

export const patchTenant = setup("patchTenant", "Change parts of a tenant", {
  config: { calls: "patch_tenant" },
  description:
    "A merge patch (RFC 7396): `settings` is merged into the tenant's, `null` removes a key. Parallel patches of different keys lose none. " +
    "What changes nothing keeps `updated_at`.",
  consumes: [MERGE_PATCH],
  body: PatchTenant,
  ...LARGE_BODY,
  ...sendsTenant,
  ...changesTenant(
    "tenants_slug_key",
    "slug_of_deleted",
    "not_a_merge_patch",
    "settings_invalid",
    "settings_too_large",
  ),
});

export const deleteTenant = setup("deleteTenant", "Delete a tenant and all of its data", {
  config: {
    calls: "delete_tenant",
    long: true,
    limit: "setup_delete",
    dryRun: { calls: "preview_deletion", reads: {}, needsMembership: false, long: true, limit: "setup_read" },
    purge: { calls: "purge_tenant", needsMembership: false, long: true },
  },
  description:
    "Irreversible: deletes the tenant and all of its rows in one transaction. With `SERVICE_TENANT_DELETION_GRACE` its status " +
    "becomes `deleted`, everybody is refused, and it can be restored until the date in `warning`. A repetition changes nothing and gets " +
    "the same answer; only `purge=true` deletes a deleted tenant for good. With `dry_run=true` nothing changes, and the answer counts " +
    "the rows that would go.",
  querystring: DeleteTenant,
  response: { 200: Type.Union([DeletedTenant, DeletionPreview]) },
  sends: ["ETag"],
  ...changesTenant("default_tenant_delete", "wrong_status", "tenant_busy"),
});

const move = <Name extends "approve" | "resume" | "restore">(
  name: Name,
  summary: string,
  description: string,
  ...problems: ProblemName[]
) =>
  setup(`${name}Tenant`, summary, {
    config: { calls: `${name}_tenant` },
    description,
    ...sendsTenant,
    ...changesTenant("wrong_status", ...problems),
  });

/** By the last part of their path. */
export const moves = {
  approve: move("approve", "Approve a pending registration", "Lets its members in. Takes no body."),
  resume: move("resume", "Resume a suspended tenant", "Lets its members in again. Takes no body."),
  restore: move(
    "restore",
    "Restore a deleted tenant",
    "It gets the status back that it had; no row has changed meanwhile. Takes no body.",
  ),
};

export const suspendTenant = setup("suspendTenant", "Suspend an active tenant", {
  config: { calls: "suspend_tenant" },
  description: "Its members are refused until it is resumed; nothing is deleted.",
  body: WithReason,
  optionalBody: true,
  ...sendsTenant,
  ...changesTenant("wrong_status", "default_tenant_suspend"),
});

export const rejectTenant = setup("rejectTenant", "Reject a pending registration: deletes the tenant", {
  config: { calls: "reject_tenant" },
  description: "The slug is free again.",
  body: WithReason,
  optionalBody: true,
  response: { 200: DeletedTenant },
  ...changesTenant("wrong_status"),
});

export const listTenantMembers = setup("listTenantMembers", "List the members of a tenant", {
  config: {
    calls: "list_tenant_members",
    reads: { short: true, replica: true },
    limit: "setup_read",
  },
  description: "Newest first. The `Link` header leads to the next page. `q` searches.",
  querystring: ListMembers,
  response: { 200: MemberList },
  sends: paged.sends,
  problems: [...unknownTenant, ...paged.problems],
});

export const addTenantMember = setup("addTenantMember", "Add a member to a tenant", {
  config: { calls: "add_tenant_member", limit: "members_write" },
  description: "With every role, whatever the tenant's status: this gives a tenant its first owner.",
  body: AddMember,
  response: { 201: Member },
  sends: ["Location"],
  problems: [...unknownTenant, "users_tenant_identity_key", "wrong_status", "key_as_member"],
});

export const changeTenantMember = setup("changeTenantMember", "Change the role of a tenant's member", {
  config: { calls: "change_tenant_member", limit: "members_write" },
  description: "Board memberships stay. To replace the last owner, add the new one first.",
  body: ChangeMember,
  response: { 200: Member },
  problems: [...unknownTenant, "member_not_found", "last_owner_role", "wrong_status"],
});

export const removeTenantMember = setup("removeTenantMember", "Remove a member from a tenant", {
  config: { calls: "remove_tenant_member", limit: "members_write" },
  description:
    "Takes effect with the member's next request. To replace the last owner, add the new one first.",
  response: { 200: RemovedMember },
  problems: [...unknownTenant, "member_not_found", "last_owner", "wrong_status"],
});

export const listTenantInvitations = setup("listTenantInvitations", "List the open invitations of a tenant", {
  config: { calls: "list_tenant_invitations", reads: { short: true, replica: true }, limit: "setup_read" },
  description: "Newest first. The `Link` header leads to the next page.",
  querystring: ListPage,
  response: { 200: InvitationList },
  sends: paged.sends,
  problems: [...unknownTenant, ...paged.problems],
});

export const createTenantInvitation = setup("createTenantInvitation", "Invite a person into a tenant", {
  config: { calls: "create_tenant_invitation", limit: "members_write" },
  description:
    "For every role: this gives a tenant its first owner by a link. The answer shows the `token` once. `invited_by` is null. " +
    "The invitation can be accepted as soon as the tenant is active.",
  body: CreateInvitation,
  response: { 201: CreatedInvitation },
  sends: ["Location"],
  problems: [...unknownTenant, "invitation_limit", "wrong_status"],
});

export const revokeTenantInvitation = setup("revokeTenantInvitation", "Revoke an invitation into a tenant", {
  config: { calls: "revoke_tenant_invitation", limit: "members_write" },
  description: "Its token is refused from now on.",
  response: { 200: RevokedInvitation },
  problems: [...unknownTenant, "invitation_not_found", "wrong_status"],
});

// Registration: for every caller with a token.

export const getRegistrationStatus = registration(
  "getRegistrationStatus",
  "Whether tenants can be registered here",
  {
    config: { calls: "get_registration_status", reads: {}, limit: "registration_read" },
    description: "`null` means no limit, or every domain.",
    response: { 200: RegistrationStatus },
  },
);

export const registerTenant = registration("registerTenant", "Register an organization as a new tenant", {
  config: { calls: "register_tenant", limit: "register" },
  description:
    "The caller becomes its owner. 201 when the tenant is active, 202 when it waits for an operator's approval. " +
    "The slug that the request names with its token or `X-Tenant` may be one that no tenant has yet.",
  body: Register,
  ...LARGE_BODY,
  response: { 201: RegisteredTenant, 202: RegisteredTenant },
  sends: ["Location"],
  problems: [
    "registration_disabled",
    "domain_not_allowed",
    "tenant_limit",
    "not_for_keys",
    "tenants_slug_key",
  ],
});

// Tenants, members, boards: for members.

export const getCurrentTenant = membership(
  "getCurrentTenant",
  "The tenant of this request, and my membership",
  {
    config: { calls: "get_current_tenant", reads: { short: true } },
    description:
      "The result of the token and `X-Tenant`. Call it first, to see whether both are right. With `If-None-Match`, 304 without a body as long as " +
      "neither has changed.",
    response: { 200: CurrentTenant },
    accepts: ["If-None-Match"],
    sends: ["ETag"],
  },
);

export const patchCurrentTenant = membership("patchCurrentTenant", "Change the tenant of this request", {
  config: { calls: "patch_current_tenant", limit: "tenant_write" },
  description:
    "For owners and admins of the tenant. A merge patch (RFC 7396) of `name` and of the top-level keys of `settings` that `getSettingsSchema` " +
    "calls writable.",
  consumes: [MERGE_PATCH],
  body: PatchCurrentTenant,
  ...LARGE_BODY,
  response: { 200: CurrentTenant },
  accepts: ["If-Match"],
  sends: ["ETag"],
  problems: [
    "not_an_admin",
    "stale_etag",
    "not_an_etag",
    "not_a_merge_patch",
    "settings_invalid",
    "settings_not_writable",
    "settings_too_large",
  ],
});

export const getSettingsSchema = membership("getSettingsSchema", "The schema that binds settings", {
  config: { calls: "get_current_tenant", reads: { short: true } },
  description: "For members of the tenant and for operators. The operator of the service chooses the schema.",
  response: { 200: SettingsSchema },
});

export const listMyTenants = membership("listMyTenants", "Every tenant that I belong to", {
  config: { calls: "list_my_tenants", reads: {}, needsMembership: false },
  description:
    "The oldest membership first. The `Link` header leads to the next page. The caller need not be a member of the tenant that the request names.",
  querystring: ListPage,
  response: { 200: MyTenants },
  ...paged,
});

export const listMembers = membership("listMembers", "List the members of the tenant", {
  config: { calls: "list_members", reads: { short: true } },
  description: "Newest first. The `Link` header leads to the next page. `q` searches.",
  querystring: ListMembers,
  response: { 200: MemberList },
  ...paged,
});

export const addMember = membership("addMember", "Add a member, before the first sign-in", {
  config: { calls: "add_member", limit: "members_write" },
  description: "For owners and admins of the tenant; only an owner can add another owner.",
  body: AddMember,
  response: { 201: Member },
  sends: ["Location"],
  problems: ["not_an_admin", "users_tenant_identity_key", "key_as_member"],
});

export const changeMember = membership("changeMember", "Change the role of a member", {
  config: { calls: "change_member", limit: "members_write" },
  description:
    "Board memberships stay. Owners give and take every role, admins all but owner. The same role changes nothing.",
  body: ChangeMember,
  response: { 200: Member },
  problems: ["not_an_admin", "malformed_address", "member_not_found", "uri_too_long", "last_owner_role"],
});

export const removeMember = membership("removeMember", "Remove a member, or leave", {
  config: { calls: "remove_member", limit: "members_write" },
  description: "For owners and admins of the tenant, and for the member. Takes effect with the next request.",
  response: { 200: RemovedMember },
  problems: ["not_an_admin", "malformed_address", "member_not_found", "uri_too_long", "last_owner"],
});

export const listTenantEvents = membership("listTenantEvents", "What happened, to the tenant", {
  config: { calls: "list_tenant_events", reads: { short: true } },
  description:
    "For owners and admins of the tenant. The oldest first. The `Link` header and `cursor` lead on, after the last event too. " +
    "`Accept: text/event-stream` gives what there is, then each new event.",
  querystring: ListTenantEvents,
  ...eventful,
  problems: [...eventful.problems, "not_an_admin"],
});

export const createInvitation = membership("createInvitation", "Invite a person", {
  config: { calls: "create_invitation", limit: "members_write" },
  description:
    "For owners and admins; only an owner can invite an owner. The answer shows the `token` once: send it to the person. " +
    "With `email`, only a caller whose token has that address, and does not say that it is unverified, can accept.",
  body: CreateInvitation,
  response: { 201: CreatedInvitation },
  sends: ["Location"],
  problems: ["not_an_admin", "invitation_limit"],
});

export const listInvitations = membership("listInvitations", "List the open invitations of the tenant", {
  config: { calls: "list_invitations", reads: { short: true } },
  description: "For owners and admins. Newest first. The `Link` header leads to the next page.",
  querystring: ListPage,
  response: { 200: InvitationList },
  sends: paged.sends,
  problems: ["not_an_admin", ...paged.problems],
});

export const revokeInvitation = membership("revokeInvitation", "Revoke an invitation", {
  config: { calls: "revoke_invitation", limit: "members_write" },
  description: "For owners and admins; only an owner can revoke the invitation of an owner.",
  response: { 200: RevokedInvitation },
  problems: ["not_an_admin", "malformed_address", "invitation_not_found", "uri_too_long"],
});

export const acceptInvitation = membership("acceptInvitation", "Accept an invitation", {
  config: { calls: "accept_invitation", needsMembership: false, limit: "invitation_accept" },
  description:
    "The caller becomes a member of the tenant that invites, with the role of the invitation, which is then used up. The request may " +
    "name any tenant. Every invitation that cannot be used gets the same 403. A caller who is a member already gets 409.",
  body: AcceptInvitation,
  response: { 200: CurrentTenant },
  problems: ["invitation_refused", "users_tenant_identity_key"],
});

export const createKey = membership("createKey", "Make an API key for a program", {
  config: { calls: "create_key", limit: "keys_write" },
  description:
    "For owners and admins of the tenant. `key` is shown here and never again. The key goes on when its maker has left.",
  body: CreateKey,
  response: { 201: CreatedKey },
  sends: ["Location"],
  problems: ["not_an_admin", "not_for_keys", "key_limit", "expires_in_the_past"],
});

export const listKeys = membership("listKeys", "List the API keys of the tenant", {
  config: { calls: "list_keys", reads: { short: true } },
  description: "For owners and admins of the tenant. Newest first; `last_used_at` to the minute.",
  querystring: ListPage,
  response: { 200: KeyList },
  sends: paged.sends,
  problems: ["not_an_admin", "not_for_keys", ...paged.problems],
});

export const revokeKey = membership("revokeKey", "Revoke an API key", {
  config: { calls: "revoke_key", limit: "keys_write" },
  description: "For owners and admins of the tenant. Takes effect with the next request.",
  response: { 200: RevokedKey },
  problems: ["not_an_admin", "not_for_keys", "malformed_address", "key_not_found", "uri_too_long"],
});

// GraphQL.

const underBothTypes = (schema: TSchema) => ({
  content: { "application/json": { schema }, [RESPONSE_TYPE]: { schema } },
});
const graphql = (operationId: string, summary: string, takes: Pick<Validated, "body" | "querystring">) =>
  tagged("GraphQL", {})(operationId, summary, {
    config: {},
    description:
      "Queries only: `tenant`, `membership` and `boards` of the tenant of the request. Introspection shows the schema.",
    ...takes,
    response: { 200: underBothTypes(GraphqlAnswer), 400: underBothTypes(GraphqlRefusal) },
  });

export const queryGraphql = graphql("queryGraphql", "Query the tenant of the request", {
  body: GraphqlQuery,
});
export const queryGraphqlByGet = graphql("queryGraphqlByGet", "The same, by GET", {
  querystring: GraphqlQueryString,
});

// The service itself: no token, no tenant.

export const getHealth = service("getHealth", "Whether the process is up", {
  config: {},
  description: "Checks nothing else, not even the database: see `/ready`.",
  response: { 200: { type: "object", required: ["status"], properties: { status: { const: "ok" } } } },
  security: [],
});

export const getReady = service("getReady", "Whether the service can handle requests", {
  config: {},
  description:
    "The database answers, its schema has what this release needs, it keeps tenants apart, and with a tenant context secret its clock " +
    "agrees with the service's. 503 says which check failed; " +
    "`last_audit` does not change the status.",
  response: { 200: Readiness, 503: NotReady },
  security: [],
});

export const getMetrics = service("getMetrics", "Metrics for Prometheus", {
  config: {},
  description: "Each metric has a `# HELP` line.",
  response: { 200: { content: { "text/plain": { schema: { type: "string" } } } } },
  security: [],
});
