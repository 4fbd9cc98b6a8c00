import type { FastifyInstance } from "fastify";
import { getHealth } from "../operations.ts";

export default async function health(app: FastifyInstance): Promise<void> {
  app.get("/health", { schema: getHealth }, async () => ({ status: "ok" }));
}
