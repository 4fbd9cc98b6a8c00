/** `npm run gm -- <command>`: graphile-migrate with the environment's three databases, else the embedded Postgres's. */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { compile } from "graphile-migrate";
import type postgres from "postgres";
import { PACKAGE_ROOT } from "../config/paths.ts";
import { onConnection } from "../database/command-connection.ts";
import { explainDatabase } from "../database/connection-errors.ts";
import { requireAddress, requireDatabase } from "../database/url.ts";
import { openEmbedded } from "../embedded/embedded.ts";
import { StartupError, tell } from "../errors/startup-error.ts";
import { GRAPHILE_CLI } from "../migrate/graphile.ts";
import {
  appliedMigrations,
  COMMITTED,
  CURRENT,
  checkHistory,
  committedMigrations,
  statementsOf,
} from "../migrate/history.ts";
import { install } from "../migrate/installer.ts";
import { productSettings } from "../migrate/product.ts";
import { releaseHash } from "../migrate/release.ts";
import { onInterruption, statusOf } from "./interruption.ts";
import { environmentFolder, environmentProduct } from "./owner.ts";
import { pgOptions } from "./pg-options.ts";

const NAMES = ["DATABASE_URL", "ROOT_DATABASE_URL", "SHADOW_DATABASE_URL"] as const;
const args = process.argv.slice(2);
const asked = (word: RegExp) => args.some(arg => word.test(arg));
const SHADOW = /^--shadow(=true)?$/;
const GATE = "select control.gate();";

async function main(signal: AbortSignal) {
  // A variable of the shell that did not arrive must not turn `reset --erase` to another database.
  const empty = NAMES.find(name => process.env[name] === "");
  if (empty) throw new StartupError(`${empty} is empty: set it, or unset it`);
  if (args.length === 0 || asked(/^--(help|version)$/)) return run({}, signal);
  if (asked(/^(watch|current|commit|compile|run)$/)) refuseMistypedIncludes();
  if (NAMES.some(name => process.env[name])) {
    return run(checkEnvironment(), signal);
  }
  const { urls, stop, lost } = await openEmbedded({ dataDir: environmentFolder(), log: console.error });
  try {
    const code = await run(
      { DATABASE_URL: urls.owner, ROOT_DATABASE_URL: urls.root, SHADOW_DATABASE_URL: urls.shadow },
      signal,
    );
    const fault = code !== 0 && lost();
    if (fault) tell(fault);
    return code;
  } finally {
    await stop();
  }
}

/** The addresses, and what graphile-migrate would say of them in objects and stacks. */
function checkEnvironment(): Record<string, string> {
  const need = (name: (typeof NAMES)[number], what: string) => {
    if (!process.env[name]) throw new StartupError(`${name} is missing: ${what}`);
  };
  need("DATABASE_URL", "tms_owner's login on the database to work on");
  // The first two replay every migration there and status insists on its address; others go there when told to.
  if (asked(/^(commit|uncommit|status)$/) || asked(SHADOW))
    need("SHADOW_DATABASE_URL", "tms_owner's login on an empty database that may be wiped");
  if (asked(/^(commit|uncommit|reset)$/))
    need("ROOT_DATABASE_URL", "the login of an administrator, who drops and makes databases");
  const urls: Record<string, string> = {};
  for (const name of NAMES) {
    const url = process.env[name];
    if (!url) continue;
    urls[name] = requireAddress(url, name);
    if (name !== "ROOT_DATABASE_URL") requireDatabase(url, name);
  }
  return urls;
}

/** What graphile-migrate does not see, or tells in stacks: `uncommit` when the migration's file is gone already. */
async function checkDatabases(databases: Record<string, string>) {
  const ask = async (name: (typeof NAMES)[number], work: (sql: postgres.Sql) => Promise<unknown>) => {
    const url = databases[name];
    if (!url) return;
    await onConnection(url, work).catch(error => {
      throw explainDatabase(error, url, name);
    });
  };
  // It takes another branch's migration of the same number for its own, and says that all is up to date.
  if (asked(/^(watch|current|migrate|status|commit|uncommit)$/)) {
    const build = await committedMigrations();
    await ask("DATABASE_URL", async sql => checkHistory(build, await appliedMigrations(sql)));
  }
  const reach = async (sql: postgres.Sql) => sql`select`;
  if (asked(/^(commit|uncommit|reset|--root|--rootDatabase)$/)) await ask("ROOT_DATABASE_URL", reach);
  else if (asked(SHADOW)) await ask("SHADOW_DATABASE_URL", reach);
  else if (asked(/^run$/)) await ask("DATABASE_URL", reach);
}

/** As graphile-migrate has it; any other spelling is a comment to it, which includes nothing. */
const INCLUDE = /^--![ \t]*include[ \t]+.*\.sql[ \t]*$/;

function refuseMistypedIncludes() {
  const fixtures = path.join(path.dirname(CURRENT), "fixtures");
  const included = existsSync(fixtures) ? readdirSync(fixtures, { recursive: true, encoding: "utf8" }) : [];
  const files = [CURRENT, ...args, ...included.map(name => path.join(fixtures, name))];
  for (const file of new Set(files.filter(name => name.endsWith(".sql") && existsSync(name)))) {
    const lines = readFileSync(file, "utf8").split(/\r?\n/);
    const at = lines.findIndex(line => /^\s*--\s*!\s*include(?!d)/i.test(line) && !INCLUDE.test(line));
    if (at >= 0)
      throw new StartupError(
        `${path.relative(PACKAGE_ROOT, file)}, line ${at + 1}: "${lines[at]!.trim()}" includes nothing. Write "--! include <name>.sql", ` +
          "the name of a file in db/migrations/fixtures, with nothing behind it",
      );
  }
}

/** A migration commits by itself, before the installer and its gate: only the gate as its last statement undoes its tables. */
function refuseUngated(text: string) {
  if (/^--! no-transaction$/m.test(text)) return; // one statement alone
  const lines = statementsOf(text);
  if (lines.length === 0)
    throw new StartupError(
      "db/migrations/current.sql contains no statement: write the migration there first",
    );
  if (lines.at(-1) !== GATE)
    throw new StartupError(
      `The last line of db/migrations/current.sql must be "${GATE}": it rolls the migration back when it leaves a table open`,
    );
}

/** A commit that was killed leaves its file, and the next one would make a second migration of the same text. */
async function refuseTwice(text: string, last: string, connectionString: string) {
  const compiled = await compile({ migrationsFolder: path.dirname(COMMITTED), connectionString }, text);
  const body = compiled.replace(/^(--! \w+:.*\n)+/, "").trim();
  if (readFileSync(path.join(COMMITTED, last), "utf8").endsWith(`\n\n${body}\n`))
    throw new StartupError(
      `db/migrations/committed/${last} has the text of db/migrations/current.sql, as a killed commit leaves it: remove that file, and commit again`,
    );
}

/** graphile-migrate watches its own folder only. */
function installOnChange(url: string) {
  let last = releaseHash();
  let told = "";
  const look = async () => {
    try {
      refuseMistypedIncludes();
      told = "";
    } catch (fault) {
      if (told !== (fault as Error).message) tell(fault);
      told = (fault as Error).message;
    }
    const hash = releaseHash();
    if (hash === last) return;
    last = hash;
    await onConnection(url, async sql => install(sql));
    console.error("A file of db/install.sql has changed: installed the release, and the gate passed");
  };
  setInterval(() => look().catch(fault => tell(explainDatabase(fault, url, "DATABASE_URL"))), 500).unref();
}

/** graphile-migrate applies current.sql once at the start, and says that it has finished: from then on it sees every save. */
function sayWhenReady(output: Readable) {
  let isReady = false;
  createInterface(output).on("line", line => {
    console.log(line);
    if (isReady || !/: Finished \(/.test(line)) return;
    isReady = true;
    console.log(
      "Ready: save db/migrations/current.sql, or a file of db/install.sql, to apply it. Ctrl-C stops",
    );
  });
}

async function run(databases: Record<string, string>, signal: AbortSignal): Promise<number> {
  await checkDatabases(databases);
  if (signal.aborted) return statusOf(signal.reason as NodeJS.Signals);
  const text = args.includes("commit") ? readFileSync(CURRENT) : undefined;
  const committed = readdirSync(COMMITTED).sort();
  if (text) refuseUngated(String(text));
  if (text) await refuseTwice(String(text), committed.at(-1)!, databases.DATABASE_URL!);
  const product = productSettings(environmentProduct()); // for a database that is made anew
  const watches = args[0] === "watch" && !asked(/^--(once|help)$/);
  const child = spawn(process.execPath, [GRAPHILE_CLI, ...args], {
    cwd: PACKAGE_ROOT,
    env: { ...process.env, ...databases, PGOPTIONS: pgOptions(product) },
    stdio: ["inherit", watches ? "pipe" : "inherit", "inherit"],
  });
  if (watches) {
    installOnChange(databases.DATABASE_URL!);
    sayWhenReady(child.stdout!);
  }
  signal.addEventListener("abort", () => child.kill(signal.reason as NodeJS.Signals));
  const code = await new Promise<number>((resolve, reject) =>
    child
      .on("error", reject)
      .on("close", (code, by) => resolve(code ?? statusOf((signal.reason as NodeJS.Signals) ?? by!))),
  );
  if (code !== 0 && text !== undefined) {
    // A commit that is refused leaves the includes' own text there, which no later command takes.
    writeFileSync(CURRENT, text);
    // One that is interrupted leaves its file, and the next one would make a second of the same text.
    for (const file of readdirSync(COMMITTED).filter(name => !committed.includes(name)))
      rmSync(path.join(COMMITTED, file));
  }
  return code;
}

const interruption = new AbortController();
onInterruption(name => interruption.abort(name));
main(interruption.signal).then(
  code => {
    if (interruption.signal.aborted) console.error("Interrupted");
    process.exitCode = code;
  },
  error => {
    tell(error);
    process.exitCode = 1;
  },
);
