create or replace view audit.board_owner_outside_tenant as
select 'error' as severity, c.tenant_id::text as tenant_id, 'app.boards' as relation,
  k.key as row,
  format('owner_id %s is %s', c.owner_id, coalesce('a user of the tenant ' || (
    select min(t.slug) from app.users o join app.tenants t on t.id = o.tenant_id where o.id = c.owner_id), 'no user at all')) as detail,
  format('select * from app.boards where %s;', audit.condition_of(k.key)) as remedy
from app.boards c
cross join lateral jsonb_build_object('tenant_id', c.tenant_id, 'id', c.id) k (key)
left join app.users u on u.tenant_id = c.tenant_id and u.id = c.owner_id
-- With the foreign key, parent_in_other_tenant and parent_missing say it.
where c.owner_id is not null and u.id is null and not exists (
  select from audit.foreign_keys k where k.conrelid = 'app.boards'::regclass and k.columns = '{tenant_id,owner_id}');
comment on view audit.board_owner_outside_tenant is
$$error: A board's owner is not a user of the board's tenant.
Why: Somebody from outside holds the board.
Fix: Give the board an owner of its tenant.
Category: board_membership$$;
