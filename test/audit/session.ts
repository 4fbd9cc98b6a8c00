/** The audit's text in a session's pg_temp, as a client sends it, in a transaction that is rolled back. */
import { readFileSync } from "node:fs";
import postgres from "postgres";
import { type Database, rolledBack } from "../harness.ts";

const folder = new URL("../../db/audit/", import.meta.url);
/** A file of the audit, for pg_temp. */
export const read = (file: string) =>
  readFileSync(new URL(file, folder), "utf8").replaceAll(/\baudit\.(?=[a-z_])/g, "pg_temp.");

/** All of it but the checks of the catalog. */
const HEART = [
  "../tables/profile.sql",
  "profile.sql",
  "propose.sql",
  "../tables/vouched.sql",
  "vouched.sql",
  "support.sql",
  "data.sql",
  "proof.sql",
  "who_reads.sql",
  "seed.sql",
  "run.sql",
]
  .map(read)
  .join("\n");
export const SERVICE = read("service-profile.sql");
export interface Finding {
  check: string;
  severity: string;
  tenant_id: string | null;
  relation: string | null;
  row: Record<string, unknown>;
  detail: string;
  remedy: string;
}

/** Sends what the audit is made of, after what the test plants with everybody's search_path. */
export async function send(sql: postgres.ISql, ...texts: string[]): Promise<void> {
  await sql.unsafe(
    "set local search_path = pg_catalog, pg_temp; set local client_min_messages = warning; set local jit = off",
  );
  await sql.unsafe([HEART, ...texts].join("\n"));
}

/** In a session of its own and one snapshot; `plant` first, as the superuser and by everybody's search_path. */
export async function audited<T>(
  url: string,
  { plant = "", profile = SERVICE, texts = [] as string[] },
  work: (sql: postgres.TransactionSql) => Promise<T>,
): Promise<T> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await rolledBack(sql, async transaction => {
      await transaction.unsafe("set transaction isolation level repeatable read");
      await transaction.unsafe(plant);
      await send(transaction, profile, ...texts);
      return work(transaction);
    });
  } finally {
    await sql.end();
  }
}

/** The proof's findings; writes are tried. */
export async function proved(
  sql: postgres.ISql,
  relation: string | null = null,
  sample = 2,
): Promise<Finding[]> {
  await sql`select from pg_temp.prove(${relation}::text::regclass, ${sample}, true, true)`;
  return [...(await sql<Finding[]>`select * from pg_temp.proof_findings() order by relation`)];
}

export const lines = (found: Finding[]) => found.map(one => `${one.check} ${one.relation}: ${one.detail}`);

/** The address of a login that is no superuser, sees every row and may become these roles, as docs recommend; and what removes it. */
export async function auditor(
  database: Database,
  roles: string[],
): Promise<{ url: string; drop: () => Promise<void> }> {
  const name = `auditor_${database.name}`;
  const [{ options }] = await database.sql<[{ options: boolean }]>`
    select current_setting('server_version_num')::int >= 160000 as options`;
  await database.sql.unsafe(`
    create role ${name} login bypassrls password 'x' in role pg_read_all_data;
    grant connect, temporary on database ${database.name} to ${name};
    ${roles.map(role => `grant ${role} to ${name} ${options ? "with inherit false, set true" : ""};`).join("\n")}`);
  return {
    url: Object.assign(new URL(database.urls.root), { username: name, password: "x" }).href,
    drop: async () => void (await database.sql.unsafe(`drop owned by ${name}; drop role ${name}`)),
  };
}
