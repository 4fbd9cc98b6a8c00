-- The last branch of tms_owner's policies; a function, because an expression cannot raise an error of its own.
create or replace function app.no_maintenance()
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('app.require_maintenance', true) = 'on' then
    raise exception using errcode = 'TM428', message = 'app.maintenance is off, so the owner would see no row', constraint = 'no_maintenance',
      hint = 'set local app.maintenance = on; in the same transaction';
  end if;
  return false;
end
$$;

comment on function app.no_maintenance() is
$$What a policy of tms_owner is while app.maintenance is off: false, or the error TM428 for a login with app.require_maintenance = on.$$;
revoke all on function app.no_maintenance() from public;
