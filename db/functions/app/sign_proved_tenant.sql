-- A proof is `<kind>.<expires>.<HMAC>`, in the setting app.proof. The HMAC covers the kind, the time and the values.
create or replace function app.sign_proved_tenant(p_kinds text[], p_values text, p_tenant_id uuid)
returns text
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_proof constant text := coalesce(current_setting('app.proof', true), '');
  v_message constant bytea := convert_to(left(v_proof, -65) || p_values, 'UTF8');
  v_keys record;
  v_fault text;
begin
  select * into strict v_keys from control.tenant_context;
  if v_proof = '' then
    v_fault := 'is missing';
  elsif (split_part(v_proof, '.', 1) = any (p_kinds)
    and (right(v_proof, 64) = app.hmac(v_keys.inner_key, v_keys.outer_key, v_message)
      or right(v_proof, 64) = app.hmac(v_keys.previous_inner_key, v_keys.previous_outer_key, v_message))) is not true
  then
    v_fault := 'is not valid';
  -- Not the time of the transaction, which may stay open for longer than the proof is valid.
  elsif split_part(v_proof, '.', 2)::numeric < extract(epoch from clock_timestamp()) then
    v_fault := 'has expired';
  end if;
  if v_fault is not null then
    perform app.refuse(503, 'Service unavailable', format('The proof of the caller %s', v_fault), 'proof_refused');
  end if;
  return p_tenant_id || '.' || app.tenant_signature(v_keys.setting_inner_key, v_keys.setting_outer_key, p_tenant_id::text);
end
$$;
comment on function app.sign_proved_tenant(text[], text, uuid) is
$$Raises TM503 unless the setting app.proof proves these values. Returns app.sign_tenant(p_tenant_id), null for null. The caller decides
whether the values admit to the tenant: never grant it to tms_app or tms_service.$$;
revoke all on function app.sign_proved_tenant(text[], text, uuid) from public;
grant execute on function app.sign_proved_tenant(text[], text, uuid) to tms_registrar;
