import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { SignJWT } from "jose";
import { SECRET } from "./cases.ts";
import { type BenchServer, seed } from "./database.ts";
import { build } from "./http.ts";
import { type Figure, median } from "./report.ts";

/** A member asks so often, on connections of its own. */
const EVERY_MS = 10;

interface Asked {
  p95: number;
  requests: number;
  refused: number;
}

/** What an attacker keeps up: sockets on loopback that say this, again when they end, and again and again when `floods`. */
export interface Attack {
  name: string;
  sockets: number;
  says: string;
  /** Sends a little more now and then. */
  drips?: string;
  reads: boolean;
  floods?: boolean;
}

const head = (line: string, ...more: string[]) =>
  [`${line} HTTP/1.1`, "host: x", ...more, "", ""].join("\r\n");
const body = ["content-type: application/json", "content-length: 1000"];

const attacksOf = (idle: number, mallory: string): Attack[] => [
  {
    name: "bodies that never come, no token",
    sockets: 1_000,
    says: head("POST /nothing", ...body),
    reads: true,
  },
  {
    name: "slow headers",
    sockets: 1_000,
    says: "GET / HTTP/1.1\r\nhost: x\r\n",
    drips: "x: y\r\n",
    reads: true,
  },
  {
    name: "slow bodies, another member",
    sockets: 1_000,
    says: head("POST /graphql", mallory, ...body),
    drips: "{",
    reads: true,
  },
  {
    name: "slow readers",
    sockets: 300,
    says: head("GET /docs/static/swagger-ui-bundle.js").repeat(4),
    reads: false,
  },
  { name: "idle connections", sockets: idle, says: "", reads: true },
  {
    name: "pipelined floods, no token",
    sockets: 50,
    says: head("GET /nothing").repeat(30),
    reads: true,
    floods: true,
  },
  {
    name: "pipelined floods, another member",
    sockets: 50,
    says: head("GET /api/tenants/current", mallory).repeat(30),
    reads: true,
    floods: true,
  },
];

/** A member's requests, quiet and under each attack on the same instance. */
export async function fairnessBench(server: BenchServer, { quick }: { quick: boolean }): Promise<Figure[]> {
  const database = await server.database("bench_fairness");
  await seed(database.sql, 10, 20);
  const built = mkdtempSync(path.join(tmpdir(), "tms-bench-built-"));
  let child: ChildProcess | undefined;
  try {
    build(built);
    const service = await start(built, database.urls.service);
    child = service.child;
    const key = new TextEncoder().encode(SECRET);
    const bearer = async (n: number) => {
      const signed = new SignJWT({ sub: `user-${n}`, tenant: `t-${n}` }).setProtectedHeader({ alg: "HS256" });
      return `authorization: Bearer ${await signed.setExpirationTime("2h").sign(key)}`;
    };
    const [member, mallory] = [await bearer(1), await bearer(2)];
    const [rounds, seconds] = quick ? [1, 3] : [3, 3];
    await ask(service.address, member, 3); // warms plans, caches and the compiler
    const figures: Figure[] = [];
    for (const attack of attacksOf(quick ? 2_000 : 10_000, mallory)) {
      console.error(`  ${attack.name} …`);
      const [quiet, attacked] = [[] as Asked[], [] as Asked[]];
      for (let round = 0; round < rounds; round++) {
        quiet.push(await ask(service.address, member, seconds));
        const end = await begin(attack, built, service.address);
        attacked.push(await ask(service.address, member, seconds));
        await end();
      }
      figures.push({
        group: "fairness",
        case: attack.name,
        variant: "a known member",
        quietP95Ms: median(quiet.map(({ p95 }) => p95)),
        p95Ms: median(attacked.map(({ p95 }) => p95)),
        requests: attacked.reduce((sum, { requests }) => sum + requests, 0),
        refused: attacked.reduce((sum, { refused }) => sum + refused, 0),
      });
    }
    return figures;
  } finally {
    child?.kill();
    await database.drop();
    rmSync(built, { recursive: true });
  }
}

function start(built: string, databaseUrl: string): Promise<{ child: ChildProcess; address: URL }> {
  return new Promise((resolve, reject) => {
    const child = fork(path.join(built, "bench/service.js"), [], {
      execArgv: ["--max-semi-space-size=64"],
      env: {
        ...process.env,
        NODE_ENV: "production",
        SERVICE_DATABASE_URL: databaseUrl,
        SERVICE_JWT_SECRET: SECRET,
        SERVICE_MULTI_TENANT_MODE: "true",
        SERVICE_PORT: "0",
        SERVICE_LOG_LEVEL: "warn",
      },
    });
    child.once("message", message =>
      resolve({ child, address: new URL((message as { address: string }).address) }),
    );
    child.once("exit", code => reject(new Error(`the service ended with ${code}`)));
  });
}

/** Requests at a steady pace, whether or not the last one is answered; what takes longer than 5 s, or is no 200, is refused. */
async function ask({ hostname, port }: URL, authorization: string, seconds: number): Promise<Asked> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 8 });
  const headers = { authorization: authorization.slice("authorization: ".length) };
  const times: number[] = [];
  let refused = 0;
  const one = () =>
    new Promise<void>(resolve => {
      const from = performance.now();
      const failed = () => {
        refused++;
        times.push(performance.now() - from);
        resolve();
      };
      http
        .get({ hostname, port, path: "/api/boards?limit=20", agent, headers, timeout: 5_000 }, answer => {
          answer.resume().once("end", () => {
            if (answer.statusCode !== 200) return failed();
            times.push(performance.now() - from);
            resolve();
          });
        })
        .once("timeout", function ended(this: http.ClientRequest) {
          this.destroy(new Error("no answer"));
        })
        .once("error", failed);
    });
  const asked: Promise<void>[] = [];
  const until = performance.now() + seconds * 1_000;
  for (let due = performance.now(); due < until; due += EVERY_MS) {
    await sleep(Math.max(0, due - performance.now()));
    asked.push(one());
  }
  await Promise.all(asked);
  agent.destroy();
  times.sort((a, b) => a - b);
  return { p95: times[Math.floor(times.length * 0.95)]!, requests: times.length, refused };
}

/** In a process of its own, so that it does not delay what measures. Returns what ends it. */
async function begin(attack: Attack, built: string, { href }: URL): Promise<() => Promise<void>> {
  const child = fork(path.join(built, "bench/attack.js"), [JSON.stringify(attack), href]);
  await new Promise<void>((resolve, reject) => {
    child.once("message", () => resolve());
    child.once("exit", code => reject(new Error(`the attack ended with ${code}`)));
  });
  return async () => {
    child.removeAllListeners("exit").kill();
    await sleep(1_000);
  };
}
