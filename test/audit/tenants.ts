/** Tenants with sample data. */
import type postgres from "postgres";

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

/** Roles are the cluster's: tests that run at the same time make auditors, which read every tenant. */
export const isOfAnotherTest = (role: unknown) => /^(kiosk_)?auditor_/.test(String(role));
