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
  v_tenant := app.find_tenant_to_delete(p_caller, p_tenant_id, p_if_match);
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
$$How many rows the tenant has, for a dry run, and its ETag: api.delete_tenant deletes them at once or after the restore window,
api.purge_tenant (p_purge) at once. Changes nothing. Raises what that function does.$$;
reset role;
