create or replace function control.tg_tenants__count()
returns trigger
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_pending bigint := 0;
  v_active bigint := 0;
  v_suspended bigint := 0;
  v_deleted bigint := 0;
  v_shard int := pg_backend_pid() % 64;
begin
  if tg_op = 'TRUNCATE' then
    delete from control.tenant_counts;
    return null;
  end if;
  if tg_op <> 'INSERT' then
    select v_pending - count(*) filter (where status = 'pending'), v_active - count(*) filter (where status = 'active'),
           v_suspended - count(*) filter (where status = 'suspended'), v_deleted - count(*) filter (where status = 'deleted')
    into v_pending, v_active, v_suspended, v_deleted from gone;
  end if;
  if tg_op <> 'DELETE' then
    select v_pending + count(*) filter (where status = 'pending'), v_active + count(*) filter (where status = 'active'),
           v_suspended + count(*) filter (where status = 'suspended'), v_deleted + count(*) filter (where status = 'deleted')
    into v_pending, v_active, v_suspended, v_deleted from come;
  end if;
  if (v_pending, v_active, v_suspended, v_deleted) <> (0, 0, 0, 0) then
    -- A transaction locks its shard until it ends, which may be long in an import. Another one then takes a shard that is not locked.
    select shard into v_shard from control.tenant_counts where shard = v_shard for update skip locked;
    if not found then
      select shard into v_shard from control.tenant_counts limit 1 for update skip locked;
    end if;
    if not found then
      -- All existing shards are locked: adds one, at random, so that a connection does not meet the same lock again.
      select n into v_shard from generate_series(0, 63) n
      where not exists (select from control.tenant_counts where shard = n) order by random() limit 1;
    end if;
    insert into control.tenant_counts as c (shard, pending, active, suspended, deleted)
    values (coalesce(v_shard, pg_backend_pid() % 64), v_pending, v_active, v_suspended, v_deleted)
    on conflict (shard) do update
    set pending = c.pending + excluded.pending, active = c.active + excluded.active,
        suspended = c.suspended + excluded.suspended, deleted = c.deleted + excluded.deleted;
  end if;
  return null;
end
$$;
comment on function control.tg_tenants__count() is
  'Keeps control.tenant_counts in step with app.tenants, by one update a statement.';
revoke all on function control.tg_tenants__count() from public;

-- Created only if missing, as in tg_tenants__record.sql.
do $$
declare
  v_trigger record;
begin
  for v_trigger in
    select * from (values
    ('_500_count_insert', 'insert', 'referencing new table as come'),
    ('_500_count_update', 'update', 'referencing old table as gone new table as come'),
    ('_500_count_delete', 'delete', 'referencing old table as gone'),
    ('_500_count_truncate', 'truncate', '')
    ) as wanted (name, event, tables)
    where not exists (select from pg_trigger where tgname = name and tgfoid = 'control.tg_tenants__count()'::regprocedure)
  loop
    execute format('create trigger %I after %s on app.tenants %s for each statement execute function control.tg_tenants__count()',
      v_trigger.name, v_trigger.event, v_trigger.tables);
  end loop;
end
$$;
