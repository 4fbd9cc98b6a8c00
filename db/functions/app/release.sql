create or replace function app.release()
returns int
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select number from control.release order by installed_at desc limit 1
$$;
comment on function app.release() is 'The number of the installed release; null before the first one.';
revoke all on function app.release() from public;
grant execute on function app.release() to tms_registrar, tms_auditor;
