import type { FastifyInstance } from "fastify";
import { refusal } from "../../errors/problems.ts";
import { getHealth, getReady } from "../operations.ts";

/** For load balancers and monitoring: no token, no tenant. */
export default async function health(app: FastifyInstance): Promise<void> {
  app.get("/health", getHealth, async () => ({ status: "ok" }));

  app.get("/ready", getReady, async (_request, reply) => {
    const { known, checks: asked } = await app.readiness();
    const found = Object.entries(asked);
    const checks = Object.fromEntries(
      found.map(([name, faults]) => [name, faults === null ? "unknown" : faults.join("; ") || "ok"]),
    );
    const last_audit = known?.audit ?? null;
    const broken = found.flatMap(([name, faults]) => (faults?.length ? `${name}: ${checks[name]}` : []));
    if (broken.length === 0)
      return reply.header("cache-control", "no-store").send({ status: "ready", checks, last_audit });
    throw refusal("not_ready", {
      detail: broken.join(". "),
      extra: { status: "not ready", checks, last_audit },
    });
  });
}
