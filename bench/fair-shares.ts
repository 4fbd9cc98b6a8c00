import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
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
    const pages = (clients: number) =>
      startLoad(path.join(built, "bench/page-load.js"), started.address + PAGE, busy!, clients);
    const warming = await pages(8);
    await quietTenant(started.address, other!, 2);
    warming.child.kill();
    const figures: Figure[] = [];
    for (const clients of [0, ...CLIENTS]) {
      const loaded = clients > 0 ? await pages(clients) : undefined;
      await ask(child, "delay"); // from here on
      const before = {
        at: performance.now(),
        cpu: await cpuOf(child, server),
        counts: await loaded?.counts(),
      };
      const { times, refused } = await quietTenant(started.address, other!, seconds);
      const [counts, cpu] = [await loaded?.counts(), await cpuOf(child, server)];
      const answered = counts && counts.answered - before.counts!.answered;
      const { delayMs } = await ask<{ delayMs: number }>(child, "delay");
      loaded?.child.kill();
      figures.push({
        group: "fairness",
        case: "another tenant lists 20 boards",
        variant: clients === 0 ? "quiet" : `${clients} clients on pages of 1,000`,
        othersP50Ms: percentile(times, 0.5),
        othersP95Ms: percentile(times, 0.95),
        othersRefused: refused,
        pagesPerSecond: answered
          ? Math.round((answered / (performance.now() - before.at)) * 10_000) / 10
          : null,
        refused: counts ? counts.refused - before.counts!.refused : null,
        cpuMsPerPage:
          answered && cpu !== null && before.cpu !== null
            ? Math.round((cpu - before.cpu) / answered / 100) / 10
            : null,
        loopDelayMs: Math.round(delayMs),
      });
      await sleep(500); // what the killed clients left behind
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

function ask<Answer>(child: ChildProcess, question: string): Promise<Answer> {
  return new Promise(resolve => {
    child.once("message", message => resolve(message as Answer));
    child.send(question);
  });
}

async function cpuOf(child: ChildProcess, server: BenchServer): Promise<number | null> {
  const { cpu } = await ask<{ cpu: NodeJS.CpuUsage }>(child, "cpu");
  const database = server.cpu();
  return database === null ? null : cpu.user + cpu.system + database;
}

/** Resolves when as many pages were answered as there are connections to the database. */
async function startLoad(file: string, url: string, token: string, clients: number) {
  const child = fork(file, [url, token, String(clients)]);
  const lost = new Promise<never>((_, reject) =>
    child.once("exit", code => reject(new Error(`${file} ended with ${code}`))),
  );
  lost.catch(() => {}); // once it is killed
  const counts = () => Promise.race([ask<{ answered: number; refused: number }>(child, "counts"), lost]);
  while ((await counts()).answered < 10) await sleep(50);
  return { child, counts };
}

/** The times of one tenant's requests, forty a second whatever they take, in milliseconds. */
async function quietTenant(address: string, token: string, seconds: number) {
  const agent = new Agent({ keepAlive: true });
  const headers = { authorization: `Bearer ${token}` };
  const asked: Promise<number>[] = [];
  let refused = 0;
  const begun = performance.now();
  for (let i = 0; i < seconds * 40; i++) {
    await sleep(begun + i * 25 - performance.now());
    const sent = performance.now();
    asked.push(
      new Promise((resolve, reject) => {
        const request = get(address + SHORT, { agent, headers }, response => {
          if (response.statusCode !== 200) refused++;
          response.resume().once("end", () => resolve(performance.now() - sent));
        });
        request.once("error", reject);
      }),
    );
  }
  const times = await Promise.all(asked);
  agent.destroy();
  return { times, refused };
}

function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return Math.round(sorted[Math.floor(sorted.length * share)]! * 10) / 10;
}
