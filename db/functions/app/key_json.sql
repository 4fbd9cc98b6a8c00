create or replace function app.key_json(p_key app.api_keys, p_role text)
returns json
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select json_build_object(
    'key_id', p_key.id, 'name', p_key.name, 'role', p_role, 'created_by', p_key.created_by,
    'created_at', app.iso_time(p_key.created_at), 'expires_at', app.iso_time(p_key.expires_at),
    'last_used_at', app.iso_time(date_trunc('minute', p_key.last_used_at)))
$$;
comment on function app.key_json(app.api_keys, text) is 'An API key as every response shows it: last_used_at to the minute, and nothing of the secret.';
revoke all on function app.key_json(app.api_keys, text) from public;
grant execute on function app.key_json(app.api_keys, text) to tms_app;
