create or replace function app.require_writable(p_patch jsonb, p_writable text[])
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_keys constant text[] := array(
    select case when length(k) > 200 then left(k, 200) || '…' else k end
    from jsonb_object_keys(coalesce(p_patch, '{}')) k where k <> all (coalesce(p_writable, '{}')) order by k limit 100);
  v_named constant text := array_to_string(v_keys, ' can be changed by operators only; settings.');
begin
  if v_keys <> '{}' then
    perform app.refuse(422, 'Validation failed',
      format('settings.%s can be changed by operators only', v_named), 'settings_not_writable',
      jsonb_build_object('errors', (
        select jsonb_agg(jsonb_build_object('field', 'settings.' || k, 'message', 'can be changed by operators only')) from unnest(v_keys) k)));
  end if;
end
$$;
comment on function app.require_writable(jsonb, text[]) is
  'Raises TM422 for a patch of settings with a top-level key that is not in p_writable: the keys of a tenant''s own people.';
revoke all on function app.require_writable(jsonb, text[]) from public;
grant execute on function app.require_writable(jsonb, text[]) to tms_registrar;
