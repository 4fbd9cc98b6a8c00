create or replace function app.sign_tenant(p_tenant_id uuid)
returns text
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select p_tenant_id || '.' || app.tenant_signature(setting_inner_key, setting_outer_key, p_tenant_id::text) from control.tenant_context
$$;
comment on function app.sign_tenant(uuid) is
$$The setting app.tenant_id for a tenant, signed for this transaction. For roles that may enter every tenant: never grant it to tms_app or
tms_service. Null while no secret is stored.$$;
revoke all on function app.sign_tenant(uuid) from public;
grant execute on function app.sign_tenant(uuid) to tms_registrar, tms_auditor;
