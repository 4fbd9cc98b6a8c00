/** The old audit's plants as the yardstick: each is told, or stands here with the reason why it is not. */
import assert from "node:assert/strict";
import { appendFileSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after } from "node:test";
import type postgres from "postgres";
import { differences, manifestLines, shippedLines } from "../../../src/migrate/objects.ts";
import { createDatabase, long, rolledBack } from "../../harness.ts";
import { bodies } from "../plants/bodies.ts";
import { bodyBranches } from "../plants/branches/bodies.ts";
import { functionBranches } from "../plants/branches/functions.ts";
import { keyBranches } from "../plants/branches/keys.ts";
import { rightBranches } from "../plants/branches/rights.ts";
import { roleBranches } from "../plants/branches/roles.ts";
import { tableBranches } from "../plants/branches/tables.ts";
import { triggerBranches } from "../plants/branches/triggers.ts";
import { data } from "../plants/data.ts";
import { functions } from "../plants/functions.ts";
import { keys } from "../plants/keys.ts";
import { policies } from "../plants/policies.ts";
import { rights } from "../plants/rights.ts";
import { roles } from "../plants/roles.ts";
import { tables } from "../plants/tables.ts";
import { idsOf, seedTenants } from "../world.ts";
import { CHECKS, findings, openAudit, PRODUCT, plant, rowFindings } from "./world.ts";

const database = await createDatabase();
await seedTenants(database.sql, 10);
const a = await idsOf(database.sql, "t2");
const b = await idsOf(database.sql, "t5");
const sql = await openAudit(database);
after(async () => {
  await sql.end();
  await database.drop();
});

interface Case {
  file: string;
  /** The check of the old audit. */
  old: string;
  how: string;
  text: string;
}

const PLANTS = { policies, tables, keys, rights, functions, bodies, roles };
const BRANCHES = {
  keyBranches,
  tableBranches,
  rightBranches,
  roleBranches,
  functionBranches,
  bodyBranches,
  triggerBranches,
};
const CASES: Case[] = [
  ...Object.entries(PLANTS).flatMap(([file, plants]) =>
    plants.map(({ check: old, how, sql: text }) => ({ file, old, how, text })),
  ),
  // A branch without a finding is a near miss.
  ...Object.entries(BRANCHES).flatMap(([file, branches]) =>
    branches
      .map(([old, text, ...found], i) => ({ file, old, how: `${file} ${i}`, text, found }))
      .filter(({ found }) => found.length > 0),
  ),
  ...data.map(({ check: old, how, sql: text }) => ({ file: "data", old, how, text: text(a, b) })),
];

/** Told by nothing, by the reason. */
const NOT_TOLD: Record<string, string[]> = {
  "no request role can get there: it is told once one can": [
    "view_leaks: a view of every tenant's events",
    "rewrite_rule: a rule that shows who writes a closed copy",
    "rewrite_rule: a rule that shows what is to be deleted to who may only delete",
    "rewrite_rule: a rule that carries what requests write to where they read, by another's",
    "app_reach: a view of the owner's that was packed into an extension",
    "view_leaks: tableBranches 28",
    "function_bypass: a definer of the owner's that was packed into an extension",
    "function_bypass: a provider's definer, in a schema that is closed to the service's roles",
    "function_bypass: functionBranches 24",
    "function_bypass: functionBranches 25",
    "function_bypass: functionBranches 26",
    "function_bypass: functionBranches 31",
    "function_bypass: functionBranches 32",
    "function_search_path: a provider's definer without pg_temp in its path",
    "function_settings: a provider's function with another role",
    "function_body: a provider's function that becomes another role",
    "function_public: a store in the rights of another role",
  ],
  "of roles that no request acts as; who_reads lists those that read a tenant": [
    "function_bypass: a superuser's definer, elsewhere, for tms_registrar by name",
    "function_bypass: a provider's definer, in an open schema, for a role of the provider's",
    "function_bypass: a definer of tms_registrar's that only others may execute",
    "system_grants: statistics for a report's login",
    "system_grants: the server's files for a login that works for requests, as pg_rewind's asks for",
    "other_grants: a view in the rights of its reader, for a role of somebody else's",
    "system_grants: rightBranches 26",
    "system_grants: rightBranches 28",
    "system_grants: rightBranches 51",
    "system_grants: rightBranches 53",
    "other_grants: rightBranches 52",
    "schema_grants: rightBranches 45",
    "schema_grants: rightBranches 46",
    "schema_grants: rightBranches 47",
    "role_membership: a group that acts as the application",
    "role_membership: a login that acts as the application, with a name like the service's",
    "role_membership: a job with a schema of its own",
    "role_membership: a job that may make schemas, as GRANT ALL on the database lets it",
    "role_membership: a group that reads every tenant",
    "role_membership: a login that reads every tenant, and that others may join",
    "role_membership: who reads every tenant through another",
    "role_membership: a DBA",
    "role_membership: a DBA who was made by an administrator",
    "role_membership: who administers the roles of the service",
    "bypass_role: a job that may also replicate, as change data capture asks for",
    "bypass_role: a login for reports",
    "bypass_role: a login that loads data",
    "bypass_role: roleBranches 21",
    "app_reach: rightBranches 39",
  ],
  "an undeclared reference, or the index of a key: a matter of documentation and of speed": [
    "foreign_key_missing: a side of many-to-many, as Prisma names it",
    "index_missing: keyBranches 22",
  ],
  "a relation of an extension's, which its author answers for": [
    "service_reach: a view that an extension opens to everybody",
    "service_reach: the same, for the service",
    "function_public: connections of a request's own",
  ],
  "a closed schema's table behind a view or a function, to which requests have no way of their own": [
    "app_reach: a copy in a closed schema, behind a view with its reader's rights",
  ],
  "sequences and large objects have no policy, and hold no rows of a table": [
    "other_grants: numbers that can be used up",
    "other_grants: numbers of somebody's own tables that requests may set",
    "app_reach: a large object for everybody, in a database where everybody may read them",
    "function_public: a database made by hand, with large objects for everybody",
  ],
  "an owner whom requests cannot become, of what is not the release's; trusted_owners is about tables of tenants":
    [
      "table_owner: tableBranches 21",
      "table_owner: tableBranches 23",
      "table_owner: tableBranches 27",
      "table_grants: rightBranches 3",
      "function_owner: functionBranches 61",
    ],
  "the auditor reads less: its run says that it cannot read, and the proof that it did not": [
    "table_grants: rightBranches 2",
  ],
  "a superuser changed what pg_catalog answers": [
    "function_leakproof: a search of Postgres's own, marked so that it may use an index",
  ],
  "each function of the service sets what this sets": [
    "role_settings: a name in the events for whoever deploys",
    "role_settings: another search_path for everybody",
  ],
  "texts of views and bodies are not parsed: a request can set any setting by itself": [
    "function_body: a view that enters a tenant",
    "function_body: bodyBranches 14",
  ],
  "about audit.accept(), whose place the repository's file takes": ["function_changed: functionBranches 5"],
};
const REASONS = new Map(
  Object.entries(NOT_TOLD).flatMap(([reason, plants]) => plants.map(one => [one, reason] as const)),
);

/** What is found of rows by another name now. */
const RENAMED: Record<string, string> = {
  user_of_other_tenant: "parent_in_other_tenant",
  parent_of_other_tenant: "parent_in_other_tenant",
  constraint_broken: "constraint_off",
  // Without its foreign key nothing says that a column refers to users: the manifest tells of the key, and the ledger does not add up.
  "user_of_other_tenant: a dropped foreign key of the ledger": "credit_balance",
  "parent_missing: a tenant that another named, deleted with triggers off": "tenant_missing",
};

const shipped = shippedLines();

const words = (f: { severity: string; relation: string | null; detail: string }, check: string) =>
  `${f.severity} ${check} ${f.relation} ${f.detail}`;

async function byChecks(tx: postgres.TransactionSql, ofRows: boolean): Promise<string[]> {
  const checks = await findings(tx, ofRows ? [...CHECKS, ...PRODUCT] : CHECKS);
  const rows = ofRows ? await rowFindings(tx) : [];
  return [...checks, ...rows].map(f => words(f, f.check));
}

/** The plants of what the proof tries. It acts for long, and is asked where no check says anything. */
const BY_ACTING = ["policies", "rights", "roles"];

async function byProof(tx: postgres.TransactionSql): Promise<string[]> {
  const faults = await tx<{ relation: string; claim: string }[]>`
    select relation, claim from pg_temp.prove(null, 3, true, true) where result = 'fault'`;
  return faults.map(({ relation, claim }) => `error proof ${relation} ${claim}`);
}

const before = await rolledBack(sql, async tx => new Set(await byChecks(tx, true)));

/** Who tells it, with which severities. */
async function tellers({ file, text }: Case): Promise<Map<string, Set<string>>> {
  const lines = await rolledBack(sql, async tx => {
    await plant(tx, text);
    const found = (await byChecks(tx, file === "data")).filter(line => !before.has(line));
    if (found.length > 0) return found;
    const manifest = differences(shipped, await manifestLines(tx)).map(f => words(f, "manifest"));
    return BY_ACTING.includes(file) ? [...manifest, ...(await byProof(tx))] : manifest;
  });
  const by = new Map<string, Set<string>>();
  for (const line of lines) {
    const [severity, check] = line.split(" ") as [string, string];
    by.set(check, new Set([...(by.get(check) ?? []), severity]));
  }
  return by;
}

long("each plant of the old audit is told by the new one, or stands here with the reason", async t => {
  const file = path.join(mkdtempSync(path.join(tmpdir(), "tms-plants-")), "told.tsv");
  writeFileSync(file, "");
  const unknown: string[] = [];
  const counts = { "a check": 0, proof: 0, "manifest alone": 0, nothing: 0 };
  for (const one of CASES) {
    const by = await tellers(one);
    const name = `${one.old}: ${one.how}`;
    const reason = REASONS.get(name);
    const told = [...by].map(([check, severities]) => `${check} (${[...severities].join(", ")})`);
    const line = [one.file, one.old, one.how, told.join("; ") || reason];
    appendFileSync(file, `${line.join("\t")}\n`);
    const others = [...by.keys()].filter(check => check !== "manifest");
    if (others.includes("proof")) counts.proof++;
    else if (others.length > 0) counts["a check"]++;
    else if (by.size > 0) counts["manifest alone"]++;
    else counts.nothing++;
    if (by.size === 0 && !reason) unknown.push(`${name} is told by nothing: ${one.text.slice(0, 200)}`);
    if (by.size > 0 && reason) unknown.push(`${name} is told by ${told.join("; ")}`);
    if (one.file === "data") {
      const check = RENAMED[name] ?? RENAMED[one.old] ?? one.old;
      if (!by.has(check)) unknown.push(`${check} does not find ${one.how}: ${told.join("; ")}`);
    }
  }
  t.diagnostic(`${CASES.length} plants: ${JSON.stringify(counts)}; ${file}`);
  assert.deepEqual(unknown, []);
});
