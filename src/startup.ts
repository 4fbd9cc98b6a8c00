import { readdirSync } from "node:fs";
import type { FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import type { Config } from "./config.ts";
import { callFunction, checkDatabase } from "./database.ts";
import { StartupError } from "./startup-error.ts";

/** The last migration this release was built with, by its file name as graphile-migrate keeps it; null before the first. */
export const SCHEMA_VERSION: string | null =
  readdirSync(new URL("../db/committed/", import.meta.url))
    .filter(name => name.endsWith(".sql"))
    .map(name => name.replace(/-.*(?=\.sql$)/, "")) // its record has no slug
    .sort()
    .at(-1) ?? null;

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
