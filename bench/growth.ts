import pg from "pg";
import type { BenchDatabase, BenchServer } from "./database.ts";
import { type Figure, median } from "./report.ts";

const OPERATOR = ["'t-1'", "'jwt'", "'operator'", "null", "null", "null"].join(", ");

/** What is asked of each database; `n` is a tenant's number. A call that writes is rolled back. */
const CASES: {
  name: string;
  sql: string;
  values: (n: number, tenants: number) => unknown[];
  undo?: boolean;
}[] = [
  {
    name: "resolve a tenant and its membership",
    sql: "select * from api.get_current_tenant(row($1, 'jwt', $2, null, null, null))",
    values: n => [`t-${n}`, `user-${n}`],
  },
  {
    name: "refuse a stranger",
    sql: "select * from api.get_current_tenant(row($1, 'jwt', 'stranger', null, null, null))",
    values: n => [`t-${n}`],
  },
  {
    name: "list: first page of 100",
    sql: `select * from api.list_tenants(${OPERATOR}, 100, null, null, null)`,
    values: () => [],
  },
  {
    name: "list: a deep page of 100",
    sql: `select * from api.list_tenants(${OPERATOR}, 100, app.cursor_of((select created_at from app.tenants where slug = $1), md5('x')::uuid), null, null)`,
    values: (_n, tenants) => [`t-${Math.floor(tenants * 0.9)}`],
  },
  {
    name: "search: one hit",
    sql: `select * from api.list_tenants(${OPERATOR}, 100, null, null, $1)`,
    values: n => [`needle-${n % 10}-`],
  },
  {
    name: "register with a taken name",
    sql: `select * from api.register_tenant(row('nobody-yet', 'jwt', $1, null, null, null), 'Taken', null, 'taken', 'corp.example',
            '{"admin_email": "a@corp.example"}', false, false, 3, null, null)`,
    values: n => [`founder-${n}`],
    undo: true,
  },
  {
    name: "rate limit",
    sql: "select * from api.take_rate_limit('setup_read', $1, 60)",
    values: n => [`jwt\n${n % 1000}`],
  },
];

/** The same calls in databases of different size, one after the other in turn, over one connection each. */
export async function growthBench(server: BenchServer, { quick }: { quick: boolean }): Promise<Figure[]> {
  const sizes = quick ? [1_000, 10_000] : [1_000, 100_000, 1_000_000];
  const databases: { tenants: number; database: BenchDatabase; client: pg.Client }[] = [];
  try {
    for (const tenants of sizes) {
      const database = await server.database(`bench_growth_${tenants}`);
      const client = new pg.Client({ connectionString: database.urls.root });
      await client.connect();
      databases.push({ tenants, database, client });
    }
    await Promise.all(databases.map(({ database, tenants }) => seed(database, tenants)));
    const figures: Figure[] = [];
    for (const one of CASES) {
      const times = new Map(sizes.map(tenants => [tenants, [] as number[]]));
      for (let round = -20; round < (quick ? 40 : 200); round++) {
        for (const { tenants, client } of databases) {
          const n = 1 + (((round + 20) * 7919) % tenants);
          const micros = await time(client, one, one.values(n, tenants));
          if (round >= 0) times.get(tenants)!.push(micros);
        }
      }
      for (const tenants of sizes) {
        figures.push({
          group: "growth",
          case: one.name,
          variant: tenants.toLocaleString("en"),
          microseconds: Math.round(median(times.get(tenants)!)),
        });
      }
    }
    return figures;
  } finally {
    for (const { database, client } of databases) {
      await client.end();
      await database.drop();
    }
  }
}

async function time(
  client: pg.Client,
  { name, sql, undo }: (typeof CASES)[number],
  values: unknown[],
): Promise<number> {
  if (undo) await client.query("begin");
  const start = process.hrtime.bigint();
  await client.query({ name, text: sql, values }).catch(error => {
    if (error.code !== "TM403") throw error;
  });
  const micros = Number(process.hrtime.bigint() - start) / 1000;
  if (undo) await client.query("rollback");
  return micros;
}

/**
 * Ten tenants to find, twenty of one name, the others alike. Loaded without triggers, which would take longer than all that
 * is measured, and counted by hand.
 */
async function seed({ sql }: BenchDatabase, tenants: number): Promise<void> {
  const load = (statements: string) =>
    sql.unsafe(`set local session_replication_role = replica; ${statements}`); // one message, one transaction
  await sql.unsafe("drop index app.tenants_search");
  await Promise.all([
    load(`
      insert into app.tenants (id, name, slug, created_at, updated_at)
      select md5('t' || n)::uuid,
             case when n <= 10 then 'Needle-' || n % 10 || '- in the haystack' else 'Organization ' || md5(n::text) end,
             case when n between ${tenants - 19} and ${tenants} then 'taken' || case n when ${tenants} then '' else '-' || ${tenants} - n + 1 end
                  else 't-' || n end,
             at, at
      from generate_series(1, ${tenants}) n, lateral (select now() - n * interval '1 second' as at) as made;
      insert into control.tenant_counts (shard, active) values (0, ${tenants})
      on conflict (shard) do update set active = tenant_counts.active + excluded.active;`),
    load(`
      insert into app.users (tenant_id, id, auth_provider, auth_subject, role)
      select md5('t' || n)::uuid, md5('u' || n)::uuid, 'jwt', 'user-' || n, 'owner' from generate_series(1, ${tenants}) n;
      insert into control.rate_limits (bucket, identity, hits, reset_at)
      select 'setup_read', 'jwt' || chr(10) || n, 1, now() + interval '1 day' from generate_series(1, least(${tenants}, 100000)) n;`),
  ]);
  await sql.unsafe(
    "create index tenants_search on app.tenants using gin (name control.gin_trgm_ops, slug control.gin_trgm_ops)",
  );
  await sql.unsafe("vacuum analyze");
}
