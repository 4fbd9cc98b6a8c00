import { execFileSync, spawnSync } from "node:child_process";
import { StartupError } from "../errors/startup-error.ts";

export interface Account {
  uid: number;
  gid: number;
}

/** Postgres refuses to run as root, so root starts it as the system user postgres, which is created if missing. */
export function serverAccount(): Account | undefined {
  if (process.platform === "win32") {
    throw new StartupError(
      "The embedded Postgres needs Linux or macOS; set SERVICE_DATABASE_URL to use a server of your own",
    );
  }
  if (process.getuid!() !== 0) return undefined;
  const idOf = (flag: string, name: string) =>
    Number(execFileSync("id", [flag, name], { stdio: "pipe", encoding: "utf8" }));
  if (spawnSync("id", ["-u", "postgres"]).status !== 0) {
    const flags = ["--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin"];
    spawnSync("useradd", [...flags, "postgres"]);
  }
  for (const name of ["postgres", "nobody"]) {
    try {
      return { uid: idOf("-u", name), gid: idOf("-g", name) };
    } catch {
      // Some images have no useradd, or no right to use it; the user nobody always exists.
    }
  }
  throw new StartupError(
    "Postgres does not run as root, and there is no user postgres to run it as; make one, or start as an ordinary user",
  );
}
