create or replace view audit.board_role_unknown as
select 'error' as severity, tenant_id::text as tenant_id, 'app.board_members' as relation,
  k.key as row,
  format('the role %s is not viewer, editor or admin', coalesce(quote_literal(role), 'null')) as detail,
  format('-- then restore the constraint: update app.board_members set role = ''viewer'' '
    'where tenant_id = %L and board_id = %L and user_id = %L',
    tenant_id, board_id, user_id) as remedy
from app.board_members m
cross join lateral jsonb_build_object('tenant_id', m.tenant_id, 'board_id', m.board_id, 'user_id', m.user_id) k (key)
where role is null or role not in ('viewer', 'editor', 'admin');
comment on view audit.board_role_unknown is
$$error: A board member's role is not viewer, editor or admin.
Why: What the role may do is up to whichever code reads it first.
Fix: Set one of the three roles, then restore the constraint.
Category: board_membership$$;
