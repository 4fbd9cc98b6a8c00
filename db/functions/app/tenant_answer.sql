-- plpgsql, because in a function in SQL Citus refuses parameters beside a distributed table.
set local role tms_registrar;
create or replace function app.tenant_answer(p_tenant app.tenants, out body json, out etag text)
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  -- In a statement of its own: beside a distributed table Citus would send its look at control.tenant_events to the workers.
  v_stem constant text := app.tenant_stem(p_tenant);
  v_members bigint;
begin
  -- People: an API key has a row in app.users too.
  select count(*) into v_members
  from app.users u
  where u.tenant_id = p_tenant.id and u.removed_at is null and u.auth_provider <> 'key';
  body := v_stem || ',"members_count":' || v_members || '}';
  etag := app.etag(v_stem, v_members::text);
end
$$;
comment on function app.tenant_answer(app.tenants) is
$$One tenant as operators see it, and its ETag: app.tenant_json(), what the newcomer wrote at the registration, and the number of members.
Lists leave both out: the count reads the tenant's part of an index.$$;
revoke all on function app.tenant_answer(app.tenants) from public;
reset role;
