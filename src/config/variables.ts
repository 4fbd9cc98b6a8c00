import type { KINDS } from "./kinds.ts";

export interface Variable {
  kind: keyof typeof KINDS;
  /** Parsed like a value that is set. */
  default?: string;
  /** What docs/reference/configuration.md prints as the default if there is no `default`. */
  unset?: string;
  meaning: string;
}

export const TABLE = {
  SERVICE_HOST: { kind: "host", default: "127.0.0.1", meaning: "Address to listen on" },
  SERVICE_PORT: { kind: "port", default: "3000", meaning: "Port to listen on; 0 takes a free one" },
  SERVICE_MULTI_TENANT_MODE: {
    kind: "flag",
    default: "false",
    meaning: "Enables multi-tenant support; `migrate` and `start` store it",
  },
  SERVICE_SAMPLE_PRODUCT: {
    kind: "flag",
    unset: "`true`",
    meaning:
      "Migrations: whether a new database gets boards and what belongs to them. Every other database keeps what it has, and the service serves that",
  },
  SERVICE_DATABASE_URL: {
    kind: "database",
    unset: "embedded",
    meaning: "The service's login (role `tms_service`); without it the embedded Postgres is used",
  },
  SERVICE_DATABASE_POOL_SIZE: {
    kind: "count",
    default: "10",
    meaning: "Database connections of one instance, at most",
  },
  SERVICE_DATABASE_PIPELINE_DEPTH: {
    kind: "count",
    default: "8",
    meaning:
      "Short reads that share a connection, sent together and answered in order, at most; 1: each has one to itself",
  },
  SERVICE_DATABASE_PREPARED: {
    kind: "flag",
    default: "true",
    meaning: "Named prepared statements; false behind a pooler that cannot keep them",
  },
  SERVICE_DATABASE_EXPLICIT_TRANSACTION: {
    kind: "flag",
    default: "false",
    meaning: "Begins and commits around each call, still in one round trip: for Citus",
  },
  SERVICE_DATABASE_READ_URL: {
    kind: "database",
    meaning:
      "A read replica for operators' reads: tenants, one tenant and its members, the setup status, the audit",
  },
  DATABASE_URL: {
    kind: "database",
    unset: "embedded",
    meaning:
      "The owner's login (role `tms_owner`): migrations, audit, export, import, diff, purge, events, explain",
  },
  ROOT_DATABASE_URL: {
    kind: "database",
    unset: "embedded",
    meaning: "Migrations: the administrator's login",
  },
  SHADOW_DATABASE_URL: { kind: "database", unset: "embedded", meaning: "Migrations: the shadow database" },
  SERVICE_DATA_DIR: {
    kind: "path",
    unset: "`.data` in the project root",
    meaning: "Where the embedded Postgres keeps its files",
  },
  SERVICE_EMBEDDED_PORT: {
    kind: "port",
    default: "5499",
    meaning:
      "Port of the embedded Postgres, on 127.0.0.1, while `npm start` or the demo runs; any free one where it is taken, or 0",
  },
  SERVICE_JWT_SECRET: {
    kind: "secret",
    unset: "made once for the embedded database",
    meaning: "Shared secret of the tokens, 32 bytes or more. Exactly one of secret, public key and key set",
  },
  SERVICE_JWT_PUBLIC_KEY: {
    kind: "publicKey",
    meaning: "Public key of the tokens in PEM (line ends may be written as `\\n`): RSA, EC or Ed25519",
  },
  SERVICE_JWT_JWKS_URL: {
    kind: "jwks",
    meaning:
      "Address of the tokens' key set (JWKS), or of the discovery document that names it: https, or http on this machine only",
  },
  SERVICE_JWT_ALGORITHMS: {
    kind: "algorithms",
    unset:
      "by key: HS256; RS256, ES256, ES384, ES512 or EdDSA (the same as Ed25519); every asymmetric one of a key set",
    meaning: "Comma-separated signature algorithms that are accepted; each must fit the key",
  },
  SERVICE_JWT_ISSUER: { kind: "text", meaning: "The `iss` that a token must show" },
  SERVICE_JWT_AUDIENCE: { kind: "list", meaning: "Comma-separated: a token's `aud` must name one of them" },
  SERVICE_JWT_TENANT_CLAIM: {
    kind: "text",
    meaning: "Name of a custom token claim that holds the tenant; a dotted path reaches inside an object",
  },
  SERVICE_TENANT_PRECEDENCE: {
    kind: "precedence",
    default: "claims",
    meaning:
      "What names the tenant when a token's claim and `X-Tenant` differ. `header` is for people who belong to several tenants",
  },
  SERVICE_TENANT_CONTEXT_SECRET: {
    kind: "secret",
    meaning:
      "Shared with the database, 32 bytes or more: then it enters no tenant without a proof of the caller. `npm run migrate` stores it",
  },
  SERVICE_OPERATOR_CLAIM: {
    kind: "text",
    default: "roles",
    meaning: "Token claim that lists the caller's roles, or holds one value, such as a verified `email`",
  },
  SERVICE_OPERATOR_ROLE: {
    kind: "text",
    default: "tenant-operator",
    meaning: "Role that may use the setup endpoints",
  },
  SERVICE_DEFAULT_TENANT_SLUG: {
    kind: "slug",
    default: "default",
    meaning:
      "Slug of the default tenant when it is made; in single-tenant mode what logs and metrics call it",
  },
  SERVICE_DEFAULT_TENANT_NAME: {
    kind: "name",
    default: "Default Tenant",
    meaning: "Name of the default tenant",
  },
  SERVICE_TENANT_REGISTRATION_ENABLED: {
    kind: "flag",
    default: "true",
    meaning: "Whether callers may register tenants, in multi-tenant mode",
  },
  SERVICE_TENANT_REGISTRATION_REQUIRES_APPROVAL: {
    kind: "flag",
    default: "false",
    meaning: "Whether new tenants need an operator's approval",
  },
  SERVICE_TENANT_REGISTRATION_ALLOWED_DOMAINS: {
    kind: "domains",
    unset: "every domain",
    meaning: "Comma-separated e-mail domains that may register",
  },
  SERVICE_MAX_TENANTS_PER_USER: {
    kind: "count",
    unset: "unlimited",
    meaning: "How many tenants one user may own",
  },
  SERVICE_TENANT_DELETION_GRACE: {
    kind: "days",
    default: "0",
    meaning:
      "Days in which a deleted tenant can be restored, before `tenancy purge` may remove it; 0: a deletion is at once and for good",
  },
  SERVICE_TENANT_SETTINGS_SCHEMA: {
    kind: "file",
    meaning:
      'A JSON Schema (2020-12) that binds `settings`; `"x-tenant-writable": true` lets a tenant\'s owners and admins change a top-level key',
  },
  SERVICE_CORS_ORIGINS: {
    kind: "origins",
    unset: "no other origin",
    meaning:
      "Comma-separated origins, such as `https://app.example`, whose pages may call the API from a browser",
  },
  SERVICE_FRONTEND_BASE_URL: {
    kind: "webAddress",
    meaning: "Base address used to build `dashboard_url` and `accept_url`",
  },
  SERVICE_PUBLIC_URL: {
    kind: "webAddress",
    meaning:
      "Where clients reach the service: what `Link`, `Location`, `/docs` and `/openapi.json` name, such as `https://api.example/tenancy`",
  },
  SERVICE_CONSOLE_CLIENT_ID: {
    kind: "text",
    meaning:
      "Client of the console at the provider that `SERVICE_JWT_ISSUER` names; without it the console takes pasted tokens only",
  },
  SERVICE_CONSOLE_SCOPE: {
    kind: "text",
    default: "openid profile email",
    meaning: "Scope that the console asks for; with `offline_access` some providers renew a sign-in silently",
  },
  SERVICE_TRUSTED_PROXIES: {
    kind: "proxies",
    meaning: "Comma-separated addresses or networks of proxies whose `X-Forwarded-For` names the client",
  },
  SERVICE_DEBUG: {
    kind: "flag",
    default: "false",
    meaning: "Debug logging, unless `SERVICE_LOG_LEVEL` names another level",
  },
  SERVICE_LOG_LEVEL: {
    kind: "level",
    unset: "`info`",
    meaning: "trace, debug, info, warn, error, fatal or silent",
  },
  SERVICE_MAX_REQUESTS_IN_FLIGHT: {
    kind: "count",
    default: "1000",
    meaning: "Requests that one instance works on at once; more are refused with 503",
  },
  SERVICE_REQUEST_TIMEOUT: {
    kind: "seconds",
    default: "10",
    meaning: "Seconds in which a request must arrive whole, its body included",
  },
  SERVICE_METRICS_TENANT_LABEL: {
    kind: "flag",
    default: "false",
    meaning: "Adds a `tenant` label to the metrics of resolved tenants: one series for each tenant",
  },
  SERVICE_SHUTDOWN_TIMEOUT: {
    kind: "seconds",
    default: "10",
    meaning: "Seconds that open requests get to end when the service stops",
  },
} satisfies Record<string, Variable>;

export type Name = keyof typeof TABLE;
/** The parsed value; null only for a variable without a default. */
export type Value<N extends Name> =
  | NonNullable<ReturnType<(typeof KINDS)[(typeof TABLE)[N]["kind"]]["parse"]>>
  | ((typeof TABLE)[N] extends { default: string } ? never : null);
