create or replace function app.role_now(p_tenant_id uuid, p_user_id uuid, p_role text)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  -- No member has the role operator: a constraint of app.users has the list.
  if p_role = 'operator' then
    return p_role;
  end if;
  return app.require_member(p_tenant_id, p_user_id);
end
$$;
comment on function app.role_now(uuid, uuid, text) is
$$The current role of a caller who entered the tenant with p_role. A member is locked until the transaction ends; an operator stays one.
Raises TM403 if the member was removed.$$;
revoke all on function app.role_now(uuid, uuid, text) from public;
grant execute on function app.role_now(uuid, uuid, text) to tms_app;
