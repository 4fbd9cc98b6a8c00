-- What a tenant's ETag is made of: the number of members, which follows it, changes without the tenant.
create or replace function app.tenant_stem(p_tenant app.tenants)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select left(app.tenant_json(p_tenant), -1) || ',"registration":' || coalesce(p_tenant.registration::text, 'null')
    || case when 'suspended' in (p_tenant.status, p_tenant.status_before) then ',"suspension":' || coalesce((
      select json_build_object('at', app.iso_time(e.at), 'reason', e.reason, 'actor', case when e.actor_subject is not null
        then json_build_object('auth_provider', e.actor_provider, 'auth_subject', e.actor_subject) end)::text
      from control.tenant_events e
      where e.tenant_id = p_tenant.id and e.event = 'tenant.suspended'
      order by e.tenant_id desc, e.epoch desc, e.xid desc, e.n desc limit 1), 'null') else '' end
$$;
comment on function app.tenant_stem(app.tenants) is
$$The JSON text of one tenant for operators, up to members_count: app.tenant_json(), what the newcomer wrote, and of a
suspended tenant the event of its suspension.$$;
revoke all on function app.tenant_stem(app.tenants) from public;
grant execute on function app.tenant_stem(app.tenants) to tms_registrar;
