--! Previous: sha1:972e159560a5b19404c773ad359a57edc07b1c28
--! Hash: sha1:5706b4a2569bc7a4e2a281b86a1ae34ab76d1fbd
--! Message: adoption of several organizations, fewer false findings, who joins is a member

-- What real use showed since the migration before.
set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! Included context/join_default.sql
-- As tms_app, like all that the request does afterwards: on a distributed database two roles cannot work on one shard in
-- one transaction once either has written.
set local role tms_app;
create or replace function app.join_default(
  p_tenant_id uuid, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text
)
returns app.users
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_member app.users;
begin
  insert into app.users as u (tenant_id, auth_provider, auth_subject, email, display_name, role)
  values (p_tenant_id, p_auth_provider, p_auth_subject, p_email, p_display_name, 'member')
  on conflict on constraint users_tenant_identity_key do nothing
  returning u.* into v_member;
  if not found then
    select * into v_member
    from app.users u
    where u.tenant_id = p_tenant_id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
      and u.removed_at is null;
  end if;
  return v_member;
end
$$;
comment on function app.join_default(uuid, text, text, text, text) is
  'Makes the caller a member of the transaction''s tenant, unless a parallel request just did; nulls when the membership was ended.';
revoke all on function app.join_default(uuid, text, text, text, text) from public;
grant execute on function app.join_default(uuid, text, text, text, text) to tms_registrar;
reset role;
--! EndIncluded context/join_default.sql
--! Included context/enter_lobby.sql
set local role tms_registrar;
create or replace function app.enter_lobby(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_tenant_slug is null then
    perform app.enter_default(p_auth_provider, p_auth_subject, p_email, p_display_name);
  elsif exists (select from app.tenants where slug = p_tenant_slug and not is_default) then
    perform app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  end if;
end
$$;
comment on function app.enter_lobby(text, text, text, text, text) is
  'For callers who belong nowhere yet: returns when the slug names no tenant or the default one; another existing tenant still needs membership (TM403). In single-tenant mode the caller joins the default tenant.';
revoke all on function app.enter_lobby(text, text, text, text, text) from public;
reset role;
--! EndIncluded context/enter_lobby.sql
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
  'Enables and forces row level security on a table and writes its four policies; p_column holds the tenant. Safe to run again.';
revoke all on function app.write_policies(regclass, name) from public;
--! EndIncluded context/write_policies.sql
--! Included context/adopt.sql
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
begin
  if not exists (select from pg_attribute where attrelid = p_table and attname = 'tenant_id' and not attisdropped) then
    if v_default is null then
      raise exception using errcode = 'object_not_in_prerequisite_state',
        message = format('%s cannot be adopted: there is no default tenant (or app.maintenance is off)', p_table);
    end if;
    -- A constant default fills the old rows without rewriting the table; it must not outlive the fill.
    execute format('alter table %s add column tenant_id uuid not null default %L', p_table, v_default);
    execute format('alter table %s alter column tenant_id drop default', p_table);
  end if;

  select c.conname, string_agg(quote_ident(a.attname), ', ' order by k.n) filter (where a.attname <> 'tenant_id')
  into v_key, v_columns
  from pg_constraint c
  cross join unnest(c.conkey) with ordinality as k (attnum, n)
  join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum
  where c.conrelid = p_table and c.contype = 'p'
    and not exists (
      select from pg_attribute t
      where t.attrelid = c.conrelid and t.attname = 'tenant_id' and t.attnum = c.conkey[1])
  group by c.conname;
  if found then
    execute format('alter table %s drop constraint %I, add constraint %I primary key (tenant_id, %s)', p_table, v_key, v_key, v_columns);
  end if;
end
$$;

comment on function app.adopt(regclass) is
  'Gives a single-tenant table a tenant_id, filled with the default tenant, and puts it first in the primary key. One that is there stays as it is. Raises 55000 without a default tenant to fill it with, 2BP01 while other tables'' foreign keys need the old primary key.';
revoke all on function app.adopt(regclass) from public;
--! EndIncluded context/adopt.sql
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
      message = format('%s cannot be isolated: %s', p_table, v_faults);
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
  -- All first: TRUNCATE, REFERENCES and TRIGGER are not under row level security.
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
$$Makes a table one of tenants: checks its keys, enables and forces row level security, writes policies and grants, and
adds the foreign key to app.tenants. Safe to run again. With p_adopt a missing tenant_id is added and filled
with the default tenant, as of a single-tenant past, and put in front of the primary key; one that is there is only put there.
Raises 55000 with the rules that the table breaks (app.table_faults lists them).
  select app.isolate('app.invoices');$$;
revoke all on function app.isolate(regclass, boolean) from public;
--! EndIncluded context/isolate.sql
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
    -- One check on one relation: rows examined, findings by severity, and the first thousand findings themselves.
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
comment on table audit.found is 'The first thousand findings of each check, kept for the last hundred runs and while any of their run is open. Key columns only, no payload.';

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

-- Extensions' functions are theirs, and those below 16384 Postgres's; everything else in the database is examined.
create or replace function audit.functions()
returns table (oid oid, name text, schema name, owner name, definer boolean, config text[], body text, leakproof boolean, acl aclitem[], granted text, kind "char", own boolean,
  reached boolean, vouched boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with ours as materialized (
    select oid from pg_roles where rolname = any (audit.our_roles())
  ), fired as materialized (
    -- Neither a trigger nor an aggregate asks who may execute the function that it calls.
    select t.tgfoid from pg_trigger t
    where not t.tgisinternal and exists (
      select from ours r
      where has_table_privilege(r.oid, t.tgrelid, 'insert, update, delete, truncate') or has_any_column_privilege(r.oid, t.tgrelid, 'insert, update'))
    union all
    select d.refobjid from pg_depend d join pg_proc a on a.oid = d.objid and a.prokind = 'a'
    where d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_proc'::regclass and d.refobjid >= 16384
      and exists (select from ours r where has_schema_privilege(r.oid, a.pronamespace, 'usage') and has_function_privilege(r.oid, a.oid, 'execute'))
  )
  select f.oid, w.name, n.nspname, o.rolname, f.prosecdef, coalesce(f.proconfig, '{}'), coalesce(pg_get_function_sqlbody(f.oid), f.prosrc), f.proleakproof,
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
      or exists (select from ours r where has_schema_privilege(r.oid, n.oid, 'usage') and has_function_privilege(r.oid, f.oid, 'execute')) as reached) r
  where f.oid >= 16384 and n.nspname not like 'pg\_temp\_%'
    -- One that somebody packed into an extension keeps the rights of its owner; what Postgres ships belongs to a superuser.
    and (f.oid not in (select audit.of_extensions('pg_proc')) or f.prosecdef and o.rolname = any (audit.our_roles()))
$$;
comment on function audit.functions() is
$$The functions that the audit examines: all but those of Postgres and of extensions, of these only what runs as one of the five roles. granted: who may execute it beside its owner. own: in one of
the service's schemas. reached: own, or one of the five roles may execute it or has it executed by a trigger or an aggregate. vouched: not
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
--! Included audit/manifest.sql
-- Written by UPDATE_DOCS=1 npm test -- test/audit/manifest.test.ts, from what the migrations make; a test holds it to that.
create or replace function audit.manifest()
returns table (kind text, name text, owner text, granted text, body text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('function', 'api.add_member(text,text,text,text,text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '979fb66744f0def1344e5bf53c68145e'),
    ('function', 'api.approve_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'f3bfd8c25f9a6245e3ef838978073cd0'),
    ('function', 'api.create_tenant(text,text,text,text,text,text,text,text,jsonb,boolean,boolean,text)', 'tms_registrar', 'tms_service', '3720b1d293e78cbccbd3c446bf54b9e3'),
    ('function', 'api.delete_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'ebccd746458670f4c70458c9bf0600b5'),
    ('function', 'api.ensure_default_tenant(text,text)', 'tms_registrar', 'tms_service', 'f7645e02bd526119efa67830291e5925'),
    ('function', 'api.explain_access(text,text,text,text,boolean)', 'tms_registrar', 'tms_auditor tms_owner', '3f362aa87d042216078e5918f722233c'),
    ('function', 'api.explain_for_operator(text,text,text,text,text,text,text,text,text,text,boolean)', 'tms_registrar', 'tms_service', 'c07b53b6e0e36351d3d9ad7164dcb78e'),
    ('function', 'api.get_current_tenant(text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a2dabea3f1b69467272845bd714af71'),
    ('function', 'api.get_login_faults()', 'tms_registrar', 'tms_service', '5e35d1ba8adbdfe21ced71929cbde129'),
    ('function', 'api.get_readiness(text)', 'tms_registrar', 'tms_service', '2d014f472627080349fe363cec47ab14'),
    ('function', 'api.get_registration_status(text,text,text,text,text,text,boolean,integer,text[])', 'tms_registrar', 'tms_service', 'f65556ea86242d3b80f4b6bf6872cf10'),
    ('function', 'api.get_schema_version()', 'tms_registrar', 'tms_service', 'f2a7f8344bf343031795bd5adcf44dad'),
    ('function', 'api.get_setup_status(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '644645cadd2d707d7257ffd9374cecad'),
    ('function', 'api.get_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '3b331c5f22ce84451db4d40c954cda90'),
    ('function', 'api.list_boards(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '232fea41870a7ebcd555b769c0c8bf42'),
    ('function', 'api.list_members(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '9c48b26b968b3a7851606bad8cf23e49'),
    ('function', 'api.list_my_tenants(text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '7fb84d44efb0ad29a3010156ec1c5076'),
    ('function', 'api.list_tenants(text,text,text,text,text,text,integer,text,text,text)', 'tms_registrar', 'tms_service', '7fd7b7deda326d54e6a4a7b1216ce4dd'),
    ('function', 'api.register_tenant(text,text,text,text,text,text,text,text,text,text,jsonb,boolean,boolean,integer,text[],text)', 'tms_registrar', 'tms_service', '815f9a903342d7d59cf4283b5812805f'),
    ('function', 'api.reject_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '6f7b849f51bac751aa6f08e886b85416'),
    ('function', 'api.remove_member(text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '8b86184b707b31500c6417c2b50f8e6e'),
    ('function', 'api.resume_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'a915796a579fa9f1ac63c2e737746713'),
    ('function', 'api.suspend_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '5dcc8a91279ab6c76561b86cdd412955'),
    ('function', 'api.take_rate_limit(text,text,integer)', 'tms_registrar', 'tms_service', '2467ee3d8d766a3b78ff67b0d43b9e74'),
    ('function', 'api.update_tenant(text,text,text,text,text,text,text,text,text,jsonb,text[])', 'tms_registrar', 'tms_service', '48b1b9e33de7b08da7b21deaa0a637b8'),
    ('function', 'app.adopt(regclass)', 'tms_owner', '', '765cd727e7ebd9237aaaef89a422b824'),
    ('function', 'app.await_writers(uuid,boolean)', 'tms_registrar', '', '316ea0f7df30955e5eada3a31284089b'),
    ('function', 'app.board_json(app.boards)', 'tms_owner', 'tms_app', 'b2ff17214266ed6c2d039748d90c97f3'),
    ('function', 'app.count_tenants(text)', 'tms_registrar', 'tms_auditor', '469edab0911b6b7799ab8aecfb63b42c'),
    ('function', 'app.count_tenants_like(text,text)', 'tms_registrar', '', 'd5fd689fd694ae35e0b4513652271182'),
    ('function', 'app.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', '8297e332eda8e3937d95b839446598d2'),
    ('function', 'app.cursor_of(timestamp with time zone,uuid)', 'tms_owner', 'tms_app tms_registrar', '860fabd228104008346a85a66c10fdc1'),
    ('function', 'app.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '67ed87e44a0e6241901815fe9c9a643f'),
    ('function', 'app.enter_default(text,text,text,text)', 'tms_registrar', '', 'e53d9fd4554d7ce74d399f874e5a53bc'),
    ('function', 'app.enter_lobby(text,text,text,text,text)', 'tms_registrar', '', '3bf828d30b17036231b66576e4484145'),
    ('function', 'app.enter_tenant(text,text,text,text,text)', 'tms_registrar', 'tms_app', '4424ecd58849f08969922210e9f3d134'),
    ('function', 'app.etag(json)', 'tms_owner', 'tms_registrar', '8eb737e517796d6ce22928eb56414403'),
    ('function', 'app.find_tenant(text,boolean)', 'tms_registrar', '', '919d46d05c3100ad0844ff3c5537542e'),
    ('function', 'app.find_tenant_to_change(text,text[])', 'tms_registrar', '', 'fa5beac5cdc23ce0ff992e90bc186f26'),
    ('function', 'app.insert_tenant(text,text,text,text,jsonb)', 'tms_registrar', '', '1d02cdf5e8e2cd790f4c6aac7f0ba5e6'),
    ('function', 'app.is_behind(text)', 'tms_owner', 'tms_registrar', '0c61b8391d6ee19f76981d39a8d2327d'),
    ('function', 'app.is_distributed()', 'tms_owner', 'tms_auditor tms_registrar', 'd512d0d1fdbd05e2ff6889bcc0192c54'),
    ('function', 'app.iso_time(timestamp with time zone)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'fd59885aa9770697873dee4f51a131e7'),
    ('function', 'app.isolate(regclass,boolean)', 'tms_owner', '', 'a48b7c4393c1f8c554017aa17f6f002d'),
    ('function', 'app.isolation_advice()', 'tms_registrar', '', '988d42ab55152904697d76d9421641ca'),
    ('function', 'app.isolation_breaches()', 'tms_registrar', '', '9476734f3d3b943216a0a8d1859aeec4'),
    ('function', 'app.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', 'b7ac6dd1fcff487126c149995f4b5e60'),
    ('function', 'app.last_audit()', 'tms_owner', 'tms_registrar', 'c88a4e3575ea09c274ca35f2186f32c3'),
    ('function', 'app.leaking_tables()', 'tms_app', 'tms_auditor tms_registrar', 'da40bfed1c55f43ccbe19e35462c037e'),
    ('function', 'app.lock_tenant(text)', 'tms_registrar', '', '0b1ae05cd5d8020b9c15e41a7f1ade32'),
    ('function', 'app.member_json(app.users)', 'tms_owner', 'tms_app', 'a26aaca041cce263b087e34bf13bfab2'),
    ('function', 'app.move_tenant(text,text[],text,text)', 'tms_registrar', '', 'ee5850e71f4f5c4d77064d7bafb5fa14'),
    ('function', 'app.parse_uuid(text)', 'tms_owner', 'tms_app tms_registrar', '16cbb9025fe9d8da60ca41bdd12a10b6'),
    ('function', 'app.read_cursor(text)', 'tms_owner', 'tms_app tms_registrar', '7a450cd2eff59edf3dc1d99ec8f01a3e'),
    ('function', 'app.refuse(integer,text,text,text,jsonb)', 'tms_owner', 'tms_app tms_registrar', 'ed53708c0d267cc1eda3001a2aa9e4fd'),
    ('function', 'app.refuse_slug(text)', 'tms_owner', 'tms_registrar', '0494b21e36b9be8782d818579eacf24b'),
    ('function', 'app.remove_tenant(app.tenants)', 'tms_registrar', '', '0e07ca947d8eb6df20f0633e482b86d9'),
    ('function', 'app.replay(text,text,text,jsonb)', 'tms_registrar', '', '1de402158f59334ded63d0ca48e00947'),
    ('function', 'app.require_member(uuid,uuid)', 'tms_owner', 'tms_app', 'c6d4124107c68742c702ce61fe216009'),
    ('function', 'app.require_member_admin(text,text)', 'tms_owner', 'tms_app', 'd8ca10ef652aadb1df2c118d18e1f244'),
    ('function', 'app.require_operator(text,text,text,text,text,text)', 'tms_registrar', '', 'cb53aa9b3e4769955e3bfc93a31352aa'),
    ('function', 'app.require_own_table(regclass)', 'tms_owner', 'tms_app tms_auditor', '372ed04befe2137666ccc0d3cd708e48'),
    ('function', 'app.require_status(app.tenants,text)', 'tms_owner', 'tms_registrar', 'b7e177058b7adfc35ee4d44f1917d91e'),
    ('function', 'app.schema_version()', 'tms_owner', 'tms_auditor tms_registrar', '81db2cc5b5ba419c5ace31eb05c7159e'),
    ('function', 'app.set_actor(text,text)', 'tms_owner', 'tms_registrar', '9fd716fca6d98ef85a81a4d0f9f5c190'),
    ('function', 'app.set_tenant(uuid)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'f22879e1d2334df904803ce8936ae756'),
    ('function', 'app.shown_rows(uuid,integer)', 'tms_app', 'tms_auditor tms_registrar', '66704d878ad84c6f8985f81fd7c28633'),
    ('function', 'app.table_faults(regclass)', 'tms_owner', 'tms_auditor', 'e080d56edb568acf85249eb64e33746b'),
    ('function', 'app.tenant_id()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '9ca56ffeefeb0f10be11edde77d2f7dd'),
    ('function', 'app.tenant_json(app.tenants)', 'tms_owner', 'tms_app tms_registrar', '8faf545777e3b615ad9a588fe6b965a2'),
    ('function', 'app.tenant_page(integer,timestamp with time zone,uuid,text,text)', 'tms_registrar', '', '575d522375a1ff1ca17600e75e0e0e46'),
    ('function', 'app.tenant_tables()', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'a77714c0f71463977127d50ee1073861'),
    ('function', 'app.unprotected_tables()', 'tms_owner', 'tms_auditor tms_registrar', '609ab7da46f1b9e59e8d76437af5b647'),
    ('function', 'app.write_policies(regclass,name)', 'tms_owner', '', '16bf88379de7de608f081636ff88db64'),
    ('function', 'audit.accept(text)', 'tms_owner', 'tms_auditor', 'a131f7ffd9b349922fbb3b68f5036bd7'),
    ('function', 'audit.attempt(text,uuid,integer)', 'tms_owner', 'tms_auditor', 'cc98c7821e042d24cbb5df51028fe1dc'),
    ('function', 'audit.by_acceptance(text,name,text)', 'tms_owner', 'tms_auditor', '5826636805fef7739d6dad7a137f91e0'),
    ('function', 'audit.by_moving(oid)', 'tms_owner', 'tms_auditor', 'ab75ac7ffd423e2577b0c5f358611d14'),
    ('function', 'audit.by_owner(name,text)', 'tms_owner', 'tms_auditor', '1c05b8ac43add9b39123ae59a0526038'),
    ('function', 'audit.check_app_reach()', 'tms_owner', 'tms_auditor', '04923da4b065b8fb8df72f733e6bd263'),
    ('function', 'audit.check_audit_filtered()', 'tms_owner', 'tms_auditor', 'f6a1962925c49cd55de0af372a980648'),
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', 'e3980905d4256cabdad3abd6e55fe23f'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', 'fbf75b4d3bf5c6df5a219a5c3fa253c7'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', '4bc9a18d746772555f169d42aa4bb79e'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', '800f340d9c10bbd2c669bc034e0a5e5c'),
    ('function', 'audit.check_foreign_table()', 'tms_owner', 'tms_auditor', 'dd7744f8f790a391194de8e7aa04c671'),
    ('function', 'audit.check_function_body()', 'tms_owner', 'tms_auditor', 'c7cd7efe479271b584317fbdce6102bf'),
    ('function', 'audit.check_function_bypass()', 'tms_owner', 'tms_auditor', '5db5fbc2e100d38bda73fb0479a4cbe9'),
    ('function', 'audit.check_function_changed()', 'tms_owner', 'tms_auditor', 'e8de19a4f07408ebc3ce46c744faa14d'),
    ('function', 'audit.check_function_leakproof()', 'tms_owner', 'tms_auditor', 'b69a47bc259722755a25a72b59c68264'),
    ('function', 'audit.check_function_owner()', 'tms_owner', 'tms_auditor', 'f807d178c9685d930898f3fca24a79ad'),
    ('function', 'audit.check_function_public()', 'tms_owner', 'tms_auditor', '2a8fb09dea4c65f573e2c4e99812cf3f'),
    ('function', 'audit.check_function_search_path()', 'tms_owner', 'tms_auditor', '9b0f16aa3b79b73992c1518e44e47333'),
    ('function', 'audit.check_function_security()', 'tms_owner', 'tms_auditor', 'ce251b1eb7abf63c86ec57f92b3072ce'),
    ('function', 'audit.check_function_settings()', 'tms_owner', 'tms_auditor', '679bc73c25c0829b781dbc3e5d7cad69'),
    ('function', 'audit.check_index_missing()', 'tms_owner', 'tms_auditor', '1b7ee21438762256a906d3ad3ea543e5'),
    ('function', 'audit.check_other_grants()', 'tms_owner', 'tms_auditor', '786d4bc57069ce564603a173e5250048'),
    ('function', 'audit.check_policy_changed()', 'tms_owner', 'tms_auditor', '28a0f3722760e6e67af5cb5f4d868c7c'),
    ('function', 'audit.check_policy_extra()', 'tms_owner', 'tms_auditor', 'd1faf6862168f7d8f4834c8068586e61'),
    ('function', 'audit.check_policy_function()', 'tms_owner', 'tms_auditor', 'f23167578bc699e38b4c7647c9d90d51'),
    ('function', 'audit.check_policy_missing()', 'tms_owner', 'tms_auditor', '1832f482c5fcbef65005be1c1f5b11d1'),
    ('function', 'audit.check_publication()', 'tms_owner', 'tms_auditor', 'c3a1c6932de7679be0813684c8d8b9fe'),
    ('function', 'audit.check_registrar_reach()', 'tms_owner', 'tms_auditor', '0d8865ac4111ae12999b518c4b0597ed'),
    ('function', 'audit.check_rewrite_rule()', 'tms_owner', 'tms_auditor', '8c0b88682bc41535117ca19f80752ff4'),
    ('function', 'audit.check_rls_disabled()', 'tms_owner', 'tms_auditor', 'f9b1161bed0f117592e3df80920ad04c'),
    ('function', 'audit.check_rls_not_forced()', 'tms_owner', 'tms_auditor', '02fcf67fb0ad0ae6af9fe92ab719a004'),
    ('function', 'audit.check_role_attributes()', 'tms_owner', 'tms_auditor', '575531841992472c2d5c5bd200fbd9b6'),
    ('function', 'audit.check_role_membership()', 'tms_owner', 'tms_auditor', '7a735c080d897eb7f706e80d08b05d3a'),
    ('function', 'audit.check_role_owns()', 'tms_owner', 'tms_auditor', 'e6e80d4b18720c5a7c5b98b0f00b8db5'),
    ('function', 'audit.check_role_settings()', 'tms_owner', 'tms_auditor', '9c7a2cc8fd48451d9a20748d5e6c16a1'),
    ('function', 'audit.check_rows(text,uuid,bigint[])', 'tms_owner', 'tms_auditor', '33887f08c45a5330ab690e5fac1c76ed'),
    ('function', 'audit.check_schema_grants()', 'tms_owner', 'tms_auditor', '664dced47f493b0780b02fa31f61e2ad'),
    ('function', 'audit.check_server_settings()', 'tms_owner', 'tms_auditor', 'c20c3d2f8b19ef51beaf706f65653baf'),
    ('function', 'audit.check_server_version()', 'tms_owner', 'tms_auditor', '1effe665c994fb7dd9d0642cd57187c4'),
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', '158c11306d3dc787d8155ca8a9473948'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '57e556d774dc091acb413beac4d7c085'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', 'ea7948ade84356dca011bc420f852827'),
    ('function', 'audit.check_system_grants()', 'tms_owner', 'tms_auditor', '126843cf66887b607d19f185d32d0092'),
    ('function', 'audit.check_table_grants()', 'tms_owner', 'tms_auditor', '2c4eb1ee6f5d89ddda0752e65ac92253'),
    ('function', 'audit.check_table_inherits()', 'tms_owner', 'tms_auditor', '0ba207f4146feb218cc8b13711ee9f1a'),
    ('function', 'audit.check_table_missing()', 'tms_owner', 'tms_auditor', 'd13d37376b3026061141500c441c1bcc'),
    ('function', 'audit.check_table_owner()', 'tms_owner', 'tms_auditor', '9983c113f9f71aa890160a709e6bdb8b'),
    ('function', 'audit.check_table_rules()', 'tms_owner', 'tms_auditor', '24f765fb5b622b73ade562b60f935db9'),
    ('function', 'audit.check_table_without_tenant()', 'tms_owner', 'tms_auditor', 'e3a03e3bc42dd30f0aa6f65a3cf4f8cb'),
    ('function', 'audit.check_tenant_id_function()', 'tms_owner', 'tms_auditor', 'be3f439878e18252ab4495eab95f1f42'),
    ('function', 'audit.check_tenant_key()', 'tms_owner', 'tms_auditor', 'bab30b90b68842e7a8fbb0262dd6d093'),
    ('function', 'audit.check_trigger_disabled()', 'tms_owner', 'tms_auditor', 'd99ff818e85d5d623a9751e3d1881098'),
    ('function', 'audit.check_trigger_rights()', 'tms_owner', 'tms_auditor', 'fe3a08ec5b56f0bcbcc16665d2c2962c'),
    ('function', 'audit.check_unique_key_missing()', 'tms_owner', 'tms_auditor', 'ec23304e9ac1e98d19276809e9512742'),
    ('function', 'audit.check_view_leaks()', 'tms_owner', 'tms_auditor', 'f6435e1b49c5b576684367cbcd776de8'),
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', '6e7be46858bd68d3f12ed399967281a1'),
    ('function', 'audit.count_lost_tenants(regclass)', 'tms_owner', 'tms_auditor', '9eb4212f301e31c2e0b7645cc04fef87'),
    ('function', 'audit.count_suspects(text,text[],regclass,name)', 'tms_owner', 'tms_auditor', '7296026bfb4ca52aacd5ce67d4b34484'),
    ('function', 'audit.data_checks()', 'tms_owner', 'tms_auditor', '75b193c74ca1da785ae3a0d8b4d3e5f5'),
    ('function', 'audit.default_of(text)', 'tms_owner', 'tms_auditor', '7ffd506ec2b343ed196fd1dc2857e94f'),
    ('function', 'audit.definition_hash(oid)', 'tms_owner', 'tms_auditor', '7d4595e6b1840c52b7456efb9f44930d'),
    ('function', 'audit.examine(text,uuid,integer)', 'tms_owner', 'tms_auditor', '723c6c39873af3a5503b46a5b3497cd0'),
    ('function', 'audit.expected_policies()', 'tms_owner', 'tms_auditor', '810802f6e382d99beb56fb3330870c7a'),
    ('function', 'audit.expected_references()', 'tms_owner', 'tms_auditor', 'b1fe44c1e3cfed3cdf5309b193602aee'),
    ('function', 'audit.filter_of(regclass)', 'tms_owner', 'tms_auditor', '133ed8d368bc49c455825b40bca52864'),
    ('function', 'audit.find_tenant(text)', 'tms_owner', 'tms_auditor', 'f7af4ca5e9972e7e92aaf3bdbc4f1cc2'),
    ('function', 'audit.finish_run(bigint)', 'tms_owner', 'tms_auditor', '56b55631e9f607351de178f569aef385'),
    ('function', 'audit.functions()', 'tms_owner', 'tms_auditor', '4880ffbe4193b53d2dd3858b0a994364'),
    ('function', 'audit.has_rows(regclass,name,uuid)', 'tms_owner', 'tms_auditor', 'cb2a97af9c825ca6d0c8316bc29a0674'),
    ('function', 'audit.installed()', 'tms_owner', 'tms_auditor', '1f949c4b253075977eca6e03c27dd8a2'),
    ('function', 'audit.is_inherited(regclass)', 'tms_owner', 'tms_auditor', 'a7ea746ec51ec75d5477d08197fbe8c5'),
    ('function', 'audit.is_never_null(regclass,name)', 'tms_owner', 'tms_auditor', '0d8d1f65be045d42ac17782b75a8bb76'),
    ('function', 'audit.is_proved(regclass,text)', 'tms_owner', 'tms_auditor', '25837b3aecfc0e552fc5207e2f3ff9ee'),
    ('function', 'audit.is_unique(regclass,name[])', 'tms_owner', 'tms_auditor', '124b4d1b8d43aeccc901f4f7ce69c808'),
    ('function', 'audit.manifest()', 'tms_owner', 'tms_auditor', ''),
    ('function', 'audit.of_extensions(regclass)', 'tms_owner', 'tms_auditor', '63192a2e82a10dce9e01cb456178e100'),
    ('function', 'audit.our_roles()', 'tms_owner', 'tms_auditor', '5dab71b472e5360b7a2ae17eb1cd2f43'),
    ('function', 'audit.own_tables()', 'tms_owner', 'tms_auditor', 'd8d62003b8a8ea98a89b0fb97bae35d7'),
    ('function', 'audit.pass_checks(text)', 'tms_owner', 'tms_auditor', '3690d152fc02db79c130879c024c11bc'),
    ('function', 'audit.passes(text,boolean)', 'tms_owner', 'tms_auditor', '63ee0f72324024b3d09cc1581f42a8bb'),
    ('function', 'audit.plan_merges(regclass,name,integer)', 'tms_owner', 'tms_auditor', 'd108b6b303d8f7d9593126ec54ce1bb9'),
    ('function', 'audit.progress_line(integer,integer,text,bigint,bigint,timestamp with time zone,text)', 'tms_owner', 'tms_auditor', '95e256b7454f60f5855a215e54f8d46d'),
    ('function', 'audit.protection_query()', 'tms_owner', 'tms_auditor', '6faa68ed577394cedf3d883887008e57'),
    ('function', 'audit.prove(text,uuid,integer)', 'tms_owner', 'tms_auditor', 'f5b9abedd1567d6164420c673cbc1ae8'),
    ('function', 'audit.record_pass(bigint,text)', 'tms_owner', 'tms_auditor', '1adf85437cf05b0b339ea931d4dca3e3'),
    ('function', 'audit.relations()', 'tms_owner', 'tms_auditor', '7f840a63381ffbf1e5a4aaa63aa2b661'),
    ('function', 'audit.relations(regclass[])', 'tms_owner', 'tms_auditor', '5f24f08f442b792491759fdb213b9e29'),
    ('function', 'audit.report(bigint)', 'tms_owner', 'tms_auditor', '893cd8ca00a04f52fc227cc5cda60b79'),
    ('function', 'audit.require_isolation()', 'tms_owner', 'tms_auditor', '1ce02f8819524f9c89ec8d6591bb77d2'),
    ('function', 'audit.require_unfiltered(regclass)', 'tms_owner', 'tms_auditor', '4ab6885a92e5986c7051f0032ce4ffc5'),
    ('function', 'audit.role_name(oid)', 'tms_owner', 'tms_auditor', 'd93e0bfa0cc30ca6a3a0e814d7901901'),
    ('function', 'audit.row_tests(regclass)', 'tms_owner', 'tms_auditor', '30c1a249dd53e65bd29409041f1ffe20'),
    ('function', 'audit.run(text,text,integer,bigint)', 'tms_owner', 'tms_auditor', '4c1d0cd8fc879cec004039519bde6973'),
    ('function', 'audit.run_check(text,text,integer)', 'tms_owner', 'tms_auditor', 'd4f5e06dee60c858690543f7df24581c'),
    ('function', 'audit.run_family(text,boolean,integer)', 'tms_owner', 'tms_auditor', '59fd73d7055b067d05eccf8f0f502408'),
    ('function', 'audit.sample_tenants(uuid,integer)', 'tms_owner', 'tms_auditor', '0ad9c042a63b35d83bd30743bc3698e3'),
    ('function', 'audit.say_scanned(bigint)', 'tms_owner', 'tms_auditor', '6b02023e2942fc31f4fa347a9a1eee61'),
    ('function', 'audit.scan(regclass,uuid)', 'tms_owner', 'tms_auditor', '4cb50244e920556cecc7139f8c077f94'),
    ('function', 'audit.scanned(text)', 'tms_owner', 'tms_auditor', '714ae3acb57dbdc53fb0a71fd8427aa1'),
    ('function', 'audit.short_hash(text)', 'tms_owner', 'tms_auditor', '6f23cfe71952fec1f8acb0400a595545'),
    ('function', 'audit.slices(regclass,name,uuid)', 'tms_owner', 'tms_auditor', '4b3ce6a95861c87d59d8f5ad643270b3'),
    ('function', 'audit.start_run(text,text,integer)', 'tms_owner', 'tms_auditor', '23e14457719a6c8e00785fb32adc22e4'),
    ('function', 'audit.tenant_references()', 'tms_owner', 'tms_auditor', '7e63f48453607ddccc4fe6791d2fe0f8'),
    ('function', 'audit.tenant_references(regclass)', 'tms_owner', 'tms_auditor', '4d2663d8c476447048220fe1694bdf0c'),
    ('function', 'audit.try_writes(regclass,name,uuid,uuid)', 'tms_owner', 'tms_auditor', '615b758e986a60510125fd10cea4206c'),
    ('function', 'audit.version_fault(integer,boolean)', 'tms_owner', 'tms_auditor', '06d07c9578250233fc2390a7b0188d14'),
    ('function', 'audit.visible_rows(regclass,name,uuid[])', 'tms_owner', 'tms_auditor', 'f56e328b033e956fdab9d1f8baad34ba'),
    ('function', 'control.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', 'f51e10df58d79ca3a0d0795dfe58aa56'),
    ('function', 'control.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '64ba8d9e056505dbf964689f858940de'),
    ('function', 'control.examine(text,uuid,integer)', 'tms_auditor', 'tms_owner', '93c381d01a96c194de8c5ac1d25b0325'),
    ('function', 'control.find_tenant(text)', 'tms_auditor', 'tms_owner', '092ecd4817dc31d218f82c2a5fb7fb1b'),
    ('function', 'control.held_rows(regclass,uuid,integer)', 'tms_auditor', 'tms_registrar', '49f285b797178536712ef24c4701d0aa'),
    ('function', 'control.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', '379f66e5be803b087e2d33e846308ed7'),
    ('function', 'control.leaking_tables()', 'tms_app', 'tms_registrar', 'a64065acd87739f1fa6faf8563022cdf'),
    ('function', 'control.shown_rows(uuid,integer)', 'tms_app', 'tms_registrar', '940fe838dabb731f042c6f4ee27bec1c'),
    ('function', 'control.tg_tenants__count()', 'tms_owner', '', '9737cde625d18b6cd691d3909049c634'),
    ('function', 'control.tg_tenants__record()', 'tms_owner', '', 'c5bcc8f27a34855b08f6954793bb871a'),
    ('function', 'control.try_writes(regclass,name,uuid,uuid)', 'tms_app', 'tms_owner', 'ce4af7fb2724cf10b0a16ca75e28c820'),
    ('function', 'control.visible_rows(regclass,name,uuid[])', 'tms_app', 'tms_owner', '4c624280d5b02e03a6ccbb7a19cbb73f'),
    ('trigger', '_500_count_delete on app.tenants', '', '', 'a2967120993725a9552d831442a27623'),
    ('trigger', '_500_count_insert on app.tenants', '', '', 'b5b94c7cad75fc5c93e1758037716a02'),
    ('trigger', '_500_count_truncate on app.tenants', '', '', 'f60577f14ae18519078b884a6581387c'),
    ('trigger', '_500_count_update on app.tenants', '', '', '1f0c76f4e9cd0d421124ed827e09822d'),
    ('trigger', '_600_record_delete on app.tenants', '', '', 'f8677253e59ebd79f53a5217611b79af'),
    ('trigger', '_600_record_insert on app.tenants', '', '', 'a8f533c4b3f31f2fb3d931c0e4e7eb67'),
    ('trigger', '_600_record_update on app.tenants', '', '', 'e5a8a4a9b2e4345335208b4ce112da88')
$$;
comment on function audit.manifest() is
  'The functions of this release, who owns and may execute them, and the triggers on its tables, each with a hash of what it does.';
--! EndIncluded audit/manifest.sql
--! Included audit/catalog.sql
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
    'A row refers to a row that is in no tenant at all.',
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
    'A policy calls a function other than app.tenant_id(), or reads another table.', 'Immutable functions are folded into plans that the next tenant runs; other tables bring their own holes.', 'Drop the policy, or write it with app.tenant_id().'),
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
    'A reference between tenants'' tables without its composite foreign key. In tables that are not the service''s own it is a warning.', 'Only the key stops a row from pointing into another tenant.', 'Add it.'),
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
    'A view over tenants'' rows, the bookkeeping or the audit''s results that runs as its owner, or a materialized view of them.', 'Policies are asked for the owner and not for the reader; a materialized view has none.', 'security_invoker = true; drop the materialized view.'),
  ('foreign_table', 'isolation_config', 'error', 'schema', true,
    'A foreign table among the tenants'' tables.', 'No policy applies to it.', 'Keep it in another schema, behind a function.'),
  ('rewrite_rule', 'isolation_config', 'error', 'schema', true,
    'A rewrite rule on a tenants'' table, or one elsewhere that reaches tenants'' rows.', 'What it adds runs with the rights of the table''s owner.', 'Drop it.'),
  ('publication', 'isolation_config', 'warning', 'schema', true,
    'A publication sends tenants'' rows, or a subscription writes them.', 'A subscriber gets every tenant''s; what it is sent is written past policies and keys.',
    'Drop the table from it, unless the subscriber is a replica of the whole.'),
  -- schema: rights
  ('table_grants', 'isolation_config', 'error', 'schema', true,
    'A right on a tenants'' table beyond the template, or the auditor''s own missing.', 'TRUNCATE, REFERENCES and TRIGGER know no policy; a right of PUBLIC is everybody''s.', 'Revoke it.'),
  ('other_grants', 'isolation_config', 'error', 'schema', true,
    'Rights on the service''s bookkeeping, the audit''s results, views that run as their owner, or sequences.', 'Whoever writes the results of the audit decides what it finds.', 'Revoke them.'),
  ('schema_grants', 'isolation_config', 'error', 'schema', true,
    'CREATE, TEMP or USAGE on a schema or the database beyond what the roles need; CREATE for everybody on any schema.', 'Whoever can create can put an object in another''s place.', 'Revoke it.'),
  ('default_privileges', 'isolation_config', 'error', 'schema', true,
    'Default privileges that give tables, functions or large objects away as they are made: to everybody or a role of the service, or by one of the five to anybody else; in a schema of somebody else''s, or where policies still narrow, a warning.', 'A table is open from the moment it is made until somebody isolates it.', 'Revoke them.'),
  ('service_reach', 'isolation_config', 'error', 'schema', true,
    'The service''s login has a right on a table that it can get at, or on a function outside api; or api holds something else.', 'A login that can only call api functions cannot set a tenant and read it.', 'Revoke it.'),
  ('registrar_reach', 'isolation_config', 'error', 'schema', true,
    'tms_registrar reaches a tenants'' table beyond app.tenants and app.users.', 'It crosses tenants by design; its functions must have nothing to carry.', 'Revoke it.'),
  ('app_reach', 'isolation_config', 'error', 'schema', true,
    'tms_app or tms_registrar has a right on a table, view or foreign table that is no tenants'' table; a warning where requests only read it, or only write.',
    'What lies outside has no policy: whatever a request writes there, or somebody copies there, is every tenant''s.',
    'Revoke it; or give the table a tenant_id and call app.isolate().'),
  ('system_grants', 'isolation_config', 'error', 'schema', true,
    'A right of PUBLIC or of one of the five roles on a table, function, schema or parameter that Postgres ships, on a function of an extension, or on a foreign server, beyond those they come with.',
    'Statistics hold rows of all tenants, files hold everything, and SET on session_replication_role switches keys and triggers off.', 'Revoke it.'),
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
    'A SECURITY DEFINER function of a superuser or of a role with BYPASSRLS, a warning where none of the service''s roles may execute it; or one outside the service''s schemas that runs as a tms_ role.', 'Calling it is a way around every policy.',
    'Make it SECURITY INVOKER, or give it to a role under the policies. Of a provider''s own: select audit.accept(…).'),
  ('trigger_rights', 'isolation_config', 'warning', 'schema', true,
    'A trigger on a tenants'' table that a foreign key''s action can fire reads or writes tables, and its function is not SECURITY DEFINER.', 'Fired so, it runs as the table''s owner: before the row it reaches every tenant''s rows, after it (on Postgres 18) none.', 'Make its function a definer of tms_app, as docs/extending.md shows.'),
  ('function_search_path', 'isolation_config', 'error', 'schema', true,
    'A function without a fixed search_path, or with pg_temp not in the last place; a warning where it lies elsewhere and none of the service''s roles may execute it.', 'A temporary table of the same name takes the place of the real one.', 'Set it.'),
  ('function_settings', 'isolation_config', 'error', 'schema', true,
    'A function comes with a setting for the role, the tenant, or how policies apply; a warning where it lies elsewhere and none of the service''s roles may execute it.', 'It then works in a tenant of its own choosing.', 'Reset it.'),
  ('function_body', 'isolation_config', 'error', 'schema', true,
    'A function sets the tenant for the whole session, opens the tables to their owner, or changes the role; a warning where it lies elsewhere and none of the service''s roles may execute it.', 'On a pooled connection the next request is another tenant''s.', 'Use app.set_tenant().'),
  ('function_public', 'isolation_config', 'error', 'schema', true,
    'PUBLIC, or another role than planned, may execute a function; or requests may execute one with the rights of somebody else (a warning), or one written in C.', 'Functions are executable by everybody until that is revoked.', 'Revoke it.'),
  ('function_leakproof', 'isolation_config', 'error', 'schema', true,
    'A function claims to be LEAKPROOF (an extension''s, or one elsewhere that none of the service''s roles may execute: a warning); or the comparison of tenant ids no longer is.', 'The planner runs leakproof conditions before policies.', 'Take the mark away.'),
  -- schema: roles and server
  ('role_attributes', 'isolation_config', 'error', 'schema', true,
    'One of the five roles has an attribute that it must not have.', 'No policy applies to a superuser or BYPASSRLS.', 'Run db/roles.sql.'),
  ('role_membership', 'isolation_config', 'error', 'schema', true,
    'One of the five roles is a member of another role; or somebody may become one of them, or acts as tms_app and may create functions (a warning). Who may act as tms_auditor or tms_app by a login of its own, and who administers the five, is an info.',
    'Policies and rights come along with membership, and pg_policy does not show it.', 'Revoke it, but for DBAs, for jobs that act as tms_app, and for whoever runs db/roles.sql.'),
  ('role_settings', 'isolation_config', 'error', 'schema', true,
    'ALTER ROLE or ALTER DATABASE … SET gives sessions a tenant, app.maintenance, another role or another search_path; or tms_service has lost the settings of db/roles.sql.', 'Without a tenant of its own a request would be in that one.', 'Reset it.'),
  ('bypass_role', 'isolation_config', 'warning', 'schema', true,
    'A role with BYPASSRLS has rights on tenants'' tables; or one is a member of pg_read_all_data, or of another role of Postgres''s with rights on everything.',
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
--! Included audit/proved.sql
-- What the catalog proves of every row, so that no row need be read.
-- What a validated CHECK proves is not asked again: the planner refutes the predicate against the constraints that hold
-- (triggers off or not, Postgres never skips a CHECK), and leaves nothing to scan. A constraint that is gone, NOT VALID or NOT
-- ENFORCED proves nothing, and then the rows are read.
create or replace function audit.is_proved(p_table regclass, p_predicate text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set constraint_exclusion = on
as $$
declare
  v_plan json;
begin
  execute format('explain (format json, costs off) select from %s c where %s', p_table, p_predicate) into v_plan;
  return coalesce(v_plan #>> '{0,Plan,One-Time Filter}' = 'false', false);
end
$$;
comment on function audit.is_proved(regclass, text) is 'Whether the table''s own constraints rule the predicate out for every row; `c` is the row.';

-- The rows of children by INHERITS are read with their parent's and bound by none of its keys. Partitions are.
create or replace function audit.is_inherited(p_table regclass)
returns boolean
language sql
stable
return exists (
  select from pg_inherits h join pg_class p on p.oid = h.inhparent where p.oid = p_table and p.relkind = 'r');
comment on function audit.is_inherited(regclass) is 'Whether a table has children by INHERITS.';

-- From Postgres 18 on attnotnull is true of a NOT NULL that is not yet validated, too.
create or replace function audit.is_never_null(p_table regclass, p_column name)
returns boolean
language sql
stable
return exists (
  select from pg_attribute a
  where a.attrelid = p_table and a.attname = p_column and a.attnotnull and not audit.is_inherited(p_table) and not exists (
    select from pg_constraint k where k.conrelid = p_table and k.contype = 'n' and k.conkey = array[a.attnum] and not k.convalidated));
comment on function audit.is_never_null(regclass, name) is 'Whether Postgres itself holds that a column has no null.';

-- A valid unique key over these columns, or fewer of them, is enforced whatever triggers do.
create or replace function audit.is_unique(p_table regclass, p_columns name[])
returns boolean
language sql
stable
return exists (
  select from pg_index i
  where i.indrelid = p_table and i.indisunique and i.indisvalid and i.indimmediate and i.indpred is null and i.indexprs is null
    and not audit.is_inherited(p_table)
    and (select array_agg(a.attname) from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) k join pg_attribute a on a.attrelid = p_table and a.attnum = k)
        <@ p_columns
    and not exists (
      select from pg_attribute a where a.attrelid = p_table and a.attname = any (p_columns) and not audit.is_never_null(p_table, a.attname)));
comment on function audit.is_unique(regclass, name[]) is 'Whether Postgres itself holds that no two rows of a table share these columns.';
--! EndIncluded audit/proved.sql
--! Included audit/checks/functions.sql
-- What is used is followed through a hash table, which is made as large as memory allows: with the audit's own, clearing it takes most of the time.
create or replace function audit.check_function_owner()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
set work_mem = '4MB'
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when f.owner <> all (case f.schema when 'api' then array['tms_app', 'tms_registrar'] when 'app' then array['tms_owner', 'tms_app', 'tms_registrar']
                              when 'audit' then array['tms_owner', 'tms_app'] else array['tms_owner', 'tms_app', 'tms_auditor'] end)
      then format('%s owns the function, so that it runs with rights that no policy was written for', f.owner) end,
    format(case when o.owner <> 'tms_owner' and f.owner = 'tms_owner'
             then 'grant create on schema %1$s to %3$s; alter routine %2$s owner to %3$s; revoke create on schema %1$s from %3$s;'
             else 'alter routine %2$s owner to %3$s;' end, f.schema, f.name, o.owner)
  from audit.functions() f
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name
  cross join lateral (select coalesce(m.owner, case when f.schema = 'api' then 'tms_app' else 'tms_owner' end)) o (owner)
  where f.own
  union all
  -- What a row is made and tested with runs as whoever writes it; in a policy as who reads it, in statistics as the table's owner.
  -- Followed for all tables at once: for one at a time the planner would expect as many rows, and clear a table of their size, for each.
  select 'error', null, r.relid::text, case when c.name is null then '{}' else jsonb_build_object('uses', c.name) end,
    case when not (o.rolname in ('tms_owner', 'tms_app', 'tms_registrar', 'tms_auditor') or o.rolsuper or pg_has_role(o.oid, to_regrole('tms_owner'), 'member'))
      then format('what is written to the table is made or tested by %s, which belongs to %s: it runs with the rights of whoever writes', c.name, o.rolname) end,
    format('alter %s %s owner to tms_owner; -- and read what it does', c.kind, c.name)
  from audit.relations() r
  left join (
    with recursive used (relid, classid, objid) as (
      select t.relid, x.* from audit.relations() t cross join lateral (
        select 'pg_class'::regclass::oid, t.relid::oid -- the types of columns, the key of partitions
        union all
        select 'pg_attrdef'::regclass, oid from pg_attrdef where adrelid = t.relid
        union all
        select 'pg_constraint'::regclass, oid from pg_constraint where conrelid = t.relid
        union all
        select 'pg_trigger'::regclass, oid from pg_trigger where tgrelid = t.relid
        union all
        select 'pg_class'::regclass, indexrelid from pg_index where indrelid = t.relid
        union all
        select 'pg_policy'::regclass, oid from pg_policy where polrelid = t.relid
        union all
        select 'pg_statistic_ext'::regclass, oid from pg_statistic_ext where stxrelid = t.relid
      ) x
      union
      -- And what these use: an operator's function, a domain's tests, what a domain, an array or a composite type is of.
      select u.relid, n.* from used u cross join lateral (
        select d.refclassid, d.refobjid from pg_depend d
        where d.classid = u.classid and d.objid = u.objid and d.refobjid >= 16384
          and d.refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass)
        union all
        select 'pg_constraint'::regclass, oid from pg_constraint where u.classid = 'pg_type'::regclass and contypid = u.objid
        union all
        select 'pg_class'::regclass, typrelid from pg_type where u.classid = 'pg_type'::regclass and oid = u.objid and typrelid <> 0
      ) n
    )
    select u.relid, 'routine' as kind, f.oid::regprocedure::text as name, f.proowner as owner
    from used u join pg_proc f on f.oid = u.objid
    where u.classid = 'pg_proc'::regclass and f.oid not in (select audit.of_extensions('pg_proc'))
    union all
    select u.relid, 'domain', t.oid::regtype::text, t.typowner
    from used u join pg_type t on t.oid = u.objid and t.typtype = 'd'
    where u.classid = 'pg_type'::regclass and t.oid not in (select audit.of_extensions('pg_type'))
  ) c on c.relid = r.relid
  left join pg_roles o on o.oid = c.owner
$$;

create or replace function audit.check_function_security()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with expected as (
    -- Somebody's own helper of such a role may be either; of a definer function_changed asks that it be in the list.
    select f.*, case when m.name is null and f.schema <> 'api' and f.owner in ('tms_app', 'tms_registrar', 'tms_auditor') then null else (f.schema = 'api' or coalesce(m.owner, f.owner) in ('tms_app', 'tms_registrar', 'tms_auditor') or f.name ~ any (array[
        -- The owner's own definers: each reads or writes what nobody else may, and nothing of a tenant's.
        '^app\.(schema_version|last_audit)\(', '^control\.tg_tenants__(count|record)\(', '^audit\.(has_rows|start_run|record_pass|finish_run|examine|find_tenant|try_writes|visible_rows)\(']))
        and f.name <> 'api.get_login_faults()' end as wanted
    from audit.functions() f left join audit.manifest() m on m.kind = 'function' and m.name = f.name
    where f.own
  )
  select 'error', null::uuid, name, '{}'::jsonb,
    case when definer and not wanted then format('the function runs with all rights of its owner, %s, and is not one of those that must', owner)
         when wanted and not definer then 'the function is not SECURITY DEFINER, and was made to run as its owner' end,
    audit.by_owner(owner, format('alter routine %s security %s;', name, case when wanted then 'definer' else 'invoker' end))
  from expected
$$;

-- Elsewhere, what the service's roles have no way to is a provider's own: worth reading once, and no reason to stop a migration.
create or replace function audit.check_function_bypass()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached or h.holds then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when f.definer and not f.own and h.holds then format('the function lies outside the service''s schemas and runs as %s', f.owner)
         when f.definer and (r.rolsuper or r.rolbypassrls) and not f.vouched then format('the function runs as %s, to whom no policy applies%s', f.owner,
           case when not f.reached then format('; none of the service''s roles may execute it, but %s', coalesce(nullif(replace(f.granted, ' ', ', '), ''), 'its owner only')) end) end,
    -- Of the service's own functions it is the role that is wrong.
    case when f.own and f.owner in ('tms_owner', 'tms_registrar', 'tms_auditor', 'tms_app') then '-- as an administrator:' || E'\n\\i db/roles.sql'
         when m.owner is not null then format('alter routine %s owner to %s;', f.name, m.owner)
         when not f.reached and not h.holds then audit.by_acceptance(f.name, f.owner, 'security invoker')
         else audit.by_owner(f.owner, format('alter routine %s security invoker;', f.name)) || coalesce(
           (select format(' -- or: revoke execute on routine %s from %s;', f.name, string_agg(w, ', ' order by w)) from unnest(string_to_array(f.granted, ' ')) w
            where not f.own and w = any (array_append(audit.our_roles(), 'public')) having count(*) > 0), '') end
  from audit.functions() f join pg_roles r on r.rolname = f.owner
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name
  cross join lateral (
    select not r.rolsuper and exists (
      select from pg_roles t where t.rolname in ('tms_owner', 'tms_registrar', 'tms_auditor', 'tms_app') and pg_has_role(r.oid, t.oid, 'usage')) as holds) h
  where f.kind <> 'a'
$$;

-- A key's own action runs as the owner of the table, and as no policy applied: a trigger that it fires runs likewise, before the
-- row on every release, after it on Postgres 18 and newer. Every tenants' table is reached so, from app.tenants.
create or replace function audit.check_trigger_rights()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, r.relid::text, jsonb_build_object('trigger', t.tgname),
    case when not p.prosecdef and b.code ~* '\m(select|insert|update|delete|merge|truncate|perform|execute|call)\M'
      -- No key's action inserts, and few update.
      and (t.tgtype & 8 = 8 or t.tgtype & 16 = 16 and exists (
        select from pg_constraint k where k.conrelid = r.relid and k.contype = 'f' and (k.confdeltype in ('n', 'd') or k.confupdtype in ('c', 'n', 'd'))))
      then format('where a foreign key''s action fires the trigger, %s runs as %s %s', p.oid::regprocedure, c.relowner::regrole,
        case when t.tgtype & 2 = 2 then 'and past every policy: it reaches the rows of all tenants' else 'and, inside a tenant, sees no row: what it writes fails or changes nothing' end) end,
    format(E'-- as docs/extending.md tells; in each of its statements name tenant_id, and the schema of each table and function:\n'
      '%1$sgrant create on schema app to tms_app; alter function %2$s owner to tms_app; revoke create on schema app from tms_app;\n'
      'set role tms_app; alter function %2$s security definer set search_path = pg_catalog, pg_temp; revoke all on function %2$s from public; reset role;\n'
      'select audit.accept(%3$L);',
      case when p.pronamespace not in ('app'::regnamespace, to_regnamespace('api')) then format(E'alter function %s set schema app;\n', p.oid::regprocedure) end,
      f.name, f.name)
  from audit.relations() r
  join pg_class c on c.oid = r.relid
  join pg_trigger t on t.tgrelid = r.relid and not t.tgisinternal and t.tgparentid = 0
  join pg_proc p on p.oid = t.tgfoid
  cross join lateral (
    select case when l.lanname in ('plpgsql', 'sql') then regexp_replace(regexp_replace(regexp_replace(p.prosrc, '--[^\n]*', ' ', 'g'), '/\*.*?\*/', ' ', 'g'), '''[^'']*''', '', 'g') else 'execute' end
    from pg_language l where l.oid = p.prolang) b (code)
  cross join lateral (
    select case when p.pronamespace = to_regnamespace('api') then 'api.' else 'app.' end || quote_ident(p.proname) || '()') f (name)
  where r.relid <> 'app.tenants'::regclass and p.oid >= 16384 and p.oid not in (select audit.of_extensions('pg_proc'))
$$;

create or replace function audit.check_function_search_path()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when f.vouched then null
         when (f.own or f.definer) and c.path is null and (f.definer or p.prosqlbody is null and f.kind <> 'p'
           -- Inlined without one: each name in them has its schema, and function_changed looks at their bodies.
           and f.name not in ('app.board_json(app.boards)', 'app.tenant_json(app.tenants)', 'app.member_json(app.users)'))
           then 'the function takes its search_path from the caller, whose objects can stand in for the real ones'
         when f.own and c.path not in ('pg_catalog, pg_temp', '"pg_catalog", "pg_temp"') then format('search_path is %s instead of pg_catalog, pg_temp', c.path)
         when f.definer and c.path !~ ',\s*"?pg_temp"?$' then format('search_path is %s: without pg_temp in the last place, temporary objects are found first', c.path) end,
    case when f.reached then audit.by_owner(f.owner, format('alter routine %s set search_path = pg_catalog, pg_temp;', f.name))
         else audit.by_acceptance(f.name, f.owner, 'set search_path = pg_catalog, pg_temp') end
  from audit.functions() f
  join pg_proc p on p.oid = f.oid
  join pg_language l on l.oid = p.prolang
  left join lateral (select substr(x, 13) as path from unnest(f.config) x where x like 'search\_path=%') c on true
  where l.lanname not in ('c', 'internal')
$$;

create or replace function audit.check_function_settings()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when c.setting is not null and not f.vouched and not (f.schema in ('audit', 'control') and c.setting = 'row_security=on')
      then format('the function sets %s', c.setting) end,
    case when f.reached then audit.by_owner(f.owner, format('alter routine %s reset %s;', f.name, split_part(c.setting, '=', 1)))
         else audit.by_acceptance(f.name, f.owner, 'reset ' || split_part(c.setting, '=', 1)) end
  from audit.functions() f
  left join lateral (
    select x as setting from unnest(f.config) x
    where lower(split_part(x, '=', 1)) in ('role', 'session_authorization', 'row_security', 'session_replication_role', 'app.tenant_id', 'app.maintenance', 'app.actor')) c on true
$$;

-- A setting for the session outlives the request; the next one on the same connection is somebody else's. What the release
-- itself brought (audit.manifest) was read then, and is not read again here. SET stands at the beginning of a statement, which may be
-- the text of an EXECUTE, but not of a message, nor of what is joined to other text; an UPDATE's does not.
create or replace function audit.check_function_body()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when m.name is not null or f.vouched then null
         when b.sets ~* '<set>\s+(session\s+)?"?app"?\."?tenant_id"?\s*(=|to\M)'
           or exists (select from regexp_split_to_table(b.code, 'set_config\s*\(', 'i') with ordinality as c (call, n)
                      where c.n > 1 and split_part(c.call, ';', 1) ~* 'app\.tenant_id'
                        and split_part(c.call, ';', 1) !~* ',\s*(is_local\s*(=>|:=)\s*)?(true|''(t|true|on|yes|y|1)'')\s*\)')
           then 'the function sets app.tenant_id for the session, and not for the transaction'
         when b.sets ~* '<set>\s+((session|local)\s+)?"?app"?\."?maintenance' or b.code ~* 'set_config\s*\([^;]*app\.maintenance' then 'the function sets app.maintenance, which opens every table to the owner'
         when b.code ~* '\mupdate\s+(pg_catalog\.)?pg_settings\M'
           or b.sets ~* '<set>\s+((session|local)\s+)?"?(role|session\s+authorization|row_security|session_replication_role)\M'
           or b.code ~* 'set_config\s*\([^;]*(''|\$)(role|session_authorization|row_security|session_replication_role)(''|\$)'
           then 'the function changes the role, or how policies and triggers apply to it' end,
    format(case when f.reached then 'select pg_get_functiondef(%1$L::regprocedure); -- look at it; inside a tenant: perform app.set_tenant(…)'
                else 'select pg_get_functiondef(%1$L::regprocedure); -- read it, then: select audit.accept(%1$L);' end, f.name)
  from audit.functions() f
  -- Not in one expression: with an alternative in it, it would take all between the first and the last comment.
  cross join lateral (select regexp_replace(regexp_replace(f.body, '--[^\n]*', ' ', 'g'), '/\*.*?\*/', ' ', 'g')) c (code)
  cross join lateral (
    select c.code, regexp_replace(c.code, '(?<!(\|\||\mraise(\s+\w+)?)\s*)(''|\$)\s*set\M', '<set>', 'gi')
      || regexp_replace(regexp_replace(c.code, '''[^'']*''', '', 'g'), '(^|;|\mbegin|\mthen|\melse|\mloop)\s*set\M', '<set>', 'gi')) b (code, sets)
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name and m.body = audit.definition_hash(f.oid)
  where f.schema <> 'audit'
$$;

create or replace function audit.check_function_public()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.own or a.who = 'tms_service' then 'error' else 'warning' end, null::uuid, f.name, jsonb_build_object('role', a.who),
    case when f.own and a.who = 'public' then 'everybody may execute the function'
         when f.definer and a.who = 'public' and f.reached then format('everybody may execute the function with the rights of %s', f.owner)
         when f.definer and not f.own and a.who in ('tms_service', 'tms_app', 'tms_registrar')
           then format('%s may execute the function with the rights of %s: what one tenant leaves there another may find', a.who, f.owner)
         when f.own and a.is_grantable then format('%s may pass on the right to execute the function', a.who)
         when f.schema = 'api' and a.who not in ('tms_service', 'tms_owner', 'tms_auditor') then format('%s may execute the function, beside the service''s login', a.who) end,
    audit.by_owner(f.owner, format('revoke execute on routine %s from %s;', f.name, a.who))
  from audit.functions() f
  left join lateral (
    select audit.role_name(x.grantee) as who, x.is_grantable
    from aclexplode(f.acl) x where x.grantee <> to_regrole(quote_ident(f.owner))) a on true
  union all
  -- Under a name of its own a function of the server is under none of the server's rights.
  select 'error', null, f.name, jsonb_build_object('role', w.role),
    case when has_schema_privilege(w.role, f.schema, 'usage') and has_function_privilege(w.role, f.oid, 'execute')
      then format('%s may execute the function, which is written in %s: it does what the server''s account may', w.role, l.lanname) end,
    audit.by_owner(f.owner, format('revoke execute on routine %s from %s, public;', f.name, w.role))
  from audit.functions() f
  join pg_proc p on p.oid = f.oid
  join pg_language l on l.oid = p.prolang and not l.lanpltrusted
  cross join (values ('tms_service'), ('tms_app'), ('tms_registrar'), ('tms_auditor')) as w (role)
  where to_regrole(w.role) is not null
  union all
  select 'info', null, oid::regprocedure::text, jsonb_build_object('role', 'tms_service'),
    case when has_function_privilege(to_regrole('tms_service'), oid, 'execute')
      then 'the service may write large objects, which belong to no tenant and know no policy' end,
    format('revoke execute on function %s from public; -- by a superuser; db/large_objects.sql does it for all of them', oid::regprocedure)
  from pg_proc
  where pronamespace = 'pg_catalog'::regnamespace and proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_put', 'lowrite')
$$;

create or replace function audit.check_function_leakproof()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when f.leakproof and not f.vouched then 'the function claims to be LEAKPROOF: it is run on rows before the policy is' end,
    case when f.reached then format('alter function %s not leakproof;', f.name) else audit.by_acceptance(f.name, f.owner, 'not leakproof') end
  from audit.functions() f
  where f.kind in ('f', 'w')
  union all
  select 'warning', null, f.oid::regprocedure::text, '{}'::jsonb,
    'the function of an extension claims to be LEAKPROOF: it is run on rows before the policy is',
    format('alter function %s not leakproof; -- unless the extension made it so', f.oid::regprocedure)
  from pg_proc f
  where f.proleakproof and f.oid >= 16384 and f.oid in (select audit.of_extensions('pg_proc'))
  union all
  select 'error', null, 'uuid_eq(uuid,uuid)', '{}'::jsonb,
    case when not proleakproof then 'the comparison in every policy is not leakproof: conditions of a query may be run before it, on any tenant''s rows' end,
    'alter function pg_catalog.uuid_eq(uuid, uuid) leakproof;'
  from pg_proc where oid = 'pg_catalog.uuid_eq(uuid,uuid)'::regprocedure
$$;
--! EndIncluded audit/checks/functions.sql
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
  select case when (c.relkind = 'v' and v.invoker or c.relkind = 'S' and a.privilege_type <> 'UPDATE') and n.nspname = 'app'
                and a.who <> all (array_append(audit.our_roles(), 'public')) then 'warning' else 'error' end,
    null::uuid, c.oid::regclass::text, jsonb_build_object('role', coalesce(a.who, 'nobody'), 'privilege', a.privilege_type),
    case when a.who is not null and not (
        n.nspname = 'control' and a.who = 'tms_registrar' and a.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
        or n.nspname = 'audit' and a.who = 'tms_auditor' and a.privilege_type = 'SELECT'
        or n.nspname = 'app' and c.relkind = 'v' and v.invoker
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
  select case when name in ('public', 'database') and who = 'public' and privilege_type = 'CONNECT' then 'warning'
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
    case when name = 'database' and who = 'public' and privilege_type = 'CONNECT' then format('grant connect on %s to tms_service, tms_auditor; ', object) else '' end
      || format('revoke %s on %s from %s;', privilege_type, object, who)
  from named
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

create or replace function audit.check_service_reach()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- What an extension shows to everybody (pg_stat_statements, citus_tables) is its own, and may be there before a migration.
  select case when c.oid in (select audit.of_extensions('pg_class'))
              then 'warning' else 'error' end, null::uuid, c.oid::regclass::text, jsonb_build_object('role', 'tms_service'),
    -- Elsewhere a right is one where the schema may be used.
    case when (n.nspname in ('app', 'api', 'control', 'audit') or has_schema_privilege('tms_service', n.oid, 'usage'))
           and (has_table_privilege('tms_service', c.oid, 'select, insert, update, delete, truncate, references, trigger')
             or has_any_column_privilege('tms_service', c.oid, 'select, insert, update, references'))
      then 'the service''s login has rights on it: it may execute api functions and nothing else' end,
    format('revoke all on table %s from tms_service, public;', c.oid::regclass) || case when c.oid in (select audit.of_extensions('pg_class')) then audit.by_moving(c.oid) else '' end
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.oid >= 16384 and n.nspname <> 'pg_catalog' and n.nspname not like 'pg\_t%'
  union all
  select 'error', null, f.oid::regprocedure::text, jsonb_build_object('role', 'tms_service'),
    case when has_function_privilege('tms_service', f.oid, 'execute') then 'the service''s login may execute it, and it is not of the schema api' end,
    audit.by_owner(pg_get_userbyid(f.proowner), format('revoke execute on routine %s from tms_service, public;', f.oid::regprocedure))
  from pg_proc f join pg_namespace n on n.oid = f.pronamespace
  where n.nspname in ('app', 'control', 'audit')
    and f.oid not in (select audit.of_extensions('pg_proc'))
  union all
  select 'error', null, c.oid::regclass::text, '{}'::jsonb, 'the schema api holds functions and nothing else',
    format('drop %s %s;', case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end, c.oid::regclass)
  from pg_class c where c.relnamespace = to_regnamespace('api') and c.relkind in ('r', 'p', 'v', 'm', 'f')
$$;

-- Of tms_app and tms_registrar, through PUBLIC too. What lies in the service's own schemas other checks look at.
create or replace function audit.check_app_reach()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when c.relkind in ('r', 'p') and not (w.reads and w.writes) and r.name = 'tms_app' or c.oid in (select audit.of_extensions('pg_class')) then 'warning' else 'error' end,
    null::uuid, c.oid::regclass::text, jsonb_build_object('role', r.name),
    case when not w.reads and not w.writes then null
         when (select option_value::boolean from pg_options_to_table(c.reloptions) where option_name = 'security_invoker') then null  -- its reader's rights decide
         when c.relkind in ('v', 'm', 'f')
           then format('%s reads it with the rights of %s, past every policy', r.name, c.relowner::regrole)
         when r.name = 'tms_registrar' then 'tms_registrar, which crosses tenants, has rights on it: its reach is app.tenants, app.users and control'
         when w.reads and w.writes then 'what one tenant writes into it every other may read: it has no column tenant_id and no policy'
         when w.writes then 'requests of all tenants write into it: whoever reads it has to know whose is what'
         else 'every tenant reads all of it: right for what all share, such as a list of countries' end,
    format('revoke all on table %s from %s, public;', c.oid::regclass, r.name) || case when c.oid in (select audit.of_extensions('pg_class')) then audit.by_moving(c.oid) else '' end
  from (values ('tms_app'), ('tms_registrar')) as r (name)
  cross join pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  cross join lateral (
    select n.nspname not in ('app', 'api', 'control', 'audit') and has_schema_privilege(r.name, n.oid, 'usage') as there
  ) s
  cross join lateral (
    select s.there and has_any_column_privilege(r.name, c.oid, 'select') as reads,
      s.there and (has_any_column_privilege(r.name, c.oid, 'insert, update, references') or has_table_privilege(r.name, c.oid, 'delete, truncate, trigger')) as writes
  ) w
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.oid >= 16384 and n.nspname <> 'pg_catalog' and n.nspname not like 'pg\_t%'
    and c.relpersistence <> 't' and c.oid not in (select relid from audit.relations())
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
    from pg_class c where c.relnamespace = 'pg_catalog'::regnamespace and c.relacl is not null
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
    from pg_namespace n where n.nspname = 'pg_catalog' and n.nspacl is not null
  ), given as (
    select s.kind, s.name, a.grantee, a.privilege_type, ''::text as col
    from shipped s
    left join pg_init_privs i on i.classoid = s.classid and i.objoid = s.objid and i.objsubid = 0
    cross join lateral aclexplode(s.acl) a
    where not exists (
      select from aclexplode(coalesce(i.initprivs, acldefault(s.since, s.owner))) x where x.grantee = a.grantee and x.privilege_type = a.privilege_type)
    union all
    select 'table', t.attrelid::regclass::text, a.grantee, a.privilege_type, format(' (%I)', t.attname)
    from pg_attribute t
    join pg_class c on c.oid = t.attrelid and c.relnamespace = 'pg_catalog'::regnamespace
    left join pg_init_privs i on i.classoid = 'pg_class'::regclass and i.objoid = t.attrelid and i.objsubid = t.attnum
    cross join lateral aclexplode(t.attacl) a
    where not exists (select from aclexplode(i.initprivs) x where x.grantee = a.grantee and x.privilege_type = a.privilege_type)
    union all
    select 'parameter', p.parname, a.grantee, a.privilege_type, '' from pg_parameter_acl p cross join lateral aclexplode(p.paracl) a
  )
  select 'error', null::uuid, case when kind = 'table' then name end, jsonb_build_object('object', name, 'role', w.who, 'privilege', privilege_type),
    format('%s has %s%s on the %s %s, which Postgres and its extensions do not grant by default', w.who, privilege_type, col, kind, name),
    format('revoke %s%s on %s %s from %s; -- as a superuser', privilege_type, col, kind, name, w.who)
  from given
  cross join lateral (select audit.role_name(grantee)) as w (who)
  where w.who = any (array_append(audit.our_roles(), 'public'))
$$;

-- An owner gives rights to whom it likes, changes and drops. The roles that work for requests own the functions that run as them.
create or replace function audit.check_role_owns()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, null, jsonb_build_object('role', r.name, 'object', d.object),
    case when d.object is not null then format('%s owns the %s', r.name, d.object) end,
    case when d.blob is not null then format('select lo_unlink(%s); -- as %s, once you have read it: select lo_get(%1$s);', d.blob, r.name)
         when d.server is not null then format('drop user mapping for %I server %I; -- as a superuser', r.name, d.server)
         else format('alter %s owner to tms_owner; -- as a superuser, or as a member of %s and tms_owner', d.named, r.name) end
  from (values ('tms_service'), ('tms_app'), ('tms_registrar'), ('tms_auditor')) as r (name)
  left join lateral (
    select case when s.classid = 'pg_database'::regclass then 'database' else pg_describe_object(s.classid, s.objid, s.objsubid) end as object,
      (select regexp_replace(i.type, '^statistics object$', 'statistics') || ' ' || i.identity from pg_identify_object(s.classid, s.objid, s.objsubid) i) as named,
      case when s.classid = 'pg_largeobject'::regclass then s.objid end as blob,
      (select m.srvname from pg_user_mappings m where s.classid = 'pg_user_mapping'::regclass and m.umid = s.objid) as server
    from pg_shdepend s
    where s.refclassid = 'pg_authid'::regclass and s.refobjid = to_regrole(r.name) and s.deptype = 'o'
      and (select oid from pg_database where datname = current_database()) in (s.dbid, case when s.classid = 'pg_database'::regclass then s.objid end)
      and not (s.classid = 'pg_proc'::regclass and r.name <> 'tms_service')
      and s.classid <> 'pg_default_acl'::regclass -- what is made is not owned by this; check_default_privileges() looks at it
  ) d on true
$$;
--! EndIncluded audit/checks/grants.sql
--! Included audit/checks/keys.sql
create or replace function audit.check_tenant_key()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb,
    case when k.oid is null then 'no foreign key ties tenant_id to app.tenants with ON DELETE CASCADE: rows of nobody can be written, and outlive their tenant'
         when not k.convalidated then format('the foreign key %I is NOT VALID: nobody looked at the rows before it', k.conname) end,
    -- By the name that app.isolate() gives it: where that is another remedy, pasted before, there is still one key.
    case when k.oid is null then format('alter table %1$s drop constraint if exists %2$I%3$sadd constraint %2$I foreign key (tenant_id) references app.tenants (id) on delete cascade;',
           r.relid, left(c.relname, 48) || '_tenant_id_fkey', case when app.is_distributed() then format('; alter table %s ', r.relid) else ', ' end)
         else format('alter table %s validate constraint %I;', r.relid, k.conname) end
  from (
    -- A child by INHERITS has none of its parent's keys.
    select relid from audit.relations() r join pg_class c on c.oid = r.relid where tenant_column = 'tenant_id' and not (is_child and c.relispartition)
    union all
    -- Bookkeeping that must go with its tenant; on Citus it has no key (db/distribute.sql). Found in the catalog, since
    -- to_regclass() asks for a right on the schema.
    select oid from pg_class where relnamespace = to_regnamespace('control') and relname = 'idempotency_keys' and not app.is_distributed()
  ) r
  join pg_class c on c.oid = r.relid
  left join lateral (
    select c.* from pg_constraint c
    where c.conrelid = r.relid and c.contype = 'f' and c.confrelid = to_regclass('app.tenants') and c.confdeltype = 'c'
      and coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true)
      and c.conkey = array(select attnum from pg_attribute where attrelid = r.relid and attname = 'tenant_id')
    order by c.convalidated desc limit 1) k on true
$$;

create or replace function audit.check_foreign_key_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- Each table's name is made once: in a subquery it would be for every column.
  with named as materialized (
    select r.relid, c.relnamespace, lower(replace(c.relname, '_', '')) as name, a.attname as key, t.typcategory
    from audit.relations() r
    join pg_class c on c.oid = r.relid
    join pg_index i on i.indrelid = r.relid and i.indisprimary and i.indnkeyatts = 2
    join pg_attribute a on a.attrelid = r.relid and a.attnum = i.indkey[1]
    join pg_type t on t.oid = a.atttypid
    where not r.is_child and r.tenant_column = 'tenant_id'
  ), unbound as (
    select r.relid, c.relnamespace, a.attname, a.attnum, a.atttypid, t.typcategory, lower(replace(regexp_replace(a.attname, '(_id|Id|ID)$', ''), '_', '')) as stem
    from audit.relations() r
    join pg_class c on c.oid = r.relid
    join pg_attribute a on a.attrelid = r.relid and a.attnum > 0 and not a.attisdropped and a.attname <> 'tenant_id'
      and (a.attname ~ '(_id|[a-z0-9](Id|ID))$' or c.relname like '\_%' and a.attname in ('A', 'B')) -- as Prisma names those of many-to-many
    join pg_type t on t.oid = a.atttypid
    where not r.is_child and r.tenant_column = 'tenant_id'
      and not exists (select from audit.expected_references() e where to_regclass(e.child) = r.relid and e.child_column = a.attname)
  ), meant as (
    select distinct on (a.relid, a.attnum) a.relid as child, a.attnum, k.relid, k.key
    from unbound a
    cross join lateral unnest(array[a.stem, a.stem || 's', a.stem || 'es', regexp_replace(a.stem, 'y$', 'ies')]) n (name)
    join named k on k.name = n.name and k.typcategory = a.typcategory
    order by a.relid, a.attnum, k.relnamespace <> a.relnamespace, k.relid::text
  )
  select case when r.constraint_name is null then 'error' else 'warning' end, null::uuid, r.child::text, jsonb_build_object('columns', to_jsonb(r.child_columns)),
    case when r.constraint_name is null then format('no foreign key (tenant_id, %s) refers to %s: a row may point into another tenant', array_to_string(r.child_columns, ', '), r.parent)
         when e.cascades and c.confdeltype <> 'c' then format('the foreign key %I has lost its ON DELETE CASCADE: what should go with a row keeps it from being deleted', r.constraint_name) end,
    format('alter table %s %sadd constraint %I foreign key (tenant_id, %s) references %s (tenant_id, %s)%s;', r.child,
      -- The name may be another constraint's. Citus takes one action at a time.
      (select string_agg(format('drop constraint if exists %I', n) || case when app.is_distributed() then format('; alter table %s ', r.child) else ', ' end, '')
       from (select r.constraint_name union select e.constraint_name) x (n) where n is not null),
      coalesce(e.constraint_name, r.constraint_name), array_to_string(r.child_columns, ', '), r.parent, array_to_string(r.parent_columns, ', '),
      case when e.cascades then ' on delete cascade' end)
  from audit.tenant_references() r
  left join audit.expected_references() e on to_regclass(e.child) = r.child and array[e.child_column] = r.child_columns
  left join pg_constraint c on c.conrelid = r.child and c.conname = r.constraint_name
  union all
  -- Anybody's table: a column that looks like a reference and is bound by nothing. Of a uuid its name's end says so; a number or a text
  -- belongs to another system as often, unless the rest of its name is that of a table with such a key.
  select 'warning', null, a.relid::text, jsonb_build_object('columns', jsonb_build_array(a.attname)),
    case when not exists (select from pg_constraint c where c.conrelid = a.relid and c.contype = 'f' and a.attnum = any (c.conkey))
         then format('%I looks like a reference%s, and no foreign key holds it to its tenant', a.attname, ' to ' || p.relid) end,
    format('alter table %s add foreign key (tenant_id, %I) references %s;', a.relid, a.attname, case when p.relid is null then '… (tenant_id, id)' else format('%s (tenant_id, %I)', p.relid, p.key) end)
  from unbound a
  left join meant p on p.child = a.relid and p.attnum = a.attnum
  where (a.atttypid = 'uuid'::regtype or a.attname in ('A', 'B') or p.relid is not null)
    and (p.relid = a.relid and p.key = a.attname) is not true -- its own key
$$;

create or replace function audit.check_constraint_not_valid()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when c.contype = 'f' then 'error' else 'warning' end, null::uuid, r.relid::text, jsonb_build_object('constraint', c.conname),
    case when not coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true) then format('the constraint %I is NOT ENFORCED', c.conname)
         when not c.convalidated then format('the constraint %I is NOT VALID: it was never held against the rows before it', c.conname) end,
    case when coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true) then format('alter table %s validate constraint %I;', r.relid, c.conname)
         when c.contype = 'f' then format('alter table %s alter constraint %I enforced;', t.name, c.conname)
         -- Postgres 18 cannot alter that of a CHECK.
         else format('alter table %s drop constraint %I, add constraint %I %s;', t.name, c.conname, c.conname,
           regexp_replace(pg_get_constraintdef(c.oid), ' NOT ENFORCED$', '')) end
  from audit.relations() r join pg_constraint c on c.conrelid = r.relid
  -- What is inherited is changed where it comes from.
  cross join lateral (
    select case when c.coninhcount = 0 then r.relid else coalesce(pg_partition_root(r.relid),
      (select inhparent from pg_inherits where inhrelid = r.relid order by inhseqno limit 1), r.relid)::regclass end as name) t
  where c.contype in ('f', 'c', 'n')
$$;

-- Foreign keys are triggers. Switched off they keep their names and check nothing.
create or replace function audit.check_trigger_disabled()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when t.tgisinternal then 'error' else 'warning' end, null::uuid, t.tgrelid::regclass::text, jsonb_build_object('trigger', t.tgname),
    case when t.tgenabled in ('D', 'R') then format('the trigger %s is disabled%s', t.tgname,
      coalesce(': the foreign key ' || quote_ident(c.conname) || ' of ' || c.conrelid::regclass || ' is not checked', '')) end,
    case when t.tgisinternal then format(E'-- as a superuser, for these are system triggers:\nalter table %s enable trigger all;', t.tgrelid::regclass)
         else format('alter table %s enable trigger %I;', t.tgrelid::regclass, t.tgname) end
  from audit.relations() r
  join pg_trigger t on t.tgrelid = r.relid
  left join pg_constraint c on c.oid = t.tgconstraint
$$;

create or replace function audit.check_index_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, c.conrelid::regclass::text, jsonb_build_object('constraint', c.conname),
    case when not exists (
      select from pg_index i
      where i.indrelid = c.conrelid and i.indisvalid and i.indnkeyatts >= cardinality(c.conkey)
        -- Of rows that refer to nothing nobody asks.
        and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) in (
          select format('(%I IS NOT NULL)', a.attname) from pg_attribute a where a.attrelid = c.conrelid and a.attnum = any (c.conkey)))
        and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] <@ c.conkey)
      then format('no index leads with the columns of the foreign key %I: deletes and look-ups read other tenants'' rows, and their time tells', c.conname) end,
    format('create index %son %s (%s);', case when p.relkind = 'p' then '' else 'concurrently ' end, c.conrelid::regclass,
      (select string_agg(quote_ident(a.attname), ', ' order by k.n) from unnest(c.conkey) with ordinality as k (attnum, n)
       join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum))
  from pg_constraint c join audit.relations() r on r.relid = c.conrelid and not r.is_child
  join pg_class p on p.oid = c.conrelid
  where c.contype = 'f'
$$;

-- Uniqueness that the service relies on. Like the references, known by heart: an INSERT names some of these constraints, so
-- an index that does the same is not enough; nor is a constraint that may wait, which no ON CONFLICT takes.
create or replace function audit.check_unique_key_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with wanted as (
    select w.*, to_regclass(w.relation) as relid, case when w.name like '%\_pkey' then 'primary key' else 'unique' end as kind
    from (values
      ('app.tenants', 'tenants_pkey', array['id'], ''), ('app.tenants', 'tenants_slug_key', array['slug'], ''),
      ('app.tenants', null, array['is_default'], 'is_default'),
      ('app.users', 'users_pkey', array['tenant_id', 'id'], ''),
      ('app.users', 'users_tenant_identity_key', array['tenant_id', 'auth_provider', 'auth_subject'], ''),
      ('app.boards', 'boards_pkey', array['tenant_id', 'id'], ''),
      ('app.board_members', 'board_members_pkey', array['tenant_id', 'board_id', 'user_id'], ''),
      ('app.generations', 'generations_pkey', array['tenant_id', 'id'], ''), ('app.media', 'media_pkey', array['tenant_id', 'id'], ''),
      ('app.provider_configs', 'provider_configs_pkey', array['tenant_id', 'id'], ''),
      ('app.provider_configs', 'provider_configs_name_key', array['tenant_id', 'provider_name'], ''),
      ('app.credit_transactions', 'credit_transactions_pkey', array['tenant_id', 'id'], '')
    ) as w (relation, name, columns, predicate)
  ), fitting as (
    select w.relation, w.columns, n.relname as name, c.conname, 0 = all (i.indoption) as ascending
    from wanted w
    join pg_index i on i.indrelid = w.relid and i.indisunique and i.indisvalid and i.indimmediate and i.indexprs is null
    join pg_class n on n.oid = i.indexrelid
    left join pg_constraint c on c.conindid = i.indexrelid and c.conrelid = i.indrelid and c.contype in ('p', 'u')
    where coalesce(pg_get_expr(i.indpred, i.indrelid), '') = w.predicate
      and array(select a.attname::text from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) with ordinality as k (attnum, n)
                join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum order by k.n) = w.columns
  )
  select 'error', null::uuid, w.relation, jsonb_build_object('columns', to_jsonb(w.columns)),
    case when not exists (select from fitting f where f.relation = w.relation and f.columns = w.columns and (w.name is null or f.conname = w.name))
      then format('%s keeps (%s) unique%s', coalesce('no constraint ' || w.name, 'nothing'), array_to_string(w.columns, ', '),
        case when w.predicate = '' then '' else ' where ' || w.predicate end) end,
    case
      when w.name is null then format('create unique index on %s (%s) where %s;', w.relation, array_to_string(w.columns, ', '), w.predicate)
      -- The name may be taken: by another constraint, by an index that is none, or by one that only wants to become one.
      when exists (select from pg_constraint where conrelid = w.relid and conname = w.name)
        then format('alter table %s drop constraint %I%sadd constraint %I %s (%s);', w.relation, w.name,
          case when app.is_distributed() then format('; alter table %s ', w.relation) else ', ' end, w.name, w.kind, array_to_string(w.columns, ', '))
      when not app.is_distributed() and exists (select from fitting f where f.relation = w.relation and f.columns = w.columns and f.name = w.name and f.ascending)
        then format('alter table %s add constraint %I %s using index %I;', w.relation, w.name, w.kind, w.name)
      else coalesce((select format('drop index %s; ', i.indexrelid::regclass) from pg_index i join pg_class n on n.oid = i.indexrelid
                     where i.indrelid = w.relid and n.relname = w.name), '')
        || format('alter table %s add constraint %I %s (%s);', w.relation, w.name, w.kind, array_to_string(w.columns, ', ')) end
  from wanted w
$$;
--! EndIncluded audit/checks/keys.sql
--! Included audit/checks/roles.sql
create or replace function audit.check_role_attributes()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, null, jsonb_build_object('role', w.name),
    nullif(concat_ws('; ',
      case when r.oid is null then format('the role %s is missing', w.name) end,
      case when r.rolsuper then format('%s is a superuser: no policy applies to it', w.name) end,
      case when r.rolbypassrls then format('%s has BYPASSRLS: no policy applies to it', w.name) end,
      case when r.rolcreaterole then format('%s may create roles, and give itself others', w.name) end,
      case when r.rolreplication then format('%s may replicate: it reads every row of the cluster', w.name) end,
      case when r.rolcreatedb then format('%s may create databases', w.name) end,
      case when r.rolinherit then format('%s inherits the rights of what it becomes a member of', w.name) end,
      case when r.rolcanlogin and not w.login then format('%s may log in', w.name) end), ''),
    '-- as an administrator:' || E'\n\\i db/roles.sql'
  -- As db/roles.sql has it: the nodes of a Citus cluster reach each other as the role that asks.
  from (select exists (select from pg_settings where name = 'citus.shard_count' and vartype = 'integer') as citus) c
  cross join lateral (values ('tms_owner', true), ('tms_service', true), ('tms_app', c.citus), ('tms_registrar', c.citus), ('tms_auditor', c.citus)) as w (name, login)
  left join pg_roles r on r.rolname = w.name
$$;

create or replace function audit.check_role_membership()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with server (version) as (
    select current_setting('server_version_num')::int
  ), member as (
    select g.rolname as granted, r.rolname as member, r.oid as memberid, r.rolsuper, r.rolname = any (audit.our_roles()) as of_ours,
      a.admin_option as may_grant, w.inherits, w.may_set,
      -- What 16 and newer write down of who made a role, in the name of the server's first superuser.
      a.grantor = 10 and a.admin_option and not w.inherits and not w.may_set as is_record,
      case when s.version >= 160000 then ' granted by ' || a.grantor::regrole else '' end as by_grantor
    from server s cross join pg_auth_members a join pg_roles g on g.oid = a.roleid join pg_roles r on r.oid = a.member
    cross join lateral (
      select coalesce((to_jsonb(a) ->> 'inherit_option')::boolean, r.rolinherit) as inherits, coalesce((to_jsonb(a) ->> 'set_option')::boolean, true) as may_set) w
  ), planned (granted, member) as (
    values ('tms_app'::name, 'tms_owner'::name), ('tms_registrar', 'tms_owner'), ('tms_auditor', 'tms_owner')
  ), acting as (
    -- Who may act as these, directly or through others. Who may act as tms_owner is a finding already.
    select t.rolname as granted, r.rolname as member, r.rolcanlogin and not exists (
        select from member m where m.granted = r.rolname and (m.inherits or m.may_set) and not m.rolsuper
          -- Who administers a role may join it anyhow.
          and not exists (select from member a where a.granted = m.granted and a.member = m.member and a.may_grant)) as alone,
      -- A member owns what its role owns: it may give a function of tms_app's, which others call, a search_path with its own functions.
      t.rolname = 'tms_app' and (has_database_privilege(r.oid, current_database(), 'create') or exists (
        select from pg_namespace n where n.nspname not like 'pg\_%' and has_schema_privilege(r.oid, n.oid, 'create'))) as armed
    from pg_roles r join pg_roles t on t.rolname in ('tms_app', 'tms_auditor')
    cross join lateral (select case when (select version from server) >= 160000 then 'set' else 'member' end) k (kind)
    where not r.rolsuper and r.rolname <> all (audit.our_roles()) and pg_has_role(r.oid, t.oid, 'usage, ' || k.kind)
      and not pg_has_role(r.oid, to_regrole('tms_owner'), 'usage, ' || k.kind)
  )
  select case when m.of_ours then 'error' else 'warning' end,
    null::uuid, null, jsonb_build_object('role', m.granted, 'member', m.member),
    case when p.granted is not null
           then case when m.may_grant then format('tms_owner may give %s to others', m.granted)
                     when m.inherits then format('tms_owner inherits %s, and its policies, without saying so', m.granted) end
         when m.of_ours
           then format(case when m.inherits or m.may_set then '%s is a member of %s: what that role may, it may' else '%s may make itself a member of %s' end, m.member, m.granted)
         when not m.inherits and not m.may_set then null
         when m.granted in ('tms_owner', 'tms_service', 'tms_registrar') then format('%s may act as %s', m.member, m.granted) end,
    case when p.granted is not null and s.version >= 160000
           then format('revoke admin option for %1$I from %2$I%3$s; grant %1$I to %2$I with inherit false, set true%3$s;', m.granted, m.member, m.by_grantor)
         when p.granted is not null then format('revoke admin option for %I from %I; alter role %2$I noinherit;', m.granted, m.member)
         else format('revoke %I from %I%s;', m.granted, m.member, m.by_grantor) end
  from server s cross join member m left join planned p using (granted, member)
  where m.of_ours or not m.rolsuper
  union all
  select case when a.alone and not a.armed then 'info' else 'warning' end, null, null, jsonb_build_object('role', a.granted, 'member', a.member),
    format('%s %s, as a member of %s%s%s', a.member, case a.granted when 'tms_app' then 'may work in whichever tenant it names' else 'reads every tenant' end,
      v.roles, case when a.alone then '' else ', and so does whoever joins it' end,
      case when a.armed then ', and may create functions, which it could have run in the requests of others' else '' end),
    case when a.alone and a.armed then '-- for a job: let it create nothing in this database. Else: '
         when a.alone then format('-- nothing, for a %s. Else: ', case a.granted when 'tms_app' then 'job' else 'DBA' end) else '' end || v.revoked
  from acting a
  cross join lateral (
    select string_agg(distinct m.granted::text, ', ') as roles, string_agg(format('revoke %I from %I%s;', m.granted, m.member, m.by_grantor), ' ') as revoked
    from member m where m.member = a.member and (m.inherits or m.may_set) and (m.granted = a.granted or m.granted in (select b.member from acting b where b.granted = a.granted))) v
  union all
  -- Before 16 CREATEROLE was over every role but superusers; since then over those that one has ADMIN of.
  select 'info', null, null, jsonb_build_object('administrator', r.rolname),
    case when r.rolcreaterole and s.version < 160000 then format('%s may create roles: before Postgres 16 that is to give itself, and others, each of the five', r.rolname)
         when a.roles is not null then format('%s administers %s: it can make itself, and others, a member', r.rolname, a.roles) end,
    case when r.rolcreaterole and s.version < 160000 then format('-- nothing, for the administrator who runs db/roles.sql. Else: alter role %I nocreaterole;', r.rolname)
         when a.recorded then '-- nothing: so Postgres 16 and newer record who made a role, and somebody has to administer it'
         else a.revoked end
  from server s cross join pg_roles r
  cross join lateral (
    select string_agg(distinct m.granted::text, ', ') as roles, bool_and(m.is_record) as recorded,
      string_agg(format('revoke admin option for %I from %I%s;', m.granted, m.member, m.by_grantor), ' ') filter (where not m.is_record) as revoked
    from member m where m.memberid = r.oid and m.may_grant and m.granted = any (audit.our_roles())) a
  where not r.rolsuper and r.rolname <> all (audit.our_roles())
  union all
  select 'warning', null, null, jsonb_build_object('role', p.granted, 'member', p.member),
    case when not exists (select from member m where m.granted = p.granted and m.member = p.member and m.may_set)
      then format('%s may not act as %s: the next migration fails', p.member, p.granted) end,
    '-- as an administrator:' || E'\n\\i db/roles.sql'
  from planned p
$$;

create or replace function audit.check_role_settings()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when s.setting like 'search\_path=%' or r.rolname not like 'tms\_%' then 'warning' else 'error' end,
    null::uuid, null, jsonb_build_object('role', coalesce(r.rolname, 'all'), 'setting', s.setting),
    case when lower(split_part(s.setting, '=', 1)) in ('role', 'row_security', 'session_replication_role', 'app.tenant_id', 'app.maintenance', 'app.actor', 'app.event')
           then format('every session of %s begins with %s', coalesce(r.rolname, 'every role'), s.setting)
         when (r.oid is null or r.rolname like 'tms\_%') and s.setting like 'search\_path=%' and s.setting not in ('search_path=pg_catalog, pg_temp', 'search_path="pg_catalog", "pg_temp"')
           then format('%s looks for names in %s', coalesce(r.rolname, 'every role'), substr(s.setting, 13)) end,
    format('alter %s%s reset %I;', case when r.oid is not null then format('role %I', r.rolname) when d.oid is null then 'role all' else format('database %I', d.datname) end,
      case when r.oid is not null and d.oid is not null then format(' in database %I', d.datname) else '' end, split_part(s.setting, '=', 1))
  from pg_db_role_setting x
  cross join lateral unnest(x.setconfig) as s (setting)
  left join pg_roles r on r.oid = x.setrole
  left join pg_database d on d.oid = x.setdatabase
  where (x.setdatabase = 0 or d.datname = current_database()) and (x.setrole = 0 or r.rolname like 'tms\_%' or s.setting ilike any (array['app.%', 'session\_replication\_role=%']))
  union all
  select 'warning', null, null, jsonb_build_object('role', 'tms_service', 'setting', w.name),
    case when w.value is distinct from (
      select replace(substr(s.setting, length(w.name) + 2), '"', '')
      from pg_db_role_setting x cross join lateral unnest(x.setconfig) as s (setting)
      where x.setrole = to_regrole('tms_service') and x.setdatabase in (0, (select oid from pg_database where datname = current_database()))
        and split_part(s.setting, '=', 1) = w.name
      order by x.setdatabase desc limit 1)
      then format('tms_service has lost what db/roles.sql gives its sessions: %s, which is %s', w.name, w.why) end,
    '-- as an administrator:' || E'\n\\i db/roles.sql'
  from (values
    ('search_path', 'pg_catalog, pg_temp', 'where they look for names'),
    ('default_transaction_isolation', 'read committed', 'what they see after they waited for a lock')
  ) as w (name, value, why)
$$;

create or replace function audit.check_bypass_role()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, null, jsonb_build_object('role', r.rolname),
    case when exists (select from audit.relations() t where has_any_column_privilege(r.oid, t.relid, 'select, insert, update'))
      then format('%s has BYPASSRLS and rights on tenants'' tables: it reads every tenant once it may connect', r.rolname) end,
    format('alter role %I nobypassrls; -- as an administrator. A provider''s own role is the provider''s, and cannot be changed', r.rolname)
  from pg_roles r
  where r.rolbypassrls and not r.rolsuper and r.rolname <> all (audit.our_roles())
  union all
  -- Of Postgres's own roles, those whose rights on everything include what no policy narrows.
  select 'warning', null, null, jsonb_build_object('role', g.rolname, 'member', r.rolname),
    case when w.inherits or w.may_set then format('%s %s, as a member of %s', r.rolname, p.may, g.rolname) end,
    format('revoke %I from %I%s; -- as an administrator; and grant it what it needs, tms_auditor if that is every tenant', g.rolname, r.rolname,
      case when current_setting('server_version_num')::int >= 160000 then ' granted by ' || m.grantor::regrole else '' end)
  from (values
    ('pg_read_all_data', 'reads pg_statistic, with values of all tenants'' rows, and who the tenants are in control and audit'),
    ('pg_write_all_data', 'writes the service''s bookkeeping and the results of the audit'),
    ('pg_maintain', 'locks everybody out of any table'),
    ('pg_read_server_files', 'reads the files that hold all rows'),
    ('pg_write_server_files', 'writes the files of the server'),
    ('pg_execute_server_program', 'does what the server''s account may')
  ) as p (role, may)
  join pg_roles g on g.rolname = p.role
  join pg_auth_members m on m.roleid = g.oid
  join pg_roles r on r.oid = m.member
  cross join lateral (
    select coalesce((to_jsonb(m) ->> 'inherit_option')::boolean, r.rolinherit) as inherits, coalesce((to_jsonb(m) ->> 'set_option')::boolean, true) as may_set) w
  -- Of the five role_membership tells.
  where not r.rolsuper and r.oid >= 16384 and r.rolname <> all (audit.our_roles())
$$;

create or replace function audit.check_registrar_reach()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, jsonb_build_object('role', 'tms_registrar'),
    case when r.relid::oid in (to_regclass('app.tenants'), to_regclass('app.users')) then null
         when has_any_column_privilege('tms_registrar', r.relid, 'select, insert, update, references') or has_table_privilege('tms_registrar', r.relid, 'delete, truncate, trigger')
           then 'tms_registrar, which crosses tenants, has rights on it: its reach is app.tenants and app.users'
         when exists (select from pg_policy p where p.polrelid = r.relid and to_regrole('tms_registrar')::oid = any (p.polroles))
           then 'a policy opens the table to tms_registrar, which crosses tenants' end,
    format('revoke all on table %s from tms_registrar;', r.relid)
  from audit.relations() r
$$;
--! EndIncluded audit/checks/roles.sql
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
