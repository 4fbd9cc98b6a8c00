create or replace function control.store_mode(p_multi_tenant boolean)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  -- A service may start on a read-only server.
  if p_multi_tenant = (select d.multi_tenant from control.deployment d) or current_setting('transaction_read_only') = 'on' then
    return;
  end if;
  insert into control.deployment (default_tenant_made_at, multi_tenant)
  select null, p_multi_tenant where p_multi_tenant is not null
  on conflict (singleton) do update set multi_tenant = excluded.multi_tenant;
end
$$;
comment on function control.store_mode(boolean) is
  'Stores whether the deployment is in multi-tenant mode, where a null slug enters no tenant; null: leaves it as it is.';
revoke all on function control.store_mode(boolean) from public;
grant execute on function control.store_mode(boolean) to tms_registrar;
