-- The default order has the cursors that it has always had, so that they survive a release.
create or replace function app.tenant_cursor(p_order text, p_tenant app.tenants)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when p_order = '-created_at' then app.cursor_of(p_tenant.created_at, p_tenant.id)
    else app.to_base64url(p_order || ' ' || p_tenant.id || ' ' || case
      when p_order = 'created_at' then (extract(epoch from p_tenant.created_at) * 1000000)::bigint::text
      else p_tenant.name end) end
$$;
comment on function app.tenant_cursor(text, app.tenants) is
  'The cursor of the page that begins after this tenant in this order. It carries the order.';
revoke all on function app.tenant_cursor(text, app.tenants) from public;
grant execute on function app.tenant_cursor(text, app.tenants) to tms_registrar;
