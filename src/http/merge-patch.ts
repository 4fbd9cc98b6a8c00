import type { FastifyError, FastifyInstance } from "fastify";
import { refusal } from "../errors/problems.ts";
import { sendError } from "./error-handler.ts";
import { parseJson } from "./json-body.ts";

export const MERGE_PATCH = "application/merge-patch+json";

const NOT_A_PATCH = refusal("not_a_merge_patch", { headers: { "accept-patch": MERGE_PATCH } });

/** Routes of this instance take a merge patch (RFC 7396), and no other body: what null means depends on the media type. */
export function takeMergePatches(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(MERGE_PATCH, { parseAs: "buffer" }, parseJson);
  app.setErrorHandler<FastifyError>((error, request, reply) =>
    sendError(error.statusCode === 415 ? NOT_A_PATCH : error, request, reply),
  );
}
