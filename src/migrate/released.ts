/** Whether the service's objects in a database are as this build ships them. Nothing that is stored there is asked. */
import { existsSync } from "node:fs";
import path from "node:path";
import type postgres from "postgres";
import { PACKAGE_ROOT } from "../config/paths.ts";
import { SQLSTATE } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import type { Finding } from "../values/finding.ts";
import { differences, haveProduct, isFunction, manifestLines, shippedLines } from "./objects.ts";
import { RELEASE, releaseHash } from "./release.ts";
import { settle } from "./session.ts";

export interface Comparison {
  findings: Finding[];
  /** How many lines of the manifest were compared. */
  lines: number;
  /** The release's functions, for which it answers. */
  functions: string[];
}

/** In a transaction of the caller's. Undefined: of an edited tree the manifest is not written yet. */
export async function compareWithRelease(tx: postgres.TransactionSql): Promise<Comparison | undefined> {
  if (releaseHash() !== RELEASE.hash) return undefined;
  await settle(tx);
  const [citus] = await tx`select from pg_catalog.pg_extension where extname = 'citus'`;
  const now = await manifestLines(tx);
  const all = [shippedLines(haveProduct(now)), now];
  // Distributed tables have other keys, policies and owners' rights; each node's shards are a check of their own.
  const [shipped, found] = citus ? all.map(lines => lines.filter(isFunction)) : all;
  return {
    findings: differences(shipped!, found!),
    lines: shipped!.length,
    functions: shipped!.filter(isFunction).map(({ name }) => name),
  };
}

/** Roles are the cluster's: checks of the catalog look at what of them matters. */
const OF_THE_CLUSTER = ["role", "member", "setting", "system object"];

/** What is not as the release made it, without the harmless. */
export async function changedObjects(tx: postgres.TransactionSql): Promise<Finding[]> {
  const compared = await compareWithRelease(tx);
  const errors = compared?.findings.filter(
    ({ severity, row }) => severity === "error" && !OF_THE_CLUSTER.includes(Object.keys(row)[0]!),
  );
  return withoutVouched(tx, errors ?? [], "audit");
}

/** Without triggers, whose functions somebody vouches for: in the database (`audit`), or in the repository's file (`pg_temp`). */
export async function withoutVouched(
  tx: postgres.TransactionSql,
  findings: Finding[],
  schema: "audit" | "pg_temp",
): Promise<Finding[]> {
  const nameOf = ({ row }: Finding) => row.trigger ?? row["event trigger"];
  if (!findings.some(nameOf)) return findings;
  const vouched = await tx<{ name: string }[]>`
    select format('%I on %s', tgname, tgrelid::regclass) as name from pg_trigger where tgfoid in (select oid from ${tx(schema)}.vouched_functions)
    union all
    select evtname from pg_event_trigger where evtfoid in (select oid from ${tx(schema)}.vouched_functions)`;
  const names = new Set<unknown>(vouched.map(({ name }) => name));
  return findings.filter(finding => !names.has(nameOf(finding)) || isChanged(finding));
}

// One of the release's own that was changed is not what somebody vouched for.
const isChanged = ({ detail }: Finding) => !/ is not of this release/.test(detail);

/** The part of the gate that nothing stored can answer. */
export async function requireReleased(tx: postgres.TransactionSql): Promise<void> {
  const [first, ...more] = await changedObjects(tx);
  if (!first) return;
  const others = more.length > 0 ? ` (and ${more.length} more)` : "";
  const message = `Tenants are not isolated: ${inWords(first)}${others}`;
  throw Object.assign(new Error(message), { code: SQLSTATE.object_not_in_prerequisite_state });
}

export const inWords = ({ detail, remedy }: Finding) => `${detail} To mend it: ${remedy.replace(/^-- /, "")}`;

/** @throws StartupError where files of a build are not those of its release, so that nothing could be compared */
export function requireOwnFiles(): void {
  // Tests are compiled too, in a folder that has the source; and a build without a hash is no release.
  const built = !existsSync(path.join(PACKAGE_ROOT, "src"));
  if (built && RELEASE.hash !== "" && releaseHash() !== RELEASE.hash)
    throw new StartupError(
      `The files of db/ are not those of release ${RELEASE.number}, so nothing tells what was changed: build from a tree whose db/release.json is written (npm run release)`,
    );
}
