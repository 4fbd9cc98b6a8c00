/** The report as SARIF 2.1.0, which code hosts show beside the files that define the objects. */
import { createHash } from "node:crypto";
import type { Finding } from "../values/finding.ts";
import type { Definitions } from "./definitions.ts";
import { keyOf } from "./identity.ts";
import type { Audit } from "./report.ts";
import { placeOf, verdict } from "./text.ts";

const LEVEL = { error: "error", warning: "warning", info: "note" } as const;

export function toSarif(audit: Audit, definitions: Definitions, version: string): string {
  const { report, about, notRun } = audit;
  const ids = [
    ...new Set([...report.checks.map(({ check }) => check), ...report.findings.map(({ check }) => check)]),
  ];
  const rules = ids.map(id => {
    const words = about.get(id);
    const { severity = "error", category = "isolation_config" } =
      report.checks.find(({ check }) => check === id) ?? {};
    return {
      id,
      shortDescription: { text: words?.finds || id },
      ...(words?.why && { fullDescription: { text: words.why } }),
      ...(words?.mend && { help: { text: words.mend } }),
      defaultConfiguration: { level: LEVEL[severity] },
      properties: { category, tags: ["security", category] },
    };
  });
  const result = (finding: Finding, more: object = {}) => ({
    ruleId: finding.check,
    ruleIndex: ids.indexOf(finding.check),
    level: LEVEL[finding.severity],
    message: { text: `${placeOf(finding)}: ${finding.detail}\n${finding.remedy}` },
    locations: [location(finding, definitions)],
    partialFingerprints: { "finding/v1": createHash("sha256").update(keyOf(finding)).digest("hex") },
    ...more,
  });
  const results = [
    ...report.findings.map(finding => result(finding)),
    // A baseline's: the reader of the results sees that they are there, and why that is so.
    ...(audit.accepted ?? []).map(({ finding, reason }) =>
      result(finding, { suppressions: [{ kind: "external", status: "accepted", justification: reason }] }),
    ),
  ];
  return JSON.stringify(
    {
      $schema: "https://json.schemastore.org/sarif-2.1.0.json",
      version: "2.1.0",
      runs: [
        {
          tool: { driver: { name: "tenancy audit", semanticVersion: version, rules } },
          invocations: [
            {
              executionSuccessful: notRun.length === 0,
              startTimeUtc: report.started_at,
              endTimeUtc: report.finished_at,
              ...(notRun.length > 0 && {
                toolExecutionNotifications: notRun.map(check => ({
                  level: "error",
                  message: { text: `The check ${check} could not run` },
                  descriptor: { id: check },
                })),
              }),
            },
          ],
          columnKind: "utf16CodeUnits",
          results,
          properties: { verdict: verdict(audit), database: audit.server.database, tenant: report.tenant },
        },
      ],
    },
    null,
    2,
  );
}

function location(finding: Finding, definitions: Definitions) {
  const place = definitions.find(finding);
  const name = finding.relation ?? placeOf(finding);
  return {
    ...(place && {
      physicalLocation: {
        artifactLocation: { uri: encodeURI(place.file), uriBaseId: "%SRCROOT%" },
        region: { startLine: place.line },
      },
    }),
    logicalLocations: [{ fullyQualifiedName: name, kind: "resource" }],
  };
}
