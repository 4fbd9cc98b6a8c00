/** What the audit is told before it begins: a profile, who vouches for what, rows for empty tables. */
import type postgres from "postgres";
import { StartupError } from "../errors/startup-error.ts";
import type { Baseline } from "./baseline.ts";
import { inSession } from "./session.ts";
import { serviceProfile } from "./sql-text.ts";

/** What the catalog proposes as this database's profile. */
export function proposeProfile(url: string, what: string): Promise<Record<string, unknown>> {
  return inSession(url, what, propose);
}

async function propose(tx: postgres.TransactionSql): Promise<Record<string, unknown>> {
  const [row] = await tx<{ profile: string }[]>`select pg_temp.propose()::text as profile`;
  return JSON.parse(row!.profile) as Record<string, unknown>;
}

export async function loadProfile(
  tx: postgres.TransactionSql,
  given: Record<string, unknown> | null,
  ours: boolean,
) {
  if (ours) await tx`select set_config('app.maintenance', 'on', true)`; // tms_owner sees rows
  if (!given && ours) {
    await tx.unsafe(serviceProfile()).simple();
    return { profile: null, proposed: false };
  }
  const profile = given ?? (await propose(tx));
  try {
    await tx.savepoint(inner => inner`select pg_temp.load_profile(${JSON.stringify(profile)}::text::jsonb)`);
  } catch (error) {
    if (given) throw new StartupError(`The profile does not fit this database: ${(error as Error).message}`);
    throw new StartupError(
      `The catalog says too little for a profile (${(error as Error).message}): write one, docs/guides/any-postgres.md has examples`,
    );
  }
  return { profile, proposed: given === null };
}

/** What stays empty, and why. */
export async function seed(tx: postgres.TransactionSql): Promise<string[]> {
  try {
    const rows = await tx.savepoint(
      inner => inner<{ relation: string; failure: string }[]>`
        select relation, failure from pg_temp.seed() where rows = 0 and failure is not null`,
    );
    return rows.map(({ relation, failure }) => `${relation} has no rows: ${failure}`);
  } catch (error) {
    throw new StartupError(
      `No rows can be made for the proof: ${(error as Error).message}. It needs a superuser, or the right to set session_replication_role`,
    );
  }
}

/** What people reviewed. And the release's functions: where one differs, the manifest says so. */
export async function vouch(
  tx: postgres.TransactionSql,
  { vouched }: Pick<Baseline, "vouched">,
  functions: string[],
) {
  await tx`
    insert into pg_temp.vouched (kind, object, hash, reason)
    select kind, object, hash, reason
    from jsonb_to_recordset(${JSON.stringify(vouched)}::text::jsonb) v (kind text, object text, hash text, reason text)`;
  await tx`
    insert into pg_temp.vouched (kind, object, reason)
    select 'function', f, 'the manifest' from jsonb_array_elements_text(${JSON.stringify(functions)}::text::jsonb) f
    on conflict do nothing`;
}
