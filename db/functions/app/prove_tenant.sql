set local role tms_registrar;
create or replace function app.prove_tenant(p_tenant_id uuid)
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- Who is in the tenant already needs no second proof.
  -- The text first: where app.require_tenant is on, app.tenant_id() raises before a tenant is entered.
  if (case when starts_with(current_setting('app.tenant_id', true), p_tenant_id || '.') then p_tenant_id = app.tenant_id() end) then
    return current_setting('app.tenant_id');
  end if;
  return app.sign_proved_tenant('{tenant}', ',36:' || p_tenant_id, p_tenant_id);
end
$$;
comment on function app.prove_tenant(uuid) is
$$The setting app.tenant_id for a tenant that app.proof proves, or that the transaction is in. For app.set_tenant(). Raises TM503.$$;
revoke all on function app.prove_tenant(uuid) from public;
grant execute on function app.prove_tenant(uuid) to tms_app;
reset role;
