create or replace view audit.board_owner_as_member as
select 'info' as severity, m.tenant_id::text as tenant_id, 'app.board_members' as relation,
  k.key as row,
  format('the user owns the board and is also listed as its %s', m.role) as detail,
  format('delete from app.board_members where tenant_id = %L and board_id = %L and user_id = %L;',
    m.tenant_id, m.board_id, m.user_id) as remedy
from app.board_members m
cross join lateral jsonb_build_object('tenant_id', m.tenant_id, 'board_id', m.board_id, 'user_id', m.user_id) k (key)
join app.boards b on b.tenant_id = m.tenant_id and b.id = m.board_id and b.owner_id = m.user_id;
comment on view audit.board_owner_as_member is
$$info: A board's owner is also listed as one of its members.
Why: Two roles for one person: the lesser one may win.
Fix: Delete the membership; the owner needs none.
Category: board_membership$$;
