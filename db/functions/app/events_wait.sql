set local role tms_registrar;
create or replace function app.events_wait()
returns numeric
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  -- As app.event_page() has it: what is not below the oldest open transaction is not shown yet.
  select coalesce((
    select round(greatest(extract(epoch from clock_timestamp() - e.at), 0), 3) from control.tenant_events e
    where (e.epoch, e.xid) >= (control.event_epoch(), pg_snapshot_xmin(pg_current_snapshot()))
    order by e.epoch, e.xid, e.n limit 1), 0)
$$;
comment on function app.events_wait() is
'For how many seconds the first event has waited that feeds do not show yet, because a transaction that began earlier is open; 0: none waits.';
revoke all on function app.events_wait() from public;
reset role;
