create or replace function control.event_place(out epoch int, out n bigint)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select l.epoch, coalesce((
      select max(e.n) from control.tenant_events e where e.epoch = l.epoch and e.xid = pg_current_xact_id()), 0)
  from (
    select coalesce((
      select e.epoch + (e.origin <> control.event_origin())::int
      from control.tenant_events e
      order by e.epoch desc, e.xid desc, e.n desc
      limit 1), 1) as epoch) l
$$;
comment on function control.event_place() is
$$The place of the next event: the epoch, which the first event of another server raises, and the number of the last event that this
transaction wrote.$$;
revoke all on function control.event_place() from public;
grant execute on function control.event_place() to tms_registrar;
