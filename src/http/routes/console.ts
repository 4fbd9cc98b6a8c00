import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import Negotiator from "negotiator";
import type { Config } from "../../config/config.ts";
import { VERSION } from "../../config/version.ts";
import type { ConsoleSettings } from "../../values/console-settings.ts";
import { type Bundle, readBundle } from "../console-bundle.ts";
import { isKnown } from "../etags.ts";

/** Short links of the demo: a token for whoever has the code. */
export type Links = ReadonlyMap<string, () => string>;

interface File {
  name: string;
  type: string;
  content: Buffer;
  compressed: Buffer;
}

const TYPES = { script: "text/javascript", style: "text/css", icon: "image/svg+xml" };

/** The console: a page, its script, its style. All it does it does through the API, with the token of its reader. */
export default async function consolePage(
  app: FastifyInstance,
  { config, links }: { config: Config; links?: Links | undefined },
): Promise<void> {
  const prefix = config.publicUrl ? new URL(config.publicUrl).pathname.replace(/\/$/, "") : "";
  const csp = policyOf(config);
  // At the first request: most tests, and instances that only machines use, need none of it.
  let files: Promise<File[]> | undefined;
  const filesOf = () => {
    files ??= readBundle()
      .then(bundle => toFiles(bundle, config, app.hasProduct))
      .catch(error => {
        files = undefined;
        throw error;
      });
    return files;
  };

  // Without a public address relative to the request: a proxy may have taken a prefix away.
  const home = prefix ? `${prefix}/console/` : "console/";
  const open = (reply: FastifyReply) => reply.header("cache-control", "no-cache").redirect(home, 302);
  const unlisted = { schema: { hide: true } };
  app.get("/", unlisted, (_request, reply) => open(reply));
  app.get("/console", unlisted, (_request, reply) => open(reply));
  app.get("/console/", unlisted, async (request, reply) => {
    const [page] = await filesOf();
    reply.header("content-security-policy", csp).header("referrer-policy", "no-referrer");
    reply.header("cross-origin-opener-policy", "same-origin");
    return sendFile(request, reply, page!, "no-cache");
  });
  if (links)
    app.get<{ Params: { code: string } }>("/demo/:code", unlisted, (request, reply) => {
      const token = links.get(request.params.code)?.();
      if (token === undefined) return reply.callNotFound();
      // After the #: browsers send that part neither to a server nor in a Referer.
      return reply.header("cache-control", "no-store").redirect(`../console/#token=${token}`, 302);
    });
  app.get<{ Params: { name: string } }>("/console/:name", unlisted, async (request, reply) => {
    const file = (await filesOf()).slice(1).find(({ name }) => name === request.params.name);
    if (!file) return reply.callNotFound();
    // Its name has its hash.
    return sendFile(request, reply, file, "public, max-age=31536000, immutable");
  });
}

/** Scripts and styles of this service only; requests to it, and to the provider of the sign-in. */
function policyOf({ console: { clientId }, jwt: { issuer } }: Config): string {
  const provider = clientId && issuer ? ` ${new URL(issuer).origin}` : "";
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    `connect-src 'self'${provider}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

/** The page first, with the names of the others and what it must know of the configuration. */
async function toFiles(
  { page, script, style, icon }: Bundle,
  config: Config,
  sampleData: boolean,
): Promise<File[]> {
  const { clientId, scope } = config.console;
  const { issuer, audience } = config.jwt;
  const settings: ConsoleSettings = {
    version: VERSION,
    multiTenant: config.multiTenantMode,
    defaultTenant: config.defaultTenant.slug,
    deletionGraceDays: config.deletionGraceDays,
    sampleData,
    oidc: clientId && issuer ? { issuer, clientId, scope, audience: audience?.[0] ?? null } : null,
  };
  const others = Object.entries({ script, style, icon }).map(([kind, text]) => ({
    kind,
    text,
    name: `${hashOf(text).slice(0, 16)}.${{ script: "js", style: "css", icon: "svg" }[kind]}`,
    type: TYPES[kind as keyof typeof TYPES],
  }));
  const values: Record<string, string> = {
    settings: JSON.stringify(settings),
    ...Object.fromEntries(others.map(({ kind, name }) => [kind, name])),
  };
  const text = page.replace(/\{\{(\w+)\}\}/g, (_all, key: string) => escaped(values[key]!));
  return Promise.all(
    [{ name: "", type: "text/html", text }, ...others].map(async ({ name, type, text }) => {
      const content = Buffer.from(text);
      return { name, type, content, compressed: await promisify(gzip)(content, { level: 9 }) };
    }),
  );
}

const escaped = (text: string) => text.replace(/[&<>"]/g, one => `&#${one.charCodeAt(0)};`);
const hashOf = (content: string | Buffer) => createHash("sha256").update(content).digest("hex");

function sendFile(request: FastifyRequest, reply: FastifyReply, file: File, caching: string): FastifyReply {
  const etag = `"${hashOf(file.content).slice(0, 32)}"`;
  const zipped = new Negotiator(request).encoding(["gzip", "identity"]) === "gzip";
  const vary = [reply.getHeader("vary") ?? [], "Accept-Encoding"].flat().join(", ");
  reply.header("cache-control", caching).header("vary", vary).header("etag", etag);
  if (isKnown(request, etag)) return reply.code(304).send();
  if (zipped) reply.header("content-encoding", "gzip");
  return reply
    .header("content-type", `${file.type}; charset=utf-8`)
    .header("x-content-type-options", "nosniff")
    .send(zipped ? file.compressed : file.content);
}
