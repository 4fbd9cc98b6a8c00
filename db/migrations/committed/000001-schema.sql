--! Previous: -
--! Hash: sha1:c81e7375bc9f0bc32882186e5fccb6fbcf444209
--! Message: schema

-- The schema as 0.1.0 begins with it: schemas, rights, the functions that tables need, the tables. The installer replaces the functions.

-- tables/schemas.sql

-- The database is closed to everybody but the roles named here; db/roles.sql creates the roles.
revoke all on database :DATABASE_NAME from public;
grant connect on database :DATABASE_NAME to tms_service, tms_auditor;
grant temporary on database :DATABASE_NAME to tms_auditor; -- the audit works in temporary tables
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

-- tables/profile.sql

create table audit.profile (
  one boolean primary key default true check (one),
  tenants regclass,
  tenant_key name,
  tenant_columns name[] not null default '{}',
  per_table jsonb not null default '{}' check (jsonb_typeof(per_table) = 'object'),
  bookkeeping name[] not null default '{}',
  request_roles name[] not null,
  principals text not null,
  sees_all name[] not null default '{}',
  trusted_owners name[] not null default '{}',
  sees_less boolean not null default false,
  isolate text,
  extra_checks name[] not null default '{}',
  check ((tenants is null) = (tenant_key is null))
);
comment on table audit.profile is
  'What the audit must be told of this database, in one row. audit.propose() reads a proposal from the catalog.';
comment on column audit.profile.tenants is 'The tenants'' table: one row a tenant. Null: there is none.';
comment on column audit.profile.tenant_key is 'The column of the tenants'' table that names a tenant, and that other tables refer to.';
comment on column audit.profile.tenant_columns is
  'A column of one of these names says whose a row is. Where a table has several, the first of this list counts.';
comment on column audit.profile.per_table is
$$Tables that differ: {"crm.orders": "org"}, this column says whose a row is; {"crm.countries": null}, its rows are no tenant's.
Tables are named with their schema, quoted where SQL quotes them.$$;
comment on column audit.profile.bookkeeping is
  'Schemas whose rows are about tenants and are no tenant''s: an event log, the audit''s results. Requests have no business there.';
comment on column audit.profile.request_roles is 'The roles that requests of tenants act as, the login of the application too.';
comment on column audit.profile.principals is
$$A query of three columns: principal text, a name for messages; enter text[], the statements that make a session be this principal;
tenants text[], the keys of the tenants that it is entitled to. Entitled to '{}' is: nothing. The proof becomes each of a sample of them.
Name tables in it with their schema.$$;
comment on column audit.profile.sees_all is 'Roles that may see every tenant, by intention.';
comment on column audit.profile.trusted_owners is
  'Owners of tables, and of functions that are believed. Empty: any that is no request role.';
comment on column audit.profile.sees_less is
  'Whether policies also narrow within a tenant, by member or by role. Then a principal that sees fewer rows is no finding.';
comment on column audit.profile.isolate is
  'What isolates a table here, a format string with %L for its name; null: alter table and policies.';
comment on column audit.profile.extra_checks is 'Schemas with checks of one''s own: views of the same columns as the audit''s checks.';

-- tables/vouched.sql

-- Who answers for what a check cannot judge. From outside the client fills this, from the repository's file and from the manifest that it
-- compared. Where the table is stored, the gate asks it, and a client does not: what is stored cannot vouch for itself.
create table audit.vouched (
  kind text not null check (kind in ('function', 'unique key')),
  object text not null,
  hash text,
  reason text not null,
  primary key (kind, object)
);
comment on table audit.vouched is
$$What was reviewed: a function, or a unique key over all tenants, whose audit.hash_of() is hash; object is its name for people, the hash
decides. Without a hash: a function of the release, by its name.$$;

revoke all on audit.profile, audit.vouched from public;
grant select on audit.profile, audit.vouched to tms_auditor;
-- functions/app/no_tenant.sql

-- The last branch of app.tenant_id(); a function, because an expression cannot raise an error of its own. It looks at the setting again
-- because Citus evaluates the branches of a CASE before its condition. It raises by itself, not by app.refuse(), because Citus brings to its
-- workers only what a standard body names.
create or replace function app.no_tenant(p_setting text)
returns text
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('app.require_tenant', true) = 'on'
    and coalesce(p_setting, '') not like '________-____-____-____-____________'
  then
    raise exception using errcode = 'TM428', message = 'no tenant was entered', constraint = 'no_tenant',
      hint = 'Call app.enter_tenant() or app.set_tenant() first, in the same transaction.';
  end if;
  return null;
end
$$;

comment on function app.no_tenant(text) is
$$What app.tenant_id() is where its setting names no tenant: null, or the error TM428 for a login with app.require_tenant = on.$$;
revoke all on function app.no_tenant(text) from public;
grant execute on function app.no_tenant(text) to tms_app, tms_registrar, tms_auditor;

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
  else app.no_tenant(pg_catalog.current_setting('app.tenant_id', true))
end)::uuid;

comment on function app.tenant_id() is
$$The tenant of this transaction, from the setting app.tenant_id; null if that is unset, empty or has not the form of a uuid, or TM428 for a
login with app.require_tenant = on. Raises 22P02 for that form with digits that are not hexadecimal.$$;
revoke all on function app.tenant_id() from public;
grant execute on function app.tenant_id() to tms_app, tms_registrar, tms_auditor;

-- functions/app/no_maintenance.sql

-- The last branch of tms_owner's policies; a function, because an expression cannot raise an error of its own.
create or replace function app.no_maintenance()
returns boolean
language plpgsql
stable
parallel safe
set search_path = pg_catalog, pg_temp
as $$
begin
  if current_setting('app.require_maintenance', true) = 'on' then
    raise exception using errcode = 'TM428', message = 'app.maintenance is off, so the owner would see no row', constraint = 'no_maintenance',
      hint = 'set local app.maintenance = on; in the same transaction';
  end if;
  return false;
end
$$;

comment on function app.no_maintenance() is
$$What a policy of tms_owner is while app.maintenance is off: false, or the error TM428 for a login with app.require_maintenance = on.$$;
revoke all on function app.no_maintenance() from public;

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
-- On Citus three things differ. Citus refuses subqueries, so the policy calls the function; the owner's reads the setting itself, because
-- app.no_maintenance() would run for each row. Citus drops RESTRICTIVE on the shards, where the `true` would admit every row, so the
-- tenant's policy stands alone. FORCE is off (db/citus/distribute.sql, 4).
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
    else $q$(select case current_setting('app.maintenance', true) when 'on' then true else app.no_maintenance() end)$q$ end;
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
    -- A character that shows: src/values/visible.ts says which do not.
    constraint tenants_name_not_blank check (name ~
      '[^\u0001-\u0020\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f'
      '\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd'
      '\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'),
  slug text collate "C" not null
    constraint tenants_slug_format check (slug ~ '^[a-z0-9-]{1,255}$'),
  settings jsonb not null default '{}'
    constraint tenants_settings_is_object check (jsonb_typeof(settings) = 'object')
    constraint tenants_settings_size check (octet_length(settings::text) <= 1048576),
  status text not null default 'active'
    constraint tenants_status_known check (status in ('pending', 'active', 'suspended', 'deleted')),
  -- A flag and not the slug: a default tenant whose slug changes still cannot be deleted.
  is_default boolean not null default false,
  registration jsonb
    constraint tenants_registration_is_object check (jsonb_typeof(registration) = 'object')
    constraint tenants_registration_size check (octet_length(registration::text) <= 1048576),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
    constraint tenants_times_in_order check (updated_at >= created_at),
  deleted_at timestamptz,
  purge_at timestamptz constraint tenants_deletion_in_order check (purge_at >= deleted_at),
  status_before text constraint tenants_status_before_known check (status_before in ('pending', 'active', 'suspended')),
  constraint tenants_deletion_whole
    check (num_nonnulls(deleted_at, purge_at, status_before) = case when status = 'deleted' then 3 else 0 end)
);

-- A unique index, not a unique constraint: a foreign key may refer to a constraint's columns, and then a change of the slug
-- would wait for every writer of the tenant. The condition is always true; it keeps foreign keys off the index.
create unique index tenants_slug_key on app.tenants (slug) where slug is not null;
create unique index tenants_one_default on app.tenants (is_default) where is_default;
create index tenants_newest_first on app.tenants (created_at desc, id);
create index tenants_status on app.tenants (status, created_at desc, id);
create index tenants_purge on app.tenants (purge_at) where purge_at is not null;
create index tenants_by_name on app.tenants (name, id);
create index tenants_search on app.tenants using gin (name gin_trgm_ops, slug gin_trgm_ops);

select app.write_policies('app.tenants', 'id');
create policy registrar on app.tenants for all to tms_registrar using (true) with check (true);
revoke all on table app.tenants from public;
grant select on table app.tenants to tms_app, tms_auditor;
grant select, insert, update, delete on table app.tenants to tms_registrar;

comment on table app.tenants is 'The organizations. The only table with a key that is unique across tenants.';
comment on column app.tenants.name is '1 to 255 characters, one of which shows. The service stores it in Unicode form NFC.';
comment on column app.tenants.slug is 'The name of the tenant in tokens and in the X-Tenant header.';
comment on column app.tenants.settings is 'A JSON object that operators write, and the tenant''s owners and admins where the settings schema lets them. The service reads nothing in it.';
comment on column app.tenants.status is
  'pending: registered, waits for approval. active. suspended: every member is refused. deleted: the same, and the tenant goes at purge_at.';
comment on column app.tenants.is_default is 'The tenant that holds the data of a single-tenant past; at most one.';
comment on column app.tenants.registration is
  'The fields of a self-service registration: admin_email, admin_name, use_case, organization_size, metadata. Null for a tenant that an operator created.';
comment on column app.tenants.updated_at is 'When the service last changed the row. The changing statement sets it, no trigger.';
comment on column app.tenants.deleted_at is 'When an operator deleted the tenant; null unless its status is deleted.';
comment on column app.tenants.purge_at is 'From when tenancy purge may remove the tenant; until then it can be restored.';
comment on column app.tenants.status_before is 'The status that a restored tenant gets back.';
comment on index app.tenants_purge is 'Finds the tenants whose restore window has passed.';
comment on index app.tenants_by_name is 'Serves the list of tenants by name.';
comment on index app.tenants_slug_key is 'Slugs are unique. Not a constraint, so that a slug can change while others write to the tenant.';

-- functions/app/tenant_columns.sql

-- For tables without tenant_id.
create or replace function app.tenant_columns(p_table regclass)
returns table (name name, never_null boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select distinct a.attname, a.attnotnull
  from pg_constraint f
  cross join unnest(f.conkey, f.confkey) u (child, parent)
  join pg_attribute a on a.attrelid = f.conrelid and a.attnum = u.child
  join pg_attribute p on p.attrelid = f.confrelid and p.attnum = u.parent
  where f.conrelid = p_table and f.contype = 'f'
    and p.attname = case when f.confrelid = 'app.tenants'::regclass then 'id' else 'tenant_id' end
$$;
comment on function app.tenant_columns(regclass) is
'The columns of a table that name a tenant: their foreign keys refer to app.tenants, or to the tenant_id of another table.';
revoke all on function app.tenant_columns(regclass) from public;
grant execute on function app.tenant_columns(regclass) to tms_auditor;

-- functions/app/table_faults.sql

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
          hint = format('-- alter table %1$s add column tenant_id uuid; update %1$s set tenant_id = …;'
            ' alter table %1$s alter column tenant_id set not null;', p_table);
      end if;
    end loop;
    -- A column without a foreign key can name the tenant as well.
    for v_organization in
      select a.attname from pg_attribute a join pg_type t on t.oid = a.atttypid
      where a.attrelid = p_table and a.attnum > 0 and not a.attisdropped
        and (a.atttypid = 'uuid'::regtype or t.typcategory = 'S')
        and not exists (select from pg_constraint f where f.conrelid = p_table and f.contype = 'f' and a.attnum = any (f.conkey))
      order by a.attname
    loop
      execute format('select from %s r join app.tenants t on lower(r.%I::text) = t.id::text where t.id <> $1 limit 1',
        p_table, v_organization) using v_default;
      get diagnostics v_others = row_count;
      if v_others > 0 then
        raise exception using errcode = 'object_not_in_prerequisite_state',
          message = format('%s cannot be adopted: %I holds ids of other tenants than the default one', p_table, v_organization),
          hint = format('-- if they name the tenant of each row: alter table %1$s rename column %2$I to tenant_id;'
            ' if not, add tenant_id and fill it first', p_table, v_organization);
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
tenant_id keeps its values. Raises 55000 if there is no default tenant, or if other columns, with a foreign key or without, name other
tenants; 2BP01 while foreign
keys of other tables need the old primary key.$$;
revoke all on function app.adopt(regclass) from public;

-- functions/app/write_bridge.sql

-- The date is in the policy's name: \d shows it, a dump keeps it, and it needs no state.
create or replace function app.write_bridge(p_table regclass, p_login text, p_until date)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_login constant oid := (select oid from pg_roles where rolname = p_login);
  v_fault constant text := case
    when (p_login is null) <> (p_until is null) then 'bridge and until go together'
    when p_login is null then null
    when v_login is null then format('there is no role %I', p_login)
    when not (select rolcanlogin from pg_roles where oid = v_login) then format('%I is not a login', p_login)
    when (select rolsuper or rolbypassrls from pg_roles where oid = v_login) then format('%I needs no bridge: no policy applies to it', p_login)
    when p_login ~ '^tms_(app|service|registrar|owner|auditor)$' then format('%I is a role of this service', p_login)
    when exists (
      select from unnest('{tms_app,tms_service}'::name[]) r
      where pg_has_role(v_login, r, 'member') or pg_has_role(r, v_login, 'member')
    ) then format('requests act as %I, by its membership', p_login)
    -- It reaches a partition by the parent's privileges.
    when not (select relispartition from pg_class where oid = p_table)
      and not (has_any_column_privilege(v_login, p_table, 'select') or has_any_column_privilege(v_login, p_table, 'insert'))
      then format('%I has no privilege on %s, or had it by PUBLIC, which has none now', p_login, p_table)
    when p_until not between current_date and current_date + interval '1 year'
      then format('until must be between %s and %s', current_date, (current_date + interval '1 year')::date)
    end;
  v_bridge name;
begin
  if v_fault is not null then
    raise exception using errcode = 'invalid_parameter_value', message = format('%s cannot have this bridge: %s', p_table, v_fault),
      hint = 'It is for one login of the old application: bridge => ''prod_app'', until => ''2027-01-31''.';
  end if;
  for v_bridge in select polname from pg_policy where polrelid = p_table and polname ~ '^bridge_until_' loop
    execute format('drop policy %I on %s', v_bridge, p_table);
  end loop;
  if v_login is not null then
    execute format('create policy %I on %s for all to %I using (true) with check (true)',
      to_char(p_until, '"bridge_until_"YYYY_MM_DD'), p_table, p_login);
  end if;
end
$$;

comment on function app.write_bridge(regclass, text, date) is
$$Lets one login of an old application see every row of a tenant table until a date, by the policy bridge_until_<date>; null: removes it.
Raises 22023 for a role that is no login, a superuser or a role of requests, without a privilege on the table, and for a date in the past
or more than a year ahead.$$;
revoke all on function app.write_bridge(regclass, text, date) from public;

-- functions/app/isolate.sql

create or replace function app.isolate(
  p_table regclass, p_adopt boolean default false, bridge text default null, until date default null)
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
        then (select format('for its foreign keys: select remedy from audit.key_crosses_tenants where relation = %L; '
            'for its primary key: select app.isolate(%L, true);', format('%s.%I', relnamespace::regnamespace, relname), p_table)
          from pg_class where oid = p_table)
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
  perform app.write_bridge(p_table, bridge, until);

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
    perform app.write_bridge(v_partition, bridge, until);
  end loop;
end
$$;

comment on function app.isolate(regclass, boolean, text, date) is
$$Makes a table a tenant table: checks its keys, enables and forces row-level security, writes policies and grants, and
adds the foreign key to app.tenants. Safe to run again. p_adopt: for a table from a single-tenant system, first adds a missing tenant_id,
fills it with the default tenant, and puts tenant_id first in the primary key (see app.adopt).
bridge, until: the login of an old application that goes on seeing every row until a date (see app.write_bridge); without them there is none.
Raises 55000 with the rules that the table breaks (app.table_faults lists them).
  select app.isolate('app.invoices');$$;
revoke all on function app.isolate(regclass, boolean, text, date) from public;

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

-- tables/caller.sql

-- What every call of the schema api carries: who asks, and for which tenant. A proof of the caller covers all fields but the last.
create type app.caller as (
  slug text,
  provider text,
  subject text,
  email text,
  name text,
  missing_role text
);
comment on type app.caller is
'The caller of a request: the pair (provider, subject), and the slug of the tenant that the request names. The service has verified all of it.';
comment on column app.caller.slug is 'Null in single-tenant mode: the default tenant. Empty for an API key: the tenant of the key.';
comment on column app.caller.provider is 'The issuer of the token, jwt without one, key for an API key.';
comment on column app.caller.subject is 'The subject of the token; of an API key what control.enter_key() takes.';
comment on column app.caller.missing_role is 'The role that the caller would need to be an operator. Null: an operator.';

-- tables/users.sql

create table app.users (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  auth_provider text collate "C" not null constraint users_provider_length check (char_length(auth_provider) between 1 and 255),
  auth_subject text collate "C" not null constraint users_subject_length check (char_length(auth_subject) between 1 and 255),
  email text constraint users_email_length check (char_length(email) <= 320),
  display_name text constraint users_display_name_length check (char_length(display_name) <= 255)
    constraint users_display_name_not_blank check (display_name ~
      '[^\u0001-\u0020\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f'
      '\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd'
      '\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'),
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
comment on column app.users.removed_at is 'When the membership ended. The row stays, because rows that the member made refer to it.';
comment on index app.users_newest_first is 'Serves the list of members.';
comment on index app.users_owners is 'The owners of a tenant; removing one locks them all.';

-- tables/invitations.sql

create table app.invitations (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  token_hash bytea not null constraint invitations_hash_length check (octet_length(token_hash) = 32),
  role text not null default 'member' constraint invitations_role_known check (role in ('owner', 'admin', 'member')),
  email text collate "C" constraint invitations_email_length check (char_length(email) <= 320),
  invited_by uuid,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '7 days'
    constraint invitations_lifetime check (expires_at > created_at and expires_at - created_at <= interval '30 days'),
  primary key (tenant_id, id),
  constraint invitations_token_key unique (tenant_id, token_hash),
  constraint invitations_inviter foreign key (tenant_id, invited_by) references app.users (tenant_id, id)
);

create index invitations_by_inviter on app.invitations (tenant_id, invited_by);
create index invitations_newest_first on app.invitations (tenant_id, created_at desc, id);

select app.isolate('app.invitations');

comment on table app.invitations is
  'Invitations that wait to be accepted. Accepting or revoking one deletes its row; the events remain.';
comment on column app.invitations.token_hash is
  'SHA-256 of the secret, the part of the token after the tenant''s id. The database never receives the secret.';
comment on column app.invitations.role is 'The role that the invited person gets.';
comment on column app.invitations.email is
  'Only a token with this address can accept; null: every token. The domain as DNS writes it, ASCII letters in lower case.';
comment on column app.invitations.invited_by is
  'The member who made the invitation: it counts only while that member could still make it. Null: an operator made it.';
comment on index app.invitations_newest_first is 'Serves the list of open invitations.';

-- tables/api_keys.sql

create table app.api_keys (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  user_id uuid not null,
  name text not null
    constraint api_keys_name_length check (char_length(name) between 1 and 255)
    constraint api_keys_name_not_blank check (name ~
      '[^\u0001-\u0020\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f'
      '\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd'
      '\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'),
  secret_hash bytea not null constraint api_keys_secret_hash_length check (octet_length(secret_hash) = 32),
  created_by uuid not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz constraint api_keys_expires_after_creation check (expires_at > created_at),
  last_used_at timestamptz,
  revoked_at timestamptz,
  primary key (tenant_id, id),
  constraint api_keys_secret_hash_key unique (tenant_id, secret_hash),
  constraint api_keys_user foreign key (tenant_id, user_id) references app.users (tenant_id, id),
  constraint api_keys_maker foreign key (tenant_id, created_by) references app.users (tenant_id, id)
);

create unique index api_keys_by_user on app.api_keys (tenant_id, user_id);
create index api_keys_by_maker on app.api_keys (tenant_id, created_by);
create index api_keys_newest_first on app.api_keys (tenant_id, created_at desc, id) where revoked_at is null;

select app.isolate('app.api_keys');

comment on table app.api_keys is 'Keys with which programs call the API. Each acts as a user of its own, whose row has the key''s role.';
comment on column app.api_keys.user_id is 'The user that the key is: auth_provider key, auth_subject the id of the key.';
comment on column app.api_keys.secret_hash is 'SHA-256 of the secret, which is 32 random bytes: nobody guesses it from the hash.';
comment on column app.api_keys.created_by is 'The member who made the key. The key goes on after this member has left.';
comment on column app.api_keys.expires_at is 'When the key stops working; null: never.';
comment on column app.api_keys.last_used_at is 'When the key was last used. Written at most once a minute.';
comment on column app.api_keys.revoked_at is 'When the key was revoked. The row stays, as that of its user does.';
comment on index app.api_keys_newest_first is 'Serves the list of keys.';

-- tables/deployment.sql

create table control.deployment (
  singleton boolean primary key default true check (singleton),
  default_tenant_made_at timestamptz default now(),
  multi_tenant boolean
);
revoke all on table control.deployment from public;
grant select, insert, update on table control.deployment to tms_registrar;
alter table control.deployment enable row level security;
create policy registrar on control.deployment for all to tms_registrar using (true) with check (true);

comment on table control.deployment is
  'One row: what holds for the whole deployment.';
comment on column control.deployment.default_tenant_made_at is
  'When the service made the default tenant. It does so only once, so a deliberate deletion stays a deletion.';
comment on column control.deployment.multi_tenant is
  'SERVICE_MULTI_TENANT_MODE, from tenancy migrate or the last start of the service. True: a null slug enters no tenant. Null: nobody said.';

-- tables/tenant_context.sql

create table control.tenant_context (
  singleton boolean primary key default true check (singleton),
  inner_key bytea not null,
  outer_key bytea not null,
  previous_inner_key bytea,
  previous_outer_key bytea,
  setting_inner_key bytea not null,
  setting_outer_key bytea not null,
  stored_at timestamptz not null default now(),
  constraint tenant_context_lengths check (
    64 = all (array[octet_length(inner_key), octet_length(outer_key), octet_length(setting_inner_key), octet_length(setting_outer_key)])),
  constraint tenant_context_previous check (
    64 = all (array[coalesce(octet_length(previous_inner_key), 64), coalesce(octet_length(previous_outer_key), 64)])
    and (previous_inner_key is null) = (previous_outer_key is null))
);
revoke all on table control.tenant_context from public;
alter table control.tenant_context enable row level security;

comment on table control.tenant_context is
$$One row once SERVICE_TENANT_CONTEXT_SECRET is stored: then the tenant context must be proved. Keys of HMAC-SHA256, each exclusive-ored
with the inner and the outer pad; the key of the proofs is the SHA-256 of the secret. No role but tms_owner reads them.$$;
comment on column control.tenant_context.inner_key is 'Of the secret, for the proofs of callers and tenants. outer_key belongs to it.';
comment on column control.tenant_context.previous_inner_key is 'Of the secret before, which is still accepted; null: none.';
comment on column control.tenant_context.setting_inner_key is
  'Made by the database, for the signature in the setting app.tenant_id. setting_outer_key belongs to it.';

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
alter table control.idempotency_keys enable row level security;
create policy registrar on control.idempotency_keys for all to tms_registrar using (true) with check (true);

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
alter table control.rate_limits enable row level security;
create policy registrar on control.rate_limits for all to tms_registrar using (true) with check (true);

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
  suspended bigint not null default 0,
  deleted bigint not null default 0
) with (fillfactor = 50);
revoke all on table control.tenant_counts from public;
grant select, insert, update on table control.tenant_counts to tms_registrar;
alter table control.tenant_counts enable row level security;
create policy registrar on control.tenant_counts for all to tms_registrar using (true) with check (true);

comment on table control.tenant_counts is 'Numbers of tenants by status, spread over rows. Only the sums have a meaning.';
comment on column control.tenant_counts.shard is 'The process id of the backend modulo 64; has no meaning.';

-- tables/tenant_events.sql

-- No foreign key: an event outlives its tenant.
create table control.tenant_events (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  event text not null constraint tenant_events_known check (event in (
    'tenant.created', 'tenant.registered', 'tenant.imported', 'tenant.replaced', 'tenant.approved', 'tenant.rejected',
    'tenant.suspended', 'tenant.resumed', 'tenant.updated', 'tenant.deletion_scheduled', 'tenant.restored', 'tenant.deleted',
    'member.added', 'member.joined', 'member.role_changed', 'member.removed', 'member.left',
    'invitation.created', 'invitation.accepted', 'invitation.revoked', 'key.created', 'key.revoked',
    -- As the trigger of release 1 wrote them, until the next release was installed.
    'created', 'registered', 'imported', 'approved', 'rejected', 'suspended', 'resumed', 'updated', 'deleted')),
  tenant_id uuid not null,
  slug text collate "C" not null,
  name text not null,
  changed text[],
  actor_provider text collate "C",
  actor_subject text collate "C",
  login name not null default session_user,
  epoch int not null default 1,
  xid xid8 not null default pg_current_xact_id(),
  origin text collate "C" not null default (pg_control_system()).system_identifier || '/'
    || greatest((pg_control_checkpoint()).timeline_id, (pg_control_recovery()).min_recovery_end_timeline),
  n bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint,
  target_id uuid,
  reason text constraint tenant_events_reason_length check (char_length(reason) between 1 and 500),
  request_id text constraint tenant_events_request_id_length check (char_length(request_id) between 1 and 64),
  by_operator boolean not null default false,
  role text constraint tenant_events_role_known check (role in ('owner', 'admin', 'member')),
  role_before text constraint tenant_events_role_before_known check (role_before in ('owner', 'admin', 'member'))
);
create index tenant_events_by_slug on control.tenant_events (slug, id);
create unique index tenant_events_in_order on control.tenant_events (epoch, xid, n);
create index tenant_events_by_tenant on control.tenant_events (tenant_id, epoch, xid, n);
revoke all on table control.tenant_events from public;
grant select, insert on table control.tenant_events to tms_registrar;
alter table control.tenant_events enable row level security;
create policy registrar on control.tenant_events for all to tms_registrar using (true) with check (true);

comment on table control.tenant_events is
$$What happened to tenants, their members, invitations and keys, and who did it, in the order of (epoch, xid, n). Kept after the tenant is
gone. No tenant data but ids, slug and name.$$;
comment on column control.tenant_events.changed is 'The changed fields of an update.';
comment on column control.tenant_events.actor_subject is 'The caller over HTTP; null for a change in SQL, which login names.';
comment on column control.tenant_events.login is 'The database login that made the change.';
comment on column control.tenant_events.epoch is
  'Raised by control.event_place() when the server is another one than the last event''s: its transaction ids begin elsewhere.';
comment on column control.tenant_events.xid is 'The transaction. Events of smaller ids than those still open are complete.';
comment on column control.tenant_events.origin is 'The server and its timeline: see control.event_origin().';
comment on column control.tenant_events.n is
  'The place in its transaction. Not the id, which would tell readers of one tenant how many events the others have.';
comment on column control.tenant_events.target_id is 'The user, invitation or key that the event is about.';
comment on column control.tenant_events.reason is 'Why, in the words of the actor.';
comment on column control.tenant_events.by_operator is 'Whether the actor acted as an operator, whom the tenant''s own people do not see.';
comment on column control.tenant_events.role is 'The role that the member, invitation or key has from then on.';
comment on column control.tenant_events.role_before is 'The role that the member had until then, where it changed or ended.';
comment on column control.tenant_events.request_id is 'The X-Request-Id of the request.';

-- tables/release.sql

create table control.release (
  installed_at timestamptz primary key default clock_timestamp(),
  number int not null constraint release_number_positive check (number > 0),
  hash text not null,
  installed_by name not null default session_user
);
revoke all on table control.release from public;
alter table control.release enable row level security;

comment on table control.release is
  'The releases whose functions, views, triggers and checks were installed. The last row is the release that is in force.';
comment on column control.release.number is 'The number in db/release.json. The installer refuses a build with a smaller one.';
comment on column control.release.hash is 'SHA-256 over the installed files. The installer has nothing to do for the same hash.';

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
  failed boolean not null default false,
  primary key (run_id, check_name, relation)
);
revoke all on table audit.results from public;
grant select on table audit.results to tms_auditor;

comment on table audit.results is
  'What each check of a run examined and found, by relation. relation is empty for a check that is not about one relation.';
comment on column audit.results.checked is 'Rows of the relation, or objects of the catalog.';
comment on column audit.results.failed is 'Whether the check could not run; one of the errors is that.';

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
