-- For tms_registrar, which has no right on the keys. plpgsql for Citus, as app.tenant_answer().
set local role tms_auditor;
create or replace function control.key_expired(p_tenant_id uuid, p_key_id text)
returns boolean
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return exists (select from app.api_keys where tenant_id = p_tenant_id and id::text = p_key_id and expires_at <= now());
end
$$;
comment on function control.key_expired(uuid, text) is 'Whether the tenant has an API key of this id that has expired. For api.explain_access().';
revoke all on function control.key_expired(uuid, text) from public;
grant execute on function control.key_expired(uuid, text) to tms_registrar;
reset role;
