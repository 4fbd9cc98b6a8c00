-- The tables are those of app.empty_tenant(). tms_auditor counts: no policy for a tenant hides a row from it, and the cascade of a
-- deletion spares none either. A child by INHERITS is counted with its parent.
set local role tms_registrar;
create or replace function app.deletion_counts(p_tenant_id uuid)
returns table (relation text, rows bigint)
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  with emptied as (
    select distinct conrelid as relid from pg_constraint
    where contype = 'f' and confrelid = 'app.tenants'::regclass and conparentid = 0
      and conrelid <> 'control.idempotency_keys'::regclass -- which has no foreign key on Citus
  ), counted as (
    select c.oid::regclass::text as relation, case
      when c.relowner = 'tms_owner'::regrole and has_schema_privilege('tms_auditor', c.relnamespace, 'usage')
        and has_table_privilege('tms_auditor', c.oid, 'select')
        and exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id' and not attisdropped)
      then control.held_rows(c.oid, p_tenant_id, 2147483647) end as rows
    from emptied e join pg_class c on c.oid = e.relid
    where not exists (select from pg_inherits i join emptied p on p.relid = i.inhparent where i.inhrelid = e.relid)
    union all
    select 'app.tenants', count(*) from app.tenants where id = p_tenant_id
    union all
    select 'control.idempotency_keys', count(*) from control.idempotency_keys where tenant_id = p_tenant_id
  )
  select c.relation, c.rows from counted c order by 1
$$;
comment on function app.deletion_counts(uuid) is
$$How many rows of each table the deletion of a tenant would delete. rows is null for a table that tms_auditor may not read or tms_owner
does not own: the audit says how to fix it.$$;
revoke all on function app.deletion_counts(uuid) from public;
grant execute on function app.deletion_counts(uuid) to tms_owner;
reset role;
