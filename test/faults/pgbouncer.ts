/** A real PgBouncer in front of a test database; the variable PGBOUNCER names another program than the installed one. */
import { spawnSync } from "node:child_process";
import { chownSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { freePort } from "../../src/embedded/server.ts";
import { accountOf, startProgram, temporaryFolder } from "./programs.ts";

export const pgbouncer = [process.env.PGBOUNCER || "pgbouncer", "/usr/sbin/pgbouncer", "pgbouncer"].find(
  file => spawnSync(file, ["--version"]).status === 0,
);

/** Major and minor release, or null when it is not installed. */
const pgbouncerVersion: [number, number] | null = pgbouncer
  ? (/PgBouncer (\d+)\.(\d+)/i
      .exec(spawnSync(pgbouncer, ["--version"], { encoding: "utf8" }).stdout)!
      .slice(1, 3)
      .map(Number) as [number, number])
  : null;

export const withoutPgbouncer = pgbouncer
  ? false
  : "no PgBouncer is installed here (Debian: apt-get install pgbouncer)";

/** Since 1.21 it can carry prepared statements from one server connection to another. */
export const keepsStatements =
  pgbouncerVersion !== null && pgbouncerVersion[0] * 100 + pgbouncerVersion[1] >= 121;

export interface Pooler {
  /** The service's login, through the pooler. */
  url: string;
  stop(): Promise<void>;
}

/** Three server connections for any number of clients, so that relying on the same connection fails. */
export async function startPgbouncer(
  serviceUrl: string,
  settings: Record<string, string | number> = {},
): Promise<Pooler> {
  const server = new URL(serviceUrl);
  const account = process.getuid!() === 0 ? accountOf("nobody") : undefined;
  const folder = temporaryFolder("pgbouncer", account);
  const port = Number(settings.listen_port ?? (await freePort()));
  const ini = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "scram-sha-256",
    auth_file: path.join(folder, "users.txt"),
    pool_mode: "transaction",
    default_pool_size: 3,
    max_client_conn: 500,
    ...settings,
  };
  const users = `"${decodeURIComponent(server.username)}" "${decodeURIComponent(server.password)}"\n`;
  const text = `[databases]\n* = host=${server.hostname} port=${server.port}\n[pgbouncer]\n${Object.entries(
    ini,
  )
    .map(([name, value]) => `${name} = ${value}\n`)
    .join("")}`;
  for (const [name, content] of Object.entries({ "users.txt": users, "pgbouncer.ini": text })) {
    const file = path.join(folder, name);
    writeFileSync(file, content, { mode: 0o600 });
    if (account) chownSync(file, account.uid, account.gid);
  }
  const running = await startProgram(pgbouncer!, [path.join(folder, "pgbouncer.ini")], port, account);
  return {
    // PgBouncer refuses settings in the address.
    url: Object.assign(new URL(serviceUrl), { hostname: "127.0.0.1", port: String(port), search: "" }).href,
    stop: async () => {
      await running.stop("SIGKILL"); // newer ones wait at SIGTERM for clients to leave
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
