create or replace view audit.value_unknown as
select 'error' as severity, v.tenant_id::text as tenant_id, v.relation, v.key as row,
  format('%s %s is not one that the service knows', v.name, coalesce(quote_literal(v.value), 'null')) as detail,
  format('-- a known value, then restore the constraint: update %s set %s = … where %s', v.relation, v.name,
    audit.condition_of(v.key)) as remedy
from (
  select 'app.users', tenant_id, jsonb_build_object('tenant_id', tenant_id, 'id', id), 'role', role
  from app.users where role is null or role not in ('owner', 'admin', 'member')
  union all
  select 'app.invitations', tenant_id, jsonb_build_object('tenant_id', tenant_id, 'id', id), 'role', role
  from app.invitations where role is null or role not in ('owner', 'admin', 'member')
  union all
  select 'app.tenants', id, jsonb_build_object('id', id), 'status', status
  from app.tenants where status is null or status not in ('pending', 'active', 'suspended', 'deleted')
) v (relation, tenant_id, key, name, value);
comment on view audit.value_unknown is
$$error: A role or status is not one that the service knows.
Why: Code that asks "not a member?" lets unknown roles in.
Fix: Set a known value, then restore the constraint.$$;
