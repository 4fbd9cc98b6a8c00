create or replace function app.invitation_page(
  p_tenant_id uuid, p_caller_role text, p_limit int, p_cursor text, out body json, out next_cursor text
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_after record := app.read_cursor(p_cursor);
begin
  perform app.require_member_admin(p_caller_role, 'member');
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
      where i.tenant_id = p_tenant_id and i.expires_at > now()
        and (i.invited_by is null or exists (
          select from app.users u
          where u.tenant_id = i.tenant_id and u.id = i.invited_by and u.removed_at is null and app.manages(u.role, i.role)))
        and i.created_at <= v_after.at and (i.created_at < v_after.at or i.id > v_after.id)
      order by i.created_at desc, i.id
      limit p_limit + 1) i) p;
end
$$;
comment on function app.invitation_page(uuid, text, int, text) is
$$api.list_invitations() for a caller in the tenant with this role, which may be operator.$$;
revoke all on function app.invitation_page(uuid, text, int, text) from public;
grant execute on function app.invitation_page(uuid, text, int, text) to tms_app;
