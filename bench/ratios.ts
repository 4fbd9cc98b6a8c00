import type { Figure, Ratio } from "./report.ts";
import { ALONE, BOTH, NONE, RLS_LIMITS } from "./rls.ts";

type Bound = readonly [kind: "at least" | "at most", limit: number];

/** What is held to what: the ratios of docs/performance.md. */
export function ratiosOf(figures: Figure[]): Ratio[] {
  const ratios: Ratio[] = [];
  const of = (group: string, name: string, variant: string, measure: string) => {
    const found = figures.find(one => one.group === group && one.case === name && one.variant === variant)?.[
      measure
    ];
    return typeof found === "number" ? found : undefined;
  };
  const add = (
    group: string,
    name: string,
    ratio: string,
    top: number | undefined,
    base: number | undefined,
    [kind, limit]: Bound,
  ) => {
    if (top === undefined || base === undefined || base === 0) return;
    const value = top / base;
    ratios.push({
      group,
      case: name,
      ratio,
      value,
      target: `${kind} ${limit}`,
      holds: kind === "at least" ? value >= limit : value <= limit,
    });
  };
  const casesOf = (group: string) => [
    ...new Set(figures.filter(one => one.group === group).map(one => one.case)),
  ];

  for (const name of casesOf("http").slice(0, 2)) {
    const rate = (variant: string) => of("http", name, variant, "requestsPerSecond");
    const cpu = (variant: string) => of("http", name, variant, "cpuMicrosPerRequest");
    add("http", name, "requests/s, service : rows floor", rate("service"), rate("floor: rows"), [
      "at least",
      1.2,
    ]);
    add("http", name, "requests/s, service : JSON floor", rate("service"), rate("floor: json"), [
      "at least",
      0.85,
    ]);
    add("http", name, "CPU, service : JSON floor", cpu("service"), cpu("floor: json"), ["at most", 1.15]);
    // What the service answers as well: whether there is a next page, and where it begins.
    add("http", name, "requests/s, service : PostGraphile 4", rate("service"), rate("postgraphile"), [
      "at least",
      5,
    ]);
  }
  for (const name of casesOf("rls")) {
    const micros = (variant: string) => of("rls", name, variant, "microseconds");
    for (const variant of [ALONE, BOTH]) {
      add("rls", name, `time, ${variant} : ${NONE}`, micros(variant), micros(NONE), [
        "at most",
        RLS_LIMITS[name] ?? 1.25,
      ]);
    }
  }
  for (const name of casesOf("growth")) {
    const micros = (tenants: string) => of("growth", name, tenants, "microseconds");
    add("growth", name, "time, 100,000 : 1,000", micros("100,000"), micros("1,000"), ["at most", 1.15]);
    add("growth", name, "time, 1,000,000 : 1,000", micros("1,000,000"), micros("1,000"), ["at most", 1.3]);
  }
  for (const name of casesOf("deletion")) {
    const read = (variant: string, measure: string) => of("deletion", name, variant, measure);
    add(
      "deletion",
      name,
      "time, service : by hand",
      read("api.delete_tenant", "seconds"),
      read("by hand", "seconds"),
      ["at most", 1.2],
    );
    add(
      "deletion",
      name,
      "others' median, during : before",
      read("api.delete_tenant", "othersMedianMs"),
      read("api.delete_tenant", "othersQuietMs"),
      ["at most", 2],
    );
  }
  const audit = casesOf("audit")[0];
  if (audit) {
    add(
      "audit",
      audit,
      "time, data checks : count(*) pass",
      of("audit", audit, "data checks", "seconds"),
      of("audit", audit, "count(*) pass", "seconds"),
      ["at most", 6],
    );
  }
  return ratios;
}
