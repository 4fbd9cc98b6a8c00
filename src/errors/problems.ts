import { EXAMPLE_ID as ID } from "../values/example.ts";
import { type Beside, BY_CONSTRAINT, BY_SQLSTATE, BY_STATUS, INTERNAL, Problem } from "./errors.ts";

/**
 * A refusal as /openapi.json shows it. Logs use other reasons for some: see docs/reference/errors.md. `expected`: a 503 on purpose, often many at
 * once, without a warning in the log. `unresolved`: it ends the search for a tenant.
 */
export type Example = readonly [
  status: number,
  error: string,
  detail: string,
  extra?: Record<string, unknown>,
  kind?: "expected" | "unresolved",
];

const rejected = (field: string, message: string) =>
  [422, "Validation failed", `${field} ${message}`, { errors: [{ field, message }] }] as const;

/** Every reason to refuse a token, for logs and metrics, with the sentence that the client reads. */
export const TOKEN_REASONS = {
  no_credentials: "A bearer token is required",
  malformed_header: "The Authorization header must read: Bearer <token>",
  too_long: "The token is longer than 8192 characters",
  malformed: "The token is not a well-formed JWT",
  type: "The token is of a type that gives no access",
  algorithm: "The signature algorithm of the token is not accepted",
  unsigned: "The token is not signed",
  signature: "The signature of the token is not valid",
  unknown_key: "The token is signed with an unknown key",
  critical_header: "The token has a critical header that is not understood",
  expired: "The token has expired",
  not_yet_valid: "The token is not valid yet",
  expiry: "The token must carry a numeric exp",
  subject: "The sub of the token must be a string of 1 to 255 characters, none of them a control character",
  issuer: "The iss of the token is not accepted",
  audience: "The aud of the token is not accepted",
  invalid: "The token is not valid",
  key_invalid: "The API key is not valid",
} as const;

export const PROBLEMS = {
  malformed: [400, "Bad Request", "The body is not valid JSON"],
  malformed_address: BY_STATUS[400]!,
  malformed_query: [400, "Bad Request", "The query is not valid UTF-8"],
  tenant_missing: [
    400,
    "Missing X-Tenant header",
    "The X-Tenant header is required in multi-tenant mode for this endpoint",
    { multi_tenant_mode: true },
    "unresolved",
  ],
  tenant_header_malformed: [
    400,
    "Invalid X-Tenant header format",
    "The tenant slug must contain only lowercase letters, numbers and hyphens, 1 to 255 of them",
    { provided_tenant: "Acme Corp" },
    "unresolved",
  ],
  default_tenant_delete: [
    400,
    "Default tenant",
    "The default tenant cannot be deleted in single-tenant mode",
  ],
  no_credentials: [401, "Unauthorized", TOKEN_REASONS.no_credentials],
  expired: [401, "Unauthorized", TOKEN_REASONS.expired],
  key_invalid: [401, "Unauthorized", TOKEN_REASONS.key_invalid],
  not_a_member: [...BY_CONSTRAINT.users_tenant_id_fkey, {}, "unresolved"],
  not_an_operator: [403, "Access denied", "The role tenant-operator is required"],
  not_an_admin: [403, "Access denied", "The tenant role admin is required"],
  invitation_refused: [403, "Access denied", "The invitation cannot be used"],
  not_for_keys: [403, "Access denied", "An API key cannot do this"],
  registration_disabled: [
    403,
    "Registration disabled",
    "Tenant registration is only available in multi-tenant mode",
  ],
  domain_not_allowed: [403, "Domain not allowed", "Email domain 'acme.com' is not allowed for registration"],
  tenant_limit: [403, "Tenant limit reached", "A user may own at most 3 tenant(s)"],
  tenant_not_found: [404, "Tenant not found", `Tenant with ID ${ID} not found`],
  member_not_found: [404, "Member not found", `Member with ID ${ID} not found`],
  invitation_not_found: [404, "Invitation not found", `Invitation with ID ${ID} not found`],
  key_not_found: [404, "API key not found", `API key with ID ${ID} not found`],
  tenants_slug_key: [409, "Conflict", "A tenant with slug 'acme' already exists"],
  slug_of_deleted: [
    409,
    "Conflict",
    `The slug 'acme' is that of the deleted tenant ${ID}: rename that tenant, or delete it for good with ?purge=true`,
  ],
  users_tenant_identity_key: BY_CONSTRAINT.users_tenant_identity_key,
  tenant_deleted: [409, "Conflict", "The tenant that this Idempotency-Key created is deleted"],
  wrong_status: [409, "Conflict", "The tenant is active, not pending"],
  default_tenant_suspend: [409, "Conflict", "The default tenant cannot be suspended in single-tenant mode"],
  last_owner: [409, "Conflict", "The last owner of a tenant cannot be removed"],
  last_owner_role: [409, "Conflict", "The last owner of a tenant cannot be given another role"],
  invitation_limit: [409, "Conflict", "The tenant has 1000 open invitations; revoke one first"],
  key_limit: [409, "Conflict", "The tenant has 100 API keys; revoke one first"],
  stale_etag: [412, "Precondition failed", "The tenant has changed since it was read"],
  not_an_etag: [
    412,
    "Precondition failed",
    "If-Match holds no ETag: send it as it was answered, in its quotes",
  ],
  payload_too_large: BY_STATUS[413]!,
  uri_too_long: BY_STATUS[414]!,
  unsupported_media_type: BY_STATUS[415]!,
  not_a_merge_patch: [415, "Unsupported media type", "Send the body as application/merge-patch+json"],
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
  key_as_member: [
    422,
    "Validation failed",
    "auth_provider must be the issuer of a person's tokens",
    { errors: [{ field: "auth_provider", message: "must be the issuer of a person's tokens" }] },
  ],
  expires_in_the_past: rejected("expires_at", "must be in the future"),
  foreign_cursor: [
    422,
    "Validation failed",
    "The cursor was not made by this service for this order",
    { errors: [{ field: "cursor", message: "was not made by this service for this order" }] },
  ],
  idempotency_key_reused: [
    422,
    "Validation failed",
    "The Idempotency-Key was already used with another request",
    { errors: [{ field: "Idempotency-Key", message: "was already used with another request" }] },
  ],
  settings_invalid: rejected("settings.plan", "must be one of free, team"),
  settings_not_writable: rejected("settings.plan", "can be changed by operators only"),
  settings_too_large: rejected("settings", "would be larger than 1 MiB"),
  too_many_requests: [429, "Too many requests", "The limit of 10 requests is used up; try again in 1742 s"],
  too_many_at_once: [
    429,
    "Too many requests",
    "Too many requests of yours are open at once; read their answers, then send the request again",
  ],
  internal_error: [INTERNAL.status, INTERNAL.error, INTERNAL.message, { request_id: ID }],
  service_unavailable: [...BY_SQLSTATE["08"]!, { request_id: ID }],
  being_deleted: [
    503,
    "Service unavailable",
    "The tenant is being deleted or replaced",
    { request_id: ID },
    "expected",
  ],
  tenant_busy: [
    503,
    "Service unavailable",
    "Others write to the tenant: suspend it and stop its writers, then delete it",
    { request_id: ID },
  ],
  proof_refused: [503, "Service unavailable", "The proof of the caller has expired", { request_id: ID }],
  overloaded: [
    503,
    "Service unavailable",
    "The service is at its limit; send the request again",
    { request_id: ID },
    "expected",
  ],
  stopping: [
    503,
    "Service unavailable",
    "The service is stopping; send the request again",
    { request_id: ID },
    "expected",
  ],
} as const satisfies Record<string, Example>;

export type ProblemName = keyof typeof PROBLEMS;

/** Reasons that only logs and metrics have: clients read the words of another refusal, or those of /ready. */
const INTERNAL_REASONS = {
  tenant_claim_malformed: PROBLEMS.not_a_member,
  not_ready: [503, "Service unavailable", "The checks that failed, and why", {}, "expected"],
} as const satisfies Record<string, Example>;

const ALL = { ...PROBLEMS, ...INTERNAL_REASONS };

/** A refusal in the documented words; `detail` replaces those that are an example. */
export function refusal(
  reason: keyof typeof ALL,
  { detail, ...rest }: Pick<Beside, "extra" | "headers" | "cause"> & { detail?: string } = {},
): Problem {
  const [status, error, words] = ALL[reason];
  return new Problem(status, error, detail ?? words, { ...rest, reason });
}

const kindOf = ({ reason }: Problem) => (ALL as Record<string, Example>)[reason ?? ""]?.[4];

/** The service refuses on purpose: the log needs no warning. */
export const isExpected = (problem: Problem): boolean => kindOf(problem) === "expected";

/** The request named no tenant, or one that does not let the caller in. */
export const isUnresolved = (problem: Problem): boolean => kindOf(problem) === "unresolved";
