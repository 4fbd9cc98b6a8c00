create or replace view audit.tenant_without_owner as
with owned as materialized (
  select distinct u.tenant_id from app.users u where u.role = 'owner' and u.removed_at is null
)
select 'warning' as severity, t.id::text as tenant_id, 'app.tenants' as relation, jsonb_build_object('id', t.id) as row,
  'was registered by a person and has no owner any more' as detail,
  format('-- make one of its members the owner: update app.users set role = ''owner'' where tenant_id = %L and id = …', t.id) as remedy
from app.tenants t
where t.registration is not null and not exists (select from owned o where o.tenant_id = t.id);
comment on view audit.tenant_without_owner is
$$warning: A tenant that a person registered has no owner left.
Why: Nobody inside may manage it.
Fix: Make a member its owner.$$;
