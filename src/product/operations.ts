import { paged, tagged } from "../http/operation.ts";
import { ListPage } from "../http/schemas/tenants.ts";
import { BoardList } from "./schemas.ts";

const work = tagged("Boards", {});

export const listBoards = work("listBoards", "List the boards of the tenant", {
  config: { calls: "list_boards", reads: { short: true } },
  description: "Newest first. The `Link` header leads to the next page.",
  querystring: ListPage,
  response: { 200: BoardList },
  ...paged,
});
