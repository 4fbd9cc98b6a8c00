-- A constant: the planner puts it in place of the call, so it costs nothing. While a secret is stored, the body is that of
-- control.proof_required() (control.switch_tenant_context()).
create or replace function app.requires_proof()
returns boolean
language sql
stable
parallel safe
return false;

comment on function app.requires_proof() is 'Whether the tenant context must be proved: a secret is stored in control.tenant_context.';
revoke all on function app.requires_proof() from public;
grant execute on function app.requires_proof() to tms_app, tms_registrar, tms_auditor;
