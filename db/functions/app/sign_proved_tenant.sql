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
  v_kind constant text := split_part(v_proof, '.', 1);
  v_expires constant text := split_part(v_proof, '.', 2);
  v_hmac constant text := split_part(v_proof, '.', 3);
  v_message bytea;
  v_keys record;
  v_valid_for numeric;
  v_fault text;
begin
  select * into strict v_keys from control.tenant_context;
  -- The head has one form, so that no part of it passes for a value.
  if v_proof = '' then
    v_fault := 'is missing';
  elsif (v_kind = any (p_kinds) and length(v_expires) = 10 and ltrim(v_expires, '0123456789') = ''
    and v_proof = v_kind || '.' || v_expires || '.' || v_hmac) is not true
  then
    v_fault := 'is not valid';
  else
    v_message := convert_to(v_kind || '.' || v_expires || p_values, 'UTF8');
    -- Not the time of the transaction, which may stay open for longer than the proof is valid.
    v_valid_for := v_expires::numeric - extract(epoch from clock_timestamp());
    if (v_hmac = app.hmac(v_keys.inner_key, v_keys.outer_key, v_message)
      or v_hmac = app.hmac(v_keys.previous_inner_key, v_keys.previous_outer_key, v_message)) is not true
    then
      v_fault := 'is not valid';
    elsif v_valid_for < 0 then
      v_fault := 'has expired';
    -- By a clock that is ahead: the proof would be valid for longer than it may be.
    elsif v_valid_for > 60 then
      v_fault := 'is from the future';
    end if;
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
