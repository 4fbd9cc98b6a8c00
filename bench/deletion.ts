import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { BenchDatabase, BenchServer } from "./database.ts";
import { type Figure, median } from "./report.ts";

/** Leaves first, as somebody would who knows the tables by heart. */
const BY_HAND = [
  "credit_transactions",
  "media",
  "generations",
  "board_members",
  "boards",
  "provider_configs",
  "users",
].map(table => `delete from app.${table} where tenant_id = $1`);

/** One tenant of a million rows is deleted while other tenants work, by the service's function and by hand: each in a copy of one database. */
export async function deletionBench(server: BenchServer, { quick }: { quick: boolean }): Promise<Figure[]> {
  const thousands = quick ? 20 : 1_000;
  const loaded = await server.database("bench_deletion");
  const seconds = { "api.delete_tenant": 0, "by hand": 0 };
  const latency = { quiet: [] as number[], "api.delete_tenant": [] as number[], "by hand": [] as number[] };
  try {
    await seedOthers(loaded);
    const id = await seedLarge(loaded, thousands);
    await loaded.sql.end();
    for (const variant of ["api.delete_tenant", "by hand"] as const) {
      const database = await server.database("bench_deletion_copy", "bench_deletion");
      latency.quiet.push(...(await others(database, sleep(quick ? 500 : 2_000))));
      const start = process.hrtime.bigint();
      const deletion = remove(database, variant, id).then(
        () => Number(process.hrtime.bigint() - start) / 1e9,
      );
      latency[variant].push(...(await others(database, deletion)));
      seconds[variant] = await deletion;
      await database.drop();
    }
  } finally {
    await loaded.drop();
  }
  return (["api.delete_tenant", "by hand"] as const).map(variant => ({
    group: "deletion",
    case: `delete a tenant of ${thousands.toLocaleString("en")},000 rows`,
    variant,
    seconds: Number(seconds[variant].toFixed(2)),
    othersMedianMs: Number(median(latency[variant]).toFixed(3)),
    othersQuietMs: Number(median(latency.quiet).toFixed(3)),
  }));
}

async function remove(
  { urls }: BenchDatabase,
  variant: "api.delete_tenant" | "by hand",
  id: string,
): Promise<void> {
  const client = new pg.Client({ connectionString: urls.root });
  await client.connect();
  await client.query("begin");
  if (variant === "by hand") {
    for (const statement of BY_HAND) await client.query(statement, [id]);
    await client.query("delete from app.tenants where id = $1", [id]);
  } else {
    await client.query("select api.delete_tenant(row('x', 'jwt', 'operator', null, null, null), $1)", [id]);
  }
  await client.query("commit");
  await client.end();
}

/** Members of other tenants read their tenant until the work is done; milliseconds of each read. */
async function others({ urls }: BenchDatabase, work: Promise<unknown>): Promise<number[]> {
  let working = true;
  void work.finally(() => {
    working = false;
  });
  const pool = new pg.Pool({ connectionString: urls.service, max: 2 });
  const times: number[] = [];
  const member = async () => {
    for (let n = 1; working; n = (n % 1000) + 1) {
      const start = process.hrtime.bigint();
      await pool.query({
        name: "current",
        text: "select * from api.get_current_tenant(row($1, 'jwt', $2, null, null, null))",
        values: [`t-${n}`, `user-${n}`],
      });
      times.push(Number(process.hrtime.bigint() - start) / 1e6);
      await sleep(2); // readers, not a load test
    }
  };
  await Promise.all([member(), member()]);
  await pool.end();
  return times;
}

async function seedOthers({ sql }: BenchDatabase): Promise<void> {
  await sql.unsafe(`
    insert into app.tenants (id, slug, name) select md5('t' || n)::uuid, 't-' || n, 'T' from generate_series(1, 1000) n;
    insert into app.users (tenant_id, auth_provider, auth_subject) select md5('t' || n)::uuid, 'jwt', 'user-' || n from generate_series(1, 1000) n;`);
}

/**
 * 40 % generations and as many media, 15 % credit transactions, the rest members, boards and board members. Loaded without
 * triggers, so that no time goes to looking up the parents of rows that are made to fit.
 */
async function seedLarge({ sql }: BenchDatabase, thousands: number): Promise<string> {
  const [{ id }] = await sql<[{ id: string }]>`
    insert into app.tenants (slug, name) values ('large-' || gen_random_uuid(), 'Large') returning id`;
  const load = (statements: string) =>
    sql.unsafe(`set local session_replication_role = replica; ${statements}`); // one message, one transaction
  await Promise.all([
    load(`
      insert into app.users (tenant_id, id, auth_provider, auth_subject)
      select '${id}', md5('u' || n)::uuid, 'jwt', 'large-' || n from generate_series(1, ${thousands}) n;
      insert into app.boards (tenant_id, id, owner_id, title)
      select '${id}', md5('b' || n)::uuid, md5('u' || 1 + n % ${thousands})::uuid, 'Board' from generate_series(1, ${thousands * 10}) n;
      insert into app.board_members (tenant_id, board_id, user_id)
      select '${id}', md5('b' || n)::uuid, md5('u' || 1 + (n + m) % ${thousands})::uuid
      from generate_series(1, ${thousands * 10}) n, generate_series(1, 4) m;
      insert into app.generations (tenant_id, id, board_id, user_id, artifact_type)
      select '${id}', md5('g' || n)::uuid, md5('b' || 1 + n % ${thousands * 10})::uuid, md5('u' || 1 + n % ${thousands})::uuid, 'image'
      from generate_series(1, ${thousands * 400}) n;`),
    load(`
      insert into app.media (tenant_id, generation_id, storage_url)
      select '${id}', md5('g' || n)::uuid, 'bench://' || n from generate_series(1, ${thousands * 400}) n;
      insert into app.credit_transactions (tenant_id, user_id, generation_id, type, amount, balance_after)
      select '${id}', md5('u' || 1 + n % ${thousands})::uuid, md5('g' || n)::uuid, 'usage', -1, 0 from generate_series(1, ${thousands * 149}) n;`),
  ]);
  await sql.unsafe("analyze");
  return id;
}
