-- tms_app signs no tenant, so the look at the invitation is here: a token that opens nothing leaves the transaction without a tenant.
set local role tms_registrar;
create or replace function app.enter_invited(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text,
  p_tenant_id uuid, p_token_hash bytea
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_setting text := p_tenant_id::text;
begin
  if app.requires_proof() then
    v_setting := app.sign_proved_tenant('{caller,operator}',
      app.proved_values(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name), p_tenant_id);
  end if;
  execute format('set local app.tenant_id = %L', v_setting);
  if app.requires_proof() and not control.is_invited(p_tenant_id, p_token_hash) then
    perform app.set_tenant(null);
  end if;
end
$$;
comment on function app.enter_invited(text, text, text, text, text, uuid, bytea) is
$$Puts the transaction into the tenant of an invitation, without its lock. Where a proof is required, only if the caller proves who they are
and the tenant has an open invitation with this hash. Raises TM503 without the proof.$$;
revoke all on function app.enter_invited(text, text, text, text, text, uuid, bytea) from public;
grant execute on function app.enter_invited(text, text, text, text, text, uuid, bytea) to tms_app;
reset role;
