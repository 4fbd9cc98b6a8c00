import { type Static, Type } from "typebox";
import { identity, JsonObject, Name, Nullable, Page, Reason, Slug, Text, Timestamp, Uuid } from "./common.ts";

/** Swagger UI shows the first as the example. (With `examples` it would fill it in as the filter of the list.) */
export const TenantStatus = Type.Enum(["active", "pending", "suspended", "deleted"], {
  title: "TenantStatus",
});

const tenant = {
  tenant_id: Uuid,
  name: Name,
  slug: Slug,
  status: TenantStatus,
  settings: JsonObject,
  created_at: Timestamp,
  updated_at: Timestamp,
  deleted_at: Type.Optional(Timestamp),
  purge_at: Type.Optional(
    Type.String({
      format: "date-time",
      description: "Until then the tenant can be restored. Both times are there only while it is deleted",
    }),
  ),
};
export const Tenant = Type.Object(tenant, { title: "Tenant" });

/** One tenant, for operators. */
export const TenantDetails = Type.Object(
  {
    ...tenant,
    registration: Nullable(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description: "What the newcomer wrote; null for a tenant that an operator created",
          examples: [{ admin_email: "carol@hooli.example", use_case: "Boards for the design team" }],
        },
      ),
    ),
    suspension: Type.Optional(
      Nullable(
        Type.Object(
          {
            at: Timestamp,
            reason: Nullable(Text("Unpaid since May")),
            actor: Nullable(
              Type.Object(
                { auth_provider: Text("jwt"), auth_subject: Text("olga") },
                { description: "Null for a change in SQL" },
              ),
            ),
          },
          {
            description:
              "There only while the tenant is suspended, also below a deletion. Null if the event of it was deleted",
          },
        ),
      ),
    ),
    members_count: Type.Integer({ description: "People; API keys do not count" }),
  },
  { title: "TenantDetails" },
);

export const SetupStatus = Type.Object(
  {
    setup_needed: Type.Boolean(),
    has_default_tenant: Type.Boolean(),
    default_tenant_id: Nullable(Uuid),
    default_tenant_slug: Nullable(Slug),
    multi_tenant_mode: Type.Boolean(),
    auth_provider: Text("jwt"),
    events_wait_seconds: Type.Number({
      description:
        "How long the first event waits that a transaction that stays open keeps from the feeds; 0: none waits",
    }),
    recommendations: Type.Array(Text("Tokens of any issuer are accepted: set SERVICE_JWT_ISSUER")),
  },
  { title: "SetupStatus" },
);

export const CreateTenant = Type.Object(
  {
    name: Name,
    slug: Slug,
    settings: Type.Optional(JsonObject),
    include_sample_data: Type.Boolean({ default: false }),
    owner: Type.Optional(
      Type.Object(identity, {
        additionalProperties: false,
        title: "FirstOwner",
        description: "The first owner; without one the tenant has no member",
      }),
    ),
  },
  {
    additionalProperties: false,
    title: "CreateTenant",
    examples: [{ name: "Initech", slug: "initech", settings: { plan: "team" }, include_sample_data: true }],
  },
);
export type CreateTenant = Static<typeof CreateTenant>;

export const CreatedTenant = Type.Object(
  {
    tenant_id: Uuid,
    name: Name,
    slug: Slug,
    message: Text("Tenant 'Acme Corp' (acme) created successfully"),
    existing: Type.Boolean(),
  },
  { title: "CreatedTenant" },
);

export const UpdateTenant = Type.Object(
  { name: Type.Optional(Name), slug: Type.Optional(Slug), settings: Type.Optional(JsonObject) },
  {
    additionalProperties: false,
    title: "UpdateTenant",
    examples: [{ name: "Initrode", settings: { plan: "enterprise" } }],
  },
);
export type UpdateTenant = Static<typeof UpdateTenant>;

export const PatchTenant = Type.Object(UpdateTenant.properties, {
  additionalProperties: false,
  title: "PatchTenant",
  examples: [{ settings: { plan: "team", trial: null } }],
});
export type PatchTenant = Static<typeof PatchTenant>;

export const ListTenants = Type.Object(
  {
    ...Page,
    status: Type.Optional(TenantStatus),
    search: Type.Optional(
      Type.String({
        maxLength: 255,
        format: "faithful-text",
        description: "The name or slug contains this text, in any case; the empty text matches all",
      }),
    ),
    slug: Type.Optional(Type.String({ ...Slug, description: "Exactly this slug" })),
    order: Type.Enum(["-created_at", "created_at", "name", "-name"], {
      default: "-created_at",
      description: "`-`: the greatest first. Names sort as the database's collation has them",
    }),
  },
  { additionalProperties: false },
);
export type ListTenants = Static<typeof ListTenants>;

export const TenantList = Type.Object(
  { tenants: Type.Array(Tenant), total_count: Type.Integer() },
  { title: "TenantList" },
);

export const DeletedTenant = Type.Object(
  {
    message: Text("Tenant 'Acme Corp' (acme) deleted successfully"),
    tenant_id: Uuid,
    warning: Text("All related data has been permanently deleted"),
  },
  { title: "DeletedTenant" },
);

export const DeleteTenant = Type.Object(
  {
    dry_run: Type.Boolean({
      default: false,
      description: "Changes nothing, and answers how many rows the deletion would delete",
    }),
    purge: Type.Boolean({
      default: false,
      description: "Deletes for good, before `purge_at`, a tenant that is deleted already; 409 for any other",
    }),
    reason: Type.Optional(Reason),
  },
  { additionalProperties: false },
);
export type DeleteTenant = Static<typeof DeleteTenant>;

export const DeletionPreview = Type.Object(
  {
    tenant_id: Uuid,
    dry_run: Type.Literal(true),
    rows: Type.Array(
      Type.Object({
        relation: Text("app.boards"),
        rows: Nullable(
          Type.Integer({ description: "Null: the service may not read this table; the audit says why" }),
        ),
      }),
    ),
    total_rows: Type.Integer(),
  },
  { title: "DeletionPreview" },
);

/** The body of an operation that takes nothing but a reason, and that too need not be there. */
export const WithReason = Type.Object(
  { reason: Type.Optional(Reason) },
  {
    additionalProperties: false,
    title: "WithReason",
    examples: [{ reason: "Contract ended, ticket 4711" }],
  },
);
export type WithReason = Static<typeof WithReason>;

export const ExplainBySlug = Type.Object(
  {
    tenant: Type.Optional(Slug),
    provider: Type.String({ minLength: 1, maxLength: 255, format: "faithful-text", default: "jwt" }),
    subject: Type.Optional(Type.String({ minLength: 1, maxLength: 255, format: "faithful-text" })),
    email: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 320,
        format: "faithful-text",
        description:
          "The member of the tenant with this address, in any case, instead of `provider` and `subject`",
      }),
    ),
  },
  { additionalProperties: false },
);
export type ExplainBySlug = Static<typeof ExplainBySlug>;

export const ExplainByClaims = Type.Object(
  {
    claims: Type.Object({}, { additionalProperties: true, examples: [{ sub: "alice", org: "acme" }] }),
    header: Type.Optional(
      Type.String({ description: "The X-Tenant header of that request", examples: ["acme"] }),
    ),
  },
  {
    additionalProperties: false,
    title: "ExplainByClaims",
    examples: [{ claims: { sub: "alice" }, header: "acme" }],
  },
);
export type ExplainByClaims = Static<typeof ExplainByClaims>;

export const AuditPage = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100, description: "Findings of a page" }),
    cursor: Page.cursor,
  },
  { additionalProperties: false },
);
export type AuditPage = Static<typeof AuditPage>;

const Run = {
  run_id: Type.Integer(),
  started_at: Timestamp,
  finished_at: Nullable(Timestamp),
  result: Type.Enum(["clean", "errors", "incomplete", "unfinished"]),
  errors: Type.Integer(),
  warnings: Type.Integer(),
};

export const Audit = Type.Object(
  {
    run: Nullable(
      Type.Object(
        {
          ...Run,
          tenant: Nullable(Slug),
          family: Nullable(Type.Enum(["data", "schema"])),
          checks: Type.Integer(),
          rows_checked: Type.Integer(),
          infos: Type.Integer(),
          not_run: Type.Integer({ description: "Checks that could not run; each is an error" }),
        },
        { description: "The last one that has finished" },
      ),
    ),
    findings: Type.Array(
      Type.Object(
        {
          check: Text("foreign_row"),
          category: Type.String(),
          severity: Type.Enum(["error", "warning", "info"]),
          tenant_id: Nullable(Uuid),
          relation: Nullable(Text("app.boards")),
          row: JsonObject,
          detail: Type.String(),
          remedy: Type.String(),
          run_id: Type.Integer(),
        },
        { title: "Finding" },
      ),
      { description: "Those still open, the worst first" },
    ),
    trend: Type.Array(Type.Object(Run), { description: "The last twenty runs, the newest first" }),
  },
  { title: "Audit" },
);

const Role = Type.Object({ name: Type.String(), superuser: Type.Boolean(), bypassrls: Type.Boolean() });

export const Explanation = Type.Object(
  {
    allowed: Type.Boolean({ description: "Whether the request would be let into the tenant" }),
    because: Text("alice is a member of the tenant, as owner"),
    refusal: Type.Optional(
      Type.Object(
        {
          status: Type.Integer(),
          error: Type.String(),
          detail: Type.String(),
          reason: Nullable(Type.String()),
        },
        { description: "Present when the claims alone are refused, before the database" },
      ),
    ),
    operator: Type.Optional(Type.Boolean()),
    tenant: Type.Optional(
      Type.Object({
        slug: Nullable(Slug),
        source: Text("organization"),
        exists: Type.Boolean(),
        tenant_id: Nullable(Uuid),
        name: Nullable(Type.String()),
        status: Nullable(TenantStatus),
        is_default: Nullable(Type.Boolean()),
      }),
    ),
    identity: Type.Optional(
      Type.Object({ provider: Nullable(Type.String()), subject: Nullable(Type.String()) }),
    ),
    membership: Type.Optional(
      Nullable(
        Type.Object({
          user_id: Uuid,
          role: Type.String(),
          joined_at: Timestamp,
          removed_at: Nullable(Timestamp),
        }),
      ),
    ),
    roles: Type.Optional(Type.Object({ login: Role, acts_as: Role })),
    tables: Type.Optional(
      Type.Array(
        Type.Object({
          table: Text("app.boards"),
          row_security: Type.Unsafe<string>({ enum: ["forced", "enabled", "off"] }),
          held: Nullable(Type.Integer({ description: "Rows of the tenant, counted up to 10000" })),
          shown: Nullable(Type.Integer({ description: "Rows that this caller would see" })),
          more: Nullable(Type.Boolean()),
        }),
      ),
    ),
    notes: Type.Optional(Type.Array(Type.String())),
  },
  { title: "Explanation" },
);
