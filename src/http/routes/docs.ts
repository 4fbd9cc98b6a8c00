import swaggerUi from "@fastify/swagger-ui";
import type { FastifyError, FastifyInstance } from "fastify";
import type { Config } from "../../config/config.ts";
import { sendError } from "../error-handler.ts";

/** All files come from this service. No `upgrade-insecure-requests`: the service may run on plain HTTP in a private network. */
const CSP =
  "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * Changes to the page of Swagger UI: readable response headers in its dark mode, and darker colours in its light one (4.5 : 1).
 * Hidden are the bar that loads other documents, the list of servers, which has one, and the column of links, which is always
 * empty and makes an operation wider than a phone.
 */
const CSS = `
.swagger-ui .topbar, html.dark-mode .swagger-ui .topbar { background: none; border: 0; padding: 0; position: absolute; right: 1rem; top: 1rem; z-index: 1; }
.swagger-ui .topbar .topbar-wrapper > :not(.dark-mode-toggle) { display: none; }
html:not(.dark-mode) .swagger-ui .topbar .dark-mode-toggle button svg { fill: #3b4151; }
.swagger-ui .info { margin: 2rem 3rem 1rem 0; }
.swagger-ui .scheme-container { padding: 1rem 0; }
.swagger-ui .response-col_links { display: none; }
html.dark-mode .swagger-ui table.headers td { color: #e4e6e6; }
.swagger-ui .scheme-container .schemes .schemes-server-container { display: none; }
html:not(.dark-mode) .swagger-ui {
  & .link, & .info a, & .info .url { color: #1f5f99; }
  & .btn.cancel, & .parameter__name.required::after, & .parameter__name.required span { color: #b3261e; }
  & .btn.authorize, & .response-control-media-type__accept-message { color: #1c7447; }
  & .parameter__in { color: #59636e; }
  & .info .title small { background: #59636e; }
  & .info .title .version-stamp { background: #3d6b00; }
  & .info .title .version-stamp pre { background: none; }
  & .opblock-get .opblock-summary-method, & .btn.execute { background: #1f5f99; border-color: #1f5f99; }
  & .opblock-post .opblock-summary-method { background: #1c7447; }
  & .opblock-put .opblock-summary-method { background: #8a5a00; }
  & .opblock-patch .opblock-summary-method { background: #0f6b63; }
  & .opblock-delete .opblock-summary-method { background: #b3261e; }
}
`;

const VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1">';

/** Pages to read and try the API. */
export default async function docs(app: FastifyInstance, { config }: { config: Config }): Promise<void> {
  const prefix = config.publicUrl ? new URL(config.publicUrl).pathname.replace(/\/$/, "") : "";
  // @fastify/static answers 403 to a path outside its folder: here that is 404.
  app.setErrorHandler<FastifyError>((error, request, reply) =>
    sendError(error.statusCode === 403 ? { statusCode: 404 } : error, request, reply),
  );
  // Without a viewport a phone shows the page as wide as on a desktop, and small.
  app.addHook("onSend", async (_request, reply, payload) => {
    const location = reply.getHeader("location");
    if (typeof location === "string") reply.header("location", prefix + location);
    return typeof payload === "string" ? payload.replace("<head>", `<head>\n${VIEWPORT}`) : payload;
  });
  await app.register(swaggerUi, {
    routePrefix: "/docs",
    ...(prefix && { indexPrefix: prefix }),
    staticCSP: CSP,
    theme: { title: "Tenant management API", css: [{ filename: "docs.css", content: CSS }] },
    uiConfig: {
      // It would leave the token in the browser, for every page of this origin.
      persistAuthorization: false,
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
