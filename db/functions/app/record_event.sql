-- With the rights of its caller: tms_registrar may write an event of every tenant, tms_app through app.record_own_event().
create or replace function app.record_event(
  p_event text, p_tenant_id uuid, p_target_id uuid default null, p_changed text[] default null, p_reason text default null,
  p_role text default null, p_role_before text default null
)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant record;
  v_actor json;
begin
  if current_user <> 'tms_registrar' then
    perform app.record_own_event(p_event, p_tenant_id, p_target_id, p_changed, p_reason, p_role, p_role_before);
    return;
  end if;
  select t.slug, t.name into strict v_tenant from app.tenants t where t.id = p_tenant_id;
  v_actor := nullif(current_setting('app.actor', true), '');
  insert into control.tenant_events
    (epoch, n, event, tenant_id, slug, name, target_id, changed, role, role_before, actor_provider, actor_subject, reason, request_id,
     by_operator)
  select l.epoch, l.n + 1, p_event, p_tenant_id, v_tenant.slug, v_tenant.name, p_target_id, p_changed, p_role, p_role_before,
    v_actor ->> 0, v_actor ->> 1, p_reason, nullif(current_setting('app.request_id', true), ''), coalesce((v_actor ->> 2)::boolean, false)
  from control.event_place() l;
end
$$;
comment on function app.record_event(text, uuid, uuid, text[], text, text, text) is
$$Writes an event of a tenant in the caller's transaction; the actor is the setting app.actor, the request app.request_id. Functions of
tms_app may write one of the tenant that they are in. Raises P0002 for an unknown tenant.$$;
revoke all on function app.record_event(text, uuid, uuid, text[], text, text, text) from public;
grant execute on function app.record_event(text, uuid, uuid, text[], text, text, text) to tms_app, tms_registrar;
