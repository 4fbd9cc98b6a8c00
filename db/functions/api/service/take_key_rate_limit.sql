-- In the transaction that counts, so that a key that is not valid makes no counter.
set local role tms_registrar;
create or replace function api.take_key_rate_limit(
  p_bucket text, p_key text, p_window_seconds int,
  out hits int, out reset_at bigint
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
begin
  if app.requires_proof() then
    execute format('set local app.tenant_id = %L', app.sign_tenant(left(p_key, 36)::uuid)); -- for control.enter_key()
  end if;
  select t.hits, t.reset_at into hits, reset_at
  from api.take_rate_limit(p_bucket, 'key' || chr(10) || (control.enter_key(p_key)).auth_subject, p_window_seconds) t;
end
$$;
comment on function api.take_key_rate_limit(text, text, int) is
$$api.take_rate_limit() for a request with an API key, counted by the id of the key. p_key: as control.enter_key() takes it. Raises TM401
for a key that is not valid.$$;
reset role;
