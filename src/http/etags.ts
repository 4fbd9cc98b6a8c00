/** Conditional requests (RFC 9110, 13): If-Match and If-None-Match. */
import { hash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import { refusal } from "../errors/problems.ts";

const versionOf = (text: string) => hash("sha256", text, "hex").slice(0, 32);

/** The ETag of one tenant for operators, for functions that return that alone: as `app.etag()` makes it. */
export function etagOf(body: string): string {
  const [, tenant = body, members = ""] = /^(.*),"members_count":(\d+)\}$/s.exec(body) ?? [];
  return `"${versionOf(tenant)}${members && `-${members}`}"`;
}

/** The ETag of a tenant and the caller's membership: its first part is the tenant's version, which If-Match is compared with. */
export function etagOfCurrent(body: string): string {
  // The membership is flat, and a quotation mark in a string has a backslash before it: this is the last one.
  const end = body.lastIndexOf(',"membership":');
  return `"${versionOf(body.slice('{"tenant":'.length, end))}-${versionOf(body.slice(end)).slice(0, 16)}"`;
}

/** The entity tags of a list. A weak one (`W/`) is good enough to skip a body, but not to change a row. */
function tags(header: string, weakToo: boolean): string[] {
  return [...header.matchAll(/(W\/)?("[^"]*")/g)]
    .filter(([, weak]) => weakToo || !weak)
    .map(([, , tag]) => tag!);
}

/** The tags of If-Match; null without the header. @throws Problem 412 for a header without any tag */
export function ifMatch({
  headers: { "if-match": given },
}: Pick<FastifyRequest, "headers">): string[] | null {
  if (given === undefined) return null;
  if (given === "*") return ["*"];
  if (tags(given, true).length === 0) throw refusal("not_an_etag");
  return tags(given, false);
}

/** If-None-Match names this version: the client has it. */
export function isKnown({ headers }: Pick<FastifyRequest, "headers">, etag: string): boolean {
  const known = headers["if-none-match"];
  return known !== undefined && (known === "*" || tags(known, true).includes(etag));
}
