import { randomUUID } from "node:crypto";
import { link, rm, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { StartupError } from "../startup-error.ts";
import { readFileIfThere, unlessThere } from "./files.ts";
import { startOf } from "./processes.ts";

interface Holder {
  pid: number;
  started: string;
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

export const readLock = (dataDir: string) => holderIn(readFileIfThere(lockFile(dataDir)));

/** undefined: somebody holds it who lives. */
async function take(file: string): Promise<(() => Promise<void>) | undefined> {
  const mine = JSON.stringify({ pid: process.pid, started: startOf(process.pid) });
  // Written aside and linked: nobody finds it half made, and of several who link it one does.
  const draft = `${file}.${randomUUID()}`;
  await writeFile(draft, mine, { mode: 0o600 });
  try {
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
      if (holderIn(found)) return undefined;
      // Of several who find it stale one removes it, under a lock of its own: a later one would remove the first one's.
      const release = await take(`${file}.stale`);
      if (release) {
        if (found !== undefined && readFileIfThere(file) === found) await rm(file, { force: true });
        await release();
      } else await sleep(50);
    }
    return undefined;
  } finally {
    await unlink(draft);
  }
}

/** The process that wrote it, if that lives: its start time tells it from a later one with its number. */
function holderIn(text: string | undefined): Holder | undefined {
  try {
    const holder = JSON.parse(text ?? "") as Holder;
    return startOf(holder.pid) === holder.started ? holder : undefined;
  } catch {
    return undefined;
  }
}

export const inUse = (dataDir: string, pid: number) =>
  new StartupError(
    `The data folder ${dataDir} is in use by process ${pid}; stop that one first, or set SERVICE_DATA_DIR`,
  );
