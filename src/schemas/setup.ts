import { type Static, Type } from "typebox";
import { JsonObject, Name, Nullable, Page, Slug, Text, Timestamp, Uuid } from "./common.ts";

export const TenantStatus = Type.Enum(["pending", "active", "suspended"]);

export const Tenant = Type.Object(
  {
    tenant_id: Uuid,
    name: Name,
    slug: Slug,
    status: TenantStatus,
    settings: JsonObject,
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Tenant" },
);

export const SetupStatus = Type.Object(
  {
    setup_needed: Type.Boolean(),
    has_default_tenant: Type.Boolean(),
    default_tenant_id: Nullable(Uuid),
    default_tenant_slug: Nullable(Slug),
    multi_tenant_mode: Type.Boolean(),
    auth_provider: Text("jwt"),
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

export const ListTenants = Type.Object(
  {
    ...Page,
    status: Type.Optional(TenantStatus),
    search: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        format: "faithful-text",
        description: "Name or slug contains this, in any case",
      }),
    ),
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
