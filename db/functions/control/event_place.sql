create or replace function control.event_place(out epoch int, out n bigint)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select l.epoch, coalesce((
      select max(e.n) from control.tenant_events e where e.epoch = l.epoch and e.xid = pg_current_xact_id()), 0)
  from (select control.event_epoch() as epoch) l
$$;
comment on function control.event_place() is
$$The place of the next event: its epoch, and the number of the last event that this
transaction wrote.$$;
revoke all on function control.event_place() from public;
grant execute on function control.event_place() to tms_registrar;
