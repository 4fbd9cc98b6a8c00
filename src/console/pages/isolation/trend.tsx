import type { Audit } from "../../../client/api.ts";
import { count } from "../../parts/text.tsx";

const WIDE = 560;
const HIGH = 64;

/** A bar a run, the newest on the right: its height tells how many errors and warnings it found. */
export function Trend({ runs }: { runs: Audit["trend"] }) {
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
        {count(last.errors, "error")} and {count(last.warnings, "warning")} in the last one.{" "}
        {last.errors === before.errors
          ? "As many errors as in the run before."
          : `${count(Math.abs(last.errors - before.errors), "error")} ${last.errors < before.errors ? "fewer" : "more"} than in the run before.`}
      </figcaption>
    </figure>
  );
}
