/**
 * What decides who sees what in this service's own objects, against the lines that the release ships. Nothing that is stored in the
 * database answers: the query is sent.
 */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import type postgres from "postgres";
import { PACKAGE_ROOT } from "../config/paths.ts";
import { bySeverity, type Finding } from "../values/finding.ts";

/** Written by `npm run release`: what every database has, and what one with the sample product has beside that. */
export const MANIFESTS = {
  core: path.join(PACKAGE_ROOT, "db", "audit", "manifest.tsv"),
  product: path.join(PACKAGE_ROOT, "db", "product", "manifest.tsv"),
};
const QUERY = readFileSync(path.join(PACKAGE_ROOT, "db", "audit", "manifest.sql"), "utf8");

/** The name of this check in reports. */
export const NOT_AS_RELEASED = "not_as_released";

interface Line {
  kind: string;
  name: string;
  owner: string;
  /** `role=PRIVILEGE,…` of each role but the owner. */
  rights: string;
  definition: string;
}

const COLUMNS = ["kind", "name", "owner", "rights", "definition"] as const;

/** In the caller's transaction. */
export async function manifestLines(tx: postgres.TransactionSql): Promise<Line[]> {
  await tx.unsafe("set local search_path = pg_catalog, pg_temp; set local jit = off;").simple();
  return [...(await tx.unsafe<Line[]>(QUERY))];
}

export const toTsv = (lines: readonly Line[]): string =>
  lines.map(line => `${COLUMNS.map(column => line[column]).join("\t")}\n`).join("");

export function shippedLines(product = true): Line[] {
  const files = product ? Object.values(MANIFESTS) : [MANIFESTS.core];
  const rows = files.flatMap(file => readFileSync(file, "utf8").split("\n")).filter(Boolean);
  return rows.map(row => {
    const values = row.split("\t");
    return Object.fromEntries(COLUMNS.map((column, i) => [column, values[i]!])) as unknown as Line;
  });
}

/** By the function that migrate, the service and the audit look for. */
export const haveProduct = (lines: readonly Line[]): boolean =>
  lines.some(line => isFunction(line) && line.name === "app.sample_product()");

const FIVE = ["tms_owner", "tms_service", "tms_app", "tms_registrar", "tms_auditor"];
/** What hangs on a table, and is named after it. */
const OF_TABLE = ["policy", "trigger", "rule", "keys", "constraint", "index", "unique index", "column"];
const SESSION = /^(app\.|role |row_security|session_replication_role|lo_compat|search_path|quote_all)/i;

/** Why it matters that an object of this kind is as the release made it. */
const WHY: Record<string, string> = {
  function: "Functions decide who is a member, and which tenant a request enters.",
  definer: "It runs with the rights of its owner: who calls it may do what the owner may.",
  table: "Row-level security, its being forced, and the owner decide whether policies apply.",
  view: "A view runs with its owner's rights unless it says otherwise.",
  sequence: "Who reads a sequence knows how many rows there are.",
  column: "Policies, keys and functions rely on the column's type, and on its never being null.",
  index: "Look-ups read other tenants' rows, and deletions take hours.",
  "unique index":
    "Two rows for one identity, or two tenants for one slug: chance decides which one a request meets.",
  constraint: "Keys and tests keep rows from pointing into another tenant.",
  policy: "A policy decides which rows a role sees and writes.",
  trigger: "A trigger runs within every write, and can change the row.",
  keys: "Foreign keys whose triggers are off keep nothing out.",
  rule: "A rule puts another statement in a request's place.",
  type: "Functions take and return it, and domains test values.",
  schema: "Whoever can create in a schema can put an object in another's place.",
  database: "Whoever can create temporary objects or schemas can put them in the way of names.",
  role: "No policy applies to a superuser or BYPASSRLS.",
  member: "What a role may, its members may.",
  setting: "Every session of the role begins with it.",
  "default privileges": "An object is open from the moment it is made.",
  owned: "An owner grants, changes and drops.",
  "event trigger": "It runs in sessions of every role; at login it can name a tenant for them.",
  "system object": "Postgres's own tables and functions know no tenants.",
  "in pg_catalog": "It is found before everything of the same name.",
};

/** The two functions that have the body of two others while a tenant context secret is stored: control.switch_tenant_context(). */
export const WITH_SECRET: Record<string, string> = {
  "app.requires_proof()": "control.proof_required()",
  "app.tenant_id()": "control.signed_tenant_id()",
};

// A function may have become a definer, an index unique: it is the same object.
const keyOf = ({ kind, name }: Line) =>
  `${kind === "definer" ? "function" : kind === "unique index" ? "index" : kind} ${name}`;
const byKey = (lines: readonly Line[]) => new Map(lines.map(line => [keyOf(line), line]));

/** What differs, worst first. */
export function differences(shipped: readonly Line[], found: readonly Line[]): Finding[] {
  const expected = byKey(withSecret(shipped, found));
  const tables = new Set(shipped.filter(({ kind }) => kind === "table").map(({ name }) => name));
  const called = new Set(shipped.filter(isFunction).map(({ name }) => name.split("(")[0]!));
  const more = found.filter(line => !expected.has(keyOf(line)));
  const findings = [...changes(shipped, found), ...more.flatMap(line => added(line, tables, called))];
  return findings.toSorted(bySeverity);
}

/** What of the release's own objects is changed or gone. */
function changes(shipped: readonly Line[], found: readonly Line[]): Finding[] {
  const present = byKey(found);
  return [...byKey(withSecret(shipped, found))].flatMap(([key, line]) => {
    const now = present.get(key);
    return now ? changed(line, now) : gone(line);
  });
}

export const isFunction = ({ kind }: Line) => kind === "function" || kind === "definer";

/** All of the twins' bodies, or none: a mixture is a change. */
function withSecret(shipped: readonly Line[], found: readonly Line[]): readonly Line[] {
  const named = (lines: readonly Line[], name: string) =>
    lines.find(line => isFunction(line) && line.name === name);
  const twins = Object.entries(WITH_SECRET).map(([name, twin]) => ({ name, twin: named(shipped, twin)! }));
  if (!twins.every(({ name, twin }) => named(found, name)?.definition === twin.definition)) return shipped;
  return shipped.map(line => {
    const twin = isFunction(line) && twins.find(({ name }) => name === line.name)?.twin;
    return twin ? { ...line, kind: twin.kind, definition: twin.definition } : line;
  });
}

const words = ({ kind, name }: Line): string =>
  kind === "definer"
    ? `function ${name}`
    : ["keys", "system object", "in pg_catalog", "database", "owned"].includes(kind)
      ? name
      : `${kind} ${name}`;

const tableOf = ({ kind, name }: Line): string | null =>
  kind === "table" || kind === "view" || kind === "keys"
    ? name
    : kind === "column"
      ? name.slice(0, name.search(/\.(?=[^.]*$)/))
      : OF_TABLE.includes(kind)
        ? name.slice(name.lastIndexOf(" on ") + 4)
        : null;

function finding(line: Line, severity: Finding["severity"], detail: string, remedy: string): Finding {
  return {
    check: NOT_AS_RELEASED,
    category: "isolation_config",
    severity,
    tenant_id: null,
    relation: tableOf(line),
    row: { [line.kind]: line.name },
    detail: `${words(line)} ${detail}. ${WHY[line.kind]}`,
    remedy,
  };
}

/** What brings it back. Only what is safe as printed is executable. */
function again(line: Line): string {
  if (isFunction(line) || line.kind === "view" || line.kind === "trigger")
    return "-- install the release again: npm run migrate -- --reinstall";
  if (["role", "member", "setting"].includes(line.kind))
    return "-- as an administrator, with psql: \\i db/roles.sql";
  const table = tableOf(line) ?? (line.kind === "type" ? line.name : null);
  if (!table) return `-- as db/migrations made it: ${line.kind} ${line.name}`;
  const page = `tables/${table.split(".")[1]}.sql`;
  const file = existsSync(path.join(PACKAGE_ROOT, "db", "product", page))
    ? `db/product/${page}`
    : `db/${page}`;
  return table.startsWith("app.") && ["policy", "table"].includes(line.kind)
    ? `-- as ${file} has it; as tms_owner: select app.isolate('${table}');`
    : `-- as ${file} has it`;
}

function gone(line: Line): Finding[] {
  if (line.kind === "database" || line.kind === "default privileges")
    return [finding(line, "warning", "is not there, or without its rights", again(line))];
  const minor = ["index", "setting", "member", "sequence"].includes(line.kind);
  return [finding(line, minor ? "warning" : "error", "is not there", again(line))];
}

function changed(line: Line, now: Line): Finding[] {
  const found: Finding[] = [];
  if (now.definition !== line.definition || now.kind !== line.kind) found.push(redefined(line, now));
  if (now.owner !== line.owner)
    found.push(finding(now, "error", `belongs to ${now.owner} instead of ${line.owner}`, again(line)));
  return [...found, ...regranted(line, now)];
}

const isHash = (text: string) => /^[0-9a-f]{32}$/.test(text);

function redefined(line: Line, now: Line): Finding {
  const plain = line.definition !== now.definition && !isHash(line.definition) && !isHash(now.definition);
  const how = plain ? `: ${now.definition || "(nothing)"} instead of ${line.definition || "(nothing)"}` : "";
  const became = now.kind !== line.kind ? `, and a ${now.kind} now` : "";
  const minor = line.kind === "index" || (line.kind === "setting" && !SESSION.test(line.name));
  return finding(
    now,
    minor ? "warning" : "error",
    `is not as the release made it${how}${became}`,
    again(line),
  );
}

function rightsOf({ rights }: Line): Map<string, Set<string>> {
  const entries = rights.match(/(?:"(?:[^"]|"")*"|[^ "=])+=\S+/g) ?? [];
  return new Map(
    entries.map(entry => {
      const at = entry.lastIndexOf("=");
      return [entry.slice(0, at), new Set(entry.slice(at + 1).split(","))];
    }),
  );
}

function regranted(line: Line, now: Line): Finding[] {
  const [before, after] = [rightsOf(line), rightsOf(now)];
  const minus = (a: Map<string, Set<string>>, b: Map<string, Set<string>>) =>
    [...a].flatMap(([who, rights]) => {
      const rest = [...rights].filter(right => !b.get(who)?.has(right));
      return rest.length > 0 ? [{ who, rights: rest }] : [];
    });
  const gained = minus(after, before).map(({ who, rights }) =>
    finding(
      now,
      who === "public" || FIVE.includes(who) ? "error" : "warning",
      `was granted to ${who}: ${rights.join(", ")}`,
      revoke(now, who, rights),
    ),
  );
  const lost = minus(before, after).map(({ who, rights }) =>
    finding(
      now,
      "warning",
      `is no longer granted to ${who}: ${rights.join(", ")}; requests that need it fail`,
      again(line),
    ),
  );
  return [...gained, ...lost];
}

function revoke({ kind, name }: Line, who: string, rights: string[]): string {
  const list = rights.map(right => right.replace("*", "")).join(", ");
  const on: Record<string, string> = {
    function: `routine ${name}`,
    definer: `routine ${name}`,
    table: `table ${name}`,
    view: `table ${name}`,
    sequence: `sequence ${name}`,
    schema: `schema ${name}`,
    type: `type ${name}`,
  };
  if (on[kind]) return `revoke ${list} on ${on[kind]} from ${who};`;
  return `-- revoke ${list} on ${name} from ${who}, as whoever granted it`;
}

function added(line: Line, tables: Set<string>, called: Set<string>): Finding[] {
  const { kind, name, definition, owner } = line;
  const report = (severity: Finding["severity"], detail: string, remedy: string) => [
    finding(line, severity, detail, remedy),
  ];
  const strange = "is not of this release";
  if (OF_TABLE.includes(kind)) {
    if (!tables.has(tableOf(line)!) || kind === "index") return [];
    const minor = ["column", "constraint", "unique index"].includes(kind);
    const detail = kind === "keys" ? `has foreign keys that are ${definition}` : strange;
    const vouch = `-- read it with \\d ${tableOf(line)}: drop it, or vouch for it (docs/guides/any-postgres.md)`;
    return report(minor ? "warning" : "error", detail, vouch);
  }
  switch (kind) {
    case "definer":
    case "function":
      if (!called.has(name.split("(")[0]!)) return []; // function_unknown asks who vouches for it
      return report(
        "error",
        "has the name of a function of this release, and may be called in its place",
        `-- read it with \\sf ${name}: drop it, or give it a name of its own`,
      );
    case "member": {
      const [member, role] = name.split(" of ") as [string, string];
      if (FIVE.includes(member))
        return report(
          "error",
          `may not be: ${definition}`,
          `-- as an administrator: revoke ${role} from ${member};`,
        );
      return report(
        "warning",
        `${strange}: ${definition}`,
        `-- as an administrator: revoke ${role} from ${member};`,
      );
    }
    case "setting":
      // These only make errors of what shows no row.
      if (/^app\.require_(tenant|maintenance) /.test(name)) return [];
      return report(
        SESSION.test(name) ? "error" : "warning",
        `${strange}: ${definition}`,
        "-- as an administrator: alter role … reset it, or db/roles.sql",
      );
    case "event trigger":
      // Requests make no objects, and do log in.
      return report(
        definition.startsWith("login|") ? "error" : "warning",
        `${strange}: ${definition.split("|")[0]}`,
        `-- read its function; then, as its owner: alter event trigger ${name} disable; or vouch for it`,
      );
    case "default privileges":
    case "database":
    case "system object":
      return regranted({ ...line, rights: "" }, line);
    case "owned":
      return report(
        "error",
        `belongs to ${owner}, which should own nothing like it`,
        "-- give it to tms_owner",
      );
    case "in pg_catalog":
      return report("error", `is ${definition}`, "-- as a superuser: drop it, or take the mark away");
    default:
      return []; // tables, views, sequences and types of whoever builds on the service: the checks look at these
  }
}
