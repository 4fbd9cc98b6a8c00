import { EXAMPLE_ID as ID } from "../values/example.ts";
import { BY_CONSTRAINT, BY_SQLSTATE, BY_STATUS, INTERNAL, Problem } from "./errors.ts";

/** What a client may be refused with, as /openapi.json shows it: status, `error`, `detail`, more fields. docs/errors.md tells which reasons logs call otherwise. */
export type Example = readonly [
  status: number,
  error: string,
  detail: string,
  extra?: Record<string, unknown>,
];

const rejected = (field: string, message: string): Example => [
  422,
  "Validation failed",
  `${field} ${message}`,
  { errors: [{ field, message }] },
];

export const PROBLEMS = {
  malformed: [400, "Bad Request", "The body is not valid JSON"],
  malformed_address: BY_STATUS[400]!,
  malformed_query: [400, "Bad Request", "The query is not valid UTF-8"],
  tenant_missing: [
    400,
    "Missing X-Tenant header",
    "The X-Tenant header is required in multi-tenant mode for this endpoint",
    { multi_tenant_mode: true },
  ],
  tenant_header_malformed: [
    400,
    "Invalid X-Tenant header format",
    "The tenant slug must contain only lowercase letters, numbers and hyphens, 1 to 255 of them",
    { provided_tenant: "Acme Corp" },
  ],
  default_tenant_delete: [
    400,
    "Default tenant",
    "The default tenant cannot be deleted in single-tenant mode",
  ],
  no_credentials: [401, "Unauthorized", "A bearer token is required"],
  expired: [401, "Unauthorized", "The token has expired"],
  not_a_member: BY_CONSTRAINT.users_tenant_id_fkey,
  not_an_operator: [403, "Access denied", "The role tenant-operator is required"],
  not_an_admin: [403, "Access denied", "The tenant role admin is required"],
  registration_disabled: [
    403,
    "Registration disabled",
    "Tenant registration is only available in multi-tenant mode",
  ],
  domain_not_allowed: [403, "Domain not allowed", "Email domain 'acme.com' is not allowed for registration"],
  tenant_limit: [403, "Tenant limit reached", "A user may own at most 3 tenant(s)"],
  tenant_not_found: [404, "Tenant not found", `Tenant with ID ${ID} not found`],
  member_not_found: [404, "Member not found", `Member with ID ${ID} not found`],
  tenants_slug_key: [409, "Conflict", "A tenant with slug 'acme' already exists"],
  users_tenant_identity_key: BY_CONSTRAINT.users_tenant_identity_key,
  wrong_status: [409, "Conflict", "The tenant is active, not pending"],
  default_tenant_suspend: [409, "Conflict", "The default tenant cannot be suspended in single-tenant mode"],
  last_owner: [409, "Conflict", "The last owner of a tenant cannot be removed"],
  stale_etag: [412, "Precondition failed", "The tenant has changed since it was read"],
  not_an_etag: [
    412,
    "Precondition failed",
    "If-Match holds no ETag: send it as it was answered, in its quotes",
  ],
  payload_too_large: BY_STATUS[413]!,
  uri_too_long: BY_STATUS[414]!,
  unsupported_media_type: BY_STATUS[415]!,
  field_missing: rejected("name", "is required"),
  field_unknown: rejected("colour", "is not a known field"),
  number_lost: rejected("body", "contains the number 12345678901234567890, which cannot be kept exactly"),
  bad_limit: rejected("limit", "must be <= 1000"),
  bad_cursor: [
    422,
    "Validation failed",
    "The cursor was not made by this service",
    { errors: [{ field: "cursor", message: "was not made by this service" }] },
  ],
  idempotency_key_reused: [
    422,
    "Validation failed",
    "The Idempotency-Key was already used with another request",
    { errors: [{ field: "Idempotency-Key", message: "was already used with another request" }] },
  ],
  too_many_requests: [429, "Too many requests", "The limit of 10 requests is used up; try again in 1742 s"],
  internal_error: [INTERNAL.status, INTERNAL.error, INTERNAL.message, { request_id: ID }],
  service_unavailable: [...BY_SQLSTATE["08"]!, { request_id: ID }],
  being_deleted: [503, "Service unavailable", "The tenant is being deleted", { request_id: ID }],
  tenant_busy: [
    503,
    "Service unavailable",
    "Others write to the tenant: suspend it and stop its writers, then delete it",
    { request_id: ID },
  ],
  overloaded: [
    503,
    "Service unavailable",
    "The service is at its limit; send the request again",
    { request_id: ID },
  ],
  stopping: [
    503,
    "Service unavailable",
    "The service is stopping; send the request again",
    { request_id: ID },
  ],
} as const satisfies Record<string, Example>;

export type ProblemName = keyof typeof PROBLEMS;

/** A refusal in the words that are documented. */
export function refusal(reason: ProblemName, extra: Record<string, unknown> = {}, cause?: unknown): Problem {
  const [status, error, detail] = PROBLEMS[reason];
  return new Problem(status, error, detail, { extra, reason, cause });
}
