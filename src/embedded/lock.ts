import { randomUUID } from "node:crypto";
import { realpathSync, statSync } from "node:fs";
import { link, rm, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StartupError } from "../errors/startup-error.ts";
import { readFileIfThere, unlessThere } from "./files.ts";
import { startOf } from "./processes.ts";

interface Holder {
  pid: number;
  started: string;
  /** The folder that was locked; earlier releases did not write it. */
  folder?: string;
}

const lockFile = (dataDir: string) => path.join(dataDir, "lock");

/** One process at a time owns a data folder. Throws StartupError naming the one that does. */
export async function lock(dataDir: string): Promise<() => Promise<void>> {
  const release = await take(lockFile(dataDir));
  if (release) return release;
  const holder = readLock(dataDir);
  throw holder
    ? inUse(dataDir, holder.pid)
    : new StartupError(`The data folder ${dataDir} is in use by another process`);
}

export const readLock = (dataDir: string) => holderIn(readFileIfThere(lockFile(dataDir)), dataDir);

/** Undefined if a running process holds the lock. */
async function take(file: string): Promise<(() => Promise<void>) | undefined> {
  const folder = realpathSync(path.dirname(file));
  const holder: Holder = { pid: process.pid, started: startOf(process.pid), folder };
  const mine = JSON.stringify(holder);
  // Written under another name and linked: no process reads half a file, and only one link succeeds.
  const draft = `${file}.${randomUUID()}`;
  try {
    await writeFile(draft, mine, { mode: 0o600 });
    for (let attempt = 0; attempt < 10; attempt++) {
      try {
        await link(draft, file);
        return async () => {
          if (readFileIfThere(file) === mine) await unlink(file);
        };
      } catch (error) {
        unlessThere(error as NodeJS.ErrnoException);
      }
      const found = readFileIfThere(file);
      if (holderIn(found, folder)) return undefined;
      // Only one process removes a stale lock, under a second lock: otherwise a slower one would remove the new lock of the first.
      const release = await take(`${file}.stale`);
      if (release) {
        if (found !== undefined && readFileIfThere(file) === found) await rm(file, { force: true });
        await release();
      } else await sleep(50);
    }
    return undefined;
  } finally {
    await rm(draft, { force: true });
  }
}

/** The process that wrote the lock, if it still runs: the start time tells it from a later process with the same id. */
function holderIn(text: string | undefined, folder: string): Holder | undefined {
  try {
    const holder = JSON.parse(text ?? "") as Holder;
    return startOf(holder.pid) === holder.started && !isCopied(holder, folder) ? holder : undefined;
  } catch {
    return undefined;
  }
}

/** A folder copied while in use contains the lock as well; taking it for held would lead to the original's database. */
function isCopied({ folder: held }: Holder, folder: string): boolean {
  if (held === undefined) return false;
  try {
    const [there, here] = [statSync(held), statSync(folder)];
    return there.dev !== here.dev || there.ino !== here.ino;
  } catch {
    return false; // the folder was moved, or cannot be read
  }
}

export const inUse = (dataDir: string, pid: number) =>
  new StartupError(
    `The data folder ${dataDir} is in use by process ${pid}; stop that one first, or set SERVICE_DATA_DIR`,
  );
