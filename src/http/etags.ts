/** Conditional requests (RFC 9110, 13): If-Match and If-None-Match. */
import type { FastifyRequest } from "fastify";
import { refusal } from "../errors/problems.ts";

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
