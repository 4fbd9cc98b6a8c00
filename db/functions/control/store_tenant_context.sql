create or replace function control.store_tenant_context(p_inner_key bytea, p_outer_key bytea)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_stored control.tenant_context;
  v_outcome text;
begin
  select * into v_stored from control.tenant_context for update;
  if not found then
    -- Two keys of their own instead of one with two pads: the proof of HMAC needs no more.
    insert into control.tenant_context (inner_key, outer_key, setting_inner_key, setting_outer_key)
    select p_inner_key, p_outer_key, string_agg(uuid_send(gen_random_uuid()), ''), string_agg(uuid_send(gen_random_uuid()), '')
    from generate_series(1, 4);
    v_outcome := 'stored';
  elsif v_stored.inner_key = p_inner_key then
    v_outcome := 'unchanged';
  else
    update control.tenant_context
    set inner_key = p_inner_key, outer_key = p_outer_key,
        previous_inner_key = v_stored.inner_key, previous_outer_key = v_stored.outer_key, stored_at = now();
    v_outcome := 'replaced';
  end if;
  perform control.switch_tenant_context();
  return v_outcome;
end
$$;
comment on function control.store_tenant_context(bytea, bytea) is
$$Stores a secret, as the two keys of its HMAC-SHA256, and makes the functions ask for proofs. A secret that was stored before becomes the
previous one, which is still accepted. Returns stored, replaced or unchanged.$$;
revoke all on function control.store_tenant_context(bytea, bytea) from public;
