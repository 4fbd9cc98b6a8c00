/** What a person reviewed, in the repository: the profile, the functions that they vouch for, the findings that they accept. */
import { readFileSync, writeFileSync } from "node:fs";
import { Ajv } from "ajv";
import { StartupError } from "../errors/startup-error.ts";
import type { Finding } from "../values/finding.ts";
import { keyOf } from "./identity.ts";
import { type Audit, withoutFindings } from "./report.ts";

export interface Vouched {
  kind: "function";
  object: string;
  hash: string;
  reason: string;
}

export interface Accepted {
  check: string;
  tenant_id: string | null;
  relation: string | null;
  row: Record<string, unknown>;
  /** Of the definition of what the finding is about. */
  hash: string;
  reason: string;
}

export interface Baseline {
  profile?: Record<string, unknown>;
  /** What `tenancy adopt` was answered: src/adopt/answers.ts reads it. */
  adopt?: Record<string, unknown>;
  vouched: Vouched[];
  accepted: Accepted[];
}

const text = { type: "string", minLength: 1 } as const;
const reason = { type: "string", pattern: "\\S" } as const;
const nullable = { type: ["string", "null"] } as const;
const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile({
  type: "object",
  additionalProperties: false,
  properties: {
    profile: { type: "object" },
    adopt: { type: "object" },
    vouched: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["kind", "object", "hash", "reason"],
        properties: { kind: { const: "function" }, object: text, hash: text, reason },
      },
    },
    accepted: {
      type: "array",
      items: {
        type: "object",
        additionalProperties: false,
        required: ["check", "hash", "reason"],
        properties: {
          check: text,
          tenant_id: nullable,
          relation: nullable,
          row: { type: "object" },
          hash: text,
          reason,
        },
      },
    },
  },
});

/** @throws StartupError with all that is wrong with the file */
export function readBaseline(file: string): Baseline {
  const given = readJson(file);
  if (!validate(given)) {
    const faults = validate.errors!.map(({ instancePath, message, keyword }) => {
      const what = instancePath.slice(1) || "the file";
      return keyword === "pattern" ? `${what} is empty: say why` : `${what} ${message}`;
    });
    throw new StartupError(`${file} is not a baseline: ${faults.join("; ")}`);
  }
  const { profile, adopt, vouched = [], accepted = [] } = given as Partial<Baseline>;
  const whole = accepted.map(one => ({
    ...one,
    tenant_id: one.tenant_id ?? null,
    relation: one.relation ?? null,
    row: one.row ?? {},
  }));
  return { ...(profile && { profile }), ...(adopt && { adopt }), vouched, accepted: whole };
}

function readJson(file: string): unknown {
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch (error) {
    throw new StartupError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    return JSON.parse(content);
  } catch (error) {
    throw new StartupError(`${file} is not JSON: ${(error as Error).message}`);
  }
}

/** Moves what was accepted out of the findings. `hashes` are those of the definitions, a finding each. */
export function applyBaseline(audit: Audit, { accepted }: Baseline, hashes: Map<Finding, string>): Audit {
  const lines = new Map(accepted.map(line => [keyOf(line), line]));
  const used = new Set<Accepted>();
  const taken: { finding: Finding; reason: string }[] = [];
  const notes = [...(audit.notes ?? [])];
  for (const finding of audit.report.findings) {
    const line = lines.get(keyOf(finding));
    // A check that did not run found nothing that anybody could accept.
    if (!line || audit.notRun.includes(finding.check)) continue;
    used.add(line);
    if (line.hash === hashes.get(finding)) taken.push({ finding, reason: line.reason });
    else
      notes.push(
        `No longer accepted, since its definition changed: ${finding.check} ${finding.relation ?? ""} (${line.reason})`,
      );
  }
  const stale = accepted.filter(line => !used.has(line));
  for (const { check, relation, reason: why } of stale)
    notes.push(
      `Accepted, and not found any more: ${check} ${relation ?? ""} (${why}). Take it out of the baseline`,
    );
  const gone = new Set(taken.map(({ finding }) => finding));
  return { ...withoutFindings(audit, gone), accepted: taken, notes };
}

/** A line for each item: reviews and merges go by lines. A file that is there stays, unless `replace`. */
export function writeBaseline(
  file: string,
  { profile, adopt, vouched, accepted }: Baseline,
  { replace = false } = {},
): void {
  const list = (items: object[]) =>
    items.length === 0 ? "[]" : `[\n${items.map(item => `    ${JSON.stringify(item)}`).join(",\n")}\n  ]`;
  const object = (name: string, value: object | undefined) =>
    value ? [`"${name}": ${JSON.stringify(value, null, 2).replaceAll("\n", "\n  ")}`] : [];
  const parts = [
    ...object("profile", profile),
    ...object("adopt", adopt),
    `"vouched": ${list(vouched)}`,
    `"accepted": ${list(accepted)}`,
  ];
  try {
    writeFileSync(file, `{\n  ${parts.join(",\n  ")}\n}\n`, { flag: replace ? "w" : "wx" });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartupError(
      code === "EEXIST" ? `${file} is there already` : `${file} cannot be written (${code})`,
    );
  }
}

/** An earlier run's `--format json`. */
export function readReport(file: string): { findings: Finding[] } {
  const given = readJson(file) as { findings?: Finding[] } | null;
  const isReport = Array.isArray(given?.findings) && given.findings.every(({ check, row }) => check && row);
  if (!isReport) throw new StartupError(`${file} is not a report of the audit: --format json prints one`);
  return { findings: given!.findings! };
}

/** What a change opened and closed, against an earlier report. */
export function diffOf(before: { findings: Finding[] }, now: { findings: Finding[] }) {
  const keys = (findings: Finding[]) => new Set(findings.map(keyOf));
  const [old, current] = [keys(before.findings), keys(now.findings)];
  return {
    opened: now.findings.filter(finding => !old.has(keyOf(finding))),
    closed: before.findings.filter(finding => !current.has(keyOf(finding))),
  };
}
