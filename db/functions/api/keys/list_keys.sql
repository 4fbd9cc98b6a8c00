set local role tms_app;
create or replace function api.list_keys(p_caller app.caller, p_limit int, p_cursor text, out body json, out next_cursor text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_caller record := app.enter_tenant(p_caller);
  v_after record;
begin
  perform app.refuse_key(p_caller);
  perform app.require_member_admin(v_caller.role, 'member');
  v_after := app.read_cursor(p_cursor);
  -- A tenant has 100 open keys at most, so one range of the index and a filter will do.
  select json_build_object('keys', coalesce(json_agg(p.key order by p.n) filter (where p.n <= p_limit), '[]')),
         case when count(*) > p_limit then max(p.cursor) filter (where p.n = p_limit) end
  into body, next_cursor
  from (
    select app.key_json(row(m.*)::app.api_keys, u.role) as key, app.cursor_of(m.created_at, m.id) as cursor,
           row_number() over (order by m.created_at desc, m.id) as n
    from (
      select * from app.api_keys k
      where k.tenant_id = v_caller.tenant_id and k.revoked_at is null
        and (k.created_at < v_after.at or (k.created_at = v_after.at and k.id > v_after.id))
      order by created_at desc, id
      limit p_limit + 1) m
    join app.users u on u.tenant_id = m.tenant_id and u.id = m.user_id
    where u.tenant_id = v_caller.tenant_id) p;
end
$$;
comment on function api.list_keys(app.caller, int, text) is
$$The API keys of the tenant that are not revoked, newest first, for owners and admins: {keys}. next_cursor is null on the last page.
Raises TM403, TM422.$$;
reset role;
