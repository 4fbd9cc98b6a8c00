create or replace view audit.removed_member_on_board as
select 'error' as severity, m.tenant_id::text as tenant_id, 'app.board_members' as relation,
  k.key as row,
  format('the user left the tenant at %s and is still on the board', u.removed_at) as detail,
  format('delete from app.board_members where tenant_id = %L and board_id = %L and user_id = %L;',
    m.tenant_id, m.board_id, m.user_id) as remedy
from app.board_members m
cross join lateral jsonb_build_object('tenant_id', m.tenant_id, 'board_id', m.board_id, 'user_id', m.user_id) k (key)
join app.users u on u.tenant_id = m.tenant_id and u.id = m.user_id
where u.removed_at is not null;
comment on view audit.removed_member_on_board is
$$error: A user who has left the tenant is still on a board.
Why: Coming back under the same identity would bring the old rights along.
Fix: Delete the membership.
Category: board_membership$$;
