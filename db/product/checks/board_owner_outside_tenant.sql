create or replace view audit.board_owner_outside_tenant as
with lost as materialized (
  select c.tenant_id, c.id, c.owner_id
  from app.boards c
  left join app.users u on u.tenant_id = c.tenant_id and u.id = c.owner_id
  where c.owner_id is not null and u.id is null
), others as materialized (
  select l.tenant_id, l.id, min(t.slug) as slug
  from lost l
  join app.users o on o.id = l.owner_id
  join app.tenants t on t.id = o.tenant_id
  group by 1, 2
)
select 'error' as severity, l.tenant_id::text as tenant_id, 'app.boards' as relation,
  jsonb_build_object('tenant_id', l.tenant_id, 'id', l.id) as row,
  format('owner_id %s is %s', l.owner_id, coalesce('a user of the tenant ' || o.slug, 'no user at all')) as detail,
  format('select * from app.boards where tenant_id = %L and id = %L;', l.tenant_id, l.id) as remedy
from lost l
left join others o using (tenant_id, id)
-- With the foreign key, parent_in_other_tenant and parent_missing say it.
where not exists (
  select from audit.foreign_keys k where k.conrelid = 'app.boards'::regclass and k.columns = '{tenant_id,owner_id}');
comment on view audit.board_owner_outside_tenant is
$$error: A board's owner is not a user of the board's tenant.
Why: Somebody from outside holds the board.
Fix: Give the board an owner of its tenant.
Category: board_membership$$;
