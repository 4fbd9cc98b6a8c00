import { Ajv } from "ajv";
import { ASYMMETRIC, HS, KINDS } from "./kinds.ts";
import { DATA_DIR } from "./paths.ts";
import { type Name, TABLE, type Value, type Variable } from "./variables.ts";

export interface Config {
  host: string;
  /** 0 lets the system choose. */
  port: number;
  /** Absolute. */
  dataDir: string;
  /** null: the embedded Postgres. */
  databaseUrl: string | null;
  databaseReadUrl: string | null;
  databasePoolSize: number;
  databasePipelineDepth: number;
  prepareStatements: boolean;
  explicitTransactions: boolean;
  multiTenantMode: boolean;
  /** At most one key is set; none when the embedded database is to supply a secret. `publicKey` is SPKI PEM. */
  jwt: {
    secret: string | null;
    publicKey: string | null;
    jwksUrl: string | null;
    algorithms: string[];
    issuer: string | null;
    audience: string[] | null;
    tenantClaim: string | null;
  };
  operator: { claim: string; role: string };
  defaultTenant: { slug: string; name: string };
  /** `allowedDomains` as DNS writes them: IDNA, lower case. */
  registration: {
    enabled: boolean;
    requiresApproval: boolean;
    allowedDomains: string[] | null;
    maxTenantsPerUser: number | null;
  };
  /** Without a trailing slash. */
  frontendBaseUrl: string | null;
  logLevel: string;
  maxInFlight: number;
  metricsTenantLabel: boolean;
  shutdownTimeoutMs: number;
}

/** Every fault of the environment, one line each, by the variable's name. Values are never repeated. */
export class ConfigError extends Error {
  /** `warnings` are told too: what is missing may be there under a name with a typo. */
  constructor(
    readonly faults: readonly string[],
    warnings: readonly string[],
  ) {
    const lines = [...faults, ...warnings].join("\n  ");
    super(`The environment has ${faults.length === 1 ? "a fault" : "faults"}:\n  ${lines}`);
  }
}

const ajv = new Ajv({ allErrors: true });
for (const [kind, { parse }] of Object.entries(KINDS)) ajv.addFormat(kind, text => parse(text) !== undefined);
const isSound = ajv.compile({
  type: "object",
  properties: Object.fromEntries(
    Object.entries(TABLE).map(([name, { kind }]) => [name, { type: "string", format: kind }]),
  ),
});

/** Only what is set: an empty value is an unset one. White space around a value is dropped, but for a secret. */
function given(env: NodeJS.ProcessEnv): Partial<Record<Name, string>> {
  const set = (Object.keys(TABLE) as Name[]).flatMap(name => {
    const text = name === "SERVICE_JWT_SECRET" ? env[name] : env[name]?.trim();
    return text ? [[name, text] as const] : [];
  });
  return Object.fromEntries(set);
}

const KEYS = ["SERVICE_JWT_SECRET", "SERVICE_JWT_PUBLIC_KEY", "SERVICE_JWT_JWKS_URL"] as const;

/** Faults of single variables, then of variables beside each other; a variable with a fault is judged once. */
function findFaults(set: Partial<Record<Name, string>>): string[] {
  isSound(set);
  const names = new Set((isSound.errors ?? []).map(error => error.instancePath.slice(1) as Name));
  const faults = [...names].map(name => `${name}: expected ${KINDS[TABLE[name].kind].expects}`);
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

const parsed = <N extends Name>(set: Partial<Record<Name, string>>, name: N): Value<N> | null => {
  const text = set[name] ?? (TABLE[name] as Variable).default;
  return text === undefined ? null : (KINDS[TABLE[name].kind].parse(text) as Value<N>);
};

/** RFC 7518 asks an HMAC key to be as long as its hash, so HS384 needs 48 bytes and HS512 needs 64. */
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
 * Warnings name the `SERVICE_*` variables that nobody reads.
 * @throws ConfigError with every fault at once
 */
export function loadConfig(env: NodeJS.ProcessEnv): { config: Config; warnings: string[] } {
  const set = given(env);
  const warnings = Object.keys(env)
    .filter(name => name.startsWith("SERVICE_") && !(name in TABLE))
    .map(name => `${name} is not a variable of this service; nothing reads it`);
  const faults = findFaults(set);
  if (faults.length > 0) throw new ConfigError(faults, warnings);
  const read = <N extends Name>(name: N) => parsed(set, name);
  const config: Config = {
    host: read("SERVICE_HOST")!,
    port: read("SERVICE_PORT")!,
    dataDir: read("SERVICE_DATA_DIR") ?? DATA_DIR,
    databaseUrl: read("SERVICE_DATABASE_URL"),
    databaseReadUrl: read("SERVICE_DATABASE_READ_URL"),
    databasePoolSize: read("SERVICE_DATABASE_POOL_SIZE")!,
    databasePipelineDepth: read("SERVICE_DATABASE_PIPELINE_DEPTH")!,
    prepareStatements: read("SERVICE_DATABASE_PREPARED")!,
    explicitTransactions: read("SERVICE_DATABASE_EXPLICIT_TRANSACTION")!,
    multiTenantMode: read("SERVICE_MULTI_TENANT_MODE")!,
    jwt: {
      secret: read("SERVICE_JWT_SECRET"),
      publicKey: read("SERVICE_JWT_PUBLIC_KEY")?.pem ?? null,
      jwksUrl: read("SERVICE_JWT_JWKS_URL"),
      algorithms: algorithms(set).accepted,
      issuer: read("SERVICE_JWT_ISSUER"),
      audience: read("SERVICE_JWT_AUDIENCE"),
      tenantClaim: read("SERVICE_JWT_TENANT_CLAIM"),
    },
    operator: { claim: read("SERVICE_OPERATOR_CLAIM")!, role: read("SERVICE_OPERATOR_ROLE")! },
    defaultTenant: { slug: read("SERVICE_DEFAULT_TENANT_SLUG")!, name: read("SERVICE_DEFAULT_TENANT_NAME")! },
    registration: {
      enabled: read("SERVICE_TENANT_REGISTRATION_ENABLED")!,
      requiresApproval: read("SERVICE_TENANT_REGISTRATION_REQUIRES_APPROVAL")!,
      allowedDomains: read("SERVICE_TENANT_REGISTRATION_ALLOWED_DOMAINS"),
      maxTenantsPerUser: read("SERVICE_MAX_TENANTS_PER_USER"),
    },
    frontendBaseUrl: read("SERVICE_FRONTEND_BASE_URL"),
    logLevel: read("SERVICE_LOG_LEVEL") ?? (read("SERVICE_DEBUG") ? "debug" : "info"),
    maxInFlight: read("SERVICE_MAX_REQUESTS_IN_FLIGHT")!,
    metricsTenantLabel: read("SERVICE_METRICS_TENANT_LABEL")!,
    shutdownTimeoutMs: read("SERVICE_SHUTDOWN_TIMEOUT")! * 1000,
  };
  return { config, warnings };
}
