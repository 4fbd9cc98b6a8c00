import type { FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import type { Config } from "./config.ts";
import { callFunction, checkDatabase } from "./database.ts";
import { SCHEMA_VERSION } from "./migrate/history.ts";
import { StartupError } from "./startup-error.ts";

/** Refuses to start on a login that could look past row level security, or on a schema that is behind this release. */
export default fp(
  async (app: FastifyInstance, { config }: { config: Config }) => {
    app.decorate("operatorRole", config.operator.role);
    app.decorate("defaultTenantSlug", config.defaultTenant.slug);
    app.addHook("onReady", async () => {
      const faults = await checkDatabase(app, SCHEMA_VERSION);
      if (faults.length > 0) throw new StartupError(faults.join("\n"));
      await callFunction(app, "ensure_default_tenant", config.defaultTenant.slug, config.defaultTenant.name);
    });
  },
  { name: "startup", dependencies: ["database"] },
);
