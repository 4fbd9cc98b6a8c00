import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";

/** One measured row; what a group does not measure it leaves out. */
export interface Figure {
  group: string;
  case: string;
  variant: string;
  [measure: string]: string | number | null;
}

/** One line of the table: a ratio of two figures of the same case, and what it is held to. */
export interface Ratio {
  group: string;
  case: string;
  ratio: string;
  value: number;
  target: string;
  holds: boolean;
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

const METHOD = `Server, database and load share one machine and run in turn, case by case (A B C A B C …), so that what else the
machine does falls on all alike; each figure is the median of its rounds, each ratio one of two such medians in one run.
http: 32 connections of autocannon against one process with 10 database connections; 10,000 tenants of 20 boards, a
thousand of them asked, each connection its own share in turn. CPU is that of the server process and of all database processes, per request.
Service, floor and PostGraphile run built, with the same options of Node.js; PostGraphile under the same policies, without a look at the membership.
rls: one statement, run in the backend by a plpgsql loop: as tms_app under the policies alone, as tms_app with the explicit predicate
too, as the service's own are written, and as owner past the policies with the predicate. growth: the service's own SQL functions over one connection, databases of different size in turn.
deletion: one round, in two copies of one database, by api.delete_tenant and by hand-ordered deletes; two readers of other tenants meanwhile.
audit: in one session, whose first run is told by itself; all pages in Postgres's cache; from disk: Postgres's cache and the system's of the database's files emptied before each turn.
Commits do not wait for the disk.`;

/** Prints figures and ratios, and keeps those of a full run for the documents. */
export function report(
  figures: Figure[],
  ratios: Ratio[],
  { run, seconds }: { run: "full" | "partial" | "quick"; seconds: number },
): void {
  for (const group of new Set(figures.map(figure => figure.group))) {
    console.log(`\n${group}`);
    printTable(
      figures.filter(figure => figure.group === group),
      ["group"],
    );
  }
  console.log("\nratios");
  printTable(
    ratios.map(({ holds, value, ...row }) => ({
      ...row,
      value: value.toFixed(2),
      "": holds ? "ok" : "MISSED",
    })),
  );
  const machine = `${cpus().length} cores, ${cpus()[0]?.model ?? "unknown processor"}, Node.js ${process.version}`;
  console.log(`\n${METHOD}\n${machine}; ${run} run, ${Math.round(seconds)} s`);
  if (run !== "full") return;
  const result = {
    at: new Date().toISOString(),
    machine,
    seconds: Math.round(seconds),
    method: METHOD,
    figures,
    ratios,
  };
  writeFileSync(
    new URL("../docs/reference/benchmark.json", import.meta.url),
    `${JSON.stringify(result, null, 2)}\n`,
  );
  writeFileSync(new URL("../docs/reference/benchmark.svg", import.meta.url), picture(ratios, machine));
  const page = new URL("../docs/reference/performance.md", import.meta.url);
  const tables = `${asMarkdown(figures, ratios)}\n${METHOD}\n\nMeasured ${result.at.slice(0, 10)} on ${machine}.`;
  const marked = /(?<=<!-- figures -->\n)[\s\S]*(?=\n<!-- end -->)/;
  writeFileSync(
    page,
    readFileSync(page, "utf8").replace(marked, () => tables),
  );
  console.log(
    "written: docs/reference/benchmark.json, docs/reference/benchmark.svg, docs/reference/performance.md",
  );
}

function printTable(
  rows: Record<string, string | number | null | undefined>[],
  without: string[] = [],
): void {
  const columns = [...new Set(rows.flatMap(row => Object.keys(row)))].filter(name => !without.includes(name));
  const cell = (value: string | number | null | undefined) =>
    typeof value === "number" ? value.toLocaleString("en") : String(value ?? "–");
  const widths = columns.map(name => Math.max(name.length, ...rows.map(row => cell(row[name]).length)));
  const line = (cells: string[], numeric: boolean[]) =>
    cells.map((text, i) => (numeric[i] ? text.padStart(widths[i]!) : text.padEnd(widths[i]!))).join("  ");
  const numeric = columns.map(name => rows.some(row => typeof row[name] === "number"));
  console.log(line(columns, numeric));
  for (const row of rows)
    console.log(
      line(
        columns.map(name => cell(row[name])),
        numeric,
      ),
    );
}

function asMarkdown(figures: Figure[], ratios: Ratio[]): string {
  const row = (cells: (string | number | null | undefined)[]) =>
    `| ${cells.map(cell => cell ?? "–").join(" | ")} |`;
  const table = (columns: string[], rows: Parameters<typeof row>[0][]) =>
    [row(columns), `|${columns.map(() => "---").join("|")}|`, ...rows.map(row), ""].join("\n");
  const byGroup = [...new Set(figures.map(({ group }) => group))].map(group => {
    const own = figures.filter(figure => figure.group === group);
    const columns = [...new Set(own.flatMap(figure => Object.keys(figure)))].filter(name => name !== "group");
    return table(
      columns,
      own.map(figure => columns.map(name => figure[name])),
    );
  });
  const held = ratios.map(one => [
    one.case,
    one.ratio,
    one.value.toFixed(2),
    one.target,
    one.holds ? "yes" : "**no**",
  ]);
  return [table(["case", "ratio", "value", "held to", "holds"], held), ...byGroup].join("\n");
}

/** Each ratio as a bar, its target as a mark; colours that read on light and dark. */
function picture(ratios: Ratio[], machine: string): string {
  const plain = (text: string) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  const row = 26;
  const height = 64 + ratios.length * row + 30;
  const limit = 630; // each bar is drawn in shares of what it is held to
  const bars = ratios.map(({ case: name, ratio, value, target, holds }, i) => {
    const y = 52 + i * row;
    const width = Math.min(1.65, value / Number(/[\d.]+/.exec(target)![0])) * (limit - 430);
    return `<text x="8" y="${y + 13}">${plain(name)} <tspan class="dim">${plain(ratio)}</tspan></text>
<rect x="430" y="${y + 3}" width="${width.toFixed(1)}" height="12" rx="2" class="${holds ? "ok" : "no"}"/>
<text x="775" y="${y + 13}">${value.toFixed(2)} <tspan class="dim">${plain(target)}</tspan></text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 ${height}" font-family="system-ui, sans-serif" font-size="12">
<title>Ratios of the benchmark, each beside what it is held to</title>
<style>text{fill:#1f2328}.dim{fill:#59636e}.ok{fill:#1a7f5a}.no{fill:#c4441c}.mark{stroke:#1f2328;stroke-width:1.5}.bg{fill:#fff}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.dim{fill:#9198a1}.mark{stroke:#e6edf3}.bg{fill:#0d1117}.ok{fill:#3fb98a}.no{fill:#ef7b54}}</style>
<rect class="bg" width="900" height="${height}"/>
<text x="8" y="22" font-size="15" font-weight="600">Ratios of medians in one run; the line is what each is held to, and each bar drawn in shares of that</text>
<text x="8" y="40" class="dim">${plain(machine)}</text>
${bars.join("\n")}
<line x1="${limit}" x2="${limit}" y1="50" y2="${height - 30}" class="mark"/>
</svg>
`;
}
