import Fastify, { type FastifyInstance } from "fastify";
import type { Config } from "../config/config.ts";
import database from "../database/database.ts";
import auth from "../identity/auth.ts";
import keySet from "../identity/jwks.ts";
import tenant from "../identity/tenant.ts";
import type { LogStream } from "../observability/log.ts";
import tracing from "../observability/tracing.ts";
import cors from "./cors.ts";
import { sendError } from "./error-handler.ts";
import eventStream from "./event-stream.ts";
import body from "./json-body.ts";
import loadLimit, { callers } from "./load-limit.ts";
import methods from "./methods.ts";
import metrics from "./metrics.ts";
import openapi from "./openapi.ts";
import type { Product } from "./product.ts";
import protocol from "./protocol.ts";
import rateLimit from "./rate-limit.ts";
import readiness from "./readiness.ts";
import consolePage, { type Links } from "./routes/console.ts";
import docs from "./routes/docs.ts";
import graphql from "./routes/graphql.ts";
import health from "./routes/health.ts";
import invitations from "./routes/invitations.ts";
import keys from "./routes/keys.ts";
import members from "./routes/members.ts";
import setup from "./routes/setup.ts";
import tenants from "./routes/tenants.ts";
import { httpOptions } from "./server-options.ts";
import { loadSettingsSchema } from "./settings-schema.ts";
import startup from "./startup-checks.ts";
import strangers from "./strangers.ts";
import validation from "./validation.ts";

/** The map of the service: a request passes these in this order. */
export async function buildApp(
  config: Config,
  product: Product,
  logStream?: LogStream,
  links?: Links,
): Promise<FastifyInstance> {
  const settingsSchema = loadSettingsSchema(config.settingsSchema);
  await settingsSchema.open();
  // Refusals of the router (bad escapes, overlong parts) get the same body as all others.
  const app = Fastify({ ...httpOptions(config, logStream), frameworkErrors: sendError });
  app.setErrorHandler(sendError);
  app.addHook("onClose", () => settingsSchema.close());

  await app.register(cors, { config });
  await app.register(loadLimit, { config });
  await app.register(eventStream);
  await app.register(strangers);
  await app.register(protocol);
  await app.register(tracing);
  await app.register(methods);
  await app.register(body);
  await app.register(validation);
  await app.register(openapi, { config, withoutProduct: product.withoutIt });
  await app.register(database, { config });
  await app.register(startup, { config });
  await app.register(keySet, { config });
  await app.register(readiness);
  await app.register(metrics, { config });
  await app.register(health);
  await app.register(docs, { config });
  await app.register(consolePage, { config, links });

  // Routes below need a token, are admitted, count against a rate limit, and need a tenant: in this order.
  await app.register(async api => {
    await api.register(auth, { config });
    await api.register(callers);
    await api.register(rateLimit);
    await api.register(tenant, { config });
    await api.register(setup, { prefix: "/api/setup", config, settingsSchema });
    await api.register(tenants, { prefix: "/api/tenants", config, settingsSchema });
    await api.register(members, { prefix: "/api/tenants/members", config });
    await api.register(invitations, { prefix: "/api/tenants/invitations", config });
    await api.register(keys, { prefix: "/api/tenants/keys" });
    if (app.hasProduct) await api.register(product.routes);
    await api.register(graphql, { product: app.hasProduct ? product.graphql : undefined });
  });
  app.refuseOtherMethods();
  return app;
}
