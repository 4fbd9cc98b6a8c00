import { readFileSync } from "node:fs";
import { rm, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StartupError } from "../startup-error.ts";
import { readFileIfThere } from "./files.ts";
import { startOf } from "./processes.ts";

interface Holder {
  pid: number;
  started: string;
}

const lockFile = (dataDir: string) => path.join(dataDir, "lock");

/** One process at a time owns a data folder. The holder's start time tells it from a later process with its number. */
export async function lock(dataDir: string): Promise<() => Promise<void>> {
  const file = lockFile(dataDir);
  const mine = JSON.stringify({ pid: process.pid, started: startOf(process.pid) });
  for (let attempt = 0; attempt < 10; attempt++) {
    try {
      await writeFile(file, mine, { flag: "wx", mode: 0o600 });
      return async () => {
        if (readFileIfThere(file) === mine) await unlink(file);
      };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      const holder = readLock(dataDir);
      if (holder) throw inUse(dataDir, holder.pid);
      // Empty for a moment while its maker writes it; then it is somebody's, or stale.
      if (readFileIfThere(file) === "") await sleep(50);
      else await rm(file, { force: true });
    }
  }
  throw new StartupError(`The data folder ${dataDir} is in use by another process`);
}

export function readLock(dataDir: string): Holder | undefined {
  try {
    const holder = JSON.parse(readFileSync(lockFile(dataDir), "utf8")) as Holder;
    return startOf(holder.pid) === holder.started ? holder : undefined;
  } catch {
    return undefined;
  }
}

export const inUse = (dataDir: string, pid: number) =>
  new StartupError(
    `The data folder ${dataDir} is in use by process ${pid}; stop that one first, or set SERVICE_DATA_DIR`,
  );
