create or replace function app.lock_member(
  p_tenant_id uuid, p_caller_id uuid, p_caller_role text, p_user_id text,
  out member app.users, out caller_role text, out is_last_owner boolean
)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant uuid := app.parse_uuid(p_user_id);
  v_owners uuid[];
begin
  -- Every call locks users by id: if two owners remove or demote each other, the second call sees the work of the first.
  -- Not FOR UPDATE: that would wait for each transaction that adds a row which refers to one of these users.
  select array_agg(l.id) filter (where l.role = 'owner' and l.auth_provider <> 'key') into v_owners
  from (
    select id, role, auth_provider from app.users
    where tenant_id = p_tenant_id and removed_at is null and (role = 'owner' or id in (p_caller_id, v_id))
    order by id for no key update) l;
  caller_role := app.role_now(p_tenant_id, p_caller_id, p_caller_role);
  select * into member from app.users
  where tenant_id = p_tenant_id and id = v_id and removed_at is null and auth_provider <> 'key';
  if member.id is null then
    perform app.refuse(404, 'Member not found', format('Member with ID %s not found', p_user_id), 'member_not_found');
  end if;
  -- Counts locked owners only. An owner added since then is not locked, and may be leaving in another transaction.
  is_last_owner := member.role = 'owner' and coalesce(v_owners, '{}') <@ array[member.id];
end
$$;
comment on function app.lock_member(uuid, uuid, text, text) is
$$A member to change or remove, the caller's current role, and whether the member is the only owner. Locks the member, the caller and all
owners until the transaction ends. API keys are neither members nor owners here. Raises TM403, TM404 `Member not found`.$$;
revoke all on function app.lock_member(uuid, uuid, text, text) from public;
grant execute on function app.lock_member(uuid, uuid, text, text) to tms_app;
