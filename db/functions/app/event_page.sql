-- Transactions end in another order than that of their ids. An event is shown once every transaction with a smaller id has ended: what is
-- written later comes after it. Condition and rows must be of one snapshot, so all is one statement. Earlier epochs are those of other
-- servers: they are complete, and their ids compare with none of this one.
set local role tms_registrar;
create or replace function app.event_page(
  p_tenant_id uuid, p_limit int, p_after text, p_order text, p_type text, p_for_tenant boolean, out body json, out next_cursor text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_after constant record := app.read_event_cursor(p_after);
  v_down constant boolean := p_order = '-at';
begin
  -- Text, because a condition such as `$2 is null or tenant_id = $2` would keep the planner from using the index. One row more than a page
  -- shows whether there is a next page.
  execute format($query$
    with shown as not materialized (
      select * from control.tenant_events e
      where (%5$se.epoch, e.xid, e.n) < (%6$s$1, pg_snapshot_xmin(pg_current_snapshot()), 0::bigint) %1$s
    ), page as (
      select e.*, row_number() over (order by e.epoch %2$s, e.xid %2$s, e.n %2$s) as k
      from (select * from shown e where true %3$s %4$s order by e.epoch %2$s, e.xid %2$s, e.n %2$s limit $7 + 1) e
    ), last as (
      select app.event_cursor(epoch, xid, n) as cursor from (select epoch, xid, n from shown order by epoch desc, xid desc, n desc limit 1) l
      where $3 is null or (epoch, xid, n) > ($3, $4, $5)
    ), ends as (
      select max(app.event_cursor(epoch, xid, n)) as cursor from page where k = $7 and (select count(*) from page) > $7
    ), place as (
      select coalesce(case when not $8 then (select cursor from ends) end, (select cursor from last), $9, app.event_cursor(0, '0', 0)) as cursor
    )
    select json_build_object('events', coalesce((
        select json_agg(json_build_object(
          'cursor', app.event_cursor(epoch, xid, n),
          'type', event,
          'at', app.iso_time(at), 'tenant_id', tenant_id, 'tenant_slug', slug, 'tenant_name', name,
          'actor', case when $10 and by_operator then json_build_object('auth_provider', 'operator', 'auth_subject', 'operator')
            when actor_subject is not null then json_build_object('auth_provider', actor_provider, 'auth_subject', actor_subject) end,
          'target_id', target_id, 'changed', changed, 'role', role, 'role_before', role_before,
          'reason', case when not $10 then reason end,
          'request_id', case when not ($10 and by_operator) then request_id end) order by k)
        from page where k <= $7), '[]'),
      'cursor', (select cursor from place)), case when $8 then (select cursor from ends) else (select cursor from place) end
    $query$,
    case when p_tenant_id is not null then 'and e.tenant_id = $2' end,
    case when v_down then 'desc' end,
    case when p_after is not null then format(case when p_tenant_id is null then 'and (e.epoch, e.xid, e.n) %s ($3, $4, $5)'
      else 'and (e.tenant_id, e.epoch, e.xid, e.n) %s ($2, $3, $4, $5)' end, case when v_down then '<' else '>' end) end,
    case when p_type is not null then 'and e.event = $6' end,
    -- Of one tenant the planner must not take the index of all: it knows nothing of xmin, and would read every event.
    case when p_tenant_id is not null then 'e.tenant_id, ' end, case when p_tenant_id is not null then '$2, ' end)
  into body, next_cursor
  using control.event_epoch(), p_tenant_id, v_after.epoch, v_after.xid, v_after.n, p_type, p_limit, v_down, p_after, p_for_tenant;
end
$$;
comment on function app.event_page(uuid, int, text, text, text, boolean) is
$$A page of events, of one tenant or of all, after a cursor: {events, cursor}. The oldest first; p_order '-at': the newest first. A later call
with `cursor` goes on with the events that are new then. next_cursor leads to the next page; it is null on the last page of '-at'.
p_for_tenant: the tenant's own people read it, to whom an operator has no subject, request or reason. Raises TM422.$$;
revoke all on function app.event_page(uuid, int, text, text, text, boolean) from public;
reset role;
