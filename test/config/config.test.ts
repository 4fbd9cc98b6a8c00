import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import path from "node:path";
import { test } from "node:test";
import { type Config, ConfigError, loadConfig } from "../../src/config/config.ts";
import { configurationAdvice } from "../../src/config/recommendations.ts";
import { TABLE } from "../../src/config/variables.ts";
import { pem, SECRET } from "../identity/tokens.ts";

const DATABASE = "postgres://tms_service:hidden-password@db.internal:5432/tms";

const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const rsaPem = pem(rsa.publicKey);
const ec = (namedCurve: string) => pem(generateKeyPairSync("ec", { namedCurve }).publicKey);
const ed25519 = pem(generateKeyPairSync("ed25519").publicKey);

/** Each named field, so that a new one elsewhere needs no line here. */
function assertFields(config: Config, expected: Partial<Config>): void {
  for (const [name, value] of Object.entries(expected))
    assert.deepEqual(config[name as keyof Config], value, name);
}

const load = (env: Record<string, string>) => loadConfig(env).config;

function faultsOf(env: Record<string, string>): readonly string[] {
  try {
    loadConfig(env);
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    for (const fault of error.faults)
      assert.match(error.message, new RegExp(`^ {2}${fault.slice(0, 12)}`, "m"));
    return error.faults;
  }
  return [];
}

/** The names at the head of each fault. */
const named = (env: Record<string, string>) => faultsOf(env).map(fault => fault.split(":")[0]);

test("origins are listed one by one: a wildcard is refused with words, an app's own scheme is accepted", () => {
  const load = (origins: string) =>
    loadConfig({ SERVICE_JWT_SECRET: "x".repeat(32), SERVICE_CORS_ORIGINS: origins });
  for (const origins of [
    "https://*.example",
    "*",
    "https://app.example/",
    "file://",
    "capacitor://localhost/x",
    "https://APP.example",
  ])
    assert.throws(() => load(origins), /SERVICE_CORS_ORIGINS.*without a wildcard/s, origins);
  const apps = [
    "https://app.example:8443",
    "capacitor://localhost",
    "ionic://localhost",
    "chrome-extension://abcdefgh",
  ];
  assert.deepEqual(load(apps.join(",")).config.corsOrigins, apps);
});

test("an empty environment is the embedded database in single-tenant mode", () => {
  const { config, warnings } = loadConfig({});
  assert.deepEqual(warnings, []);
  assertFields(config, {
    host: "127.0.0.1",
    port: 3000,
    dataDir: path.resolve(import.meta.dirname, "../../.data"),
    databaseUrl: null,
    databaseReadUrl: null,
    databasePoolSize: 10,
    databasePipelineDepth: 8,
    prepareStatements: true,
    explicitTransactions: false,
    multiTenantMode: false,
    sampleProduct: null,
    jwt: {
      secret: null,
      publicKey: null,
      jwksUrl: null,
      algorithms: ["HS256"],
      issuer: null,
      audience: null,
      tenantClaim: null,
    },
    tenantPrecedence: "claims",
    operator: { claim: "roles", role: "tenant-operator" },
    defaultTenant: { slug: "default", name: "Default Tenant" },
    registration: {
      enabled: true,
      requiresApproval: false,
      allowedDomains: null,
      maxTenantsPerUser: null,
    },
    frontendBaseUrl: null,
    logLevel: "info",
    shutdownTimeoutMs: 10_000,
  });
});

test("an empty or blank value is an unset one, for every variable that the service reads", () => {
  const { config } = loadConfig({});
  for (const blank of ["", "  "]) {
    const env = Object.fromEntries(
      Object.keys(TABLE).map(name => [name, name.endsWith("SECRET") ? "" : blank]),
    );
    assert.deepEqual(loadConfig(env), { config, warnings: [] });
  }
});

test("every value given is read", () => {
  const config = load({
    SERVICE_HOST: "::1",
    SERVICE_PORT: "0",
    SERVICE_DATA_DIR: "somewhere/else",
    SERVICE_DATABASE_URL: DATABASE,
    SERVICE_DATABASE_READ_URL: "postgresql://reader@replica/tms",
    SERVICE_DATABASE_POOL_SIZE: "4",
    SERVICE_DATABASE_PIPELINE_DEPTH: "2",
    SERVICE_DATABASE_PREPARED: "False",
    SERVICE_DATABASE_EXPLICIT_TRANSACTION: "1",
    SERVICE_MULTI_TENANT_MODE: "TRUE",
    SERVICE_SAMPLE_PRODUCT: "false",
    SERVICE_JWT_SECRET: SECRET,
    SERVICE_JWT_ISSUER: " https://issuer.example ",
    SERVICE_JWT_AUDIENCE: "api, web,,",
    SERVICE_JWT_TENANT_CLAIM: "https://acme.com/tenant",
    SERVICE_OPERATOR_CLAIM: "realm_access.roles",
    SERVICE_OPERATOR_ROLE: "root",
    SERVICE_DEFAULT_TENANT_SLUG: "home",
    SERVICE_DEFAULT_TENANT_NAME: "Zu\u0308rich",
    SERVICE_TENANT_REGISTRATION_ENABLED: "0",
    SERVICE_TENANT_REGISTRATION_REQUIRES_APPROVAL: "1",
    SERVICE_TENANT_REGISTRATION_ALLOWED_DOMAINS: "Acme.COM, müller.de,acme.com",
    SERVICE_MAX_TENANTS_PER_USER: "3",
    SERVICE_FRONTEND_BASE_URL: "https://app.acme.com/tenants//",
    SERVICE_PUBLIC_URL: "https://api.acme.com/tenancy/",
    SERVICE_TRUSTED_PROXIES: "10.0.0.5, 10.1.0.0/16,2001:db8::/32",
    SERVICE_LOG_LEVEL: "WARN",
    SERVICE_REQUEST_TIMEOUT: "5",
    SERVICE_SHUTDOWN_TIMEOUT: "2.5",
  });
  assertFields(config, {
    host: "::1",
    port: 0,
    dataDir: path.resolve("somewhere/else"),
    databaseUrl: DATABASE,
    databaseReadUrl: "postgresql://reader@replica/tms",
    databasePoolSize: 4,
    databasePipelineDepth: 2,
    prepareStatements: false,
    explicitTransactions: true,
    multiTenantMode: true,
    sampleProduct: false,
    jwt: {
      secret: SECRET,
      publicKey: null,
      jwksUrl: null,
      algorithms: ["HS256"],
      issuer: "https://issuer.example",
      audience: ["api", "web"],
      tenantClaim: "https://acme.com/tenant",
    },
    operator: { claim: "realm_access.roles", role: "root" },
    defaultTenant: { slug: "home", name: "Zürich" },
    registration: {
      enabled: false,
      requiresApproval: true,
      allowedDomains: ["acme.com", "xn--mller-kva.de"],
      maxTenantsPerUser: 3,
    },
    frontendBaseUrl: "https://app.acme.com/tenants",
    publicUrl: "https://api.acme.com/tenancy",
    trustedProxies: ["10.0.0.5", "10.1.0.0/16", "2001:db8::/32"],
    logLevel: "warn",
    requestTimeoutMs: 5_000,
    shutdownTimeoutMs: 2_500,
  });
});

test("all faults are reported at once, by name, and no value is repeated", () => {
  const env = {
    SERVICE_PORT: "65536",
    SERVICE_HOST: "http://leak-host",
    SERVICE_DATABASE_URL: "mysql://root:leak-password@db/tms",
    SERVICE_MULTI_TENANT_MODE: "yes",
    SERVICE_JWT_SECRET: "leak-short-secret",
    SERVICE_MAX_TENANTS_PER_USER: "0",
    SERVICE_FRONTEND_BASE_URL: "ftp://leak.example",
    SERVICE_DEFAULT_TENANT_SLUG: "Leak",
  };
  assert.deepEqual(new Set(named(env)), new Set(Object.keys(env)));
  assert.throws(() => loadConfig(env), /^Error: The environment has faults:\n/);
  assert.throws(() => loadConfig({ SERVICE_PORT: "x" }), /^Error: The environment has a fault:\n/);
  const faults = faultsOf(env);
  assert.ok(
    faults.every(fault => /: expected \S/.test(fault) && !/leak|yes|65536/i.test(fault)),
    faults.join("\n"),
  );
});

test("a value that is almost right is a fault", () => {
  const wrong: Record<string, string[]> = {
    SERVICE_HOST: ["a b", "host:80", "http://x"],
    SERVICE_PORT: ["-1", "3000.5", "0x10", "1e3", "tcp://10.0.0.1:80", "٣"],
    SERVICE_MULTI_TENANT_MODE: ["on", "yes", "2", "tru", "constructor"],
    SERVICE_DEBUG: ["debug"],
    SERVICE_LOG_LEVEL: ["verbose", "toString", "debugger", "xdebug"],
    SERVICE_TENANT_PRECEDENCE: ["token", "headers", "claims,header", "constructor"],
    SERVICE_SHUTDOWN_TIMEOUT: ["0", "-1", "3601", "10s", "1e3", "Infinity"],
    SERVICE_MAX_TENANTS_PER_USER: ["-1", "1.5", "unlimited", "2147483648", "null"],
    SERVICE_TENANT_REGISTRATION_ALLOWED_DOMAINS: [
      "acme",
      "@acme.com",
      "acme.com;b.com",
      "*.acme.com",
      "10.0.0.1",
      "acme.com/x",
      "a..com",
      `${"a".repeat(64)}.com`,
      "acme.com,b",
      ",",
    ],
    SERVICE_FRONTEND_BASE_URL: [
      "app.acme.com",
      "javascript:alert(1)",
      "https://u:p@acme.com",
      "https://u@acme.com",
      "https://acme.com/?a=1",
      "https://acme.com/#a",
    ],
    SERVICE_PUBLIC_URL: ["api.acme.com", "https://acme.com/?a=1"],
    SERVICE_TRUSTED_PROXIES: [
      "true",
      "1",
      "nginx",
      "10.0.0.0/33",
      "10.0.0.0/0",
      "10.0.0/8",
      "10.0.0.1/8/8",
      "::1/129",
    ],
    SERVICE_DEFAULT_TENANT_SLUG: ["a_b", "A", "a b", "x".repeat(256)],
    SERVICE_DEFAULT_TENANT_NAME: ["x".repeat(256), "\u200b"],
    SERVICE_JWT_JWKS_URL: [
      "http://keys.acme.com/jwks",
      "http://localhost.acme.com/",
      "http://notlocalhost/",
      "http://127.0.0.1.nip.io/",
      "https://user:pw@acme.com/jwks",
      "file:///etc/passwd",
    ],
    SERVICE_JWT_ALGORITHMS: ["none", "HS256,none", "hs256", "RS1", ","],
    DATABASE_URL: [
      "http://localhost",
      "postgres://a:own%erpw@db/tms",
      "postgres://%E4@db/tms",
      "postgres://a@db/%",
    ],
  };
  for (const [name, values] of Object.entries(wrong))
    for (const value of values) assert.deepEqual(named({ [name]: value }), [name], `${name}=${value}`);
  const longest = {
    SERVICE_PORT: "65535",
    SERVICE_SHUTDOWN_TIMEOUT: "3600",
    SERVICE_MAX_TENANTS_PER_USER: "2147483647",
    SERVICE_DEFAULT_TENANT_SLUG: "x".repeat(255),
    SERVICE_DEFAULT_TENANT_NAME: "🙂".repeat(255),
  };
  assert.deepEqual(named(longest), []);
  assert.deepEqual(named({ SERVICE_MAX_TENANTS_PER_USER: "1", SERVICE_HOST: "LocalHost" }), []);
});

test("the tokens have exactly one key, which the embedded database may supply", () => {
  const keys = {
    SERVICE_JWT_SECRET: SECRET,
    SERVICE_JWT_PUBLIC_KEY: rsaPem,
    SERVICE_JWT_JWKS_URL: "https://keys.acme.com/jwks",
  };
  for (const [name, value] of Object.entries(keys)) {
    assert.deepEqual(named({ [name]: value }), []);
    assert.deepEqual(named({ [name]: value, SERVICE_DATABASE_URL: DATABASE }), []);
  }
  assert.match(faultsOf({ SERVICE_DATABASE_URL: DATABASE }).join(), /^SERVICE_JWT_SECRET, .*exactly one/);
  assert.match(faultsOf(keys).join(), /^SERVICE_JWT_SECRET, SERVICE_JWT_PUBLIC_KEY, .*exactly one/);
  const { SERVICE_JWT_SECRET: _, ...two } = keys;
  assert.match(faultsOf(two).join(), /^SERVICE_JWT_PUBLIC_KEY, SERVICE_JWT_JWKS_URL: expected exactly one/);
});

test("a read replica needs a primary", () => {
  assert.deepEqual(named({ SERVICE_DATABASE_READ_URL: DATABASE }), ["SERVICE_DATABASE_READ_URL"]);
});

test("a secret has 32 bytes, is kept to the byte, and is not a key of another kind", () => {
  assert.deepEqual(named({ SERVICE_JWT_SECRET: "x".repeat(31) }), ["SERVICE_JWT_SECRET"]);
  assert.equal(load({ SERVICE_JWT_SECRET: "é".repeat(16) }).jwt.secret, "é".repeat(16));
  assert.equal(load({ SERVICE_JWT_SECRET: ` ${SECRET} ` }).jwt.secret, ` ${SECRET} `);
  assert.deepEqual(named({ SERVICE_JWT_SECRET: rsaPem }), ["SERVICE_JWT_SECRET"]);
  const jwk = '{"kty":"RSA","n":"AQAB0123456789","e":"AQAB"}';
  assert.deepEqual(named({ SERVICE_JWT_SECRET: jwk }), ["SERVICE_JWT_SECRET"]);
});

test("the algorithm follows from the key", () => {
  const cases: [string, string[]][] = [
    [rsaPem, ["RS256"]],
    [ec("prime256v1"), ["ES256"]],
    [ec("secp384r1"), ["ES384"]],
    [ec("secp521r1"), ["ES512"]],
    [ed25519, ["EdDSA"]],
  ];
  for (const [pem, algorithms] of cases) {
    for (const text of [pem, pem.replaceAll("\n", "\\n"), `  ${pem}\n`]) {
      const { jwt } = load({ SERVICE_JWT_PUBLIC_KEY: text });
      assert.deepEqual(jwt.algorithms, algorithms);
      assert.equal(jwt.publicKey, pem);
    }
  }
  const { algorithms } = load({ SERVICE_JWT_JWKS_URL: "https://keys.acme.com/jwks" }).jwt;
  assert.ok(["RS256", "PS256", "ES256", "ES384", "ES512", "EdDSA"].every(name => algorithms.includes(name)));
  assert.ok(algorithms.every(name => !name.startsWith("HS")));
});

test("a configured algorithm must fit the key", () => {
  const fits = (env: Record<string, string>, text: string) =>
    named({ ...env, SERVICE_JWT_ALGORITHMS: text }).length === 0;
  const secret = (bytes: number) => ({ SERVICE_JWT_SECRET: "x".repeat(bytes) });
  const key = (pem: string) => ({ SERVICE_JWT_PUBLIC_KEY: pem });
  const jwks = { SERVICE_JWT_JWKS_URL: "http://127.0.0.1:8080/jwks" };
  assert.ok(fits(secret(32), "HS256") && fits(secret(64), "HS512,HS256") && fits({}, "HS256"));
  assert.ok(!fits(secret(32), "HS384") && !fits(secret(63), "HS512") && !fits(secret(64), "RS256"));
  assert.ok(fits(key(rsaPem), "RS512, PS256") && !fits(key(rsaPem), "RS256,HS256"));
  assert.ok(!fits(key(rsaPem), "ES256") && !fits(key(ec("prime256v1")), "ES384"));
  assert.ok(fits(key(ed25519), "EdDSA") && !fits(key(ed25519), "HS256"));
  assert.ok(fits(key(ed25519), "Ed25519") && fits(jwks, "Ed25519,RS256") && !fits(key(rsaPem), "Ed25519"));
  assert.ok(!fits({}, "HS384")); // the embedded database's secret is of 43 bytes
  assert.ok(fits(jwks, "ES256,RS256") && !fits(jwks, "HS256") && !fits({}, "RS256"));
  // A key with a fault of its own says nothing of what fits it.
  const faulty = { SERVICE_JWT_PUBLIC_KEY: "x", SERVICE_JWT_ALGORITHMS: "RS256" };
  assert.deepEqual(named(faulty), ["SERVICE_JWT_PUBLIC_KEY"]);
  assert.equal(faultsOf({ ...secret(32), ...jwks, SERVICE_JWT_ALGORITHMS: "HS256" }).length, 1);
});

test("a public key that is private, weak, of an unknown kind or no key at all is a fault", () => {
  const weak = pem(generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey);
  const hidden = rsa.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const odd = pem(generateKeyPairSync("x25519").publicKey);
  for (const text of [hidden, weak, odd, ec("secp256k1"), "abc", rsaPem.slice(0, 200)])
    assert.deepEqual(named({ SERVICE_JWT_PUBLIC_KEY: text }), ["SERVICE_JWT_PUBLIC_KEY"]);
});

test("a key set is read over https, or over http from this machine", () => {
  for (const url of [
    "https://keys.acme.com/a?b=c",
    "http://localhost:1/",
    "http://127.0.0.9:1/",
    "http://[::1]/",
  ])
    assert.equal(load({ SERVICE_JWT_JWKS_URL: url }).jwt.jwksUrl, url);
});

test("debug mode sets the log level unless a level is named", () => {
  assert.equal(load({ SERVICE_DEBUG: "true" }).logLevel, "debug");
  assert.equal(load({ SERVICE_DEBUG: "true", SERVICE_LOG_LEVEL: "error" }).logLevel, "error");
  assert.equal(load({ SERVICE_DEBUG: "0" }).logLevel, "info");
});

test("an unknown SERVICE_ variable is a warning that names it", () => {
  const { warnings } = loadConfig({ SERVICE_JWT_ISUER: "secret-value", OTHER: "1", service_port: "x" });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0]!, /^SERVICE_JWT_ISUER /);
  assert.doesNotMatch(warnings[0]!, /secret-value/);
  // What is missing may be there under that name.
  assert.throws(
    () =>
      loadConfig({
        SERVICE_DATABASE_URL: "postgres://tms_service@db/tms",
        SERVICE_JWT_SECRT: "secret-value",
      }),
    /exactly one of them, since SERVICE_DATABASE_URL is set\n {2}SERVICE_JWT_SECRT is not a variable of this service; nothing reads it$/,
  );
});

test("a warning at start names the claim that must verify an operator's address", () => {
  const warnings = (claim: string, role: string) =>
    loadConfig({ SERVICE_OPERATOR_CLAIM: claim, SERVICE_OPERATOR_ROLE: role }).warnings;
  assert.deepEqual(warnings("mail", "ada@acme.com"), [
    "SERVICE_OPERATOR_CLAIM: mail makes an operator only in a token with mail_verified: true, because SERVICE_OPERATOR_ROLE is an address",
  ]);
  for (const claim of ["email", "groups", "sub"]) assert.deepEqual(warnings(claim, "ada@acme.com"), []);
  assert.deepEqual(warnings("roles", "tenant-operator"), []);
});

test("the start warns of what the configuration leaves open", () => {
  const advice = (env: Record<string, string>) =>
    configurationAdvice(load({ SERVICE_DATABASE_URL: DATABASE, SERVICE_JWT_SECRET: SECRET, ...env }));
  const open = ["SERVICE_JWT_ISSUER", "SERVICE_JWT_AUDIENCE"];
  assert.deepEqual(
    advice({}).map(sentence => /SERVICE_\w+/.exec(sentence)?.[0]),
    open,
  );
  const held = { SERVICE_JWT_ISSUER: "https://idp.example", SERVICE_JWT_AUDIENCE: "tms" };
  assert.deepEqual(advice(held), []);
  for (const claim of ["preferred_username", "upn", "https://acme.com/nickname"])
    assert.match(
      advice({ ...held, SERVICE_OPERATOR_CLAIM: claim }).join(),
      /^No provider verifies the claim/,
    );
  for (const claim of ["email", "groups", "sub", "hostname"])
    assert.deepEqual(advice({ ...held, SERVICE_OPERATOR_CLAIM: claim }), []);
  assert.deepEqual(advice({ ...held, SERVICE_JWT_SECRET: "ab".repeat(20) }), [
    "The JWT secret is weak: use 32 random bytes or more",
  ]);
});
