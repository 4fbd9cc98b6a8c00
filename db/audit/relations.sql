create or replace function audit.relations(p_only regclass[])
returns table (relid regclass, tenant_column name, is_child boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with found as (
    select c.oid, a.attname
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
      and a.attname = case when c.oid = to_regclass('app.tenants') then 'id' else 'tenant_id' end
    where c.relkind in ('r', 'p') and c.relpersistence <> 't'
      and n.nspname not in ('pg_catalog', 'information_schema', 'control', 'audit', 'graphile_migrate')
      -- pg_repack's copy of a table, of which view_leaks tells; and what pg_partman makes partitions after, where it holds no row.
      and not ((n.nspname = 'repack' and exists (select from pg_class o where c.relname = 'table_' || o.oid)
                or n.nspname = 'partman' and c.relname like 'template\_%' and c.relkind = 'r' and pg_relation_size(c.oid) = 0)
               and not coalesce(has_any_column_privilege(to_regrole('tms_app'), c.oid, 'select, insert, update') or has_table_privilege(to_regrole('tms_app'), c.oid, 'delete'), true))
      and (p_only is null or c.oid = any (p_only) or c.oid in (select inhparent from pg_inherits where inhrelid = any (p_only)))
  )
  -- A parent that is no tenants' table makes nobody a child: nothing looks at it in the child's place.
  select f.oid::regclass, f.attname, exists (select from pg_inherits i join found p on p.oid = i.inhparent where i.inhrelid = f.oid)
  from found f
  where p_only is null or f.oid = any (p_only)
  order by f.oid::regclass::text
$$;
comment on function audit.relations(regclass[]) is 'Those of the tables that audit.relations() would name, and all for null: each scan asks for its own, however many there are.';

create or replace function audit.relations()
returns table (relid regclass, tenant_column name, is_child boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select * from audit.relations(null::regclass[])
$$;
comment on function audit.relations() is
$$The tables that must keep tenants apart: app.tenants, and every table with a column tenant_id wherever it is, with their
partitions and children (is_child). The schemas control, audit and graphile_migrate hold no tenant's data; what pg_repack copies, and
pg_partman's templates, are nobody's to isolate.$$;

create or replace function audit.shown_relations()
returns setof oid
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive shown (relid) as (
    select relid::oid from audit.relations()
    union
    select w.ev_class from shown s
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = s.relid
    join pg_rewrite w on w.oid = d.objid and w.rulename = '_RETURN'
  )
  select relid from shown
$$;
comment on function audit.shown_relations() is 'The tables of audit.relations(), and the views of them, of these too.';

create or replace function audit.own_tables()
returns table (name text, columns text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('app.tenants', 'id uuid, name text, slug text, settings jsonb, status text, is_default boolean, registration jsonb null, created_at timestamptz, updated_at timestamptz'),
    ('app.users', 'tenant_id uuid null, id uuid, auth_provider text, auth_subject text, role text, created_at timestamptz, updated_at timestamptz, removed_at timestamptz null'),
    ('app.api_keys', 'tenant_id uuid null, id uuid, user_id uuid, name text, secret_hash bytea, created_by uuid, created_at timestamptz, expires_at timestamptz null, last_used_at timestamptz null, revoked_at timestamptz null'),
    ('app.boards', 'tenant_id uuid null, id uuid, owner_id uuid, title text, settings jsonb, created_at timestamptz, updated_at timestamptz'),
    ('app.board_members', 'tenant_id uuid null, board_id uuid, user_id uuid, role text, invited_by uuid null, created_at timestamptz'),
    ('app.invitations', 'tenant_id uuid null, id uuid, token_hash bytea, role text, invited_by uuid null, created_at timestamptz, expires_at timestamptz'),
    ('app.generations', 'tenant_id uuid null, id uuid, board_id uuid, user_id uuid, artifact_type text, status text, input jsonb, created_at timestamptz, completed_at timestamptz null'),
    ('app.media', 'tenant_id uuid null, id uuid, generation_id uuid, storage_url text, created_at timestamptz'),
    ('app.provider_configs', 'tenant_id uuid null, id uuid, provider_name text, config jsonb, is_enabled boolean, created_at timestamptz, updated_at timestamptz'),
    ('app.credit_transactions', 'tenant_id uuid null, id uuid, user_id uuid, generation_id uuid null, type text, amount bigint, balance_after bigint, created_at timestamptz')
$$;

comment on function audit.own_tables() is 'The service''s own tables: name, and the columns that the audit relies on with their types, null where they may be null.';

-- The keys of the service's own tables: a dropped constraint is no longer in the catalog to be missed.
create or replace function audit.expected_references()
returns table (child text, child_column name, parent text, constraint_name name, cascades boolean)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('app.api_keys', 'user_id'::name, 'app.users', 'api_keys_user'::name, false),
    ('app.api_keys', 'created_by', 'app.users', 'api_keys_maker', false),
    ('app.boards', 'owner_id'::name, 'app.users', 'boards_owner'::name, false),
    ('app.board_members', 'board_id', 'app.boards', 'board_members_board', true),
    ('app.board_members', 'user_id', 'app.users', 'board_members_user', true),
    ('app.board_members', 'invited_by', 'app.users', 'board_members_inviter', false),
    ('app.invitations', 'invited_by', 'app.users', 'invitations_inviter', false),
    ('app.generations', 'board_id', 'app.boards', 'generations_board', true),
    ('app.generations', 'user_id', 'app.users', 'generations_user', false),
    ('app.media', 'generation_id', 'app.generations', 'media_generation', true),
    ('app.credit_transactions', 'user_id', 'app.users', 'credit_transactions_user', false),
    ('app.credit_transactions', 'generation_id', 'app.generations', 'credit_transactions_generation', false)
$$;
comment on function audit.expected_references() is 'The foreign keys that the service''s own tables must have.';

create or replace function audit.tenant_references(p_child regclass)
returns table (child regclass, parent regclass, child_columns name[], parent_columns name[], constraint_name name)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with declared as (
    select c.conrelid::regclass as child, c.confrelid::regclass as parent, c.conname,
      array_agg(ca.attname order by k.n) as child_columns, array_agg(pa.attname order by k.n) as parent_columns
    from pg_constraint c
    cross join unnest(c.conkey, c.confkey) with ordinality as k (child, parent, n)
    join pg_attribute ca on ca.attrelid = c.conrelid and ca.attnum = k.child
    join pg_attribute pa on pa.attrelid = c.confrelid and pa.attnum = k.parent
    join audit.relations(case when p_child is not null then array[p_child] end) cr on cr.relid = c.conrelid
    join audit.relations(case when p_child is not null then array(select confrelid::regclass from pg_constraint where conrelid = p_child and contype = 'f') end) pr
      on pr.relid = c.confrelid
    where c.contype = 'f' and (p_child is null or c.conrelid = p_child) and c.conparentid = 0 and c.confrelid is distinct from to_regclass('app.tenants')
      and not (cardinality(c.conkey) > 1 and ca.attname = cr.tenant_column and pa.attname = pr.tenant_column)
    group by c.oid
  )
  select child, parent, child_columns, parent_columns, conname from declared
  union all
  select to_regclass(e.child), to_regclass(e.parent), array[e.child_column], array['id'::name], null
  from audit.expected_references() e
  where to_regclass(e.child) is not null and to_regclass(e.parent) is not null and (p_child is null or to_regclass(e.child) = p_child)
    and not exists (select from declared d where d.child = to_regclass(e.child) and d.child_columns = array[e.child_column]
      and d.parent = to_regclass(e.parent) and d.parent_columns = array['id'::name])
  order by 1, 3
$$;
comment on function audit.tenant_references(regclass) is 'The references of one table; of all for null.';

create or replace function audit.tenant_references()
returns table (child regclass, parent regclass, child_columns name[], parent_columns name[], constraint_name name)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select * from audit.tenant_references(null::regclass)
$$;
comment on function audit.tenant_references() is
$$How tenants' tables refer to each other, without the tenant columns where there are others: every foreign key in the catalog, and those of the
service's own tables that are no longer there (constraint_name null), even when their column is gone: the check then fails.$$;

create or replace function audit.isolated_with()
returns table (relid regclass, isolated regclass)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive above (relid, isolated, depth) as (
    select relid, relid, 0 from audit.relations() where tenant_column = 'tenant_id'
    union all
    select a.relid, p.relid, a.depth + 1
    from above a join pg_inherits i on i.inhrelid = a.isolated join audit.relations() p on p.relid = i.inhparent and p.tenant_column = 'tenant_id'
  )
  select distinct on (relid) relid, isolated from above order by relid, depth desc
$$;
comment on function audit.isolated_with() is
  'The table that app.isolate() is called with for each of the tenants'' tables: itself, or the topmost that it is a partition or a child of. By itself it would be open to tms_app under its own name.';
