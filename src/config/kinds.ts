import { createPublicKey, type KeyObject } from "node:crypto";
import { isIP } from "node:net";
import { resolve } from "node:path";
import { asciiDomain } from "../values/domain.ts";
import { flagOf } from "../values/flag.ts";
import { isSlug } from "../values/slug.ts";
import { isVisible } from "../values/visible.ts";

export const HS = ["HS256", "HS384", "HS512"];
const RSA = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];
const CURVES: Record<string, string> = { prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" };
/** One algorithm: RFC 9864 gave it the second name. */
const EDWARDS = ["EdDSA", "Ed25519"];
export const ASYMMETRIC = [...RSA, ...Object.values(CURVES), ...EDWARDS];

/** Every name of a signature algorithm. */
export const namesOf = (algorithm: string) => (EDWARDS.includes(algorithm) ? EDWARDS : [algorithm]);

/** The signature algorithms of a public key; none when it is too short, or of an unknown kind. */
export function algorithmsOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string[] {
  const { modulusLength = 0, namedCurve = "" } = asymmetricKeyDetails ?? {};
  if (asymmetricKeyType === "rsa") return modulusLength >= 2048 ? RSA : [];
  if (asymmetricKeyType === "ed25519") return EDWARDS;
  const curve = CURVES[namedCurve];
  return curve ? [curve] : [];
}

const list = (text: string) => text.split(",").flatMap(item => item.trim() || []);
const shorter = (text: string) => (Array.from(text).length <= 255 ? text : undefined);

function number(text: string, pattern: RegExp, min: number, max: number): number | undefined {
  const value = pattern.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}

function url(text: string, protocols: readonly string[]): URL | undefined {
  const parsed = URL.canParse(text) ? new URL(text) : undefined;
  return parsed && protocols.includes(parsed.protocol) ? parsed : undefined;
}

/** Both drivers decode these parts, and fail on a % that does not begin valid UTF-8. */
function isDecodable({ username, password, hostname, pathname }: URL): boolean {
  try {
    return [username, password, hostname, pathname].every(part => decodeURIComponent(part) !== undefined);
  } catch {
    return false;
  }
}

/** The two drivers agree on these TLS parameters only: for others, one verifies the certificate and the other does not. */
const hasKnownTls = ({ searchParams }: URL) =>
  [...searchParams].every(
    ([name, value]) =>
      !/^(ssl|uselibpqcompat|channel_binding$)/.test(name) ||
      (name === "sslmode" && /^(verify-full|require|no-verify|disable)$/.test(value)) ||
      (name === "channel_binding" && isVerified(searchParams)),
  ) && searchParams.getAll("sslmode").length < 2;

/** With several hosts one driver looks up the whole list as one name, the other retries without end; neither finds the primary. */
const isOneHost = ({ hostname, searchParams }: URL) =>
  !hostname.includes(",") && !searchParams.has("target_session_attrs");

/** Neither driver supports channel binding. verify-full protects from the same attack, a server in between. */
const isVerified = (query: URLSearchParams) => /^(verify-full|require)$/.test(query.get("sslmode") ?? "");
const withoutBinding = (text: string) =>
  text.replace(/([?&])channel_binding=[^&#]*(&?)/, (_all, before, after) => (after ? before : ""));

function webUrl(text: string, protocols = ["https:", "http:"]): URL | undefined {
  const parsed = url(text, protocols);
  return parsed && !parsed.username && !parsed.password && !parsed.hash ? parsed : undefined;
}

/** Origins are compared as text. Apps have schemes of their own, for which URL knows no origin. */
const isOrigin = (text: string) =>
  !text.includes("*") &&
  (/^https?:/i.test(text)
    ? webUrl(text)?.origin === text
    : /^(?!file:)[a-z][a-z0-9+.-]*:\/\/[a-z0-9._-]+(?::\d+)?$/.test(text));

function publicKey(text: string): { pem: string; algorithms: string[] } | undefined {
  const pem = text.replaceAll("\\n", "\n");
  // createPublicKey would accept a private key and derive the public one; a private key does not belong here.
  if (!pem.includes("-----BEGIN ") || pem.includes("PRIVATE KEY")) return undefined;
  try {
    const key = createPublicKey(pem);
    const algorithms = algorithmsOf(key);
    if (algorithms.length === 0) return undefined;
    return { pem: key.export({ type: "spki", format: "pem" }).toString(), algorithms };
  } catch {
    return undefined;
  }
}

function isNetwork(text: string): boolean {
  const [address, bits, more] = text.split("/");
  const version = isIP(address!);
  if (version === 0 || more !== undefined) return false;
  return bits === undefined || number(bits, /^\d+$/, 1, version === 4 ? 32 : 128) !== undefined;
}

function domains(text: string): string[] | undefined {
  const found = list(text).map(asciiDomain);
  return found.length > 0 && found.every(domain => domain !== null) ? [...new Set(found)] : undefined;
}

/** Types of values, for variables and options. `parse` returns undefined for an invalid value. */
export const KINDS = {
  flag: {
    expects: "true, false, 1 or 0",
    parse: flagOf,
  },
  host: {
    expects: "a host name or an IP address, without a port",
    parse: (text: string) => (isIP(text) || /^[a-z0-9._-]+$/i.test(text) ? text : undefined),
  },
  port: { expects: "a port number, 0 to 65535", parse: (text: string) => number(text, /^\d+$/, 0, 65_535) },
  count: {
    expects: "a whole number, 1 to 2147483647",
    parse: (text: string) => number(text, /^\d+$/, 1, 2_147_483_647),
  },
  seconds: {
    expects: "seconds, more than 0 and at most 3600",
    parse: (text: string) => number(text, /^\d+(\.\d+)?$/, 0.001, 3600),
  },
  days: {
    expects: "a whole number of days, 0 to 3650",
    parse: (text: string) => number(text, /^\d+$/, 0, 3650),
  },
  path: { expects: "a folder", parse: (text: string) => resolve(text) },
  file: { expects: "a file", parse: (text: string) => resolve(text) },
  database: {
    expects:
      "postgres://user:password@host:5432/database. See *Addresses* in docs/reference/configuration.md",
    parse: (text: string) => {
      const parsed = url(text, ["postgres:", "postgresql:"]);
      return parsed && isDecodable(parsed) && hasKnownTls(parsed) && isOneHost(parsed)
        ? withoutBinding(text).replace(/([?&]sslmode=)require(?=&|$)/, "$1verify-full")
        : undefined;
    },
  },
  secret: {
    expects: "a secret of 32 bytes or more, not a key in PEM or JWK",
    parse: (text: string) =>
      Buffer.byteLength(text) >= 32 && !/-----BEGIN |"kty"/.test(text) ? text : undefined,
  },
  publicKey: {
    expects: "a public key in PEM: RSA of 2048 bits or more, EC P-256, P-384 or P-521, or Ed25519",
    parse: publicKey,
  },
  jwks: {
    expects: "an https address, or http on this machine only",
    parse: (text: string) => {
      const parsed = webUrl(text);
      const local = parsed && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(parsed.hostname);
      return parsed && (local || parsed.protocol === "https:") ? parsed.href : undefined;
    },
  },
  algorithms: {
    expects: `a comma-separated list out of ${[...HS, ...ASYMMETRIC].join(", ")}`,
    parse: (text: string) => {
      const names = [...new Set(list(text))];
      return names.length > 0 && names.every(name => [...HS, ...ASYMMETRIC].includes(name))
        ? names
        : undefined;
    },
  },
  list: {
    expects: "a comma-separated list",
    parse: (text: string) => (list(text).length > 0 ? list(text) : undefined),
  },
  domains: { expects: "a comma-separated list of domains like acme.com", parse: domains },
  name: {
    expects: "1 to 255 characters, one of which shows",
    parse: (text: string) => (isVisible(text) ? shorter(text.normalize("NFC")) : undefined),
  },
  text: { expects: "1 to 255 characters", parse: shorter },
  slug: {
    expects: "1 to 255 lowercase letters, digits and hyphens",
    parse: (text: string) => (isSlug(text) ? text : undefined),
  },
  webAddress: {
    expects: "an http or https address without a query",
    parse: (text: string) => {
      const parsed = webUrl(text);
      return parsed && !parsed.search ? parsed.href.replace(/[?#/]+$/, "") : undefined;
    },
  },
  origins: {
    expects:
      "a comma-separated list of origins like https://app.example or capacitor://localhost, each without a path and without a wildcard",
    parse: (text: string) => {
      const found = list(text);
      return found.length > 0 && found.every(isOrigin) ? found : undefined;
    },
  },
  precedence: {
    expects: "claims or header",
    parse: (text: string) =>
      /^(claims|header)$/i.exec(text)?.[0].toLowerCase() as "claims" | "header" | undefined,
  },
  proxies: {
    expects: "a comma-separated list of IP addresses, and of networks like 10.0.0.0/8",
    parse: (text: string) => {
      const found = list(text);
      return found.length > 0 && found.every(isNetwork) ? found : undefined;
    },
  },
  level: {
    expects: "trace, debug, info, warn, error, fatal or silent",
    parse: (text: string) => /^(trace|debug|info|warn|error|fatal|silent)$/i.exec(text)?.[0].toLowerCase(),
  },
} satisfies Record<string, { expects: string; parse: (text: string) => unknown }>;
