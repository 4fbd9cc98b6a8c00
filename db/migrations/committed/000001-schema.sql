--! Previous: -
--! Hash: sha1:aba21db9415371885ac8fd8459982f569994f399
--! Message: schema

-- The schema as 0.1.0 begins with it: schemas, rights, the functions that tables need, the tables. The installer replaces the functions.

-- tables/schemas.sql

-- The database is closed to everybody but the roles named here; db/roles.sql creates the roles.
revoke all on database :DATABASE_NAME from public;
grant connect on database :DATABASE_NAME to tms_service, tms_auditor;
-- Before Postgres 16 an owner that inherits nothing has the rights of pg_database_owner only after this SET.
set local role pg_database_owner;
revoke all on schema public from public;
reset role;

create schema app;
create schema api;
create schema control;
create schema audit;
comment on schema app is 'The tables of the tenants, each under row-level security keyed on app.tenant_id';
comment on schema api is 'The SQL functions that HTTP calls, one for each operation; nothing else';
comment on schema control is 'The service''s own bookkeeping: no tenant data';
comment on schema audit is 'The tenant-isolation audit: call audit.run(), then read audit.findings';
revoke all on schema audit from public;
grant usage on schema app to tms_app, tms_registrar, tms_auditor;
grant usage on schema api to tms_service, tms_app, tms_registrar, tms_auditor;
grant usage on schema control to tms_registrar;
grant usage on schema audit to tms_auditor, tms_registrar;
alter default privileges revoke execute on functions from public;

-- Where the database has the extension already, it may be in public.
create extension if not exists pg_trgm with schema control;
set local search_path = control, public, pg_catalog;

-- functions/app/tenant_id.sql

-- Every policy uses this expression. A standard body binds its names at creation, so no search_path and no temporary object can redirect
-- it. STABLE, never IMMUTABLE: a cached plan would keep the first tenant and show its rows to the next.
-- A text that has not the form of a uuid is no tenant, like '' and unset. LIKE, because every statement evaluates this: a regular
-- expression takes 7 µs, LIKE half of one. The cast is outside because Citus evaluates the branches of a CASE before its condition.
create or replace function app.tenant_id()
returns uuid
language sql
stable
parallel safe
return (case
  when pg_catalog.current_setting('app.tenant_id', true) like '________-____-____-____-____________'
  then pg_catalog.current_setting('app.tenant_id', true)
end)::uuid;

comment on function app.tenant_id() is
$$The tenant of this transaction, from the setting app.tenant_id; null if that is unset, empty or has not the form of a uuid. Raises 22P02
for that form with digits that are not hexadecimal.$$;
revoke all on function app.tenant_id() from public;
grant execute on function app.tenant_id() to tms_app, tms_registrar, tms_auditor;

-- functions/app/is_distributed.sql

-- db/citus/distribute.sql creates app.distribute(). to_regprocedure() looks for it at run time, so a plain database needs no Citus.
create or replace function app.is_distributed()
returns boolean
language sql
stable
return to_regprocedure('app.distribute(regclass)') is not null;

comment on function app.is_distributed() is 'Whether db/citus/distribute.sql has distributed this database on a Citus cluster.';
revoke all on function app.is_distributed() from public;
grant execute on function app.is_distributed() to tms_app, tms_registrar, tms_auditor;

-- functions/app/write_policies.sql

-- The policy text stands here and nowhere else. The restrictive policy names the tenant. The permissive `true` beside it admits rows at
-- all, so that a policy added later can only narrow. The scalar subquery makes the tenant an InitPlan: it is evaluated once a statement
-- and cannot change inside one.
-- On Citus three things differ. Citus refuses subqueries, so the policy calls the function. Citus drops RESTRICTIVE on the shards, where
-- the `true` would admit every row, so the tenant's policy stands alone. FORCE is off (db/citus/distribute.sql, 4).
create or replace function app.write_policies(p_table regclass, p_column name)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set client_min_messages = warning -- DROP POLICY IF EXISTS would print four notices for each new table
as $$
declare
  v_distributed constant boolean := app.is_distributed();
  v_own constant text := format(case when v_distributed then '%I = app.tenant_id()' else '%I = (select app.tenant_id())' end, p_column);
  v_maintenance constant text := case when v_distributed
    then $q$current_setting('app.maintenance', true) = 'on'$q$
    else $q$(select current_setting('app.maintenance', true)) = 'on'$q$ end;
begin
  execute format('alter table %s enable row level security', p_table);
  execute format('alter table %s %s row level security', p_table, case when v_distributed then 'no force' else 'force' end);
  execute format('drop policy if exists tenant_only on %s', p_table);
  execute format('create policy tenant_only on %s as %s for all to tms_app using (%s) with check (%s)', p_table,
    case when v_distributed then 'permissive' else 'restrictive' end, v_own, v_own);
  execute format('drop policy if exists tenant_rows on %s', p_table);
  if not v_distributed then
    execute format('create policy tenant_rows on %s for all to tms_app using (true) with check (true)', p_table);
  end if;
  execute format('drop policy if exists maintenance on %s', p_table);
  execute format('create policy maintenance on %s for all to tms_owner using (%s) with check (%s)', p_table, v_maintenance, v_maintenance);
  execute format('drop policy if exists auditor on %s', p_table);
  execute format('create policy auditor on %s for select to tms_auditor using (true)', p_table);
end
$$;

comment on function app.write_policies(regclass, name) is
  'Enables and forces row-level security on a table and writes its four policies. p_column holds the tenant. Safe to run again.';
revoke all on function app.write_policies(regclass, name) from public;

-- tables/tenants.sql

create table app.tenants (
  id uuid primary key default gen_random_uuid(),
  name text not null
    constraint tenants_name_length check (char_length(name) between 1 and 255)
    constraint tenants_name_not_blank check (name ~ '\S'),
  slug text collate "C" not null
    constraint tenants_slug_format check (slug ~ '^[a-z0-9-]{1,255}$'),
  settings jsonb not null default '{}'
    constraint tenants_settings_is_object check (jsonb_typeof(settings) = 'object'),
  status text not null default 'active'
    constraint tenants_status_known check (status in ('pending', 'active', 'suspended')),
  -- A flag and not the slug: a default tenant whose slug changes still cannot be deleted.
  is_default boolean not null default false,
  registration jsonb
    constraint tenants_registration_is_object check (jsonb_typeof(registration) = 'object'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
    constraint tenants_times_in_order check (updated_at >= created_at)
);

-- A unique index, not a unique constraint: a foreign key may refer to a constraint's columns, and then a change of the slug
-- would wait for every writer of the tenant. The condition is always true; it keeps foreign keys off the index.
create unique index tenants_slug_key on app.tenants (slug) where slug is not null;
create unique index tenants_one_default on app.tenants (is_default) where is_default;
create index tenants_newest_first on app.tenants (created_at desc, id);
create index tenants_status on app.tenants (status, created_at desc, id);
create index tenants_search on app.tenants using gin (name gin_trgm_ops, slug gin_trgm_ops);

select app.write_policies('app.tenants', 'id');
create policy registrar on app.tenants for all to tms_registrar using (true) with check (true);
revoke all on table app.tenants from public;
grant select on table app.tenants to tms_app, tms_auditor;
grant select, insert, update, delete on table app.tenants to tms_registrar;

comment on table app.tenants is 'The organizations. The only table with a key that is unique across tenants.';
comment on column app.tenants.name is '1 to 255 characters, not only white space. The service stores it in Unicode form NFC.';
comment on column app.tenants.slug is 'The name of the tenant in tokens and in the X-Tenant header.';
comment on column app.tenants.settings is 'A JSON object that operators write. The service returns it unchanged and reads nothing in it.';
comment on column app.tenants.status is 'pending: registered, waits for approval. active. suspended: every member is refused.';
comment on column app.tenants.is_default is 'The tenant that holds the data of a single-tenant past; at most one.';
comment on column app.tenants.registration is
  'The fields of a self-service registration: admin_email, admin_name, use_case, organization_size, metadata. Null for a tenant that an operator created.';
comment on column app.tenants.updated_at is 'When the service last changed the row. The changing statement sets it, no trigger.';
comment on index app.tenants_slug_key is 'Slugs are unique. Not a constraint, so that a slug can change while others write to the tenant.';

-- functions/app/tenant_columns.sql

-- For tables without tenant_id.
create or replace function app.tenant_columns(p_table regclass)
returns table (name name, never_null boolean, alone boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select a.attname, a.attnotnull, bool_and(cardinality(f.conkey) = 1)
  from pg_constraint f
  cross join unnest(f.conkey, f.confkey) u (child, parent)
  join pg_attribute a on a.attrelid = f.conrelid and a.attnum = u.child
  join pg_attribute p on p.attrelid = f.confrelid and p.attnum = u.parent
  where f.conrelid = p_table and f.contype = 'f'
    and p.attname = case when f.confrelid = 'app.tenants'::regclass then 'id' else 'tenant_id' end
  group by a.attname, a.attnotnull
$$;
comment on function app.tenant_columns(regclass) is
$$The columns of a table that name a tenant: their foreign keys refer to app.tenants, or to the tenant_id of another table. alone: each
of these keys has one column only.$$;
revoke all on function app.tenant_columns(regclass) from public;
grant execute on function app.tenant_columns(regclass) to tms_auditor;

-- functions/app/table_faults.sql

-- Foreign keys and unique indexes ignore row-level security, so the keys themselves must contain the tenant.
-- inherited: the parent of the partition or child has the fault too, and must be repaired instead.
create or replace function app.table_faults(p_table regclass, p_tenant_column name default 'tenant_id')
returns table (fault text, inherited boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with tenant_column as (
    select attnum, atttypid, attnotnull from pg_attribute
    where attrelid = p_table and attname = p_tenant_column and not attisdropped
  ), parent as (
    -- A parent without tenant_id is no tenant table, so no check covers it.
    select a.attnotnull
    from pg_inherits h join pg_attribute a on a.attrelid = h.inhparent and a.attname = 'tenant_id' and not a.attisdropped
    where h.inhrelid = p_table
  )
  select 'it is not a table', false from pg_class where oid = p_table and relkind not in ('r', 'p')
  union all
  select 'it has no column tenant_id', false where not exists (select from tenant_column)
  union all
  select 'tenant_id is not of type uuid', exists (select from parent) from tenant_column where atttypid <> 'uuid'::regtype
  union all
  select 'tenant_id may be null', exists (select from parent where not parent.attnotnull) from tenant_column where not attnotnull
  union all
  select 'it has no primary key', exists (select from parent)
  where not exists (select from pg_index where indrelid = p_table and indisprimary)
  union all
  select format('the unique index %s does not begin with tenant_id, so one tenant could learn another''s values', indexrelid::regclass),
    exists (select from pg_inherits where inhrelid = indexrelid)
  from pg_index
  where indrelid = p_table and (indisunique or indisexclusion) and indkey[0] is distinct from (select attnum from tenant_column)
  union all
  -- An operator class of a product's own may treat different tenants as equal.
  select format('the unique index %s compares tenant_id as the operator class %s has it, so one tenant could learn another''s values',
      i.indexrelid::regclass, o.opcname),
    exists (select from pg_inherits where inhrelid = i.indexrelid)
  from pg_index i join pg_opclass o on o.oid = i.indclass[0]
  where i.indrelid = p_table and i.indisunique and i.indkey[0] = (select attnum from tenant_column) and o.oid >= 16384
    -- Those of extensions, such as btree_gist, are trusted.
    and not exists (select from pg_depend where classid = 'pg_opclass'::regclass and objid = o.oid and deptype = 'e')
  union all
  -- An exclusion constraint with <> conflicts with the rows of all other tenants.
  select format('the constraint %I does not compare tenant_id with =, so one tenant could learn another''s values', conname),
    conparentid <> 0
  from pg_constraint
  where conrelid = p_table and conkey[1] = (select attnum from tenant_column) and conexclop[1] <> '=(uuid,uuid)'::regoperator
  union all
  select format('the foreign key %I does not pair tenant_id with tenant_id, so a row could point into another tenant', conname),
    conparentid <> 0
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
    conparentid <> 0
  from pg_constraint
  where conrelid = p_table and contype = 'f' and (select attnum from tenant_column) = any (conkey)
    and (confupdtype in ('n', 'd')
      or confdeltype in ('n', 'd') and (confdelsetcols is null or (select attnum from tenant_column) = any (confdelsetcols)))
  union all
  -- An id cannot be guessed, but a slug can.
  select format(case
        when confkey <> array[t.id]
          then 'the foreign key %I refers to tenants by more than their id, so one tenant could learn of others'
        else 'the foreign key %I names another tenant without ON DELETE CASCADE or SET NULL, '
          'so one tenant could keep another from being deleted' end, conname),
    conparentid <> 0
  from pg_constraint
  cross join (select attnum from pg_attribute where attrelid = 'app.tenants'::regclass and attname = 'id') as t (id)
  where conrelid = p_table and contype = 'f' and confrelid = 'app.tenants'::regclass
    and (confkey <> array[t.id] or conkey <> array[(select attnum from tenant_column)] and confdeltype not in ('c', 'n'))
$$;

comment on function app.table_faults(regclass, name) is
$$The rules that keep a table from being isolated, one sentence a fault; inherited tells whether the parent has the fault too.
p_tenant_column: judges the table as if this column were named tenant_id.$$;
revoke all on function app.table_faults(regclass, name) from public;
grant execute on function app.table_faults(regclass, name) to tms_auditor;

-- functions/app/adopt.sql

create or replace function app.adopt(p_table regclass)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_default constant uuid := (select id from app.tenants where is_default);
  v_key name;
  v_columns text;
  v_needed text;
  v_organization name;
  v_others int;
begin
  if not exists (select from pg_attribute where attrelid = p_table and attname = 'tenant_id' and not attisdropped) then
    -- A column that refers to a tenant and is never null is the tenant_id under another name.
    select min(name) into v_organization from app.tenant_columns(p_table) where never_null having count(*) = 1;
    if v_organization is not null then
      raise exception using errcode = 'object_not_in_prerequisite_state',
        message = format('%s cannot be adopted: the tenant of its rows is in %I', p_table, v_organization),
        hint = format('alter table %s rename column %I to tenant_id;', p_table, v_organization);
    end if;
    if v_default is null then
      raise exception using errcode = 'object_not_in_prerequisite_state',
        message = format('%s cannot be adopted: there is no default tenant (or app.maintenance is off)', p_table),
        hint = $q$as tms_registrar: select api.ensure_default_tenant('default', 'Default Tenant');$q$;
    end if;
    -- With several such columns, or a nullable one, a person must decide, unless they name only the default tenant.
    for v_organization in select name from app.tenant_columns(p_table) order by name loop
      execute format('select from %s where %I <> $1 limit 1', p_table, v_organization) using v_default;
      get diagnostics v_others = row_count;
      if v_others > 0 then
        raise exception using errcode = 'object_not_in_prerequisite_state',
          message = format('%s cannot be adopted: %I says that rows are of other tenants than the default one', p_table, v_organization),
          hint = format('alter table %1$s add column tenant_id uuid; update %1$s set tenant_id = …;'
            ' alter table %1$s alter column tenant_id set not null;', p_table);
      end if;
    end loop;
    -- A constant default fills the rows without a rewrite of the table. New rows must not get it, so it is dropped at once.
    execute format('alter table %s add column tenant_id uuid not null default %L', p_table, v_default);
    execute format('alter table %s alter column tenant_id drop default', p_table);
  end if;

  select c.conname, string_agg(quote_ident(a.attname), ', ' order by k.n) filter (where a.attname <> 'tenant_id'),
    (select string_agg(
       format('alter table %s drop constraint %I; -- %s', f.conrelid::regclass, f.conname, pg_get_constraintdef(f.oid)),
       E'\n' order by f.oid)
     from pg_constraint f where f.conindid = c.conindid and f.contype = 'f' and f.conparentid = 0)
  into v_key, v_columns, v_needed
  from pg_constraint c
  cross join unnest(c.conkey) with ordinality as k (attnum, n)
  join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum
  where c.conrelid = p_table and c.contype = 'p'
    and not exists (
      select from pg_attribute t
      where t.attrelid = c.conrelid and t.attname = 'tenant_id' and t.attnum = c.conkey[1])
  group by c.oid;
  if v_needed is not null then
    raise exception using errcode = 'dependent_objects_still_exist',
      message = format('%s cannot be adopted: foreign keys need its primary key as it is', p_table),
      hint = E'Drop them, adopt the tables on both sides, and add them again with tenant_id in both lists:\n' || v_needed;
  elsif v_key is not null then
    execute format('alter table %s drop constraint %I, add constraint %I primary key (tenant_id, %s)', p_table, v_key, v_key, v_columns);
  end if;
end
$$;

comment on function app.adopt(regclass) is
$$Adds a tenant_id to a single-tenant table, fills it with the default tenant and puts it first in the primary key. An existing
tenant_id keeps its values. Raises 55000 if there is no default tenant, or if other columns name other tenants; 2BP01 while foreign
keys of other tables need the old primary key.$$;
revoke all on function app.adopt(regclass) from public;

-- functions/app/isolate.sql

create or replace function app.isolate(p_table regclass, p_adopt boolean default false)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_faults text;
  v_table regclass;
  v_partition regclass;
begin
  if p_adopt then
    perform app.adopt(p_table);
  end if;

  select string_agg(f.fault, '; ') into v_faults from app.table_faults(p_table) f;
  if v_faults is not null then
    raise exception using errcode = 'object_not_in_prerequisite_state',
      message = format('%s cannot be isolated: %s', p_table, v_faults),
      hint = case when exists (select from pg_attribute where attrelid = p_table and attname = 'tenant_id' and not attisdropped)
        then 'before it, in the same transaction, all of: '
          'select remedy from audit.run_check(''table_rules'') where severity = ''error'';'
        else format('where all rows are the default tenant''s: select app.isolate(%L, true); else add and fill tenant_id first',
          p_table) end;
  end if;

  -- Partitions get their parent's foreign keys; children by INHERITS do not.
  for v_table in
    with recursive tree as (
      select p_table::oid as relid
      union
      select i.inhrelid from tree t join pg_inherits i on i.inhparent = t.relid
    )
    select c.oid::regclass from tree t join pg_class c on c.oid = t.relid
    where (c.oid = p_table or not c.relispartition) and not exists (
      select from pg_constraint
      where conrelid = c.oid and confrelid = 'app.tenants'::regclass and contype = 'f' and confdeltype = 'c'
        and conkey = array(select attnum from pg_attribute where attrelid = c.oid and attname = 'tenant_id'))
  loop
    execute format('alter table %s add foreign key (tenant_id) references app.tenants (id) on delete cascade', v_table);
  end loop;

  perform app.write_policies(p_table, 'tenant_id');
  -- Revoke all first: row-level security does not govern TRUNCATE, REFERENCES and TRIGGER.
  execute format('revoke all on table %s from public, tms_app, tms_service', p_table);
  execute format('grant select, insert, update, delete on table %s to tms_app', p_table);
  execute format('grant select on table %s to tms_auditor', p_table);

  if app.is_distributed() then
    execute format('select app.distribute(%L)', p_table);
  end if;

  -- A query of a partition by its own name does not use the policies of its parent.
  for v_partition in
    with recursive below as (
      select inhrelid from pg_inherits where inhparent = p_table
      union all
      select i.inhrelid from pg_inherits i join below b on i.inhparent = b.inhrelid
    )
    select inhrelid::regclass from below
  loop
    perform app.write_policies(v_partition, 'tenant_id');
    execute format('revoke all on table %s from public, tms_app, tms_service', v_partition);
    execute format('grant select on table %s to tms_auditor', v_partition);
  end loop;
end
$$;

comment on function app.isolate(regclass, boolean) is
$$Makes a table a tenant table: checks its keys, enables and forces row-level security, writes policies and grants, and
adds the foreign key to app.tenants. Safe to run again. p_adopt: for a table from a single-tenant system, first adds a missing tenant_id,
fills it with the default tenant, and puts tenant_id first in the primary key (see app.adopt).
Raises 55000 with the rules that the table breaks (app.table_faults lists them).
  select app.isolate('app.invoices');$$;
revoke all on function app.isolate(regclass, boolean) from public;

-- functions/control/gate.sql

create or replace function control.gate()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  -- While the migrations of a new database run, there is no audit yet. The gate of the installer checks the result.
  if to_regprocedure('audit.require_isolation()') is not null then
    perform audit.require_isolation();
  end if;
end
$$;
comment on function control.gate() is
$$The last statement of a migration: raises 55000 if a schema check of the installed release finds an error, so that the migration rolls
back. Does nothing before the first release is installed.$$;
revoke all on function control.gate() from public;

-- tables/users.sql

create table app.users (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  auth_provider text collate "C" not null constraint users_provider_length check (char_length(auth_provider) between 1 and 255),
  auth_subject text collate "C" not null constraint users_subject_length check (char_length(auth_subject) between 1 and 255),
  email text,
  display_name text,
  role text not null default 'member' constraint users_role_known check (role in ('owner', 'admin', 'member')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now() constraint users_times_in_order check (updated_at >= created_at),
  removed_at timestamptz,
  primary key (tenant_id, id),
  constraint users_tenant_identity_key unique (tenant_id, auth_provider, auth_subject)
);

-- Not unique: one person in two tenants has two rows.
create index users_identity on app.users (auth_provider, auth_subject);
create index users_newest_first on app.users (tenant_id, created_at desc, id) where removed_at is null;
create index users_owners on app.users (tenant_id, id) where role = 'owner' and removed_at is null;

select app.isolate('app.users');
create policy registrar on app.users for all to tms_registrar using (true) with check (true);
grant select, insert, update, delete on table app.users to tms_registrar;

comment on table app.users is 'The members of each tenant. An identity is the pair (auth_provider, auth_subject).';
comment on column app.users.tenant_id is 'The tenant that owns the row, as in every other table.';
comment on column app.users.auth_provider is 'The issuer of the token, or jwt when the token names none.';
comment on column app.users.auth_subject is 'The sub claim of the token.';
comment on column app.users.email is 'The address from the token, or from the admin who added the member. The service identifies nobody by it.';
comment on column app.users.role is 'owner, admin or member of the tenant. Only an owner grants or revokes the role owner.';
comment on column app.users.removed_at is 'When the membership ended. The row stays, because boards, generations and the credit ledger refer to it.';
comment on index app.users_newest_first is 'Serves the list of members.';
comment on index app.users_owners is 'The owners of a tenant; removing one locks them all.';

-- tables/boards.sql

create table app.boards (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  owner_id uuid not null,
  title text not null constraint boards_title_length check (char_length(title) between 1 and 255),
  description text,
  settings jsonb not null default '{}' constraint boards_settings_is_object check (jsonb_typeof(settings) = 'object'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now() constraint boards_times_in_order check (updated_at >= created_at),
  primary key (tenant_id, id),
  constraint boards_owner foreign key (tenant_id, owner_id) references app.users (tenant_id, id)
);

create index boards_by_owner on app.boards (tenant_id, owner_id);
create index boards_newest_first on app.boards (tenant_id, created_at desc, id);
create index boards_with_owner on app.boards (tenant_id, id) include (owner_id);

select app.isolate('app.boards');

comment on table app.boards is 'The boards of a tenant.';
comment on column app.boards.owner_id is 'The member who owns the board. The owner has no row in board_members, unless somebody added one.';
comment on column app.boards.settings is 'A JSON object, stored unchanged.';
comment on index app.boards_with_owner is 'The audit reads the owner of each board from it, without reading the boards.';

-- tables/board_members.sql

create table app.board_members (
  tenant_id uuid not null,
  board_id uuid not null,
  user_id uuid not null,
  role text not null default 'viewer' constraint board_members_role_known check (role in ('viewer', 'editor', 'admin')),
  invited_by uuid,
  created_at timestamptz not null default now(),
  primary key (tenant_id, board_id, user_id),
  constraint board_members_board foreign key (tenant_id, board_id) references app.boards (tenant_id, id) on delete cascade,
  constraint board_members_user foreign key (tenant_id, user_id) references app.users (tenant_id, id) on delete cascade,
  constraint board_members_inviter foreign key (tenant_id, invited_by) references app.users (tenant_id, id)
);

create index board_members_by_user on app.board_members (tenant_id, user_id);
create index board_members_by_inviter on app.board_members (tenant_id, invited_by);

select app.isolate('app.board_members');

comment on table app.board_members is 'The members who work on a board besides its owner.';
comment on column app.board_members.role is 'viewer, editor or admin of the board.';
comment on column app.board_members.invited_by is 'The member who added this one; null where unknown.';

-- tables/generations.sql

create table app.generations (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  board_id uuid not null,
  user_id uuid not null,
  artifact_type text not null constraint generations_artifact_type_length check (char_length(artifact_type) between 1 and 50),
  status text not null default 'pending'
    constraint generations_status_known check (status in ('pending', 'processing', 'completed', 'failed', 'cancelled')),
  input jsonb not null default '{}' constraint generations_input_is_object check (jsonb_typeof(input) = 'object'),
  error text,
  created_at timestamptz not null default now(),
  completed_at timestamptz constraint generations_times_in_order check (completed_at >= created_at),
  primary key (tenant_id, id),
  constraint generations_board foreign key (tenant_id, board_id) references app.boards (tenant_id, id) on delete cascade,
  constraint generations_user foreign key (tenant_id, user_id) references app.users (tenant_id, id)
);

create index generations_by_board_and_user on app.generations (tenant_id, board_id, user_id);
create index generations_by_user on app.generations (tenant_id, user_id);
create index generations_unfinished on app.generations (tenant_id, id) where status <> 'completed';
create index generations_contradictory on app.generations (tenant_id)
  where case when completed_at is null then status = 'completed' else status in ('pending', 'processing') end;

select app.isolate('app.generations');

comment on table app.generations is 'What was generated on a board, and by which member.';
comment on column app.generations.user_id is 'The member who asked for it.';
comment on column app.generations.artifact_type is 'What was asked for: image, video, …';
comment on column app.generations.status is
  'pending, processing, completed, failed or cancelled. A completed generation has completed_at and media, a failed one an error.';
comment on column app.generations.input is 'The input for the provider, a JSON object.';
comment on column app.generations.error is 'Why it failed; null otherwise.';
comment on index app.generations_by_board_and_user is 'The generations of a board, and who generated on which board.';
comment on index app.generations_unfinished is 'Generations that wait, run or have failed; the audit reads few rows instead of all.';
comment on index app.generations_contradictory is 'Generations whose status and completed_at contradict each other. Normally empty.';

-- tables/media.sql

create table app.media (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  generation_id uuid not null,
  storage_url text not null constraint media_storage_url_length check (char_length(storage_url) between 1 and 2048),
  content_type text,
  size_bytes bigint constraint media_size_not_negative check (size_bytes >= 0),
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  constraint media_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id) on delete cascade
);

create index media_by_generation on app.media (tenant_id, generation_id);
create index media_named_otherwise on app.media (tenant_id) where position(tenant_id::text in storage_url) = 0;

select app.isolate('app.media');

comment on table app.media is 'The files of a generation. The bytes are stored elsewhere.';
comment on column app.media.storage_url is 'The URL of the bytes, 1 to 2048 characters. A URL that contains a tenant id contains the id of its own tenant.';
comment on column app.media.content_type is 'The media type of the bytes (RFC 6838).';
comment on column app.media.size_bytes is 'Bytes; null where unknown.';
comment on index app.media_named_otherwise is 'Media whose URL does not contain the id of their tenant; the audit reads these alone.';

-- tables/provider_configs.sql

create table app.provider_configs (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  provider_name text not null constraint provider_configs_name_length check (char_length(provider_name) between 1 and 255),
  config jsonb not null default '{}' constraint provider_configs_config_is_object check (jsonb_typeof(config) = 'object'),
  is_enabled boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now() constraint provider_configs_times_in_order check (updated_at >= created_at),
  primary key (tenant_id, id),
  constraint provider_configs_name_key unique (tenant_id, provider_name)
);

select app.isolate('app.provider_configs');

comment on table app.provider_configs is 'How a tenant reaches the providers that generate for it.';
comment on column app.provider_configs.provider_name is 'One configuration for each provider and tenant.';
comment on column app.provider_configs.config is 'A JSON object. It may hold secrets: no function of the service and no finding of the audit returns it.';
comment on column app.provider_configs.is_enabled is 'Whether generations of the tenant may use it.';

-- tables/credit_transactions.sql

create table app.credit_transactions (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  user_id uuid not null,
  generation_id uuid,
  type text not null constraint credit_transactions_type_length check (char_length(type) between 1 and 50),
  amount bigint not null,
  balance_after bigint not null,
  description text,
  -- Not now(): the order of a ledger is (created_at, id), so two rows of one transaction need two times.
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, id),
  constraint credit_transactions_user foreign key (tenant_id, user_id) references app.users (tenant_id, id),
  constraint credit_transactions_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id)
);

-- Includes the sums: a ledger is read, and audited, from the index alone.
create index credit_transactions_ledger on app.credit_transactions (tenant_id, user_id, created_at, id) include (amount, balance_after);
create index credit_transactions_by_generation on app.credit_transactions (tenant_id, generation_id);

select app.isolate('app.credit_transactions');

comment on table app.credit_transactions is
  'A credit ledger for each user. balance_after is the balance before the row plus amount, in the order (created_at, id).';
comment on column app.credit_transactions.user_id is 'The owner of the ledger.';
comment on column app.credit_transactions.generation_id is 'The generation that was paid for; null for a grant.';
comment on column app.credit_transactions.type is 'The reason: grant, usage, refund, …';
comment on column app.credit_transactions.amount is 'Credits; spent credits are negative.';
comment on column app.credit_transactions.balance_after is 'Credits: the balance before this row plus its amount.';

-- tables/deployment.sql

create table control.deployment (
  singleton boolean primary key default true check (singleton),
  default_tenant_made_at timestamptz not null default now()
);
revoke all on table control.deployment from public;
grant select, insert on table control.deployment to tms_registrar;

comment on table control.deployment is
  'One row once the default tenant was created. The service creates it only once, so a deliberate deletion stays a deletion.';

-- tables/idempotency_keys.sql

create table control.idempotency_keys (
  auth_provider text collate "C" not null,
  auth_subject text collate "C" not null,
  key text collate "C" not null constraint idempotency_keys_length check (char_length(key) between 8 and 255),
  request_hash bytea not null,
  -- The key goes with its tenant: a repeat after the deletion creates a tenant instead of naming a deleted one.
  tenant_id uuid references app.tenants (id) on delete cascade,
  body json,
  created_at timestamptz not null default now(),
  primary key (auth_provider, auth_subject, key)
);
create index idempotency_keys_by_tenant on control.idempotency_keys (tenant_id);
create index idempotency_keys_oldest on control.idempotency_keys (created_at);
revoke all on table control.idempotency_keys from public;
grant select, insert, update, delete on table control.idempotency_keys to tms_registrar;

comment on table control.idempotency_keys is 'First answers to POST /api/setup/tenant by Idempotency-Key, kept for at least 24 hours.';
comment on column control.idempotency_keys.request_hash is 'Hash of the request. The same key with another request is refused.';
comment on column control.idempotency_keys.body is 'The first answer; null while its request is running.';

-- tables/rate_limits.sql

-- Unlogged: a crash empties it, which costs nobody more than a window.
create unlogged table control.rate_limits (
  bucket text collate "C" not null,
  identity text collate "C" not null,
  hits int not null,
  reset_at timestamptz not null,
  primary key (bucket, identity)
) with (fillfactor = 70);
create index rate_limits_expired on control.rate_limits (reset_at);
revoke all on table control.rate_limits from public;
grant select, insert, update, delete on table control.rate_limits to tms_registrar;

comment on table control.rate_limits is 'Requests of an identity in the current window of a bucket.';
comment on column control.rate_limits.identity is 'Provider and subject of the caller, as one text.';
comment on column control.rate_limits.reset_at is 'When the window ends; hits then starts again.';

-- tables/tenant_counts.sql

-- An exact total that stays cheap at a million tenants. Up to 64 rows, and each backend adds to its own, so that parallel
-- registrations do not wait for one counter.
create table control.tenant_counts (
  shard int primary key check (shard between 0 and 63),
  pending bigint not null default 0,
  active bigint not null default 0,
  suspended bigint not null default 0
) with (fillfactor = 50);
revoke all on table control.tenant_counts from public;
grant select, insert, update on table control.tenant_counts to tms_registrar;

comment on table control.tenant_counts is 'Numbers of tenants by status, spread over rows. Only the sums have a meaning.';
comment on column control.tenant_counts.shard is 'The process id of the backend modulo 64; has no meaning.';

-- tables/tenant_events.sql

-- No foreign key: an event outlives its tenant.
create table control.tenant_events (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  event text not null constraint tenant_events_known check (event in (
    'created', 'registered', 'imported', 'approved', 'rejected', 'suspended', 'resumed', 'updated', 'deleted')),
  tenant_id uuid not null,
  slug text collate "C" not null,
  name text not null,
  changed text[],
  actor_provider text collate "C",
  actor_subject text collate "C",
  login name not null default session_user
);
create index tenant_events_by_slug on control.tenant_events (slug, id);
create index tenant_events_by_tenant on control.tenant_events (tenant_id, id);
revoke all on table control.tenant_events from public;

comment on table control.tenant_events is
  'What happened to tenants and who did it, in the order of id. Kept after the tenant is gone. No tenant data but id, slug and name.';
comment on column control.tenant_events.changed is 'The changed fields of an update.';
comment on column control.tenant_events.actor_subject is 'The caller over HTTP; null for a change in SQL, which login names.';
comment on column control.tenant_events.login is 'The database login that made the change.';

-- tables/release.sql

create table control.release (
  installed_at timestamptz primary key default clock_timestamp(),
  number int not null constraint release_number_positive check (number > 0),
  hash text not null,
  installed_by name not null default session_user
);
revoke all on table control.release from public;

comment on table control.release is
  'The releases whose functions, views, triggers and checks were installed. The last row is the release that is in force.';
comment on column control.release.number is 'The number in db/release.json. The installer refuses a build with a smaller one.';
comment on column control.release.hash is 'SHA-256 over the installed files. The installer has nothing to do for the same hash.';

-- tables/observation.sql

-- The types that checks of the audit return.
create type audit.observation as (severity text, tenant_id uuid, relation text, "row" jsonb, detail text, remedy text);
create type audit.outcome as (
  "check" text, relation text, checked bigint, errors bigint, warnings bigint, infos bigint, kept audit.observation[]
);
comment on type audit.observation is
$$One object that a check looked at. detail is null where the object is in order, so that the same rows count what was examined
and what was found.$$;
comment on type audit.outcome is
  'One check on one relation: rows examined, findings by severity, and the thousand worst findings.';

-- tables/runs.sql

create table audit.runs (
  id bigint generated always as identity primary key,
  started_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  tenant text,
  tenant_id uuid,
  family text constraint runs_family_known check (family in ('data', 'schema')),
  sample int constraint runs_sample_positive check (sample > 0),
  run_by name not null default session_user,
  server_version text not null default current_setting('server_version'),
  schema_version text,
  pending text[],
  started_in xid8 default pg_current_xact_id(),
  checks int not null default 0,
  rows_checked bigint not null default 0,
  errors bigint not null default 0,
  warnings bigint not null default 0,
  infos bigint not null default 0,
  not_run int not null default 0
);
revoke all on table audit.runs from public;
grant select on table audit.runs to tms_auditor;

comment on table audit.runs is
  'One row for each run of the audit. finished_at is null while a run goes on, and stays null when it was cancelled.';
comment on column audit.runs.tenant is 'The slug of the one tenant whose rows were examined; null: all tenants.';
comment on column audit.runs.family is 'data, schema, or null for both.';
comment on column audit.runs.sample is 'The number of tenants in which the proof acted; null: all.';
comment on column audit.runs.schema_version is 'The last applied migration, as its file name.';
comment on column audit.runs.pending is 'The passes still to come. Only these are recorded, and only a run without any is finished.';
comment on column audit.runs.started_in is
  'The transaction that opened the run. Passes are recorded in later transactions: this one may have an old snapshot.';
comment on column audit.runs.rows_checked is
  'Rows, and objects of the catalog, that the checks examined. A row that three checks examine counts three times.';
comment on column audit.runs.not_run is 'Checks that could not run. Each is an error too: a run with one of them proves nothing.';

-- tables/results.sql

create table audit.results (
  run_id bigint not null references audit.runs on delete cascade,
  check_name text not null,
  relation text not null default '',
  checked bigint not null,
  errors bigint not null,
  warnings bigint not null,
  infos bigint not null,
  elapsed interval not null,
  failed boolean not null default false,
  primary key (run_id, check_name, relation)
);
revoke all on table audit.results from public;
grant select on table audit.results to tms_auditor;

comment on table audit.results is
  'What each check of a run examined and found, by relation. relation is empty for a check that is not about one relation.';
comment on column audit.results.checked is 'Rows of the relation, or objects of the catalog.';
comment on column audit.results.failed is 'Whether the check could not run; one of the errors is that.';
comment on column audit.results.elapsed is 'Time of the pass over the relation. Several checks share one pass.';

-- tables/found.sql

create table audit.found (
  run_id bigint not null references audit.runs on delete cascade,
  check_name text not null,
  n int not null,
  severity text not null constraint found_severity_known check (severity in ('error', 'warning', 'info')),
  tenant_id uuid,
  relation text,
  "row" jsonb not null,
  detail text not null,
  remedy text not null,
  primary key (run_id, check_name, n)
);
revoke all on table audit.found from public;
grant select on table audit.found to tms_auditor;

comment on table audit.found is
$$The thousand worst findings of each check, kept for the last hundred runs and while a finding of the run is open. Key columns
only, no payload.$$;
comment on column audit.found.tenant_id is 'The tenant of the row; null for a finding about the catalog.';
comment on column audit.found."row" is 'The key columns of the row, or the name of the object; {} where the relation says it all.';

-- tables/accepted.sql

-- Not part of a release: what the owner of the database accepted outlives releases.
create table audit.accepted (
  kind text not null,
  name text not null,
  owner text not null,
  granted text not null,
  body text not null,
  accepted_at timestamptz not null default now(),
  accepted_by name not null default session_user,
  primary key (kind, name)
);
revoke all on table audit.accepted from public;
grant select on table audit.accepted to tms_auditor;

comment on table audit.accepted is
$$Functions and triggers of a product, event triggers, and functions outside the service's schemas, as audit.accept() found them.
The audit reports every difference from then on.$$;
