create or replace function control.event_epoch()
returns int
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce((
    select e.epoch + (e.origin <> control.event_origin())::int
    from control.tenant_events e
    order by e.epoch desc, e.xid desc, e.n desc
    limit 1), 1)
$$;
comment on function control.event_epoch() is
'The epoch of a new event: that of the last one, or the next when the last one came from another server.';
revoke all on function control.event_epoch() from public;
grant execute on function control.event_epoch() to tms_registrar;
