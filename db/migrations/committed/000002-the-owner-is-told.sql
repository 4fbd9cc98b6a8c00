--! Previous: sha1:a5e55cb6819d406b33dde554c13005b9513dd02a
--! Hash: sha1:c53c5fccb1b29d3ea1ab73a7320eab3419ff206b
--! Message: the owner is told

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

-- The policies of the owner call it.
do $$
declare
  v_table regclass;
  v_text constant text := $q$(select case current_setting('app.maintenance', true) when 'on' then true else app.no_maintenance() end)$q$;
begin
  if not app.is_distributed() then
    for v_table in select polrelid from pg_policy where polname = 'maintenance' and polroles = array['tms_owner'::regrole::oid] loop
      execute format('alter policy maintenance on %s using (%s) with check (%s)', v_table, v_text, v_text);
    end loop;
  end if;
end
$$;
-- No gate: that of the release before does not know the function.
