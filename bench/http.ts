import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import autocannon, { type Request } from "autocannon";
import { SignJWT } from "jose";
import { type BenchDatabase, type BenchServer, seed } from "./database.ts";
import { type Figure, median } from "./report.ts";

const SECRET = "a benchmark secret of more than thirty-two bytes";
const TENANTS = 10_000;
const CONNECTIONS = 32;
const POSTGRAPHILE = "postgraphile@4.14.1";

/** Rounds of so many seconds each, after one that warms plans, caches and, the longest, the compiler. */
interface Turns {
  rounds: number;
  seconds: number;
  warmUp: number;
}
const WHOLE: Turns = { rounds: 5, seconds: 2, warmUp: 3 };
const QUICK: Turns = { rounds: 2, seconds: 1, warmUp: 1 };

type Name = "service" | "rows" | "json" | "postgraphile" | "postgraphile, no page info";

interface Variant {
  name: Name;
  child: ChildProcess;
  address: string;
}

/** Requests that differ from each other; a list is sent round and round, a function makes each. */
type Requests = Request[] | ((request: Request) => Request);

interface Case {
  name: string;
  /** The floor that makes JSON in SQL has no case of its own for writes. */
  variants: Name[];
  requests: Requests;
  /** What others than the service and the floor are asked instead. */
  asked?: Partial<Record<Name, Requests>>;
  rounds?: number;
}

/** HTTP through the service and through the floor, 32 connections, variants in turn: A B C A B C. */
export async function httpBench(server: BenchServer, { quick }: { quick: boolean }): Promise<Figure[]> {
  const database = await server.database("bench_http");
  await seed(database.sql, quick ? 1_000 : TENANTS, 20);
  const built = mkdtempSync(path.join(tmpdir(), "tms-bench-built-"));
  let variants: Variant[] = [];
  try {
    build(built);
    variants = await startVariants(database, built, quick ? null : bringPostGraphile(built));
    const figures: Figure[] = [];
    for (const one of await cases(quick ? 1_000 : TENANTS)) {
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
function build(folder: string): void {
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

async function cases(tenants: number): Promise<Case[]> {
  const key = new TextEncoder().encode(SECRET);
  const sign = (claims: Record<string, unknown>) =>
    new SignJWT(claims).setProtectedHeader({ alg: "HS256" }).setExpirationTime("2h").sign(key);
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const ids = Array.from({ length: 1_000 }, (_, i) => 1 + Math.floor((i * tenants) / 1_000));
  const members = await Promise.all(
    ids.map(n => sign({ sub: `user-${n}`, tenant: `t-${n}`, tenant_id: uuidOf(n) })),
  );
  // Limits count by identity: enough operators that none reaches its own.
  const operators = await Promise.all(
    Array.from({ length: 20_000 }, (_, i) =>
      sign({ sub: `operator-${i}`, tenant: "t-1", tenant_id: uuidOf(1), roles: "tenant-operator" }),
    ),
  );
  const founders = await Promise.all(
    Array.from({ length: 20_000 }, (_, i) =>
      sign({ sub: `founder-${i}`, tenant: "nobody-yet", tenant_id: uuidOf(1) }),
    ),
  );
  const reading: Name[] = ["service", "rows", "json"];
  const get = (path: string) =>
    members.map((token): Request => ({ method: "GET", path, headers: bearer(token) }));
  const nodes = "nodes { id title description ownerId createdAt updatedAt }";
  const graphQl = (fields: string) =>
    members.map(
      (token): Request => ({
        method: "POST",
        path: "/graphql",
        headers: { ...bearer(token), "content-type": "application/json" },
        body: JSON.stringify({ query: `{ allBoards(first: 20, orderBy: CREATED_AT_DESC) { ${fields} } }` }),
      }),
    );
  let turn = 0;
  const post = (path: string, tokens: string[], body: (slug: string) => object) => (request: Request) => {
    const slug = `n-${randomUUID()}`;
    return {
      ...request,
      method: "POST" as const,
      path,
      headers: { ...bearer(tokens[turn++ % tokens.length]!), "content-type": "application/json" },
      body: JSON.stringify(body(slug)),
    };
  };
  return [
    { name: "read the current tenant", variants: reading, requests: get("/api/tenants/current") },
    {
      name: "list 20 boards",
      variants: [...reading, "postgraphile", "postgraphile, no page info"],
      requests: get("/api/boards?limit=20"),
      asked: {
        postgraphile: graphQl(`${nodes} pageInfo { hasNextPage endCursor }`),
        "postgraphile, no page info": graphQl(nodes),
      },
    },
    {
      name: "read one tenant as operator",
      variants: reading,
      rounds: 3,
      requests: request => ({
        ...request,
        method: "GET",
        path: `/api/setup/tenant/${uuidOf(ids[turn % ids.length]!)}`,
        headers: bearer(operators[turn++ % operators.length]!),
      }),
    },
    {
      name: "create a tenant",
      variants: ["service", "rows"],
      rounds: 3,
      requests: post("/api/setup/tenant", operators, slug => ({ name: slug, slug })),
    },
    {
      name: "register",
      variants: ["service", "rows"],
      rounds: 3,
      requests: post("/api/tenants/register", founders, slug => ({
        organization_name: slug,
        organization_slug: slug,
        admin_email: "ann@corp.example",
        include_sample_data: false,
      })),
    },
  ];
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

/** The id that the seed gave tenant n. */
function uuidOf(n: number): string {
  const hex = createHash("md5").update(`t${n}`).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
