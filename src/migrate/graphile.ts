import { fork } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type postgres from "postgres";
import { PACKAGE_ROOT } from "../config/paths.ts";
import { explainDatabase, ownerHint } from "../database/connection-errors.ts";
import { StartupError } from "../errors/startup-error.ts";
import type { Order, Outcome } from "./graphile-child.ts";
import { appliedMigrations, bodyOf, type Migration } from "./history.ts";
import { productSettings } from "./product.ts";

export const GRAPHILE_CLI = path.join(
  path.dirname(createRequire(import.meta.url).resolve("graphile-migrate/package.json")),
  "dist",
  "cli.js",
);
const extension = import.meta.url.endsWith(".ts") ? "ts" : "js";
const CHILD = fileURLToPath(new URL(`./graphile-child.${extension}`, import.meta.url));
const GMRC = path.join(PACKAGE_ROOT, ".gmrc");

/** Of graphile-migrate's connections, and the installer's. */
const APPLICATION = "tms migrate";

export const INTERRUPTED = "Interrupted: what was not committed is rolled back";

interface Run {
  command: Order["command"];
  ownerUrl: string;
  /** All migrations of this build. */
  build: Migration[];
  log: (line: string) => void;
  /** Aborted with the name of a signal, which graphile-migrate is ended with. */
  signal: AbortSignal | undefined;
  /** Null: a new database gets it. */
  sampleProduct: boolean | null;
}

/** Applies what is pending. Throws StartupError that names the migration which failed, and those before it which stay. */
export async function graphileMigrate(sql: postgres.Sql, run: Run): Promise<void> {
  const { build, ownerUrl, log, signal } = run;
  const before = (await appliedMigrations(sql)).length;
  for (let waited = 0; ; waited++) {
    const fault = await runChild(run);
    if (!fault) return;
    const applied = await appliedMigrations(sql).catch(() => []);
    if (signal?.aborted) {
      await endWorkers(sql);
      const stays = (await appliedMigrations(sql))
        .slice(before)
        .map(({ filename }) => fileOf(build, filename));
      throw new StartupError(INTERRUPTED + stayText(stays));
    }
    // Somebody runs graphile-migrate by hand, past our lock.
    if (fault.message !== "Failed to get exclusive lock" || waited >= 600) {
      const stays = applied.slice(before).map(({ filename }) => fileOf(build, filename));
      throw await explain(fault, build[applied.length], stays, ownerUrl);
    }
    if (waited === 0) log("graphile-migrate is at work on this database; waiting for it to end");
    await sleep(1000);
  }
}

/** The server goes on with a statement whose client is gone. */
export async function endWorkers(sql: postgres.Sql): Promise<void> {
  await sql`
    select pg_terminate_backend(pid, 5000) from pg_stat_activity
    where application_name = ${APPLICATION} and datname = current_database() and usename = current_user`;
}

function runChild({ command, ownerUrl, signal, sampleProduct }: Run): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = fork(CHILD, [], {
      cwd: PACKAGE_ROOT,
      env: { ...process.env, DATABASE_URL: ownerUrl, PGAPPNAME: APPLICATION },
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    let outcome: Outcome | undefined;
    let stderr = "";
    child.stderr!.setEncoding("utf8").on("data", text => (stderr += text));
    const end = () => child.kill(signal!.reason as NodeJS.Signals);
    if (signal?.aborted) end();
    else signal?.addEventListener("abort", end);
    child
      .on("message", message => (outcome = message as Outcome))
      .on("error", reject)
      .on("close", (_code, by) => {
        signal?.removeEventListener("abort", end);
        const silent = by ? `ended by ${by}` : (stderr.trim().split("\n").pop() ?? "");
        resolve(outcome === undefined ? { message: `graphile-migrate ${silent}` } : outcome);
      });
    const settings = productSettings(sampleProduct);
    child.send({ command, ownerUrl, gmrc: GMRC, settings } satisfies Order, () => {});
  });
}

const fileOf = (build: Migration[], filename: string) =>
  build.find(migration => migration.filename === filename)?.file ?? filename;

const stayText = (files: string[]) =>
  files.length > 0 ? ` (applied before it, and stays: ${files.join(", ")})` : "";

async function explain(
  fault: Exclude<Outcome, null>,
  failed: Migration | undefined,
  stays: string[],
  url: string,
): Promise<StartupError> {
  const { message, code = "", hint, position } = fault;
  const error = Object.assign(new Error(message), { code });
  if (!/^[0-9A-Z]{5}$/.test(code)) {
    const explained = explainDatabase(error, url, "DATABASE_URL");
    if (explained instanceof StartupError) return explained;
  }
  const cause = `${message}${ownerHint(error, url) || (hint ? `: ${hint.replace(/\.$/, "")}` : "")}`;
  // The last migration is there: the answer to its commit was lost.
  if (!failed && stays.length > 0) return new StartupError(`${stays.at(-1)} was applied, and then: ${cause}`);
  if (!failed) return new StartupError(`db/migrations/current.sql failed and was rolled back: ${cause}`);
  const line = position && (await lineOf(failed, Number(position), url));
  const place = line ? `${failed.file} (line ${line} as compiled)` : failed.file;
  return new StartupError(`${place} failed and was rolled back: ${cause}${stayText(stays)}`);
}

/** The migration's own statements, with graphile-migrate's placeholders replaced. */
export async function compiled(migration: Migration, connectionString: string): Promise<string> {
  const { compile } = await import("graphile-migrate"); // a fifth of a second, which other commands save
  const migrationsFolder = path.join(PACKAGE_ROOT, "db", "migrations");
  return compile({ connectionString, migrationsFolder }, await bodyOf(migration));
}

async function lineOf(migration: Migration, position: number, url: string): Promise<number> {
  return (await compiled(migration, url)).slice(0, position).split("\n").length;
}

/** Says, while `work` waits for a lock, who holds it. */
export async function tellingBlockers<T>(
  sql: postgres.Sql,
  log: (line: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  const watch = setInterval(() => void tellBlockers(sql, log).catch(() => {}), 5_000);
  try {
    return await work();
  } finally {
    clearInterval(watch);
  }
}

async function tellBlockers(sql: postgres.Sql, log: (line: string) => void) {
  const blockers = await sql<{ pid: number; who: string }[]>`
    select blocker as pid, concat_ws(', ', a.usename, nullif(a.application_name, '')) as who
    from pg_stat_activity w, unnest(pg_blocking_pids(w.pid)) as blocker left join pg_stat_activity a on a.pid = blocker
    where w.application_name = ${APPLICATION} and w.datname = current_database()`;
  for (const { pid, who } of blockers) log(`A migration waits for a lock of process ${pid} (${who})`);
}
