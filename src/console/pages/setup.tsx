import { call } from "../api.ts";
import { Loaded, useLoad } from "../parts/load.tsx";
import { Copy, count, Title } from "../parts/text.tsx";
import { path } from "../router.ts";
import { settings } from "../settings.ts";
import { Health } from "./health.tsx";

export function Setup() {
  const load = useLoad("setup", signal => call("getSetupStatus", undefined, { signal }));
  return (
    <>
      <Title id="setup">Setup</Title>
      <Loaded of={load}>
        {({ body }) => (
          <>
            {body.setup_needed && <p class="note bad">The deployment is not set up: see the health below.</p>}
            <section class="panel" aria-label="Recommendations">
              <h2>
                {body.recommendations.length === 0
                  ? "Nothing to recommend"
                  : count(body.recommendations.length, "recommendation")}
              </h2>
              <ul class="sentences">
                {body.recommendations.map(one => (
                  <li key={one}>
                    <Recommendation>{one}</Recommendation>
                  </li>
                ))}
              </ul>
            </section>
            <div class="grid">
              <section class="panel" aria-label="Deployment">
                <h2>Deployment</h2>
                <dl class="facts">
                  <dt>Mode</dt>
                  <dd>{body.multi_tenant_mode ? "multi-tenant" : "single-tenant"}</dd>
                  <dt>Default tenant</dt>
                  <dd>
                    {body.default_tenant_slug ? (
                      <Copy label="slug">{body.default_tenant_slug}</Copy>
                    ) : (
                      "missing"
                    )}
                  </dd>
                  <dt>Sign-in</dt>
                  <dd>
                    {settings.oidc
                      ? `at ${new URL(settings.oidc.issuer).host}`
                      : "with a token that people paste"}
                  </dd>
                  <dt>Version</dt>
                  <dd>{settings.version}</dd>
                </dl>
                <p class="hint">
                  Each request has to name a tenant, an operator's too. The console names the default tenant
                  for you; any other would do.
                </p>
              </section>
              <Health />
            </div>
          </>
        )}
      </Loaded>
    </>
  );
}

/** The API names a request; here is the page that makes it. */
function Recommendation({ children: text }: { children: string }) {
  const [, words, id] =
    /^(.*): (?:GET|POST) \/api\/setup\/tenants?(?:\?status=pending|\/([0-9a-f-]{36})\/)/.exec(text) ?? [];
  if (words === undefined) return <>{text}</>;
  return (
    <>
      {words}. <a href={path(id ? ["tenant", id] : ["waiting"])}>{id ? "Open it" : "Look at them"}</a>
    </>
  );
}
