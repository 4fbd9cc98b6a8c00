set local role tms_registrar;
create or replace function app.purge_tenant(p_tenant_id uuid)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant app.tenants;
begin
  perform app.lock_tenant(p_tenant_id::text);
  -- Read under the lock: the tenant may have been restored, or deleted for good, since the caller looked.
  select * into v_tenant from app.tenants where id = p_tenant_id and purge_at <= now();
  if v_tenant.id is null then
    return false;
  end if;
  perform app.remove_tenant(v_tenant);
  return true;
end
$$;
comment on function app.purge_tenant(uuid) is
$$Deletes a tenant for good if its restore window has passed, and returns whether it did. `tenancy purge` calls it. Raises 55P03 if others
write to the tenant.$$;
revoke all on function app.purge_tenant(uuid) from public;
grant execute on function app.purge_tenant(uuid) to tms_owner;
reset role;
