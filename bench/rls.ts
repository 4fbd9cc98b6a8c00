import postgres from "postgres";
import { type BenchServer, vacuum } from "./database.ts";
import { type Figure, median } from "./report.ts";

const TENANT = "md5('t1')::uuid";

/** Each runs in the backend, `repeat` times in a block, with the plan cached as a function's statements are. */
const STATEMENTS: { name: string; sql: string; repeat: number; limit: number }[] = [
  {
    name: "point read",
    sql: `perform title from app.boards where tenant_id = v_tenant and id = v_board`,
    repeat: 5_000,
    limit: 1.25,
  },
  {
    name: "list of 20",
    sql: `perform id, title from app.boards where tenant_id = v_tenant order by created_at desc, id limit 20`,
    repeat: 2_000,
    limit: 1.05,
  },
  {
    name: "scan of 100,000 rows, filtered",
    sql: `perform count(*) from app.media where tenant_id = v_tenant and size_bytes % 7 = 3`,
    repeat: 3,
    limit: 1.05,
  },
  {
    name: "aggregate of 100,000 rows",
    sql: `perform sum(size_bytes) from app.media where tenant_id = v_tenant`,
    repeat: 3,
    limit: 1.05,
  },
  {
    name: "insert",
    sql: `insert into app.provider_configs (tenant_id, provider_name) values (v_tenant, 'bench-' || gen_random_uuid())`,
    repeat: 1_000,
    limit: 1.25,
  },
  {
    name: "update",
    sql: `update app.boards set title = 'Board' where tenant_id = v_tenant and id = v_board`,
    repeat: 1_000,
    limit: 1.25,
  },
];

/** The point read as a client sends it: prepared, over one connection, with its round trip. */
const ROUND_TRIP = { name: "point read, with its round trip", of: STATEMENTS[0]!, repeat: 500, limit: 1.1 };

export const ALONE = "RLS alone";
export const BOTH = "RLS + predicate";
export const NONE = "predicate";
const VARIANTS = [ALONE, BOTH, NONE] as const;
type Variant = (typeof VARIANTS)[number];

/** The explicit predicate is what a statement of the service names as well, and what the policies say without it. */
const textOf = ({ sql }: (typeof STATEMENTS)[number], variant: Variant) =>
  variant === ALONE
    ? sql.replace("tenant_id = v_tenant and ", "").replace(/ where tenant_id = v_tenant\b/, "")
    : sql;

/** The same statement as tms_app under the policies, without the predicate and with it, and as the tables' owner past them. */
export async function rlsBench(server: BenchServer, { quick }: { quick: boolean }): Promise<Figure[]> {
  const database = await server.database("bench_rls");
  const session = async (setup: string) => {
    const sql = postgres(database.urls.root, { max: 1, onnotice: () => {} });
    await sql.unsafe(setup);
    return sql;
  };
  const app = await session(`set role tms_app; set app.tenant_id = '00000000-0000-0000-0000-000000000000'`);
  const sessions = { [ALONE]: app, [BOTH]: app, [NONE]: await session("set role tms_owner") };
  try {
    await database.sql.unsafe(`
      insert into app.tenants (id, slug, name) select md5('t' || n)::uuid, 't-' || n, 'T' from generate_series(1, 100) n;
      insert into app.users (tenant_id, id, auth_provider, auth_subject) select id, id, 'jwt', 'u' from app.tenants;
      insert into app.boards (tenant_id, id, owner_id, title, created_at, updated_at)
      select t.id, md5('b' || n)::uuid, t.id, 'Board ' || n, at, at
      from app.tenants t, generate_series(1, 200) n, lateral (select now() - n * interval '1 minute' as at) as made;
      insert into app.generations (tenant_id, id, board_id, user_id, artifact_type)
      select id, id, md5('b1')::uuid, id, 'image' from app.tenants where slug in ('t-1', 't-2');
      set local session_replication_role = replica; -- the rest of this message, one transaction: no look at each row's parents
      insert into app.media (tenant_id, generation_id, storage_url, size_bytes)
      select id, id, 'bench://' || n, n from app.tenants, generate_series(1, 100000) n where slug in ('t-1', 't-2');`);
    await vacuum(database.sql);
    // For the owner row-level security is off then; tms_app stays under it.
    for (const table of ["boards", "media", "provider_configs"])
      await database.sql.unsafe(`alter table app.${table} no force row level security`);
    const [{ id }] = await database.sql.unsafe<[{ id: string }]>(`select ${TENANT} as id`);
    await app.unsafe(`set app.tenant_id = '${id}'`);

    const figures: Figure[] = [];
    for (const statement of STATEMENTS) {
      // An insert must name its tenant.
      const variants = VARIANTS.filter(
        one => one === BOTH || one === NONE || textOf(statement, one) !== statement.sql,
      );
      const times = new Map(variants.map(variant => [variant, [] as number[]]));
      for (let block = quick ? -1 : -2; block < (quick ? 3 : 21); block++) {
        for (const variant of variants) {
          const micros = await runBlock(sessions[variant], textOf(statement, variant), statement.repeat);
          if (block >= 0) times.get(variant)!.push(micros);
        }
      }
      const plain = await planOf(sessions[NONE], statement.sql, id);
      for (const variant of variants) {
        const plan = await planOf(sessions[variant], textOf(statement, variant), id);
        figures.push({
          group: "rls",
          case: statement.name,
          variant,
          microseconds: Number(median(times.get(variant)!).toFixed(2)),
          samePlan: plan === plain ? "yes" : "no",
        });
      }
    }
    const [{ board }] = await database.sql.unsafe<[{ board: string }]>(`select md5('b7')::uuid as board`);
    const times = new Map(VARIANTS.map(variant => [variant, [] as number[]]));
    for (let block = quick ? -1 : -2; block < (quick ? 5 : 21); block++) {
      for (const variant of VARIANTS) {
        const micros = await roundTrips(sessions[variant], textOf(ROUND_TRIP.of, variant), { id, board });
        if (block >= 0) times.get(variant)!.push(micros);
      }
    }
    for (const variant of VARIANTS) {
      const microseconds = Number(median(times.get(variant)!).toFixed(1));
      figures.push({ group: "rls", case: ROUND_TRIP.name, variant, microseconds });
    }
    return figures;
  } finally {
    await Promise.all([app, sessions[NONE]].map(sql => sql.end()));
    await database.drop();
  }
}

/** Microseconds a statement. What it writes is rolled back, so that no block finds a larger table than the first. */
async function runBlock(sql: postgres.Sql, statement: string, repeat: number): Promise<number> {
  const session = await sql.reserve();
  try {
    await session`begin`;
    await session.unsafe(`do $$
      declare
        v_tenant constant uuid := ${TENANT};
        v_board constant uuid := md5('b7')::uuid;
        v_start timestamptz;
      begin
        for i in 1 .. 20 loop ${repeat > 10 ? statement : "null"}; end loop;
        v_start := clock_timestamp();
        for i in 1 .. ${repeat} loop ${statement}; end loop;
        perform set_config('bench.micros', (extract(epoch from clock_timestamp() - v_start) * 1e6 / ${repeat})::text, true);
      end $$`);
    const [row] = await session<{ micros: string }[]>`select current_setting('bench.micros') as micros`;
    return Number(row!.micros);
  } finally {
    await session`rollback`;
    session.release();
  }
}

/** Microseconds from sending a prepared statement to its answer. */
async function roundTrips(
  sql: postgres.Sql,
  statement: string,
  { id, board }: { id: string; board: string },
) {
  const text = statement
    .replace(/^perform/, "select")
    .replace("v_board", "$1")
    .replace("v_tenant", "$2");
  const values = text.includes("$2") ? [board, id] : [board];
  const from = performance.now();
  for (let i = 0; i < ROUND_TRIP.repeat; i++) await sql.unsafe(text, values, { prepare: true });
  return ((performance.now() - from) * 1_000) / ROUND_TRIP.repeat;
}

/** The plan without what reads the setting once, the InitPlan and the One-Time Filter that compares it; the tenant as `tenant`. */
async function planOf(sql: postgres.Sql, statement: string, tenant: string): Promise<string> {
  const text = statement
    .replace(/^perform/, "select")
    .replaceAll("v_tenant", TENANT)
    .replaceAll("v_board", "md5('b7')::uuid");
  const rows = await sql.unsafe(`explain (costs off) ${text}`);
  const lines = rows.map(row => String(row["QUERY PLAN"]));
  const kept: string[] = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!.replace(/^\s*(->)?\s*/, "");
    if (/^(InitPlan|One-Time Filter|Result$)/.test(line)) {
      if (line.startsWith("InitPlan")) i++; // and the Result node below it
      continue;
    }
    kept.push(
      line.replaceAll(`'${tenant}'::uuid`, "tenant").replaceAll(/\(InitPlan \d+\)\.col1|\$\d+/g, "tenant"),
    );
  }
  return kept.join("\n");
}

/** The targets, by case: the ratio of RLS to none that it may have at most. */
export const RLS_LIMITS = Object.fromEntries(
  [...STATEMENTS, ROUND_TRIP].map(({ name, limit }) => [name, limit]),
);
