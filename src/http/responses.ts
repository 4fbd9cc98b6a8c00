import type { FastifyReply, FastifyRequest } from "fastify";
import type { Row } from "../database/database.ts";
import { isKnown } from "./etags.ts";

/** Shared caches keep nothing; a client may keep a response, but must revalidate it. */
const CACHING = "private, no-cache";

/** Sends the JSON that the database made, unparsed. */
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

/** 201 with a secret that no later answer shows: nothing on the way may keep it. */
export const sendSecret = (reply: FastifyReply, body: object): FastifyReply =>
  reply
    .code(201)
    .header("content-type", "application/json; charset=utf-8")
    .header("cache-control", "no-store")
    .header("x-content-type-options", "nosniff")
    .send(JSON.stringify(body));

/** 304 when the client has this version. */
export function sendUnlessKnown(request: FastifyRequest, reply: FastifyReply, row: Row): FastifyReply {
  const { etag } = row;
  if (etag === undefined || !isKnown(request, etag)) return sendRow(reply, row);
  return reply.code(304).header("etag", etag).header("cache-control", CACHING).send();
}

/** A page of a list; the `Link` header leads to the next page (RFC 8288). */
export function sendPage(reply: FastifyReply, row: Row, parameter = "cursor"): FastifyReply {
  if (row.next_cursor) {
    const { url } = reply.request;
    const [path] = url.split("?", 1);
    const parameters = new URLSearchParams(url.slice(path!.length));
    parameters.set(parameter, row.next_cursor);
    reply.header("link", `<${reply.server.publicUrl}${path}?${parameters.toString()}>; rel="next"`);
  }
  return sendRow(reply, row);
}

/** 201 names what was made. */
export const located = (reply: FastifyReply, path: string): FastifyReply =>
  reply.header("location", reply.server.publicUrl + path);

/** An id as it was sent, except NUL, which the Postgres protocol cannot carry. An id with either character names nothing. */
export const sendable = (id: string) => id.replaceAll("\0", "\uFFFD");

/** The tenant in the address of an operator's request. */
export const tenantOf = ({ params }: { params: { tenant_id: string } }) => ({
  tenant_id: sendable(params.tenant_id),
});
