create or replace view audit.board_inviter_outside_tenant as
select 'error' as severity, c.tenant_id::text as tenant_id, 'app.board_members' as relation,
  k.key as row,
  format('invited_by %s is %s', c.invited_by, coalesce('a user of the tenant ' || (
    select min(t.slug) from app.users o join app.tenants t on t.id = o.tenant_id where o.id = c.invited_by), 'no user at all')) as detail,
  format('update app.board_members set invited_by = null where %s;', audit.condition_of(k.key)) as remedy
from app.board_members c
cross join lateral jsonb_build_object('tenant_id', c.tenant_id, 'board_id', c.board_id, 'user_id', c.user_id) k (key)
left join app.users u on u.tenant_id = c.tenant_id and u.id = c.invited_by
where c.invited_by is not null and u.id is null;
comment on view audit.board_inviter_outside_tenant is
$$error: Whoever invited a board member is not a user of the tenant.
Why: Nobody inside answers for the invitation.
Fix: Set invited_by to null, and ask who this is.
Category: board_membership$$;
