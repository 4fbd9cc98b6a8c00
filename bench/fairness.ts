import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { SignJWT } from "jose";
import { type Asked, ask, attacksOf, begin, SETTINGS } from "./attacks.ts";
import { SECRET } from "./cases.ts";
import { type BenchServer, seed } from "./database.ts";
import { build } from "./http.ts";
import { type Figure, median } from "./report.ts";

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
        const end = await begin(attack, path.join(built, "bench/attack.js"), service.address);
        attacked.push(await ask(service.address, member, seconds));
        await end();
      }
      figures.push({
        group: "fairness",
        case: attack.name,
        variant: "a known member",
        quietP95Ms: median(quiet.map(({ p95 }) => p95)),
        p95Ms: median(attacked.map(({ p95 }) => p95)),
        healthMs: median(attacked.map(({ healthMs }) => healthMs)),
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
  const schema = path.join(built, "settings.json");
  writeFileSync(schema, JSON.stringify(SETTINGS));
  return new Promise((resolve, reject) => {
    const child = fork(path.join(built, "bench/service.js"), [], {
      execArgv: ["--max-semi-space-size=64"],
      env: {
        ...process.env,
        NODE_ENV: "production",
        SERVICE_DATABASE_URL: databaseUrl,
        SERVICE_JWT_SECRET: SECRET,
        SERVICE_MULTI_TENANT_MODE: "true",
        SERVICE_TENANT_SETTINGS_SCHEMA: schema,
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
