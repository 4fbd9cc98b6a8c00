import type { ComponentChildren } from "preact";
import type { Audit, Finding } from "../../client/api.ts";
import { call } from "../api.ts";
import { pretty } from "../diff.ts";
import { Loaded, More, useList, useLoad } from "../parts/load.tsx";
import { Badge, Copy, count, Time, Title, visible } from "../parts/text.tsx";
import { path } from "../router.ts";
import { Health } from "./health.tsx";

export function Isolation() {
  const load = useLoad("audit", signal => call("getAudit", { query: { limit: 1 } }, { signal }));
  return (
    <>
      <div class="head">
        <div>
          <Title id="isolation">Isolation</Title>
          <p class="lead">
            What keeps tenants apart, and what the last audit found. An auditor starts one with{" "}
            <code>npm run audit</code>.
          </p>
        </div>
      </div>
      <Loaded of={load}>
        {({ body }) => (
          <>
            <LastRun audit={body} />
            {body.run && <Findings />}
          </>
        )}
      </Loaded>
      <div class="grid">
        <Picture />
        <Health />
      </div>
    </>
  );
}

const RESULTS: Record<string, [words: string, kind: string]> = {
  clean: ["No error", "good"],
  errors: ["Errors", "bad"],
  incomplete: ["Not all checks ran", "bad"],
  unfinished: ["Did not end", "bad"],
};

function LastRun({ audit: { run, trend } }: { audit: Audit }) {
  if (!run)
    return (
      <p class="note warn">
        The isolation was never audited. Run <code>npm run audit</code>, and the result stands here.
      </p>
    );
  const [words, kind] = RESULTS[run.result] ?? [run.result, "bad"];
  const card = (value: ComponentChildren, label: string, mark = "") => (
    <div class={`card ${mark}`}>
      <b>{value}</b>
      <span>{label}</span>
    </div>
  );
  return (
    <section class="stack" aria-label="The last audit">
      <div class="cards">
        {card(words, "last audit", kind)}
        {card(<Time at={run.finished_at ?? run.started_at} />, "ended")}
        {card(
          run.errors.toLocaleString("en"),
          run.errors === 1 ? "error" : "errors",
          run.errors > 0 ? "bad" : "",
        )}
        {card(
          run.warnings.toLocaleString("en"),
          run.warnings === 1 ? "warning" : "warnings",
          run.warnings > 0 ? "warn" : "",
        )}
        {card(run.checks.toLocaleString("en"), "checks")}
        {card(run.rows_checked.toLocaleString("en"), "rows checked")}
      </div>
      {(run.tenant || run.family) && (
        <p class="note">
          It looked at a part only:{" "}
          {[run.tenant && `the tenant ${run.tenant}`, run.family && `the ${run.family}`]
            .filter(Boolean)
            .join(", ")}
          .
        </p>
      )}
      <Trend runs={trend} />
    </section>
  );
}

const WIDE = 560;
const HIGH = 64;

/** A bar a run, the newest on the right: its height tells how many errors and warnings it found. */
function Trend({ runs }: { runs: Audit["trend"] }) {
  if (runs.length < 2) return null;
  const old = [...runs].reverse();
  const most = Math.max(1, ...old.map(({ errors, warnings }) => errors + warnings));
  const step = WIDE / Math.max(old.length, 8);
  const high = (n: number) => (n === 0 ? 0 : Math.max(3, (n / most) * (HIGH - 8)));
  const [last, before] = [runs[0]!, runs[1]!];
  return (
    <figure class="panel">
      <h2>The last {runs.length} runs</h2>
      <svg
        class="trend"
        viewBox={`0 0 ${WIDE} ${HIGH}`}
        role="img"
        aria-label={`Errors of the last ${runs.length} runs, the oldest first: ${old.map(({ errors }) => errors).join(", ")}`}
      >
        {old.map(({ run_id, errors, warnings, result, started_at }, i) => (
          <g key={run_id} transform={`translate(${i * step})`}>
            <title>{`${new Date(started_at).toLocaleString()}: ${count(errors, "error")}, ${count(warnings, "warning")}`}</title>
            <rect class="base" x={2} y={HIGH - 4} width={step - 4} height={4} />
            <rect
              class={result === "clean" ? "warn" : "bad"}
              x={2}
              y={HIGH - 4 - high(errors + warnings)}
              width={step - 4}
              height={high(errors + warnings)}
            />
            {result !== "clean" && <rect class="bad" x={2} y={HIGH - 4} width={step - 4} height={4} />}
          </g>
        ))}
      </svg>
      <figcaption class="dim">
        {last.errors === before.errors
          ? "As many errors as in the run before."
          : `${count(Math.abs(last.errors - before.errors), "error")} ${last.errors < before.errors ? "fewer" : "more"} than in the run before.`}
      </figcaption>
    </figure>
  );
}

function Findings() {
  const list = useList<Finding>("findings", async (cursor, signal) => {
    const answer = await call("getAudit", { query: { limit: 50, ...(cursor && { cursor }) } }, { signal });
    return { ...answer, body: { items: answer.body.findings } };
  });
  if (list.load.value === undefined) return <Loaded of={list.load}>{() => null}</Loaded>;
  return (
    <section class="stack" aria-label="Open findings">
      <h2>{list.items.length === 0 ? "No finding is open" : "Open findings"}</h2>
      {list.items.map((finding, i) => (
        <One key={`${finding.run_id} ${finding.check} ${i}`} finding={finding} />
      ))}
      <More list={list} one="finding" />
    </section>
  );
}

function One({ finding }: { finding: Finding }) {
  const { check, severity, relation, tenant_id, row, detail, remedy } = finding;
  return (
    <article class="panel">
      <div class="head">
        <h3>
          <Badge>{severity}</Badge> <code>{check}</code> {relation && <code class="dim">{relation}</code>}
        </h3>
        {tenant_id && <a href={path(["tenant", tenant_id])}>The tenant</a>}
      </div>
      <p>{visible(detail)}</p>
      {Object.keys(row).length > 0 && (
        <details>
          <summary>The row</summary>
          <pre>{visible(pretty(row))}</pre>
        </details>
      )}
      {remedy && (
        <details>
          <summary>Remedy</summary>
          <Remedy>{remedy}</Remedy>
        </details>
      )}
    </article>
  );
}

const Remedy = ({ children }: { children: string }) => (
  <div class="remedy">
    <Copy label="remedy">{children}</Copy>
  </div>
);

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
    "What functions act as inside a tenant. It owns no table, and row security is forced on it.",
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
function Picture() {
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
