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
  /** Both figures, as the document prints them. */
  measured: string;
  target: string;
  holds: boolean;
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** How each group is measured; docs/reference/performance.md prints it above the group's ratios. */
const METHOD: Record<string, { title: string; text: string }> = {
  http: {
    title: "Requests",
    text: `32 connections of autocannon against one process with 10 database connections, on 10,000 tenants of 20 boards.
CPU is that of the server process and of all database processes, for each request. All run built, with the same Node.js options.
PostGraphile answers under the same policies, and does not look up the membership.`,
  },
  fairness: {
    title: "Fairness",
    text: `A member lists 20 boards 100 times a second, quiet and under each attack from the same address: 16 to 10,000 sockets
on loopback. Health is the longest of ten health checks a second meanwhile. Medians of three rounds, each from 2 s after the attack began.
Attacker, member and Postgres share the machine with the service.`,
  },
  rls: {
    title: "Row-level security",
    text: `One statement in a plpgsql loop inside the backend. *RLS alone* and *RLS + predicate* run as \`tms_app\`, without and with an
explicit \`tenant_id = …\`. *Predicate* is the explicit one alone, run by the owner past the policies.
The service's own statements have both.
*With its round trip*: as a client sends it, prepared, over one connection.`,
  },
  growth: {
    title: "Growth",
    text: `The service's own SQL functions over one connection, in databases of 1,000, 100,000 and 1,000,000 tenants,
in turn.`,
  },
  deletion: {
    title: "Deletion",
    text: `One round in each of two copies of a database: \`api.delete_tenant\`, and deletes by hand, children first.
Two readers of other tenants run meanwhile.`,
  },
  audit: {
    title: "The audit",
    text: `\`call audit.run(p_only => 'data')\`, and one \`count(*)\` of every table, in one session with all pages in Postgres's cache.
Each check is a statement of its own: it reads a table once for each foreign key and each rule. *From disk*: Postgres's cache, and the
system's cache of the database's files, are emptied before each turn.`,
  },
};

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
  console.log(`\n${machine}; ${run} run, ${Math.round(seconds)} s`);
  if (run !== "full") return;
  const result = {
    at: new Date().toISOString(),
    machine,
    seconds: Math.round(seconds),
    figures,
    ratios,
  };
  writeFileSync(
    new URL("../docs/reference/benchmark.json", import.meta.url),
    `${JSON.stringify(result, null, 2)}\n`,
  );
  writeFileSync(new URL("../docs/reference/benchmark.svg", import.meta.url), picture(ratios, machine));
  const page = new URL("../docs/reference/performance.md", import.meta.url);
  const marked = /(?<=<!-- figures -->\n)[\s\S]*(?=\n<!-- end -->)/;
  writeFileSync(
    page,
    readFileSync(page, "utf8").replace(marked, () => asMarkdown(ratios, result)),
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

/** The generated part of docs/reference/performance.md. */
function asMarkdown(ratios: Ratio[], { at, machine }: { at: string; machine: string }): string {
  const row = (cells: string[]) => `| ${cells.join(" | ")} |`;
  const sections = Object.entries(METHOD).flatMap(([group, { title, text }]) => {
    const held = ratios
      .filter(one => one.group === group)
      .map(one => [
        one.case,
        one.ratio,
        one.measured,
        one.value.toFixed(2),
        one.target,
        one.holds ? "yes" : "**no**",
      ]);
    if (held.length === 0) return [];
    const table = [["case", "ratio", "measured", "value", "target", "met"], Array(6).fill("---"), ...held];
    return `## ${title}\n\n${text} \`npm run bench -- --only=${group}\`\n\n${table.map(row).join("\n")}\n`;
  });
  return `Measured ${at.slice(0, 10)} on ${machine}.\n\n${sections.join("\n").trimEnd()}`;
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
