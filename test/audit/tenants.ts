/** Tenants with sample data, and one planted violation at a time in a transaction that is rolled back. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { rolledBack } from "../harness.ts";

export interface Found {
  check: string;
  category: string;
  severity: string;
  tenant_id: string | null;
  relation: string | null;
  row: Record<string, unknown>;
  detail: string;
  remedy: string;
}

/** `count` active tenants t1, t2 …, each with an owner, a member, the sample data, a board membership, an invitation and an API key. */
export async function seedTenants(sql: postgres.Sql, count: number): Promise<void> {
  await sql.unsafe(`
    insert into app.tenants (slug, name, is_default, registration)
    select 't' || i, 'Tenant ' || i, i = 1, case when i % 2 = 0 then '{}'::jsonb end from generate_series(1, ${count}) i;
    insert into app.users (tenant_id, auth_provider, auth_subject, role)
    select id, 'jwt', s, case s when 'alice' then 'owner' else 'member' end from app.tenants, unnest(array['alice', 'bob']) s;
    do $$
    declare
      v_user record;
    begin
      for v_user in select * from app.users where role = 'owner' loop
        perform app.set_tenant(v_user.tenant_id);
        perform app.create_sample_data(v_user.tenant_id, v_user.id);
      end loop;
    end
    $$;
    insert into app.board_members (tenant_id, board_id, user_id, invited_by)
    select b.tenant_id, b.id, u.id, b.owner_id from app.boards b join app.users u on u.tenant_id = b.tenant_id and u.id <> b.owner_id;
    insert into app.invitations (tenant_id, token_hash, invited_by)
    select tenant_id, sha256(convert_to(id::text, 'UTF8')), id from app.users where role = 'owner';
    insert into app.api_keys (tenant_id, user_id, name, secret_hash, created_by)
    select tenant_id, id, 'a key', sha256(convert_to(id::text, 'UTF8')), id from app.users where role = 'owner';
    analyze`);
}

/** Ids of one row of each table in the tenant with this slug. */
export async function idsOf(sql: postgres.Sql, slug: string): Promise<Record<string, string>> {
  const [row] = await sql<Record<string, string>[]>`
    select t.id as tenant, b.id as board, b.owner_id as owner, m.user_id as member, g.id as generation, e.id as medium,
           c.id as credit, p.id as provider
    from app.tenants t
    join app.boards b on b.tenant_id = t.id
    join app.board_members m on m.tenant_id = t.id
    join app.generations g on g.tenant_id = t.id and g.artifact_type = 'image'
    join app.media e on e.tenant_id = t.id and e.generation_id = g.id
    join app.credit_transactions c on c.tenant_id = t.id and c.generation_id = g.id
    join app.provider_configs p on p.tenant_id = t.id
    where t.slug = ${slug}`;
  return row!;
}

/** Errors that an audit finds in the server itself, whatever the database holds: one on an old release that is not embedded. */
export async function serverErrors(sql: postgres.Sql): Promise<number> {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from audit.run_check('server_version') where severity = 'error'`;
  return row!.n;
}

/** Tables that pass for large, and vacuumed, are read in slices of the tenants, by merges of indexes; small ones whole. */
export const passForLarge = (tables: string) =>
  `update pg_class set reltuples = 1e7, relallvisible = relpages where ${tables}`;
const allLarge = passForLarge(
  "relnamespace = 'app'::regnamespace and relkind = 'r' and relname <> 'tenants'",
);
export const SIZES = {
  small: "",
  large: `${allLarge}; update pg_class set reltuples = 2e7 where oid = 'app.media'::regclass`,
  /** As many media as completed generations: one each, as far as statistics tell. */
  paired: allLarge,
};

/** Roles are the cluster's: tests that run at the same time make auditors, which read every tenant. */
export const isOfAnotherTest = (role: unknown) => /^(kiosk_)?auditor_/.test(String(role));

/** What one check finds now. */
export const runCheck = async (sql: postgres.ISql, check: string): Promise<Found[]> =>
  (await sql<Found[]>`select * from audit.run_check(${check})`).filter(
    ({ row }) => !Object.values(row ?? {}).some(isOfAnotherTest),
  );

/** What a check finds, whose remedies are pasted: as this role, else as the superuser. */
export async function paste(sql: postgres.TransactionSql, check: string, role = "none"): Promise<Found[]> {
  const found = await runCheck(sql, check);
  await sql.unsafe(`set local role ${role}`);
  for (const { remedy } of found) await sql.unsafe(remedy);
  await sql.unsafe("set local role none");
  return found;
}
export const asOwner = (sql: postgres.TransactionSql, check: string) => paste(sql, check, "tms_owner");

/** Plants, asks one check, rolls back. */
export function planted(sql: postgres.Sql, plant: string, check: string): Promise<Found[]> {
  return rolledBack(sql, async transaction => {
    await transaction.unsafe(plant);
    await transaction.unsafe("set local session_replication_role = origin");
    return runCheck(transaction, check);
  });
}

/** The one finding that a plant must give, field for field; detail and remedy must say something. */
export function assertFinding(
  found: Found[],
  expected: Pick<Found, "check" | "category" | "severity" | "tenant_id" | "relation" | "row">,
): void {
  const match = found.find(
    finding =>
      finding.relation === expected.relation &&
      JSON.stringify(sorted(finding.row)) === JSON.stringify(sorted(expected.row)),
  );
  assert.ok(match, `not found: ${JSON.stringify(expected)} in ${JSON.stringify(found, null, 1)}`);
  const { detail, remedy, ...rest } = match;
  assert.deepEqual({ ...rest, row: sorted(rest.row) }, { ...expected, row: sorted(expected.row) });
  assert.ok(detail.length > 10, detail);
  assert.ok(remedy.length > 10, remedy);
  assert.doesNotMatch(detail, /could not run/);
}

const sorted = (row: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)));
