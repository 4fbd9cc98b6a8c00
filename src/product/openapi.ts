import type { Document } from "../http/openapi.ts";

/** What operations of the core say of the sample product, and what they say without it. */
const WORDS: [string, string][] = [
  ["Board memberships stay. ", ""],
  ["`tenant`, `membership` and `boards`", "`tenant` and `membership`"],
  ["app.boards", "app.users"],
  ["Boards for the design team", "Accounts for the design team"],
  [
    "query ($limit: Int!) { boards(limit: $limit) { title } }",
    "query ($all: Boolean!) { tenant { name slug @include(if: $all) } }",
  ],
];

export function withoutBoards(document: Document): Document {
  return JSON.parse(JSON.stringify(document), (key, value) => {
    if (typeof value === "string")
      return WORDS.reduce((text, [said, instead]) => text.replaceAll(said, instead), value);
    if (key === "tags") return value.filter((tag: { name?: string }) => tag.name !== "Boards");
    if (key === "variables" && value.limit) return { all: true }; // of the query above
    return value;
  }) as Document;
}
