import { type IncomingMessage, STATUS_CODES } from "node:http";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import pg from "pg";
import { BY_STATUS, INTERNAL, reasonOf, toProblem } from "../errors/errors.ts";
import { isExpected } from "../errors/problems.ts";
import { tenantLog } from "../observability/log.ts";

/**
 * The one place that sends an error: `{error, detail, …extra}`; causes go only to the log. A refusal has the same bytes for every
 * cause, so the request's id is in a header, and in the body only of faults of the service.
 */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const found = toProblem(error);
  const log = request.resolved && !request.log.isLevelEnabled("info") ? tenantLog(request) : request.log;
  if (!found) log.error({ err: error }, "unexpected fault");
  else if (found.status >= 500 && !isExpected(found)) log.warn({ err: error }, "a dependency is unavailable");
  // Our own checks run before the database: one is missing.
  else if (found.cause instanceof pg.DatabaseError)
    log.warn({ err: found.cause }, "the database refused a value that no check of the service refuses");
  else log.debug({ reason: reasonOf(found), status: found.status, detail: found.message }, "request refused");
  request.refusal = found ?? INTERNAL;
  if (!request.raw.complete) linger(request.raw);
  const { status, error: title, message, extra, headers } = request.refusal;
  const body = { error: title, detail: message, ...extra, ...(status >= 500 && { request_id: request.id }) };
  if (status === 503) reply.header("retry-after", "1");
  return reply
    .code(status)
    .headers({ ...headers, "x-request-id": request.id })
    .header("content-type", "application/json; charset=utf-8")
    .header("cache-control", "no-store")
    .header("x-content-type-options", "nosniff")
    .send(JSON.stringify(body));
}

/** A client that gets its answer in the middle of its body may go on sending for so long. */
const LINGER_MS = 2_000;

/**
 * For an answer that ends the connection. A connection that is closed with unread bytes is reset, and the client loses the answer
 * (RFC 9112, 9.6). So we end our side first, and read and drop the rest.
 */
function linger(request: IncomingMessage): void {
  const { socket } = request;
  let lingers = false;
  socket.destroySoon = () => {
    if (request.complete) return Socket.prototype.destroySoon.call(socket);
    if (lingers) return;
    lingers = true;
    socket.end();
    const late = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once("close", () => clearTimeout(late));
  };
}

const BY_PARSER: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** Malformed HTTP: there is no request object yet, so this writes the answer to the socket. */
export function malformedRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) return void socket.destroy();
  answerSocket(socket, BY_PARSER[error.code ?? ""] ?? 400);
}

/** Writes an error of `BY_STATUS` to a connection and ends it. */
export function answerSocket(socket: Duplex, status: number): void {
  const [, title, detail] = BY_STATUS[status]!;
  const body = JSON.stringify({ error: title, detail });
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
