set local role tms_registrar;
create or replace function api.preview_deletion(
  p_caller app.caller, p_tenant_id text, p_if_match text[], p_purge boolean default false,
  out body json, out etag text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_tenant app.tenants;
begin
  perform app.require_operator(p_caller);
  v_tenant := app.find_tenant_to_delete(p_caller.slug, p_tenant_id, p_if_match);
  if p_purge then
    perform app.require_status(v_tenant, 'deleted');
  end if;
  etag := (app.tenant_answer(v_tenant)).etag;
  select json_build_object(
    'tenant_id', v_tenant.id, 'dry_run', true,
    'rows', json_agg(json_build_object('relation', d.relation, 'rows', d.rows)), 'total_rows', sum(d.rows))
  into body
  from app.deletion_counts(v_tenant.id) d;
end
$$;
comment on function api.preview_deletion(app.caller, text, text[], boolean) is
$$How many rows api.delete_tenant, or with p_purge api.purge_tenant, would delete, for a dry run, and the tenant's ETag. Changes nothing.
Raises what that function does.$$;
reset role;
