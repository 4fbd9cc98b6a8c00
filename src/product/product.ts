/** The sample product: boards and what belongs to them. Another product has the same parts. */
import type { Product } from "../http/product.ts";
import boards from "./boards.ts";
import { boardsInGraphql } from "./graphql.ts";
import { withoutBoards } from "./openapi.ts";

export const sampleProduct: Product = {
  routes: async app => {
    await app.register(boards, { prefix: "/api/boards" });
  },
  graphql: boardsInGraphql,
  withoutIt: withoutBoards,
};
