create or replace function app.refuse_key(p_auth_provider text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_auth_provider = 'key' then
    perform app.refuse(403, 'Access denied', 'An API key cannot do this', 'not_for_keys');
  end if;
end
$$;
comment on function app.refuse_key(text) is
  'Raises TM403 for a caller with an API key. For operations that only people have: call it after app.enter_tenant(), which checks the key.';
revoke all on function app.refuse_key(text) from public;
grant execute on function app.refuse_key(text) to tms_app, tms_registrar;
