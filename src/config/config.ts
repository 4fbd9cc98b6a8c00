import { ASYMMETRIC, HS, KINDS } from "./kinds.ts";
import { addressWarning } from "./operator-address.ts";
import { DATA_DIR } from "./paths.ts";
import { type Name, TABLE, type Value, type Variable } from "./variables.ts";

/** The environment as the service reads it. Null: not set, and no default. */
export type Config = ReturnType<typeof configFrom>;

/** Every invalid variable, one line each. Values are never printed. */
export class ConfigError extends Error {
  /** `warnings` are printed too: a missing variable may be there with a typo in its name. */
  constructor(
    readonly faults: readonly string[],
    warnings: readonly string[],
  ) {
    const lines = [...faults, ...warnings].join("\n  ");
    super(`The environment has ${faults.length === 1 ? "a fault" : "faults"}:\n  ${lines}`);
  }
}

/** The variables that are set; an empty one counts as unset. White space around a value is trimmed, except for secrets. */
function given(env: NodeJS.ProcessEnv): Partial<Record<Name, string>> {
  const set = (Object.keys(TABLE) as Name[]).flatMap(name => {
    const text = TABLE[name].kind === "secret" ? env[name] : env[name]?.trim();
    return text ? [[name, text] as const] : [];
  });
  return Object.fromEntries(set);
}

const KEYS = ["SERVICE_JWT_SECRET", "SERVICE_JWT_PUBLIC_KEY", "SERVICE_JWT_JWKS_URL"] as const;

/** Errors of single variables, then of combinations; an invalid variable is reported once. */
function findFaults(set: Partial<Record<Name, string>>): string[] {
  const names = new Set((Object.keys(set) as Name[]).filter(name => parsed(set, name) === undefined));
  const faults = [...names].map(name => `${name}: expected ${KINDS[TABLE[name].kind].expects}`);
  if (set.SERVICE_CONSOLE_CLIENT_ID && !isProvider(set.SERVICE_JWT_ISSUER))
    faults.push(
      "SERVICE_CONSOLE_CLIENT_ID: expected together with SERVICE_JWT_ISSUER, an https address, or http on this machine only",
    );
  const keys = KEYS.filter(name => set[name]);
  if (keys.length > 1) faults.push(`${keys.join(", ")}: expected exactly one of them`);
  if (keys.length === 0 && set.SERVICE_DATABASE_URL)
    faults.push(`${KEYS.join(", ")}: expected exactly one of them, since SERVICE_DATABASE_URL is set`);
  if (set.SERVICE_DATABASE_READ_URL && !set.SERVICE_DATABASE_URL)
    faults.push("SERVICE_DATABASE_READ_URL: expected together with SERVICE_DATABASE_URL only");
  if (keys.length < 2 && !keys.some(name => names.has(name))) {
    const { accepted, fitting } = algorithms(set);
    if (accepted.some(name => !fitting.includes(name)))
      faults.push(`SERVICE_JWT_ALGORITHMS: expected algorithms that fit the key: ${fitting.join(", ")}`);
  }
  return faults;
}

/** The console reads the provider's discovery document below its issuer. */
const isProvider = (issuer: string | undefined) =>
  issuer !== undefined && KINDS.jwks.parse(issuer) !== undefined;

/** Undefined if the value is invalid. */
const parsed = <N extends Name>(set: Partial<Record<Name, string>>, name: N): Value<N> => {
  const text = set[name] ?? (TABLE[name] as Variable).default;
  return (text === undefined ? null : KINDS[TABLE[name].kind].parse(text)) as Value<N>;
};

/** RFC 7518: an HMAC key is at least as long as its hash, so HS384 needs 48 bytes and HS512 needs 64. */
function algorithms(set: Partial<Record<Name, string>>): { accepted: string[]; fitting: string[] } {
  const key = parsed(set, "SERVICE_JWT_PUBLIC_KEY");
  const length = set.SERVICE_JWT_SECRET ? Buffer.byteLength(set.SERVICE_JWT_SECRET) : 32;
  const symmetric = HS.filter(name => length >= Number(name.slice(2)) / 8);
  const fitting = set.SERVICE_JWT_JWKS_URL ? ASYMMETRIC : (key?.algorithms ?? symmetric);
  const usual = set.SERVICE_JWT_JWKS_URL ? fitting : fitting.slice(0, 1);
  return { accepted: parsed(set, "SERVICE_JWT_ALGORITHMS") ?? usual, fitting };
}

/**
 * Reads the environment as a whole. An empty variable is an unset one; `SERVICE_LOG_LEVEL` wins over `SERVICE_DEBUG`.
 * Warnings name the `SERVICE_*` variables that nobody reads, and an operator's claim that needs a second one.
 * @throws ConfigError with every fault at once
 */
export function loadConfig(env: NodeJS.ProcessEnv): { config: Config; warnings: string[] } {
  const set = given(env);
  const warnings = Object.keys(env)
    .filter(name => name.startsWith("SERVICE_") && !(name in TABLE))
    .map(name => `${name} is not a variable of this service; nothing reads it`);
  const faults = findFaults(set);
  if (faults.length > 0) throw new ConfigError(faults, warnings);
  const config = configFrom(set);
  return { config, warnings: [...warnings, addressWarning(config.operator) ?? []].flat() };
}

function configFrom(set: Partial<Record<Name, string>>) {
  const read = <N extends Name>(name: N) => parsed(set, name);
  return {
    host: read("SERVICE_HOST"),
    port: read("SERVICE_PORT"),
    dataDir: read("SERVICE_DATA_DIR") ?? DATA_DIR,
    embeddedPort: read("SERVICE_EMBEDDED_PORT"),
    databaseUrl: read("SERVICE_DATABASE_URL"),
    databaseReadUrl: read("SERVICE_DATABASE_READ_URL"),
    databasePoolSize: read("SERVICE_DATABASE_POOL_SIZE"),
    databasePipelineDepth: read("SERVICE_DATABASE_PIPELINE_DEPTH"),
    prepareStatements: read("SERVICE_DATABASE_PREPARED"),
    explicitTransactions: read("SERVICE_DATABASE_EXPLICIT_TRANSACTION"),
    multiTenantMode: read("SERVICE_MULTI_TENANT_MODE"),
    sampleProduct: read("SERVICE_SAMPLE_PRODUCT"),
    jwt: {
      secret: read("SERVICE_JWT_SECRET"),
      publicKey: read("SERVICE_JWT_PUBLIC_KEY")?.pem ?? null,
      jwksUrl: read("SERVICE_JWT_JWKS_URL"),
      algorithms: algorithms(set).accepted,
      issuer: read("SERVICE_JWT_ISSUER"),
      audience: read("SERVICE_JWT_AUDIENCE"),
      tenantClaim: read("SERVICE_JWT_TENANT_CLAIM"),
    },
    tenantPrecedence: read("SERVICE_TENANT_PRECEDENCE"),
    tenantContextSecret: read("SERVICE_TENANT_CONTEXT_SECRET"),
    operator: { claim: read("SERVICE_OPERATOR_CLAIM"), role: read("SERVICE_OPERATOR_ROLE") },
    defaultTenant: { slug: read("SERVICE_DEFAULT_TENANT_SLUG"), name: read("SERVICE_DEFAULT_TENANT_NAME") },
    registration: {
      enabled: read("SERVICE_TENANT_REGISTRATION_ENABLED"),
      requiresApproval: read("SERVICE_TENANT_REGISTRATION_REQUIRES_APPROVAL"),
      allowedDomains: read("SERVICE_TENANT_REGISTRATION_ALLOWED_DOMAINS"),
      maxTenantsPerUser: read("SERVICE_MAX_TENANTS_PER_USER"),
    },
    deletionGraceDays: read("SERVICE_TENANT_DELETION_GRACE"),
    settingsSchema: read("SERVICE_TENANT_SETTINGS_SCHEMA"),
    corsOrigins: read("SERVICE_CORS_ORIGINS"),
    frontendBaseUrl: read("SERVICE_FRONTEND_BASE_URL"),
    publicUrl: read("SERVICE_PUBLIC_URL"),
    console: { clientId: read("SERVICE_CONSOLE_CLIENT_ID"), scope: read("SERVICE_CONSOLE_SCOPE") },
    trustedProxies: read("SERVICE_TRUSTED_PROXIES"),
    logLevel: read("SERVICE_LOG_LEVEL") ?? (read("SERVICE_DEBUG") ? "debug" : "info"),
    maxInFlight: read("SERVICE_MAX_REQUESTS_IN_FLIGHT"),
    requestTimeoutMs: read("SERVICE_REQUEST_TIMEOUT") * 1000,
    metricsTenantLabel: read("SERVICE_METRICS_TENANT_LABEL"),
    shutdownTimeoutMs: read("SERVICE_SHUTDOWN_TIMEOUT") * 1000,
  };
}
