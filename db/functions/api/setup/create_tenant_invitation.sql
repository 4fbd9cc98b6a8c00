set local role tms_app;
create or replace function api.create_tenant_invitation(
  p_caller app.caller, p_tenant_id text, p_role text, p_invited_email text, p_expires_in int, p_token_hash text,
  out body json, out tenant_id uuid
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
begin
  tenant_id := app.enter_as_operator(p_caller, p_tenant_id, p_writes => true);
  body := app.create_invitation(tenant_id, null::uuid, 'operator', p_role, p_invited_email, p_expires_in, p_token_hash);
end
$$;
comment on function api.create_tenant_invitation(app.caller, text, text, text, int, text) is
$$api.create_invitation() into any tenant, for operators. Raises TM403, TM404 `Tenant not found`, TM409 `Conflict`.$$;
reset role;
