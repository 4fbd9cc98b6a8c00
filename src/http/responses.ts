import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Row } from "../database/database.ts";

/** Shared caches keep nothing; a client may keep an answer, and asks before it reuses it. */
export const CACHING = "private, no-cache";

/** Sends what the database made, unparsed. */
export function sendRow(
  reply: FastifyReply,
  row: Row,
  status = 200,
  type = "application/json; charset=utf-8",
): FastifyReply {
  if (row.etag) reply.header("etag", row.etag);
  return reply
    .code(status)
    .header("content-type", type)
    .header("cache-control", CACHING)
    .header("x-content-type-options", "nosniff")
    .send(row.body);
}

/** A page of a list; where more follows, the `Link` header says where (RFC 8288). */
export function sendPage(request: FastifyRequest, reply: FastifyReply, row: Row): FastifyReply {
  if (row.next_cursor) {
    const [path] = request.url.split("?", 1);
    const parameters = new URLSearchParams(request.url.slice(path!.length));
    parameters.set("cursor", row.next_cursor);
    reply.header("link", `<${path}?${parameters.toString()}>; rel="next"`);
  }
  return sendRow(reply, row);
}

/** As `app.etag()` makes it, of the same text: where the function that made the tenant's representation returns it alone. */
export const etagOf = (body: string): string =>
  `"${createHash("sha256").update(body).digest("hex").slice(0, 32)}"`;

/** An id as it was sent, but for what the wire to Postgres cannot carry: that names nothing either way. */
export const sendable = (id: string) => id.replaceAll("\0", "\uFFFD");

/** A longer text holds more than 255 characters however it is spelled: validation refuses it, and it is not worked on before. */
const LONGEST_NAME = 2_048;

/** One spelling of a name: what looks equal is stored equal, and lengths count what is stored. */
export async function normalizeNames({ body }: FastifyRequest): Promise<void> {
  if (typeof body !== "object" || body === null) return;
  const fields = body as Record<string, unknown>;
  for (const field of ["name", "organization_name", "admin_name", "display_name"]) {
    const text = fields[field];
    if (typeof text === "string" && text.length <= LONGEST_NAME) fields[field] = text.normalize("NFC");
  }
}
