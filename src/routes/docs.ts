import swaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance } from "fastify";

/** Everything comes from here. Without `upgrade-insecure-requests`: a service on plain http in a private network has pages too. */
const CSP =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Pages to read and try the API. */
export default async function docs(app: FastifyInstance): Promise<void> {
  await app.register(swaggerUi, {
    routePrefix: "/docs",
    staticCSP: CSP,
    theme: { title: "Tenant management API" },
    uiConfig: {
      persistAuthorization: true,
      tryItOutEnabled: true,
      displayOperationId: false,
      displayRequestDuration: true,
      docExpansion: "list",
      defaultModelsExpandDepth: 0,
      defaultModelRendering: "example",
      filter: false,
      showExtensions: false,
    },
  });
}
