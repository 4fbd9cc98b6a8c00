import { isUtf8 } from "node:buffer";
import { createRequire } from "node:module";
import { domainToUnicode } from "node:url";
import type { FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import { parse } from "tldts";
import type { Config } from "../config/config.ts";
import { refusal } from "../errors/problems.ts";
import { asciiDomain } from "../values/domain.ts";
import { splitEmail } from "../values/email.ts";
import { type NamedTenant, named, type RequestTenant } from "../values/request-tenant.ts";
import { isSlug, LONGEST_SLUG } from "../values/slug.ts";
import { type Claims, claimValue, isVerified } from "./claims.ts";

/** The settings that decide how a request names its tenant. */
export type Naming = Pick<Config, "tenantPrecedence"> & { jwt: Pick<Config["jwt"], "tenantClaim"> };

declare module "fastify" {
  interface FastifyRequest {
    tenant: RequestTenant;
  }
}

/** The first that counts names the tenant. */
const CLAIMS = [
  ["org", "organization"],
  ["organization", "organization"],
  ["org_slug", "organization"],
  ["org_name", "organization"],
  ["namespace", "namespace"],
  ["group", "namespace"],
  ["team", "namespace"],
  ["workspace", "namespace"],
] as const;

/** Mailboxes and default mail domains that strangers share, and that the package does not list. */
const ALSO_SHARED =
  "fastmail.com tutanota.com tutanota.de tutamail.com tuta.com tuta.io keemail.me duck.com posteo.de posteo.net " +
  "startmail.com disroot.org riseup.net sohu.com 139.com 189.cn zoho.eu zohomail.com mozmail.com onmicrosoft.com " +
  "kakao.com icloud.com.cn wo.cn internet.ru inbox.lt mail.kz mail.bg mail.dk mail.de tlen.pl ziggo.nl xs4all.nl mailfence.com " +
  "users.noreply.github.com simplelogin.com simplelogin.co aleeas.com slmail.me anonaddy.me anonaddy.com addy.io passmail.net passinbox.com " +
  "live.se live.in msn.cn zoho.in systemli.org autistici.org inventati.org airmail.cc kolabnow.com " +
  "nifty.com biglobe.ne.jp plala.or.jp so-net.ne.jp dion.ne.jp ymobile.ne.jp hinet.net empal.com 263.net " +
  "mail.ua meta.ua bigmir.net tut.by narod.ru myrambler.ru op.pl vp.pl azet.sk zoznam.sk inbox.ee citromail.hu indamail.hu net.hr mynet.com " +
  "volny.cz atlas.cz chello.at aon.at hispeed.ch comhem.se online.no siol.net otenet.gr email.ua skiff.com";
/** Under every suffix: hotmail.se and yandex.kz are mailboxes too. */
const SHARED_LABELS = new Set(["gmx", "googlemail", "hotmail", "outlook", "yahoo", "yandex"]);
const SHARED = new Set([
  ...(createRequire(import.meta.url)("email-providers/all.json") as string[]).map(
    domain => (/[^a-z\d.-]/.test(domain) ? asciiDomain(domain) : domain), // 8,757 of 8,760 are as they must be
  ),
  ...ALSO_SHARED.split(" "),
]);

/** `Müller & Söhne` is `muller-sohne`. Empty when nothing of the text can stand in a slug. */
export function slugify(text: string): string {
  const plain = text
    .normalize("NFKD")
    .replace(/\p{M}+/gu, "")
    .toLowerCase();
  const hyphened = plain.replace(/[^a-z0-9]+/g, "-").replace(/^-/, "");
  return hyphened.slice(0, LONGEST_SLUG).replace(/-$/, "");
}

const filled = (value: unknown): value is string => typeof value === "string" && value !== "";

/** The text of a claim that counts: a non-empty string, or an object's `slug`, else `id`, else `name`. */
function textOf(value: unknown): string | undefined {
  if (filled(value)) return value;
  if (typeof value !== "object" || value === null) return undefined;
  const { slug, id, name } = value as Claims;
  return [slug, id, name].find(filled);
}

/** Empty when the claim does not count, or has no character of a slug. */
function slugOf(value: unknown): string {
  const text = textOf(value);
  return text === undefined ? "" : slugify(text);
}

/** The label that an organization registered its domain under: `ann@mail.acme.co.uk` gives `acme`. */
function fromEmail(claims: Claims): string {
  const { email } = claims;
  if (!filled(email) || isVerified(claims, "email") === false) return "";
  const domain = asciiDomain(splitEmail(email)?.domain ?? "");
  if (!domain) return "";
  // Private suffixes too: the owners of two pages at github.io do not share a tenant.
  const options = { allowPrivateDomains: true, extractHostname: false };
  const { domain: registrable, domainWithoutSuffix: label } = parse(domain, options);
  if (!registrable || !label || SHARED.has(domain) || SHARED.has(registrable) || SHARED_LABELS.has(label))
    return "";
  return slugify(domainToUnicode(label));
}

function fromClaims(claims: Claims, tenantClaim: string | null): NamedTenant | undefined {
  if (tenantClaim !== null && tenantClaim !== "tenant" && isVerified(claims, tenantClaim) !== false) {
    const slug = slugOf(claimValue(claims, tenantClaim));
    if (slug) return named(slug, "configured_claim");
  }
  const tenant = textOf(claims.tenant);
  if (tenant !== undefined) {
    // A slug that no tenant can have has no members: the same answer as for one that has others.
    if (!isSlug(tenant)) throw refusal("tenant_claim_malformed");
    return named(tenant, tenantClaim === "tenant" ? "configured_claim" : "tenant");
  }
  for (const [name, source] of CLAIMS) {
    const slug = slugOf(claims[name]);
    if (slug) return named(slug, source);
  }
  const slug = fromEmail(claims);
  return slug ? named(slug, "email") : undefined;
}

/**
 * The tenant that a request names, in multi-tenant mode. The header's format is checked first, whatever wins.
 * @throws Problem 400 (header missing where needed, or malformed), 403 (a `tenant` claim that is no slug)
 */
export function resolveTenant(
  claims: Claims,
  header: string | string[] | undefined,
  { jwt: { tenantClaim }, tenantPrecedence }: Naming,
): NamedTenant {
  const slug = slugInHeader(header);
  const given = slug === undefined ? undefined : named(slug, "header");
  const headerWins = given && tenantPrecedence === "header";
  const found = headerWins ? given : (fromClaims(claims, tenantClaim) ?? given);
  if (found) return found;
  throw refusal("tenant_missing", { extra: { multi_tenant_mode: true } });
}

/** @throws Problem 400 (malformed) */
function slugInHeader(header: string | string[] | undefined): string | undefined {
  const given = Array.isArray(header) ? header.join(", ") : header;
  if (given !== undefined && (Array.isArray(header) || !isSlug(given)))
    throw refusal("tenant_header_malformed", { extra: { provided_tenant: asSent(given) } });
  return given;
}

/** Node.js decodes headers as Latin-1; a client may have sent UTF-8. */
function asSent(header: string): string {
  const bytes = Buffer.from(header, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : header;
}

const DEFAULT = Object.freeze({ kind: "default", source: "single_tenant" } as const);
const OF_KEY = Object.freeze({ kind: "of_key", source: "key" } as const);

/** Sets `request.tenant`. Registered after `auth`, whose claims it reads. */
export default fp(
  async (app: FastifyInstance, { config }: { config: Config }) => {
    app.decorateRequest("tenant");
    app.addHook("onRequest", (request, _reply, done) => {
      if (!config.multiTenantMode) {
        request.tenant = DEFAULT;
        done();
        return;
      }
      const header = request.headers["x-tenant"];
      if (request.identity.key) {
        // The database compares it with the key's tenant, and says which one that is.
        const slug = slugInHeader(header);
        request.tenant = slug === undefined ? OF_KEY : named(slug, "key");
        done();
        return;
      }
      const found = resolveTenant(request.identity.claims, header, config);
      if (header !== undefined && header !== found.slug)
        request.log.debug(
          { tenant_slug: found.slug, header, source: found.source },
          "the token's tenant wins over X-Tenant",
        );
      request.tenant = found;
      done();
    });
  },
  { name: "tenant", fastify: "5.x", dependencies: ["auth"] },
);
