import { WITH, WITHOUT } from "./context.ts";
import type { Figure, Ratio } from "./report.ts";
import { ALONE, BOTH, NONE, RLS_LIMITS } from "./rls.ts";

type Measured = readonly [variant: string, measure: string];
type Held = readonly [
  ratio: string,
  top: Measured,
  base: Measured,
  kind: "at least" | "at most",
  limit: number,
];

const rate = (variant: string): Measured => [variant, "requestsPerSecond"];
const cpu = (variant: string): Measured => [variant, "cpuMicrosPerRequest"];
const micros = (variant: string): Measured => [variant, "microseconds"];
const seconds = (variant: string): Measured => [variant, "seconds"];
const UNITS: Record<string, string> = {
  requestsPerSecond: "/s",
  cpuMicrosPerRequest: " µs",
  microseconds: " µs",
  seconds: " s",
  othersMedianMs: " ms",
  p95Ms: " ms",
};
const deletion = "api.delete_tenant";

/** What is held to what in a group, for the nth of its cases: the ratios of docs/reference/performance.md. */
const HELD: Record<string, (name: string, n: number) => Held[]> = {
  // Of the other cases the floor does less: no look at an operator, no idempotency, no events.
  http: (_name, n) =>
    n >= 2
      ? []
      : [
          ["requests/s, service : rows floor", rate("service"), rate("floor: rows"), "at least", 1.2],
          ["requests/s, service : JSON floor", rate("service"), rate("floor: json"), "at least", 0.85],
          ["CPU, service : JSON floor", cpu("service"), cpu("floor: json"), "at most", 1.15],
          // What the service answers as well: whether there is a next page, and where it begins.
          ["requests/s, service : PostGraphile 4", rate("service"), rate("postgraphile"), "at least", 5],
        ],
  fairness: () => [
    [
      "p95 of a member, attacked : quiet",
      ["a known member", "p95Ms"],
      ["a known member", "quietP95Ms"],
      "at most",
      3,
    ],
  ],
  rls: name =>
    [ALONE, BOTH].map(variant => [
      `time, ${variant} : ${NONE}`,
      micros(variant),
      micros(NONE),
      "at most",
      RLS_LIMITS[name] ?? 1.25,
    ]),
  growth: () => [
    ["time, 100,000 : 1,000", micros("100,000"), micros("1,000"), "at most", 1.15],
    ["time, 1,000,000 : 1,000", micros("1,000,000"), micros("1,000"), "at most", 1.3],
  ],
  // Its section in docs/reference/performance.md is written by hand.
  context: () => [
    [`calls/s, ${WITH} : ${WITHOUT}`, rate(WITH), rate(WITHOUT), "at least", 0.65],
    [`CPU, ${WITH} : ${WITHOUT}`, cpu(WITH), cpu(WITHOUT), "at most", 1.6],
  ],
  deletion: () => [
    ["time, service : by hand", seconds(deletion), seconds("by hand"), "at most", 1.2],
    [
      "others' median, during : before",
      [deletion, "othersMedianMs"],
      [deletion, "othersQuietMs"],
      "at most",
      2,
    ],
  ],
  audit: () => [
    ["time, data checks : count(*) pass", seconds("data checks"), seconds("count(*) pass"), "at most", 30],
    [
      "the same, from disk",
      seconds("data checks, from disk"),
      seconds("count(*) pass, from disk"),
      "at most",
      20,
    ],
  ],
};

/** Of what was not measured nothing is held. */
export function ratiosOf(figures: Figure[]): Ratio[] {
  return Object.entries(HELD).flatMap(([group, heldOf]) => {
    const own = figures.filter(one => one.group === group);
    const cases = [...new Set(own.map(one => one.case))];
    return cases.flatMap((name, n) =>
      heldOf(name, n).flatMap(([ratio, top, base, kind, limit]) => {
        const read = ([variant, measure]: Measured) =>
          own.find(one => one.case === name && one.variant === variant)?.[measure];
        const [above, below] = [read(top), read(base)];
        if (typeof above !== "number" || typeof below !== "number" || below === 0) return [];
        const value = above / below;
        const holds = kind === "at least" ? value >= limit : value <= limit;
        const measured = `${above.toLocaleString("en")} : ${below.toLocaleString("en")}${UNITS[top[1]]}`;
        return { group, case: name, ratio, value, measured, target: `${kind} ${limit}`, holds };
      }),
    );
  });
}
