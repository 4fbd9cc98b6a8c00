/**
 * What the data checks of the audit cost beside one count(*) of every table, what the service's requests notice of it,
 * and what the command holds in memory.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SignJWT } from "jose";
import type postgres from "postgres";
import { loadConfig } from "../src/config/config.ts";
import { startServer } from "../src/http/server.ts";
import { sampleProduct } from "../src/product/product.ts";
import { SECRET } from "./cases.ts";
import { type BenchDatabase, type BenchServer, vacuum } from "./database.ts";
import { type Figure, median } from "./report.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
const TABLES = [
  "tenants",
  "users",
  "boards",
  "board_members",
  "generations",
  "media",
  "provider_configs",
  "credit_transactions",
];

/**
 * A thousand rows a tenant: 20 users, 40 boards, 100 memberships, 340 generations, 300 media, 195 credits, 5 configurations.
 * They lie as they come in life, a row of each tenant in turn: `offset 0` keeps the planner from turning the join around.
 */
async function seed(sql: postgres.Sql, tenants: number): Promise<void> {
  const id = (kind: string, n: string) => `md5('${kind}' || t || '/' || (${n}))::uuid`;
  const ids = (kind: string, n: number) =>
    `array(select ${id(kind, "n")} from generate_series(0, ${n - 1}) n) as ${kind}`;
  // What depends on the row's number alone is made once for all tenants: offset 0 keeps it where it stands.
  const from = (rows: number) =>
    `from (select i, timestamptz '2026-01-01' + i * interval '1 minute' as at,
             jsonb_build_object('prompt', 'A lighthouse at dusk, number ' || i) as input from generate_series(0, ${rows - 1}) i offset 0) i
     cross join lateral (select * from public.seed where i >= 0 offset 0) t`;
  await sql.unsafe(`
    create table public.seed as
    select t, md5('t' || t)::uuid as tenant_id, ${ids("u", 20)}, ${ids("b", 40)} from generate_series(1, ${tenants}) t;
    insert into app.tenants (id, name, slug, registration) select tenant_id, 'Tenant ' || t, 't-' || t, '{}' from public.seed`);
  // Two at a time, the largest first: one would leave a core idle for a minute.
  const rows = [
    `insert into app.generations (tenant_id, id, board_id, user_id, artifact_type, status, input, created_at, completed_at)
      select tenant_id, ${id("g", "i")}, b[1 + i % 40], u[1 + i % 20], 'image',
        case when i < 300 then 'completed' when i < 320 then 'pending' else 'failed' end,
        input, at, case when i < 300 then at + interval '1 s' end ${from(340)}`,
    `insert into app.media (tenant_id, id, generation_id, storage_url, content_type, size_bytes, created_at)
      select tenant_id, ${id("m", "i")}, ${id("g", "i")}, 's3://media/' || tenant_id || '/' || i || '.png', 'image/png', 1024, at ${from(300)}`,
    `insert into app.credit_transactions (tenant_id, id, user_id, generation_id, type, amount, balance_after, created_at)
      select tenant_id, ${id("c", "i")}, u[1 + i % 20], case when i >= 20 then ${id("g", "i")} end,
        case when i < 20 then 'grant' else 'usage' end, case when i < 20 then 100 else -1 end, 100 - i / 20, at ${from(195)}`,
    `insert into app.board_members (tenant_id, board_id, user_id, invited_by)
      select tenant_id, b[1 + i % 40], u[1 + (i % 40 + 1 + i / 40) % 20], u[1 + i % 20] ${from(100)}`,
    `insert into app.users (tenant_id, id, auth_provider, auth_subject, role)
      select tenant_id, u[1 + i], 'jwt', 'user-' || t || '-' || i, case i when 0 then 'owner' else 'member' end ${from(20)}`,
    `insert into app.boards (tenant_id, id, owner_id, title, created_at, updated_at)
      select tenant_id, b[1 + i], u[1 + i % 20], 'Board ' || i, at, at ${from(40)}`,
    `insert into app.provider_configs (tenant_id, id, provider_name, config)
      select tenant_id, ${id("p", "i")}, 'provider-' || i, '{"endpoint": "https://provider.example"}' ${from(5)}`,
  ];
  const load = async () => {
    for (;;) {
      const insert = rows.shift();
      if (!insert) return;
      await sql.begin(async transaction => {
        await transaction`set local session_replication_role = replica`;
        await transaction.unsafe(insert);
      });
    }
  };
  await Promise.all([load(), load()]);
  await sql`drop table public.seed`;
  const [first] =
    await sql`select count(distinct tenant_id) as tenants from (select tenant_id from app.media limit 10) m`;
  if (Number(first!.tenants) < 10) throw new Error("The tenants' rows are not mixed");
  await vacuum(sql);
}

/** Empties Postgres's cache and the system's of a database's files; false where this system or server cannot. */
async function emptyCaches(sql: postgres.Sql): Promise<boolean> {
  const [at] = await sql<{ folder: string; version: number }[]>`
    select current_setting('data_directory') || '/base/' || oid as folder, current_setting('server_version_num')::int as version
    from pg_database where datname = current_database()`;
  if (process.platform !== "linux" || at!.version < 180_000) return false;
  await sql`checkpoint`;
  await sql`create extension if not exists pg_buffercache`;
  await sql`select pg_buffercache_evict_all()`;
  return readdirSync(at!.folder).every(file => {
    const of = `of=${path.join(at!.folder, file)}`;
    return spawnSync("dd", [of, "oflag=nocache", "conv=notrunc,fdatasync", "count=0"]).status === 0;
  });
}

const seconds = async (work: () => Promise<unknown>): Promise<number> => {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
};

/** One member's request after another until `until` settles; milliseconds each. */
async function requests(address: string, token: string, until: Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  let over = false;
  const done = until.finally(() => {
    over = true;
  });
  while (!over) {
    const start = performance.now();
    const answer = await fetch(`${address}/api/tenants/current`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`The service answered ${answer.status}`);
    times.push(performance.now() - start);
    await sleep(5);
  }
  await done;
  return times;
}

/** The most memory that `npm run audit` ever held, in MiB; null where /proc does not tell. */
async function peakMemory(url: string): Promise<number | null> {
  const child = spawn(
    process.execPath,
    ["--import", "tsx", "src/cli.ts", "audit", "--only", "data", "--format", "json"],
    {
      cwd: ROOT,
      env: { ...process.env, DATABASE_URL: url },
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  const ended = once(child, "close");
  let peak: number | null = null;
  while (child.exitCode === null && child.signalCode === null) {
    try {
      const found = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8"));
      if (found) peak = Number(found[1]) / 1024;
    } catch {
      // It ended in between, or this system has no /proc.
    }
    await sleep(20);
  }
  const [status] = await ended;
  if (status !== 0) throw new Error(`The audit of clean data ended with ${status}`);
  return peak;
}

export async function auditBench(server: BenchServer, { quick }: { quick: boolean }): Promise<Figure[]> {
  const tenants = quick ? 200 : 1_000;
  const rounds = quick ? 3 : 5;
  const name = `${(tenants * 1000).toLocaleString("en")} rows in ${tenants.toLocaleString("en")} tenants`;
  const small = await server.database("bench_audit_small");
  const large = await server.database("bench_audit");
  try {
    await seed(small.sql, 10);
    console.error(`  loading ${name}`);
    await seed(large.sql, tenants);
    const session = await large.sql.reserve(); // a new one would compile what it calls, and fill its caches, in some turns
    const count = () =>
      seconds(async () => {
        for (const table of TABLES) await session.unsafe(`select count(*) from app.${table}`);
      });
    const check = () => seconds(() => session`call audit.run(p_only => 'data')`);

    const times: Record<"count" | "check", { seconds: number[]; cpu: number[] }> = {
      count: { seconds: [], cpu: [] },
      check: { seconds: [], cpu: [] },
    };
    await count(); // into the cache, for both
    const first = await check();
    for (let round = 0; round < rounds; round++) {
      for (const [name, work] of [
        ["count", count],
        ["check", check],
      ] as const) {
        const before = server.cpu();
        times[name].seconds.push(await work());
        const after = server.cpu();
        if (before !== null && after !== null) times[name].cpu.push((after - before) / 1e6);
      }
    }
    const fromDisk: Record<"count" | "check", number[]> = { count: [], check: [] };
    for (let round = 0; round < Math.min(rounds, 2); round++) {
      if (await emptyCaches(large.sql)) fromDisk.count.push(await count());
      if (await emptyCaches(large.sql)) fromDisk.check.push(await check());
    }
    session.release();
    const [run] = await large.sql`select result, errors + warnings + infos as found from audit.last_run`;
    if (run!.result !== "clean" || Number(run!.found) !== 0)
      throw new Error(`The audit found ${run!.found} in clean data`);

    const [quiet, busy, peak] = await besideTheCommand(large, quick ? 1_000 : 4_000);
    const middle = (values: number[]) => (values.length > 0 ? round(median(values)) : null);
    const figure = (variant: string, measured: Record<string, number | null>): Figure => ({
      group: "audit",
      case: name,
      variant,
      ...measured,
    });
    return [
      figure("count(*) pass", {
        seconds: round(median(times.count.seconds)),
        cpuSeconds: middle(times.count.cpu),
      }),
      figure("data checks", {
        seconds: round(median(times.check.seconds)),
        cpuSeconds: middle(times.check.cpu),
      }),
      figure("data checks, first of a session", { seconds: round(first) }),
      figure("count(*) pass, from disk", { seconds: middle(fromDisk.count) }),
      figure("data checks, from disk", { seconds: middle(fromDisk.check) }),
      figure("a request, quiet", { medianMs: round(median(quiet)), requests: quiet.length }),
      figure("a request, meanwhile", { medianMs: round(median(busy)), requests: busy.length }),
      figure("memory of the command", { peakMiB: whole(peak) }),
      figure("memory, 10 tenants", { peakMiB: whole(await peakMemory(small.urls.owner)) }),
    ];
  } finally {
    await small.drop();
    await large.drop();
  }
}

const round = (value: number) => Math.round(value * 1000) / 1000;
const whole = (value: number | null) => (value === null ? null : Math.round(value));

/** Milliseconds of requests before the command and beside it, and its memory. */
async function besideTheCommand(
  database: BenchDatabase,
  quietMs: number,
): Promise<[number[], number[], number | null]> {
  const { config } = loadConfig({
    SERVICE_PORT: "0",
    SERVICE_DATABASE_URL: database.urls.service,
    SERVICE_JWT_SECRET: SECRET,
    SERVICE_MULTI_TENANT_MODE: "true",
    SERVICE_LOG_LEVEL: "silent",
  });
  const service = await startServer(config, sampleProduct);
  try {
    const token = await new SignJWT({ sub: "user-7-0", tenant: "t-7" })
      .setProtectedHeader({ alg: "HS256" })
      .setExpirationTime("2h")
      .sign(new TextEncoder().encode(SECRET));
    await requests(service.address, token, sleep(1000));
    const quiet = await requests(service.address, token, sleep(quietMs));
    const command = peakMemory(database.urls.owner);
    const busy = await requests(service.address, token, command);
    return [quiet, busy, await command];
  } finally {
    await service.close();
  }
}
