create or replace view audit.membership_without_board as
select 'error' as severity, c.tenant_id::text as tenant_id, 'app.board_members' as relation,
  k.key as row,
  format('board_id %s is %s', c.board_id, coalesce('a board of the tenant ' || (
    select min(t.slug) from app.boards o join app.tenants t on t.id = o.tenant_id where o.id = c.board_id), 'no board at all')) as detail,
  format('delete from app.board_members where %s;', audit.condition_of(k.key)) as remedy
from app.board_members c
cross join lateral jsonb_build_object('tenant_id', c.tenant_id, 'board_id', c.board_id, 'user_id', c.user_id) k (key)
left join app.boards b on b.tenant_id = c.tenant_id and b.id = c.board_id
where b.id is null;
comment on view audit.membership_without_board is
$$error: A membership names a board that its tenant does not have.
Why: The right to a board of another tenant, or of nobody.
Fix: Delete the membership.
Category: board_membership$$;
