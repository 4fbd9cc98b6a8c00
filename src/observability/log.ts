import { type FastifyReply, type FastifyRequest, type FastifyServerOptions, LogController } from "fastify";
import boom from "sonic-boom";
import type { Config } from "../config/config.ts";
import { slugOf } from "../values/request-tenant.ts";

/** Receives the log lines instead of standard output. */
export type LogStream = { write(line: string): void };

/** Like pino's own destination, which ends the service when the disk is full. This one buffers up to `maxLength` and drops the rest. */
const standardOutput = new boom.SonicBoom({ fd: 1, sync: true, maxLength: 1024 * 1024 }).on(
  "error",
  () => {},
);

/** Fields of the log line of a finished request; times in milliseconds. */
export const lineOf = ({ request: { method, url, ip }, elapsedTime }: FastifyReply) => ({
  method,
  url,
  ms: Math.round(elapsedTime * 1e3) / 1e3,
  ip,
});

/** One line for each finished request, on the logger that carries its tenant; its start is logged at level debug. */
class OneLine extends LogController {
  constructor() {
    super({ requestIdLogLabel: "request_id" });
  }
  override incomingRequest(request: FastifyRequest): void {
    request.log.debug({ method: request.method, url: request.url }, "incoming request");
  }
  override requestCompleted(
    error: Error | null | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): void {
    const line = { status: reply.statusCode, ...lineOf(reply) };
    if (error) request.log.error({ ...line, err: error }, "request errored");
    else request.log.info(line, "request completed");
  }
}

/** JSON lines, each with the request's id and, if the request carries a trace, its `trace_id`. */
export function loggerOptions(config: Config, stream: LogStream = standardOutput): FastifyServerOptions {
  return {
    logger: {
      level: config.logLevel,
      hooks: { streamWrite: redactor(config) },
      // If the name does not match the certificate, Node adds the whole certificate to the error: kilobytes for each request.
      redact: { paths: ["err.cert"], remove: true },
      stream,
    },
    logController: new OneLine(),
    childLoggerFactory: (logger, bindings, options, { headers }) => {
      const trace = traceId(headers.traceparent);
      return logger.child(trace === undefined ? bindings : { ...bindings, trace_id: trace }, options);
    },
  };
}

/** A logger whose lines carry the tenant of a resolved request. */
export const tenantLog = (request: FastifyRequest) => request.log.child({ tenant_slug: shownSlug(request) });

/** The slug of a resolved request's tenant; in single-tenant mode the default tenant's. */
export const shownSlug = ({ tenant, server }: FastifyRequest): string =>
  slugOf(tenant) ?? server.defaultTenantSlug;

/** The trace id of a W3C `traceparent` header; undefined if it is invalid. */
export function traceId(header: string | string[] | undefined): string | undefined {
  if (typeof header !== "string") return undefined;
  const [, version, trace, parent] =
    /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-[\da-f]{2}(?:-.*)?$/.exec(header) ?? [];
  return version === "ff" || !trace || /^0+$/.test(trace) || /^0+$/.test(parent!) ? undefined : trace;
}

const quoted = (text: string) => JSON.stringify(text).slice(1, -1);
const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

/** Removes from log lines the service's secrets, tokens of every kind, API keys, and query values whose name looks like a secret's. */
function redactor({
  jwt,
  tenantContextSecret,
  databaseUrl,
  databaseReadUrl,
}: Config): (line: string) => string {
  const passwords = [databaseUrl, databaseReadUrl].flatMap(url => {
    const written = url === null ? "" : new URL(url).password;
    return [written, decodeURIComponent(written)];
  });
  // A shorter password may be part of ordinary words, and is no secret.
  const secrets = [jwt.secret ?? "", tenantContextSecret ?? "", ...passwords]
    .filter(text => text.length >= 8)
    .map(quoted);
  const marks = ["eyJ", "tms_", "tmi_", "earer", "?", "&", ...secrets];
  const pattern = new RegExp(
    [
      ...secrets.map(escaped),
      String.raw`(?<=[Bb]earer(?: |%20|\+))[^\s"\\]+`,
      String.raw`(?<=[?&][^=&"\s]{0,64}(?:token|jwt|secret|passw|auth|api[-_]?key)[^=&"\s]{0,64}=)[^&"\s]+`,
      // API keys and the tokens of invitations.
      String.raw`tm[si]_[\da-f]{8}-[\w-]+`,
      // To the end of the word, token or not: otherwise each `eyJ` inside would begin another scan of the rest.
      String.raw`eyJ[\w-]{6,}(?:\.[\w-]*){0,4}`,
    ].join("|"),
    "gi",
  );
  // Most lines contain none of the marks, and `includes` is far cheaper than the pattern.
  return line => (marks.some(mark => line.includes(mark)) ? line.replace(pattern, "[redacted]") : line);
}
