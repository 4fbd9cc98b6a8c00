import type { Finding } from "../../../client/api.ts";
import { call } from "../../api.ts";
import { pretty } from "../../diff.ts";
import { More, useList } from "../../parts/list.tsx";
import { Loaded } from "../../parts/load.tsx";
import { Badge, Copy, visible } from "../../parts/text.tsx";
import { path } from "../../router.ts";

export function Findings() {
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
          <Badge>{severity}</Badge> <code>{check}</code>{" "}
          {relation && <code class="dim">{visible(relation)}</code>}
        </h3>
        {tenant_id && <a href={path(["tenant", tenant_id])}>The tenant</a>}
      </div>
      <p class="detail">{visible(detail)}</p>
      {Object.keys(row).length > 0 && (
        <details>
          <summary>{tenant_id ? "The row" : "The object"}</summary>
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
