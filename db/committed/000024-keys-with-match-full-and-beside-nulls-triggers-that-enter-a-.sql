--! Previous: sha1:d57b3ebc68c17205587d2cf525fe2608ac088f44
--! Hash: sha1:402c778b03b9acf3ecaf868e288125e9e783c9c2
--! Message: keys with MATCH FULL and beside nulls, triggers that enter a tenant which a row names, sessions that begin read only

set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! Included context/unprotected_tables.sql
create or replace function app.unprotected_tables()
returns table (name regclass, fault text)
language sql
stable
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
set standard_conforming_strings = on
as $$
  with tenant_table as (
    select c.oid, c.relrowsecurity and (c.relforcerowsecurity or app.is_distributed()) as forced,
           (select polname from pg_policy p
            where p.polrelid = c.oid and p.polpermissive = app.is_distributed() and p.polcmd = '*'
              and (to_regrole('tms_app') = any (p.polroles) or p.polroles = '{0}')
              and pg_get_expr(p.polqual, p.polrelid) ~ '^\((tenant_id|id) = (app\.tenant_id\(\)|\( SELECT app\.tenant_id\(\) AS \w+\))\)$'
              and pg_get_expr(p.polwithcheck, p.polrelid) = pg_get_expr(p.polqual, p.polrelid)
            limit 1) as tenant_policy
    from app.tenant_tables() t join pg_class c on c.oid = t.relid
  )
  select oid::regclass, 'row-level security is not enabled and forced' from tenant_table where not forced
  union all
  select oid::regclass, 'the policy that keeps its rows to one tenant is missing' from tenant_table where tenant_policy is null
$$;
comment on function app.unprotected_tables() is
  'The tenants'' tables that the catalog shows without forced row-level security or without the restrictive policy on the tenant.';
revoke all on function app.unprotected_tables() from public;
grant execute on function app.unprotected_tables() to tms_registrar, tms_auditor;
--! EndIncluded context/unprotected_tables.sql
--! Included context/isolation_breaches.sql
set local role tms_registrar;
create or replace function app.isolation_breaches()
returns table (object text, fault text, remedy text)
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select 'the service''s login', f, 'give the service the login that db/roles.sql makes for it' from api.get_login_faults() f
  union all
  select u.name::text, u.fault, 'npm run audit says how to fix it' from app.unprotected_tables() u
  union all
  select distinct l::text, 'rows are visible outside their tenant', 'npm run audit says how to fix it' from control.leaking_tables() l
  union all
  select format('the role %s', rolname), 'it can bypass row-level security', 'run db/roles.sql again'
  from pg_roles
  where rolname in ('tms_service', 'tms_app', 'tms_registrar', 'tms_owner', 'tms_auditor') and (rolsuper or rolbypassrls)
$$;
comment on function app.isolation_breaches() is
$$What lets rows out of their tenant now: faults of the login that asks, of tables, of roles, and what tms_app sees where it may see
nothing. The gate of GET /ready, and advice of GET /api/setup/status. No row when all is well.$$;
revoke all on function app.isolation_breaches() from public;
reset role;
--! EndIncluded context/isolation_breaches.sql
--! Included context/table_faults.sql
-- Foreign key checks and unique indexes look past row-level security, so the keys themselves must carry the tenant.
-- `inherited` is what the parent of a partition or child has as well: there it is mended.
create or replace function app.table_faults(p_table regclass)
returns table (fault text, inherited boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with tenant_column as (
    select attnum, atttypid, attnotnull from pg_attribute
    where attrelid = p_table and attname = 'tenant_id' and not attisdropped
  ), parent as (
    -- One without the column is no tenants' table: nothing looks at it in the child's place.
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
  select 'it has no primary key', exists (select from parent) where not exists (select from pg_index where indrelid = p_table and indisprimary)
  union all
  select format('the unique index %s does not begin with tenant_id, so one tenant could learn another''s values', indexrelid::regclass),
    exists (select from pg_inherits where inhrelid = indexrelid)
  from pg_index
  where indrelid = p_table and (indisunique or indisexclusion) and indkey[0] is distinct from (select attnum from tenant_column)
  union all
  -- `with <>` shuts out just the rows of all other tenants.
  select format('the constraint %I does not compare tenant_id with =, so one tenant could learn another''s values', conname), conparentid <> 0
  from pg_constraint
  where conrelid = p_table and conkey[1] = (select attnum from tenant_column) and conexclop[1] <> '=(uuid,uuid)'::regoperator
  union all
  select format('the foreign key %I does not pair tenant_id with tenant_id, so a row could point into another tenant', conname), conparentid <> 0
  from pg_constraint c
  where conrelid = p_table and contype = 'f' and confrelid <> 'app.tenants'::regclass
    and exists (select from pg_attribute where attrelid = confrelid and attname = 'tenant_id' and not attisdropped)
    and not exists (
      select from unnest(conkey, confkey) as pair (child, parent)
      join pg_attribute a on a.attrelid = confrelid and a.attnum = pair.parent and a.attname = 'tenant_id'
      where pair.child = (select attnum from tenant_column))
  union all
  -- What a key does to a row it does as the table's owner, past every policy. Only ON DELETE can be told to which columns.
  select format('the foreign key %I would set tenant_id to %s', conname, case when 'n' in (confdeltype, confupdtype) then 'null' else 'its default, which is another tenant' end),
    conparentid <> 0
  from pg_constraint
  where conrelid = p_table and contype = 'f' and (select attnum from tenant_column) = any (conkey)
    and (confupdtype in ('n', 'd')
      or confdeltype in ('n', 'd') and (confdelsetcols is null or (select attnum from tenant_column) = any (confdelsetcols)))
  union all
  -- Another tenant's id is nobody's guess; its slug is.
  select format(case when confkey <> array[t.id] then 'the foreign key %I refers to tenants by more than their id, so one tenant could learn of others'
                     else 'the foreign key %I names another tenant without ON DELETE CASCADE or SET NULL, so one tenant could keep another from being deleted' end, conname),
    conparentid <> 0
  from pg_constraint
  cross join (select attnum from pg_attribute where attrelid = 'app.tenants'::regclass and attname = 'id') as t (id)
  where conrelid = p_table and contype = 'f' and confrelid = 'app.tenants'::regclass
    and (confkey <> array[t.id] or conkey <> array[(select attnum from tenant_column)] and confdeltype not in ('c', 'n'))
$$;

comment on function app.table_faults(regclass) is
  'What keeps a table from being isolated, one sentence a fault, and whether its parent has that fault too; no row when nothing does.';
revoke all on function app.table_faults(regclass) from public;
grant execute on function app.table_faults(regclass) to tms_auditor;
--! EndIncluded context/table_faults.sql
--! Included context/write_policies.sql
-- The policy text stands here and nowhere else. RESTRICTIVE carries the tenant, a permissive `true` beside it lets
-- rows through at all: a policy that somebody adds later can then only narrow. The scalar subquery makes the tenant an
-- InitPlan: read once per statement, free on scans, and it cannot change inside one statement.
-- On Citus three things differ: subqueries are refused, so the bare call stands; RESTRICTIVE is lost on the way to the
-- shards, where the `true` would open everything, so the tenant's policy is the only one; FORCE is off (db/distribute.sql, 4).
create or replace function app.write_policies(p_table regclass, p_column name)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set client_min_messages = warning -- else each table says four times that there was no policy to drop
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
  'Enables and forces row-level security on a table and writes its four policies; p_column holds the tenant. Safe to run again.';
revoke all on function app.write_policies(regclass, name) from public;
--! EndIncluded context/write_policies.sql
--! Included context/isolate.sql
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
        then format('before it, in the same transaction: select remedy from audit.run_check(''table_rules'') where relation = %L;', p_table)
        else format('where all rows are the default tenant''s: select app.isolate(%L, true); else add and fill tenant_id first', p_table) end;
  end if;

  -- Partitions have their table's keys, children by INHERITS have not.
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
  -- All first: TRUNCATE, REFERENCES and TRIGGER are not under row-level security.
  execute format('revoke all on table %s from public, tms_app, tms_service', p_table);
  execute format('grant select, insert, update, delete on table %s to tms_app', p_table);
  execute format('grant select on table %s to tms_auditor', p_table);

  if app.is_distributed() then
    execute format('select app.distribute(%L)', p_table);
  end if;

  -- A partition that is queried by its own name does not look at its parent's policies.
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
$$Makes a table one of tenants: checks its keys, enables and forces row-level security, writes policies and grants, and
adds the foreign key to app.tenants. Safe to run again. With p_adopt a missing tenant_id is added and filled
with the default tenant, as of a single-tenant past, and put in front of the primary key; one that is there is only put there.
Raises 55000 with the rules that the table breaks (app.table_faults lists them).
  select app.isolate('app.invoices');$$;
revoke all on function app.isolate(regclass, boolean) from public;
--! EndIncluded context/isolate.sql
--! Included context/create_sample_data.sql
-- The tenant must be the transaction's: the caller sets it first, and row-level security holds the rows to it. It is an
-- argument too, because on a distributed database that is what sends the call (when it stands in FROM) to the tenant's
-- worker; and there no statement may be fed by another one's rows.
drop function if exists app.create_sample_data(uuid);
set local role tms_app;
create or replace function app.create_sample_data(p_tenant_id uuid, p_user_id uuid)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_board_id constant uuid := gen_random_uuid();
  v_image_id constant uuid := gen_random_uuid();
  v_text_id constant uuid := gen_random_uuid();
  v_audio_id constant uuid := gen_random_uuid();
begin
  insert into app.boards (tenant_id, id, owner_id, title, description)
  values (p_tenant_id, v_board_id, p_user_id, 'Welcome board', 'Sample content; delete it when you are done looking.');

  insert into app.generations (tenant_id, id, board_id, user_id, artifact_type, status, input, completed_at)
  values
    (p_tenant_id, v_image_id, v_board_id, p_user_id, 'image', 'completed', '{"prompt": "A lighthouse at dusk"}', clock_timestamp()),
    (p_tenant_id, v_text_id, v_board_id, p_user_id, 'text', 'completed', '{"prompt": "Three names for a lighthouse"}', clock_timestamp()),
    (p_tenant_id, v_audio_id, v_board_id, p_user_id, 'audio', 'completed', '{"prompt": "Waves under a lighthouse"}', clock_timestamp());

  insert into app.media (tenant_id, generation_id, storage_url, content_type, size_bytes)
  values
    (p_tenant_id, v_image_id, format('sample://%s/image', p_tenant_id), 'image/png', 1024),
    (p_tenant_id, v_text_id, format('sample://%s/text', p_tenant_id), 'text/plain', 1024),
    (p_tenant_id, v_audio_id, format('sample://%s/audio', p_tenant_id), 'audio/ogg', 1024);

  insert into app.credit_transactions (tenant_id, user_id, generation_id, type, amount, balance_after, description, created_at)
  values
    (p_tenant_id, p_user_id, null, 'grant', 100, 100, 'Welcome credits', now()),
    (p_tenant_id, p_user_id, v_image_id, 'usage', -10, 90, 'Sample generation', now() + interval '1 microsecond');

  insert into app.provider_configs (tenant_id, provider_name, config, is_enabled)
  values (p_tenant_id, 'sample-provider', '{"endpoint": "https://provider.example"}', false);
end
$$;
comment on function app.create_sample_data(uuid, uuid) is
  'One board with three generations and their media, a credit grant and its use, one disabled provider configuration, owned by a user of the transaction''s tenant.';
revoke all on function app.create_sample_data(uuid, uuid) from public;
grant execute on function app.create_sample_data(uuid, uuid) to tms_registrar;
reset role;
--! EndIncluded context/create_sample_data.sql
--! Included context/shown_rows.sql
-- Counted as tms_app, so that row-level security itself gives the numbers, and counted to a limit: a tenant may be large.
-- By an index: a scan of the table would look at the rows of all others to find none of a tenant that has none.
set local role tms_app;
create or replace function app.shown_rows(p_tenant_id uuid, p_limit int)
returns table (name regclass, rows bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_before constant uuid := app.tenant_id();
begin
  perform app.set_tenant(p_tenant_id);
  for name in
    select t.relid from app.tenant_tables() t join pg_class c on c.oid = t.relid
    -- Whoever owns a table chooses what reading it calls.
    where c.relowner = 'tms_owner'::regrole and not t.is_partition and t.relid <> 'app.tenants'::regclass
    order by c.relnamespace <> 'app'::regnamespace, c.relname
  loop
    if has_table_privilege(name, 'select') and has_schema_privilege((select relnamespace from pg_class where oid = name), 'usage') then
      execute format('select count(*) from (select 1 from %s limit %s) t', name, p_limit) into rows;
    else
      rows := null;
    end if;
    return next;
  end loop;
  perform app.set_tenant(v_before);
end
$$;
comment on function app.shown_rows(uuid, int) is
  'What each tenant table shows inside a tenant, counted up to p_limit; null where tms_app may not look. A null tenant sees nothing.';
revoke all on function app.shown_rows(uuid, int) from public, tms_registrar;
grant execute on function app.shown_rows(uuid, int) to tms_auditor;
reset role;
--! EndIncluded context/shown_rows.sql
--! Included api/service/get_readiness.sql
set local role tms_registrar;
create or replace function api.get_readiness(p_schema_version text)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- A standby may lag, and let in who is no longer a member; and whoever still asks it after a failover is at the wrong address.
  if current_setting('transaction_read_only')::boolean then
    raise exception using errcode = 'read_only_sql_transaction', message =
      'it takes no writes: ' || case when pg_is_in_recovery() then 'it is a standby' else 'default_transaction_read_only is on' end;
  end if;
  return json_build_object(
    'migrations', array(
      select format('the schema is at %s, this release needs %s', coalesce(app.schema_version(), 'nothing committed'), p_schema_version)
      where app.is_behind(p_schema_version)),
    'isolation', array(select format('%s: %s', b.object, b.fault) from app.isolation_breaches() b),
    'audit', app.last_audit(),
    'tenants', json_build_object('pending', app.count_tenants('pending'), 'active', app.count_tenants('active'),
      'suspended', app.count_tenants('suspended')));
end
$$;
comment on function api.get_readiness(text) is
$$What GET /ready and GET /metrics say of the database: {migrations, isolation} are sentences, one a fault, none when all is
well; tenants are the numbers by status, audit is the last one. p_schema_version is the migration this release was built with. Raises 25006 on a standby, and where sessions begin read only.$$;
revoke all on function api.get_readiness(text) from public;
grant execute on function api.get_readiness(text) to tms_service;
reset role;
--! EndIncluded api/service/get_readiness.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! Included audit/schema.sql
-- The isolation audit. Everything here is tms_owner's. What must run as somebody else is in control, where no member of a
-- role can name what the role owns: what reads the tenants' rows is tms_auditor's, what acts inside a tenant tms_app's. Both
-- need the right to create while their functions are made; audit/end.sql takes it back.
create schema if not exists audit;
comment on schema audit is 'The tenant-isolation audit: call audit.run(), then read audit.findings';
revoke all on schema audit from public;
grant usage on schema audit to tms_auditor, tms_registrar;
grant create, usage on schema control to tms_app, tms_auditor;

-- What a check says of one object it looked at. detail is null where the object is in order, so that examined and found
-- are counted from the same rows.
do $$
begin
  if to_regtype('audit.observation') is null then
    create type audit.observation as (severity text, tenant_id uuid, relation text, "row" jsonb, detail text, remedy text);
    -- One check on one relation: rows examined, findings by severity, and the thousand worst findings themselves.
    create type audit.outcome as (
      "check" text, relation text, checked bigint, errors bigint, warnings bigint, infos bigint, kept audit.observation[]);
  end if;
end
$$;

create table if not exists audit.runs (
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
comment on table audit.runs is 'One row a run of the audit. finished_at is null while it goes on, and for ever when it was cancelled.';
comment on column audit.runs.tenant is 'The slug of the one tenant whose rows were examined; null: all.';
comment on column audit.runs.pending is 'The passes that are still to come: only these are recorded, and only a run without any is finished.';
comment on column audit.runs.started_in is 'The transaction that opened the run. Its passes are recorded in later ones: its own may look at a database of long ago.';
comment on column audit.runs.family is 'data, schema, or null for both.';
comment on column audit.runs.sample is 'In how many tenants the proof acted; null: in all.';
comment on column audit.runs.schema_version is 'The last applied migration, as its file name.';
comment on column audit.runs.rows_checked is 'Rows, and objects of the catalog, that the checks looked at: one that three checks look at counts three times.';
comment on column audit.runs.not_run is 'Checks that could not run, each an error too: with one of them the run proves nothing.';

create table if not exists audit.results (
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
comment on table audit.results is 'What each check of a run looked at and found, by relation; relation is empty where a check is about something else.';
comment on column audit.results.checked is 'Rows of the relation, or objects of the catalog.';
comment on column audit.results.failed is 'Whether the check could not run: one of the errors is that.';
comment on column audit.results.elapsed is 'Of the pass over the relation; several checks share one pass.';

create table if not exists audit.found (
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
comment on table audit.found is 'The thousand worst findings of each check, kept for the last hundred runs and while any of their run is open. Key columns only, no payload.';

comment on column audit.found.tenant_id is 'Whose row it is; null where the finding is about the catalog.';
comment on column audit.found."row" is 'The columns of the row''s key, or what names the object; {} where the relation says it all.';

-- What a release does not bring and the owner of the database vouches for. It outlives releases, as audit.manifest() does not.
create table if not exists audit.accepted (
  kind text not null,
  name text not null,
  owner text not null,
  granted text not null,
  body text not null,
  accepted_at timestamptz not null default now(),
  accepted_by name not null default session_user,
  primary key (kind, name)
);
comment on table audit.accepted is 'Functions and triggers of one''s own, event triggers, and functions outside the service''s schemas, as audit.accept() found them: the audit reports what differs from then on.';

revoke all on table audit.runs, audit.results, audit.found, audit.accepted from public;
grant select on table audit.runs, audit.results, audit.found, audit.accepted to tms_auditor;
--! EndIncluded audit/schema.sql
--! Included audit/functions.sql
create or replace function audit.our_roles()
returns text[]
language sql
immutable
return array['tms_owner', 'tms_service', 'tms_app', 'tms_registrar', 'tms_auditor'];
comment on function audit.our_roles() is 'The five roles of the service.';

create or replace function audit.role_name(p_role oid)
returns text
language sql
stable
return case when p_role = 0 then 'public' else p_role::regrole::text end;
comment on function audit.role_name(oid) is 'A role as a statement writes it; public for 0, which stands for everybody where Postgres keeps rights.';

create or replace function audit.of_extensions(p_catalog regclass)
returns setof oid
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select objid from pg_depend where classid = p_catalog and (deptype = 'e' or classid = 'pg_proc'::regclass and deptype = 'i')
$$;
comment on function audit.of_extensions(regclass) is
  'What extensions brought of one kind, by its catalog: pg_proc, pg_class, pg_type …; and the functions that a range type brought, which are Postgres''s own.';

-- A migration, where most remedies are pasted, runs as tms_owner, who may become these roles and has no rights of theirs before.
create or replace function audit.by_owner(p_owner name, p_statement text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when p_owner in ('tms_app', 'tms_registrar', 'tms_auditor') then format(
    -- What they own there they may not name.
    case when p_owner <> 'tms_registrar' and p_statement like '% control.%'
      then 'grant usage on schema control to %1$I; set role %1$I; %2$s reset role; revoke usage on schema control from %1$I;'
      else 'set role %1$I; %2$s reset role;' end, p_owner, p_statement) else p_statement end
$$;
comment on function audit.by_owner(name, text) is 'A remedy that only the owner of an object may execute, as tms_owner can paste it.';

create or replace function audit.template_rights()
returns table (role text, rights text, kind text, object text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  select t.role, t.rights, t.kind, o
  from (values
    ('tms_service', 'usage', 'schema', '{api}'),
    ('tms_app', 'usage', 'schema', '{api, app}'),
    ('tms_app', 'select', 'table', '{app.tenants}'),
    ('tms_registrar', 'usage', 'schema', '{api, app, audit, control}'),
    ('tms_registrar', 'select, insert, update, delete', 'table', '{app.tenants, app.users, control.idempotency_keys, control.rate_limits}'),
    ('tms_registrar', 'select, insert, update', 'table', '{control.tenant_counts}'),
    ('tms_registrar', 'select, insert', 'table', '{control.deployment}'),
    ('tms_auditor', 'usage', 'schema', '{api, app, audit}'),
    ('tms_auditor', 'select', 'table', '{app.tenants, audit.accepted, audit.found, audit.results, audit.runs}'),
    ('tms_auditor', 'select', 'view', '{audit.findings, audit.last_checks, audit.last_run, audit.trend}')
  ) as t (role, rights, kind, objects) cross join lateral unnest(t.objects::text[]) o
$$;
comment on function audit.template_rights() is
  'The rights of the service''s roles on its schemas, tables and views, as migrations give them; but for those that app.isolate() gives on tenants'' tables.';

-- Who is given a thing keeps no right on it but an owner's, which goes along to the next owner.
create or replace function audit.by_giving_back(p_object text, p_owner name)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select format('alter %s owner to tms_owner;', p_object) || coalesce(
    (select format(' grant %s on %s to %I;', t.rights, regexp_replace(p_object, '^view ', 'table '), p_owner)
     from audit.template_rights() t where t.role = p_owner and p_object = t.kind || ' ' || t.object),
    (select format(' select app.isolate(%L);', r.relid) from audit.relations() r
     where p_owner in ('tms_app', 'tms_auditor') and 'table ' || r.relid = p_object and r.tenant_column = 'tenant_id' and not r.is_child), '')
$$;
comment on function audit.by_giving_back(text, name) is 'A remedy that makes tms_owner the owner, and gives the one that it was the rights of the template again.';

create or replace function audit.by_acceptance(p_function text, p_owner name, p_change text)
returns text
language sql
immutable
return format('select audit.accept(%1$L); -- once you have read it; or, as %3$I: alter routine %1$s %2$s;', p_function, p_change, p_owner);
comment on function audit.by_acceptance(text, name, text) is 'The remedy for a function that the service''s roles have no way to: it may be a provider''s, and is to be read and vouched for.';

-- md5() does not run on a server in FIPS mode.
create or replace function audit.short_hash(p_text text)
returns text
language sql
immutable
return left(encode(sha256(convert_to(p_text, 'UTF8')), 'hex'), 32);
comment on function audit.short_hash(text) is 'The first 128 bits of its SHA-256, in hexadecimal.';

create or replace function audit.definition_hash(p_function oid)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- Lines are kept where they are: a comment ends with its own.
  select audit.short_hash(concat_ws('|', l.lanname, f.prokind, f.provolatile, f.proisstrict, f.prosecdef, f.proparallel, pg_get_function_arguments(f.oid), pg_get_function_result(f.oid),
    (select string_agg(replace(c, '"', ''), ', ' order by c) from unnest(f.proconfig) c),
    coalesce(regexp_replace(pg_get_function_sqlbody(f.oid), '\s+', ' ', 'g'), replace(f.prosrc, E'\r\n', E'\n')), f.probin))
  from pg_proc f join pg_language l on l.oid = f.prolang where f.oid = p_function
$$;
comment on function audit.definition_hash(oid) is 'What a function does, as a hash: language, kind, volatility, strictness, whose rights, parallel safety, arguments, result, settings, body, library.';

-- What has its number, as a view or a standard body has it, asks for no right on the schema. All at once: asked of one object at a time it took as
-- long as all other checks of a catalog of thousands of functions.
create or replace function audit.bound(p_catalog regclass)
returns setof oid
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive opened as materialized (
    select n.oid from pg_namespace n
    where exists (select from unnest(array_remove(audit.our_roles(), 'tms_owner')) r where has_schema_privilege(r, n.oid, 'usage'))
  ), reached (classid, objid, used) as (
    select 'pg_class'::regclass::oid, ev_class, false from pg_rewrite join pg_class c on c.oid = ev_class where c.relnamespace in (select oid from opened)
    union
    -- Of an aggregate audit.functions() asks who may execute it.
    select 'pg_proc'::regclass, oid, false from pg_proc where oid >= 16384 and prokind <> 'a' and pronamespace in (select oid from opened)
    union
    select refclassid, refobjid, true from pg_depend
    where refclassid = 'pg_proc'::regclass and refobjid >= 16384 and classid in (
      'pg_operator'::regclass, 'pg_cast'::regclass, 'pg_attrdef'::regclass, 'pg_constraint'::regclass, 'pg_policy'::regclass, 'pg_class'::regclass, 'pg_type'::regclass)
    union
    select d.refclassid, d.refobjid, true
    from reached r
    left join pg_rewrite w on r.classid = 'pg_class'::regclass and w.ev_class = r.objid
    join pg_depend d on d.classid = case when w.oid is null then r.classid else 'pg_rewrite'::regclass end and d.objid = coalesce(w.oid, r.objid)
      and d.refclassid in ('pg_class'::regclass, 'pg_proc'::regclass) and d.refobjid >= 16384 and d.refobjid <> r.objid
    where w.oid is not null or r.classid = 'pg_proc'::regclass
  )
  select distinct objid from reached where used and classid = p_catalog
$$;
comment on function audit.bound(regclass) is
  'The relations, or functions, that a view, a rule or the body of a function uses where another of the five roles than tms_owner gets to, and functions that an operator, a cast, a type or a table uses: nobody needs a right on their schemas.';

-- Extensions' functions are theirs, and those below 16384 Postgres's; everything else in the database is examined.
create or replace function audit.functions()
returns table (oid oid, name text, schema name, owner name, definer boolean, config text[], body text, leakproof boolean, acl aclitem[], granted text, kind "char", own boolean,
  reached boolean, vouched boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive ours as materialized (
    select oid from pg_roles where rolname = any (audit.our_roles())
  ), above (tgfoid, relid, written) as (
    select t.tgfoid, t.tgrelid, exists (
      select from ours r
      where has_table_privilege(r.oid, t.tgrelid, 'delete, truncate') or has_any_column_privilege(r.oid, t.tgrelid, 'insert, update'))
    from pg_trigger t where not t.tgisinternal
    union
    -- What is done to a table is done to its partitions and children, and by a key's action to what refers to it.
    select a.tgfoid, x.relid, exists (
      select from ours r where has_table_privilege(r.oid, x.relid, 'delete') or has_any_column_privilege(r.oid, x.relid, 'insert, update'))
    from above a
    cross join lateral (
      select inhparent from pg_inherits where inhrelid = a.relid
      union all
      select confrelid from pg_constraint where conrelid = a.relid and contype = 'f' and (confdeltype in ('c', 'n', 'd') or confupdtype in ('c', 'n', 'd'))) x (relid)
    where not a.written
  ), fired as materialized (
    -- Neither a trigger nor an aggregate asks who may execute the function that it calls, nor do a range type, an index and an exclusion.
    select tgfoid from above where written
    union all
    select f from pg_range cross join lateral unnest(array[rngcanonical, rngsubdiff]) f
    union all
    select amproc from pg_amproc
    union all
    select o.oprcode from pg_constraint k cross join lateral unnest(k.conexclop) x (op) join pg_operator o on o.oid = x.op where k.contype = 'x'
    union all
    select d.refobjid from pg_depend d join pg_proc a on a.oid = d.objid and a.prokind = 'a'
    where d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_proc'::regclass and d.refobjid >= 16384
      and exists (select from ours r where has_schema_privilege(r.oid, a.pronamespace, 'usage') and has_function_privilege(r.oid, a.oid, 'execute'))
  )
  select f.oid, w.name, n.nspname, o.rolname, f.prosecdef, f.proconfig, coalesce(pg_get_function_sqlbody(f.oid), f.prosrc), f.proleakproof,
    w.acl, w.granted, f.prokind, w.own, r.reached,
    not r.reached and exists (
      select from audit.accepted a
      where a.kind = 'function' and a.name = w.name and a.owner = o.rolname and a.granted = w.granted and a.body = audit.definition_hash(f.oid))
  from pg_proc f
  join pg_namespace n on n.oid = f.pronamespace
  join pg_roles o on o.oid = f.proowner
  cross join lateral (
    select f.oid::regprocedure::text as name, coalesce(f.proacl, acldefault('f', f.proowner)) as acl,
      coalesce((select string_agg(g.who, ' ' order by g.who)
        from aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a
        cross join lateral (select audit.role_name(a.grantee)) g (who)
        where a.grantee <> f.proowner), '') as granted,
      n.nspname in ('app', 'api', 'control', 'audit') as own) w
  cross join lateral (
    select w.own or f.oid in (select tgfoid from fired)
      or f.prorettype <> 'event_trigger'::regtype and exists ( -- only a superuser has one executed
        select from ours r
        where has_function_privilege(r.oid, f.oid, 'execute') and (has_schema_privilege(r.oid, n.oid, 'usage') or f.oid in (select audit.bound('pg_proc')))) as reached) r
  where f.oid >= 16384 and n.nspname not like 'pg\_temp\_%'
    -- One that somebody packed into an extension still has its owner; what Postgres ships belongs to a superuser.
    and (f.oid not in (select audit.of_extensions('pg_proc')) or o.rolname = any (audit.our_roles()))
$$;
comment on function audit.functions() is
$$The functions that the audit examines: all but those of Postgres and of extensions, of these only what belongs to one of the five roles. granted: who may execute it beside its owner. own: in one of
the service's schemas. reached: own, or one of the five roles may execute it or has it executed by a trigger, an aggregate, a range type, an index or an exclusion. vouched: not
reached, and as audit.accept() found it.$$;

create or replace function audit.by_moving(p_relation oid)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce((
    select format(' -- or, where that is refused: alter extension %I set schema …, one that the service''s roles may not use', e.extname)
    from pg_depend d join pg_extension e on e.oid = d.refobjid
    where d.classid = 'pg_class'::regclass and d.objid = p_relation and d.objsubid = 0 and d.refclassid = 'pg_extension'::regclass and d.deptype = 'e'), '')
$$;
comment on function audit.by_moving(oid) is 'The second half of a remedy for a table or view of an extension, whose owner may be the provider''s; empty for any other.';
--! EndIncluded audit/functions.sql
--! Included audit/row_tests.sql
-- Of an extension's type = is another operator, or, found by its name, another type's; and of two collations the parent's counts.
create or replace function audit.comparisons(p_key oid)
returns table (child name, parent name, compared_with text, compared text, is_plain boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select c.attname, p.attname, w.value, format('.%I %s %s', p.attname, case when w.is_ours then '=' else format('operator(%I.%s)', n.nspname, o.oprname) end, w.value), w.is_ours
  from pg_constraint k
  cross join unnest(k.conkey, k.confkey, k.conpfeqop) as e (child, parent, operator)
  join pg_attribute c on c.attrelid = k.conrelid and c.attnum = e.child
  join pg_attribute p on p.attrelid = k.confrelid and p.attnum = e.parent
  join pg_operator o on o.oid = e.operator
  join pg_namespace n on n.oid = o.oprnamespace
  cross join lateral (
    select n.nspname = 'pg_catalog' as is_ours, concat(format('c.%I', c.attname), case when c.attcollation <> p.attcollation then ' collate ' || p.attcollation::regcollation end) as value) w
  where k.oid = p_key
$$;
comment on function audit.comparisons(oid) is
  'How a foreign key compares each of its columns, as SQL: `compared` stands behind the name of a row of the parent, and `compared_with` is its right side; c is the row of the child. is_plain: with Postgres''s own =.';

-- What is asked of each row of a table: a predicate over the row `c` and the rows it refers to: `t` is the row's tenant,
-- `r1`, `r2` … the referred rows, null where there is none. `question` asks the same of a slice of the tenants at once, in the
-- cheapest way there is, and of all tests of one reference: it counts, merging two indexes where it can. Only where it counts
-- a suspect is the predicate asked, row by row. Its four numbers: rows of the table (0: it did not count them), suspects, and
-- for the data check that the same reading answers rows and suspects, or null. {slice x} stands for the condition on the row x.
-- Its columns may change between releases, which `create or replace` refuses.
drop function if exists audit.row_tests(regclass);
create or replace function audit.row_tests(p_table regclass)
returns table (check_name text, check_elsewhere text, joins text, predicate text, elsewhere text, detail text, question text, child_column name, parent regclass)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with col as (
    -- What such names mean in somebody's own table nobody knows.
    select attname as name, atttypid as type,
      p_table in (select to_regclass(t.name) from audit.own_tables() t) as is_own
    from pg_attribute where attrelid = p_table and attnum > 0 and not attisdropped
  ), ref as (
    -- Two keys of the same columns are one reference, and MATCH FULL asks more; of two parents of a column the service's own tests mean the expected one.
    select distinct on (r.child_columns, r.parent, r.parent_columns)
      r.*, k.oid as key, e.child_column as expected, case when p_table = to_regclass('app.tenants') then 'id' else 'tenant_id' end as tenant_column,
      'r' || row_number() over (order by r.child_columns, r.constraint_name, r.parent::text) as alias,
      -- With MATCH FULL a key is null as a whole or not at all, and tenant_id is not.
      (select case when k.confmatchtype is distinct from 'f' then string_agg(given, ' and ')
                   when cardinality(k.conkey) > cardinality(r.child_columns) then 'true' else format('(%s)', string_agg(given, ' or ')) end
       from unnest(r.child_columns) x cross join format('c.%I is not null', x) given) as given,
      coalesce(k.confmatchtype = 'f', false) as is_full,
      -- From Postgres 18 on the last column of a key may be a period, which several rows of the parent cover together.
      coalesce((to_jsonb(k) ->> 'conperiod')::boolean, false) as is_temporal
    from audit.tenant_references(p_table) r
    left join pg_constraint k on k.conrelid = p_table and k.conname = r.constraint_name and k.contype = 'f'
    left join audit.expected_references() e on to_regclass(e.child) = r.child and to_regclass(e.parent) = r.parent
      and r.child_columns = array[e.child_column] and r.parent_columns = array['id'::name]
    order by r.child_columns, r.parent, r.parent_columns, is_full desc, r.constraint_name
  ), own as (
    -- The tests of the service's own tables. {column} is the row that a column refers to; the question about `asked_with`, or
    -- about that column, asks this as well. An index finds the rows of an `indexed` one (tables/audited.sql).
    select o.check_name, o.predicate, o.indexed, o.detail, coalesce(o.asked_with, substring(o.predicate from '\{(\w+)}')::name) as asked_with
    from (values
      ('app.board_members', 'removed_member_on_board', '{user_id}.removed_at is not null', false, null::name,
        $q$'the user ' || c.user_id || ' has left the tenant and is still on the board ' || c.board_id$q$),
      ('app.board_members', 'board_owner_as_member', '{board_id}.owner_id = c.user_id', false, null,
        $q$'the user ' || c.user_id || ' owns the board and is also listed as ' || c.role$q$),
      ('app.board_members', 'board_role_unknown', $q$c.role is null or c.role not in ('viewer', 'editor', 'admin')$q$, false, null,
        $q$'the role ' || coalesce(quote_literal(c.role), 'null') || ' is not viewer, editor or admin'$q$),
      ('app.users', 'value_unknown', $q$c.role is null or c.role not in ('owner', 'admin', 'member')$q$, false, null,
        $q$'the role ' || coalesce(quote_literal(c.role), 'null') || ' is not owner, admin or member'$q$),
      ('app.generations', 'value_unknown', $q$c.status is null or c.status not in ('pending', 'processing', 'completed', 'failed', 'cancelled')$q$, false, null,
        $q$'the status ' || coalesce(quote_literal(c.status), 'null') || ' is not one of pending, processing, completed, failed, cancelled'$q$),
      ('app.generations', 'generation_state', $q$case when c.completed_at is null then c.status = 'completed' else c.status in ('pending', 'processing') end$q$,
        true, null, -- it holds just these rows
        $q$'the status is ' || c.status || ' and completed_at is ' || coalesce(c.completed_at::text, 'null')$q$),
      ('app.media', 'storage_of_other_tenant',
        -- The search is a subselect of its own because of Citus, which takes it in no other place of a correlated EXISTS.
        $q$position(c.tenant_id::text in c.storage_url) = 0 and position(c.tenant_id::text in lower(c.storage_url)) = 0
        and position(replace(c.tenant_id::text, '-', '') in lower(c.storage_url)) = 0 and exists (
          select from (select (regexp_matches(lower(c.storage_url), '(?:%2f)?([0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12})', 'g'))[1]::uuid as id) m
          join app.tenants o on o.id = m.id)$q$,
        true, null, -- almost every address holds its own tenant's id; it holds the others
        $q$'the address names the tenant ' || (
          select string_agg(distinct o.id::text, ' and ')
          from (select (regexp_matches(lower(c.storage_url), '(?:%2f)?([0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12})', 'g'))[1]::uuid as id) m
          join app.tenants o on o.id = m.id)$q$),
      ('app.credit_transactions', 'time_in_future', $q$c.created_at > now() + interval '1 hour'$q$, false, 'user_id', $q$'created_at is ' || c.created_at$q$),
      ('app.tenants', 'value_unknown', $q$c.status is null or c.status not in ('pending', 'active', 'suspended')$q$, false, null,
        $q$'the status ' || coalesce(quote_literal(c.status), 'null') || ' is not pending, active or suspended'$q$),
      ('app.tenants', 'tenant_malformed', $q$c.slug is null or c.slug !~ '^[a-z0-9-]{1,255}$' or c.name is null or c.name !~ '\S' or char_length(c.name) > 255$q$, false, null,
        $q$case when c.slug ~ '^[a-z0-9-]{1,255}$' then 'the name is blank or longer than 255 characters'
           else 'nobody can name the slug ' || coalesce(quote_literal(left(c.slug, 300)), 'null') end$q$)
    ) as o (relation, check_name, predicate, indexed, asked_with, detail)
    where to_regclass(o.relation) = p_table
  ), ref_sql as (
    select ref.*,
      case when is_temporal then format('left join lateral (select c.%I as tenant_id from %s) %s on true', ref.tenant_column, covering, alias)
      else format('left join %s %s on %s.tenant_id = c.%I and %s',
        -- Postgres lets a foreign key point at a unique key only. Where that is gone, duplicates must not multiply rows.
        case when audit.is_unique(parent, array['tenant_id'::name] || parent_columns)
          then parent::text
          else format('(select distinct on (tenant_id, %s) * from %s)', parent_names, parent) end,
        alias, alias, ref.tenant_column, matched) end as joins, parent_names, matched, covering, is_plain, child_list
    from ref
    cross join lateral (
      select string_agg(quote_ident(w.parent), ', ' order by w.n) as parent_names, bool_and(coalesce(k.is_plain, true)) as is_plain,
        string_agg(coalesce(k.compared_with, format('c.%I', w.child)), ', ' order by w.n) as child_list,
        string_agg(alias || t.compared, ' and ' order by w.n) as matched,
        format('%1$s p where p.tenant_id = c.%5$I%2$s having range_agg(p.%3$I) @> c.%4$I', ref.parent,
          string_agg(' and p' || t.compared, '' order by w.n) filter (where w.n < cardinality(child_columns)),
          parent_columns[cardinality(parent_columns)], child_columns[cardinality(child_columns)], ref.tenant_column) as covering
      from unnest(parent_columns, child_columns) with ordinality as w (parent, child, n)
      left join audit.comparisons(ref.key) k on k.parent = w.parent and k.child = w.child
      cross join lateral coalesce(k.compared, format('.%I = c.%I', w.parent, w.child)) t (compared)) t
  ), whole as (
    select ref_sql.*, b.question as built_in,
      (select string_agg(replace(o.predicate, '{' || expected || '}', alias), ') or (') from own o where o.asked_with = expected) as also,
      -- Every row has a parent to look for, and finds one at most: then the same reading counts the rows.
      tenant_column = 'tenant_id' and audit.is_never_null(p_table, 'tenant_id') and (select bool_and(audit.is_never_null(p_table, x)) from unnest(child_columns) x)
        and audit.is_unique(ref_sql.parent, array['tenant_id'::name] || parent_columns) and not is_temporal as countable
    from ref_sql
    left join (values
      -- Both ways at once: media without their generation, and completed generations without media. Those with several media
      -- would be counted as often.
      ('app.media', 'generation_id'::name,
        $q$select count(c.tenant_id), count(*) - count(r.id), 0::bigint, count(*) filter (where c.tenant_id is null and r.unfinished is null)
           from (select c.tenant_id, c.generation_id from app.media c where {slice c}) c
           full join (
             select g.tenant_id, g.id, u.id as unfinished
             from app.generations g
             left join app.generations u on u.tenant_id = g.tenant_id and u.id = g.id and u.status <> 'completed' and {slice u}
             where {slice g}) r
           on r.tenant_id = c.tenant_id and r.id = c.generation_id
           union all
           select 0::bigint, 0::bigint, count(*), 0::bigint from app.generations n where {slice n}$q$), -- of other types the workers would not share it
      -- A ledger is told good from bad as two arrays, in the order of the index: half of a window's cost. {also} is asked of its last row.
      -- A balance before that no bigint could hold is null: no row's balance_after equals it.
      ('app.credit_transactions', 'user_id',
        $q$select sum(c.rows), sum(c.rows) filter (where r.id is null or ({also})), sum(c.rows),
             count(*) filter (where c.before[1] is distinct from 0 or c.before[2:] <> c.after[:c.rows - 1])
           from (
             select c.tenant_id, c.user_id, count(*)::int as rows, max(c.created_at) as created_at,
               array_agg(case when case when c.amount < 0 then c.balance_after <= 9223372036854775807 + c.amount
                                        else c.balance_after >= c.amount - 9223372036854775807 end
                              then c.balance_after - c.amount end order by c.created_at, c.id) as before,
               array_agg(c.balance_after order by c.created_at, c.id) as after
             from app.credit_transactions c
             where {slice c}
             group by c.tenant_id, c.user_id) c
           left join app.users r on r.tenant_id = c.tenant_id and r.id = c.user_id and {slice r}$q$)
    ) as b (child, child_column, question) on to_regclass(b.child) = ref_sql.child and b.child_column = expected
  ), questions as (
    select whole.*, case
      when is_temporal then format('select 0, count(*), null::bigint, null::bigint from %s c where %s and not exists (select from %s) and {slice c}',
        p_table, given, covering)
      when countable and built_in is not null then replace(built_in, '{also}', coalesce(also, 'false'))
      -- One question of a table counts its rows.
      when countable and not bool_or(countable and built_in is not null) over ()
        and 1 = row_number() over (partition by countable order by also is not null, child_columns, constraint_name, parent::text)
      then format('select count(*), %5$s, null::bigint, null::bigint from %1$s c
          left join %2$s %3$s on %3$s.tenant_id = c.tenant_id and %4$s and {slice %3$s}
          where %6$s and {slice c}', -- which all are; Citus refuses the join of a table whose rows no policy shows without it
        p_table, parent, alias, matched,
        case when also is null then format('count(*) - count(%s.tenant_id)', alias)
             else format('count(*) filter (where %s.tenant_id is null or (%s))', alias, also) end, given)
      else format('select 0, count(*), null::bigint, null::bigint from %1$s c
          where %2$s and not exists (select from %3$s %4$s where %4$s.tenant_id = c.%5$I and %6$s%7$s%8$s) and {slice c}',
        p_table, given, parent, alias, tenant_column, matched, ' and ((' || also || ')) is not true',
        -- The slices of app.tenants are of its id.
        case when tenant_column = 'tenant_id' then format(' and {slice %s}', alias) end)
      end as question
    from whole
  ), own_sql as (
    select o.check_name, r.joins, coalesce(r.question, case when o.indexed then
        format('select 0, count(*), null::bigint, null::bigint from %s c where %s and {slice c}', p_table, o.predicate) end) as question,
      case when r.alias is null then o.predicate else replace(o.predicate, '{' || r.expected || '}', r.alias) end as predicate, o.detail
    from own o
    left join questions r on r.expected = o.asked_with
  )
  select * from (
  select 'tenant_missing', null::text, 'left join app.tenants t on t.id = c.tenant_id', 't.id is null', null::text,
    $q$case when c.tenant_id is null then 'the row has no tenant' else 'there is no tenant ' || c.tenant_id end$q$,
    null::text, null::name, null::regclass
  where p_table is distinct from to_regclass('app.tenants') and not exists (select from audit.relations(array[p_table]) where is_child)
  union all
  select
    coalesce(b.name, 'parent_missing'),
    coalesce(b.name, case when parent = to_regclass('app.users') then 'user_of_other_tenant' else 'parent_of_other_tenant' end),
    joins, format('%s and %s.tenant_id is null', given, alias),
    -- Asked of suspects only: does the row exist, elsewhere? Citus takes no correlated subquery here.
    case when is_plain then format('coalesce((%s) in (select %s from %s), false)', child_list, parent_names, parent) -- null beside a null of the parent's
         else format('exists (select from %s %s where %s)', parent, alias, matched) end,
    format($q$concat_ws(', ', %s)$q$,
      (select string_agg(format(case when is_full then $f$%L || coalesce(c.%I::text, 'null')$f$ else $f$%L || c.%I$f$ end, x || ' ', x), ', ') from unnest(child_columns) x))
      || format($q$ || case when s.elsewhere then %L else %L end$q$,
        format(' is in %s, but in another tenant', parent), format(' is not in %s', parent)),
    question, case when cardinality(child_columns) = 1 then child_columns[1] end, questions.parent
  from questions
  left join (values
    ('app.boards', 'owner_id', 'board_owner_outside_tenant'), ('app.board_members', 'user_id', 'board_member_outside_tenant'),
    ('app.board_members', 'board_id', 'membership_without_board'), ('app.board_members', 'invited_by', 'board_inviter_outside_tenant')
  ) as b (relation, column_name, name) on to_regclass(b.relation) = child and b.column_name = expected
  union all
  -- Another tenant that a row names, or what it repeats of its own.
  select distinct 'parent_missing', null, null, p.predicate, null, p.detail, format('select 0, count(*), null::bigint, null::bigint from %s c where %s and {slice c}', p_table, p.predicate),
    null::name, null::regclass
  from pg_constraint k
  cross join lateral (
    select format('%s and not exists (select from app.tenants r where %s)', string_agg(format('c.%I is not null', w.child), ' and ' order by w.child),
        string_agg('r' || w.compared, ' and ' order by w.child)) as predicate,
      format($q$concat_ws(', ', %s) || ' is not in app.tenants'$q$, string_agg(format('%L || c.%I', w.child || ' ', w.child), ', ' order by w.child)) as detail,
      array_agg(w.child || ' ' || w.parent) as pairs
    from audit.comparisons(k.oid) w) p
  where k.conrelid = p_table and k.contype = 'f' and k.conparentid = 0 and k.confrelid = to_regclass('app.tenants') and p.pairs <> array['tenant_id id']
  union all
  select check_name, null, joins, predicate, null, detail, question, null, null from own_sql
  union all
  select 'times_out_of_order', null, null, format('c.%I < c.created_at', name), null,
    format($q$%L || c.%I || ' is before created_at ' || c.created_at$q$, name || ' ', name), null, null, null
  from col
  where is_own and name in ('updated_at', 'completed_at', 'removed_at') and type = 'timestamptz'::regtype
    and exists (select from col where name = 'created_at' and type = 'timestamptz'::regtype)
  union all
  select 'not_an_object', null, null, format($q$jsonb_typeof(c.%I) <> 'object'$q$, name), null,
    format($q$%L || jsonb_typeof(c.%I)$q$, name || ' holds a JSON ', name), null, null, null
  from col where is_own and name in ('settings', 'config', 'input', 'registration') and type = 'jsonb'::regtype
  union all
  -- A validated CHECK cannot have been broken; one that was added NOT VALID says nothing about the rows before it.
  select 'constraint_broken', null, null, format('not (%s)%s', case when 0 = any (conkey) -- it is about the whole row, which is c here
      then replace(pg_get_expr(conbin, conrelid), (select quote_ident(relname) from pg_class where oid = conrelid) || '.*', 'c.*')
      else pg_get_expr(conbin, conrelid) end, case when connoinherit then format(' and c.tableoid = %L::regclass', p_table) end), null,
    format($q$%L$q$, format('the row breaks the constraint %I', conname)), null, null, null
  from pg_constraint where conrelid = p_table and contype = 'c' and coninhcount = 0 and not convalidated
  ) as tests (check_name, check_elsewhere, joins, predicate, elsewhere, detail, question, child_column, parent)
  order by question, check_name
$$;
comment on function audit.row_tests(regclass) is
$$The tests of a table: `predicate` is true of a row that fails; for references `elsewhere` then tells whether the missing row
lives in another tenant (check_elsewhere) or nowhere (check_name). `detail` is an SQL expression.$$;
--! EndIncluded audit/row_tests.sql
--! Included audit/scan.sql
-- Rows of a tenant that does not exist lie, in an index of tenants, between two that do: one look for each of these gaps.
create or replace function audit.count_lost_tenants(p_table regclass)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count bigint;
begin
  if (select reltuples from pg_class where oid = p_table) < 20 * (select greatest(reltuples, 1) from pg_class where oid = 'app.tenants'::regclass)
    or not exists (
      select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      join pg_class x on x.oid = i.indexrelid join pg_am m on m.oid = x.relam and m.amname = 'btree'
      where i.indrelid = p_table and i.indisvalid and i.indpred is null and a.attname = 'tenant_id' and audit.is_never_null(p_table, 'tenant_id'))
  then
    execute format('select count(*) from %s c where not exists (select from app.tenants t where t.id = c.tenant_id)', p_table) into v_count;
  else
    execute format(
      'select count(*)
       from (select id as below, lead(id) over (order by id) as above from app.tenants) t
       cross join lateral (select from %1$s c where c.tenant_id > t.below and c.tenant_id < t.above order by c.tenant_id limit 1) c', p_table)
    into v_count;
    -- Below the first and above the last; of no tenants at all, any row.
    execute format(
      'select $1 + count(*)
       from (select (select id from app.tenants order by id limit 1) as first, (select id from app.tenants order by id desc limit 1) as last) t
       join (
         (select tenant_id from %1$s order by tenant_id limit 1) union all (select tenant_id from %1$s order by tenant_id desc limit 1)) c
       on c.tenant_id < t.first or c.tenant_id > t.last or t.first is null', p_table)
    into v_count using v_count;
  end if;
  return v_count;
end
$$;
comment on function audit.count_lost_tenants(regclass) is 'How many tenants, or rows, of a table name a tenant that does not exist: 0 or more than 0 is all that is promised.';

-- One question for each reference, and one for all tests of single rows that no constraint proves; of a clean table nothing
-- else is asked. The rows are counted where they are read anyway.
create or replace function audit.scan(p_table regclass, p_tenant_id uuid)
returns setof audit.outcome
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_column name;
  v_joined regclass;
  v_asked text[];
  v_slices text[];
  v_rows bigint;
  v_suspects bigint := 0;
  v_answer bigint[];
  v_answers jsonb := '{}';
  v_also bigint[];
  v_lost_in regclass;
  v_keys name[];
  v_row text;
  v_key text;
  v_tests jsonb;
  v_test record;
  v_check text;
  v_suspected boolean;
  v_unfound text[];
  v_found audit.outcome;
  v_kept jsonb;
begin
  select tenant_column into strict v_column from audit.relations(array[p_table]);
  select jsonb_agg(t) into v_tests from audit.row_tests(p_table) t; -- once: writing them takes milliseconds
  for v_joined in
    select p_table union select 'app.tenants'::regclass
    union select t.parent from jsonb_to_recordset(v_tests) t (parent regclass) where t.parent is not null
  loop
    perform audit.require_unfiltered(v_joined);
  end loop;
  v_slices := audit.slices(p_table, v_column, p_tenant_id);
  for v_test in
    select distinct on (question) t ->> 'question' as question, t ->> 'child_column' as child_column, t ->> 'parent' as parent
    from jsonb_array_elements(v_tests) t where t ->> 'question' is not null
    order by question, child_column, parent
  loop
    v_answer := audit.count_suspects(v_test.question,
      case when v_test.parent is null and p_tenant_id is null then array['true'] else v_slices end, -- what an index holds is no work to share
      p_table, v_test.child_column);
    v_answers := v_answers || jsonb_build_object(v_test.question, v_answer[2]);
    v_rows := greatest(v_rows, nullif(v_answer[1], 0));
    if v_answer[4] is not null then
      v_also := v_answer[3:4];
    end if;
  end loop;
  select array_agg(t ->> 'predicate') into v_asked
  from jsonb_array_elements(v_tests) t
  where t ->> 'question' is null and t ->> 'check_name' <> 'tenant_missing' and not audit.is_proved(p_table, t ->> 'predicate');
  if v_rows is null or v_asked is not null then
    execute format('select count(*), count(*) filter (where %s) from %s c where $1 is null or c.%I = $1',
      coalesce('(' || array_to_string(v_asked, ') or (') || ')', 'false'), p_table, v_column)
    into v_rows, v_suspects using p_tenant_id;
  end if;
  if v_rows = 0 and audit.has_rows(p_table, v_column, p_tenant_id) then
    raise exception using errcode = 'data_exception',
      message = format('%s shows the auditor no row, and it has rows', p_table);
  end if;
  -- Rows that all have their parent are in their parents' tenants: then the question is put to the fewer rows.
  select t.parent into v_lost_in
  from jsonb_to_recordset(v_tests) t (question text, child_column name, parent regclass)
  join pg_class c on c.oid = t.parent
  where t.child_column is not null and v_answers ->> t.question = '0' and c.reltuples between 0 and v_rows
    and audit.is_never_null(p_table, t.child_column)
  order by c.reltuples limit 1;
  v_lost_in := coalesce(v_lost_in, p_table);

  select array_agg(a.attname order by k.n) into v_keys
  from pg_index i cross join unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) with ordinality as k (attnum, n)
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
  where i.indrelid = p_table and i.indisprimary;
  v_keys := coalesce(v_keys, array['ctid'::name]);
  select string_agg(format('%L, c.%I', k, k), ', '),
         'concat_ws('' and '', ' || string_agg(format('format(%L, c.%I)', replace(quote_ident(k), '%', '%%') || ' = %L', k), ', ') || ')'
  into v_row, v_key from unnest(v_keys) k;
  if v_keys = array['ctid'::name] then -- of one partition, or one child, only
    v_key := $q$format('tableoid = %L::regclass and ctid = %L', c.tableoid::regclass, c.ctid)$q$;
  end if;

  v_unfound := array(select key from jsonb_each_text(v_answers) where value <> '0');
  for v_test in
    select * from jsonb_to_recordset(v_tests)
      t (check_name text, check_elsewhere text, joins text, predicate text, elsewhere text, detail text, question text)
  loop
    if v_test.question is not null then
      v_suspected := v_answers ->> v_test.question is distinct from '0';
    elsif v_test.check_name = 'tenant_missing' then
      v_suspected := p_tenant_id is null and audit.count_lost_tenants(v_lost_in) > 0;
    else
      v_suspected := v_suspects > 0 and v_test.predicate = any (v_asked);
    end if;
    for v_found."check" in select unnest(array_remove(array[v_test.check_name, nullif(v_test.check_elsewhere, v_test.check_name)], null)) loop
      v_found.relation := p_table;
      v_found.checked := v_rows;
      v_found.errors := 0;
      v_found.kept := null;
      if v_suspected then
        -- In two steps, and without the audit's types, because of Citus: it asks whether a row exists elsewhere only of rows
        -- that it has in hand, and sends a statement about a single tenant to a worker, which knows no such type.
        execute format(
          $q$with suspects as materialized (
               select %11$s c.* from %10$s c %5$s where (%7$s) %9$s
             ), s as materialized (
               select %1$s as tenant_id, jsonb_build_object(%2$s) as key, %3$s as detail, %4$s as place
               from suspects c cross join lateral (select %6$s as elsewhere) s
               where true %8$s)
             select count(*), (select jsonb_agg(k) from (select tenant_id, key, detail, place from s order by key limit 1000) k)
             from s$q$,
          format('c.%I', v_column), v_row, v_test.detail, v_key, coalesce(v_test.joins, ''), coalesce(v_test.elsewhere, 'null::boolean'), v_test.predicate,
          case when v_test.check_elsewhere is null or v_test.check_elsewhere = v_test.check_name then ''
               when v_found."check" = v_test.check_elsewhere then 'and s.elsewhere' else 'and not s.elsewhere' end,
          case when p_tenant_id is null then '' else format('and c.%I = $1', v_column) end,
          p_table::text, case when v_keys = array['ctid'::name] then 'c.tableoid, c.ctid,' end)
        into v_found.errors, v_kept using p_tenant_id;
        v_found.kept := array(
          select row(null, k.tenant_id, p_table::text, k.key, k.detail,
            format(E'-- look at it, then correct or delete it:\nselect * from %s where %s;', p_table, k.place))::audit.observation
          from jsonb_to_recordset(v_kept) k (tenant_id uuid, key jsonb, detail text, place text));
        if v_found.errors > 0 then
          v_unfound := array_remove(v_unfound, v_test.question);
        end if;
      end if;
      return next v_found;
    end loop;
  end loop;
  if v_unfound <> '{}' then
    raise exception using errcode = 'data_exception', message = format('rows of %s look wrong, and no test tells which', p_table);
  end if;
  for v_check in select d.check_name from audit.data_checks() d where to_regclass(d.answered_by) = p_table loop
    return next audit.check_rows(v_check, p_tenant_id, v_also);
  end loop;
end
$$;
comment on function audit.scan(regclass, uuid) is
$$Runs every row test of a table, over all its rows or those of one tenant: one outcome a test, all findings counted under
`errors` (the caller knows the severity). Raises 42501 when the auditor would not see every row, 22000 when it sees none and there are some, or counts suspects of which
no test is true.$$;
--! EndIncluded audit/scan.sql
--! Included audit/passes.sql
create or replace function audit.passes(p_family text default null, p_gate boolean default false)
returns setof text
language sql
stable
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
as $$
  select pass from (
    select c."check" as pass, 1 as part, n
    from audit.checks() with ordinality as c ("check", category, severity, family, gate, finds, why, mend, n)
    where c.family = 'schema' and p_family is distinct from 'data' and (c.gate or not p_gate)
    union all
    select 'scan ' || r.relid, 2, row_number() over (order by r.relid::text) from audit.relations() r
    -- A partition or a child is read with its table, and by itself for what its table does not have.
    where (not r.is_child or exists (
        select from pg_constraint k
        where k.conrelid = r.relid and (
          k.contype = 'f' and k.conparentid = 0
            and (k.confrelid, k.conkey) is distinct from (to_regclass('app.tenants'), array(select attnum from pg_attribute where attrelid = r.relid and attname = 'tenant_id'))
          or k.contype = 'c' and k.coninhcount = 0 and not k.convalidated)))
      and p_family is distinct from 'schema' and not p_gate
    union all
    select d.check_name, 3, row_number() over () from audit.data_checks() d
    -- Where the table is gone whose scan would answer, the check runs by itself, and says why it cannot.
    where (d.answered_by is null or not exists (select from audit.relations() r where r.relid = to_regclass(d.answered_by) and not r.is_child))
      and p_family is distinct from 'schema' and not p_gate
  ) p
  order by part, n
$$;
comment on function audit.passes(text, boolean) is
  'The units of a run, each in a transaction of its own: a check by its name, or `scan <table>`, one pass over a table for all checks of single rows.';

create or replace function audit.scanned(p_pass text)
returns setof regclass
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select relid from audit.relations(array(
    select oid::regclass from pg_class where oid >= 16384 and relkind in ('r', 'p') and 'scan ' || oid::regclass = p_pass))
$$;
comment on function audit.scanned(text) is 'The table that a pass scans; none where the pass is no scan, or its table gone.';

create or replace function audit.pass_checks(p_pass text)
returns setof text
language sql
stable
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
as $$
  select p_pass where p_pass not like 'scan %'
  union
  select unnest(array_remove(array[t.check_name, t.check_elsewhere], null))
  from audit.scanned(p_pass) r cross join lateral audit.row_tests(r) t
  union
  select d.check_name from audit.data_checks() d where p_pass = 'scan ' || d.answered_by
$$;
comment on function audit.pass_checks(text) is 'The checks that a pass is part of.';

-- Everything that reads tenants' rows reads them here, as tms_auditor, whoever called. In control, where no member of
-- tms_auditor can name it: members own what their role owns, and could make it STRICT, or the caller's, and give it a search_path.
set local role tms_auditor;
create or replace function control.examine(p_pass text, p_tenant_id uuid, p_sample int)
returns setof audit.outcome
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
set quote_all_identifiers = off
set standard_conforming_strings = on
set work_mem = '128MB'
set random_page_cost = 1.1
set enable_hashjoin = on
set parallel_setup_cost = 1000
set parallel_tuple_cost = 0.1
set min_parallel_index_scan_size = '512kB'
set min_parallel_table_scan_size = '8MB'
set jit = off
as $$
declare
  v_out audit.outcome;
  v_severity text;
begin
  if p_pass like 'proof\_%' then
    return query select * from audit.prove(p_pass, p_tenant_id, p_sample);
  elsif p_pass like 'scan %' or exists (select from audit.data_checks() where check_name = p_pass) then
    for v_out in
      -- Not by a cast of the name: that fails in a schema that tms_auditor may not use, where the scan says what is missing.
      select s.* from audit.scanned(p_pass) r cross join lateral audit.scan(r, p_tenant_id) s
      union all
      select * from audit.check_rows(p_pass, p_tenant_id) where p_pass not like 'scan %'
    loop
      select severity into strict v_severity from audit.checks() c where c."check" = v_out."check";
      v_out.warnings := case v_severity when 'warning' then v_out.errors else 0 end;
      v_out.infos := case v_severity when 'info' then v_out.errors else 0 end;
      v_out.errors := case v_severity when 'error' then v_out.errors else 0 end;
      v_out.kept := array(select row(v_severity, k.tenant_id, k.relation, k."row", k.detail, k.remedy)::audit.observation from unnest(v_out.kept) k);
      return next v_out;
    end loop;
    if not found then
      raise exception using errcode = 'undefined_table', message = format('%s: the table is gone', p_pass);
    end if;
  else
    return query execute format(
      $q$select %L::text, coalesce(r.relid::text, ''), count(*),
           count(*) filter (where o.detail is not null and o.severity = 'error'),
           count(*) filter (where o.detail is not null and o.severity = 'warning'),
           count(*) filter (where o.detail is not null and o.severity = 'info'),
           (array_agg(o order by audit.severity_rank(o.severity), o.relation, o."row"::text) filter (where o.detail is not null))[1:1000]
         from audit.%I() o left join audit.relations() r on r.relid::text = o.relation
         where o.relation ~ '^\d' is not true -- a number stands for what was dropped since the snapshot was taken
         group by 1, 2$q$, p_pass, 'check_' || p_pass);
  end if;
end
$$;
comment on function control.examine(text, uuid, int) is
  'Runs one pass as tms_auditor and returns its outcomes, by check and relation. Raises what the check raises.';
revoke all on function control.examine(text, uuid, int) from public;
grant execute on function control.examine(text, uuid, int) to tms_owner;
reset role;

create or replace function audit.examine(p_pass text, p_tenant_id uuid, p_sample int)
returns setof audit.outcome
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select * from control.examine(p_pass, p_tenant_id, p_sample);
end
$$;
comment on function audit.examine(text, uuid, int) is 'control.examine(), for who may run the audit.';

-- A check that cannot run is a finding. Only a person's own cancellation goes through.
create or replace function audit.attempt(p_pass text, p_tenant_id uuid, p_sample int, out outcomes audit.outcome[], out failure text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
as $$
declare
  v_began constant timestamptz := clock_timestamp();
  v_deadline timestamptz;
  v_state text;
  v_hint text;
begin
  begin
    outcomes := array(select o from audit.examine(p_pass, p_tenant_id, p_sample) o);
  exception when others or query_canceled or assert_failure then
    get stacked diagnostics v_state = returned_sqlstate, failure = message_text, v_hint = pg_exception_hint;
    -- Not by the message, which is of the server's language. A time-out comes once, and a round trip early where the statement was
    -- sent ahead of its execution.
    v_deadline := (select statement_timestamp() + nullif(setting::bigint, 0) * interval '1 millisecond' from pg_settings where name = 'statement_timeout');
    if v_state = '57014' and (v_deadline between v_began and clock_timestamp() + interval '1 second') is not true then
      raise;
    end if;
  end;
  if failure is not null then
    -- It was dropped by whom the pass waited for; what Postgres says of that names a number, or a syntax error beside one.
    if p_pass like 'scan %' and not exists (select from audit.scanned(p_pass)) then
      failure := format('%s: the table is gone', p_pass);
    end if;
    outcomes := array(
      select row(c, case when p_pass like 'scan %' then substr(p_pass, 6) else '' end, 0, 1, 0, 0, array[
        row('error', p_tenant_id, case when p_pass like 'scan %' then substr(p_pass, 6) end, '{}'::jsonb,
          format('the check could not run: %s (SQLSTATE %s)', failure, v_state),
          -- Ours are SQL; Postgres's are sentences.
          case when v_hint like '%;' then v_hint
               when v_state = '42501' and not has_schema_privilege(to_regrole('tms_auditor'), to_regnamespace('audit'), 'usage')
                 then '-- its rights are gone, as by a restore with --no-acl, or before db/roles.sql: restore the database again, as docs/operations.md tells'
               else format(E'%s-- mend the cause, then:\nselect * from audit.run_check(%L);', regexp_replace(v_hint, '(.+)', E'-- \\1', 'g') || case when v_hint <> '' then E'\n' end, c) end)::audit.observation])::audit.outcome
      from (
        select c from audit.pass_checks(p_pass) c
        union
        -- The table is gone since the run began, or has another name by now: nobody looked at it.
        select 'tenant_missing' where not exists (select from audit.pass_checks(p_pass))) c);
  end if;
end
$$;
comment on function audit.attempt(text, uuid, int) is
  'audit.examine(), with a failure turned into one finding of severity error for each check of the pass; failure is its message, else null.';
--! EndIncluded audit/passes.sql
--! Included audit/checks/bodies.sql
-- What functions do, by their text.
-- From left to right, for a quote in a comment is none, and two dashes in a string are no comment. What goes, and what stays and might have gone,
-- is marked; a mark behind a quote is of what stays. \x22 and \x27: graphile-migrate counts quotes here as well.
create or replace function audit.code_of(p_body text, p_strings boolean)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  select translate(regexp_replace(regexp_replace(p_body,
    $re$("[^\x22]*")|(\m[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^\x27]|'')*'|(?<![\w$])\$([[:alpha:]_]*)\$(?:[^$]|\$\d)*\$\3\$|')|--[^\n]*|/\*(?:[^*]|\*+[^*/])*\*+/$re$,
    case when p_strings then '\1\2' else '\1' end || chr(1), 'g'), '(["''$])' || chr(1), '\1', 'g'), chr(1), ' ')
$$;
comment on function audit.code_of(text, boolean) is 'The body of a function in SQL or PL/pgSQL without its comments; and, unless p_strings, without its strings.';

-- Whose row it is a policy has said of an old one, and of a new one, or several, after they are written; before that, and of any other column,
-- the writer alone. Of a tenant's own row its id is nobody's choice.
create or replace function audit.enters_named_tenant(p_function oid, p_code text)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with fired as (
    select coalesce(bool_and(tgtype & 66 = 0), true) as later, coalesce(bool_and(tgrelid = to_regclass('app.tenants')), false) as of_tenants
    from pg_trigger where tgfoid = p_function
  ), own as (
    select concat('(?:null|(?:app\s*\.\s*)?tenant_id\s*\(\s*\)|current_setting\s*\(\s*''app\.tenant_id''\s*(?:,\s*\w+\s*)?\)|old\s*\.\s*"?tenant_id"?',
      case when later then '|\w+\s*\.\s*"?tenant_id"?' end, case when of_tenants then '|(?:new|old)\s*\.\s*"?id"?' end, ')(?:\s*::\s*\w+)*') as id
    from fired
  ), either as (
    select format('(?:%1$s|coalesce\s*\(\s*%1$s\s*,\s*%1$s\s*\)(?:\s*::\s*\w+)*)', id) as id from own
  ), known as (
    select concat('(?:', id, (select string_agg('|' || m[1], '') from regexp_matches(p_code, '\m(\w+)\s+constant\s+\w+\s*(?::?=|default)\s*' || id || '\s*;', 'gi') m), ')') as id from either
  )
  select exists (
      select from known k cross join regexp_split_to_table(p_code, '\mset_tenant"?\s*\(', 'i') with ordinality as c (call, n)
      where c.n > 1 and c.call !~* ('^\s*(p_tenant_id\s*(=>|:=)\s*)?' || k.id || '\s*\)'))
    or exists (
      select from known k cross join regexp_split_to_table(p_code, '\mset_config\s*\(\s*''app\.tenant_id''\s*,', 'i') with ordinality as c (call, n)
      where c.n > 1 and c.call !~* ('^\s*(''''|' || k.id || ')\s*,'))
    or p_code ~* '''\s*set\s+local\s+"?app"?\s*\.\s*"?tenant_id"?\s*(=|to\M)\s*(%|''\s*\|\|)'
$$;
comment on function audit.enters_named_tenant(oid, text) is
  'Whether the code of a trigger''s function enters any other tenant than the one that its row is known to be of, or the one before.';

-- A setting for the session outlives the request; the next one on the same connection is somebody else's. What the release
-- itself brought (audit.manifest) was read then, and is not read again here. SET or RESET stands at the beginning of a statement, which may be
-- the text of an EXECUTE, but not of a message, nor of what is joined to other text; an UPDATE's does not.
create or replace function audit.check_function_body()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with tenants as materialized (
    select lower(n.nspname) as schema, lower(c.relname) as name from audit.relations() r join pg_class c on c.oid = r.relid join pg_namespace n on n.oid = c.relnamespace
  )
  select case when f.reached and s.fault is not null then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when s.fault is not null then s.fault
         when exists (select from regexp_split_to_table(b.code, 'set_config\s*\(', 'i') with ordinality as c (call, n)
                      where c.n > 1 and split_part(c.call, ';', 1) ~* ',\s*(is_local\s*(=>|:=)\s*)?(false|''(f|false|off|no|n|0)'')\s*\)'
                        and c.call !~ '^\s*''[^'']*''\s*,\s*''[^'']*''\s*,') -- a constant says nothing of anybody
           -- A temporary table that is left, a cursor that outlives its transaction.
           or b.code ~* '\mwith\s+hold\M' or b.code ~* '\m(create\s+((local|global)\s+)?temp(orary)?\s+table|into\s+temp(orary)?\s+(table\s+)?\w+\s+from)\M' and b.code !~* '\mon\s+commit\s+(drop|delete)\M|\m(drop\s+table|truncate)\M'
           or b.code ~ case when l.lanname ~ '^plperl' then '\$_SHARED\M' when l.lanname ~ '^pl(tcl|python)' then '\m[GS]D\M' end
           then 'the function keeps something for the session, where the next request, of another tenant, finds it' end,
    format(case when s.fault like '% that the row names: %' then 'select pg_get_functiondef(%1$L::regprocedure); -- look at it; a row''s own tenant is old.tenant_id, and AFTER it is written new.tenant_id'
                when s.fault like '% is IMMUTABLE %' then audit.by_owner(f.owner, 'alter function %1$s stable;')
                when f.reached then 'select pg_get_functiondef(%1$L::regprocedure); -- look at it; inside a tenant: perform app.set_tenant(…)'
                else 'select pg_get_functiondef(%1$L::regprocedure); -- read it, then: select audit.accept(%1$L);' end, f.name)
  from audit.functions() f
  join pg_proc p on p.oid = f.oid
  join pg_language l on l.oid = p.prolang
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name and m.body = audit.definition_hash(f.oid)
  -- offset 0: once for each function, and not once for each question.
  cross join lateral (
    select case when m.name is not null or f.vouched then null when l.lanname in ('sql', 'plpgsql') then audit.code_of(f.body, true) else f.body end,
      case when l.lanname in ('sql', 'plpgsql') then '' else '|"' end offset 0) c (code, quote)
  cross join lateral (
    select c.code, regexp_replace(c.code, '(?<!(\|\||\mraise(\s+\w+)?)\s*)(''|\$' || c.quote || ')\s*(re)?set\M', '<\2set>', 'gi')
      || regexp_replace(audit.code_of(c.code, false), '(^|;|\mbegin|\mthen|\melse|\mloop)\s*(re)?set\M', '<\2set>', 'gi')
      -- A second statement of the text.
      || coalesce((
        select string_agg(regexp_replace(x[1], '(;|\\[nrt])\s*(re)?set\M', '<\2set>', 'gi'), '')
        from regexp_matches(c.code, '\mexecute\s*(?:\w+\s*\(\s*)?(e?''(?:[^'']|'''')*'')', 'gi') x), '') offset 0) b (code, sets)
  cross join lateral (
    select case when b.sets ~* '<set>\s+(session\s+)?"?app"?\."?tenant_id"?\s*(=|to\M)'
             or exists (select from regexp_split_to_table(b.code, 'set_config\s*\(', 'i') with ordinality as c (call, n)
                        where c.n > 1 and split_part(c.call, ';', 1) ~* 'app\.tenant_id'
                          and split_part(c.call, ';', 1) !~* ',\s*(is_local\s*(=>|:=)\s*)?(true|''(t|true|on|yes|y|1)'')\s*\)')
             then 'the function sets app.tenant_id for the session, and not for the transaction'
           when p.prorettype = 'trigger'::regtype and b.code ~* 'set_tenant|app"?\s*\.\s*"?tenant_id' and audit.enters_named_tenant(f.oid, b.code)
             then 'the function enters a tenant that the row names: whoever writes the row acts in that one'
           when b.sets ~* '<set>\s+((session|local)\s+)?"?app"?\."?maintenance' or b.code ~* 'set_config\s*\([^;]*app\.maintenance' then 'the function sets app.maintenance, which opens every table to the owner'
           when b.code ~* '\mupdate\s+(pg_catalog\.)?pg_settings\M'
             or b.sets ~* '<(re)?set>\s+((session|local)\s+)?"?(role|session(\s+|_)authorization|row_security|session_replication_role)\M'
             or b.code ~* 'set_config\s*\([^;]*(''|\$)(role|session_authorization|row_security|session_replication_role)(''|\$)'
             then 'the function changes the role, or how policies and triggers apply to it'
           when p.provolatile = 'i' and (b.code ~* '\mtenant_id"?\s*\(|current_setting\s*\(\s*''app\.tenant_id' or exists (
               select from audit.code_of(b.code, false) k (code)
               cross join regexp_matches(k.code, '\m(?:from|join)\s+(?:only\s+)?(?:"?(\w+)"?\s*\.\s*)?"?(\w+)', 'gi') m
               join tenants t on t.name = lower(m[2]) and t.schema = coalesce(lower(m[1]), t.schema)
               where m[1] is not null or k.code !~* format('\m%s\s*(\([^()]*\)\s*)?as\s+((not\s+)?materialized\s*)?\(', m[2]))) -- of a WITH
             then 'the function is IMMUTABLE and reads what differs from tenant to tenant: its answer is kept in plans, where the next request, of another tenant, finds it' end
    offset 0) s (fault)
  where f.schema <> 'audit' -- remedies there name what is looked for
  union all
  -- And what is no function, but calls these.
  select case when x.code ~* 'set_tenant\(|''"?(app"?\."?(tenant_id|maintenance)|role|session_authorization|row_security|session_replication_role)' then 'error' else 'warning' end,
    null, x.name, jsonb_build_object('object', pg_describe_object(x.classid, x.objid, 0)), 'it sets what is asked of the session: whoever uses it may be in another tenant, or role, afterwards', x.remedy
  from (select format(':funcid (%s) ', string_agg(oid::text, '|')) from pg_proc where oid in ('set_config(text,text,boolean)'::regprocedure, to_regprocedure('app.set_tenant(uuid)'))) s (calls)
  cross join lateral (
    select 'pg_attrdef'::regclass, d.oid, d.adrelid::regclass::text, pg_get_expr(d.adbin, d.adrelid), format('alter table %s alter column %I drop default;', d.adrelid::regclass, a.attname)
    from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum where d.adbin::text ~ s.calls
    union all
    select 'pg_constraint', k.oid, coalesce(nullif(k.conrelid, 0)::regclass::text, k.contypid::regtype::text), pg_get_constraintdef(k.oid),
      format('alter %s drop constraint %I;', coalesce('table ' || nullif(k.conrelid, 0)::regclass, 'domain ' || k.contypid::regtype), k.conname)
    from pg_constraint k where k.conbin::text ~ s.calls and k.coninhcount = 0
    union all
    select 'pg_type', t.oid, t.oid::regtype::text, pg_get_expr(t.typdefaultbin, 0), format('alter domain %s drop default;', t.oid::regtype) from pg_type t where t.typdefaultbin::text ~ s.calls
    union all
    select 'pg_rewrite', w.oid, w.ev_class::regclass::text, pg_get_ruledef(w.oid),
      format(case when w.rulename <> '_RETURN' then 'drop rule %2$I on %1$s;' when c.relkind = 'm' then 'drop materialized view %1$s;' else 'drop view %1$s;' end, w.ev_class::regclass, w.rulename)
    from pg_rewrite w join pg_class c on c.oid = w.ev_class where w.oid >= 16384 and w.ev_action::text ~ s.calls
    union all
    select 'pg_trigger', t.oid, t.tgrelid::regclass::text, pg_get_triggerdef(t.oid), format('drop trigger %I on %s;', t.tgname, t.tgrelid::regclass)
    from pg_trigger t where t.tgqual::text ~ s.calls and t.tgparentid = 0
    union all
    select 'pg_policy', p.oid, p.polrelid::regclass::text, concat(pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)), format('drop policy %I on %s;', p.polname, p.polrelid::regclass)
    from pg_policy p where concat(p.polqual::text, p.polwithcheck::text) ~ s.calls and p.polrelid not in (select relid from audit.relations()) -- of which policy_function tells
    union all
    select 'pg_proc', f.oid, f.oid::regprocedure::text, pg_get_function_arguments(f.oid), format('select pg_get_functiondef(%L::regprocedure); -- and make it again without that default', f.oid::regprocedure)
    from pg_proc f where f.proargdefaults::text ~ s.calls and f.oid >= 16384) x (classid, objid, name, code, remedy)
$$;

-- A key's own action runs as the owner of the table, and as no policy applied: a trigger that it fires runs likewise, before the
-- row on every release, after it on Postgres 18 and newer. Every tenants' table is reached so, from app.tenants.
create or replace function audit.check_trigger_rights()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive written (relid) as (
    select relid from audit.relations()
    union
    -- Elsewhere, from where requests write.
    select conrelid::regclass from pg_constraint
    where contype = 'f' and (confdeltype in ('c', 'n', 'd') and has_table_privilege('tms_app', confrelid, 'delete')
      or confupdtype in ('c', 'n', 'd') and has_any_column_privilege('tms_app', confrelid, 'update'))
    union
    select k.conrelid::regclass from written w join pg_constraint k on k.confrelid = w.relid and k.contype = 'f' and (k.confdeltype in ('c', 'n', 'd') or k.confupdtype in ('c', 'n', 'd'))
  ), updated as (
    select r.relid, c.relowner from written r join pg_class c on c.oid = r.relid
    where exists (select from pg_constraint k where k.conrelid = r.relid and (k.confdeltype in ('n', 'd') or k.confupdtype in ('c', 'n', 'd')))
  ), faults as (
    select r.relid, t.tgname, p.oid, p.pronamespace, f.name,
      case when not p.prosecdef and b.code ~* '\m(select|table|insert|update|delete|merge|truncate|perform|execute|call)\M|(?<!\mdistinct\s+)\mfrom\s+(?!(new|old)\M)\w+\.\w' -- n := count(*) from shop.orders
        -- No key's action inserts, and few update.
        and (t.tgtype & 8 = 8 or t.tgtype & 16 = 16 and r.relid in (select relid from updated))
        then format('where a foreign key''s action fires the trigger, %s runs as %s %s', p.oid::regprocedure, c.relowner::regrole,
          case when t.tgtype & 2 = 2 then 'and past every policy: it reaches the rows of all tenants' else 'and, inside a tenant, sees no row: what it writes fails or changes nothing' end) end as fault
    from written r
    join pg_class c on c.oid = r.relid
    join pg_trigger t on t.tgrelid = r.relid and not t.tgisinternal and t.tgparentid = 0
    join pg_proc p on p.oid = t.tgfoid
    cross join lateral (
      select case when l.lanname = 'plpgsql' then audit.code_of(p.prosrc, false) else 'execute' end
      from pg_language l where l.oid = p.prolang) b (code)
    cross join lateral (
      select case when p.pronamespace = to_regnamespace('api') then 'api.' else 'app.' end || quote_ident(p.proname) || '()') f (name)
    where r.relid <> 'app.tenants'::regclass and p.oid >= 16384
      and (p.oid not in (select audit.of_extensions('pg_proc')) or p.proowner::regrole::text = any (audit.our_roles()))
  )
  select 'warning', null::uuid, f.relid::text, jsonb_build_object('trigger', f.tgname), f.fault,
    -- A function goes to another schema once, however many triggers call it.
    case when lag(f.oid) over (partition by f.oid, f.fault is null order by f.relid::text, f.tgname) is not null
      then format('-- as above, by the first trigger that calls %s', f.oid::regprocedure)
    else format(E'-- as docs/extending.md tells; in each of its statements name tenant_id, and the schema of each table and function:\n'
      '%1$sgrant create on schema app to tms_app; alter function %2$s owner to tms_app; revoke create on schema app from tms_app;\n'
      'set role tms_app; alter function %2$s security definer set search_path = pg_catalog, pg_temp; revoke all on function %2$s from public; reset role;\n'
      'select audit.accept(%2$L);',
      case when f.pronamespace not in ('app'::regnamespace, to_regnamespace('api')) then format(E'alter function %s set schema app;\n', f.oid::regprocedure) end,
      f.name) end
  from faults f
  union all
  -- So does what the row that it updates is made and tested with.
  select 'warning', null, u.relid::text, jsonb_build_object('uses', p.oid::regprocedure),
    case when not p.prosecdef and exists (
        select from audit.relations() r join pg_class c on c.oid = r.relid
        where audit.code_of(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), true) ~* format('\m%s\M', regexp_replace(c.relname, '(\W)', '\\\1', 'g')))
      then format('where a foreign key''s action updates the row, %s runs as %s and past every policy: it reads the rows of all tenants', p.oid::regprocedure, u.relowner::regrole) end,
    format(E'-- let it read no table, or make it a definer of tms_app, as docs/extending.md tells of triggers:\nselect pg_get_functiondef(%L::regprocedure);', p.oid::regprocedure)
  from updated u
  cross join lateral (
    select distinct d.refobjid
    from (select 'pg_attrdef'::regclass, oid from pg_attrdef where adrelid = u.relid
          union all
          select 'pg_constraint'::regclass, oid from pg_constraint where conrelid = u.relid
          union all
          select 'pg_constraint'::regclass, k.oid from pg_attribute a join pg_constraint k on k.contypid = a.atttypid where a.attrelid = u.relid
          union all
          select 'pg_class'::regclass, indexrelid from pg_index where indrelid = u.relid) x (classid, objid)
    join pg_depend d on d.classid = x.classid and d.objid = x.objid and d.refclassid = 'pg_proc'::regclass) f
  join pg_proc p on p.oid = f.refobjid
$$;

-- An id that means nothing to others may be told, and one of a few words. A row as a whole may not, nor a text of it: neither new nor old, nor all rows
-- of a statement, nor a variable that was made from them.
create or replace function audit.check_trigger_notifies()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, r.relid::text, jsonb_build_object('trigger', t.tgname),
    case when p.proname = 'triggered_change_notification' and l.lanname = 'c' then 'NOTIFY tells whoever listens the keys of the rows, and so whose they are'
         when w.told then format('%s sends rows of the table, or texts of them, to whoever listens: NOTIFY knows no policy', p.oid::regprocedure) end,
    format(E'-- better send an id that means nothing to others, and read the row inside its tenant; until then:\ndrop trigger %I on %s;', t.tgname, r.relid)
  from audit.relations() r
  join pg_trigger t on t.tgrelid = r.relid and not t.tgisinternal and t.tgparentid = 0
  join pg_proc p on p.oid = t.tgfoid
  join pg_language l on l.oid = p.prolang
  cross join lateral (
    select audit.code_of(c.body, true), d.code, regexp_replace(d.code, '\m(from|join)\s+\w+\M(?!\s*\.)', '', 'gi'), -- an alias's name is not its rows
      case when c.body is not null then (
        select '(?:new|old)\s*\.\s*"?(?:' || string_agg(lower(a.attname), '|') || ')'
        from pg_attribute a join pg_type y on y.oid = a.atttypid
        where a.attrelid = r.relid and not a.attisdropped and (y.typcategory = 'S' or y.oid in ('json'::regtype, 'jsonb'::regtype)) and not exists (
          select from pg_constraint k
          where k.conrelid = r.relid and a.attnum = any (k.conkey) and (k.contype in ('p', 'f') or k.contype = 'c' and k.conbin::text like '%SCALARARRAYOPEXPR%'))) end
    from (select case when p.prosrc ~* 'notify' then p.prosrc end) c (body)
    cross join lateral (select audit.code_of(c.body, false)) d (code)
    offset 0) b (code, whole, bare, texts)
  cross join lateral (
    with recursive assigned (variable, value) as (
      select m[1], m[2]
      from regexp_matches(b.bare, '(?:^|;|\m(?:declare|begin|then|else|loop))\s*(?!(?:declare|begin|then|else|loop|if|elsif|case|when|while|return|perform|select|update)\M)(\w+)(?:\s+\w+)?\s*:?=([^;]*)', 'gi') m
      union all
      select m[2], m[1] from regexp_matches(b.bare, '\mselect\M([^;]*)\minto\s+(?:strict\s+)?(\w+)', 'gi') m
      union all
      select m[1], m[2] from regexp_matches(b.whole, '\mfor\s+(\w+)\s+in\s+(?:select\s+\*\s+from|table)\s+(\w+)', 'gi') m
    ), whole (name) as (
      select x collate "C" from unnest(array['(?:new|old)', b.texts, lower(t.tgoldtable), lower(t.tgnewtable)]) x where x is not null
      union
      select lower(a.variable) from whole w join assigned a on a.value ~* format('\m%s\M(?!\s*\.\s*["\w])', w.name)
    ), sent (what) as (
      select m[1] from regexp_matches(b.bare, '\mpg_notify\s*\(([^;]*)', 'gi') m
      union all
      select m[1] from regexp_matches(b.code, '\mexecute\M([^;]*\mnotify\M[^;]*)', 'gi') m
    )
    select exists (select from whole w join sent s on s.what ~* format('\m%s\M(?!\s*\.\s*["\w])', w.name))) w (told)
$$;
--! EndIncluded audit/checks/bodies.sql
--! Included audit/checks/grants.sql
create or replace function audit.check_table_grants()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with granted as (
    select r.relid, r.is_child, c.relowner, a.grantor, a.grantee, a.privilege_type, a.is_grantable, ''::text as column_name
    from audit.relations() r join pg_class c on c.oid = r.relid
    cross join lateral aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
    union all
    select r.relid, r.is_child, c.relowner, a.grantor, a.grantee, a.privilege_type, a.is_grantable, format('(%I)', t.attname)
    from audit.relations() r join pg_class c on c.oid = r.relid
    join pg_attribute t on t.attrelid = c.oid and t.attacl is not null
    cross join lateral aclexplode(t.attacl) a
  ), named as (
    select g.*, audit.role_name(grantee) as who,
      coalesce(w.rights @> array[g.privilege_type], false) and not is_grantable as wanted
    from granted g
    left join lateral (values
      ('tms_app', case when g.is_child then array[]::text[] when g.relid = to_regclass('app.tenants') then array['SELECT']
                       else array['SELECT', 'INSERT', 'UPDATE', 'DELETE'] end),
      ('tms_auditor', array['SELECT']),
      ('tms_registrar', case when g.relid::oid in (to_regclass('app.tenants'), to_regclass('app.users'))
                             then array['SELECT', 'INSERT', 'UPDATE', 'DELETE'] else array[]::text[] end)
    ) as w (role, rights) on to_regrole(w.role) = g.grantee
    where g.grantee <> g.relowner
  )
  select case when who = 'public' or who like 'tms\_%' or is_grantable or privilege_type not in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
              then 'error' else 'warning' end,
    null::uuid, relid::text, jsonb_build_object('role', who, 'privilege', privilege_type),
    case when not wanted then format('%s has %s%s on the table%s%s', who, privilege_type, column_name, case when is_grantable then ' and may pass it on' else '' end,
      case when privilege_type = 'TRUNCATE' then ', which empties every tenant and knows no policy'
           when privilege_type in ('REFERENCES', 'TRIGGER') then ', which knows no policy'
           when is_child then ': queried by its own name a partition does not look at its parent''s policies' else '' end) end,
    -- Only who gave a right takes it back, and first what came of it.
    format(case when grantor = relowner then 'revoke %1$s%2$s on table %3$s from %4$s%5$s;' else 'set role %6$s; revoke %1$s%2$s on table %3$s from %4$s%5$s; reset role;' end,
      privilege_type, column_name, relid, who, case when is_grantable then ' cascade' else '' end, grantor::regrole)
  from named
  union all
  select 'error', null, r.relid::text, jsonb_build_object('role', 'tms_auditor', 'privilege', 'SELECT'),
    case when not has_table_privilege('tms_auditor', r.relid, 'select') then 'tms_auditor may not read the table: it is not examined'
         when not has_schema_privilege('tms_auditor', c.relnamespace, 'usage') then format('tms_auditor may not use the schema %s: the table is not examined', c.relnamespace::regnamespace) end,
    format('grant usage on schema %s to tms_auditor; grant select on table %s to tms_auditor;', c.relnamespace::regnamespace, r.relid)
  from audit.relations() r join pg_class c on c.oid = r.relid
  union all
  -- As its owner a table is read that shows no row (audit.has_rows).
  select 'warning', null, r.relid::text, '{"role": "tms_owner", "privilege": "USAGE"}',
    case when not has_schema_privilege('tms_owner', c.relnamespace, 'usage') then format('tms_owner may not use the schema %s: once the table is empty, its checks cannot run', c.relnamespace::regnamespace) end,
    format('grant usage on schema %s to tms_owner; -- as its owner, or as a superuser', c.relnamespace::regnamespace)
  from audit.relations() r join pg_class c on c.oid = r.relid
$$;

-- What is not a tenant's table but lies beside them: the service's bookkeeping, the audit's results, views and sequences. Elsewhere
-- numbers are somebody's own, but that no request may set them.
create or replace function audit.check_other_grants()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- To a role of somebody else's a view with its reader's rights is as its tables are, where policies narrow: a warning.
  select case when (v.invoker or c.relkind = 'S' and a.privilege_type <> 'UPDATE') and n.nspname = 'app'
                and a.who <> all (array_append(audit.our_roles(), 'public')) then 'warning' else 'error' end,
    null::uuid, c.oid::regclass::text, jsonb_build_object('role', coalesce(a.who, 'nobody'), 'privilege', a.privilege_type),
    case when a.who is not null and not (
        n.nspname = 'control' and a.who = 'tms_registrar' and a.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
        or n.nspname = 'audit' and a.who = 'tms_auditor' and a.privilege_type = 'SELECT'
        or n.nspname = 'app' and v.invoker
          and (a.who = 'tms_app' and a.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE') or a.who = 'tms_auditor' and a.privilege_type = 'SELECT')
        or n.nspname = 'app' and c.relkind = 'S' and a.who in ('tms_app', 'tms_auditor') and a.privilege_type in ('USAGE', 'SELECT'))
      then format('%s has %s on it%s', a.who, a.privilege_type, case when c.relkind = 'v' and not v.invoker then format(', and reads with the rights of %s', c.relowner::regrole)
                                                                     when c.relkind = 'S' and a.privilege_type = 'UPDATE' then ', and can set it to where nobody gets a number any more' else '' end) end,
    format('revoke %s on %s from %s;', a.privilege_type, c.oid::regclass, a.who)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  cross join lateral (
    select exists (select from pg_options_to_table(c.reloptions) where case when option_name = 'security_invoker' then option_value::boolean end) as invoker,
      n.nspname in ('app', 'api', 'control', 'audit', 'graphile_migrate') as own) v
  left join lateral (
    select audit.role_name(x.grantee) as who, x.privilege_type
    from aclexplode(c.relacl) x where x.grantee <> c.relowner
    union all
    select audit.role_name(x.grantee), x.privilege_type
    from pg_attribute t cross join lateral aclexplode(t.attacl) x where t.attrelid = c.oid and t.attacl is not null and x.grantee <> c.relowner
  ) a on v.own or a.privilege_type = 'UPDATE' and a.who = any (array_append(audit.our_roles(), 'public'))
    and (has_schema_privilege('tms_app', n.oid, 'usage') or has_schema_privilege('tms_service', n.oid, 'usage'))
  where case when v.own then c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and c.oid not in (select relid from audit.relations())
        else c.relkind = 'S' and c.oid >= 16384 and n.nspname not like 'pg\_t%' and c.oid not in (select audit.of_extensions('pg_class')) end
$$;

create or replace function audit.check_schema_grants()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with granted as (
    select format('schema %I', n.nspname) as object, n.nspname as name, a.grantee, a.privilege_type, a.is_grantable
    from pg_namespace n cross join lateral aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
    where n.nspname in ('app', 'api', 'control', 'audit', 'public') and a.grantee <> n.nspowner
    union all
    select format('database %I', d.datname), 'database', a.grantee, a.privilege_type, a.is_grantable
    from pg_database d cross join lateral aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
    where d.datname = current_database() and a.grantee <> d.datdba
    union all
    -- Elsewhere it is nobody's business who uses a schema, but that the service's roles make nothing there.
    select format('schema %I', n.nspname), 'elsewhere', a.grantee, a.privilege_type, a.is_grantable
    from pg_namespace n cross join lateral aclexplode(n.nspacl) a
    where n.nspname not in ('app', 'api', 'control', 'audit', 'public', 'pg_catalog', 'information_schema') and n.nspname not like 'pg\_t%'
      and a.privilege_type = 'CREATE' and a.grantee = any (array[0, to_regrole('tms_service'), to_regrole('tms_app'), to_regrole('tms_registrar'), to_regrole('tms_auditor')]::oid[])
  ), named as (
    select *, audit.role_name(grantee) as who from granted
  )
  select case when who = 'public' and privilege_type = 'CONNECT' then 'warning'
              when who = 'public' or who like 'tms\_%' then 'error' else 'warning' end,
    null::uuid, null, jsonb_build_object('object', object, 'role', who, 'privilege', privilege_type),
    case when is_grantable or not (
        name = 'app' and privilege_type = 'USAGE' and who in ('tms_app', 'tms_registrar', 'tms_auditor')
        or name = 'api' and privilege_type = 'USAGE' and who in ('tms_service', 'tms_app', 'tms_registrar', 'tms_auditor')
        or name = 'control' and privilege_type = 'USAGE' and who = 'tms_registrar'
        or name = 'audit' and privilege_type = 'USAGE' and who in ('tms_auditor', 'tms_registrar')
        or name = 'public' and privilege_type = 'USAGE'
        or name = 'public' and who not in ('public', 'tms_service', 'tms_app', 'tms_registrar', 'tms_auditor')
        or name = 'database' and privilege_type = 'CONNECT' and who <> 'public'
        or name = 'database' and who not like 'tms\_%' and who <> 'public')
      then format('%s has %s on the %s%s', who, privilege_type, object,
        case privilege_type when 'TEMPORARY' then ': temporary tables can stand in for others' when 'CREATE' then ': objects of its own can stand in for others' else '' end) end,
    -- A copy of a database has the rights of a new one: there the service comes in as everybody does.
    case when who = 'public' and privilege_type = 'CONNECT' then format('grant connect on %s to tms_service, tms_auditor; ', object) else '' end
      || format('revoke %s on %s from %s;', privilege_type, object, who)
  from named
$$;

create or replace function audit.check_rights_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with own as (
    -- Not by a cast of the name, which fails in a schema that tms_auditor may not use.
    select 'schema' as kind, nspname::text as object, oid, nspowner as owner from pg_namespace where nspname in ('app', 'api', 'control', 'audit')
    union all
    select 'table', oid::regclass::text, oid, relowner from pg_class where relnamespace in (select to_regnamespace(s) from unnest(array['app', 'control']) s)
    union all
    select 'function', oid::regprocedure::text, oid, proowner from pg_proc where pronamespace in (select to_regnamespace(s) from unnest(array['app', 'api', 'control', 'audit']) s)
  ), template as (
    select role, kind, object, upper(p) as privilege from audit.template_rights() cross join lateral string_to_table(rights, ', ') p
    union all
    -- As app.isolate() gives them. On a table of one's own they may be fewer.
    select 'tms_app', 'table', name, p from audit.own_tables() cross join lateral unnest(array['SELECT', 'INSERT', 'UPDATE', 'DELETE']) p where name <> 'app.tenants'
    union all
    select role, kind, name, 'EXECUTE' from audit.manifest() cross join lateral string_to_table(granted, ' ') role
  )
  select 'warning', null::uuid, case when kind = 'table' then object end, jsonb_strip_nulls(jsonb_build_object('object', case kind when 'function' then object when 'schema' then 'schema ' || object end, 'role', role, 'privilege', privilege)),
    case when not case kind when 'schema' then has_schema_privilege(to_regrole(role), oid, privilege)
                            when 'table' then has_table_privilege(to_regrole(role), oid, privilege)
                            else has_function_privilege(to_regrole(role), oid, privilege) end
      then format('%s has no %s on the %s %s: requests that need it fail', role, privilege, kind, object) end,
    audit.by_owner(pg_get_userbyid(owner), format('grant %s on %s %s to %s;', privilege, case kind when 'function' then 'routine' else kind end, object, role))
  from template join own using (kind, object)
  where role in ('tms_service', 'tms_app', 'tms_registrar') -- table_grants and the run itself tell of tms_auditor's
$$;

create or replace function audit.check_default_privileges()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- As the checks of what is made have it: to a role of somebody else's, what policies narrow is a warning.
  select case when w.outsider and not a.is_grantable and (d.defaclobjtype = 'r' and a.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
                or d.defaclobjtype = 'S' and a.privilege_type <> 'UPDATE') then 'warning'
              when w.ours or d.defaclnamespace in (0, to_regnamespace('app'), to_regnamespace('api'), to_regnamespace('control'), to_regnamespace('audit'), to_regnamespace('public'))
                then 'error' else 'warning' end,
    null::uuid, null, jsonb_build_object('owner', d.defaclrole::regrole::text, 'role', a.who, 'privilege', a.privilege_type),
    case when a.who in ('public', 'tms_service', 'tms_app', 'tms_registrar') or w.ours and w.outsider
           or a.who = 'tms_auditor' and a.privilege_type not in ('SELECT', 'USAGE', 'EXECUTE') then
      format('%s gets %s on everything that %s makes%s, before anybody isolates it', a.who, a.privilege_type, d.defaclrole::regrole,
        coalesce(' in ' || nullif(d.defaclnamespace, 0)::regnamespace, '')) end,
    audit.by_owner(pg_get_userbyid(d.defaclrole), format('alter default privileges for role %s%s revoke all on %s from %s;', d.defaclrole::regrole,
      coalesce(' in schema ' || nullif(d.defaclnamespace, 0)::regnamespace, ''),
      case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'n' then 'schemas' else 'large objects' end, a.who))
  from pg_default_acl d
  cross join lateral (select x.*, audit.role_name(x.grantee) as who from aclexplode(d.defaclacl) x) a
  cross join lateral (
    select d.defaclrole::regrole::text = any (audit.our_roles()) as ours,
      a.who <> all (array_append(audit.our_roles(), 'public')) as outsider) w
  where a.grantee <> d.defaclrole and d.defaclobjtype in ('r', 'S', 'f', 'n', 'L')
    -- Whoever writes rows may draw their numbers, as other_grants has it.
    and not (d.defaclobjtype = 'S' and a.who = 'tms_app' and a.privilege_type in ('USAGE', 'SELECT') and not a.is_grantable
      and d.defaclnamespace not in (0, to_regnamespace('control'), to_regnamespace('audit'), to_regnamespace('api')))
    -- What everybody has anyway stands in the same list; other checks look at what is made.
    and not (d.defaclnamespace = 0 and d.defaclrole <> to_regrole('tms_owner') and exists (
      select from aclexplode(acldefault(case d.defaclobjtype when 'S' then 's' else d.defaclobjtype end, d.defaclrole)) x
      where x.grantee = a.grantee and x.privilege_type = a.privilege_type))
  union all
  select 'warning', null, null, jsonb_build_object('owner', 'tms_owner', 'role', 'public', 'privilege', 'EXECUTE'),
    case when not exists (
      select from pg_default_acl where defaclrole = to_regrole('tms_owner') and defaclnamespace = 0 and defaclobjtype = 'f')
    then 'everybody may execute every function that tms_owner makes from now on' end,
    'alter default privileges for role tms_owner revoke execute on functions from public;'
$$;

-- What Postgres and its extensions ship, as they shipped it (pg_init_privs): a right more, and the wall is walked around. A foreign
-- server is reached as whoever its owner has made of everybody.
create or replace function audit.check_system_grants()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with shipped (classid, objid, kind, name, acl, owner, since) as (
    select 'pg_class'::regclass::oid, c.oid, 'table', c.oid::regclass::text, c.relacl, c.relowner, 'r'::"char"
    from pg_class c where c.relnamespace in ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace) and c.relacl is not null
    union all
    select 'pg_proc'::regclass, f.oid, 'function', f.oid::regprocedure::text, f.proacl, f.proowner, 'f'
    from pg_proc f
    where f.proacl is not null and (f.pronamespace = 'pg_catalog'::regnamespace
      or f.oid in (select audit.of_extensions('pg_proc')))
    union all
    select 'pg_foreign_server'::regclass, s.oid, 'foreign server', quote_ident(s.srvname), s.srvacl, s.srvowner, 'S'
    from pg_foreign_server s where s.srvacl is not null
    union all
    select 'pg_foreign_data_wrapper'::regclass, w.oid, 'foreign data wrapper', quote_ident(w.fdwname), w.fdwacl, w.fdwowner, 'F'
    from pg_foreign_data_wrapper w where w.fdwacl is not null
    union all
    select 'pg_namespace'::regclass, n.oid, 'schema', n.oid::regnamespace::text, n.nspacl, n.nspowner, 'n'
    from pg_namespace n where n.nspname in ('pg_catalog', 'pg_toast') and n.nspacl is not null
  ), given as (
    select s.kind, s.name, a.grantee, a.privilege_type, ''::text as col, t.oid as toasted
    from shipped s
    left join pg_class t on s.kind = 'table' and t.reltoastrelid = s.objid
    left join pg_init_privs i on i.classoid = s.classid and i.objoid = s.objid and i.objsubid = 0
    cross join lateral aclexplode(s.acl) a
    where not exists (
      -- What everybody may, as it shipped, a role may also be given by name: the set-up of pg_partman does.
      select from aclexplode(coalesce(i.initprivs, acldefault(s.since, s.owner))) x
      where x.privilege_type = a.privilege_type and (x.grantee = a.grantee or x.grantee = 0 and s.kind = 'function' and x.privilege_type in (
        select y.privilege_type from aclexplode(s.acl) y where y.grantee = 0)))
    union all
    select 'table', t.attrelid::regclass::text, a.grantee, a.privilege_type, format(' (%I)', t.attname), o.oid
    from pg_attribute t
    join pg_class c on c.oid = t.attrelid and c.relnamespace in ('pg_catalog'::regnamespace, 'pg_toast'::regnamespace)
    left join pg_class o on o.reltoastrelid = c.oid
    left join pg_init_privs i on i.classoid = 'pg_class'::regclass and i.objoid = t.attrelid and i.objsubid = t.attnum
    cross join lateral aclexplode(t.attacl) a
    where not exists (select from aclexplode(i.initprivs) x where x.grantee = a.grantee and x.privilege_type = a.privilege_type)
    union all
    select 'parameter', p.parname, a.grantee, a.privilege_type, '', null from pg_parameter_acl p cross join lateral aclexplode(p.paracl) a
  )
  select case when w.ours then 'error' else 'warning' end, null::uuid, case when kind = 'table' then name end, jsonb_build_object('object', name, 'role', w.who, 'privilege', privilege_type),
    format('%s has %s%s on the %s %s%s, which Postgres and its extensions do not grant by default', w.who, privilege_type, col, kind, name,
      case when toasted is not null then format(' (the large values of %s, past every policy)', toasted::regclass) end),
    format('revoke %s%s on %s %s from %s; -- as a superuser', privilege_type, col, kind, name, w.who)
  from given
  cross join lateral (select audit.role_name(grantee), audit.role_name(grantee) = any (array_append(audit.our_roles(), 'public'))) as w (who, ours)
  -- Statistics, large values, the server's files and its log hold tenants' values, whoever reads them.
  where w.ours or kind = 'table' and name in ('pg_statistic', 'pg_statistic_ext_data') or kind = 'function' and name ~ '^(pg_read_(binary_)?file|lo_import)\(|\mpg_get_wal_'
    or toasted = 'pg_statistic'::regclass or toasted in (select relid from audit.relations())
    -- Who writes as one of these, or makes itself it, may do so without keys and triggers.
    or kind = 'parameter' and name in ('session_replication_role', 'lo_compat_privileges') and exists (
      select from pg_roles r
      cross join lateral (select case when current_setting('server_version_num')::int >= 160000 then 'usage, set' else 'member' end) k (kind)
      where not r.rolsuper and pg_has_role(r.oid, given.grantee, k.kind)
        and exists (select from pg_roles t where t.rolname in ('tms_owner', 'tms_service', 'tms_app', 'tms_registrar') and pg_has_role(r.oid, t.oid, k.kind)))
  union all
  -- pg_stats leaves out what policies hide from whoever reads it, which pg_statistic does not, nor a copy of it that somebody else made.
  select 'warning', null, o.relid::text, jsonb_build_object('role', a.who, 'privilege', a.privilege_type),
    format('%s reads in it the most common values of all tenants'' rows, from the statistics and with the rights of %s', a.who, o.owner),
    format('revoke %s on table %s from %s;', a.privilege_type, o.relid, a.who)
  from (
    with recursive over (relid, relkind, owner, options, acl) as (
      select c.oid, c.relkind, c.relowner, c.reloptions, c.relacl
      from (select format(':relid (%s) ', string_agg(x::regclass::oid::text, '|')) from unnest(array['pg_statistic', 'pg_statistic_ext_data']) x) s (reads)
      cross join (select format(':relid (%s) ', string_agg(x::regclass::oid::text, '|')) from unnest(array['pg_stats', 'pg_stats_ext', 'pg_stats_ext_exprs']) x) v (copies)
      cross join pg_rewrite w
      join pg_class c on c.oid = w.ev_class and c.relkind in ('v', 'm') and c.oid >= 16384
      join pg_roles r on r.oid = c.relowner
      where case when w.ev_action::text ~ s.reads and has_table_privilege(c.relowner, 'pg_statistic', 'select')
                   or c.relkind = 'm' and (r.rolsuper or r.rolbypassrls) and w.ev_action::text ~ v.copies
              then pg_get_viewdef(c.oid) ~ 'stavalues|stxdmcv|stxdexpr|most_common_|elem_count_histogram|histogram_bounds|bounds_histogram|\.\*' end
      union
      select c.oid, c.relkind, c.relowner, c.reloptions, c.relacl
      from over o
      join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = o.relid and d.classid = 'pg_rewrite'::regclass
      join pg_rewrite w on w.oid = d.objid
      join pg_class c on c.oid = w.ev_class and c.relkind in ('v', 'm')
    )
    select relid::regclass as relid, owner::regrole as owner, acl from over
    where relid not in (select audit.of_extensions('pg_class')) and (relkind = 'm' or not exists (
      select from pg_options_to_table(options) where case when option_name = 'security_invoker' then option_value::boolean end))) o
  cross join lateral (
    select x.grantee, x.privilege_type, audit.role_name(x.grantee) as who
    from (select a.* from aclexplode(o.acl) a union all select a.* from pg_attribute t cross join lateral aclexplode(t.attacl) a where t.attrelid = o.relid) x) a
  -- Of the five app_reach and service_reach tell, which is worse.
  where a.privilege_type = 'SELECT' and a.who <> all (audit.our_roles()) and a.grantee <> o.owner
    and not exists (select from pg_roles r where r.oid = a.grantee and r.rolsuper)
$$;
--! EndIncluded audit/checks/grants.sql
--! Included audit/checks/tables.sql
create or replace function audit.check_table_rules()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb, f.fault,
    -- A partition that is isolated by itself is open to tms_app under its own name.
    format(E'%s\nselect app.isolate(%L);', case when f.fault = 'tenant_id may be null' then format('alter table %s alter column tenant_id set not null;', r.relid)
             -- As a tool writes a type `string`; numbers are nobody's uuid.
             when f.fault = 'tenant_id is not of type uuid' and t.typcategory = 'S'
               then format('alter table %s alter column tenant_id drop default, alter column tenant_id type uuid using tenant_id::uuid;', r.relid)
             when f.fault = 'it has no primary key' then format('alter table %s add primary key (tenant_id, …); -- with what tells the rows of one tenant apart', r.relid)
             else coalesce(k.mend, '-- mend it, then:') end,
      coalesce(pg_partition_root(r.relid), p.inhparent, r.relid)::regclass)
  from audit.relations() r
  left join lateral (select inhparent from pg_inherits where inhrelid = r.relid order by inhseqno limit 1) p on r.is_child
  left join lateral app.table_faults(r.relid) f on not f.inherited
  left join pg_attribute a on a.attrelid = r.relid and a.attname = 'tenant_id'
  left join pg_type t on t.oid = a.atttypid
  left join lateral (
    -- The same key with tenant_id in front of it, and nowhere else; what refers to it, and is in order itself, comes off meanwhile.
    select concat(b.off, case when c.oid is null then format('drop index %s; %s;', i.indexrelid::regclass, d.led)
                              else format('alter table %s drop constraint %I, add constraint %2$I %s;', r.relid, c.conname, d.led) end, b.again,
      case when c.contype = 'x' then ' -- needs the extension btree_gist' end) as mend
    from pg_index i left join pg_constraint c on c.conindid = i.indexrelid and c.contype in ('p', 'u', 'x')
    cross join lateral (
      -- One that was dropped since the snapshot was taken has no definition. ONLY is how Postgres writes that of a partitioned table: made so, it would be of no partition.
      select case when i.indexrelid::regclass::text !~ '^\d'
        then regexp_replace(regexp_replace(coalesce(pg_get_constraintdef(c.oid), replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')), ', tenant_id\M( WITH =)?', ''),
          '\(', case when c.contype = 'x' then '(tenant_id WITH =, ' else '(tenant_id, ' end) end as led) d
    cross join lateral (
      select string_agg(format('alter table %s drop constraint %I; ', f.conrelid::regclass, f.conname), '' order by f.oid) as off,
        string_agg(format(' alter table %s add constraint %I %s;', f.conrelid::regclass, f.conname, pg_get_constraintdef(f.oid)), '' order by f.oid) as again
      from pg_constraint f
      where f.conindid = i.indexrelid and f.contype = 'f' and f.conparentid = 0 and exists (
        select from unnest(f.conkey, f.confkey) as k (child, parent)
        join pg_attribute a on a.attrelid = f.conrelid and a.attnum = k.child and a.attname = 'tenant_id'
        join pg_attribute p on p.attrelid = f.confrelid and p.attnum = k.parent and p.attname = 'tenant_id')) b
    where i.indrelid = r.relid and (i.indisunique or i.indisexclusion) and strpos(f.fault, format('the unique index %s does not begin', i.indexrelid::regclass)) = 1
    union all
    -- The same foreign key with tenant_id on both sides; its parent's key may have to be mended first, which it would forbid.
    select format(E'alter table %1$s drop constraint %2$I; -- then give %3$s a key (tenant_id, %5$s), if it has none, and:\nalter table %1$s add constraint %2$I foreign key (tenant_id, %4$s) references %3$s (tenant_id, %5$s)%6$s%7$s%8$s%9$s%10$s;',
      r.relid, c.conname, c.confrelid::regclass, o.child, o.parent, case when c.confmatchtype = 'f' then ' match full' end,
      case c.confdeltype when 'c' then ' on delete cascade' when 'r' then ' on delete restrict' when 'n' then format(' on delete set null (%s)', o.emptied)
        when 'd' then format(' on delete set default (%s)', o.emptied) end,
      case c.confupdtype when 'c' then ' on update cascade' when 'r' then ' on update restrict' end,
      case when c.condeferred then ' deferrable initially deferred' when c.condeferrable then ' deferrable' end,
      substring(pg_get_constraintdef(c.oid) from ' NOT (?:VALID|ENFORCED)$'))
    from pg_constraint c
    cross join lateral (
      select string_agg(w.period || quote_ident(a.attname), ', ' order by u.n) as child, string_agg(w.period || quote_ident(b.attname), ', ' order by u.n) as parent,
        string_agg(quote_ident(a.attname), ', ' order by u.n) filter (where c.confdelsetcols is null or u.child = any (c.confdelsetcols)) as emptied
      from unnest(c.conkey, c.confkey) with ordinality as u (child, parent, n)
      join pg_attribute a on a.attrelid = c.conrelid and a.attnum = u.child
      join pg_attribute b on b.attrelid = c.confrelid and b.attnum = u.parent
      cross join lateral (select case when (to_jsonb(c) ->> 'conperiod')::boolean and u.n = cardinality(c.conkey) then 'period ' else '' end as period) w
      where 'tenant_id' not in (a.attname, b.attname)) o
    where c.conrelid = r.relid and c.contype = 'f' and o.child is not null
      and (strpos(f.fault, format('the foreign key %I does not pair', c.conname)) = 1 or strpos(f.fault, format('the foreign key %I would set tenant_id', c.conname)) = 1)) k on true
  where r.tenant_column = 'tenant_id'
  union all
  select 'warning', null, r.relid::text, case when d.oid is null then '{}' else jsonb_build_object('column', 'tenant_id') end,
    case when pg_get_expr(d.adbin, d.adrelid) ~* '[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}'
      then 'tenant_id has a tenant''s id as its default: what a migration or a job writes without a tenant becomes that one''s' end,
    format('alter table %s alter column tenant_id drop default;', r.relid)
  from audit.relations() r
  left join pg_attribute a on a.attrelid = r.relid and a.attname = 'tenant_id' and a.attgenerated = ''
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where r.tenant_column = 'tenant_id'
  union all
  -- Of the tenants themselves every key is over all of them.
  select 'warning', null, 'app.tenants', jsonb_build_object('index', i.indexrelid::regclass::text),
    case when i.indkey[0] <> all (array(select attnum from pg_attribute where attrelid = i.indrelid and attname in ('id', 'slug', 'is_default')))
      then format('the unique index %s is over all tenants: who may change one learns what others have', i.indexrelid::regclass) end,
    format('drop index %s;', i.indexrelid::regclass)
  from pg_index i where i.indrelid = to_regclass('app.tenants') and (i.indisunique or i.indisexclusion)
$$;

-- The service's own tables and their columns: most tests are made from the columns there are, and of the types they have, so
-- that a column that is gone, or another than it was, would take its test along without a word. `null`: it may be, or (of
-- tenant_id) another check asks.
create or replace function audit.check_table_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, t.name, case when c.name is null then '{}' else jsonb_build_object('column', c.name) end,
    case when to_regclass(t.name) is null then 'the table is not there: what depends on it was not examined'
         when c.name is null then null
         when a.attname is null then format('the column %s is not there: what is asked of it was not examined', c.name)
         when a.atttypid <> c.type then format('the column %s is of type %s and not %s: what is asked of it was not examined', c.name, a.atttypid::regtype, c.type)
         when not l.collisdeterministic then format('the column %s has a nondeterministic collation, so that different strings compare equal: one identity, or slug, passes for another', c.name)
         when not c.nullable and not (a.attnotnull and not u.nvalidated) then format('the column %s may be null: nothing asks for a row where it is', c.name) end,
    case when a.attname is null then 'restore it from a backup, or run the migrations: npm run migrate'
         when not l.collisdeterministic then format('alter table %s alter column %I type %s collate pg_catalog."default";', t.name, c.name, c.type)
         when a.atttypid = c.type then format('alter table %s alter column %I set not null;', t.name, c.name)
         else case when c.type = 'timestamptz'::regtype then E'-- first: set timezone to the one that its values are of\n' else '' end
           || format('alter table %s alter column %I type %s using %I::%s;', t.name, c.name, c.type, c.name, c.type) end
  from audit.own_tables() t
  cross join lateral (
    select null as name, null::regtype as type, true as nullable
    union all
    select split_part(d, ' ', 1), split_part(d, ' ', 2)::regtype, d like '% null' from string_to_table(t.columns, ', ') d) c
  left join pg_attribute a on a.attrelid = to_regclass(t.name) and a.attname = c.name and not a.attisdropped
  left join pg_collation l on l.oid = a.attcollation
  -- From Postgres 18 on attnotnull is true of a NOT NULL that is not yet validated, too.
  cross join lateral (
    select exists (select from pg_constraint k where k.conrelid = a.attrelid and k.contype = 'n' and k.conkey = array[a.attnum] and not k.convalidated)) u (nvalidated)
  where c.name is null or to_regclass(t.name) is not null
$$;

-- The tables that hang on a tenant by their foreign keys, whether or not anybody thought of tenant_id.
create or replace function audit.check_table_without_tenant()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive reached (relid) as (
    select relid::oid from audit.relations()
    union
    select c.conrelid from reached r join pg_constraint c on c.confrelid = r.relid
  )
  select 'error', null::uuid, c.oid::regclass::text, '{}'::jsonb,
    case when t.relid is null then
      case when o.name is not null then format('the tenant of its rows is in %I: what asks for tenant_id, every check too, does not find it', o.name)
      when k.relid is not null then 'the table refers to tenants'' rows and has no column tenant_id: its rows belong to nobody'
      else 'the table is among the tenants'' tables and has no column tenant_id' end end,
    case when o.name is not null then format(E'alter table %1$s rename column %2$I to tenant_id;\nselect app.isolate(%1$L);', c.oid::regclass, o.name)
    else format(E'-- this gives every row to the default tenant; where rows are of several tenants, add tenant_id and fill it first:\n'
      'select app.isolate(%L, p_adopt => true);%s', c.oid::regclass, case when k.relid is null then
        format(E'\n-- what all tenants share, such as a list of countries, belongs in a schema of its own instead: alter table %s set schema …;', c.oid::regclass) end) end
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join audit.relations() t on t.relid = c.oid
  left join reached k on k.relid = c.oid
  left join lateral (
    -- One column that is never null says whose each row is, under another name.
    select min(a.attname) as name
    from pg_constraint f join pg_attribute a on a.attrelid = f.conrelid and f.conkey = array[a.attnum]
    join pg_attribute i on i.attrelid = f.confrelid and f.confkey = array[i.attnum] and i.attname = 'id'
    where f.conrelid = c.oid and f.confrelid = to_regclass('app.tenants') and a.attnotnull
    having count(distinct a.attname) = 1) o on true
  where c.relkind in ('r', 'p') and n.nspname not in ('control', 'audit')
    and (n.nspname = 'app' or k.relid is not null)
$$;

create or replace function audit.check_table_owner()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, o.name, o.key,
    case when o.owner is distinct from to_regrole('tms_owner') then format('%s is owned by %s: an owner can switch row-level security off', o.name, o.owner::regrole) end,
    audit.by_giving_back(o.kind || ' ' || o.name, pg_get_userbyid(o.owner))
  from (
    select c.oid::regclass::text as name, '{}'::jsonb as key, c.relowner as owner, case c.relkind when 'S' then 'sequence' when 'v' then 'view' else 'table' end as kind
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'S') and (n.nspname in ('app', 'control', 'audit', 'api', 'graphile_migrate') or c.oid in (select relid from audit.relations()))
    union all
    select n.nspname, jsonb_build_object('schema', n.nspname), n.nspowner, 'schema'
    from pg_namespace n where n.nspname in ('app', 'api', 'control', 'audit', 'graphile_migrate')
  ) o
$$;

create or replace function audit.check_view_leaks()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive reading (oid) as (
    select relid::oid from audit.relations()
    union
    select oid from pg_class where relnamespace in (to_regnamespace('control'), to_regnamespace('audit')) and relkind in ('r', 'p')
    union
    select w.ev_class from reading r
    join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = r.oid and d.classid = 'pg_rewrite'::regclass
    join pg_rewrite w on w.oid = d.objid
  )
  select 'error', null::uuid, c.oid::regclass::text, '{}'::jsonb,
    case when c.relkind = 'm' then 'the materialized view holds tenants'' rows, and no policy applies to it'
         when not exists (select from pg_options_to_table(c.reloptions) where case when option_name = 'security_invoker' then option_value::boolean end)
           then format('the view reads tenants'' rows with the rights of its owner, %s', c.relowner::regrole) end,
    case when c.relkind = 'm' then format('drop materialized view %s;', c.oid::regclass)
         else format('alter view %s set (security_invoker = true);', c.oid::regclass) end
  from pg_class c join reading r on r.oid = c.oid
  where c.relkind in ('v', 'm') and c.relpersistence <> 't' -- that of a session nobody else reads
  union all
  select 'warning', null, c.oid::regclass::text, '{}', format('pg_repack''s copy of %s holds tenants'' rows: once pg_repack was killed, no deletion reaches them', r.relid),
    '-- unless pg_repack is at work:' || E'\ndrop extension pg_repack cascade; create extension pg_repack;'
  from audit.relations() r join pg_class c on c.relnamespace = to_regnamespace('repack') and c.relname = 'table_' || r.relid::oid
$$;

create or replace function audit.check_foreign_table()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, c.oid::regclass::text, '{}'::jsonb,
    case when c.relkind = 'f' then 'the foreign table holds tenants'' rows, and no policy applies to it' end,
    format('drop foreign table %s;', c.oid::regclass)
  from pg_class c
  where c.relkind in ('f', 'r', 'p') and (c.relnamespace = to_regnamespace('app')
    or c.relkind = 'f' and exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id'))
$$;

create or replace function audit.check_rewrite_rule()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive reaching as materialized (
    select w.oid, w.rulename, w.ev_class, d.refobjid
    from pg_rewrite w join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
    where w.rulename <> '_RETURN'
  ), set_off (relid) as (
    -- By requests, and by what requests set off.
    select ev_class from reaching where has_any_column_privilege('tms_app', ev_class, 'insert, update') or has_table_privilege('tms_app', ev_class, 'delete')
    union
    select w.refobjid from set_off s join reaching w on w.ev_class = s.relid
  )
  select 'error', null::uuid, r.relid::text, jsonb_build_object('rule', w.rulename),
    case when w.oid is not null then format('the rule %I rewrites statements on the table with the rights of its owner', w.rulename) end,
    'drop rule ' || quote_ident(w.rulename) || ' on ' || r.relid || ';'
  from audit.relations() r left join pg_rewrite w on w.ev_class = r.relid
  union all
  -- And one on anything else that gets there.
  select distinct 'error', null::uuid, w.ev_class::regclass::text, jsonb_build_object('rule', w.rulename),
    format('the rule %I reaches %s with the rights of the owner, %s', w.rulename, w.refobjid::regclass, o.relowner::regrole),
    'drop rule ' || quote_ident(w.rulename) || ' on ' || w.ev_class::regclass || ';'
  from reaching w
  join pg_class o on o.oid = w.ev_class
  join pg_class c on c.oid = w.refobjid
  cross join lateral (select pg_get_ruledef(w.oid)) d (text)
  where w.ev_class not in (select relid from audit.relations())
    and (c.oid in (select relid from audit.relations()) or c.relnamespace in (to_regnamespace('control'), to_regnamespace('audit'))
      or c.relkind in ('r', 'p', 'v', 'm', 'f') and w.ev_class in (select relid from set_off)
        -- Carried to where it is read, or shown.
        and case when has_any_column_privilege('tms_app', c.oid, 'select') then c.oid <> w.ev_class
                 else d.text ~* '(\mdo(\s+(instead|also))?\s*\(?|;)\s*(with\M.*)?\mselect\M|\mreturning\M' and (c.oid <> w.ev_class or d.text ~* '\mold\M') end)
$$;

create or replace function audit.check_publication()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, r.relid::text, jsonb_build_object('publication', p.pubname),
    case when p.pubname is not null then format('the publication %I sends every tenant''s rows to its subscribers: replication knows no policy', p.pubname) end,
    E'-- for a replica of the whole service this is right; else:\n' || p.mend
  from audit.relations() r
  left join lateral (
    select p.pubname, format('drop publication %I; -- and make one that lists what may leave', p.pubname) as mend from pg_publication p where p.puballtables
    union all
    select p.pubname, format('alter publication %I drop table %s;', p.pubname, r.relid)
    from pg_publication p join pg_publication_rel x on x.prpubid = p.oid and x.prrelid = r.relid
    union all
    select p.pubname, format('alter publication %I drop tables in schema %I;', p.pubname, n.nspname)
    from pg_publication p join pg_publication_namespace x on x.pnpubid = p.oid
    join pg_class c on c.relnamespace = x.pnnspid and c.oid = r.relid join pg_namespace n on n.oid = c.relnamespace
  ) p on true
  union all
  select 'warning', null, r.relid::text, jsonb_build_object('subscription', s.subname),
    format('the subscription %I writes another server''s rows into the table: replication asks no policy, no foreign key and no trigger', s.subname),
    format(E'-- for a copy of the whole service this is right; else, as its owner:\ndrop subscription %I;', s.subname)
  from audit.relations() r join pg_subscription_rel x on x.srrelid = r.relid join pg_subscription s on s.oid = x.srsubid
  union all
  -- Only pgoutput asks what is published.
  select 'warning', null, null, jsonb_build_object('slot', s.slot_name),
    format('the replication slot %s sends every tenant''s rows to whoever reads it, through %s: replication knows no policy', quote_ident(s.slot_name), s.plugin),
    format(E'-- where nobody is to have them, as a superuser or who may replicate:\nselect pg_drop_replication_slot(%L);', s.slot_name)
  from pg_replication_slots s where s.database = current_database() and s.plugin <> 'pgoutput'
$$;
--! EndIncluded audit/checks/tables.sql
--! Included audit/catalog.sql
create or replace function audit.severity_rank(p_severity text)
returns int
language sql
immutable
return array_position(array['error', 'warning', 'info'], p_severity);
comment on function audit.severity_rank(text) is 'The severities in order: 1 is the worst.';

-- Every check: what it finds, why that matters, how to fix it. The report, docs/audit.md and the tests are held to it.
create or replace function audit.checks()
returns table ("check" text, category text, severity text, family text, gate boolean, finds text, why text, mend text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
  -- data: one tenant's rows reaching into another's
  ('user_of_other_tenant', 'cross_tenant_access', 'error', 'data', false,
    'A row acts for a user of another tenant: its author, or whoever is charged for it.',
    'Whoever lists the row shows a person, and whatever hangs on that person, to strangers.',
    'Point the row to a user of its own tenant or delete it; then look for the foreign key that let it in.'),
  ('parent_of_other_tenant', 'cross_tenant_access', 'error', 'data', false,
    'A row belongs to a row of another tenant: a generation on a foreign board, media of a foreign generation.',
    'Deleting or listing the one reaches the other, across the wall that policies keep.',
    'Move the row to the tenant of what it belongs to, or delete it.'),
  ('storage_of_other_tenant', 'cross_tenant_access', 'error', 'data', false,
    'The storage address of a medium names another tenant''s id and not its own tenant''s.',
    'Policies end at the table: whoever is given the address reads the other tenant''s file.',
    'Find out whose file it is; correct tenant_id or storage_url.'),
  -- data: rows that belong to nothing
  ('tenant_missing', 'orphaned_record', 'error', 'data', false,
    'A row''s tenant does not exist, or the row has none.',
    'No tenant sees it and no deletion reaches it: data kept that was promised gone, waiting for an id to come back.',
    'Delete it, or restore the tenant; then validate the foreign key to app.tenants.'),
  ('parent_missing', 'orphaned_record', 'error', 'data', false,
    'A row refers to a row that is in no tenant at all, or to another tenant that does not exist.',
    'A half-deleted tenant or a restore of single tables looks like this.',
    'Delete it, or restore what it refers to; then validate the foreign key.'),
  -- data: boards
  ('board_owner_outside_tenant', 'board_membership', 'error', 'data', false,
    'A board''s owner is not a user of the board''s tenant.', 'Somebody from outside holds the board.', 'Give the board an owner of its tenant.'),
  ('board_member_outside_tenant', 'board_membership', 'error', 'data', false,
    'A member of a board is not a user of the board''s tenant.', 'Somebody from outside works on the board.', 'Delete the membership.'),
  ('membership_without_board', 'board_membership', 'error', 'data', false,
    'A membership names a board that its tenant does not have.', 'The right to a board of another tenant, or of nobody.', 'Delete the membership.'),
  ('board_inviter_outside_tenant', 'board_membership', 'error', 'data', false,
    'Whoever invited a board member is not a user of the tenant.', 'Nobody inside answers for the invitation.', 'Set invited_by to null, and ask who this is.'),
  ('removed_member_on_board', 'board_membership', 'error', 'data', false,
    'A user who has left the tenant is still on a board.', 'Coming back under the same identity would bring the old rights along.', 'Delete the membership.'),
  ('board_role_unknown', 'board_membership', 'error', 'data', false,
    'A board member''s role is not viewer, editor or admin.', 'What the role may do is up to whichever code reads it first.', 'Set one of the three roles, then restore the constraint.'),
  ('board_owner_as_member', 'board_membership', 'info', 'data', false,
    'A board''s owner is also listed as one of its members.', 'Two roles for one person: the lesser one may win.', 'Delete the membership; the owner needs none.'),
  -- data: rows that contradict others
  ('identity_twice_in_tenant', 'data_consistency', 'error', 'data', false,
    'One identity has two rows in one tenant.', 'Which of the two roles a request gets is chance.', 'Merge the two users, then restore the unique constraint.'),
  ('provider_twice_in_tenant', 'data_consistency', 'error', 'data', false,
    'A tenant has two configurations for one provider.', 'Which of the two credentials is used, and billed, is chance.', 'Delete one, then restore the unique constraint.'),
  ('slug_twice', 'data_consistency', 'error', 'data', false,
    'Two tenants have one slug.', 'A request that names the slug may be let into either.', 'Rename one, then restore the unique constraint.'),
  ('default_tenant_twice', 'data_consistency', 'error', 'data', false,
    'More than one tenant is the default one.', 'In single-tenant mode requests would land in either.', 'Clear the flag of all but one, then restore the unique index.'),
  ('tenant_malformed', 'data_consistency', 'error', 'data', false,
    'A tenant''s slug cannot be written in a request, or its name is blank or too long.', 'Nobody gets into it, and slugs that look alike mislead.', 'Rename it.'),
  ('tenant_count_wrong', 'data_consistency', 'error', 'data', false,
    'The running totals of tenants differ from the tenants there are.', 'Somebody wrote app.tenants past its triggers.', 'Recount, as the remedy does.'),
  ('tenant_without_owner', 'data_consistency', 'warning', 'data', false,
    'A tenant that somebody registered has no owner left.', 'Nobody inside may manage it.', 'Make a member its owner.'),
  ('credit_balance', 'data_consistency', 'error', 'data', false,
    'A balance is not the balance before it plus the amount, in the order of the ledger; entries of one created_at may be in any order that adds up.', 'Credit appears or vanishes.', 'Look at the ledger around the row; book a correction.'),
  ('generation_state', 'data_consistency', 'error', 'data', false,
    'A generation is completed without a time, or has a time and is not finished.', 'Bills and retries go by either.', 'Set the status that is true.'),
  ('completed_without_media', 'data_consistency', 'warning', 'data', false,
    'A generation is completed and has no media.', 'It was paid for and shows nothing.', 'Mark it failed, or restore the media.'),
  ('value_unknown', 'data_consistency', 'error', 'data', false,
    'A role or status is not one that the service knows.', 'Code that asks "not a member?" lets unknown roles in.', 'Set a known value, then restore the constraint.'),
  ('times_out_of_order', 'data_consistency', 'error', 'data', false,
    'A row of the service''s own tables was changed, finished or removed before it was made.', 'The order of events, which audits and bills rest on, is wrong.', 'Correct the times, then restore the constraint.'),
  ('time_in_future', 'data_consistency', 'warning', 'data', false,
    'A credit transaction was booked more than an hour from now.', 'A clock is wrong, or somebody wrote the time by hand: the ledger''s order is no longer that of events.', 'Correct created_at.'),
  ('not_an_object', 'data_consistency', 'error', 'data', false,
    'In one of the service''s own tables settings, config, input or registration hold JSON that is not an object.', 'Readers that look for a key find null, and defaults apply unasked.', 'Write an object, then restore the constraint.'),
  ('constraint_broken', 'data_consistency', 'error', 'data', false,
    'A row breaks a CHECK of its table that was added NOT VALID or is not enforced.', 'The rule is believed and does not hold.', 'Correct the row, then validate the constraint.'),

  -- schema: the wall itself
  ('rls_disabled', 'isolation_config', 'error', 'schema', true,
    'A tenants'' table, partition or child without row-level security.', 'Policies, if there are any, are not applied to anybody.', 'Enable it; app.isolate() does.'),
  ('rls_not_forced', 'isolation_config', 'error', 'schema', true,
    'Row-level security that its owner is exempt from.', 'Definer functions of the owner, and migrations, see every tenant.', 'Force it; app.isolate() does.'),
  ('table_inherits', 'isolation_config', 'error', 'schema', true,
    'A tenants'' table is a child of a table without tenant_id.', 'Reading the parent reads the child''s rows, and none of the child''s policies is asked.', 'Take it out of the parent: NO INHERIT.'),
  ('policy_missing', 'isolation_config', 'error', 'schema', true,
    'One of the template''s policies is not there.', 'Without the restrictive one tenants see each other; without the auditor''s this audit is blind.', 'app.write_policies() writes all of them.'),
  ('policy_changed', 'isolation_config', 'error', 'schema', true,
    'A policy differs from the template: its expression, command, role, or being restrictive.', 'One OR, one missing WITH CHECK, one permissive instead of restrictive opens the table.', 'app.write_policies() writes it again.'),
  ('policy_extra', 'isolation_config', 'error', 'schema', true,
    'A policy that the template does not have. To tms_app it is a warning: there it can only narrow.', 'To any other role it opens the table, or blinds the audit or the migrations.', 'Drop it.'),
  ('policy_function', 'isolation_config', 'error', 'schema', true,
    'A policy calls a function other than app.tenant_id() or those of Postgres that only answer, or reads another table.', 'Immutable functions are folded into plans that the next tenant runs; other tables bring their own holes.', 'Drop the policy, or write it with app.tenant_id().'),
  ('tenant_id_function', 'isolation_config', 'error', 'schema', true,
    'app.tenant_id(), on which every policy rests, is not what it came as.', 'Whoever changes it changes every policy at once.', 'Create it again, as the remedy does.'),
  ('audit_filtered', 'isolation_config', 'error', 'schema', true,
    'A policy hides rows of a table from the audit, or the audit''s results from their readers.', 'What is hidden cannot be found; the data checks then refuse to run.', 'Restore the auditor policy; drop restrictive policies that reach tms_auditor.'),
  -- schema: tables and keys
  ('table_missing', 'isolation_config', 'error', 'schema', true,
    'One of the service''s own tables, or a column of them, is not there, is of another type, has a nondeterministic collation (different strings compare equal), or may be null and should not be.', 'What is not there, or is something else, is not examined.', 'Restore it, or alter the column back.'),
  ('table_rules', 'isolation_config', 'error', 'schema', true,
    'A table, or one of its partitions or children, breaks a rule of app.isolate(): tenant_id nullable, a key that does not begin with it or does not compare it with =, a foreign key without it, to another tenant''s slug or in the way of another''s deletion, or that would change it. A unique key over all tenants, or a tenant''s id as the default of tenant_id, is a warning.', 'Keys look past policies: they tell one tenant of another''s values, and let rows point across.', 'Correct the key, then app.isolate().'),
  ('table_without_tenant', 'isolation_config', 'error', 'schema', true,
    'A table among the tenants'' tables, or one that references them by foreign key, has no tenant_id.', 'Checks that look for the column never see it: everybody reads it.', 'Where all rows are the default tenant''s: app.isolate(…, p_adopt => true). Else add and fill tenant_id first.'),
  ('tenant_key', 'isolation_config', 'error', 'schema', true,
    'tenant_id is not tied to app.tenants by a validated foreign key with ON DELETE CASCADE. Also of control.idempotency_keys.', 'Rows outlive their tenant.', 'Add or validate the foreign key.'),
  ('foreign_key_missing', 'isolation_config', 'error', 'schema', true,
    'A reference between tenants'' tables without its composite foreign key. In tables that are not the service''s own it is a warning, and so is an ON DELETE CASCADE that one of the service''s keys lost or gained.', 'Only the key stops a row from pointing into another tenant.', 'Add it.'),
  ('unique_key_missing', 'isolation_config', 'error', 'schema', true,
    'One of the unique keys that the service relies on is not there, or is deferrable.', 'Two rows for one identity, or two tenants for one slug: which one a request meets is chance.', 'Create it.'),
  ('constraint_not_valid', 'isolation_config', 'error', 'schema', true,
    'A constraint that is NOT VALID or NOT ENFORCED. A CHECK is a warning.', 'It reads like a promise and is none.', 'Validate or enforce it.'),
  ('trigger_disabled', 'isolation_config', 'error', 'schema', true,
    'A trigger is disabled: a foreign key''s own, or (a warning) somebody else''s.', 'A load that switched triggers off left the keys unchecked.', 'Enable it (a foreign key''s own: as a superuser), then run the data checks.'),
  ('index_missing', 'isolation_config', 'warning', 'schema', true,
    'No index leads with a foreign key''s columns.', 'Look-ups read other tenants'' rows, and the time they take tells of them; deleting a tenant takes hours.', 'Create the index.'),
  ('table_owner', 'isolation_config', 'error', 'schema', true,
    'A table, view, sequence or schema of the service is not tms_owner''s.', 'Its owner can switch the policies off.', 'Give it to tms_owner.'),
  ('view_leaks', 'isolation_config', 'error', 'schema', true,
    'A view over tenants'' rows, the bookkeeping or the audit''s results that runs as its owner, or a materialized view of them. The copy that pg_repack makes is a warning.', 'Policies are asked for the owner and not for the reader; a materialized view has none.', 'security_invoker = true; drop the materialized view.'),
  ('foreign_table', 'isolation_config', 'error', 'schema', true,
    'A foreign table among the tenants'' tables.', 'No policy applies to it.', 'Keep it in another schema, behind a function.'),
  ('rewrite_rule', 'isolation_config', 'error', 'schema', true,
    'A rewrite rule on a tenants'' table, or one elsewhere that reaches tenants'' rows, or that a request sets off to read what it may not or to write where it reads.', 'What it adds runs with the rights of the table''s owner.', 'Drop it.'),
  ('publication', 'isolation_config', 'warning', 'schema', true,
    'A publication, or a replication slot that asks none, sends tenants'' rows; or a subscription writes them.', 'A subscriber gets every tenant''s; what it is sent is written past policies and keys.',
    'Drop the table from it, unless the subscriber is a replica of the whole.'),
  -- schema: rights
  ('table_grants', 'isolation_config', 'error', 'schema', true,
    'A right on a tenants'' table beyond the template, or the auditor''s own missing.', 'TRUNCATE, REFERENCES and TRIGGER know no policy; a right of PUBLIC is everybody''s.', 'Revoke it.'),
  ('other_grants', 'isolation_config', 'error', 'schema', true,
    'Rights on the service''s bookkeeping, the audit''s results, views that run as their owner, or sequences.', 'Whoever writes the results of the audit decides what it finds.', 'Revoke them.'),
  ('schema_grants', 'isolation_config', 'error', 'schema', true,
    'CREATE, TEMP or USAGE on a schema or the database beyond what the roles need; CREATE for everybody on any schema.', 'Whoever can create can put an object in another''s place.', 'Revoke it.'),
  ('rights_missing', 'isolation_config', 'warning', 'schema', true,
    'A role that requests act as lacks a right on the service''s schemas, tables or functions.', 'Nobody sees more than before, but requests that need it fail.', 'Grant it again.'),
  ('default_privileges', 'isolation_config', 'error', 'schema', true,
    'Default privileges that give tables, functions or large objects away as they are made: to everybody or a role of the service, or by one of the five to anybody else; in a schema of somebody else''s, or where policies still narrow, a warning.', 'A table is open from the moment it is made until somebody isolates it.', 'Revoke them.'),
  ('service_reach', 'isolation_config', 'error', 'schema', true,
    'The service''s login has a right on a table that it can get at, or on a function outside api; or api holds something else.', 'A login that can only call api functions cannot set a tenant and read it.', 'Revoke it.'),
  ('registrar_reach', 'isolation_config', 'error', 'schema', true,
    'tms_registrar reaches a tenants'' table beyond app.tenants and app.users.', 'It crosses tenants by design; its functions must have nothing to carry.', 'Revoke it.'),
  ('app_reach', 'isolation_config', 'error', 'schema', true,
    'tms_app or tms_registrar has a right on a table, view or foreign table that is no tenants'' table, or tms_app on a large object; a warning where requests only read it, or only write, and no foreign key goes on to delete or change tenants'' rows.',
    'What lies outside has no policy: whatever a request writes there, or somebody copies there, is every tenant''s.',
    'Revoke it; or give the table a tenant_id and call app.isolate().'),
  ('system_grants', 'isolation_config', 'error', 'schema', true,
    'A right of PUBLIC or of one of the five roles on a table, function, schema or parameter that Postgres ships, on a function of an extension, or on a foreign server, beyond those they come with; of anybody else on the statistics, a view of them, the TOAST table of a tenants'' table, or a function that reads the server''s files or its log, a warning, and so is SET on session_replication_role for who may act as one of the five.',
    'Statistics hold values of all tenants'' rows, TOAST tables the large ones, files and the log everything, and SET on session_replication_role switches keys and triggers off.', 'Revoke it.'),
  ('role_owns', 'isolation_config', 'error', 'schema', true,
    'tms_service owns anything, or tms_app, tms_registrar or tms_auditor something else than functions.', 'An owner grants, changes and drops.', 'Give it to tms_owner.'),
  -- schema: functions
  ('function_changed', 'isolation_config', 'error', 'schema', false,
    'A function of the service, or a trigger on its tables, or an event trigger (a warning), is not the one that the release made; is gone; may be executed by others; or runs with the rights of a role of the service and is of no release.',
    'The gate that asks for the membership is a function: whoever changes it opens every tenant, and no policy changes.',
    'Restore it. Of your own, and of event triggers that a provider brought: vouch for it, select audit.accept(…); or run it as its caller.'),
  ('function_owner', 'isolation_config', 'error', 'schema', true,
    'A function of the service is owned by a role that no policy was written for; or a tenants'' table makes or tests its rows with a function or domain of somebody else''s.', 'A definer function has its owner''s rights, a default those of whoever writes: who owns the function can have it do anything as them.', 'Give it back.'),
  ('function_security', 'isolation_config', 'error', 'schema', true,
    'A function is SECURITY DEFINER and should not be, or the other way round.', 'As tms_owner''s definer it may do what only migrations should.', 'Change it back.'),
  ('function_bypass', 'isolation_config', 'error', 'schema', true,
    'A SECURITY DEFINER function of a superuser or of a role with BYPASSRLS, a warning where none of the service''s roles may execute it or has it executed; or one outside the service''s schemas that runs as a tms_ role, or, where they may execute it, as one that Postgres''s own roles let read or write all data.', 'Calling it is a way around every policy.',
    'Make it SECURITY INVOKER, or give it to a role under the policies. Of a provider''s own: select audit.accept(…).'),
  ('trigger_rights', 'isolation_config', 'warning', 'schema', true,
    'A trigger that a foreign key''s action can fire on a tenants'' table, or on one elsewhere by way of a request, reads or writes tables, or what the action makes and tests a row with reads tenants'' tables; and the function is not SECURITY DEFINER.', 'Fired so, it runs as the table''s owner: before the row it reaches every tenant''s rows, after it (on Postgres 18) none.', 'Make its function a definer of tms_app, as docs/extending.md shows.'),
  ('trigger_notifies', 'isolation_config', 'warning', 'schema', true,
    'A trigger sends rows of a tenants'' table, their keys, or their texts, by NOTIFY.', 'Every login of the database may listen, and no policy is asked.', 'Send an id that means nothing to others; whoever listens reads the row inside its tenant.'),
  ('function_search_path', 'isolation_config', 'error', 'schema', true,
    'A function without a fixed search_path, or with pg_temp not in the last place; a warning where it lies elsewhere and none of the service''s roles may execute it.', 'A temporary table of the same name takes the place of the real one.', 'Set it.'),
  ('function_settings', 'isolation_config', 'error', 'schema', true,
    'A function comes with a setting for the role, the tenant, or how policies apply; a warning where it lies elsewhere and none of the service''s roles may execute it.', 'It then works in a tenant of its own choosing.', 'Reset it.'),
  ('function_body', 'isolation_config', 'error', 'schema', true,
    'A function sets the tenant for the whole session, opens the tables to their owner, or changes the role; a warning where it lies elsewhere and none of the service''s roles may execute it. Or a default, a test, a view or the like sets any of these. Or one that is IMMUTABLE reads tenants'' rows or app.tenant_id. Or a trigger''s enters another tenant than that of its row. What it keeps for the session otherwise, temporary tables too, is a warning.', 'On a pooled connection the next request is another tenant''s; the answer of an IMMUTABLE function stays in its plans; what a row says, its writer chose.', 'Use app.set_tenant(); make it STABLE.'),
  ('function_public', 'isolation_config', 'error', 'schema', true,
    'PUBLIC, or another role than planned, may execute a function; or requests may execute one, or have a trigger execute one, with the rights of somebody else, or of dblink (warnings), or one written in C.', 'Functions are executable by everybody until that is revoked.', 'Revoke it.'),
  ('function_leakproof', 'isolation_config', 'error', 'schema', true,
    'A function claims to be LEAKPROOF (an extension''s, Postgres''s own that somebody marked, or one elsewhere that none of the service''s roles may execute: a warning); or the comparison of tenant ids no longer is.', 'The planner runs leakproof conditions before policies.', 'Take the mark away.'),
  -- schema: roles and server
  ('role_attributes', 'isolation_config', 'error', 'schema', true,
    'One of the five roles has an attribute that it must not have.', 'No policy applies to a superuser or BYPASSRLS.', 'Run db/roles.sql.'),
  ('role_membership', 'isolation_config', 'error', 'schema', true,
    'One of the five roles is a member of another role; or somebody may become one of them, or acts as tms_app and may create functions (a warning). Who may act as tms_auditor or tms_app by a login of its own, and who administers the five, is an info.',
    'Policies and rights come along with membership, and pg_policy does not show it.', 'Revoke it, but for DBAs, for jobs that act as tms_app, and for whoever runs db/roles.sql.'),
  ('role_settings', 'isolation_config', 'error', 'schema', true,
    'ALTER ROLE or ALTER DATABASE … SET gives sessions a tenant, app.maintenance, another role or another search_path; or tms_service has lost the settings of db/roles.sql.', 'Without a tenant of its own a request would be in that one.', 'Reset it.'),
  ('bypass_role', 'isolation_config', 'warning', 'schema', true,
    'A role with BYPASSRLS, or with REPLICATION, has rights on tenants'' tables; or one is a member of pg_read_all_data, or of another role of Postgres''s with rights on everything.',
    'The one sees every tenant once it may connect. The other sees no row of theirs, and yet the statistics of their rows, and the service''s bookkeeping: there is no policy.',
    'Take the attribute, or the membership, away. A provider''s own role cannot be changed: ask the provider who logs in with it.'),
  ('server_version', 'isolation_config', 'error', 'schema', false,
    'A Postgres with known holes in row-level security; a warning for the embedded one and for releases nobody looked at.', 'The wall is the server''s own.', 'Update it.'),
  ('server_settings', 'isolation_config', 'error', 'schema', false,
    'Server settings that switch triggers, policies or the protection of large objects off, put every session into a tenant, or log tenants'' values.', 'They work on every database and role.', 'Reset them.'),
  ('statistics_view', 'isolation_config', 'warning', 'schema', false,
    'A statistics view from before CVE-2024-4317.', 'It shows the most common values of hidden rows.', 'Run the script of the release notes.'),
  ('shard_differs', 'isolation_config', 'error', 'schema', false,
    'On Citus: a shard, or a copy of app.tenants, does not have the policies, rights or keys of its table; or a node has another app.tenant_id(), or roles there that get past policies.',
    'Rows are in the shards, and each has policies, rights and keys of its own.', 'Write the policies again on the coordinator; then look at the node.'),
  -- schema: the proof
  ('proof_rows', 'isolation_config', 'error', 'schema', false,
    'Inside a tenant tms_app does not see exactly the rows that the auditor counts for it; where a policy of somebody''s own shows it fewer, a warning.', 'The other checks read the catalog; this one tries it.', 'Restore the policies.'),
  ('proof_nothing', 'isolation_config', 'error', 'schema', false,
    'Without a tenant, or in one that does not exist, tms_app sees a row.', 'A request that forgot its tenant must find nothing.', 'Restore the policies.'),
  ('proof_writes', 'isolation_config', 'error', 'schema', false,
    'Inside a tenant tms_app can write a row into another, or reach one.', 'Reading back is not needed to do harm.', 'Restore the policies.')
$$;
comment on function audit.checks() is
$$Every check of the audit: category, worst severity, family (data or schema), whether the migration gate runs it (gate), what it finds, why that matters,
how to fix it.  select * from audit.checks();$$;
--! EndIncluded audit/catalog.sql
--! Included audit/manifest.sql
-- Written by UPDATE_DOCS=1 npm test -- test/audit/manifest.test.ts, from what the migrations make; a test holds it to that.
create or replace function audit.manifest()
returns table (kind text, name text, owner text, granted text, body text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('function', 'api.add_member(text,text,text,text,text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '2f97023490ea72b34cf4ef4103d6e746'),
    ('function', 'api.approve_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'f3bfd8c25f9a6245e3ef838978073cd0'),
    ('function', 'api.create_tenant(text,text,text,text,text,text,text,text,jsonb,boolean,boolean,text)', 'tms_registrar', 'tms_service', '2e32d6041832e3e8150a7c8cdeacddc0'),
    ('function', 'api.delete_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '6eb37335359d2e7cf4270d311cf695dc'),
    ('function', 'api.ensure_default_tenant(text,text)', 'tms_registrar', 'tms_service', '8c20a270f8f8be8ef8b57704ce3a4f4c'),
    ('function', 'api.explain_access(text,text,text,text,boolean)', 'tms_registrar', 'tms_auditor tms_owner', '44861a70b56289848c0987b2d5988fb3'),
    ('function', 'api.explain_for_operator(text,text,text,text,text,text,text,text,text,text,boolean)', 'tms_registrar', 'tms_service', 'c07b53b6e0e36351d3d9ad7164dcb78e'),
    ('function', 'api.get_current_tenant(text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a2dabea3f1b69467272845bd714af71'),
    ('function', 'api.get_login_faults()', 'tms_registrar', 'tms_service', '42564d4a18c5f86fd8b79c9c8b932210'),
    ('function', 'api.get_readiness(text)', 'tms_registrar', 'tms_service', '861b38cfc3d0f9673f58277b6b3c12fd'),
    ('function', 'api.get_registration_status(text,text,text,text,text,text,boolean,integer,text[])', 'tms_registrar', 'tms_service', 'f65556ea86242d3b80f4b6bf6872cf10'),
    ('function', 'api.get_schema_version()', 'tms_registrar', 'tms_service', 'f2a7f8344bf343031795bd5adcf44dad'),
    ('function', 'api.get_setup_status(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '644645cadd2d707d7257ffd9374cecad'),
    ('function', 'api.get_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '3b331c5f22ce84451db4d40c954cda90'),
    ('function', 'api.list_boards(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '232fea41870a7ebcd555b769c0c8bf42'),
    ('function', 'api.list_members(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '9c48b26b968b3a7851606bad8cf23e49'),
    ('function', 'api.list_my_tenants(text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '7fb84d44efb0ad29a3010156ec1c5076'),
    ('function', 'api.list_tenants(text,text,text,text,text,text,integer,text,text,text)', 'tms_registrar', 'tms_service', 'a2ed4035f6915b33773df85b2ea6e076'),
    ('function', 'api.register_tenant(text,text,text,text,text,text,text,text,text,text,jsonb,boolean,boolean,integer,text[],text)', 'tms_registrar', 'tms_service', '8f12ec3b17764ab3d66783ff940eb38c'),
    ('function', 'api.reject_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '6f7b849f51bac751aa6f08e886b85416'),
    ('function', 'api.remove_member(text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a93c5af2867a8cb0b3d40083d3b966e'),
    ('function', 'api.resume_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'a915796a579fa9f1ac63c2e737746713'),
    ('function', 'api.suspend_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '5dcc8a91279ab6c76561b86cdd412955'),
    ('function', 'api.take_rate_limit(text,text,integer)', 'tms_registrar', 'tms_service', 'cd69c8629b32585c78beaaaff0eee2b2'),
    ('function', 'api.update_tenant(text,text,text,text,text,text,text,text,text,jsonb,text[])', 'tms_registrar', 'tms_service', '48b1b9e33de7b08da7b21deaa0a637b8'),
    ('function', 'app.adopt(regclass)', 'tms_owner', '', '01b1a7f3124085f7bdc4b4365a4bd31e'),
    ('function', 'app.await_writers(uuid,boolean)', 'tms_registrar', '', '316ea0f7df30955e5eada3a31284089b'),
    ('function', 'app.board_json(app.boards)', 'tms_owner', 'tms_app', 'b2ff17214266ed6c2d039748d90c97f3'),
    ('function', 'app.count_tenants(text)', 'tms_registrar', 'tms_auditor', '469edab0911b6b7799ab8aecfb63b42c'),
    ('function', 'app.count_tenants_like(text,text)', 'tms_registrar', '', 'd5fd689fd694ae35e0b4513652271182'),
    ('function', 'app.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', '8297e332eda8e3937d95b839446598d2'),
    ('function', 'app.cursor_of(timestamp with time zone,uuid)', 'tms_owner', 'tms_app tms_registrar', '860fabd228104008346a85a66c10fdc1'),
    ('function', 'app.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '67ed87e44a0e6241901815fe9c9a643f'),
    ('function', 'app.enter_default(text,text,text,text)', 'tms_registrar', '', 'e53d9fd4554d7ce74d399f874e5a53bc'),
    ('function', 'app.enter_lobby(text,text,text,text,text)', 'tms_registrar', '', '3bf828d30b17036231b66576e4484145'),
    ('function', 'app.enter_tenant(text,text,text,text,text)', 'tms_registrar', 'tms_app', '33ec4070fb2a308b0c63b7f837402aaf'),
    ('function', 'app.etag(json)', 'tms_owner', 'tms_registrar', '8eb737e517796d6ce22928eb56414403'),
    ('function', 'app.fence_tenant(uuid)', 'tms_registrar', '', '3c0c05974051ce6ae813a5bca59726a4'),
    ('function', 'app.find_tenant(text,boolean)', 'tms_registrar', '', '919d46d05c3100ad0844ff3c5537542e'),
    ('function', 'app.find_tenant_to_change(text,text[])', 'tms_registrar', '', '7aa14f5731ecf3087f267e36070cd316'),
    ('function', 'app.insert_tenant(text,text,text,text,jsonb)', 'tms_registrar', '', '6549153521fb5ffc0a229706918f8cc3'),
    ('function', 'app.is_behind(text)', 'tms_owner', 'tms_registrar', '0c61b8391d6ee19f76981d39a8d2327d'),
    ('function', 'app.is_distributed()', 'tms_owner', 'tms_auditor tms_registrar', 'd512d0d1fdbd05e2ff6889bcc0192c54'),
    ('function', 'app.iso_time(timestamp with time zone)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'fd59885aa9770697873dee4f51a131e7'),
    ('function', 'app.isolate(regclass,boolean)', 'tms_owner', '', 'c03b627b849e7bb7db0ffcb4fa3ef7bf'),
    ('function', 'app.isolation_advice()', 'tms_registrar', '', '988d42ab55152904697d76d9421641ca'),
    ('function', 'app.isolation_breaches()', 'tms_registrar', '', '6a9ddfb86e9954d108e466f819fe09b1'),
    ('function', 'app.join_default(uuid,text,text,text,text)', 'tms_app', '', 'b7ac6dd1fcff487126c149995f4b5e60'),
    ('function', 'app.last_audit()', 'tms_owner', 'tms_registrar', 'c88a4e3575ea09c274ca35f2186f32c3'),
    ('function', 'app.leaking_tables()', 'tms_app', 'tms_auditor', '7f4b699eca6aef74799825a5e5d49de8'),
    ('function', 'app.lock_tenant(text)', 'tms_registrar', '', 'fdb2f07636e0ce359939859f86727e76'),
    ('function', 'app.member_json(app.users)', 'tms_owner', 'tms_app', 'a26aaca041cce263b087e34bf13bfab2'),
    ('function', 'app.move_tenant(text,text[],text,text)', 'tms_registrar', '', 'ee5850e71f4f5c4d77064d7bafb5fa14'),
    ('function', 'app.parse_uuid(text)', 'tms_owner', 'tms_app tms_registrar', '16cbb9025fe9d8da60ca41bdd12a10b6'),
    ('function', 'app.read_cursor(text)', 'tms_owner', 'tms_app tms_registrar', '784e132c450f7f990b3891e42f4db431'),
    ('function', 'app.refuse(integer,text,text,text,jsonb)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'ed53708c0d267cc1eda3001a2aa9e4fd'),
    ('function', 'app.refuse_slug(text)', 'tms_owner', 'tms_registrar', '0494b21e36b9be8782d818579eacf24b'),
    ('function', 'app.remove_tenant(app.tenants)', 'tms_registrar', '', '0e07ca947d8eb6df20f0633e482b86d9'),
    ('function', 'app.replay(text,text,text,jsonb)', 'tms_registrar', '', '1de402158f59334ded63d0ca48e00947'),
    ('function', 'app.require_match(app.tenants,text[])', 'tms_owner', 'tms_registrar', '36acea6d1f3a1c428113f3500284ff79'),
    ('function', 'app.require_member(uuid,uuid)', 'tms_owner', 'tms_app', 'c6d4124107c68742c702ce61fe216009'),
    ('function', 'app.require_member_admin(text,text)', 'tms_owner', 'tms_app', 'b28f892d33bfcb25492fef7ff3003841'),
    ('function', 'app.require_operator(text,text,text,text,text,text)', 'tms_registrar', '', 'cb53aa9b3e4769955e3bfc93a31352aa'),
    ('function', 'app.require_own_table(regclass)', 'tms_owner', 'tms_app tms_auditor', '372ed04befe2137666ccc0d3cd708e48'),
    ('function', 'app.require_status(app.tenants,text)', 'tms_owner', 'tms_registrar', 'b7e177058b7adfc35ee4d44f1917d91e'),
    ('function', 'app.schema_version()', 'tms_owner', 'tms_auditor tms_registrar', '81db2cc5b5ba419c5ace31eb05c7159e'),
    ('function', 'app.set_actor(text,text)', 'tms_owner', 'tms_registrar', '9fd716fca6d98ef85a81a4d0f9f5c190'),
    ('function', 'app.set_tenant(uuid)', 'tms_owner', 'tms_app tms_auditor tms_registrar', '5bd687a778e41bab3fe0cc75b0c20b2b'),
    ('function', 'app.shown_rows(uuid,integer)', 'tms_app', 'tms_auditor', 'a68c33344e0604f89c0d58c27c1d6740'),
    ('function', 'app.table_faults(regclass)', 'tms_owner', 'tms_auditor', 'f232c83feedde5096a7363d3cf056b4c'),
    ('function', 'app.tenant_id()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '9ca56ffeefeb0f10be11edde77d2f7dd'),
    ('function', 'app.tenant_json(app.tenants)', 'tms_owner', 'tms_app tms_registrar', '8faf545777e3b615ad9a588fe6b965a2'),
    ('function', 'app.tenant_page(integer,timestamp with time zone,uuid,text,text)', 'tms_registrar', '', '575d522375a1ff1ca17600e75e0e0e46'),
    ('function', 'app.tenant_tables()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '50a59e972960913f3b64685f6766e58e'),
    ('function', 'app.unprotected_tables()', 'tms_owner', 'tms_auditor tms_registrar', '8447f0500a6676562aefa282c426f9f8'),
    ('function', 'app.write_policies(regclass,name)', 'tms_owner', '', '16bf88379de7de608f081636ff88db64'),
    ('function', 'audit.accept(text)', 'tms_owner', 'tms_auditor', 'a131f7ffd9b349922fbb3b68f5036bd7'),
    ('function', 'audit.attempt(text,uuid,integer)', 'tms_owner', 'tms_auditor', '225e92a0a838bbb116cdbe066705a70e'),
    ('function', 'audit.bound(regclass)', 'tms_owner', 'tms_auditor', 'a4b71f5fd1ee6821f4da908c16936de3'),
    ('function', 'audit.by_acceptance(text,name,text)', 'tms_owner', 'tms_auditor', '5826636805fef7739d6dad7a137f91e0'),
    ('function', 'audit.by_giving_back(text,name)', 'tms_owner', 'tms_auditor', 'a17921e6df3e50e565d7c9402178ab65'),
    ('function', 'audit.by_moving(oid)', 'tms_owner', 'tms_auditor', 'ab75ac7ffd423e2577b0c5f358611d14'),
    ('function', 'audit.by_owner(name,text)', 'tms_owner', 'tms_auditor', '1c05b8ac43add9b39123ae59a0526038'),
    ('function', 'audit.check_app_reach()', 'tms_owner', 'tms_auditor', '3dfde5a5398a858ba124ca9c01172da5'),
    ('function', 'audit.check_audit_filtered()', 'tms_owner', 'tms_auditor', 'f6a1962925c49cd55de0af372a980648'),
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', '6c045381d725d926e931d71b047e9f1d'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', 'fbf75b4d3bf5c6df5a219a5c3fa253c7'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', '4bc9a18d746772555f169d42aa4bb79e'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', '1f7f4d253c174f7323bfc423cbe55110'),
    ('function', 'audit.check_foreign_table()', 'tms_owner', 'tms_auditor', 'dd7744f8f790a391194de8e7aa04c671'),
    ('function', 'audit.check_function_body()', 'tms_owner', 'tms_auditor', '2d739dc381dca18c1909ce10f654b843'),
    ('function', 'audit.check_function_bypass()', 'tms_owner', 'tms_auditor', '7d07094eded0dd6ce5d82f31b4f27f71'),
    ('function', 'audit.check_function_changed()', 'tms_owner', 'tms_auditor', '4f5676fc829d00fe20dfd02be9783115'),
    ('function', 'audit.check_function_leakproof()', 'tms_owner', 'tms_auditor', 'd77af029401976b475f7199ef15487bc'),
    ('function', 'audit.check_function_owner()', 'tms_owner', 'tms_auditor', '310efb22cf0c443834e9676127d8e257'),
    ('function', 'audit.check_function_public()', 'tms_owner', 'tms_auditor', '31e13f19ef2a9cce97644e0d27b16666'),
    ('function', 'audit.check_function_search_path()', 'tms_owner', 'tms_auditor', 'dca178e23aee4cf029eac64678b0017e'),
    ('function', 'audit.check_function_security()', 'tms_owner', 'tms_auditor', 'ce251b1eb7abf63c86ec57f92b3072ce'),
    ('function', 'audit.check_function_settings()', 'tms_owner', 'tms_auditor', 'b47ac2d648d1ae22490277dac35c49e8'),
    ('function', 'audit.check_index_missing()', 'tms_owner', 'tms_auditor', 'b544bf59f5d2009acc58b99acaca86c4'),
    ('function', 'audit.check_other_grants()', 'tms_owner', 'tms_auditor', 'dbf04985d622cc40230bb7ec9f76bb8c'),
    ('function', 'audit.check_policy_changed()', 'tms_owner', 'tms_auditor', '28a0f3722760e6e67af5cb5f4d868c7c'),
    ('function', 'audit.check_policy_extra()', 'tms_owner', 'tms_auditor', 'c284abb96916f7827935560688102e71'),
    ('function', 'audit.check_policy_function()', 'tms_owner', 'tms_auditor', 'e1c19f4331a9df790d8945ec7faed8c9'),
    ('function', 'audit.check_policy_missing()', 'tms_owner', 'tms_auditor', '1832f482c5fcbef65005be1c1f5b11d1'),
    ('function', 'audit.check_publication()', 'tms_owner', 'tms_auditor', '566a00097081d7764931cdb37af7dd97'),
    ('function', 'audit.check_registrar_reach()', 'tms_owner', 'tms_auditor', '0d8865ac4111ae12999b518c4b0597ed'),
    ('function', 'audit.check_rewrite_rule()', 'tms_owner', 'tms_auditor', 'dd5a90c6dae30ef82d55a76783ff3454'),
    ('function', 'audit.check_rights_missing()', 'tms_owner', 'tms_auditor', '1c8db2341db2d7618db6e12cff03dc04'),
    ('function', 'audit.check_rls_disabled()', 'tms_owner', 'tms_auditor', 'f9b1161bed0f117592e3df80920ad04c'),
    ('function', 'audit.check_rls_not_forced()', 'tms_owner', 'tms_auditor', '02fcf67fb0ad0ae6af9fe92ab719a004'),
    ('function', 'audit.check_role_attributes()', 'tms_owner', 'tms_auditor', '575531841992472c2d5c5bd200fbd9b6'),
    ('function', 'audit.check_role_membership()', 'tms_owner', 'tms_auditor', '8d6b21f6f2a560c935f8df194a419fd9'),
    ('function', 'audit.check_role_owns()', 'tms_owner', 'tms_auditor', '76f522701b48a9610786180fd9adb50a'),
    ('function', 'audit.check_role_settings()', 'tms_owner', 'tms_auditor', 'f2b5b972511c185b1732aae9526c9c91'),
    ('function', 'audit.check_rows(text,uuid,bigint[])', 'tms_owner', 'tms_auditor', '33887f08c45a5330ab690e5fac1c76ed'),
    ('function', 'audit.check_schema_grants()', 'tms_owner', 'tms_auditor', 'ae19b77b3ad4a870c518ec7de561e536'),
    ('function', 'audit.check_server_settings()', 'tms_owner', 'tms_auditor', '53cabf313d770095a052541b2e7b8be6'),
    ('function', 'audit.check_server_version()', 'tms_owner', 'tms_auditor', '1effe665c994fb7dd9d0642cd57187c4'),
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', 'a787fc3c2e2d684ab2cf4edf7fde08d4'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '57e556d774dc091acb413beac4d7c085'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', 'ea7948ade84356dca011bc420f852827'),
    ('function', 'audit.check_system_grants()', 'tms_owner', 'tms_auditor', 'd5e268ce37a69da9d1c054e2a0671072'),
    ('function', 'audit.check_table_grants()', 'tms_owner', 'tms_auditor', '17cc5d1c45ebea43fb3409ec48ddb3d5'),
    ('function', 'audit.check_table_inherits()', 'tms_owner', 'tms_auditor', '0ba207f4146feb218cc8b13711ee9f1a'),
    ('function', 'audit.check_table_missing()', 'tms_owner', 'tms_auditor', 'd13d37376b3026061141500c441c1bcc'),
    ('function', 'audit.check_table_owner()', 'tms_owner', 'tms_auditor', 'cc9f419bf6de76dfa0e9ea8ff8d420e5'),
    ('function', 'audit.check_table_rules()', 'tms_owner', 'tms_auditor', '861fb53abed480788e8819ce1841cc9c'),
    ('function', 'audit.check_table_without_tenant()', 'tms_owner', 'tms_auditor', '947e5892b33ea04ea7eb66a5c95b9c9d'),
    ('function', 'audit.check_tenant_id_function()', 'tms_owner', 'tms_auditor', 'be3f439878e18252ab4495eab95f1f42'),
    ('function', 'audit.check_tenant_key()', 'tms_owner', 'tms_auditor', 'bab30b90b68842e7a8fbb0262dd6d093'),
    ('function', 'audit.check_trigger_disabled()', 'tms_owner', 'tms_auditor', 'd99ff818e85d5d623a9751e3d1881098'),
    ('function', 'audit.check_trigger_notifies()', 'tms_owner', 'tms_auditor', 'f148f3f8c95acf7e6e6ed5df4e24a432'),
    ('function', 'audit.check_trigger_rights()', 'tms_owner', 'tms_auditor', '693ac2a093dc4ead5345d93d13722777'),
    ('function', 'audit.check_unique_key_missing()', 'tms_owner', 'tms_auditor', 'd43abea332e859e4b3d714e33c9341e0'),
    ('function', 'audit.check_view_leaks()', 'tms_owner', 'tms_auditor', '7871c909258d9ace0e43124e55abd457'),
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', '9db0dc4a0682b9c10c60a98fc5959e1b'),
    ('function', 'audit.code_of(text,boolean)', 'tms_owner', 'tms_auditor', 'c653f72cd36fc8f310c493455acf9b2d'),
    ('function', 'audit.comparisons(oid)', 'tms_owner', 'tms_auditor', '879a8daee1e3314dcb35b18e0650d0a2'),
    ('function', 'audit.count_lost_tenants(regclass)', 'tms_owner', 'tms_auditor', '48b396076d73de4b2c083a0baae79bb0'),
    ('function', 'audit.count_suspects(text,text[],regclass,name)', 'tms_owner', 'tms_auditor', '7296026bfb4ca52aacd5ce67d4b34484'),
    ('function', 'audit.data_checks()', 'tms_owner', 'tms_auditor', '7b29736eb3fcacc231676c46c78e6666'),
    ('function', 'audit.default_of(text)', 'tms_owner', 'tms_auditor', '7ffd506ec2b343ed196fd1dc2857e94f'),
    ('function', 'audit.definition_hash(oid)', 'tms_owner', 'tms_auditor', '7d4595e6b1840c52b7456efb9f44930d'),
    ('function', 'audit.enters_named_tenant(oid,text)', 'tms_owner', 'tms_auditor', 'a4a30b017b4124027a64a75666a4b977'),
    ('function', 'audit.examine(text,uuid,integer)', 'tms_owner', 'tms_auditor', '723c6c39873af3a5503b46a5b3497cd0'),
    ('function', 'audit.expected_policies()', 'tms_owner', 'tms_auditor', '810802f6e382d99beb56fb3330870c7a'),
    ('function', 'audit.expected_references()', 'tms_owner', 'tms_auditor', 'b1fe44c1e3cfed3cdf5309b193602aee'),
    ('function', 'audit.filter_of(regclass)', 'tms_owner', 'tms_auditor', '733692876d5e6582a29c2d0d563f1f6e'),
    ('function', 'audit.find_tenant(text)', 'tms_owner', 'tms_auditor', 'f7af4ca5e9972e7e92aaf3bdbc4f1cc2'),
    ('function', 'audit.finish_run(bigint)', 'tms_owner', 'tms_auditor', 'fda1a2edc4f2b4cfdd811652e24d622a'),
    ('function', 'audit.functions()', 'tms_owner', 'tms_auditor', '227a511c1b4da6bff01e1963377bd8d4'),
    ('function', 'audit.has_rows(regclass,name,uuid)', 'tms_owner', 'tms_auditor', 'cb2a97af9c825ca6d0c8316bc29a0674'),
    ('function', 'audit.installed()', 'tms_owner', 'tms_auditor', '1fae3c4e0b8e031c9bc3445a5ed7b45e'),
    ('function', 'audit.is_inherited(regclass)', 'tms_owner', 'tms_auditor', 'a7ea746ec51ec75d5477d08197fbe8c5'),
    ('function', 'audit.is_never_null(regclass,name)', 'tms_owner', 'tms_auditor', '0d8d1f65be045d42ac17782b75a8bb76'),
    ('function', 'audit.is_proved(regclass,text)', 'tms_owner', 'tms_auditor', '25837b3aecfc0e552fc5207e2f3ff9ee'),
    ('function', 'audit.is_unique(regclass,name[])', 'tms_owner', 'tms_auditor', '92bfe836b03b4d95b5748060a3c337d6'),
    ('function', 'audit.manifest()', 'tms_owner', 'tms_auditor', ''),
    ('function', 'audit.of_extensions(regclass)', 'tms_owner', 'tms_auditor', '63192a2e82a10dce9e01cb456178e100'),
    ('function', 'audit.our_roles()', 'tms_owner', 'tms_auditor', '5dab71b472e5360b7a2ae17eb1cd2f43'),
    ('function', 'audit.own_tables()', 'tms_owner', 'tms_auditor', 'd8d62003b8a8ea98a89b0fb97bae35d7'),
    ('function', 'audit.pass_checks(text)', 'tms_owner', 'tms_auditor', '3690d152fc02db79c130879c024c11bc'),
    ('function', 'audit.passes(text,boolean)', 'tms_owner', 'tms_auditor', '96dbcc22ca1b79f0f3287b8a1c2f9d2e'),
    ('function', 'audit.plan_merges(regclass,name,integer)', 'tms_owner', 'tms_auditor', 'd108b6b303d8f7d9593126ec54ce1bb9'),
    ('function', 'audit.progress_line(integer,integer,text,bigint,bigint,timestamp with time zone,text)', 'tms_owner', 'tms_auditor', '95e256b7454f60f5855a215e54f8d46d'),
    ('function', 'audit.protection_query()', 'tms_owner', 'tms_auditor', '6faa68ed577394cedf3d883887008e57'),
    ('function', 'audit.prove(text,uuid,integer)', 'tms_owner', 'tms_auditor', '4d1b764e97341981ccdd7c5ab700fbf2'),
    ('function', 'audit.record_pass(bigint,text)', 'tms_owner', 'tms_auditor', '61d259898bce3cab0c44cd51b704cfd6'),
    ('function', 'audit.relations()', 'tms_owner', 'tms_auditor', '7f840a63381ffbf1e5a4aaa63aa2b661'),
    ('function', 'audit.relations(regclass[])', 'tms_owner', 'tms_auditor', '78e3e595b58833e604bf651ce9597df6'),
    ('function', 'audit.report(bigint)', 'tms_owner', 'tms_auditor', '1525d5551cc25ba8f8b0d8031afa99a6'),
    ('function', 'audit.require_isolation()', 'tms_owner', 'tms_auditor', '1ce02f8819524f9c89ec8d6591bb77d2'),
    ('function', 'audit.require_unfiltered(regclass)', 'tms_owner', 'tms_auditor', '4ab6885a92e5986c7051f0032ce4ffc5'),
    ('function', 'audit.role_name(oid)', 'tms_owner', 'tms_auditor', 'd93e0bfa0cc30ca6a3a0e814d7901901'),
    ('function', 'audit.row_tests(regclass)', 'tms_owner', 'tms_auditor', 'bbca1cac025ba3ecd5cdf11eae6a42bb'),
    ('function', 'audit.run(text,text,integer,bigint)', 'tms_owner', 'tms_auditor', 'f30ad84e75d3d727a46ca711468351fa'),
    ('function', 'audit.run_check(text,text,integer)', 'tms_owner', 'tms_auditor', 'd4f5e06dee60c858690543f7df24581c'),
    ('function', 'audit.run_family(text,boolean,integer)', 'tms_owner', 'tms_auditor', '1cb2d1dc963d4b0d84f1e768ef2b61ae'),
    ('function', 'audit.sample_tenants(uuid,integer)', 'tms_owner', 'tms_auditor', '0ad9c042a63b35d83bd30743bc3698e3'),
    ('function', 'audit.say_scanned(bigint)', 'tms_owner', 'tms_auditor', '6b02023e2942fc31f4fa347a9a1eee61'),
    ('function', 'audit.scan(regclass,uuid)', 'tms_owner', 'tms_auditor', '9c433b86292b13cbe38a6aff785f6498'),
    ('function', 'audit.scanned(text)', 'tms_owner', 'tms_auditor', '714ae3acb57dbdc53fb0a71fd8427aa1'),
    ('function', 'audit.severity_rank(text)', 'tms_owner', 'tms_auditor', '1fa26f34a59db5d581099b2a3365ab06'),
    ('function', 'audit.short_hash(text)', 'tms_owner', 'tms_auditor', '6f23cfe71952fec1f8acb0400a595545'),
    ('function', 'audit.slices(regclass,name,uuid)', 'tms_owner', 'tms_auditor', '4b3ce6a95861c87d59d8f5ad643270b3'),
    ('function', 'audit.start_run(text,text,integer)', 'tms_owner', 'tms_auditor', '23e14457719a6c8e00785fb32adc22e4'),
    ('function', 'audit.template_rights()', 'tms_owner', 'tms_auditor', '895240ac6dccd5a5070dad49e0c10c8b'),
    ('function', 'audit.tenant_references()', 'tms_owner', 'tms_auditor', '7e63f48453607ddccc4fe6791d2fe0f8'),
    ('function', 'audit.tenant_references(regclass)', 'tms_owner', 'tms_auditor', '662987541e379f8f9fb0dd0cc9345954'),
    ('function', 'audit.try_writes(regclass,name,uuid,uuid)', 'tms_owner', 'tms_auditor', '615b758e986a60510125fd10cea4206c'),
    ('function', 'audit.version_fault(integer,boolean)', 'tms_owner', 'tms_auditor', '06d07c9578250233fc2390a7b0188d14'),
    ('function', 'audit.visible_rows(regclass,name,uuid[])', 'tms_owner', 'tms_auditor', 'f56e328b033e956fdab9d1f8baad34ba'),
    ('function', 'control.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', 'f51e10df58d79ca3a0d0795dfe58aa56'),
    ('function', 'control.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '64ba8d9e056505dbf964689f858940de'),
    ('function', 'control.examine(text,uuid,integer)', 'tms_auditor', 'tms_owner', '51b19e3e922c05db62e7100805aeab0a'),
    ('function', 'control.find_tenant(text)', 'tms_auditor', 'tms_owner', '092ecd4817dc31d218f82c2a5fb7fb1b'),
    ('function', 'control.held_rows(regclass,uuid,integer)', 'tms_auditor', 'tms_registrar', '49f285b797178536712ef24c4701d0aa'),
    ('function', 'control.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', '379f66e5be803b087e2d33e846308ed7'),
    ('function', 'control.leaking_tables()', 'tms_app', 'tms_registrar', 'a64065acd87739f1fa6faf8563022cdf'),
    ('function', 'control.shown_rows(uuid,integer)', 'tms_app', 'tms_registrar', '940fe838dabb731f042c6f4ee27bec1c'),
    ('function', 'control.tg_tenants__count()', 'tms_owner', '', '9737cde625d18b6cd691d3909049c634'),
    ('function', 'control.tg_tenants__record()', 'tms_owner', '', 'c5bcc8f27a34855b08f6954793bb871a'),
    ('function', 'control.try_writes(regclass,name,uuid,uuid)', 'tms_app', 'tms_owner', 'c1a9c81872b0f88b78929ad1aad62b83'),
    ('function', 'control.visible_rows(regclass,name,uuid[])', 'tms_app', 'tms_owner', '4c624280d5b02e03a6ccbb7a19cbb73f'),
    ('trigger', '_500_count_delete on app.tenants', '', '', 'dae737c3cddf08b70a4e63626f9fd7ad'),
    ('trigger', '_500_count_insert on app.tenants', '', '', '3d1350530d7d1487c4b6c3df953b505a'),
    ('trigger', '_500_count_truncate on app.tenants', '', '', '464acf41f80ba54008e74b1b9cfa2b17'),
    ('trigger', '_500_count_update on app.tenants', '', '', '2fabaee9bcae28855c95ce5e7c5c3677'),
    ('trigger', '_600_record_delete on app.tenants', '', '', 'dd4ca5ebe052335dac1b828f3c9f33e1'),
    ('trigger', '_600_record_insert on app.tenants', '', '', 'df1991c7cc1a8c76af7ad26d2962b8cb'),
    ('trigger', '_600_record_update on app.tenants', '', '', '676657851e292162756ebbb434641cb3')
$$;
comment on function audit.manifest() is
  'The functions of this release, who owns and may execute them, and the triggers on its tables, each with a hash of what it does.';
--! EndIncluded audit/manifest.sql
--! Included audit/end.sql
-- Everything in the schema is for tms_auditor, but for what only the procedure's own steps may call.
do $$
declare
  v_function record;
begin
  for v_function in
    select oid::regprocedure as name, prokind from pg_catalog.pg_proc
    where pronamespace = 'audit'::regnamespace and proowner = 'tms_owner'::regrole
  loop
    execute pg_catalog.format('revoke all on %s %s from public', case v_function.prokind when 'p' then 'procedure' else 'function' end, v_function.name);
    execute pg_catalog.format('grant execute on %s %s to tms_auditor', case v_function.prokind when 'p' then 'procedure' else 'function' end, v_function.name);
  end loop;
end
$$;
-- One sentence for \df+ and the documentation.
do $$
declare
  v_check record;
begin
  for v_check in select "check", finds from audit.checks() where to_regprocedure('audit.check_' || "check" || '()') is not null loop
    execute pg_catalog.format('comment on function audit.check_%s() is %L', v_check."check", v_check.finds);
  end loop;
end
$$;
revoke create, usage on schema control from tms_app, tms_auditor;
--! EndIncluded audit/end.sql
set local citus.enable_ddl_propagation = on;
