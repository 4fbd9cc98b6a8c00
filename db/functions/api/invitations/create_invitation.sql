set local role tms_app;
create or replace function api.create_invitation(
  p_caller app.caller, p_role text, p_invited_email text, p_expires_in int, p_token_hash text,
  out body json, out tenant_id uuid
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_caller record := app.enter_tenant(p_caller);
begin
  body := app.create_invitation(v_caller.tenant_id, v_caller.user_id, v_caller.role, p_role, p_invited_email, p_expires_in, p_token_hash);
  tenant_id := v_caller.tenant_id;
end
$$;
comment on function api.create_invitation(app.caller, text, text, int, text) is
$$Invites a person who is not a member yet. p_token_hash: SHA-256 of the secret in hex; the token is the tenant's id, _ and the secret.
p_invited_email: only a token with this address can accept. p_expires_in: seconds. Owners invite for every role, admins for all but owner.
At most 1000 invitations of a tenant are open. Raises TM403, TM409 `Conflict`.$$;
reset role;
