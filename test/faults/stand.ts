/**
 * All that stands between a client and its rows, each part a process of its own that can be killed:
 * clients, a wire, the service, a wire, PgBouncer where it is installed, Postgres.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { type Embedded, startEmbedded } from "../../src/embedded/embedded.ts";
import { freePort } from "../../src/embedded/server.ts";
import { migrate } from "../../src/migrate/migrate.ts";
import { type Command, tenancy } from "../cli/command.ts";
import { TEST_SECRET } from "../harness.ts";
import { until } from "../until.ts";
import { type Pooler, startPgbouncer, withoutPgbouncer } from "./pgbouncer.ts";
import { startWire, type Wire } from "./wire.ts";

export interface Stand {
  /** Where the clients go. */
  address: string;
  /** As superuser, past every wire. A lost connection is replaced. */
  sql: postgres.Sql;
  toService: Wire;
  toDatabase: Wire;
  killPostgres(): Promise<void>;
  killBackend(): Promise<void>;
  killService(): Promise<void>;
  killPooler(): Promise<void>;
  /** Leaves no free byte where Postgres writes, until the returned function is called. */
  fillDisk(): Promise<() => Promise<void>>;
  /** The service's clock: first an hour back, then an hour ahead, then right again. */
  moveClock(): void;
  /** Stops the process of the service without ending it, for so long. */
  pauseService(ms: number): Promise<void>;
  end(): Promise<void>;
}

/** Why a disk cannot be filled here; false: it can. */
export const withoutTmpfs =
  process.platform !== "linux" || process.getuid!() !== 0
    ? "only root on Linux can mount a small disk"
    : mounts()
      ? false
      : "nothing can be mounted here";

function mounts(): boolean {
  const folder = mkdtempSync(path.join(tmpdir(), "tms-mount-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "tmpfs", folder], { stdio: "ignore" });
    execFileSync("umount", [folder]);
    return true;
  } catch {
    return false;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Loaded before the service: at each signal its `Date` goes on to the next of these hours. */
const CLOCK = `data:text/javascript,${encodeURIComponent(`
  const { now } = Date;
  const hours = [0, -1, 1];
  let moved = 0;
  process.on("SIGUSR2", () => { moved = (moved + 1) % hours.length; });
  globalThis.Date = class extends Date {
    constructor(...given) { given.length > 0 ? super(...given) : super(Date.now()); }
    static now() { return now() + hours[moved] * 3600000; }
  };`)}`;

/** `smallDisk`: Postgres on a disk that can be filled. */
export async function startStand({ smallDisk }: { smallDisk: boolean }): Promise<Stand> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "tms-faults-"));
  chmodSync(dataDir, 0o711); // root's Postgres runs as another user
  if (smallDisk) execFileSync("mount", ["-t", "tmpfs", "-o", "size=400m,mode=711", "tmpfs", dataDir]);
  // What a crash may lose is what Postgres promises by default: nothing that was committed.
  const settings = { max_wal_size: "64MB", min_wal_size: "32MB" };
  const port = await freePort();
  let stopped = false;
  const startPostgres = () =>
    startEmbedded({
      dataDir,
      port,
      settings,
      onExit: () => {
        stopped = true;
      },
    });
  let server: Embedded = await startPostgres();
  await migrate({ ownerUrl: server.urls.owner, rootUrl: server.urls.root, current: true });
  const database = new URL(server.urls.service).pathname;
  const rootUrl = Object.assign(new URL(server.urls.root), { pathname: database }).href;
  const sql = postgres(rootUrl, { max: 2, onnotice: () => {}, backoff: () => 0.1 });

  let pooler: Pooler | undefined;
  const startPooler = async (at?: string) => {
    pooler = await startPgbouncer(server.urls.service, {
      default_pool_size: 10,
      server_login_retry: 1,
      ...(at && { listen_port: at }),
    });
  };
  if (!withoutPgbouncer) await startPooler();
  const toDatabase = await startWire(pooler?.url ?? server.urls.service);

  const servicePort = await freePort();
  const env = {
    SERVICE_PORT: String(servicePort),
    // What the network has lost ends sooner than in production.
    SERVICE_DATABASE_URL: `${toDatabase.url}?query_timeout=3000`,
    SERVICE_DATABASE_PREPARED: pooler ? "false" : "true",
    SERVICE_JWT_SECRET: TEST_SECRET,
    SERVICE_MULTI_TENANT_MODE: "true",
    SERVICE_LOG_LEVEL: "error",
    NODE_OPTIONS: `--import ${CLOCK}`,
  };
  let service: Command;
  const startService = async () => {
    service = tenancy(["start"], env);
    await until("the service is up", async () => {
      if (service.child.exitCode !== null) throw new Error(service.stderr);
      return fetch(`http://127.0.0.1:${servicePort}/health`).then(
        ({ ok }) => ok,
        () => false,
      );
    });
  };
  await startService();
  const toService = await startWire(`http://127.0.0.1:${servicePort}/`);

  const answers = () =>
    sql`select`.then(
      () => true,
      () => false,
    );
  const restartPostgres = async () => {
    await server.stop();
    stopped = false;
    server = await startPostgres();
  };

  return {
    address: toService.url,
    sql,
    toService,
    toDatabase,
    async killPostgres() {
      const [found] = await sql<{ folder: string }[]>`select current_setting('data_directory') as folder`;
      const pid = Number(readFileSync(path.join(found!.folder, "postmaster.pid"), "utf8").split("\n")[0]);
      process.kill(pid, "SIGKILL");
      await until("Postgres is gone", () => stopped);
      await restartPostgres();
    },
    async killBackend() {
      const [found] = await sql<{ pid: number }[]>`
        select pid from pg_stat_activity where usename = 'tms_service' order by random() limit 1`;
      if (found) process.kill(found.pid, "SIGKILL");
      await until("Postgres has recovered", answers);
    },
    async killService() {
      service.child.kill("SIGKILL");
      await service.ended;
      await startService();
    },
    async killPooler() {
      await pooler!.stop();
      await startPooler(new URL(pooler!.url).port);
    },
    async fillDisk() {
      const ballast = path.join(dataDir, "ballast");
      const file = openSync(ballast, "w");
      const fill = () => {
        for (let size = 1 << 20; size >= 1; )
          try {
            writeSync(file, Buffer.alloc(size));
          } catch {
            size >>= 1;
          }
      };
      fill();
      return async () => {
        fill(); // what Postgres has given back meanwhile
        closeSync(file);
        rmSync(ballast);
        if (stopped) await restartPostgres();
        await until("Postgres works again", async () => {
          if (stopped) await restartPostgres();
          return answers();
        });
      };
    },
    moveClock: () => void service.child.kill("SIGUSR2"),
    async pauseService(ms) {
      service.child.kill("SIGSTOP");
      await sleep(ms);
      service.child.kill("SIGCONT");
    },
    async end() {
      await toService.close();
      service.child.kill("SIGKILL");
      await service.ended;
      await toDatabase.close();
      await pooler?.stop();
      await sql.end({ timeout: 5 });
      await server.stop();
      if (smallDisk) execFileSync("umount", ["-l", dataDir]);
      else await server.remove();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
