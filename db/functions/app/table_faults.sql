-- Foreign keys and unique indexes ignore row-level security, so the keys themselves must contain the tenant.
create or replace function app.table_faults(p_table regclass)
returns table (fault text, remedy text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with tenant_column as (
    select attnum, atttypid, attnotnull from pg_attribute
    where attrelid = p_table and attname = 'tenant_id' and not attisdropped
  ), keys as (
    select format('for its foreign keys: select remedy from audit.key_crosses_tenants where relation = %L;',
      format('%s.%I', relnamespace::regnamespace, relname)) as remedy
    from pg_class where oid = p_table and exists (select from tenant_column)
  )
  select 'it is not a table', null from pg_class where oid = p_table and relkind not in ('r', 'p')
  union all
  select 'it has no column tenant_id',
    format('where all rows are the default tenant''s: select app.isolate(%L, true); else add and fill tenant_id first', p_table)
  where not exists (select from tenant_column)
  union all
  select 'tenant_id is not of type uuid', null from tenant_column where atttypid <> 'uuid'::regtype
  union all
  select 'tenant_id may be null',
    format('once no row is without a tenant: alter table %s alter column tenant_id set not null;', p_table)
  from tenant_column where not attnotnull
  union all
  select 'it has no primary key',
    case when exists (select from tenant_column) then format('alter table %s add primary key (tenant_id, …);', p_table) end
  where not exists (select from pg_index where indrelid = p_table and indisprimary)
  union all
  select format('the unique index %s does not begin with tenant_id, so one tenant could learn another''s values', indexrelid::regclass),
    case when not exists (select from tenant_column) then null
      when indisprimary then format('for its primary key: select app.isolate(%L, true);', p_table)
      else 'for its other unique keys: begin them with tenant_id, or call audit.vouch();' end
  from pg_index
  where indrelid = p_table and (indisunique or indisexclusion) and indkey[0] is distinct from (select attnum from tenant_column)
    and not exists (select from audit.vouched where kind = 'unique key' and object = indexrelid::regclass::text
      and hash = encode(sha256(convert_to(pg_get_indexdef(indexrelid), 'UTF8')), 'hex')) -- audit.hash_of()
  union all
  -- An operator class of a product's own may treat different tenants as equal.
  select format('the unique index %s compares tenant_id as the operator class %s has it, so one tenant could learn another''s values',
    i.indexrelid::regclass, o.opcname), null
  from pg_index i join pg_opclass o on o.oid = i.indclass[0]
  where i.indrelid = p_table and i.indisunique and i.indkey[0] = (select attnum from tenant_column) and o.oid >= 16384
    -- Those of extensions, such as btree_gist, are trusted.
    and not exists (select from pg_depend where classid = 'pg_opclass'::regclass and objid = o.oid and deptype = 'e')
  union all
  -- An exclusion constraint with <> conflicts with the rows of all other tenants.
  select format('the constraint %I does not compare tenant_id with =, so one tenant could learn another''s values', conname), null
  from pg_constraint
  where conrelid = p_table and conkey[1] = (select attnum from tenant_column) and conexclop[1] <> '=(uuid,uuid)'::regoperator
  union all
  select format('the foreign key %I does not pair tenant_id with tenant_id, so a row could point into another tenant', conname),
    (select remedy from keys)
  from pg_constraint c
  where conrelid = p_table and contype = 'f' and confrelid <> 'app.tenants'::regclass
    and exists (select from pg_attribute where attrelid = confrelid and attname = 'tenant_id' and not attisdropped)
    and not exists (
      select from unnest(conkey, confkey) as pair (child, parent)
      join pg_attribute a on a.attrelid = confrelid and a.attnum = pair.parent and a.attname = 'tenant_id'
      where pair.child = (select attnum from tenant_column))
  union all
  -- A foreign key's action runs as the owner of the table and ignores policies. Only ON DELETE can name the columns that it sets.
  select format('the foreign key %I would set tenant_id to %s', conname,
    case when 'n' in (confdeltype, confupdtype) then 'null' else 'its default, which is another tenant' end),
    (select remedy from keys)
  from pg_constraint
  where conrelid = p_table and contype = 'f' and (select attnum from tenant_column) = any (conkey)
    and (confupdtype in ('n', 'd')
      or confdeltype in ('n', 'd') and (confdelsetcols is null or (select attnum from tenant_column) = any (confdelsetcols)))
  union all
  -- An id cannot be guessed, but a slug can.
  select format(case
      when confkey <> array[t.id] then 'the foreign key %I refers to tenants by more than their id, so one tenant could learn of others'
      else 'the foreign key %I names another tenant without ON DELETE CASCADE or SET NULL, '
        'so one tenant could keep another from being deleted' end, conname), null
  from pg_constraint
  cross join (select attnum from pg_attribute where attrelid = 'app.tenants'::regclass and attname = 'id') as t (id)
  where conrelid = p_table and contype = 'f' and confrelid = 'app.tenants'::regclass
    and (confkey <> array[t.id] or conkey <> array[(select attnum from tenant_column)] and confdeltype not in ('c', 'n'))
$$;
comment on function app.table_faults(regclass) is
'The rules that keep a table from being isolated: one sentence a fault, and what mends it, if one statement does.';
revoke all on function app.table_faults(regclass) from public;
grant execute on function app.table_faults(regclass) to tms_auditor;
