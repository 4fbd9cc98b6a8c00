-- For tms_registrar; runs as tms_app, which alone reads invitations. No member of tms_app can use the schema control.
set local role tms_app;
create or replace function control.is_invited(p_tenant_id uuid, p_token_hash bytea)
returns boolean
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from app.invitations i
    where i.tenant_id = p_tenant_id and i.token_hash = p_token_hash and i.expires_at > now())
$$;
comment on function control.is_invited(uuid, bytea) is 'Whether the tenant of the transaction has an open invitation with this hash.';
revoke all on function control.is_invited(uuid, bytea) from public;
grant execute on function control.is_invited(uuid, bytea) to tms_registrar;
reset role;
