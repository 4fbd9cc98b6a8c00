create or replace function app.merge_patch(p_target jsonb, p_patch jsonb)
returns jsonb
language sql
immutable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
  select case when jsonb_typeof(p_patch) <> 'object' then p_patch else (
    select coalesce(jsonb_object_agg(key, case when p.value is null then t.value else app.merge_patch(t.value, p.value) end), '{}')
    from jsonb_each(case when jsonb_typeof(p_target) = 'object' then p_target else '{}' end) t
    full join jsonb_each(p_patch) p using (key)
    where p.value is distinct from 'null') end
$$;
comment on function app.merge_patch(jsonb, jsonb) is
  'A JSON value after a merge patch (RFC 7396): objects are merged, null removes a key, everything else replaces. A null target is no value.';
revoke all on function app.merge_patch(jsonb, jsonb) from public;
grant execute on function app.merge_patch(jsonb, jsonb) to tms_registrar;
