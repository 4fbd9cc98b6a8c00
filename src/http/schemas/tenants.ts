import { type Static, Type } from "typebox";
import { EXAMPLE_ID } from "../../values/example.ts";
import {
  Email,
  Instant,
  identity,
  JsonObject,
  MemberRole,
  Name,
  Nullable,
  Page,
  PersonName,
  Slug,
  Text,
  Timestamp,
  Uuid,
} from "./common.ts";
import { Tenant, TenantStatus } from "./setup.ts";

export const RegistrationStatus = Type.Object(
  {
    enabled: Type.Boolean(),
    requires_approval: Type.Boolean(),
    max_tenants_per_user: Nullable(Type.Integer()),
    allowed_domains: Nullable(Type.Array(Text("acme.com"))),
  },
  { title: "RegistrationStatus" },
);

export const Register = Type.Object(
  {
    organization_name: Name,
    organization_slug: Type.Optional(Slug),
    admin_email: Email,
    admin_name: Type.Optional(PersonName),
    use_case: Type.Optional(Type.String({ maxLength: 500 })),
    organization_size: Type.Optional(Type.Enum(["small", "medium", "large", "enterprise"])),
    metadata: Type.Optional(JsonObject),
    include_sample_data: Type.Boolean({ default: true }),
  },
  {
    additionalProperties: false,
    title: "Register",
    examples: [
      {
        organization_name: "Hooli",
        organization_slug: "hooli",
        admin_email: "carol@hooli.example",
        admin_name: "Carol",
        use_case: "Boards for the design team",
        organization_size: "medium",
        metadata: { source: "newsletter" },
      },
    ],
  },
);
export type Register = Static<typeof Register>;

export const RegisteredTenant = Type.Object(
  {
    tenant_id: Uuid,
    organization_name: Name,
    tenant_slug: Slug,
    status: Type.Enum(["active", "pending"]),
    admin_instructions: Text("Send the header X-Tenant: acme on all API requests."),
    dashboard_url: Text("https://app.example.com/?tenant=acme"),
    api_access: Type.Object({
      tenant_header: Text("X-Tenant: acme"),
      graphql_endpoint: Text("/graphql"),
      api_base_url: Text("/api"),
      authentication_required: Type.Boolean(),
    }),
  },
  { title: "RegisteredTenant" },
);

export const Member = Type.Object(
  {
    user_id: Uuid,
    role: MemberRole,
    auth_provider: Text("jwt"),
    auth_subject: Text("ada"),
    email: Nullable(Text("ada@acme.com")),
    display_name: Nullable(Text("Ada")),
    joined_at: Timestamp,
  },
  { title: "Member" },
);

export const CurrentTenant = Type.Object({ tenant: Tenant, membership: Member }, { title: "CurrentTenant" });

export const PatchCurrentTenant = Type.Object(
  { name: Type.Optional(Name), settings: Type.Optional(JsonObject) },
  {
    additionalProperties: false,
    title: "PatchCurrentTenant",
    examples: [{ name: "Acme Inc." }],
  },
);
export type PatchCurrentTenant = Static<typeof PatchCurrentTenant>;

export const SettingsSchema = Type.Object(
  {
    schema: Nullable(
      Type.Object(
        {},
        {
          additionalProperties: true,
          description: "JSON Schema 2020-12; null when the service has none, and settings are free",
          examples: [{ type: "object", properties: { plan: { enum: ["free", "team"] } } }],
        },
      ),
    ),
    writable: Type.Array(Text("theme"), {
      description: "Top-level keys that a tenant's owners and admins may change",
    }),
  },
  { title: "SettingsSchema" },
);

export const MyTenants = Type.Object(
  {
    tenants: Type.Array(
      Type.Object(
        {
          tenant_id: Uuid,
          name: Name,
          slug: Slug,
          status: TenantStatus,
          role: MemberRole,
          joined_at: Timestamp,
        },
        { title: "MyTenant" },
      ),
    ),
    total_count: Type.Integer({ description: "Of all pages" }),
    operator: Type.Boolean({ description: "Whether the caller is an operator of the deployment" }),
    token_tenant: Nullable(
      Type.Object({
        slug: Text("acme"),
        source: Type.Enum(["configured_claim", "tenant", "organization", "namespace", "email"], {
          description: "The claim, as `explainClaims` calls it",
        }),
      }),
    ),
  },
  {
    title: "MyTenants",
    description:
      "`token_tenant`: what the token's claims name, where they win over `X-Tenant`. The caller can work in no other tenant; null if the header counts",
  },
);
export type MyTenants = Static<typeof MyTenants>;

export const ListPage = Type.Object(Page, { additionalProperties: false });
export type ListPage = Static<typeof ListPage>;

export const ListMembers = Type.Object(
  {
    ...Page,
    q: Type.Optional(
      Type.String({
        maxLength: 255,
        format: "faithful-text",
        description:
          "The name, e-mail address or subject contains this text, in any case, or it is the `user_id`; the empty text matches all",
      }),
    ),
  },
  { additionalProperties: false },
);
export type ListMembers = Static<typeof ListMembers>;

export const MemberList = Type.Object({ members: Type.Array(Member) }, { title: "MemberList" });

export const AddMember = Type.Object(
  {
    ...identity,
    role: Type.Enum(MemberRole.enum, { default: "member" }),
  },
  {
    additionalProperties: false,
    title: "AddMember",
    examples: [{ auth_subject: "dora", email: "dora@acme.com", display_name: "Dora", role: "admin" }],
  },
);
export type AddMember = Static<typeof AddMember>;

export const ChangeMember = Type.Object(
  { role: MemberRole },
  { additionalProperties: false, title: "ChangeMember", examples: [{ role: "admin" }] },
);
export type ChangeMember = Static<typeof ChangeMember>;

export const RemovedMember = Type.Object(
  { message: Text("Member removed"), user_id: Uuid },
  { title: "RemovedMember" },
);

const DAY = 86_400;

export const CreateInvitation = Type.Object(
  {
    role: MemberRole,
    email: Type.Optional(Email),
    expires_in: Type.Integer({
      minimum: 60,
      maximum: 30 * DAY,
      default: 7 * DAY,
      description: "Seconds until the invitation expires",
    }),
  },
  {
    additionalProperties: false,
    title: "CreateInvitation",
    examples: [{ role: "member", email: "erin@acme.com", expires_in: 2 * DAY }],
  },
);
export type CreateInvitation = Static<typeof CreateInvitation>;

const invitation = {
  invitation_id: Uuid,
  role: MemberRole,
  email: Nullable(Text("erin@acme.com")),
  invited_by: Type.Unsafe<string | null>({ ...Nullable(Uuid), description: "The member; null: an operator" }),
  created_at: Timestamp,
  expires_at: Timestamp,
};

const EXAMPLE_TOKEN = `${EXAMPLE_ID}_9yXQ2m6c0W5vYt1TtqjUoIsb8m3ZdZbB5pN7aKfR4hE`;
const InvitationToken = Text(EXAMPLE_TOKEN);

export const CreatedInvitation = Type.Object(
  {
    ...invitation,
    token: InvitationToken,
    accept_url: Type.Optional(Text(`https://app.example.com/#invitation=${EXAMPLE_ID}_9yXQ2m6c…`)),
  },
  { title: "CreatedInvitation" },
);

export const InvitationList = Type.Object(
  { invitations: Type.Array(Type.Object(invitation, { title: "Invitation" })) },
  { title: "InvitationList" },
);

export const RevokedInvitation = Type.Object(
  { message: Text("Invitation revoked"), invitation_id: Uuid },
  { title: "RevokedInvitation" },
);

export const AcceptInvitation = Type.Object(
  { token: InvitationToken },
  {
    additionalProperties: false,
    title: "AcceptInvitation",
    examples: [{ token: EXAMPLE_TOKEN }],
  },
);
export type AcceptInvitation = Static<typeof AcceptInvitation>;

const KeyRole = Type.Enum(["admin", "member"], { title: "KeyRole" });

const Key = Type.Object(
  {
    key_id: Uuid,
    name: Name,
    role: KeyRole,
    created_by: Uuid,
    created_at: Timestamp,
    expires_at: Nullable(Timestamp),
    last_used_at: Nullable(Timestamp),
  },
  { title: "Key" },
);

export const KeyList = Type.Object({ keys: Type.Array(Key) }, { title: "KeyList" });

export const CreateKey = Type.Object(
  { name: Name, role: KeyRole, expires_at: Type.Optional(Instant) },
  {
    additionalProperties: false,
    title: "CreateKey",
    examples: [{ name: "CI of the web shop", role: "member", expires_at: "2099-12-31T23:59:59Z" }],
  },
);
export type CreateKey = Static<typeof CreateKey>;

export const CreatedKey = Type.Object(
  { ...Key.properties, key: Type.String({ description: "`tms_<tenant_id>_<secret>`", examples: ["tms_…"] }) },
  { title: "CreatedKey" },
);

export const RevokedKey = Type.Object(
  { message: Text("API key revoked"), key_id: Uuid },
  { title: "RevokedKey" },
);
