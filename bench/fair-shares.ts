import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import autocannon from "autocannon";
import { SignJWT } from "jose";
import { SECRET } from "./cases.ts";
import { type BenchServer, seed, vacuum } from "./database.ts";
import { build } from "./http.ts";
import type { Figure } from "./report.ts";

const PAGE = "/api/boards?limit=1000";
const SHORT = "/api/boards?limit=20";
const CLIENTS = [8, 50, 200];

const sign = (claims: Record<string, unknown>) =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("2h")
    .sign(new TextEncoder().encode(SECRET));

/** What clients of one tenant on the largest pages do to another tenant, and to the total. */
export async function fairSharesBench(server: BenchServer, { quick }: { quick: boolean }): Promise<Figure[]> {
  const seconds = quick ? 3 : 8;
  const database = await server.database("bench_fair");
  const built = mkdtempSync(path.join(tmpdir(), "tms-bench-built-"));
  let child: ChildProcess | undefined;
  try {
    await seed(database.sql, 100, 20);
    // The busy tenant has 2,000 boards of a kilobyte.
    await database.sql`
      insert into app.boards (tenant_id, owner_id, title, description, created_at, updated_at)
      select md5('t1')::uuid, md5('u1')::uuid, 'Board ' || n, repeat('What it is for. ', 60), at, at
      from generate_series(1, 2000) n, lateral (select now() - n * interval '1 minute') x (at)`;
    await vacuum(database.sql);
    build(built);
    const started = await start(path.join(built, "bench/service.js"), database.urls.service);
    child = started.child;
    const [busy, other] = await Promise.all([1, 2].map(n => sign({ sub: `user-${n}`, tenant: `t-${n}` })));
    await load(started.address, busy!, 8, 2);
    await quietTenant(started.address, other!, 2);
    const figures: Figure[] = [];
    for (const clients of [0, ...CLIENTS]) {
      await loopDelay(child);
      const loaded = clients > 0 ? load(started.address, busy!, clients, seconds + 1) : undefined;
      if (loaded) await sleep(500);
      const times = await quietTenant(started.address, other!, seconds);
      const found = await loaded;
      figures.push({
        group: "fairness",
        case: "another tenant lists 20 boards",
        variant: clients === 0 ? "quiet" : `${clients} clients on pages of 1,000`,
        othersP50Ms: percentile(times, 0.5),
        othersP95Ms: percentile(times, 0.95),
        pagesPerSecond: found ? Math.round(found.answered / found.duration) : null,
        refused: found?.refused ?? null,
        loopDelayMs: await loopDelay(child),
      });
    }
    return figures;
  } finally {
    child?.kill();
    await database.drop();
    rmSync(built, { recursive: true });
  }
}

function start(file: string, url: string): Promise<{ child: ChildProcess; address: string }> {
  return new Promise((resolve, reject) => {
    const child = fork(file, {
      execArgv: ["--max-semi-space-size=64"],
      env: {
        ...process.env,
        NODE_ENV: "production",
        SERVICE_DATABASE_URL: url,
        SERVICE_JWT_SECRET: SECRET,
        SERVICE_MULTI_TENANT_MODE: "true",
        SERVICE_PORT: "0",
        SERVICE_LOG_LEVEL: "silent",
      },
    });
    child.once("message", message => resolve({ child, address: (message as { address: string }).address }));
    child.once("exit", code => reject(new Error(`${file} ended with ${code}`)));
  });
}

/** The longest that the event loop was late since the last call, in milliseconds. */
function loopDelay(child: ChildProcess): Promise<number> {
  return new Promise(resolve => {
    child.once("message", message => resolve(Math.round((message as { delayMs: number }).delayMs)));
    child.send("delay");
  });
}

/** In a thread of its own: what it reads must not delay the clock of the quiet client. */
async function load(address: string, token: string, connections: number, duration: number) {
  const result = await autocannon({
    url: address + PAGE,
    connections,
    duration,
    workers: 1,
    headers: { authorization: `Bearer ${token}` },
  });
  if (result.non2xx > result["5xx"] || result.errors > 0)
    throw new Error(`${result.non2xx} answers were not 2xx, ${result.errors} errors`);
  return { answered: result["2xx"], refused: result["5xx"], duration: result.duration };
}

/** The times of one client, one request after the other, in milliseconds. */
async function quietTenant(address: string, token: string, seconds: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { authorization: `Bearer ${token}` };
  const times: number[] = [];
  const until = performance.now() + seconds * 1000;
  while (performance.now() < until) {
    const begun = performance.now();
    const status = await new Promise<number>((resolve, reject) => {
      const request = get(address + SHORT, { agent, headers }, response => {
        response.resume().once("end", () => resolve(response.statusCode!));
      });
      request.once("error", reject);
    });
    if (status !== 200) throw new Error(`The other tenant got ${status}`);
    times.push(performance.now() - begun);
    await sleep(5);
  }
  agent.destroy();
  return times;
}

function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.floor(sorted.length * share)]! * 10) / 10;
}
