-- The setting is `<uuid>.<signature>`. The signature covers the session and the time at which its transaction began, so that it is
-- worth nothing elsewhere. PARALLEL RESTRICTED because a parallel worker is another session.
create or replace function control.signed_tenant_id()
returns uuid
language plpgsql
stable
parallel restricted
cost 1000
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting constant text := current_setting('app.tenant_id', true);
  v_keys record;
begin
  if v_setting like '________-____-____-____-____________.%' then
    select setting_inner_key, setting_outer_key into v_keys from control.tenant_context;
    if app.tenant_signature(v_keys.setting_inner_key, v_keys.setting_outer_key, left(v_setting, 36)) = substr(v_setting, 38) then
      return left(v_setting, 36)::uuid;
    end if;
  end if;
  return app.no_tenant(null::text)::uuid;
end
$$;

comment on function control.signed_tenant_id() is
$$What app.tenant_id() is while a secret is stored: no tenant, too, unless the setting carries the signature of this transaction.$$;
revoke all on function control.signed_tenant_id() from public;
