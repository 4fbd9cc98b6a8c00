-- As in the default of control.tenant_events.origin. A restored dump, a promoted standby and a recovery to a point in time begin at other
-- transaction ids, and may repeat some that a reader has seen. The control file has the timeline of a promotion at once in
-- min_recovery_end_timeline, and after the next checkpoint in timeline_id.
create or replace function control.event_origin()
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select (pg_control_system()).system_identifier || '/'
    || greatest((pg_control_checkpoint()).timeline_id, (pg_control_recovery()).min_recovery_end_timeline)
$$;
comment on function control.event_origin() is 'The server whose transaction ids new events have: its system identifier and timeline.';
revoke all on function control.event_origin() from public;
grant execute on function control.event_origin() to tms_registrar;
