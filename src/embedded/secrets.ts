import { randomBytes, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, link, readFile, unlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { StartupError } from "../errors/startup-error.ts";
import { unlessThere } from "./files.ts";

export interface Secrets {
  superuser: string;
  owner: string;
  service: string;
  jwt: string;
}

/** Creates the secrets at the first start. Throws StartupError if a database exists and its secrets are missing or damaged. */
export async function readSecrets(dataDir: string, cluster: string): Promise<Secrets> {
  const file = path.join(dataDir, "secrets.json");
  if (!existsSync(file)) {
    if (existsSync(cluster)) {
      throw new StartupError(
        `${cluster} holds a database, but ${file} with its passwords is missing: restore it, or remove ${cluster}`,
      );
    }
    const made = Object.fromEntries(
      ["superuser", "owner", "service", "jwt"].map(name => [name, randomBytes(32).toString("base64url")]),
    );
    // Written under another name and linked: no process reads half a file, and of two processes the first one's file stays.
    const draft = `${file}.${randomUUID()}`;
    await writeFile(draft, `${JSON.stringify(made, null, 2)}\n`, { mode: 0o600 });
    await link(draft, file).catch(unlessThere);
    await unlink(draft);
  }
  await chmod(file, 0o600);
  try {
    return JSON.parse(await readFile(file, "utf8")) as Secrets;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new StartupError(
      `${file} is damaged: restore it from a backup, or start again without it and ${cluster}`,
    );
  }
}
