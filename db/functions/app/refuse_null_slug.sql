-- Drivers send a forgotten slug as null. In multi-tenant mode it would make any verified caller a member of the default tenant. Not by
-- app.refuse(): over HTTP this reason has other words, for the header.
create or replace function app.refuse_null_slug()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using errcode = 'TM400', message = 'The slug is null, and this database is in multi-tenant mode',
    hint = 'Missing X-Tenant header', constraint = 'tenant_missing', detail = '{"multi_tenant_mode": true}';
end
$$;
comment on function app.refuse_null_slug() is 'Raises TM400 `Missing X-Tenant header`: in multi-tenant mode a null slug enters no tenant.';
revoke all on function app.refuse_null_slug() from public;
grant execute on function app.refuse_null_slug() to tms_registrar;
