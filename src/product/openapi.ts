import type { Document } from "../http/openapi.ts";

/** What operations of the core say of the sample product, and what they say without it. JSON text. */
const WORDS: [string, string][] = [
  ["Board memberships stay. ", ""],
  ["`tenant`, `membership` and `boards`", "`tenant` and `membership`"],
  ['"app.boards"', '"app.users"'],
  ["Boards for the design team", "Accounts for the design team"],
  [
    "query ($limit: Int!) { boards(limit: $limit) { title } }",
    "query ($all: Boolean!) { tenant { name slug @include(if: $all) } }",
  ],
  ['{"limit":10}', '{"all":true}'],
  ['{"name":"Boards","description":"The boards of a tenant"},', ""],
];

export function withoutBoards(document: Document): Document {
  const text = WORDS.reduce(
    (json, [said, instead]) => json.replaceAll(said, instead),
    JSON.stringify(document),
  );
  return JSON.parse(text) as Document;
}
