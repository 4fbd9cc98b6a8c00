-- The last branch of app.tenant_id(); a function, because an expression cannot raise an error of its own. It looks at the setting again
-- because Citus evaluates the branches of a CASE before its condition. It raises by itself, not by app.refuse(), because Citus brings to its
-- workers only what a standard body names.
create or replace function app.no_tenant(p_setting text)
returns text
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('app.require_tenant', true) = 'on'
    and coalesce(p_setting, '') not like '________-____-____-____-____________'
  then
    raise exception using errcode = 'TM428', message = 'no tenant was entered', constraint = 'no_tenant',
      hint = 'Call app.enter_tenant() or app.set_tenant() first, in the same transaction.';
  end if;
  return null;
end
$$;

comment on function app.no_tenant(text) is
$$What app.tenant_id() is where its setting names no tenant: null, or the error TM428 for a login with app.require_tenant = on.$$;
revoke all on function app.no_tenant(text) from public;
grant execute on function app.no_tenant(text) to tms_app, tms_registrar, tms_auditor;
