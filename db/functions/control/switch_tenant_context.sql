-- The functions with two bodies, in one place. The other bodies are functions of their own, so the manifest has both.
create or replace function control.switch_tenant_context()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if app.has_context_secret() then
    if app.is_distributed() then
      raise exception using errcode = 'feature_not_supported',
        message = 'A distributed database cannot ask for proofs of the tenant context: its workers do not know when a transaction began';
    end if;
    execute replace(pg_get_functiondef('control.proof_required()'::regprocedure), 'control.proof_required()', 'app.requires_proof()');
    execute replace(pg_get_functiondef('control.signed_tenant_id()'::regprocedure), 'control.signed_tenant_id()', 'app.tenant_id()');
  end if;
end
$$;
comment on function control.switch_tenant_context() is
$$While a secret is stored: gives app.requires_proof() and app.tenant_id() the bodies of control.proof_required() and
control.signed_tenant_id(). The installer calls it at its end, tenancy context-secret when it stores one.$$;
revoke all on function control.switch_tenant_context() from public;
