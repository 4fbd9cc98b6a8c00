import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import autocannon from "autocannon";
import { type Case, casesOf, type Name, SECRET } from "./cases.ts";
import { type BenchDatabase, type BenchServer, seed } from "./database.ts";
import { type Figure, median } from "./report.ts";

const CONNECTIONS = 32;
const POSTGRAPHILE = "postgraphile@4.14.1";

/** Rounds of so many seconds each, after one that warms plans, caches and, the longest, the compiler. */
interface Turns {
  rounds: number;
  seconds: number;
  warmUp: number;
}
const WHOLE: Turns = { rounds: 5, seconds: 2, warmUp: 2 };
const QUICK: Turns = { rounds: 2, seconds: 1, warmUp: 1 };

interface Variant {
  name: Name;
  child: ChildProcess;
  address: string;
}

/** HTTP through the service and through the floor, 32 connections, variants in turn: A B C A B C. */
export async function httpBench(server: BenchServer, { quick }: { quick: boolean }): Promise<Figure[]> {
  const tenants = quick ? 1_000 : 10_000;
  const database = await server.database("bench_http");
  await seed(database.sql, tenants, 20);
  const built = mkdtempSync(path.join(tmpdir(), "tms-bench-built-"));
  let variants: Variant[] = [];
  try {
    build(built);
    variants = await startVariants(database, built, quick ? null : bringPostGraphile(built));
    const figures: Figure[] = [];
    const all = await casesOf(tenants, quick ? 0 : 20_000);
    // In a minute only what has targets.
    const cases = quick ? all.slice(0, 2) : all;
    for (const one of cases) {
      const taking = variants.filter(({ name }) => one.variants.includes(name));
      const turns = quick ? QUICK : { ...WHOLE, rounds: one.rounds ?? WHOLE.rounds };
      figures.push(...(await measure(server, one, taking, turns)));
    }
    return figures;
  } finally {
    for (const { child } of variants) child.kill();
    await database.drop();
    rmSync(built, { recursive: true });
  }
}

/** Service and floor as they are deployed: built. What runs TypeScript as it is names each closure anew, at every request. */
export function build(folder: string): void {
  const root = path.resolve(import.meta.dirname, "..");
  const tsc = path.join(root, "node_modules/typescript/bin/tsc");
  execFileSync(process.execPath, [tsc, "-p", path.join(root, "bench/tsconfig.json"), "--outDir", folder]);
  for (const name of ["node_modules", "db", "package.json", ".gmrc"])
    symlinkSync(path.join(root, name), path.join(folder, name));
}

/** Where npm put it; null where it cannot be had, which is said. */
function bringPostGraphile(built: string): string | null {
  const folder = path.join(built, "postgraphile");
  const args = ["install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", POSTGRAPHILE];
  try {
    mkdirSync(folder);
    execFileSync("npm", args, { stdio: ["ignore", "ignore", "pipe"], timeout: 120_000 });
    return folder;
  } catch (error) {
    const reason = String((error as { stderr?: Buffer }).stderr || (error as Error).message).trim();
    console.error(`  left out: ${POSTGRAPHILE}, which npm could not bring: ${reason.split("\n", 1)[0]}`);
    return null;
  }
}

async function startVariants(
  { urls }: BenchDatabase,
  built: string,
  postGraphile: string | null,
): Promise<Variant[]> {
  const start = (name: Variant["name"], file: string, args: string[], env = {}) =>
    new Promise<Variant>((resolve, reject) => {
      const child = fork(path.join(built, "bench", file), args, {
        execArgv: ["--max-semi-space-size=64"], // as package.json and the Dockerfile start the service
        env: { ...process.env, NODE_ENV: "production", ...env },
      });
      child.once("message", message =>
        resolve({ name, child, address: (message as { address: string }).address }),
      );
      child.once("exit", code => reject(new Error(`${file} ended with ${code}`)));
    });
  const variants = [
    await start("service", "service.js", [], {
      SERVICE_DATABASE_URL: urls.service,
      SERVICE_JWT_SECRET: SECRET,
      SERVICE_MULTI_TENANT_MODE: "true",
      SERVICE_PORT: "0",
      SERVICE_LOG_LEVEL: "warn",
    }),
    await start("rows", "floor.js", ["rows", urls.root, SECRET]),
    await start("json", "floor.js", ["json", urls.root, SECRET]),
  ];
  if (postGraphile) {
    const started = await start("postgraphile", "postgraphile.js", [postGraphile, urls.root, SECRET]);
    variants.push(started, { ...started, name: "postgraphile, no page info" });
  }
  return variants;
}

async function measure(
  server: BenchServer,
  one: Case,
  variants: Variant[],
  { rounds, seconds, warmUp }: Turns,
): Promise<Figure[]> {
  const samples = new Map(
    variants.map(({ name }) => [
      name,
      { rate: [] as number[], cpu: [] as number[], latency: [] as number[] },
    ]),
  );
  for (const variant of variants) await refuseErrors(variant, one);
  for (let round = -1; round < rounds; round++) {
    for (const variant of variants) {
      const before = { server: await serverCpu(variant), database: server.cpu() };
      const result = await fire(variant, one, round < 0 ? warmUp : seconds);
      const database = server.cpu();
      const spent = (await serverCpu(variant)) - before.server + ((database ?? 0) - (before.database ?? 0));
      if (round < 0) continue;
      const sample = samples.get(variant.name)!;
      sample.rate.push(result.requests.total / result.duration);
      sample.latency.push(result.latency.p50);
      if (database !== null) sample.cpu.push(spent / result.requests.total);
    }
  }
  return variants.map(({ name }) => {
    const { rate, cpu, latency } = samples.get(name)!;
    return {
      group: "http",
      case: one.name,
      variant: name === "rows" || name === "json" ? `floor: ${name}` : name,
      requestsPerSecond: Math.round(median(rate)),
      cpuMicrosPerRequest: cpu.length ? Math.round(median(cpu)) : null,
      p50Ms: median(latency),
    };
  });
}

/** GraphQL says 200 of an error, too. */
async function refuseErrors({ name, address }: Variant, { asked }: Case): Promise<void> {
  const requests = asked?.[name];
  if (!Array.isArray(requests)) return;
  const { path, ...request } = requests[0]!;
  const answer = await (await fetch(address + path, request as RequestInit)).text();
  if (answer.includes('"errors"')) throw new Error(`${name}: ${answer}`);
}

async function fire(
  { name, address }: Variant,
  { name: what, requests: usual, asked }: Case,
  seconds: number,
) {
  const requests = asked?.[name] ?? usual;
  // A request is written out before the first is sent, by each connection for itself, and the clock is running by then:
  // each has its own few of them.
  const shares =
    typeof requests === "function"
      ? []
      : Array.from({ length: CONNECTIONS }, (_, i) => requests.filter((_, n) => n % CONNECTIONS === i));
  const result = await autocannon({
    url: address,
    connections: CONNECTIONS,
    duration: seconds,
    ...(typeof requests === "function"
      ? { requests: [{ setupRequest: requests }] }
      : { setupClient: client => client.setRequests(shares.pop()!) }),
  });
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${what}, ${name}: ${result.non2xx} answers were not 2xx, ${result.errors} errors`);
  }
  return result;
}

function serverCpu({ child }: Variant): Promise<number> {
  return new Promise(resolve => {
    child.once("message", message => {
      const { cpu } = message as { cpu: NodeJS.CpuUsage };
      resolve(cpu.user + cpu.system);
    });
    child.send("cpu");
  });
}
