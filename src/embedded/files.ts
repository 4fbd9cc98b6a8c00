/** Folders and files of the embedded Postgres, and which account can reach them. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { chmod, mkdir } from "node:fs/promises";
import path from "node:path";
import { StartupError } from "../errors/startup-error.ts";
import type { Account } from "./account.ts";

/** For files of root that the server's account must reach. */
export const SHARED = "/var/lib/tenant-management-service";

/** Creates a folder that the server's account can pass through, whatever the umask; existing folders are not changed. */
export async function makeFolder(folder: string, account: Account | undefined) {
  // One by one: Node's recursive mkdir never returns on a file system without folders, such as /proc.
  const missing: string[] = [];
  for (let at = folder; !existsSync(at); at = path.dirname(at)) missing.unshift(at);
  for (const made of missing) {
    await mkdir(made).catch(unlessThere);
    await chmod(made, account ? 0o711 : 0o700);
  }
}

/** The cluster's folder: in the data folder, unless the server's account cannot get there (a clone under /root). */
export function placeFor(
  dataDir: string,
  account: Account | undefined,
  log?: (line: string) => void,
): string {
  const own = path.join(dataDir, "postgres");
  if (!account || existsSync(own) || reachable(dataDir, account)) return own;
  const place = path.join(
    SHARED,
    createHash("sha256").update(dataDir).digest("hex").slice(0, 16),
    "postgres",
  );
  log?.(`Root's Postgres runs as another user, who cannot enter ${dataDir}: its files are in ${place}`);
  return place;
}

/** Root must not start another user's database, nor create an empty one beside it. */
export function requireOwner(cluster: string, account: Account | undefined): void {
  const owner = statSync(cluster, { throwIfNoEntry: false })?.uid;
  if (!account || owner === undefined || owner === account.uid) return;
  throw new StartupError(
    `${cluster} is the database of another user, whose id is ${owner}: run this as that user, or set SERVICE_DATA_DIR`,
  );
}

/** May the account pass through every folder above and including this one? */
function reachable(folder: string, { uid, gid }: Account): boolean {
  for (let at = folder; ; at = path.dirname(at)) {
    const { mode, uid: owner, gid: group } = statSync(at);
    const may = owner === uid ? mode & 0o100 : group === gid ? mode & 0o010 : mode & 0o001;
    if (!may) return false;
    if (at === path.dirname(at)) return true;
  }
}

/** Removes temporary files that a killed process left. A young one may belong to a process that is about to link it. */
export function removeDrafts(folder: string): void {
  for (const name of readdirSync(folder)) {
    const file = path.join(folder, name);
    const made = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (/^(lock|secrets\.json).*\.[\da-f-]{36}$/.test(name) && made < Date.now() - 3_600_000)
      rmSync(file, { force: true });
  }
}

/** Ignores that another process has created the file in the meantime. */
export function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

export function readFileIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
