create or replace function app.member_page(
  p_tenant_id uuid, p_limit int, p_cursor text, p_q text, out body json, out next_cursor text
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_after record := app.read_cursor(p_cursor);
begin
  -- One row more than a page shows whether there is a next page.
  select json_build_object('members', coalesce(json_agg(p.member order by p.n) filter (where p.n <= p_limit), '[]')),
         case when count(*) > p_limit then max(p.cursor) filter (where p.n = p_limit) end
  into body, next_cursor
  from (
    select app.member_json(row(m.*)::app.users)::json as member, app.cursor_of(m.created_at, m.id) as cursor,
           row_number() over (order by m.created_at desc, m.id) as n
    from (
      -- Two index ranges, as in api.list_boards.
      (select * from app.users u
       where u.tenant_id = p_tenant_id and u.removed_at is null and u.auth_provider <> 'key'
         and u.created_at = v_after.at and u.id > v_after.id
         and (p_q is null or app.member_matches(row(u.*)::app.users, p_q))
       order by created_at desc, id limit p_limit + 1)
      union all
      (select * from app.users u
       where u.tenant_id = p_tenant_id and u.removed_at is null and u.auth_provider <> 'key' and u.created_at < v_after.at
         and (p_q is null or app.member_matches(row(u.*)::app.users, p_q))
       order by created_at desc, id limit p_limit + 1)
      order by created_at desc, id
      limit p_limit + 1) m) p;
end
$$;
comment on function app.member_page(uuid, int, text, text) is
$$A page of the members of the tenant, without API keys, newest first: {members}. p_q: those whom app.member_matches()
finds; it reads the members of the one tenant. next_cursor is null on the last page. Raises TM422.$$;
revoke all on function app.member_page(uuid, int, text, text) from public;
grant execute on function app.member_page(uuid, int, text, text) to tms_app;
