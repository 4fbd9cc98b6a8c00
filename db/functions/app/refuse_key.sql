create or replace function app.refuse_key(p_caller app.caller)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_caller.provider = 'key' then
    perform app.refuse(403, 'Access denied', 'An API key cannot do this', 'not_for_keys');
  end if;
end
$$;
comment on function app.refuse_key(app.caller) is
  'Raises TM403 for a caller with an API key. For operations that only people have: call it after app.enter_tenant(), which checks the key.';
revoke all on function app.refuse_key(app.caller) from public;
grant execute on function app.refuse_key(app.caller) to tms_app, tms_registrar;
