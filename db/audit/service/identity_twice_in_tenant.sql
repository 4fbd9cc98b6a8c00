create or replace view audit.identity_twice_in_tenant as
select 'error' as severity, tenant_id::text as tenant_id, 'app.users' as relation,
  jsonb_build_object('tenant_id', tenant_id, 'id', max(id::text)) as row,
  format('%s rows stand for one identity: the users %s', count(*), string_agg(id::text, ', ' order by created_at, id)) as detail,
  E'-- point everything to one of the users and delete the others, then restore the constraint:\n'
    '-- alter table app.users add constraint users_tenant_identity_key unique (tenant_id, auth_provider, auth_subject)' as remedy
from app.users
group by tenant_id, auth_provider, auth_subject
having count(*) > 1;
comment on view audit.identity_twice_in_tenant is
$$error: One identity has two rows in one tenant.
Why: Which of the two roles a request gets is chance.
Fix: Merge the two users, then restore the unique constraint.$$;
