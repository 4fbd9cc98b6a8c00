import type { FastifyInstance } from "fastify";
import { Problem } from "../../errors/errors.ts";
import { getHealth, getReady } from "../operations.ts";

/** For machines that watch the service: no token, no tenant. */
export default async function health(app: FastifyInstance): Promise<void> {
  app.get("/health", { config: { probe: true }, schema: getHealth }, async () => ({ status: "ok" }));

  app.get("/ready", { config: { probe: true }, schema: getReady }, async (_request, reply) => {
    const { known, checks: asked } = await app.readiness();
    const found = Object.entries(asked);
    const checks = Object.fromEntries(
      found.map(([name, faults]) => [name, faults === null ? "unknown" : faults.join("; ") || "ok"]),
    );
    const last_audit = known?.audit ?? null;
    const broken = found.flatMap(([name, faults]) => (faults?.length ? `${name}: ${checks[name]}` : []));
    if (broken.length === 0)
      return reply.header("cache-control", "no-store").send({ status: "ready", checks, last_audit });
    throw new Problem(503, "Service unavailable", broken.join(". "), {
      extra: { status: "not ready", checks, last_audit },
      reason: "not_ready",
    });
  });
}
