import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { parse } from "yaml";
import { seedTenant, seedUser, token, withService } from "../harness.ts";
import { until } from "../until.ts";
import { createWorld, operator, passASecond } from "./world.ts";

const DEPLOY = fileURLToPath(new URL("../../deploy/", import.meta.url));
const world = await createWorld();
await seedUser(world.database.sql, await seedTenant(world.database.sql, { slug: "acme" }), {
  subject: "alice",
});
const alice = await token({ sub: "alice" });
after(() => world.end());

async function scrape(from = world.service): Promise<string> {
  return (await from.request({ url: "/metrics" })).body as string;
}

/** The value of one series; undefined when there is none. */
function value(text: string, series: string): number | undefined {
  const line = text.split("\n").find(line => line.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

test("a request is counted once, by method, route and status, and timed", async () => {
  await world.service.request({ url: "/api/tenants/current", token: alice, tenant: "acme" });
  const text = await scrape();
  const labels = '{method="GET",route="/api/tenants/current",status="200"}';
  assert.equal(value(text, `tms_http_request_duration_seconds_count${labels}`), 1);
  const seconds = value(text, `tms_http_request_duration_seconds_sum${labels}`)!;
  assert.ok(seconds > 0 && seconds < 10, String(seconds));
});

test("routes are labelled by their pattern, unknown paths by 'none'", async () => {
  await world.service.request({ url: "/api/setup/tenant/not-a-uuid", token: alice, tenant: "acme" });
  await world.service.request({ url: `/${"x".repeat(30)}` });
  const text = await scrape();
  assert.match(text, /_count\{method="GET",route="\/api\/setup\/tenant\/:tenant_id",status="403"\} 1/);
  assert.match(text, /_count\{method="GET",route="none",status="404"\} 1/);
  assert.doesNotMatch(text, /xxx|not-a-uuid/);
});

test("resolutions are counted by source and outcome, refusals by reason", async () => {
  const claimed = await token({ sub: "alice", org: "acme" });
  await world.service.request({ url: "/api/tenants/current", token: claimed });
  await world.service.request({ url: "/api/tenants/current", token: alice, tenant: "globex" });
  await world.service.request({ url: "/api/tenants/current", token: alice });
  await world.service.request({ url: "/api/tenants/current", token: alice, tenant: "NO" });
  const odd = await token({ sub: "alice", tenant: "Not A Slug" });
  await world.service.request({ url: "/api/tenants/current", token: odd });
  await world.service.request({ url: "/api/tenants/current", token: "a.b.c" });
  const text = await scrape();
  const resolved = (source: string, outcome: string) =>
    value(text, `tms_tenant_resolutions_total{source="${source}",outcome="${outcome}"}`);
  assert.equal(resolved("organization", "resolved"), 1);
  assert.equal(resolved("header", "not_a_member"), 1);
  assert.equal(resolved("none", "tenant_missing"), 1);
  assert.equal(resolved("none", "tenant_header_malformed"), 1);
  assert.equal(resolved("none", "tenant_claim_malformed"), 1);
  const refused = (status: number, reason: string) =>
    value(text, `tms_refusals_total{status="${status}",reason="${reason}"}`);
  assert.equal(refused(400, "tenant_missing"), 1);
  assert.equal(refused(403, "not_a_member"), 1);
  assert.equal(refused(403, "not_an_operator"), 1);
  assert.equal(refused(401, "malformed"), 1);
  assert.equal(refused(404, "not_found"), 1);
});

test("GraphQL counts one resolution per request, though it calls several functions", async () => {
  const before =
    value(await scrape(), 'tms_tenant_resolutions_total{source="header",outcome="resolved"}') ?? 0;
  const body = { query: "{ tenant { slug } boards { title } }" };
  const { status } = await world.service.request({
    method: "POST",
    url: "/graphql",
    token: alice,
    tenant: "acme",
    body,
  });
  assert.equal(status, 200);
  const after = value(await scrape(), 'tms_tenant_resolutions_total{source="header",outcome="resolved"}');
  assert.equal(after, before + 1);
});

test("refusals over a rate limit are counted by bucket", async () => {
  const operator = await token({ sub: "op", roles: ["tenant-operator"], tenant: "acme" });
  for (let i = 0; i < 6; i++)
    await world.service.request({
      method: "DELETE",
      url: "/api/setup/tenant/00000000-0000-4000-8000-000000000000",
      token: operator,
    });
  assert.equal(value(await scrape(), 'tms_rate_limit_refusals_total{bucket="setup_delete"}'), 1);
});

test("a refusal keeps its database connection", async () => {
  const pids = async () =>
    (
      await world.database.sql`
        select pid from pg_stat_activity where usename = 'tms_service' and datname = ${world.database.name} order by pid`
    ).map(row => row.pid as number);
  await world.service.request({ url: "/api/tenants/current", token: alice, tenant: "globex" });
  const before = await pids();
  for (let i = 0; i < 5; i++)
    await world.service.request({ url: "/api/tenants/current", token: alice, tenant: "globex" });
  const after = await pids();
  // A connection that was idle for long may have ended.
  assert.ok(
    after.length > 0 && after.every(pid => before.includes(pid)),
    `${before.join()} became ${after.join()}`,
  );
  const text = await scrape();
  const [idle, busy] = ["idle", "busy"].map(
    state => value(text, `tms_database_connections{pool="primary",state="${state}"}`)!,
  );
  assert.equal(idle! + busy!, after.length);
  assert.ok(busy! <= 1, "one may ask for the scrape itself whether the database is ready");
  assert.equal(value(text, 'tms_database_connections_max{pool="primary"}'), 10);
  assert.equal(value(text, 'tms_database_waiting{pool="primary"}'), 0);
});

test("tenants are counted by status; no slug is a label", async () => {
  await seedTenant(world.database.sql, { slug: "initech", status: "pending" });
  passASecond();
  const text = await scrape();
  assert.equal(value(text, 'tms_tenants{status="pending"}'), 1);
  assert.equal(value(text, "tms_http_requests_in_flight"), 1);
  assert.doesNotMatch(text, /acme|initech|globex/);
});

test("a transaction that stays open in another database shows in /metrics and in the setup status", async () => {
  const { database } = world;
  const elsewhere = postgres(database.urls.root.replace(/\/[^/?]*(?=\?|$)/, "/postgres"), {
    max: 1,
    onnotice: () => {},
  });
  try {
    await elsewhere`begin`;
    await elsewhere`select pg_current_xact_id()`;
    await seedTenant(database.sql, { slug: "unseen" });
    // All of them: a transaction of another test may be the older one.
    await database.sql`update control.tenant_events set at = at - interval '400 seconds'`;
    passASecond();
    assert.ok(value(await scrape(), "tms_events_wait_seconds")! >= 400);
    const { body } = await world.service.request({ url: "/api/setup/status", token: await operator() });
    assert.ok(body.events_wait_seconds >= 400);
    assert.match(body.recommendations.join("\n"), /Events have waited for 4\d\d s/);
  } finally {
    // Left open, it keeps the events of every other test from the feeds.
    await elsewhere.end({ timeout: 0 });
  }
});

test("with SERVICE_METRICS_TENANT_LABEL a resolved tenant is a label, and one that was only named is not", async () => {
  await withService(world.database, { SERVICE_METRICS_TENANT_LABEL: "true" }, async labelled => {
    await labelled.request({ url: "/api/tenants/current", token: alice, tenant: "acme" });
    await labelled.request({ url: "/api/tenants/current", token: alice, tenant: "made-up" });
    // Operations without membership accept any slug: each would be one more series.
    const stranger = await operator({ tenant: "made-up" });
    for (const url of ["/api/tenants/mine", "/api/tenants/registration/status", "/api/setup/tenants"])
      assert.equal((await labelled.request({ url, token: stranger })).status, 200, url);
    const body = { organization_name: "New", admin_email: "a@example.com" };
    const url = "/api/tenants/register";
    assert.equal((await labelled.request({ method: "POST", url, token: stranger, body })).status, 201);
    const text = await scrape(labelled);
    assert.match(text, /tms_tenant_resolutions_total\{source="header",outcome="resolved",tenant="acme"\} 1/);
    assert.doesNotMatch(text, /made-up/);
  });
});

test("every metric has a help line and the text is what Prometheus reads", async () => {
  const { headers, body } = await world.service.request({ url: "/metrics" });
  assert.match(String(headers["content-type"]), /^text\/plain; version=0\.0\.4/);
  assert.equal(headers["cache-control"], "no-store");
  const told = new Set([...(body as string).matchAll(/^# HELP (\S+) \S/gm)].map(([, name]) => name));
  const names = [...(body as string).matchAll(/^(tms_[a-z_]+?)(?:_bucket|_sum|_count)?[{ ]/gm)].map(
    ([, name]) => name,
  );
  assert.ok(new Set(names).size >= 11, names.join(" "));
  for (const name of names) assert.ok(told.has(name), name);
});

test("the last audit of all tenants has metrics for its age and errors; before the first one there are none", async () => {
  assert.doesNotMatch(await scrape(), /^tms_audit_/m);
  await world.database.sql`
    insert into audit.runs (started_at, finished_at, errors, warnings, not_run, tenant, family)
    values (now() - interval '2 hours', now() - interval '1 hour', 3, 5, 2, null, null), (now(), now(), 0, 0, 0, 'acme', null),
           (now(), now(), 0, 0, 0, null, 'schema'), (now(), null, 0, 0, 0, null, null)`;
  passASecond();
  const text = await scrape();
  const age = value(text, "tms_audit_age_seconds")!;
  assert.ok(age >= 3600 && age < 3660, String(age));
  assert.equal(value(text, 'tms_audit_findings{severity="error"}'), 3);
  assert.equal(value(text, 'tms_audit_findings{severity="warning"}'), 5);
  assert.equal(value(text, 'tms_audit_findings{severity="not_run"}'), 2);
  const { status, body } = await world.service.request({ url: "/ready" });
  assert.deepEqual([status, body.last_audit.errors], [200, 3]);
});

/** Every series name in a file, with the labels that it selects or groups by. */
function spokenOf(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [, name, selector = ""] of text.matchAll(
    /\b((?:tms|nodejs|process)_[a-z_0-9]+|up)\b(?:\{([^}]*)\})?/g,
  )) {
    const labels = found.get(name!) ?? new Set();
    for (const [, label] of selector.matchAll(/([a-z_]+)\s*[=!]~?/g)) labels.add(label!);
    found.set(name!, labels);
  }
  return found;
}

test("the dashboard and the alerts use metrics and labels that exist", async () => {
  await world.service.request({ url: "/api/setup/tenants", token: alice, tenant: "acme" });
  const text = await scrape();
  const labelsOf = (name: string) =>
    new Set(
      [...text.matchAll(new RegExp(`^${name}\\{([^}]*)\\}`, "gm"))].flatMap(([, all]) =>
        [...all!.matchAll(/([a-z_]+)="/g)].map(([, label]) => label),
      ),
    );
  const dashboard = JSON.parse(
    readFileSync(new URL("../../deploy/grafana-dashboard.json", import.meta.url), "utf8"),
  ) as {
    panels: { id: number; title: string; type: string; targets: { expr: string; refId: string }[] }[];
  };
  const { groups } = parse(readFileSync(new URL("../../deploy/alerts.yml", import.meta.url), "utf8"), {
    strict: true,
  }) as {
    groups: {
      rules: {
        alert: string;
        expr: string;
        labels: { severity: string };
        annotations: { summary: string; runbook_url: string };
      }[];
    }[];
  };
  const rules = groups.flatMap(({ rules }) => rules);
  assert.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length);
  assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
  for (const { alert, labels, annotations } of rules)
    assert.ok(annotations.summary && ["critical", "warning", "info"].includes(labels.severity), alert);
  const runbook = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
  const [, alertsSection = ""] = /^## Alerts$([\s\S]*?)^## /m.exec(runbook) ?? [];
  assert.deepEqual(
    [...alertsSection.matchAll(/^### (\w+)$/gm)].map(([, heading]) => heading),
    rules.map(({ alert }) => alert),
  );
  for (const { alert, annotations } of rules)
    assert.equal(annotations.runbook_url, `docs/operations.md#${alert.toLowerCase()}`);
  const prometheus = parse(readFileSync(new URL("../../deploy/prometheus.yml", import.meta.url), "utf8")) as {
    scrape_configs: { job_name: string }[];
  };
  assert.deepEqual(
    prometheus.scrape_configs.map(({ job_name }) => job_name),
    ["tenancy"],
  );
  const expressions = [...dashboard.panels.flatMap(({ targets }) => targets), ...rules].map(
    ({ expr }) => expr,
  );
  assert.ok(expressions.length > 25);
  for (const expression of expressions) {
    const spoken = spokenOf(expression);
    assert.ok(spoken.size > 0, expression);
    for (const [name, labels] of spoken) {
      if (name === "up") {
        // Prometheus makes this series itself, under the name of its job.
        assert.match(expression, /up\{job="tenancy"\}/);
        continue;
      }
      const base = name.replace(/_(bucket|count|sum)$/, "");
      assert.match(text, new RegExp(`^# TYPE ${base} `, "m"), `${expression} speaks of ${name}`);
      const known = labelsOf(name);
      for (const label of labels)
        assert.ok(
          label === "instance" || known.size === 0 || known.has(label),
          `${name} has no label ${label}`,
        );
    }
  }
});

const promtool = (...args: string[]) => spawnSync("promtool", args, { cwd: DEPLOY, encoding: "utf8" });
const withoutPromtool =
  promtool("--version").status !== 0 && "promtool is not installed here (Debian: apt-get install prometheus)";

test("promtool accepts the rules, and each fires on the series of alerts.test.yml as it says", {
  skip: withoutPromtool,
}, () => {
  for (const args of [
    ["check", "config", "prometheus.yml"],
    ["test", "rules", "alerts.test.yml"],
  ]) {
    const { status, stdout, stderr } = promtool(...args);
    assert.equal(status, 0, `${args.join(" ")}: ${stdout}${stderr}`);
  }
});

test("docs/operations.md lists every metric of the service, and no other", async () => {
  const page = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
  const [, table] = /<!-- metrics -->([\s\S]*?)<!-- end -->/.exec(page)!;
  const listed = [...table!.matchAll(/^\| `(tms_\w+)`/gm)].map(([, name]) => name);
  const told = [...(await scrape()).matchAll(/^# TYPE (tms_\w+) /gm)].map(([, name]) => name);
  assert.deepEqual(new Set(listed), new Set(told));
});

test("the state of the key set is measured from the start, and the service is ready without it", async () => {
  const key = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
  let answer = "{}";
  const keys = createServer((_request, response) => response.end(answer)).listen(0, "127.0.0.1");
  await once(keys, "listening");
  const { port } = keys.address() as AddressInfo;
  const env = { SERVICE_JWT_SECRET: "", SERVICE_JWT_JWKS_URL: `http://127.0.0.1:${port}/` };
  await withService(world.database, env, async service => {
    await service.app.listen({ port: 0, host: "127.0.0.1" });
    const series = async () => {
      const text = await scrape(service);
      return [value(text, "tms_jwks_last_success_seconds"), value(text, "tms_jwks_failures_total")] as const;
    };
    await until("the key set is read", async () => (await series())[1]);
    assert.deepEqual(await series(), [0, 1]);
    assert.equal((await service.request({ url: "/ready" })).status, 200);
    assert.match(JSON.stringify(service.logs), /SERVICE_JWT_JWKS_URL gives no keys: it answers JSON without/);
    answer = JSON.stringify({ keys: [key] });
    await service.app.keySet!.refresh();
    const [readAt, failures] = await series();
    assert.ok(failures === 1 && Math.abs(readAt! - Date.now() / 1000) < 60);
  });
  keys.close();
  const text = await scrape();
  for (const name of ["tms_jwks_last_success_seconds", "tms_jwks_failures_total"])
    assert.equal(value(text, name), undefined, "a service with a secret has no key set");
});
