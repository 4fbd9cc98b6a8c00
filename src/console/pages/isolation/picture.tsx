const STEPS: [head: string, what: string, more: string][] = [
  ["Request", "a token, and a tenant", "The token is verified; its claims or X-Tenant name the tenant."],
  ["Login", "tms_service", "May execute the functions of the schema api, and nothing else: no table."],
  [
    "Function",
    "api.…",
    "One an operation. It enters the tenant if the caller is a member, in the same transaction.",
  ],
  [
    "Role",
    "tms_app",
    "What functions become inside a tenant. It owns no table, so no policy can be switched off for it.",
  ],
  [
    "Policy",
    "tenant_id = app.tenant_id()",
    "Restrictive, on every table of tenants: later policies can only narrow it.",
  ],
  [
    "Tables",
    "one tenant's rows",
    "Without a tenant: none. Foreign keys begin with the tenant, so no row points into another.",
  ],
];

/** Who can read what: the way of a request to a row. */
export function Picture() {
  return (
    <section class="panel" aria-label="Who can read what">
      <h2>Who can read what</h2>
      <ol class="way">
        {STEPS.map(([head, what, more]) => (
          <li key={head}>
            <b>{head}</b>
            <div>
              <code>{what}</code>
              <p class="dim">{more}</p>
            </div>
          </li>
        ))}
      </ol>
      <p class="hint">
        Beside this way: <code>tms_auditor</code> reads every tenant and writes none, <code>tms_owner</code>{" "}
        runs migrations. <a href="#/why">Ask for one caller</a>.
      </p>
    </section>
  );
}
