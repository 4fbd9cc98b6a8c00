create or replace function app.patched_settings(p_settings jsonb, p_patch jsonb)
returns jsonb
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_settings constant jsonb := app.merge_patch(p_settings, p_patch);
begin
  -- The constraint tenants_settings_size: many small patches can reach it.
  if octet_length(v_settings::text) > 1048576 then
    perform app.refuse(422, 'Validation failed', 'settings would be larger than 1 MiB', 'settings_too_large',
      '{"errors": [{"field": "settings", "message": "would be larger than 1 MiB"}]}');
  end if;
  return v_settings;
end
$$;
comment on function app.patched_settings(jsonb, jsonb) is 'Settings after a merge patch. Raises TM422 if they are too large to store.';
revoke all on function app.patched_settings(jsonb, jsonb) from public;
grant execute on function app.patched_settings(jsonb, jsonb) to tms_registrar;
