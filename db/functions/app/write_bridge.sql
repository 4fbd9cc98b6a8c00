-- The date is in the policy's name: \d shows it, a dump keeps it, and it needs no state.
create or replace function app.write_bridge(p_table regclass, p_login text, p_until date)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_login constant oid := (select oid from pg_roles where rolname = p_login);
  v_fault constant text := case
    when (p_login is null) <> (p_until is null) then 'bridge and until go together'
    when p_login is null then null
    when v_login is null then format('there is no role %I', p_login)
    when not (select rolcanlogin from pg_roles where oid = v_login) then format('%I is not a login', p_login)
    when (select rolsuper or rolbypassrls from pg_roles where oid = v_login) then format('%I needs no bridge: no policy applies to it', p_login)
    when p_login ~ '^tms_(app|service|registrar|owner|auditor)$' then format('%I is a role of this service', p_login)
    when exists (
      select from unnest('{tms_app,tms_service}'::name[]) r
      where pg_has_role(v_login, r, 'member') or pg_has_role(r, v_login, 'member')
    ) then format('requests act as %I, by its membership', p_login)
    -- It reaches a partition by the parent's privileges.
    when not (select relispartition from pg_class where oid = p_table)
      and not (has_any_column_privilege(v_login, p_table, 'select') or has_any_column_privilege(v_login, p_table, 'insert'))
      then format('%I has no privilege on %s, or had it by PUBLIC, which has none now', p_login, p_table)
    when p_until not between current_date and current_date + interval '1 year'
      then format('until must be between %s and %s', current_date, (current_date + interval '1 year')::date)
    end;
  v_bridge name;
begin
  if v_fault is not null then
    raise exception using errcode = 'invalid_parameter_value', message = format('%s cannot have this bridge: %s', p_table, v_fault),
      hint = 'It is for one login of the old application: bridge => ''prod_app'', until => ''2027-01-31''.';
  end if;
  for v_bridge in select polname from pg_policy where polrelid = p_table and polname ~ '^bridge_until_' loop
    execute format('drop policy %I on %s', v_bridge, p_table);
  end loop;
  if v_login is not null then
    execute format('create policy %I on %s for all to %I using (true) with check (true)',
      to_char(p_until, '"bridge_until_"YYYY_MM_DD'), p_table, p_login);
  end if;
end
$$;

comment on function app.write_bridge(regclass, text, date) is
$$Lets one login of an old application see every row of a tenant table until a date, by the policy bridge_until_<date>; null: removes it.
Raises 22023 for a role that is no login, a superuser or a role of requests, without a privilege on the table, and for a date in the past
or more than a year ahead.$$;
revoke all on function app.write_bridge(regclass, text, date) from public;
