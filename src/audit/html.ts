/** The report as one HTML page to mail: no script, no external resource, light and dark. */

import type { Finding } from "../values/finding.ts";
import { type Audit, type Result, resultsOf } from "./report.ts";
import { STYLE } from "./style.ts";
import { type Group, groupFindings, number, placeOf, plural, scopeOf, secondsOf, verdict } from "./text.ts";

const ESCAPES: Record<string, string> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};
const escapeHtml = (text: string) => text.replace(/[&<>"']/g, found => ESCAPES[found]!);
/** Lets a narrow column break the name after an underscore. */
const breakable = (name: string) => escapeHtml(name).replaceAll("_", "_<wbr>");
const when = (iso: string) => `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;

const worst = (errors: number, warnings: number, infos = 0) =>
  errors > 0 ? "error" : warnings > 0 ? "warning" : infos > 0 ? "info" : "fine";

export function toHtml(audit: Audit): string {
  const { report, server } = audit;
  const state = worst(audit.notRun.length + report.summary.errors, report.summary.warnings);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Tenant isolation: ${escapeHtml(server.database)}, ${when(report.started_at)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header>
  <p class="kind">Tenant isolation audit</p>
  <h1><span class="mark ${state}" aria-hidden="true"></span>${escapeHtml(verdict(audit))}</h1>
  <p class="about">${escapeHtml(server.database)} · ${escapeHtml(scopeOf(audit))} · ${when(report.started_at)} · ${secondsOf(audit)} s ·
  Postgres ${escapeHtml(server.version)}${audit.runId === null ? "" : ` · schema ${escapeHtml(server.schema ?? "uncommitted")} · run ${audit.runId}`}</p>
</header>
${cards(audit)}
${changes(audit)}
${findings(audit)}
${matrix(audit)}
${audit.trend.length > 0 ? trend(audit) : ""}
${everyCheck(audit)}
</main>
</body>
</html>`;
}

function cards(audit: Audit): string {
  const { report, notRun } = audit;
  const { checks, errors, warnings } = report.summary;
  const infos = resultsOf(audit).reduce((sum, result) => sum + result.info, 0);
  const card = (value: number, name: string, kind: string) =>
    `<div class="card ${value > 0 ? kind : ""}"><b>${number(value)}</b><span>${name.replace(/\w+/, value === 1 ? "$&" : "$&s")}</span></div>`;
  return `<section class="cards" aria-label="Summary">
${card(errors, "error", "error")}
${card(warnings, "warning", "warning")}
${card(infos, "note", "info")}
${card(notRun.length, "check not run", "error")}
${card(checks, "check", "")}
</section>`;
}

function findings(audit: Audit): string {
  const groups = groupFindings(audit);
  if (groups.length === 0) {
    return `<section><h2>Findings</h2><p class="none">No check found anything.</p></section>`;
  }
  const few = groups.filter(({ findings }) => findings[0]!.severity === "error").length <= OPEN;
  return `<section><h2>Findings</h2>
${groups.map(group => groupOf(audit, group, few)).join("\n")}
</section>`;
}

/** What differs from an earlier report, what the baseline accepts, and what else the reader should know. */
function changes({ diff, accepted = [], notes = [] }: Audit): string {
  const section = (heading: string, items: string[]) =>
    items.length === 0
      ? ""
      : `<section><h2>${heading}</h2><ul>${items.map(item => `<li>${item}</li>`).join("\n")}</ul></section>`;
  const one = (finding: Finding) =>
    `${escapeHtml(finding.severity)} <b>${escapeHtml(finding.check)}</b>, ${escapeHtml(placeOf(finding))}: ${escapeHtml(finding.detail)}`;
  return [
    section("Opened since the earlier report", (diff?.opened ?? []).map(one)),
    section("Closed since the earlier report", (diff?.closed ?? []).map(one)),
    section(
      "Accepted",
      accepted.map(({ finding, reason }) => `${one(finding)} <span class="dim">${escapeHtml(reason)}</span>`),
    ),
    section("Notes", notes.map(escapeHtml)),
  ].join("\n");
}

/** So many findings of a group are shown; the others are folded. */
const FIRST = 3;
/** With more groups of errors than this, they begin folded. */
const OPEN = 8;

function groupOf({ about }: Audit, { findings, total, notRun }: Group, few: boolean): string {
  const { severity, check, category } = findings[0]!;
  const words = about.get(check);
  const more = findings.slice(FIRST);
  const said =
    total > findings.length ? `the first ${number(findings.length)} of ${number(total)} are kept` : "";
  return `<details class="group"${notRun || (few && severity === "error") ? " open" : ""}>
<summary><span class="count">${number(total)}</span> <span class="badge ${severity}">${notRun ? "could not run" : severity}</span> <b>${escapeHtml(check)}</b> <span class="dim wide">${escapeHtml(category)}</span></summary>
${words ? `<p>${escapeHtml(`${words.finds} ${words.why}`.trim())}</p>${notRun || !words.mend ? "" : `<p><b>Fix:</b> ${escapeHtml(words.mend)}</p>`}` : ""}
<ul>${findings.slice(0, FIRST).map(oneFinding).join("\n")}</ul>
${more.length > 0 ? `<details class="more"><summary>${number(more.length)} more${said ? `; ${said}` : ""}</summary><ul>${more.map(oneFinding).join("\n")}</ul></details>` : ""}
</details>`;
}

const oneFinding = (finding: Finding) =>
  `<li><p class="place">${escapeHtml(placeOf(finding))}</p><p class="detail">${escapeHtml(finding.detail)}</p><pre>${escapeHtml(finding.remedy)}</pre></li>`;

/** Rows are checks, columns are tables; the last column holds findings about anything else. */
function matrix(audit: Audit): string {
  const cells = new Map<string, Result>();
  for (const result of resultsOf(audit)) {
    const relation = result.relation.endsWith(")") ? "" : result.relation; // a function
    const key = `${result.check} ${relation}`;
    const sum = cells.get(key) ?? { ...result, relation, failed: false, error: 0, warning: 0, info: 0 };
    for (const severity of ["error", "warning", "info"] as const) sum[severity] += result[severity];
    sum.failed ||= result.failed;
    cells.set(key, sum);
  }
  const tables = [...new Set([...cells.values()].map(({ relation }) => relation))].sort((a, b) =>
    a && b ? (a < b ? -1 : 1) : a ? -1 : 1,
  );
  const checks = audit.report.checks.filter(({ check }) =>
    tables.some(table => cells.has(`${check} ${table}`)),
  );
  if (checks.length === 0) return "";
  const short = (table: string) => breakable(table.replace(/^app\./, "") || "elsewhere");
  const long = (table: string) =>
    escapeHtml(table || "functions, roles, settings, and what was counted and not kept");
  return `<section><h2>Tables by checks</h2>
<div class="scroll" role="region" aria-label="Tables by checks" tabindex="0"><table class="matrix">
<thead><tr><th scope="col">check</th>${tables.map(table => `<th scope="col" title="${long(table)}">${short(table)}</th>`).join("")}</tr></thead>
<tbody>
${checks.map(({ check }) => `<tr><th scope="row">${breakable(check)}</th>${tables.map(table => cell(check, table, cells.get(`${check} ${table}`))).join("")}</tr>`).join("\n")}
</tbody>
</table></div>
<p class="dim legend"><span class="cell error">2</span> errors <span class="cell warning">2</span> warnings <span class="cell info">2</span> notes <span class="cell failed">!</span> could not run.</p>
</section>`;
}

function cell(check: string, table: string, result: Result | undefined): string {
  if (!result) return "<td></td>";
  const total = result.error + result.warning + result.info;
  const kind = result.failed ? "failed" : worst(result.error, result.warning, result.info);
  const found = result.failed ? "could not run" : plural(total, "finding");
  const title = `${check} ${table ? `on ${table}` : "elsewhere"}: ${found}`;
  const compact = total >= 10_000 ? `${Math.round(total / 1000)}k` : number(total);
  return `<td class="cell ${kind}" title="${escapeHtml(title)}">${result.failed ? "!" : compact}</td>`;
}

/** Earlier runs of the same scope as stacked bars. A square-root scale keeps one error visible beside a thousand. */
function trend({ trend: runs }: Audit): string {
  const width = 900;
  const found = runs.some(run => run.errors + run.warnings + run.infos > 0);
  const height = found ? 140 : 30;
  const floor = height - 2;
  const step = width / Math.max(runs.length, 12);
  const root = (count: number) => Math.sqrt(count);
  const highest = Math.max(...runs.map(run => root(run.errors + run.warnings + run.infos)));
  const bars = runs.map((run, i) => {
    const total = run.errors + run.warnings + run.infos;
    const whole = total === 0 ? 0 : Math.max((root(total) / highest) * (floor - 28), 6);
    const x = (i * step + step * 0.15).toFixed(1);
    const w = (step * 0.7).toFixed(1);
    let y = floor;
    const part = (count: number, kind: string) => {
      const h = total === 0 ? 0 : (count / total) * whole;
      y -= h;
      return h === 0
        ? ""
        : `<rect class="${kind}" x="${x}" y="${y.toFixed(1)}" width="${w}" height="${h.toFixed(1)}"/>`;
    };
    const drawn = part(run.errors, "error") + part(run.warnings, "warning") + part(run.infos, "info");
    const none = total === 0 ? `<rect class="fine" x="${x}" y="${floor - 3}" width="${w}" height="3"/>` : "";
    const broken =
      run.notRun > 0
        ? `<text class="label" x="${(i * step + step / 2).toFixed(1)}" y="${(y - 4).toFixed(1)}">!</text>`
        : "";
    const title = `Run ${run.runId}, ${when(run.startedAt)}: ${plural(run.errors, "error")}, ${plural(run.warnings, "warning")}, ${plural(run.infos, "note")}${run.notRun > 0 ? `, ${run.notRun} not run` : ""}`;
    return `<g><title>${escapeHtml(title)}</title>${drawn}${none}${broken}<rect class="hit" x="${(i * step).toFixed(1)}" y="0" width="${step.toFixed(1)}" height="${floor}"/></g>`;
  });
  const last = runs.at(-1)!;
  const summary = `${plural(runs.length, "run")}; the last with ${plural(last.errors, "error")} and ${plural(last.warnings, "warning")}`;
  const minute = (iso: string) => iso.slice(0, 16).replace("T", " ");
  const which =
    runs.length === 1
      ? "The first run"
      : `The last ${runs.length} runs, ${minute(runs[0]!.startedAt)} to ${minute(last.startedAt)} UTC,`;
  return `<section><h2>Trend</h2>
<svg class="trend" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escapeHtml(summary)}">
<line x1="0" y1="${floor}" x2="${width}" y2="${floor}"/>
${bars.join("\n")}
</svg>
<p class="dim">${which} of this scope${found ? "; the heights are square roots, and a thin line is a run without findings" : ": none found anything"}.</p>
</section>`;
}

function everyCheck({ report, about, notRun }: Audit): string {
  const row = ({ check, category, severity, checked, findings }: Audit["report"]["checks"][number]) => {
    const kind = notRun.includes(check) ? "failed" : findings > 0 ? severity : "fine";
    const count = notRun.includes(check) ? "not run" : findings === 0 ? "✓" : number(findings);
    return `<tr><th scope="row">${breakable(check)}<span class="dim">${escapeHtml(about.get(check)?.finds ?? "")}</span></th><td class="dim wide">${escapeHtml(category)}</td><td class="num">${number(checked)}</td><td class="num cell ${kind}">${count}</td></tr>`;
  };
  return `<section><h2>Every check</h2>
<div class="scroll" role="region" aria-label="Every check" tabindex="0"><table class="checks">
<thead><tr><th scope="col">check</th><th scope="col" class="wide">category</th><th scope="col" class="num">examined</th><th scope="col" class="num">findings</th></tr></thead>
<tbody>
${report.checks.map(row).join("\n")}
</tbody>
</table></div></section>`;
}
