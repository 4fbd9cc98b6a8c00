import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type postgres from "postgres";
import { PACKAGE_ROOT } from "../config/paths.ts";
import { explainDatabase, ownerHint } from "../database/connection-errors.ts";
import { StartupError } from "../errors/startup-error.ts";

export const GRAPHILE_CLI = path.join(
  path.dirname(createRequire(import.meta.url).resolve("graphile-migrate/package.json")),
  "dist",
  "cli.js",
);

/** Ours is the only one on the database: the turn is held on `sql`. */
export const APPLICATION = "tms migrate";

export const INTERRUPTED = "Interrupted: what was not committed is rolled back";

interface Run {
  command: "migrate" | "current";
  ownerUrl: string;
  log: (line: string) => void;
  /** Aborted with the name of a signal, which graphile-migrate is ended with. */
  signal: AbortSignal | undefined;
}

/** Of the migrations that ran, the last one did not stay. */
export class RolledBack extends StartupError {
  /** If `file` did stay, it was the gate, which looks when all is committed, or the answer to its commit that was lost. */
  constructor(
    message: string,
    readonly unlessApplied?: { file: string; message: string },
  ) {
    super(message);
  }
}

/** As a process of its own: the library would end ours when its pool loses a connection. */
export async function graphileMigrate(sql: postgres.Sql, run: Run): Promise<void> {
  const { ownerUrl, log, signal } = run;
  return tellingBlockers(sql, log, async () => {
    for (let waited = 0; ; waited++) {
      const { code, output } = await spawnGraphile(run);
      if (code === 0) return;
      if (signal?.aborted) {
        // The server goes on with a statement whose client is gone.
        await sql`
          select pg_terminate_backend(pid, 5000) from pg_stat_activity
          where application_name = ${APPLICATION} and datname = current_database() and usename = current_user`;
        throw new RolledBack(INTERRUPTED);
      }
      // Somebody runs graphile-migrate by hand, past our lock.
      if (!output.includes("Failed to get exclusive lock") || waited >= 600)
        throw faultOf(code, output, ownerUrl);
      if (waited === 0) log("graphile-migrate is at work on this database; waiting for it to end");
      await sleep(1000);
    }
  });
}

function spawnGraphile({ command, ownerUrl, signal }: Run): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [GRAPHILE_CLI, command], {
      cwd: PACKAGE_ROOT,
      env: {
        ...process.env,
        DATABASE_URL: ownerUrl,
        PGAPPNAME: APPLICATION,
        NO_COLOR: "1",
        FORCE_COLOR: "0",
      },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", text => (output += text));
    const end = () => child.kill(signal!.reason as NodeJS.Signals);
    if (signal?.aborted) end();
    else signal?.addEventListener("abort", end);
    child.on("error", reject).on("close", code => {
      signal?.removeEventListener("abort", end);
      resolve({ code, output });
    });
  });
}

function faultOf(code: number | null, output: string, url: string): StartupError {
  if (code === null) return new StartupError("The migrations were interrupted; run them again to finish");
  const at = /Error occurred at line (\d+), column \d+ of "(.+?)"/.exec(output);
  const running = /.*Running (?:migration ')?(.+?\.sql)/s.exec(output)?.[1];
  const message = /^\s*\w*[eE]rror: *(.+)$/m.exec(output)?.[1] ?? output.trim().split("\n").pop() ?? "";
  const fault = Object.assign(new Error(message), {
    code: /^ *Code: *\t(\w{5})$/m.exec(output)?.[1] ?? /\bcode: '(\w+)'/.exec(output)?.[1] ?? "",
  });
  if (!running && !/^[0-9A-Z]{5}$/.test(fault.code)) {
    const explained = explainDatabase(fault, url, "DATABASE_URL");
    if (explained instanceof StartupError) return explained;
  }
  const place = running ? `${running}${at ? ` (line ${at[1]} as compiled)` : ""}` : "The migrations";
  const were = running ? "was" : "were";
  const [, told, , inspected] = /^ *(?:Hint: *\t(.+)|hint: (['"`])(.+)\2,)$/m.exec(output) ?? [];
  const hint = (told ?? inspected?.replaceAll(/\\(.)/g, "$1"))?.replace(/\.$/, "");
  const cause = `${message}${ownerHint(fault, url) || (hint ? `: ${hint}` : "")}`;
  const applied = `${place} ${were} applied, and then: ${cause}`;
  return message.startsWith("Tenants are not isolated")
    ? new StartupError(applied)
    : new RolledBack(
        `${place} failed and ${were} rolled back: ${cause}`,
        running === undefined ? undefined : { file: running, message: applied },
      );
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
