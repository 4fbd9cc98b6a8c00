set local role tms_app;
create or replace function api.change_member(p_caller app.caller, p_user_id text, p_role text)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_caller record := app.enter_tenant(p_caller);
begin
  return app.change_member(v_caller.tenant_id, v_caller.user_id, v_caller.role, p_user_id, p_role);
end
$$;
comment on function api.change_member(app.caller, text, text) is
$$Gives a member another role, and changes nothing else. Owners give and take every role, admins all but owner. The same role changes
nothing. Raises TM403, TM404 `Member not found`, TM409 for the last owner.$$;
reset role;
