/** The server's process: starting, watching, stopping it. */
import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { rm } from "node:fs/promises";
import { createServer } from "node:net";
import { availableParallelism } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StartupError } from "../errors/startup-error.ts";
import type { Account } from "./account.ts";
import { serverEnv } from "./cluster.ts";
import { readFileIfThere } from "./files.ts";
import { commandOf, startOf } from "./processes.ts";

export interface ServerOptions {
  /** The server fails to start if this port is taken. */
  port?: number;
  /** Without `port`: this one if it is free, else any free one. */
  preferredPort?: number;
  /** Server settings, such as `{ fsync: "off" }` for tests. */
  settings?: Record<string, string>;
  /** Called when Postgres ends without `stop()`. */
  onExit?: (message: string) => void;
}

/**
 * Postgres runs below a shell that reads a pipe from us. The pipe closes when we close it, or when our process ends in any way;
 * then the shell requests a fast shutdown, and an immediate one ten seconds later.
 */
const WATCHDOG = `
exec 3<&0 </dev/null
"$@" 3<&- &
pid=$!
( read -r _ <&3; kill -INT $pid; n=0
  while kill -0 $pid && [ $n -lt 100 ]; do sleep 0.1; n=$((n + 1)); done; kill -QUIT $pid ) 2>/dev/null >&2 &
watch=$!
exec 3<&-
wait $pid
status=$?
kill $watch 2>/dev/null
exit $status`;

const logOf = (dataDir: string) => path.join(dataDir, "postgres.log");

/** Messages about a full disk. Not those about shared memory, which is on a file system of its own. */
export const NO_ROOM = /^(?!.*shared memory).*No space left on device|wrote only \d+ of \d+ bytes/m;

/** Whether the server has reported a full disk since it was started. */
export const isFull = (dataDir: string) => NO_ROOM.test(readFileIfThere(logOf(dataDir)) ?? "");

export const noRoom = (dataDir: string) => `The disk is full: ${dataDir}`;

export async function startServer(
  native: string,
  cluster: string,
  dataDir: string,
  account: Account | undefined,
  options: ServerOptions,
) {
  const logFile = logOf(dataDir);
  for (let attempt = 1; ; attempt++) {
    const port = options.port ?? (await freePort(options.preferredPort));
    const settings = {
      port: String(port),
      listen_addresses: "127.0.0.1",
      unix_socket_directories: "",
      cluster_name: "tenancy embedded", // by this the audit recognizes a development server
      timezone: "UTC",
      log_timezone: "UTC",
      // One less than there are cores: the leader process of a parallel query works as well.
      max_parallel_workers: String(availableParallelism() - 1),
      ...options.settings,
    };
    const args = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
    // A killed server leaves its postmaster.pid, which still says that it is ready, perhaps on the same port.
    const left = pidFile(cluster);
    const log = openSync(logFile, "w", 0o600);
    // In its own session: Ctrl-C in the terminal goes to us alone, and we stop Postgres after the last request.
    const child = spawn(
      "/bin/sh",
      ["-c", WATCHDOG, "sh", path.join(native, "bin", "postgres"), "-D", cluster, ...args],
      {
        ...account,
        cwd: "/",
        env: serverEnv,
        detached: true,
        stdio: ["pipe", log, log],
      },
    );
    closeSync(log);
    child.stdin!.on("error", () => {});
    const ended = new Promise<void>(resolve => {
      child.once("close", () => resolve());
      child.once("error", () => resolve());
    });
    let over = false;
    void ended.then(() => {
      over = true;
    });
    while (!over && (pidFile(cluster) === left || readyPort(cluster) !== port)) await sleep(15);
    if (!over) {
      let stopping = false;
      void ended.then(() => {
        if (!stopping)
          options.onExit?.(
            isFull(dataDir)
              ? noRoom(dataDir)
              : `The embedded Postgres stopped by itself; ${logFile} says why`,
          );
      });
      const stop = async () => {
        stopping = true;
        child.stdin!.end();
        await ended;
      };
      return { port, stop };
    }
    const words = readFileIfThere(logFile) ?? "";
    if (/Address already in use|could not bind/.test(words)) {
      if (options.port !== undefined)
        throw new StartupError(`Port ${port} for the embedded Postgres is taken`);
      if (attempt < 5) continue;
    }
    // The backends of a killed postmaster need a moment to notice its end.
    if (/shared memory block .* is still in use/.test(words) && attempt < 20) {
      await sleep(250);
      continue;
    }
    // Checked first: the last messages in the log are only consequences.
    if (NO_ROOM.test(words)) throw Object.assign(new Error(words), { code: "ENOSPC" });
    const reason = /.*(?:FATAL|PANIC): {2}([^\n]*)/s.exec(words)?.[1];
    throw new StartupError(`The embedded Postgres did not start: ${reason ?? `see ${logFile}`}`);
  }
}

const pidFile = (cluster: string) => readFileIfThere(path.join(cluster, "postmaster.pid"));

/** The port of a server that accepts connections, read from its postmaster.pid. */
export function readyPort(cluster: string): number | undefined {
  const lines = pidFile(cluster)?.split("\n");
  return lines?.[7]?.trim() === "ready" ? Number(lines[3]) : undefined;
}

/** We hold the lock, so a server that still runs on this cluster has no owner: waits for its end, then stops it. */
export async function endOrphan(cluster: string) {
  const file = path.join(cluster, "postmaster.pid");
  const pid = Number(readFileIfThere(file)?.split("\n")[0]);
  if (!pid) return;
  // Compares the whole argument: another cluster's path may end like ours.
  const alive = () => commandOf(pid).includes(` -D ${cluster} -c `);
  for (let waited = 0; alive() && waited < 20_000; waited += 50) {
    if (waited === 3_000) process.kill(pid, "SIGINT");
    if (waited === 10_000) process.kill(pid, "SIGQUIT");
    await sleep(50);
  }
  if (alive())
    throw new StartupError(`${cluster} is in use by process ${pid}, a Postgres that does not stop`);
  // Not removing its postmaster.pid: without it the server would shut down within a minute, as in a crash.
  if (`${commandOf(pid)} `.includes(` -D ${cluster} `))
    throw new StartupError(
      `${cluster} is in use by process ${pid}, a Postgres that somebody started by hand: stop it first`,
    );
  // Postgres takes any process with this id, even a zombie, for the server. Without such a process it checks further.
  if (startOf(pid) !== "") await rm(file, { force: true });
}

export function freePort(preferred = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().once("error", error =>
      preferred === 0 ? reject(error) : resolve(freePort()),
    );
    probe.listen(preferred, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => resolve(port));
    });
  });
}
