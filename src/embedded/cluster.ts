/** The folder of a Postgres cluster: created once, and used by the same major version only. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, mkdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { StartupError } from "../errors/startup-error.ts";
import type { Account } from "./account.ts";
import { readFileIfThere } from "./files.ts";

const run = promisify(execFile);

/** Postgres and system programs do not inherit our environment: PG* variables, locale and time zone would change their behaviour. */
export const serverEnv = { PATH: process.env.PATH ?? "/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };

export async function checkVersion(cluster: string, native: string) {
  const found = readFileIfThere(path.join(cluster, "PG_VERSION"))?.trim();
  if (found === undefined) return;
  const { stdout } = await run(path.join(native, "bin", "postgres"), ["-V"], { env: serverEnv });
  const ours = /\d+/.exec(stdout)![0];
  if (found !== ours) {
    throw new StartupError(
      `${cluster} was written by Postgres ${found} and this is Postgres ${ours}; ` +
        (Number(found) > Number(ours)
          ? "update the project, or set SERVICE_DATA_DIR"
          : "set SERVICE_DATA_DIR to start with an empty one"),
    );
  }
}

/** initdb runs below a shell that holds a pipe to us, and ends with us: what it goes on writing, the next start would remove below it. */
const WATCHDOG = `
exec 3<&0 </dev/null
( read -r _ <&3; kill -KILL 0 ) 2>/dev/null >&2 &
watch=$!
"$@" 3<&-
status=$?
kill $watch
exit $status`;

export async function initdb(
  native: string,
  cluster: string,
  password: string,
  account: Account | undefined,
  settings: Record<string, string> = {},
) {
  // Written under another name and renamed, so that the next start repeats an initdb that was cut short.
  const draft = `${cluster}.new`;
  const passwordFile = `${cluster}.password`;
  try {
    // An initdb that was killed may write for a moment longer.
    await rm(draft, { recursive: true, force: true, maxRetries: 10 });
    await mkdir(draft, { mode: 0o700 });
    await rm(passwordFile, { force: true });
    await writeFile(passwordFile, `${password}\n`, { mode: 0o600, flag: "wx" });
    if (account) for (const mine of [draft, passwordFile]) await chown(mine, account.uid, account.gid);
    const args = [
      "-D",
      draft,
      "--username=postgres",
      "--auth=scram-sha-256",
      `--pwfile=${passwordFile}`,
      "--encoding=UTF8",
    ];
    args.push("--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8");
    if (settings.fsync === "off") args.push("--no-sync");
    // In its own session, like the server: Ctrl-C in the terminal goes to us alone.
    const child = spawn("/bin/sh", ["-c", WATCHDOG, "sh", path.join(native, "bin", "initdb"), ...args], {
      ...account,
      cwd: "/",
      env: serverEnv,
      detached: true,
      stdio: ["pipe", "ignore", "pipe"],
    });
    child.stdin.on("error", () => {});
    let stderr = "";
    child.stderr.setEncoding("utf8").on("data", text => {
      stderr += text;
    });
    const [code] = await once(child, "close");
    if (code !== 0) throw Object.assign(new Error(`initdb ended with ${code}`), { stderr });
    await rename(draft, cluster);
  } finally {
    await rm(passwordFile, { force: true });
  }
}
