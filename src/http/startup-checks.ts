import type { FastifyInstance } from "fastify";
import fp from "fastify-plugin";
import type { Config } from "../config/config.ts";
import { explainDatabase } from "../database/connection-errors.ts";
import { callFunction, contextFaults, loginFaults } from "../database/database.ts";
import { codeOf } from "../errors/errors.ts";
import { hasState } from "../errors/sqlstates.ts";
import { DefaultSlugTaken, StartupError } from "../errors/startup-error.ts";
import { SAMPLE_PRODUCT } from "../migrate/product.ts";
import { RELEASE } from "../migrate/release.ts";

/** Refuses to start on a login that could look past row-level security, or on a schema that is behind this release. */
export default fp(
  async (app: FastifyInstance, { config }: { config: Config }) => {
    app.decorate("defaultTenantSlug", config.defaultTenant.slug);
    // Routes can be added before the checks only. Where nobody answers, the checks would not find anybody either.
    const product = await hasSampleProduct(app).catch(error => error as Error);
    app.decorate("hasProduct", product !== false);
    app.addHook("onReady", async () => {
      const explain = (error: unknown) => {
        throw explainDatabase(error, config.databaseUrl!, "SERVICE_DATABASE_URL");
      };
      if (product instanceof Error) explain(product);
      const faults = await checkDatabase(app).catch(explain);
      if (faults.length > 0) throw new StartupError(faults.join("\n"));
      const { slug, name } = config.defaultTenant;
      const mode = { multi_tenant: config.multiTenantMode };
      await callFunction(app, "ensure_default_tenant", { slug, name, ...mode }).catch(error => {
        if (codeOf(error) !== "TM409") throw error;
        throw new DefaultSlugTaken(
          `The default tenant cannot be made: another tenant has the slug ${slug}. Set SERVICE_DEFAULT_TENANT_SLUG to one that is free`,
        );
      });
    });
  },
  { name: "startup", dependencies: ["database"] },
);

async function hasSampleProduct(app: FastifyInstance): Promise<boolean> {
  const { rows } = await app.pg.query<{ there: boolean }>(`select ${SAMPLE_PRODUCT} as there`);
  return rows[0]!.there;
}

/** Why the service must not run on this login or schema: one sentence a fault, none when all is well. */
async function checkDatabase(app: FastifyInstance): Promise<string[]> {
  const { replica } = app.database.pools;
  // A replica that is away when the service starts is no reason not to start; the primary answers.
  const reading = await (replica && loginFaults(replica))?.catch(err => {
    app.log.warn({ err }, "the read replica cannot be reached");
  });
  app.database.replicaChecked = reading !== undefined;
  const login = await loginFaults(app.pg.pool).catch(async error => {
    // No such schema, no such function, or no right to look: all granted by the first migration. Without one to connect the next fails too.
    if (!hasState(error, "invalid_schema_name", "undefined_function", "insufficient_privilege")) throw error;
    const { rows } = await app.pg.query<{ name: string; there: boolean }>(
      `select current_database() as name, exists (select from pg_catalog.pg_proc where proname = 'get_login_faults') as there`,
    );
    const { name, there } = rows[0]!;
    throw new StartupError(
      there
        ? "SERVICE_DATABASE_URL takes the login tms_service; this one may not execute the schema's functions"
        : `The schema is missing in the database ${name}, and this build needs release ${RELEASE.number}: run npm run migrate`,
    );
  });
  const found = Number((await callFunction(app, "get_release", {})).body);
  // Functions keep what the build before calls: it works on, and may start again, until the next one is deployed.
  const behind = found < RELEASE.number;
  if (found > RELEASE.number)
    app.log.warn(
      { installed: found, build: RELEASE.number },
      "the database has a newer release than this build",
    );
  const context = behind ? [] : await contextFaults(app);
  // A superuser may do everything else as well: one sentence says it.
  const worst = "it is a superuser";
  return [
    ...(login.includes(worst) ? [worst] : login).map(
      fault => `The service's database login is not safe to use: ${fault}`,
    ),
    ...(reading ?? []).map(fault => `The login of SERVICE_DATABASE_READ_URL is not safe to use: ${fault}`),
    ...(behind
      ? [
          `The database has ${found ? `release ${found}` : "no release installed"}, and this build needs release ${RELEASE.number}: run npm run migrate`,
        ]
      : []),
    ...context,
  ];
}

declare module "fastify" {
  interface FastifyInstance {
    defaultTenantSlug: string;
    /** The database has the product's tables and functions. */
    hasProduct: boolean;
  }
}
