create or replace function control.tg_tenants__record()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_event constant text := nullif(current_setting('app.event', true), '');
  v_actor constant json := nullif(current_setting('app.actor', true), '');
  v_by_operator constant boolean := coalesce((v_actor ->> 2)::boolean, false);
  v_reason constant text := nullif(current_setting('app.reason', true), '');
  v_request constant text := nullif(current_setting('app.request_id', true), '');
begin
  if tg_op = 'INSERT' then
    insert into control.tenant_events
      (epoch, n, event, tenant_id, slug, name, actor_provider, actor_subject, reason, request_id, by_operator)
    select l.epoch, l.n + row_number() over (),
      coalesce(v_event, case when registration is null then 'tenant.created' else 'tenant.registered' end),
      id, slug, name, v_actor ->> 0, v_actor ->> 1, v_reason, v_request, v_by_operator
    from come, control.event_place() l;
  elsif tg_op = 'UPDATE' then
    insert into control.tenant_events
      (epoch, n, event, tenant_id, slug, name, changed, actor_provider, actor_subject, reason, request_id, by_operator)
    select l.epoch, l.n + row_number() over (),
           case when v_event = 'tenant.replaced' then v_event when g.status = c.status then 'tenant.updated'
                when c.status = 'deleted' then 'tenant.deletion_scheduled' when g.status = 'deleted' then 'tenant.restored'
                when c.status = 'suspended' then 'tenant.suspended' when g.status = 'pending' then 'tenant.approved'
                else 'tenant.resumed' end,
           c.id, c.slug, c.name, nullif(k.changed, '{}'), v_actor ->> 0, v_actor ->> 1, v_reason, v_request, v_by_operator
    from gone g join come c using (id)
    cross join control.event_place() l
    cross join lateral (select array_remove(array[
      case when g.name <> c.name then 'name' end, case when g.slug <> c.slug then 'slug' end,
      case when g.settings <> c.settings then 'settings' end], null) as changed) k
    where g.status <> c.status or k.changed <> '{}' or v_event = 'tenant.replaced';
  else
    -- The INSERT that follows is the event.
    insert into control.tenant_events
      (epoch, n, event, tenant_id, slug, name, actor_provider, actor_subject, reason, request_id, by_operator)
    select l.epoch, l.n + row_number() over (), case status when 'pending' then 'tenant.rejected' else 'tenant.deleted' end,
      id, slug, name, v_actor ->> 0, v_actor ->> 1, v_reason, v_request, v_by_operator
    from gone, control.event_place() l
    where v_event is distinct from 'tenant.replaced';
  end if;
  return null;
end
$$;
comment on function control.tg_tenants__record() is
$$Writes control.tenant_events: one row for each tenant that a statement changed. The setting app.actor is [provider, subject] as
JSON, and true behind them for an operator; app.reason says why, app.request_id names the request. app.event replaces the event of an INSERT; tenant.replaced also that of an UPDATE, and
a DELETE writes none then.$$;
revoke all on function control.tg_tenants__record() from public;

-- Created only if missing: `create or replace trigger` would block every writer of app.tenants at each release. A trigger that changes
-- gets a new name, and the old name a line in db/drops.sql. On Citus the triggers are on the coordinator's own copy of the table.
do $$
declare
  v_trigger record;
begin
  for v_trigger in
    select * from (values
    ('_600_record_insert', 'insert', 'referencing new table as come'),
    ('_600_record_update', 'update', 'referencing old table as gone new table as come'),
    ('_600_record_delete', 'delete', 'referencing old table as gone')
    ) as wanted (name, event, tables)
    where not exists (select from pg_trigger where tgname = name and tgfoid = 'control.tg_tenants__record()'::regprocedure)
  loop
    execute format('create trigger %I after %s on app.tenants %s for each statement execute function control.tg_tenants__record()',
      v_trigger.name, v_trigger.event, v_trigger.tables);
  end loop;
end
$$;
