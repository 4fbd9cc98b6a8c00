create or replace view audit.provider_twice_in_tenant as
select 'error' as severity, tenant_id::text as tenant_id, 'app.provider_configs' as relation,
  jsonb_build_object('tenant_id', tenant_id, 'id', max(id::text)) as row,
  format('%s configurations are for %s: %s', count(*), provider_name, string_agg(id::text, ', ' order by created_at, id)) as detail,
  E'-- delete all but one, then restore the constraint:\n'
    '-- alter table app.provider_configs add constraint provider_configs_name_key unique (tenant_id, provider_name)' as remedy
from app.provider_configs
group by tenant_id, provider_name
having count(*) > 1;
comment on view audit.provider_twice_in_tenant is
$$error: A tenant has two configurations for one provider.
Why: Which of the two credentials is used, and billed, is chance.
Fix: Delete one, then restore the unique constraint.$$;
