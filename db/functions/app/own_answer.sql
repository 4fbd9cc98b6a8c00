create or replace function app.own_answer(p_tenant app.tenants, p_member app.users, out body json, out etag text)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant constant text := app.tenant_json(p_tenant);
  v_member constant text := app.member_json(p_member);
begin
  body := concat('{"tenant":', v_tenant, ',"membership":', v_member, '}');
  etag := app.etag(v_tenant, to_hex(hashtextextended(v_member, 0)));
end
$$;
comment on function app.own_answer(app.tenants, app.users) is
$$A tenant as its members see it, {tenant, membership}, and its ETag.$$;
revoke all on function app.own_answer(app.tenants, app.users) from public;
grant execute on function app.own_answer(app.tenants, app.users) to tms_app, tms_registrar;
