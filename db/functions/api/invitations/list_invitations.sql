set local role tms_app;
create or replace function api.list_invitations(p_caller app.caller, p_limit int, p_cursor text, out body json, out next_cursor text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_caller record := app.enter_tenant(p_caller);
  v_after record := app.read_cursor(p_cursor);
begin
  perform app.require_member_admin(v_caller.role, 'member');
  -- One row more than a page shows whether there is a next page.
  select json_build_object('invitations', coalesce(json_agg(p.invitation order by p.n) filter (where p.n <= p_limit), '[]')),
         case when count(*) > p_limit then max(p.cursor) filter (where p.n = p_limit) end
  into body, next_cursor
  from (
    select app.invitation_json(row(i.*)::app.invitations) as invitation, app.cursor_of(i.created_at, i.id) as cursor,
           row_number() over (order by i.created_at desc, i.id) as n
    from (
      select i.*
      from app.invitations i
      join app.users u on u.tenant_id = i.tenant_id and u.id = i.invited_by
      where i.tenant_id = v_caller.tenant_id and i.expires_at > now()
        and u.removed_at is null and app.manages(u.role, i.role)
        and i.created_at <= v_after.at and (i.created_at < v_after.at or i.id > v_after.id)
      order by i.created_at desc, i.id
      limit p_limit + 1) i) p;
end
$$;
comment on function api.list_invitations(app.caller, int, text) is
$$The open invitations of the tenant, newest first: {invitations}. next_cursor is null on the last page. For owners and admins. Raises
TM403, TM422.$$;
reset role;
