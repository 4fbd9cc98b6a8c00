import { readFileSync } from "node:fs";
import pg from "pg";
import postgres from "postgres";
import { proofOf } from "../src/database/proof.ts";
import { statementOf, valuesOf } from "../src/database/statement.ts";
import { storeSecret } from "../src/migrate/tenant-context.ts";
import { type BenchServer, vacuum } from "./database.ts";
import { type Figure, median } from "./report.ts";

const SECRET = "a tenant context secret for the benchmark only";
const CALLER = ["t-7", "jwt", "u", null, null];
const CALLS = { get_current_tenant: {}, list_boards: { limit: 20, cursor: null } } as const;
export const WITH = "with a secret";
export const WITHOUT = "without";

/** The same calls in two databases of one server, in turn; the proof is made for each call. */
export async function contextBench(server: BenchServer, { quick }: { quick: boolean }): Promise<Figure[]> {
  const databases = {
    [WITH]: await server.database("bench_context_on"),
    [WITHOUT]: await server.database("bench_context_off"),
  };
  const clients: Record<string, { client: pg.Client; pid: number }> = {};
  try {
    for (const [variant, { sql, urls }] of Object.entries(databases)) {
      await sql.unsafe(`
        insert into app.tenants (id, slug, name) select md5('t' || n)::uuid, 't-' || n, 'T' from generate_series(1, 100) n;
        insert into app.users (tenant_id, id, auth_provider, auth_subject) select id, id, 'jwt', 'u' from app.tenants;
        insert into app.boards (tenant_id, owner_id, title) select id, id, 'Board ' || n from app.tenants, generate_series(1, 200) n`);
      await vacuum(sql);
      if (variant === WITH) {
        const owner = postgres(urls.owner, { max: 1, onnotice: () => {} });
        await storeSecret(owner, SECRET);
        await owner.end();
      }
      const client = new pg.Client({ connectionString: urls.service });
      await client.connect();
      const { rows } = await client.query("select pg_backend_pid() as pid");
      clients[variant] = { client, pid: rows[0].pid };
    }
    const figures: Figure[] = [];
    const [rounds, calls] = quick ? [3, 200] : [15, 1_000];
    for (const [name, given] of Object.entries(CALLS) as [keyof typeof CALLS, Record<string, unknown>][]) {
      const rates: Record<string, number[]> = { [WITH]: [], [WITHOUT]: [] };
      const cpu: Record<string, number> = { [WITH]: 0, [WITHOUT]: 0 };
      for (let round = 0; round <= rounds; round++)
        for (const variant of round % 2 ? [WITH, WITHOUT] : [WITHOUT, WITH]) {
          const { client, pid } = clients[variant]!;
          const proves = variant === WITH;
          const statement = statementOf(name, { settings: proves ? ["app.proof"] : [] });
          const [before, began] = [cpuOf(pid), performance.now()];
          for (let i = 0; i < calls; i++)
            await client.query({
              ...statement,
              values: [
                ...(proves ? [proofOf(SECRET, "caller", CALLER)] : []),
                ...valuesOf(name, [...CALLER, "operator"], given),
              ],
            });
          if (round === 0) continue; // plans and caches
          rates[variant]!.push((calls / (performance.now() - began)) * 1000);
          cpu[variant]! += cpuOf(pid) - before;
        }
      for (const variant of [WITH, WITHOUT])
        figures.push({
          group: "context",
          case: `api.${name}`,
          variant,
          requestsPerSecond: Math.round(median(rates[variant]!)),
          cpuMicrosPerRequest: Math.round(cpu[variant]! / rounds / calls),
        });
    }
    return figures;
  } finally {
    for (const { client } of Object.values(clients)) await client.end();
    for (const database of Object.values(databases)) await database.drop();
  }
}

/** Processor time of a process in µs, in ticks of 10 ms. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}
