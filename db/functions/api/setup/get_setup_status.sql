set local role tms_registrar;
create or replace function api.get_setup_status(p_caller app.caller, p_release int, p_advice text[], p_claims_win boolean)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
as $$
declare
  v_default app.tenants;
  v_behind boolean;
  v_wait numeric;
begin
  perform app.require_operator(p_caller);
  v_behind := app.is_behind(p_release);
  v_wait := app.events_wait();
  select * into v_default from app.tenants where is_default;
  return json_build_object(
    'setup_needed', (v_default.status is distinct from 'active' and p_caller.slug is null) or v_behind,
    'has_default_tenant', v_default.id is not null,
    'default_tenant_id', v_default.id,
    'default_tenant_slug', v_default.slug,
    'multi_tenant_mode', p_caller.slug is not null,
    'auth_provider', 'jwt',
    'events_wait_seconds', v_wait,
    'recommendations', array(
      select 'The database schema is behind this release: run npm run migrate' where v_behind
      union all
      select 'There is no default tenant: create it with POST /api/setup/tenant and the default slug'
      where v_default.id is null and p_caller.slug is null
      union all
      select format('The default tenant is suspended, and every request of a member is refused: POST /api/setup/tenant/%s/resume',
        v_default.id)
      where v_default.status = 'suspended' and p_caller.slug is null
      union all
      select format('The default tenant is deleted, and every request of a member is refused: POST /api/setup/tenant/%s/restore',
        v_default.id)
      where v_default.status = 'deleted' and p_caller.slug is null
      union all
      select format('Deleted tenants are past their date for a day or more (%s): run npm run tenancy -- purge, as a daily job', overdue)
      from (select count(*) as overdue from app.tenants where purge_at < now() - interval '1 day') o where overdue > 0
      union all
      select format('Tenants wait for approval (%s): GET /api/setup/tenants?status=pending lists them', pending)
      from app.count_tenants('pending') as pending where pending > 0
      union all
      select 'Some people belong to several tenants, and a claim in their tokens chooses for them: set SERVICE_TENANT_PRECEDENCE=header'
      where p_claims_win and p_caller.slug is not null and exists (
        -- A sample, since the page that shows this is read often.
        select from (
          select auth_provider, auth_subject from app.users where removed_at is null
          order by auth_provider, auth_subject limit 1000) m
        group by m.auth_provider, m.auth_subject having count(*) > 1)
      union all
      select format('Events have waited for %s s, because a transaction of this database server stays open: see EventsWait in docs/operations.md',
        round(v_wait)) where v_wait > 60
      union all
      select * from app.isolation_advice()
      union all
      select * from unnest(p_advice)
    )
  );
end
$$;
comment on function api.get_setup_status(app.caller, int, text[], boolean) is
$$The setup status. p_release is the number of the build. p_advice: recommendations that the service draws from its own configuration.
p_claims_win: a token's claims win over X-Tenant. Changes nothing. Raises TM403.$$;
reset role;
