create or replace function app.has_context_secret()
returns boolean
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select exists (select from control.tenant_context)
$$;
comment on function app.has_context_secret() is 'Whether control.tenant_context holds a secret, so that app.requires_proof() must be true.';
revoke all on function app.has_context_secret() from public;
grant execute on function app.has_context_secret() to tms_registrar, tms_auditor;
