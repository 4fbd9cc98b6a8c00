create or replace view audit.board_member_outside_tenant as
select 'error' as severity, c.tenant_id::text as tenant_id, 'app.board_members' as relation,
  k.key as row,
  format('user_id %s is %s', c.user_id, coalesce('a user of the tenant ' || (
    select min(t.slug) from app.users o join app.tenants t on t.id = o.tenant_id where o.id = c.user_id), 'no user at all')) as detail,
  format('delete from app.board_members where %s;', audit.condition_of(k.key)) as remedy
from app.board_members c
cross join lateral jsonb_build_object('tenant_id', c.tenant_id, 'board_id', c.board_id, 'user_id', c.user_id) k (key)
left join app.users u on u.tenant_id = c.tenant_id and u.id = c.user_id
where c.user_id is not null and u.id is null;
comment on view audit.board_member_outside_tenant is
$$error: A member of a board is not a user of the board's tenant.
Why: Somebody from outside works on the board.
Fix: Delete the membership.
Category: board_membership$$;
