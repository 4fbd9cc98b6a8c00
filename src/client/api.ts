// Generated from /openapi.json by generate.ts; not edited by hand.

export type LastAudit = {
  finished_at: string;
  age_seconds: number;
  errors: number;
  warnings: number;
  /** Checks that could not run: unless 0, the audit proves nothing */ not_run: number;
};

export type Readiness = {
  status: "ready";
  checks: {
    /** `ok`, the fault, or `unknown` while the database cannot be reached */ database: string;
    /** `ok`, the fault, or `unknown` while the database cannot be reached */ migrations: string;
    /** `ok`, the fault, or `unknown` while the database cannot be reached */ isolation: string;
    /** `ok`, the fault, or `unknown` while the database cannot be reached */ clock: string;
  };
  last_audit: LastAudit | null;
};

export type NotReady = {
  error: string;
  detail: string;
  request_id: string;
  status: "not ready";
  checks: {
    /** `ok`, the fault, or `unknown` while the database cannot be reached */ database: string;
    /** `ok`, the fault, or `unknown` while the database cannot be reached */ migrations: string;
    /** `ok`, the fault, or `unknown` while the database cannot be reached */ isolation: string;
    /** `ok`, the fault, or `unknown` while the database cannot be reached */ clock: string;
  };
  last_audit: LastAudit | null;
};

export type SetupStatus = {
  setup_needed: boolean;
  has_default_tenant: boolean;
  default_tenant_id: string | null;
  default_tenant_slug: string | null;
  multi_tenant_mode: boolean;
  auth_provider: string;
  /** How long the first event waits that a transaction that stays open keeps from the feeds; 0: none waits */ events_wait_seconds: number;
  recommendations: Array<string>;
};

export type Finding = {
  check: string;
  category: string;
  severity: "error" | "warning" | "info";
  tenant_id: string | null;
  relation: string | null;
  row: Record<string, unknown>;
  detail: string;
  remedy: string;
  run_id: number;
};

export type Audit = {
  run: {
    run_id: number;
    started_at: string;
    finished_at: string | null;
    result: "clean" | "errors" | "incomplete" | "unfinished";
    errors: number;
    warnings: number;
    tenant: string | null;
    family: "data" | "schema" | null;
    checks: number;
    rows_checked: number;
    infos: number;
    /** Checks that could not run; each is an error */ not_run: number;
  } | null;
  /** Those still open, the worst first */ findings: Array<Finding>;
  /** The last twenty runs, the newest first */ trend: Array<{
    run_id: number;
    started_at: string;
    finished_at: string | null;
    result: "clean" | "errors" | "incomplete" | "unfinished";
    errors: number;
    warnings: number;
  }>;
};

export type EventType = "tenant.created" | "tenant.registered" | "tenant.imported" | "tenant.replaced" | "tenant.approved" | "tenant.rejected" | "tenant.suspended" | "tenant.resumed" | "tenant.updated" | "tenant.deletion_scheduled" | "tenant.restored" | "tenant.deleted" | "member.added" | "member.joined" | "member.role_changed" | "member.removed" | "member.left" | "invitation.created" | "invitation.accepted" | "invitation.revoked" | "key.created" | "key.revoked";

export type MemberRole = "owner" | "admin" | "member";

export type Event = {
  cursor: string;
  type: EventType;
  at: string;
  tenant_id: string;
  tenant_slug: string;
  tenant_name: string;
  actor: { auth_provider: string; auth_subject: string; } | null;
  target_id: string | null;
  changed: Array<string> | null;
  role: MemberRole | null;
  role_before: MemberRole | null;
  reason: string | null;
  request_id: string | null;
};

export type EventPage = { events: Array<Event>; /** As `after` it gives the events that are new then */ cursor: string; };

export type TenantStatus = "active" | "pending" | "suspended" | "deleted";

export type Explanation = {
  /** Whether the request would be let into the tenant */ allowed: boolean;
  because: string;
  /** Present when the claims alone are refused, before the database */ refusal?: {
    status: number;
    error: string;
    detail: string;
    reason: string | null;
  };
  operator?: boolean;
  tenant?: {
    slug: string | null;
    source: string;
    exists: boolean;
    tenant_id: string | null;
    name: string | null;
    status: TenantStatus | null;
    is_default: boolean | null;
  };
  identity?: { provider: string | null; subject: string | null; };
  membership?: {
    user_id: string;
    role: string;
    joined_at: string;
    removed_at: string | null;
  } | null;
  roles?: { login: {
    name: string;
    superuser: boolean;
    bypassrls: boolean;
  }; acts_as: {
    name: string;
    superuser: boolean;
    bypassrls: boolean;
  }; };
  tables?: Array<{
    table: string;
    row_security: "forced" | "enabled" | "off";
    held: number | null;
    shown: number | null;
    more: boolean | null;
  }>;
  notes?: Array<string>;
};

export type ExplainByClaims = { claims: Record<string, unknown>; /** The X-Tenant header of that request */ header?: string; };

export type FirstOwner = {
  /** The `sub` of the new member's token */ auth_subject: string;
  /** The `iss` of that token; the caller's own by default */ auth_provider?: string;
  /** Its domain has two labels or more */ email?: string;
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ display_name?: string;
};

export type CreateTenant = {
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ name: string;
  slug: string;
  settings?: Record<string, unknown>;
  include_sample_data?: boolean;
  owner?: FirstOwner;
};

export type CreatedTenant = {
  tenant_id: string;
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ name: string;
  slug: string;
  message: string;
  existing: boolean;
};

export type Tenant = {
  tenant_id: string;
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ name: string;
  slug: string;
  status: TenantStatus;
  settings: Record<string, unknown>;
  created_at: string;
  updated_at: string;
  deleted_at?: string;
  /** Until then the tenant can be restored. Both times are there only while it is deleted */ purge_at?: string;
};

export type TenantList = { tenants: Array<Tenant>; total_count: number; };

export type TenantDetails = {
  tenant_id: string;
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ name: string;
  slug: string;
  status: TenantStatus;
  settings: Record<string, unknown>;
  created_at: string;
  updated_at: string;
  deleted_at?: string;
  /** Until then the tenant can be restored. Both times are there only while it is deleted */ purge_at?: string;
  registration: Record<string, unknown> | null;
  suspension?: {
    at: string;
    reason: string | null;
    actor: { auth_provider: string; auth_subject: string; } | null;
  } | null;
  /** People; API keys do not count */ members_count: number;
};

export type UpdateTenant = {
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ name?: string;
  slug?: string;
  settings?: Record<string, unknown>;
};

export type PatchTenant = {
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ name?: string;
  slug?: string;
  settings?: Record<string, unknown>;
};

export type DeletedTenant = {
  message: string;
  tenant_id: string;
  warning: string;
};

export type DeletionPreview = {
  tenant_id: string;
  dry_run: true;
  rows: Array<{ relation: string; rows: number | null; }>;
  total_rows: number;
};

export type WithReason = { /** Why; stands in the event, for operators only */ reason?: string; };

export type Member = {
  user_id: string;
  role: MemberRole;
  auth_provider: string;
  auth_subject: string;
  email: string | null;
  display_name: string | null;
  joined_at: string;
};

export type MemberList = { members: Array<Member>; };

export type AddMember = {
  /** The `sub` of the new member's token */ auth_subject: string;
  /** The `iss` of that token; the caller's own by default */ auth_provider?: string;
  /** Its domain has two labels or more */ email?: string;
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ display_name?: string;
  role?: "owner" | "admin" | "member";
};

export type ChangeMember = { role: MemberRole; };

export type RemovedMember = { message: string; user_id: string; };

export type Invitation = {
  invitation_id: string;
  role: MemberRole;
  email: string | null;
  /** The member; null: an operator */ invited_by: string | null;
  created_at: string;
  expires_at: string;
};

export type InvitationList = { invitations: Array<Invitation>; };

export type CreateInvitation = {
  role: MemberRole;
  /** Its domain has two labels or more */ email?: string;
  /** Seconds until the invitation expires */ expires_in?: number;
};

export type CreatedInvitation = {
  invitation_id: string;
  role: MemberRole;
  email: string | null;
  /** The member; null: an operator */ invited_by: string | null;
  created_at: string;
  expires_at: string;
  token: string;
  accept_url?: string;
};

export type RevokedInvitation = { message: string; invitation_id: string; };

export type RegistrationStatus = {
  enabled: boolean;
  requires_approval: boolean;
  max_tenants_per_user: number | null;
  allowed_domains: Array<string> | null;
};

export type Register = {
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ organization_name: string;
  organization_slug?: string;
  /** Its domain has two labels or more */ admin_email: string;
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ admin_name?: string;
  use_case?: string;
  organization_size?: "small" | "medium" | "large" | "enterprise";
  metadata?: Record<string, unknown>;
  include_sample_data?: boolean;
};

export type RegisteredTenant = {
  tenant_id: string;
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ organization_name: string;
  tenant_slug: string;
  status: "active" | "pending";
  admin_instructions: string;
  dashboard_url: string;
  api_access: {
    tenant_header: string;
    graphql_endpoint: string;
    api_base_url: string;
    authentication_required: boolean;
  };
};

export type CurrentTenant = { tenant: Tenant; membership: Member; };

export type PatchCurrentTenant = { /** Has a character that shows; stored in NFC, and the length counts code points of that form */ name?: string; settings?: Record<string, unknown>; };

export type SettingsSchema = { schema: Record<string, unknown> | null; /** Top-level keys that a tenant's owners and admins may change */ writable: Array<string>; };

export type MyTenant = {
  tenant_id: string;
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ name: string;
  slug: string;
  status: TenantStatus;
  role: MemberRole;
  joined_at: string;
};

export type MyTenants = {
  tenants: Array<MyTenant>;
  /** Of all pages */ total_count: number;
  /** Whether the caller is an operator of the deployment */ operator: boolean;
  token_tenant: { slug: string; /** The claim, as `explainClaims` calls it */ source: "configured_claim" | "tenant" | "organization" | "namespace" | "email"; } | null;
};

export type AcceptInvitation = { token: string; };

export type KeyRole = "admin" | "member";

export type Key = {
  key_id: string;
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ name: string;
  role: KeyRole;
  created_by: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
};

export type KeyList = { keys: Array<Key>; };

export type CreateKey = {
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ name: string;
  role: KeyRole;
  /** With a time zone: `Z` or an offset */ expires_at?: string;
};

export type CreatedKey = {
  key_id: string;
  /** Has a character that shows; stored in NFC, and the length counts code points of that form */ name: string;
  role: KeyRole;
  created_by: string;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  /** `tms_<tenant_id>_<secret>` */ key: string;
};

export type RevokedKey = { message: string; key_id: string; };

export type Board = {
  board_id: string;
  title: string;
  description: string | null;
  owner_id: string;
  created_at: string;
  updated_at: string;
};

export type BoardList = { boards: Array<Board>; };

export type GraphqlQuery = {
  query: string;
  operationName?: string | null;
  variables?: Record<string, unknown> | null;
  extensions?: Record<string, unknown> | null;
};

export type GraphqlAnswer = { data: Record<string, unknown> | null; errors?: Array<{
  message: string;
  locations?: Array<{ line: number; column: number; }>;
  path?: Array<string | number>;
  extensions?: Record<string, unknown>;
}>; };

export type GraphqlRefusal = { errors: Array<{
  message: string;
  locations?: Array<{ line: number; column: number; }>;
  path?: Array<string | number>;
  extensions?: Record<string, unknown>;
}>; };

export type FieldError = { field: string; message: string; };

export type ErrorBody = {
  error: string;
  detail: string;
  request_id?: string;
  errors?: Array<FieldError>;
  multi_tenant_mode?: boolean;
  provided_tenant?: string;
};

export interface Operations {
  /** Metrics for Prometheus */
  getMetrics: {
    takes: {  };
    answers: Record<200, string> & Record<400 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Whether the process is up */
  getHealth: {
    takes: {  };
    answers: Record<200, { status: "ok"; }> & Record<400 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Whether the service can handle requests */
  getReady: {
    takes: {  };
    answers: Record<200, Readiness> & Record<400 | 422 | 429 | 500, ErrorBody> & Record<503, ErrorBody | NotReady>;
  };
  /** Whether the deployment is set up, and what to improve */
  getSetupStatus: {
    takes: {  };
    answers: Record<200, SetupStatus> & Record<400 | 401 | 403 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** What the isolation audit has found */
  getAudit: {
    takes: { query?: { limit?: number; cursor?: string; }; };
    answers: Record<200, Audit> & Record<400 | 401 | 403 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** What happened, to all tenants */
  listEvents: {
    takes: { query?: {
  limit?: number;
  after?: string;
  order?: "at" | "-at";
  type?: EventType;
  tenant_id?: string;
}; headers?: { "Last-Event-ID"?: string; }; };
    answers: Record<200, EventPage> & Record<400 | 401 | 403 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Why a caller is refused, or sees no rows */
  explainAccess: {
    takes: { query?: {
  tenant?: string;
  provider?: string;
  subject?: string;
  email?: string;
}; };
    answers: Record<200, Explanation> & Record<400 | 401 | 403 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** The same, for the claims of a token */
  explainClaims: {
    takes: { body: ExplainByClaims; };
    answers: Record<200, Explanation> & Record<400 | 401 | 403 | 413 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Create a tenant */
  createTenant: {
    takes: { headers?: { "Idempotency-Key"?: string; }; body: CreateTenant; };
    answers: Record<200 | 201, CreatedTenant> & Record<400 | 401 | 403 | 409 | 413 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** List tenants */
  listTenants: {
    takes: { query?: {
  limit?: number;
  cursor?: string;
  status?: TenantStatus;
  search?: string;
  slug?: string;
  order?: "-created_at" | "created_at" | "name" | "-name";
}; };
    answers: Record<200, TenantList> & Record<400 | 401 | 403 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Read a tenant */
  getTenant: {
    takes: { params: { tenant_id: string; }; headers?: { "If-None-Match"?: string; }; };
    answers: Record<200, TenantDetails> & Record<304, undefined> & Record<400 | 401 | 403 | 404 | 414 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Change a tenant */
  updateTenant: {
    takes: { params: { tenant_id: string; }; headers?: { "If-Match"?: string; }; body: UpdateTenant; };
    answers: Record<200, TenantDetails> & Record<400 | 401 | 403 | 404 | 409 | 412 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Change parts of a tenant */
  patchTenant: {
    takes: { params: { tenant_id: string; }; headers?: { "If-Match"?: string; }; body: PatchTenant; };
    answers: Record<200, TenantDetails> & Record<400 | 401 | 403 | 404 | 409 | 412 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Delete a tenant and all of its data */
  deleteTenant: {
    takes: { params: { tenant_id: string; }; query?: {
  dry_run?: boolean;
  purge?: boolean;
  reason?: string;
}; headers?: { "If-Match"?: string; }; };
    answers: Record<200, DeletedTenant | DeletionPreview> & Record<400 | 401 | 403 | 404 | 409 | 412 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Reject a pending registration: deletes the tenant */
  rejectTenant: {
    takes: { params: { tenant_id: string; }; headers?: { "If-Match"?: string; }; body?: WithReason; };
    answers: Record<200, DeletedTenant> & Record<400 | 401 | 403 | 404 | 409 | 412 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Suspend an active tenant */
  suspendTenant: {
    takes: { params: { tenant_id: string; }; headers?: { "If-Match"?: string; }; body?: WithReason; };
    answers: Record<200, TenantDetails> & Record<400 | 401 | 403 | 404 | 409 | 412 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** List the members of a tenant */
  listTenantMembers: {
    takes: { params: { tenant_id: string; }; query?: {
  limit?: number;
  cursor?: string;
  q?: string;
}; };
    answers: Record<200, MemberList> & Record<400 | 401 | 403 | 404 | 414 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Add a member to a tenant */
  addTenantMember: {
    takes: { params: { tenant_id: string; }; body: AddMember; };
    answers: Record<201, Member> & Record<400 | 401 | 403 | 404 | 409 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Change the role of a tenant's member */
  changeTenantMember: {
    takes: { params: { tenant_id: string; user_id: string; }; body: ChangeMember; };
    answers: Record<200, Member> & Record<400 | 401 | 403 | 404 | 409 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Remove a member from a tenant */
  removeTenantMember: {
    takes: { params: { tenant_id: string; user_id: string; }; };
    answers: Record<200, RemovedMember> & Record<400 | 401 | 403 | 404 | 409 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** List the open invitations of a tenant */
  listTenantInvitations: {
    takes: { params: { tenant_id: string; }; query?: { limit?: number; cursor?: string; }; };
    answers: Record<200, InvitationList> & Record<400 | 401 | 403 | 404 | 414 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Invite a person into a tenant */
  createTenantInvitation: {
    takes: { params: { tenant_id: string; }; body: CreateInvitation; };
    answers: Record<201, CreatedInvitation> & Record<400 | 401 | 403 | 404 | 409 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Revoke an invitation into a tenant */
  revokeTenantInvitation: {
    takes: { params: { tenant_id: string; invitation_id: string; }; };
    answers: Record<200, RevokedInvitation> & Record<400 | 401 | 403 | 404 | 409 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Approve a pending registration */
  approveTenant: {
    takes: { params: { tenant_id: string; }; headers?: { "If-Match"?: string; }; };
    answers: Record<200, TenantDetails> & Record<400 | 401 | 403 | 404 | 409 | 412 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Resume a suspended tenant */
  resumeTenant: {
    takes: { params: { tenant_id: string; }; headers?: { "If-Match"?: string; }; };
    answers: Record<200, TenantDetails> & Record<400 | 401 | 403 | 404 | 409 | 412 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Restore a deleted tenant */
  restoreTenant: {
    takes: { params: { tenant_id: string; }; headers?: { "If-Match"?: string; }; };
    answers: Record<200, TenantDetails> & Record<400 | 401 | 403 | 404 | 409 | 412 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Whether tenants can be registered here */
  getRegistrationStatus: {
    takes: {  };
    answers: Record<200, RegistrationStatus> & Record<400 | 401 | 403 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Register an organization as a new tenant */
  registerTenant: {
    takes: { body: Register; };
    answers: Record<201 | 202, RegisteredTenant> & Record<400 | 401 | 403 | 409 | 413 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** The tenant of this request, and my membership */
  getCurrentTenant: {
    takes: { headers?: { "If-None-Match"?: string; }; };
    answers: Record<200, CurrentTenant> & Record<304, undefined> & Record<400 | 401 | 403 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Change the tenant of this request */
  patchCurrentTenant: {
    takes: { headers?: { "If-Match"?: string; }; body: PatchCurrentTenant; };
    answers: Record<200, CurrentTenant> & Record<400 | 401 | 403 | 412 | 413 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** The schema that binds settings */
  getSettingsSchema: {
    takes: {  };
    answers: Record<200, SettingsSchema> & Record<400 | 401 | 403 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** What happened, to the tenant */
  listTenantEvents: {
    takes: { query?: {
  limit?: number;
  after?: string;
  order?: "at" | "-at";
  type?: EventType;
}; headers?: { "Last-Event-ID"?: string; }; };
    answers: Record<200, EventPage> & Record<400 | 401 | 403 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Every tenant that I belong to */
  listMyTenants: {
    takes: { query?: { limit?: number; cursor?: string; }; };
    answers: Record<200, MyTenants> & Record<400 | 401 | 403 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** List the members of the tenant */
  listMembers: {
    takes: { query?: {
  limit?: number;
  cursor?: string;
  q?: string;
}; };
    answers: Record<200, MemberList> & Record<400 | 401 | 403 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Add a member, before the first sign-in */
  addMember: {
    takes: { body: AddMember; };
    answers: Record<201, Member> & Record<400 | 401 | 403 | 409 | 413 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Change the role of a member */
  changeMember: {
    takes: { params: { user_id: string; }; body: ChangeMember; };
    answers: Record<200, Member> & Record<400 | 401 | 403 | 404 | 409 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Remove a member, or leave */
  removeMember: {
    takes: { params: { user_id: string; }; };
    answers: Record<200, RemovedMember> & Record<400 | 401 | 403 | 404 | 409 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** List the open invitations of the tenant */
  listInvitations: {
    takes: { query?: { limit?: number; cursor?: string; }; };
    answers: Record<200, InvitationList> & Record<400 | 401 | 403 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Invite a person */
  createInvitation: {
    takes: { body: CreateInvitation; };
    answers: Record<201, CreatedInvitation> & Record<400 | 401 | 403 | 409 | 413 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Revoke an invitation */
  revokeInvitation: {
    takes: { params: { invitation_id: string; }; };
    answers: Record<200, RevokedInvitation> & Record<400 | 401 | 403 | 404 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Accept an invitation */
  acceptInvitation: {
    takes: { body: AcceptInvitation; };
    answers: Record<200, CurrentTenant> & Record<400 | 401 | 403 | 409 | 413 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** List the API keys of the tenant */
  listKeys: {
    takes: { query?: { limit?: number; cursor?: string; }; };
    answers: Record<200, KeyList> & Record<400 | 401 | 403 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Make an API key for a program */
  createKey: {
    takes: { body: CreateKey; };
    answers: Record<201, CreatedKey> & Record<400 | 401 | 403 | 409 | 413 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Revoke an API key */
  revokeKey: {
    takes: { params: { key_id: string; }; };
    answers: Record<200, RevokedKey> & Record<400 | 401 | 403 | 404 | 413 | 414 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** List the boards of the tenant */
  listBoards: {
    takes: { query?: { limit?: number; cursor?: string; }; };
    answers: Record<200, BoardList> & Record<400 | 401 | 403 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** Query the tenant of the request */
  queryGraphql: {
    takes: { body: GraphqlQuery; };
    answers: Record<200, GraphqlAnswer> & Record<400, ErrorBody | GraphqlRefusal> & Record<401 | 403 | 413 | 415 | 422 | 429 | 500 | 503, ErrorBody>;
  };
  /** The same, by GET */
  queryGraphqlByGet: {
    takes: { query: {
  query: string;
  operationName?: string;
  variables?: string;
  extensions?: string;
}; };
    answers: Record<200, GraphqlAnswer> & Record<400, ErrorBody | GraphqlRefusal> & Record<401 | 403 | 429 | 500 | 503, ErrorBody>;
  };
}

/** Where the API takes one of a few values: those of a type, and of an operation's parameters. */
export const choices = {
  EventType: ["tenant.created", "tenant.registered", "tenant.imported", "tenant.replaced", "tenant.approved", "tenant.rejected", "tenant.suspended", "tenant.resumed", "tenant.updated", "tenant.deletion_scheduled", "tenant.restored", "tenant.deleted", "member.added", "member.joined", "member.role_changed", "member.removed", "member.left", "invitation.created", "invitation.accepted", "invitation.revoked", "key.created", "key.revoked"],
  MemberRole: ["owner", "admin", "member"],
  TenantStatus: ["active", "pending", "suspended", "deleted"],
  KeyRole: ["admin", "member"],
  listEvents: { order: ["at", "-at"] },
  listTenants: { order: ["-created_at", "created_at", "name", "-name"] },
  listTenantEvents: { order: ["at", "-at"] },
} as const;

export const addresses = {
  getMetrics: ["GET", "/metrics"],
  getHealth: ["GET", "/health"],
  getReady: ["GET", "/ready"],
  getSetupStatus: ["GET", "/api/setup/status"],
  getAudit: ["GET", "/api/setup/audit"],
  listEvents: ["GET", "/api/setup/events"],
  explainAccess: ["GET", "/api/setup/explain"],
  explainClaims: ["POST", "/api/setup/explain"],
  createTenant: ["POST", "/api/setup/tenant"],
  listTenants: ["GET", "/api/setup/tenants"],
  getTenant: ["GET", "/api/setup/tenant/{tenant_id}"],
  updateTenant: ["PUT", "/api/setup/tenant/{tenant_id}"],
  patchTenant: ["PATCH", "/api/setup/tenant/{tenant_id}", "application/merge-patch+json"],
  deleteTenant: ["DELETE", "/api/setup/tenant/{tenant_id}"],
  rejectTenant: ["POST", "/api/setup/tenant/{tenant_id}/reject"],
  suspendTenant: ["POST", "/api/setup/tenant/{tenant_id}/suspend"],
  listTenantMembers: ["GET", "/api/setup/tenant/{tenant_id}/members"],
  addTenantMember: ["POST", "/api/setup/tenant/{tenant_id}/members"],
  changeTenantMember: ["PATCH", "/api/setup/tenant/{tenant_id}/members/{user_id}"],
  removeTenantMember: ["DELETE", "/api/setup/tenant/{tenant_id}/members/{user_id}"],
  listTenantInvitations: ["GET", "/api/setup/tenant/{tenant_id}/invitations"],
  createTenantInvitation: ["POST", "/api/setup/tenant/{tenant_id}/invitations"],
  revokeTenantInvitation: ["DELETE", "/api/setup/tenant/{tenant_id}/invitations/{invitation_id}"],
  approveTenant: ["POST", "/api/setup/tenant/{tenant_id}/approve"],
  resumeTenant: ["POST", "/api/setup/tenant/{tenant_id}/resume"],
  restoreTenant: ["POST", "/api/setup/tenant/{tenant_id}/restore"],
  getRegistrationStatus: ["GET", "/api/tenants/registration/status"],
  registerTenant: ["POST", "/api/tenants/register"],
  getCurrentTenant: ["GET", "/api/tenants/current"],
  patchCurrentTenant: ["PATCH", "/api/tenants/current", "application/merge-patch+json"],
  getSettingsSchema: ["GET", "/api/tenants/settings-schema"],
  listTenantEvents: ["GET", "/api/tenants/events"],
  listMyTenants: ["GET", "/api/tenants/mine"],
  listMembers: ["GET", "/api/tenants/members"],
  addMember: ["POST", "/api/tenants/members"],
  changeMember: ["PATCH", "/api/tenants/members/{user_id}"],
  removeMember: ["DELETE", "/api/tenants/members/{user_id}"],
  listInvitations: ["GET", "/api/tenants/invitations"],
  createInvitation: ["POST", "/api/tenants/invitations"],
  revokeInvitation: ["DELETE", "/api/tenants/invitations/{invitation_id}"],
  acceptInvitation: ["POST", "/api/tenants/invitations/accept"],
  listKeys: ["GET", "/api/tenants/keys"],
  createKey: ["POST", "/api/tenants/keys"],
  revokeKey: ["DELETE", "/api/tenants/keys/{key_id}"],
  listBoards: ["GET", "/api/boards"],
  queryGraphql: ["POST", "/graphql"],
  queryGraphqlByGet: ["GET", "/graphql"],
} as const;
