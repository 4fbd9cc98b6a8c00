import type { Audit } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { Loaded, useLoad, useLookAgain } from "../../parts/load.tsx";
import { count, Time, Title } from "../../parts/text.tsx";
import { Health } from "../health.tsx";
import { Findings } from "./findings.tsx";
import { Picture } from "./picture.tsx";
import { Trend } from "./trend.tsx";

export function Isolation() {
  const load = useLoad(
    "audit",
    async signal => (await call("getAudit", { query: { limit: 1 } }, { signal })).body,
  );
  // There is no audit yet, or one is running.
  useLookAgain(load, load.value !== undefined && !load.value.run?.finished_at);
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
        {audit => (
          <>
            <LastRun audit={audit} />
            {audit.run && <Findings key={audit.run.run_id} />}
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
  clean: ["Passed", "good"],
  errors: ["Failed", "bad"],
  incomplete: ["Not all checks ran", "bad"],
  unfinished: ["Did not end", "bad"],
};

function LastRun({ audit: { run, trend } }: { audit: Audit }) {
  if (!run)
    return (
      <div class="note warn">
        <p>
          <b>The isolation was never audited.</b> Run <code>npm run audit</code> in the folder of the service.
          Its result appears here by itself.
        </p>
      </div>
    );
  const [words, kind] = RESULTS[run.result] ?? [run.result, "bad"];
  const found = [
    run.errors > 0 && count(run.errors, "error"),
    run.warnings > 0 && count(run.warnings, "warning"),
  ];
  const parts = [run.tenant && `the tenant ${run.tenant}`, run.family && `the ${run.family}`].filter(Boolean);
  return (
    <section class="stack" aria-label="The last audit">
      <div class={`verdict note ${kind}`}>
        <b>{words}</b>
        <p>
          {found.filter(Boolean).join(" and ") || "no error, no warning"}
          {" · "}
          {count(run.checks, "check")}
          {" · "}
          <Time at={run.finished_at ?? run.started_at} />
        </p>
      </div>
      {parts.length > 0 && <p class="note">It looked at a part only: {parts.join(", ")}.</p>}
      <Trend runs={trend} />
    </section>
  );
}
