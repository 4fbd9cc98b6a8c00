-- A member's row in app.users stays when the membership ends, because others refer to it. So no cascade removes the rows that exist for the
-- membership alone, such as a place on a board; and a member who comes back would have them again.
create or replace function app.end_memberships(p_tenant_id uuid, p_user_id uuid, p_only_lock boolean default false)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_statement constant text := case when p_only_lock then 'select from %s where tenant_id = $1 and %I = $2 for update'
    else 'delete from %s where tenant_id = $1 and %I = $2' end;
  v_table record;
begin
  for v_table in
    select k.conrelid::regclass as relid, a.attname as user_column
    from pg_constraint k
    join pg_class c on c.oid = k.conrelid
    join pg_index i on i.indrelid = k.conrelid and i.indisprimary and k.conkey <@ i.indkey::int2[]
    cross join lateral unnest(k.conkey, k.confkey) as pair (own, other)
    join pg_attribute u on u.attrelid = k.confrelid and u.attnum = pair.other and u.attname = 'id'
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = pair.own
    where k.contype = 'f' and k.confrelid = 'app.users'::regclass and k.confdeltype = 'c' and k.conparentid = 0
      and has_schema_privilege(c.relnamespace, 'usage')
      and has_table_privilege(k.conrelid, 'update') and has_table_privilege(k.conrelid, 'delete')
    order by k.conrelid
  loop
    execute format(v_statement, v_table.relid, v_table.user_column) using p_tenant_id, p_user_id;
  end loop;
end
$$;
comment on function app.end_memberships(uuid, uuid, boolean) is
$$Deletes the rows that exist for a membership of the tenant alone: those of tables whose primary key contains a key to app.users with
`on delete cascade`. p_only_lock: locks them, which comes before the lock on app.users, as in a deletion of the tenant. Leaves tables out
whose rows the current role may not update and delete.$$;
revoke all on function app.end_memberships(uuid, uuid, boolean) from public;
grant execute on function app.end_memberships(uuid, uuid, boolean) to tms_app;
