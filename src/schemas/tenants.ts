import { type Static, Type } from "typebox";
import { JsonObject, Name, Nullable, Page, Slug, Timestamp, Uuid } from "./common.ts";
import { Tenant, TenantStatus } from "./setup.ts";

export const RegistrationStatus = Type.Object(
  {
    enabled: Type.Boolean(),
    requires_approval: Type.Boolean(),
    max_tenants_per_user: Nullable(Type.Integer()),
    allowed_domains: Nullable(Type.Array(Type.String())),
  },
  { title: "RegistrationStatus" },
);

export const Register = Type.Object(
  {
    organization_name: Name,
    organization_slug: Type.Optional(Slug),
    admin_email: Type.String({ format: "email-address", maxLength: 320, examples: ["ada@acme.com"] }),
    admin_name: Type.Optional(Type.String({ maxLength: 255 })),
    use_case: Type.Optional(Type.String({ maxLength: 500 })),
    organization_size: Type.Optional(Type.Enum(["small", "medium", "large", "enterprise"])),
    metadata: Type.Optional(JsonObject),
    include_sample_data: Type.Boolean({ default: true }),
  },
  { additionalProperties: false, title: "Register" },
);
export type Register = Static<typeof Register>;

export const RegisteredTenant = Type.Object(
  {
    tenant_id: Uuid,
    organization_name: Name,
    tenant_slug: Slug,
    status: Type.Enum(["pending", "active"]),
    admin_instructions: Type.String(),
    dashboard_url: Type.String(),
    api_access: Type.Object({
      tenant_header: Type.String(),
      graphql_endpoint: Type.String(),
      api_base_url: Type.String(),
      authentication_required: Type.Boolean(),
    }),
  },
  { title: "RegisteredTenant" },
);

export const MemberRole = Type.Enum(["owner", "admin", "member"]);

export const Member = Type.Object(
  {
    user_id: Uuid,
    role: MemberRole,
    auth_provider: Type.String(),
    auth_subject: Type.String(),
    email: Nullable(Type.String()),
    display_name: Nullable(Type.String()),
    joined_at: Timestamp,
  },
  { title: "Member" },
);

export const CurrentTenant = Type.Object({ tenant: Tenant, membership: Member }, { title: "CurrentTenant" });

export const MyTenants = Type.Object(
  {
    tenants: Type.Array(
      Type.Object({
        tenant_id: Uuid,
        name: Name,
        slug: Slug,
        status: TenantStatus,
        role: MemberRole,
        joined_at: Timestamp,
      }),
    ),
    total_count: Type.Integer(),
  },
  { title: "MyTenants" },
);

export const ListPage = Type.Object(Page, { additionalProperties: false });
export type ListPage = Static<typeof ListPage>;

export const MemberList = Type.Object({ members: Type.Array(Member) }, { title: "MemberList" });

export const AddMember = Type.Object(
  {
    auth_subject: Type.String({
      minLength: 1,
      maxLength: 255,
      description: "The `sub` of the new member's token",
    }),
    auth_provider: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: "The `iss` of that token; the caller's own by default",
      }),
    ),
    email: Type.Optional(Type.String({ format: "email-address", maxLength: 320 })),
    display_name: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    role: Type.Enum(["owner", "admin", "member"], { default: "member" }),
  },
  { additionalProperties: false, title: "AddMember" },
);
export type AddMember = Static<typeof AddMember>;

export const RemovedMember = Type.Object(
  { message: Type.String(), user_id: Uuid },
  { title: "RemovedMember" },
);

export const BoardList = Type.Object(
  {
    boards: Type.Array(
      Type.Object({
        board_id: Uuid,
        title: Type.String(),
        description: Nullable(Type.String()),
        owner_id: Uuid,
        created_at: Timestamp,
        updated_at: Timestamp,
      }),
    ),
  },
  { title: "BoardList" },
);
