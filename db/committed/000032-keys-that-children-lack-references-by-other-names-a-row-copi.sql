--! Previous: sha1:2c5b20946ba27ec81624c0f2ddef81c3d5545aaa
--! Hash: sha1:8fe1fe0bd03eb93aa89638a8e7b88155c6b74fcb
--! Message: keys that children lack, references by other names, a row copied as its own text, no operator of the caller's path

grant create on schema app, api to tms_app, tms_registrar;
set local citus.enable_ddl_propagation = off;
--! Included context/is_distributed.sql
-- db/distribute.sql makes app.distribute(), and with it this database is that of a Citus cluster. Bound when it is asked,
-- so that a plain database needs nothing of Citus.
create or replace function app.is_distributed()
returns boolean
language sql
stable
return to_regprocedure('app.distribute(regclass)') is not null;

comment on function app.is_distributed() is 'Whether db/distribute.sql has made this database that of a Citus cluster.';
revoke all on function app.is_distributed() from public;
grant execute on function app.is_distributed() to tms_app, tms_registrar, tms_auditor;
--! EndIncluded context/is_distributed.sql
--! Included context/count_tenants.sql
set local role tms_registrar;
create or replace function app.count_tenants(p_status text)
returns bigint
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(case when p_status is null then pending + active + suspended
                      else case p_status when 'pending' then pending when 'active' then active when 'suspended' then suspended end end), 0)::bigint
  from control.tenant_counts
$$;
comment on function app.count_tenants(text) is 'How many tenants have a status, exactly; null counts all.';
revoke all on function app.count_tenants(text) from public;
reset role;
--! EndIncluded context/count_tenants.sql
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
              and pg_get_expr(p.polqual, p.polrelid) ~ format('^\(%s = (app\.tenant_id\(\)|\( SELECT app\.tenant_id\(\) AS \w+\))\)$',
                case c.oid when 'app.tenants'::regclass then 'id' else 'tenant_id' end)
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
--! Included context/table_faults.sql
-- Foreign key checks and unique indexes look past row-level security, so the keys themselves must carry the tenant.
-- `inherited` is what the parent of a partition or child has as well: there it is mended.
drop function if exists app.table_faults(regclass); -- it had a parameter less
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
  -- What is equal there, an operator class says.
  select format('the unique index %s compares tenant_id as the operator class %s has it, so one tenant could learn another''s values', i.indexrelid::regclass, o.opcname),
    exists (select from pg_inherits where inhrelid = i.indexrelid)
  from pg_index i join pg_opclass o on o.oid = i.indclass[0]
  where i.indrelid = p_table and i.indisunique and i.indkey[0] = (select attnum from tenant_column) and o.oid >= 16384
    and not exists (select from pg_depend where classid = 'pg_opclass'::regclass and objid = o.oid and deptype = 'e') -- btree_gist's are Postgres's
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

comment on function app.table_faults(regclass, name) is
  'What keeps a table from being isolated, or would if p_tenant_column were named tenant_id: one sentence a fault, and whether its parent has that fault too; no row when nothing does.';
revoke all on function app.table_faults(regclass, name) from public;
grant execute on function app.table_faults(regclass, name) to tms_auditor;
--! EndIncluded context/table_faults.sql
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
  ('tenant_id_function', 'isolation_config', 'error', 'schema', true,
    'app.tenant_id(), on which every policy rests, is not what it came as.', 'Whoever changes it changes every policy at once.', 'Create it again, as the remedy does.'),
  ('rls_disabled', 'isolation_config', 'error', 'schema', true,
    'A tenants'' table, partition or child without row-level security.', 'Policies, if there are any, are not applied to anybody.', 'Enable it; app.isolate() does.'),
  ('rls_not_forced', 'isolation_config', 'error', 'schema', true,
    'Row-level security that its owner is exempt from.', 'Definer functions of the owner, and migrations, see every tenant.', 'Force it; app.isolate() does.'),
  ('table_inherits', 'isolation_config', 'error', 'schema', true,
    'A tenants'' table is a child of a table without tenant_id, or a table is a child of app.tenants.', 'Reading the parent reads the child''s rows, and none of the child''s policies is asked; to keys, and to this audit, a tenant in a child is none.', 'Take it out of the parent: NO INHERIT.'),
  ('policy_missing', 'isolation_config', 'error', 'schema', true,
    'One of the template''s policies is not there.', 'Without the restrictive one tenants see each other; without the auditor''s this audit is blind.', 'app.write_policies() writes all of them.'),
  ('policy_changed', 'isolation_config', 'error', 'schema', true,
    'A policy differs from the template: its expression, command, role, or being restrictive.', 'One OR, one missing WITH CHECK, one permissive instead of restrictive opens the table.', 'app.write_policies() writes it again.'),
  ('policy_extra', 'isolation_config', 'error', 'schema', true,
    'A policy that the template does not have. To tms_app it is a warning: there it can only narrow.', 'To any other role it opens the table, or blinds the audit or the migrations.', 'Drop it.'),
  ('policy_function', 'isolation_config', 'error', 'schema', true,
    'A policy calls a function other than app.tenant_id() or those of Postgres that only answer, itself, by an operator or by a domain''s test, or reads another table.', 'Immutable functions are folded into plans that the next tenant runs; other tables bring their own holes.', 'Drop the policy, or write it with app.tenant_id().'),
  ('audit_filtered', 'isolation_config', 'error', 'schema', true,
    'A policy hides rows of a table from the audit, or the audit''s results from their readers.', 'What is hidden cannot be found; the data checks then refuse to run.', 'Restore the auditor policy; drop restrictive policies that reach tms_auditor.'),
  -- schema: tables and keys
  ('table_missing', 'isolation_config', 'error', 'schema', true,
    'One of the service''s own tables, or a column of them, is not there, is of another type, has a nondeterministic collation (different strings compare equal), or may be null and should not be.', 'What is not there, or is something else, is not examined.', 'Restore it, or alter the column back.'),
  ('unique_key_missing', 'isolation_config', 'error', 'schema', true,
    'One of the unique keys that the service relies on is not there, or is deferrable.', 'Two rows for one identity, or two tenants for one slug: which one a request meets is chance.', 'Create it.'),
  ('table_rules', 'isolation_config', 'error', 'schema', true,
    'A table, or one of its partitions or children, breaks a rule of app.isolate(): tenant_id nullable, a key that does not begin with it or does not compare it with =, a foreign key without it, to another tenant''s slug or in the way of another''s deletion, or that would change it, or an operator class of somebody''s own for it; or app.tenants refers to itself, or to a table that is no tenants'', with CASCADE, or to a row of another tenant. A unique key over all tenants, a tenant''s id as the default of tenant_id, and a tenant that names another and so keeps it from being deleted are warnings; a tenant''s id in a partition''s bounds, an index or a constraint is an info.', 'Keys look past policies: they tell one tenant of another''s values, and let rows point across.', 'Correct the key, then app.isolate().'),
  ('table_without_tenant', 'isolation_config', 'error', 'schema', true,
    'A table among the tenants'' tables, or one that references them by foreign key, has no tenant_id.', 'Checks that look for the column never see it: everybody reads it.', 'Where all rows are the default tenant''s: app.isolate(…, p_adopt => true). Else add and fill tenant_id first.'),
  ('tenant_key', 'isolation_config', 'error', 'schema', true,
    'tenant_id is not tied to app.tenants by a validated foreign key with ON DELETE CASCADE. Also of control.idempotency_keys.', 'Rows outlive their tenant.', 'Add or validate the foreign key.'),
  ('foreign_key_missing', 'isolation_config', 'error', 'schema', true,
    'A reference between tenants'' tables without its composite foreign key, or one of a table that its child by INHERITS does not have. A warning are columns that look like a reference and have no key, a key of some partitions only, and an ON DELETE CASCADE that one of the service''s keys lost or gained.', 'Only the key stops a row from pointing into another tenant.', 'Add it.'),
  ('constraint_not_valid', 'isolation_config', 'error', 'schema', true,
    'A constraint that is NOT VALID or NOT ENFORCED. A CHECK is a warning.', 'It reads like a promise and is none.', 'Validate or enforce it.'),
  ('trigger_disabled', 'isolation_config', 'error', 'schema', true,
    'A trigger is disabled, also of the service''s bookkeeping: a foreign key''s own, or (a warning) somebody else''s.', 'A load that switched triggers off left the keys unchecked.', 'Enable it (a foreign key''s own: as a superuser), then run the data checks.'),
  ('index_missing', 'isolation_config', 'warning', 'schema', true,
    'No index leads with a foreign key''s columns.', 'Look-ups read other tenants'' rows, and the time they take tells of them; deleting a tenant takes hours.', 'Create the index.'),
  ('table_owner', 'isolation_config', 'error', 'schema', true,
    'A table, view, sequence or schema of the service is not tms_owner''s. Or a view elsewhere that a role of requests was given a right on belongs to somebody who can be none of the service''s administrators; or who can be none of these has TRIGGER on a table there. A table of such an owner, or a schema that holds tenants'' tables or functions of the service''s roles, is a warning.', 'Its owner can switch the policies off; of a view or a table, have requests call what it likes; of a schema, drop what is in it.', 'Give it to tms_owner, or take the right on it away.'),
  ('view_leaks', 'isolation_config', 'error', 'schema', true,
    'A view over tenants'' rows, the bookkeeping or the audit''s results that runs as its owner, or a materialized view of them. One that a function fills which reads them is a warning, as is the copy that pg_repack makes.', 'Policies are asked for the owner and not for the reader; a materialized view has none.', 'security_invoker = true; drop the materialized view.'),
  ('foreign_table', 'isolation_config', 'error', 'schema', true,
    'A foreign table among the tenants'' tables.', 'No policy applies to it.', 'Keep it in another schema, behind a function.'),
  ('rewrite_rule', 'isolation_config', 'error', 'schema', true,
    'A rewrite rule on a tenants'' table, or one elsewhere that reaches tenants'' rows, or that a request sets off to read what it may not or to write where it reads.', 'What it adds runs with the rights of the table''s owner.', 'Drop it.'),
  ('publication', 'isolation_config', 'warning', 'schema', true,
    'A publication, or a replication slot that asks none, sends tenants'' rows or the service''s bookkeeping; or a subscription writes them.', 'A subscriber gets every tenant''s; what it is sent is written past policies and keys.',
    'Drop the table from it, unless the subscriber is a replica of the whole.'),
  -- schema: rights
  ('table_grants', 'isolation_config', 'error', 'schema', true,
    'A right on a tenants'' table beyond the template, or the auditor''s own missing.', 'TRUNCATE, REFERENCES and TRIGGER know no policy; a right of PUBLIC is everybody''s.', 'Revoke it.'),
  ('other_grants', 'isolation_config', 'error', 'schema', true,
    'Rights on the service''s bookkeeping, the audit''s results, views that run as their owner, or sequences; on one that numbers tenants'' rows elsewhere, of somebody who can be none of the service''s administrators, a warning.', 'Whoever writes the results of the audit decides what it finds.', 'Revoke them.'),
  ('schema_grants', 'isolation_config', 'error', 'schema', true,
    'CREATE, TEMP or USAGE on a schema or the database beyond what the roles need; CREATE for everybody on any schema; CREATE on one with tenants'' tables for somebody who can be none of the service''s administrators (a warning).', 'Whoever can create can put an object in another''s place.', 'Revoke it.'),
  ('rights_missing', 'isolation_config', 'warning', 'schema', true,
    'A role that requests act as lacks a right on the service''s schemas, tables or functions.', 'Nobody sees more than before, but requests that need it fail.', 'Grant it again.'),
  ('default_privileges', 'isolation_config', 'error', 'schema', true,
    'Default privileges that give tables, functions or large objects away as they are made: to everybody or a role of the service, or by one of the five to anybody else; in a schema of somebody else''s, or where policies still narrow, a warning.', 'A table is open from the moment it is made until somebody isolates it.', 'Revoke them.'),
  ('service_reach', 'isolation_config', 'error', 'schema', true,
    'The service''s login has a right on a table that it can get at, or on a function outside api; or api holds something else.', 'A login that can only call api functions cannot set a tenant and read it.', 'Revoke it.'),
  ('registrar_reach', 'isolation_config', 'error', 'schema', true,
    'tms_registrar reaches a tenants'' table beyond app.tenants and app.users.', 'It crosses tenants by design; its functions must have nothing to carry.', 'Revoke it.'),
  ('app_reach', 'isolation_config', 'error', 'schema', true,
    'tms_app or tms_registrar has a right on a table, view or foreign table that is no tenants'' table, or tms_app on a large object; a warning where requests only read it, or only write, and no foreign key goes on to delete or change tenants'' rows. Who can be none of the service''s administrators and sets such a key off, by a right or as the owner, is a warning.',
    'What lies outside has no policy: whatever a request writes there, or somebody copies there, is every tenant''s.',
    'Revoke it; or give the table a tenant_id and call app.isolate().'),
  ('system_grants', 'isolation_config', 'error', 'schema', true,
    'A right of PUBLIC or of one of the five roles on a table, function, schema or parameter that Postgres ships, on a function of an extension, or on a foreign server, beyond those they come with; of anybody else on the statistics, a view of them, large objects'' contents, the TOAST table of a tenants'' table, or a function that reads the server''s files or its log, a warning, and so is SET on session_replication_role for who may act as one of the five, and ALTER SYSTEM on it, on row_security, on a setting of the service, on libraries and commands for anybody.',
    'Statistics hold values of all tenants'' rows, TOAST tables the large ones, files and the log everything, and SET on session_replication_role switches keys and triggers off.', 'Revoke it.'),
  ('role_owns', 'isolation_config', 'error', 'schema', true,
    'tms_service owns anything, or tms_app, tms_registrar or tms_auditor something else than functions.', 'An owner grants, changes and drops.', 'Give it to tms_owner.'),
  -- schema: functions
  ('function_changed', 'isolation_config', 'error', 'schema', false,
    'A function of the service, or a trigger on its tables, or an event trigger (a warning), is not the one that the release made; is gone; may be executed by others; or runs with the rights of a role of the service and is of no release. Or a function of another''s has the name of one of the release, or is in pg_catalog, as may be an operator, and no extension brought it.',
    'The gate that asks for the membership is a function: whoever changes it opens every tenant, and no policy changes.',
    'Restore it. Of your own, and of event triggers that a provider brought: vouch for it, select audit.accept(…); or run it as its caller.'),
  ('function_owner', 'isolation_config', 'error', 'schema', true,
    'A function of the service is owned by a role that no policy was written for; or a tenants'' table makes or tests its rows with a function or domain of somebody else''s, also by the operators of an index; or a view or table elsewhere that a role of requests was given a right on calls one. A type of theirs in a tenants'' table, a function that a body in requests calls, or that such a role was given the right to execute, is a warning.', 'A definer function has its owner''s rights, a default those of whoever writes: who owns the function can have it do anything as them.', 'Give it back.'),
  ('function_security', 'isolation_config', 'error', 'schema', true,
    'A function is SECURITY DEFINER and should not be, or the other way round.', 'As tms_owner''s definer it may do what only migrations should.', 'Change it back.'),
  ('function_bypass', 'isolation_config', 'error', 'schema', true,
    'A SECURITY DEFINER function of a superuser or of a role with BYPASSRLS, a warning where none of the service''s roles may execute it or has it executed, also by the WHEN of a trigger; or one outside the service''s schemas that runs as a tms_ role, or, where they may execute it, as one that Postgres''s own roles let read or write all data.', 'Calling it is a way around every policy.',
    'Make it SECURITY INVOKER, or give it to a role under the policies. Of a provider''s own: select audit.accept(…).'),
  ('trigger_rights', 'isolation_config', 'warning', 'schema', true,
    'A trigger that a foreign key''s action can fire on a tenants'' table, or on one elsewhere by way of a request, reads or writes tables, itself or by a function that it calls, or what the action makes and tests a row with reads tenants'' tables; and the function is not SECURITY DEFINER. Or one that is fired before a row is deleted may keep it.', 'Fired so, it runs as the table''s owner: before the row it reaches every tenant''s rows, after it (on Postgres 18) none. A row that is kept outlives its tenant.', 'Make its function a definer of tms_app, as docs/extending.md shows.'),
  ('trigger_notifies', 'isolation_config', 'warning', 'schema', true,
    'A trigger sends rows of a tenants'' table, or of a view of it, their keys, or their texts, by NOTIFY, itself or by a function that it calls; or a test of the table, or of a trigger, does.', 'Every login of the database may listen, and no policy is asked.', 'Send an id that means nothing to others; whoever listens reads the row inside its tenant.'),
  ('function_search_path', 'isolation_config', 'error', 'schema', true,
    'A function without a fixed search_path, or with pg_temp not in the last place, or, where requests call it, with a schema in which somebody may create who can be none of the service''s administrators; a warning where it lies elsewhere and none of the service''s roles may execute it.', 'A temporary table, or a function whose arguments fit better, takes the place of the real one.', 'Set it.'),
  ('function_settings', 'isolation_config', 'error', 'schema', true,
    'A function comes with a setting for the role, the tenant, or how policies apply; a warning where it lies elsewhere and none of the service''s roles may execute it.', 'It then works in a tenant of its own choosing.', 'Reset it.'),
  ('function_body', 'isolation_config', 'error', 'schema', true,
    'A function sets the tenant for the whole session, opens the tables to their owner, or changes the role; a warning where it lies elsewhere and none of the service''s roles may execute it. Or a default, a test, a view or the like sets any of these. Or one that is IMMUTABLE reads tenants'' rows or app.tenant_id. Or a trigger''s enters another tenant than that of its row, itself or by a function that it calls, or sets or executes what the row names. What it keeps for the session otherwise, as temporary tables, locks, prepared statements or LISTEN, is a warning.', 'On a pooled connection the next request is another tenant''s; the answer of an IMMUTABLE function stays in its plans; what a row says, its writer chose.', 'Use app.set_tenant(); make it STABLE.'),
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
--! Included audit/as_tms_app.sql
-- The proof acts instead of reading: as tms_app, inside a tenant, by the way a request or a DBA gets there.
set local role tms_app;
create or replace function control.visible_rows(p_table regclass, p_column name, p_tenants uuid[])
returns table (tenant_id uuid, visible bigint, own bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before constant text := coalesce(current_setting('app.tenant_id', true), '');
begin
  perform app.require_own_table(p_table);
  -- A null among the tenants stands for no tenant at all.
  foreach tenant_id in array p_tenants loop
    execute format('set local app.tenant_id = %L', coalesce(tenant_id::text, ''));
    execute format('select count(*), count(*) filter (where %I = $1) from %s', p_column, p_table) into visible, own using tenant_id;
    return next;
  end loop;
  execute format('set local app.tenant_id = %L', v_before);
end
$$;
comment on function control.visible_rows(regclass, name, uuid[]) is
  'As tms_app inside each tenant: the rows it sees of a table, and how many of them are that tenant''s.';
revoke all on function control.visible_rows(regclass, name, uuid[]) from public;
grant execute on function control.visible_rows(regclass, name, uuid[]) to tms_owner;

-- A row is tried that is one of the tenant's own but for the tenant: so it meets its policy, and no default, domain, trigger
-- or missing partition before. Where the tenant has no row, only its tenant_id is given; what stops that before the policy is
-- asked decides nothing. Citus plans no such INSERT.
-- Every attempt ends in an error or in nothing: where a write goes through, its first row raises an error with v_mark in it, which
-- no trigger or default of the table can raise, so that nothing is kept and no second row is touched. RETURNING names no column,
-- because reading one would bring the SELECT policies to help.
-- Citus plans no such RETURNING: there the rows are counted afterwards, and what they were is rolled back.
create or replace function control.try_writes(p_table regclass, p_column name, p_tenant_id uuid, p_other_id uuid)
returns table (attempt text, fault text, decided boolean)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
set enable_seqscan = off  -- a tenant's first row is looked for, not stumbled on
as $$
declare
  v_before constant text := coalesce(current_setting('app.tenant_id', true), '');
  v_nobody constant uuid := gen_random_uuid();
  v_mark constant text := 'mark ' || gen_random_uuid();
  v_distributed constant boolean := app.is_distributed();
  -- There no row changes its tenant, whoever asks, and no UPDATE of it would say what the policies let through.
  v_taken constant name := coalesce((
    select a.attname from pg_attribute a
    where v_distributed and a.attrelid = p_table and a.attnum > 0 and not a.attisdropped and a.attname <> p_column
      and a.attgenerated = '' and a.attidentity = ''
    order by a.attnotnull, a.attnum limit 1), p_column);
  -- A number that tms_app may not draw stops the row before the policy does, with the same error.
  v_numbers constant regclass := (
    select s.oid from pg_attrdef a
    join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = a.oid and d.refclassid = 'pg_class'::regclass
    join pg_class s on s.oid = d.refobjid
    where a.adrelid = p_table and case when s.relkind = 'S' then not has_sequence_privilege(s.oid, 'usage') end
      and has_any_column_privilege(p_table, 'insert')
    limit 1);
  -- Nor one that a function stops which it may not execute: a row is made, tested and indexed with the rights of who writes it.
  v_function constant regprocedure := (
    select d.refobjid from pg_depend d
    where d.refclassid = 'pg_proc'::regclass and not has_function_privilege(d.refobjid, 'execute') and has_any_column_privilege(p_table, 'insert')
      and (d.classid = 'pg_attrdef'::regclass and d.objid in (select oid from pg_attrdef where adrelid = p_table)
        or d.classid = 'pg_constraint'::regclass and d.objid in (select oid from pg_constraint where conrelid = p_table and contype = 'c')
        or d.classid = 'pg_class'::regclass and d.objid in (select indexrelid from pg_index where indrelid = p_table))
    order by d.refobjid limit 1);
  v_putting_back constant name := (
    select min(tgname) from pg_trigger where tgrelid = p_table and not tgisinternal and tgtype & 7 = 7 and tgenabled in ('O', 'A'));
  v_insert text := 'insert into %1$s (%2$I) values (%3$L)';
  v_row text;
  v_attempt record;
  v_rows bigint;
  v_message text;
  v_schema text;
  v_table text;
  v_constraint text;
  v_missing text;
  v_type text;
begin
  perform app.require_own_table(p_table);
  if not v_distributed then
    execute format('set local app.tenant_id = %L', p_tenant_id);
    begin
      execute format('select (r.*)::text from %s r limit 1', p_table) into v_row;
      v_row := case when length(v_row) < 1000000 then v_row end;
    exception
      when lock_not_available then
        raise;
      when others then
        null; -- then it is tried without
    end;
  end if;
  if v_row is not null then
    select format('insert into %%1$s (%s) overriding system value select %s from (select (%L::%%1$s).*) r',
      concat_ws(', ', '%2$I', string_agg(replace(quote_ident(a.attname), '%', '%%'), ', ' order by a.attnum)),
      concat_ws(', ', '%3$L::uuid', string_agg(replace(format('r.%I', a.attname), '%', '%%'), ', ' order by a.attnum)),
      replace(v_row, '%', '%%'))
    into v_insert
    from pg_attribute a
    where a.attrelid = p_table and a.attnum > 0 and a.attgenerated = '' and a.attname <> p_column
      and has_column_privilege(p_table, a.attnum, 'insert'); -- null of one that was dropped
  end if;
  for v_attempt in
    select * from (values
      ('insert a row for another tenant', p_tenant_id, v_insert, p_other_id),
      ('give its rows to another tenant', p_tenant_id, 'update %1$s set %2$I = %3$L', p_other_id),
      -- WITH CHECK would already be one row too far.
      ('take the rows of other tenants', v_nobody, case when v_distributed then 'update %1$s set %4$I = %3$L'
        else format('update %%1$s set %%2$I = (%L || pg_backend_pid())::uuid', v_mark) end, null),
      ('delete the rows of other tenants', v_nobody, 'delete from %1$s', v_nobody),
      ('insert a row without a tenant', null, v_insert, p_other_id),
      ('delete rows without a tenant', null, 'delete from %1$s', null)
    ) as a (name, tenant_id, statement, value)
  loop
    attempt := v_attempt.name;
    fault := null;
    decided := true;
    begin
      execute format('set local app.tenant_id = %L', coalesce(v_attempt.tenant_id::text, ''));
      execute format(v_attempt.statement, p_table, p_column, v_attempt.value, v_taken)
        || case when v_distributed then '' else format(' returning (%L || pg_backend_pid())::int', v_mark) end;
      get diagnostics v_rows = row_count;
      if v_rows > 0 then
        raise exception '%', v_mark;
      end if;
      -- An INSERT that raises nothing was swallowed by a trigger or a rule; an UPDATE or DELETE found no row.
      if v_attempt.statement like 'insert%' then
        fault := 'cannot be decided: a trigger or a rule took the row';
        decided := false;
      end if;
    exception
      when insufficient_privilege then
        -- Refused at the door, or by WITH CHECK.
        get stacked diagnostics v_message = message_text;
        if v_distributed and v_attempt.tenant_id = v_nobody and v_message ~ 'row-level security' then
          fault := 'reached a row';
        elsif v_attempt.statement like 'insert%' and v_row is null and v_numbers is not null then
          fault := format('cannot be decided: tms_app may not use the sequence %s', v_numbers);
          decided := false;
        elsif v_attempt.statement not like 'delete%' and v_function is not null then
          fault := format('cannot be decided: tms_app may not execute the function %s', v_function);
          decided := false;
        end if;
      when lock_not_available then
        raise;
      when integrity_constraint_violation then
        get stacked diagnostics v_message = message_text, v_schema = schema_name, v_table = table_name,
          v_constraint = constraint_name, v_missing = column_name, v_type = pg_datatype_name;
        -- The table's own constraints come after its policies; domains, the way to a partition and triggers before.
        -- Of what a worker says Citus brings the message and not the names.
        decided := case when v_distributed then v_message ~ '^(null value in column|new row for relation|duplicate key value|insert or update on table) '
          else v_type = '' and concat(v_constraint, v_missing) <> '' and exists (
            select from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where n.nspname = v_schema and c.relname = v_table and (c.oid = p_table or c.oid in (select relid from pg_partition_tree(p_table)))) end;
        fault := case when decided then 'was stopped by a constraint only: ' else 'cannot be decided: ' end || v_message;
        -- Nor by its policies is a row stopped that a trigger put back into its own tenant: a copy meets its own original there, and one for nobody meets none
        -- but there. Without an original nothing tells where it was.
        if decided and v_attempt.statement like 'insert%' and v_attempt.tenant_id = p_tenant_id and not v_distributed and v_putting_back is not null then
          if v_row is null then
            fault := format('cannot be decided: the trigger %I may have put the row into its own tenant, where a constraint stopped it: %s', v_putting_back, v_message);
            decided := false;
          -- By a key that is over all tenants it would meet its original anywhere.
          elsif sqlstate in ('23505', '23P01') and not exists (
              select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
              where i.indrelid = p_table and (i.indisunique or i.indisexclusion) and a.attname <> p_column) then
            begin
              execute format(v_attempt.statement, p_table, p_column, v_nobody) || ' on conflict do nothing';
              get diagnostics v_rows = row_count;
              if v_rows = 0 then
                fault := null;
              end if;
              raise exception '%', v_mark;
            exception
              when lock_not_available then
                raise;
              when others then
                null;
            end;
          end if;
        end if;
      when others then
        get stacked diagnostics v_message = message_text;
        if strpos(v_message, v_mark) > 0 then
          fault := case when v_attempt.tenant_id = v_nobody and v_attempt.statement like 'update%' then 'reached a row' else 'was accepted' end;
          -- Unless a trigger put it back into its own tenant. Asked apart, as a column that is read brings the SELECT policies to help.
          if v_attempt.tenant_id = p_tenant_id and not v_distributed
            and exists (select from pg_trigger where tgrelid = p_table and not tgisinternal and tgtype & 3 = 3) then
            begin
              execute format('with w as (%s returning %I as id) select count(*) from w where id is distinct from %L',
                format(v_attempt.statement, p_table, p_column, v_attempt.value, v_taken), p_column, p_tenant_id) into v_rows;
              if v_rows = 0 then
                fault := null;
              end if;
              raise exception '%', v_mark;
            exception
              when lock_not_available then
                raise;
              -- What it meets at its end, where a copy of a row meets the original by a key that is deferrable, says nothing of where it is.
              when integrity_constraint_violation then
                begin
                  execute format('%s returning (case when %I is distinct from %L then %L else %L end || pg_backend_pid())::int',
                    format(v_attempt.statement, p_table, p_column, v_attempt.value, v_taken), p_column, p_tenant_id, 'gone ' || v_mark, 'kept ' || v_mark);
                exception
                  when lock_not_available then
                    raise;
                  when others then
                    get stacked diagnostics v_message = message_text;
                    if strpos(v_message, 'kept ' || v_mark) > 0 then
                      fault := null;
                    end if;
                end;
              when others then
                null;
            end;
          end if;
        -- Citus gives no row to another tenant: also a refusal.
        elsif not (v_distributed and sqlstate = '0A000' and v_message ~ 'partition value') then
          fault := 'cannot be decided: ' || v_message;
          decided := false;
        end if;
    end;
    return next;
  end loop;
  execute format('set local app.tenant_id = %L', v_before);
end
$$;
comment on function control.try_writes(regclass, name, uuid, uuid) is
  'As tms_app inside p_tenant_id: tries to write into p_other_id and to reach rows from a tenant that does not exist; fault is null where that was refused. Nothing is kept.';
revoke all on function control.try_writes(regclass, name, uuid, uuid) from public;
grant execute on function control.try_writes(regclass, name, uuid, uuid) to tms_owner;
reset role;

create or replace function audit.visible_rows(p_table regclass, p_column name, p_tenants uuid[])
returns table (tenant_id uuid, visible bigint, own bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select * from control.visible_rows(p_table, p_column, p_tenants);
end
$$;
comment on function audit.visible_rows(regclass, name, uuid[]) is 'control.visible_rows(), for who may run the audit.';

create or replace function audit.try_writes(p_table regclass, p_column name, p_tenant_id uuid, p_other_id uuid)
returns table (attempt text, fault text, decided boolean)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select * from control.try_writes(p_table, p_column, p_tenant_id, p_other_id);
end
$$;
comment on function audit.try_writes(regclass, name, uuid, uuid) is 'control.try_writes(), for who may run the audit.';
--! EndIncluded audit/as_tms_app.sql
--! Included audit/passes.sql
create or replace function audit.passes(p_family text default null, p_gate boolean default false)
returns setof text
language sql
stable
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
as $$
  with recursive ancestors as (
    select conrelid as child, confrelid as parent from pg_constraint where contype = 'f' and conparentid = 0 and conrelid <> confrelid
    union
    select a.child, k.confrelid from ancestors a join pg_constraint k on k.conrelid = a.parent and k.contype = 'f' and k.conparentid = 0
  )
  select pass from (
    select c."check" as pass, 1 as part, n
    from audit.checks() with ordinality as c ("check", category, severity, family, gate, finds, why, mend, n)
    where c.family = 'schema' and p_family is distinct from 'data' and (c.gate or not p_gate)
    union all
    -- Parents before their children, which then need not ask again whether there are such tenants.
    select 'scan ' || r.relid, 2, row_number() over (order by coalesce(a.count, 0), r.relid::text)
    from audit.relations() r left join (select child, count(*) from ancestors group by child) a on a.child = r.relid
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
  select d.check_name from audit.data_checks() d
  where p_pass = 'scan ' || d.answered_by
    and not exists (select from audit.scanned(p_pass) s cross join lateral audit.relations(array[s]) r where r.is_child)
$$;
comment on function audit.pass_checks(text) is 'The checks that a pass is part of.';

-- Everything that reads tenants' rows reads them here, as tms_auditor, whoever called. In control, where no member of
-- tms_auditor can name it: members own what their role owns, and could make it STRICT, or the caller's, and give it a search_path.
set local role tms_auditor;
drop function if exists control.examine(text, uuid, int); -- it had a parameter less, as audit.examine() and audit.attempt() had
create or replace function control.examine(p_pass text, p_tenant_id uuid, p_sample int, p_settled text[] default '{}')
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
      select s.* from audit.scanned(p_pass) r cross join lateral audit.scan(r, p_tenant_id, p_settled) s
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
           (array_agg(o order by audit.severity_rank(o.severity), o.relation, o."row"::text, o.detail collate "C") filter (where o.detail is not null))[1:1000]
         from audit.%I() o left join audit.relations() r on r.relid::text = o.relation
         where o.relation ~ '^\d' is not true -- a number stands for what was dropped since the snapshot was taken
         group by 1, 2 order by 1, 2$q$, p_pass, 'check_' || p_pass);
  end if;
end
$$;
comment on function control.examine(text, uuid, int, text[]) is
$$Runs one pass as tms_auditor and returns its outcomes, by check and relation. p_settled: the tables of which the same run has found that every row's
tenant exists. Raises what the check raises.$$;
revoke all on function control.examine(text, uuid, int, text[]) from public;
grant execute on function control.examine(text, uuid, int, text[]) to tms_owner;
reset role;

drop function if exists audit.examine(text, uuid, int);
create or replace function audit.examine(p_pass text, p_tenant_id uuid, p_sample int, p_settled text[] default '{}')
returns setof audit.outcome
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query select * from control.examine(p_pass, p_tenant_id, p_sample, p_settled);
end
$$;
comment on function audit.examine(text, uuid, int, text[]) is 'control.examine(), for who may run the audit.';

-- A check that cannot run is a finding. Only a person's own cancellation goes through.
drop function if exists audit.attempt(text, uuid, int);
create or replace function audit.attempt(
  p_pass text, p_tenant_id uuid, p_sample int, p_settled text[] default '{}', out outcomes audit.outcome[], out failure text)
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
    outcomes := array(select o from audit.examine(p_pass, p_tenant_id, p_sample, p_settled) o);
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
comment on function audit.attempt(text, uuid, int, text[]) is
  'audit.examine(), with a failure turned into one finding of severity error for each check of the pass; failure is its message, else null.';
--! EndIncluded audit/passes.sql
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
    select n.nspname = 'pg_catalog' as is_ours, concat(format('c.%I', c.attname),
        case when o.oprright = 'bpchar'::regtype and c.atttypid <> o.oprright then '::bpchar' end, -- as which blanks at the end are none
        case when c.attcollation <> p.attcollation then ' collate ' || p.attcollation::regcollation end) as value) w
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
returns table (check_name text, check_elsewhere text, joins text, predicate text, elsewhere text, detail text, question text, shortcut text, child_column name, parent regclass)
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
    select o.check_name, o.predicate, o.indexed, o.detail, coalesce(o.asked_with, substring(o.predicate from '\{(\w+)}')::name) as asked_with,
      o.predicate ~ '\{' and o.predicate !~ '\mc\.' as of_parent
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
        case when is_single
          then parent::text
          else format('(select distinct on (tenant_id, %s) * from %s)', parent_names, parent) end,
        alias, alias, ref.tenant_column, matched) end as joins, parent_names, matched, covering, is_plain, child_list, is_single
    from ref
    cross join lateral audit.is_unique(ref.parent, array['tenant_id'::name] || ref.parent_columns) as is_single
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
    select ref_sql.*, b.question as built_in, b.built_for, b.shortcut,
      (select string_agg(replace(o.predicate, '{' || expected || '}', alias), ') or (') from own o where o.asked_with = expected and not (o.of_parent and is_single)) as also,
      -- Every row has a parent to look for, and finds one at most: then the same reading counts the rows.
      tenant_column = 'tenant_id' and audit.is_never_null(p_table, 'tenant_id') and (select bool_and(audit.is_never_null(p_table, x)) from unnest(child_columns) x)
        and is_single and not is_temporal as countable
    from ref_sql
    left join (values
      -- Both ways at once: media without their generation, and completed generations without media. Those with several media
      -- would be counted as often.
      ('app.media', array['generation_id'::name],
        $q$select count(c.tenant_id), count(*) - count(r.id), 0::bigint, count(*) filter (where c.tenant_id is null and r.unfinished is null)
           from (select c.tenant_id, c.generation_id from app.media c where {slice c}) c
           full join (
             select g.tenant_id, g.id, u.id as unfinished
             from app.generations g
             left join app.generations u on u.tenant_id = g.tenant_id and u.id = g.id and u.status <> 'completed' and {slice u}
             where {slice g}) r
           on r.tenant_id = c.tenant_id and r.id = c.generation_id
           union all
           select 0::bigint, 0::bigint, count(*), 0::bigint from app.generations n where {slice n}$q$, -- of other types the workers would not share it
        'audit.media_of_each()'),
      -- A ledger is told good from bad as two arrays, in the order of the index: half of a window's cost. {also} is asked of its last row.
      -- A balance before that no bigint could hold is null: no row's balance_after equals it.
      ('app.credit_transactions', array['user_id'],
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
           left join app.users r on r.tenant_id = c.tenant_id and r.id = c.user_id and {slice r}$q$, null),
      -- Who generates on a board does so again: both references are asked of the few pairs that one index, in this order, is grouped to.
      ('app.generations', array['board_id', 'user_id'],
        $q$select sum(c.rows), sum(c.rows) filter (where b.id is null or u.id is null), null::bigint, null::bigint
           from (
             select c.tenant_id, c.board_id, c.user_id, count(*)::int as rows
             from app.generations c
             where {slice c}
             group by c.tenant_id, c.board_id, c.user_id) c
           left join app.boards b on b.tenant_id = c.tenant_id and b.id = c.board_id and {slice b}
           left join app.users u on u.tenant_id = c.tenant_id and u.id = c.user_id and {slice u}$q$, null)
    ) as b (child, built_for, question, shortcut) on to_regclass(b.child) = ref_sql.child and expected = any (b.built_for)
  ), questions as (
    select w.*, case
      when is_temporal then format('select 0, count(*), null::bigint, null::bigint from %s c where %s and not exists (select from %s) and {slice c}',
        p_table, given, covering)
      when is_built_in then replace(built_in, '{also}', coalesce(also, 'false'))
      -- One question of a table counts its rows.
      when countable and not bool_or(is_built_in) over ()
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
    from (
      select whole.*, built_in is not null and bool_and(countable) over same and count(*) over same = cardinality(built_for) as is_built_in
      from whole window same as (partition by built_in)) w
  ), own_sql as (
    select o.check_name, r.joins, case
        -- Few parents are so, and most of their columns stand in no index: they are looked for first, by themselves.
        when o.of_parent and r.is_single then format('select 0, count(*), null::bigint, null::bigint from %1$s %2$s
          where %3$s and exists (select from %4$s c where %2$s.tenant_id = c.%5$I and %6$s and {slice c}) and {slice %2$s}',
          r.parent, r.alias, p.predicate, p_table, r.tenant_column, r.matched)
        when o.indexed then format('select 0, count(*), null::bigint, null::bigint from %s c where %s and {slice c}', p_table, o.predicate)
        else r.question end as question,
      p.predicate, o.detail
    from own o
    left join questions r on r.expected = o.asked_with
    cross join lateral (select coalesce(replace(o.predicate, '{' || r.expected || '}', r.alias), o.predicate) as predicate) p
  )
  select * from (
  select 'tenant_missing', null::text, 'left join app.tenants t on t.id = c.tenant_id', 't.id is null', null::text,
    $q$case when c.tenant_id is null then 'the row has no tenant' else 'there is no tenant ' || c.tenant_id end$q$,
    null::text, null::text, null::name, null::regclass
  where p_table is distinct from to_regclass('app.tenants') and not exists (select from audit.relations(array[p_table]) where is_child)
  union all
  select
    coalesce(b.name, 'parent_missing'),
    coalesce(b.name, case when parent = to_regclass('app.users') then 'user_of_other_tenant' else 'parent_of_other_tenant' end),
    joins, format('%s and %s.tenant_id is null', given, alias),
    -- Asked of suspects only: does the row exist, elsewhere? Citus takes no correlated subquery here.
    case when is_temporal then format('exists (select from %s)', replace(covering, format('p.tenant_id = c.%I', tenant_column), 'true'))
         when is_plain then format('coalesce((%s) in (select %s from %s), false)', child_list, parent_names, parent) -- null beside a null of the parent's
         else format('exists (select from %s %s where %s)', parent, alias, matched) end,
    format($q$concat_ws(', ', %s)$q$,
      (select string_agg(format(case when is_full then $f$%L || coalesce(c.%I::text, 'null')$f$ else $f$%L || c.%I$f$ end, x || ' ', x), ', ') from unnest(child_columns) x))
      || format($q$ || case when s.elsewhere then %L else %L end$q$,
        format(' is in %s, but in another tenant', parent), format(' is not in %s', parent)),
    question, case when countable then shortcut end, case when cardinality(child_columns) = 1 then child_columns[1] end, questions.parent
  from questions
  left join (values
    ('app.boards', 'owner_id', 'board_owner_outside_tenant'), ('app.board_members', 'user_id', 'board_member_outside_tenant'),
    ('app.board_members', 'board_id', 'membership_without_board'), ('app.board_members', 'invited_by', 'board_inviter_outside_tenant')
  ) as b (relation, column_name, name) on to_regclass(b.relation) = child and b.column_name = expected
  union all
  -- Another tenant that a row names, or what it repeats of its own.
  select distinct 'parent_missing', null, null, p.predicate, null, p.detail, format('select 0, count(*), null::bigint, null::bigint from %s c where %s and {slice c}', p_table, p.predicate),
    null, null::name, null::regclass
  from pg_constraint k
  cross join lateral (
    select format('%s and not exists (select from app.tenants r where %s)', string_agg(format('c.%I is not null', w.child), ' and ' order by w.child),
        string_agg('r' || w.compared, ' and ' order by w.child)) as predicate,
      format($q$concat_ws(', ', %s) || ' is not in app.tenants'$q$, string_agg(format('%L || c.%I', w.child || ' ', w.child), ', ' order by w.child)) as detail,
      array_agg(w.child || ' ' || w.parent) as pairs
    from audit.comparisons(k.oid) w) p
  where k.conrelid = p_table and k.contype = 'f' and k.conparentid = 0 and k.confrelid = to_regclass('app.tenants') and p.pairs <> array['tenant_id id']
  union all
  select check_name, null, joins, predicate, null, detail, question, null, null, null from own_sql
  union all
  select 'times_out_of_order', null, null, format('c.%I < c.created_at', name), null,
    format($q$%L || c.%I || ' is before created_at ' || c.created_at$q$, name || ' ', name), null, null, null, null
  from col
  where is_own and name in ('updated_at', 'completed_at', 'removed_at') and type = 'timestamptz'::regtype
    and exists (select from col where name = 'created_at' and type = 'timestamptz'::regtype)
  union all
  select 'not_an_object', null, null, format($q$jsonb_typeof(c.%I) <> 'object'$q$, name), null,
    format($q$%L || jsonb_typeof(c.%I)$q$, name || ' holds a JSON ', name), null, null, null, null
  from col where is_own and name in ('settings', 'config', 'input', 'registration') and type = 'jsonb'::regtype
  union all
  -- A validated CHECK cannot have been broken; one that was added NOT VALID says nothing about the rows before it.
  select 'constraint_broken', null, null, format('not (%s)%s', case when 0 = any (conkey) -- it is about the whole row, which is c here
      then replace(pg_get_expr(conbin, conrelid), (select quote_ident(relname) from pg_class where oid = conrelid) || '.*', 'c.*')
      else pg_get_expr(conbin, conrelid) end, case when connoinherit then format(' and c.tableoid = %L::regclass', p_table) end), null,
    format($q$%L$q$, format('the row breaks the constraint %I', conname)), null, null, null, null
  from pg_constraint where conrelid = p_table and contype = 'c' and coninhcount = 0 and not convalidated
  ) as tests (check_name, check_elsewhere, joins, predicate, elsewhere, detail, question, shortcut, child_column, parent)
  order by question, check_name
$$;
comment on function audit.row_tests(regclass) is
$$The tests of a table: `predicate` is true of a row that fails; for references `elsewhere` then tells whether the missing row
lives in another tenant (check_elsewhere) or nowhere (check_name). `detail` is an SQL expression.$$;
--! EndIncluded audit/row_tests.sql
--! Included audit/count_suspects.sql
-- The tenants in slices of about as many each, as conditions on a row %: workers take one after the other, and each slice
-- is a merge of the same stretch of two indexes. A row without a tenant is in none of them, so it has one of its own.
create or replace function audit.slices(p_table regclass, p_column name, p_tenant_id uuid)
returns text[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bounds uuid[];
  v_nullable constant boolean := not audit.is_never_null(p_table, p_column);
begin
  if p_tenant_id is not null then
    return array[format('%%.%I = %L', p_column, p_tenant_id)];
  elsif (select reltuples from pg_class where oid = p_table) < 200000 then
    return array['true'];
  end if;
  v_bounds := array(
    select distinct unnest(bounds) as id
    from (select percentile_disc(array(select n / 16.0 from generate_series(1, 15) n)) within group (order by id) as bounds from app.tenants) b
    order by id);
  return array(
    select coalesce(nullif(concat_ws(' and ', format('%%.%I >= ', p_column) || quote_literal(v_bounds[n]), format('%%.%I < ', p_column) || quote_literal(v_bounds[n + 1])), ''), 'true')
    from generate_series(0, cardinality(v_bounds)) n)
    || case when v_nullable then array[format('%%.%I is null', p_column)] end;
end
$$;
comment on function audit.slices(regclass, name, uuid) is 'The slices of a table: conditions on a row, written %.column. One where it is small, or of one tenant.';

-- Of partitioned tables Postgres keeps no such count, and of a table that was never analyzed neither.
create or replace function audit.is_unvacuumed(variadic p_tables regclass[])
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(relallvisible) < sum(relpages) / 2, false) from pg_class where oid = any (p_tables) and relpages > 0
$$;
comment on function audit.is_unvacuumed(regclass[]) is
  'Whether an index leaves open, for most rows, if they are visible: a merge of indexes would fetch them from the tables one by one, in the order of keys.';

-- A hash table that outgrows the processor's cache costs several times the merge of two indexes, which needs no memory
-- either; the planner's costs do not know that. Several slices are the workers' shares: within one there is nothing to
-- share out, or each worker would read the whole inner index. Undone when control.examine() returns.
create or replace function audit.plan_merges(p_table regclass, p_column name, p_slices int)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select set_config('enable_hashjoin', case when merge then 'off' else 'on' end, true),
    set_config('parallel_setup_cost', case when p_slices > 1 then '0' else '1000' end, true),
    set_config('parallel_tuple_cost', case when p_slices > 1 then '0' else '0.1' end, true),
    set_config('min_parallel_index_scan_size', case when p_slices > 1 then '1TB' else '512kB' end, true),
    set_config('min_parallel_table_scan_size', case when p_slices > 1 then '1TB' else '8MB' end, true)
  from (
    select p_slices > 1 and exists (
      select from pg_index i
      join pg_attribute t on t.attrelid = p_table and t.attnum = i.indkey[0] and t.attname = 'tenant_id'
      join pg_attribute c on c.attrelid = p_table and c.attnum = i.indkey[1] and c.attname = p_column
      where i.indrelid = p_table and i.indisvalid and i.indpred is null) as merge) m
$$;
comment on function audit.plan_merges(regclass, name, int) is 'Makes the planner merge two indexes, slice by slice; with one slice, plan as it would. Until the transaction ends.';

create or replace function audit.count_suspects(p_question text, p_slices text[], p_table regclass, p_column name)
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_answer bigint[];
begin
  perform audit.plan_merges(p_table, p_column, cardinality(p_slices));
  execute 'select array[coalesce(sum(a), 0), coalesce(sum(b), 0), sum(c), sum(d)] from ('
    || (select string_agg(regexp_replace(p_question, '\{slice (\w+)}', replace(s, '%', '\1'), 'g'), ' union all ') from unnest(p_slices) s)
    || ') as answers (a, b, c, d)'
  into v_answer;
  perform audit.plan_merges(p_table, null, 1);
  return v_answer;
end
$$;
comment on function audit.count_suspects(text, text[], regclass, name) is 'Puts a question of audit.row_tests() to every slice and adds up its four numbers.';
--! EndIncluded audit/count_suspects.sql
--! Included audit/run.sql
set local role tms_auditor;
create or replace function control.find_tenant(p_slug text)
returns uuid
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id uuid;
begin
  perform audit.require_unfiltered('app.tenants');
  select id into v_id from app.tenants where slug = p_slug;
  if v_id is null then
    raise exception using errcode = 'no_data_found', message = format('there is no tenant with the slug %L', p_slug);
  end if;
  return v_id;
end
$$;
comment on function control.find_tenant(text) is 'The id of the tenant with a slug. Raises P0002 for a slug that nobody has.';
revoke all on function control.find_tenant(text) from public;
grant execute on function control.find_tenant(text) to tms_owner;
reset role;

create or replace function audit.find_tenant(p_slug text)
returns uuid
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_slug is not null then
    return control.find_tenant(p_slug);
  end if;
  return null;
end
$$;
comment on function audit.find_tenant(text) is 'control.find_tenant(), for who may run the audit; null for null.';

create or replace function audit.start_run(p_tenant text, p_only text, p_sample int)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run bigint;
begin
  if p_only not in ('data', 'schema') then
    raise exception using errcode = 'invalid_parameter_value', message = format('p_only is data, schema or null, and not %L', p_only);
  end if;
  if p_sample < 1 then
    raise exception using errcode = 'invalid_parameter_value', message = 'p_sample is the number of tenants that the proof acts in, or null for all';
  end if;
  insert into audit.runs (tenant, tenant_id, family, sample, schema_version, run_by, pending)
  values (p_tenant, audit.find_tenant(p_tenant), p_only, p_sample, app.schema_version(), session_user, array(select audit.passes(p_only)))
  returning id into v_run;
  return v_run;
end
$$;
comment on function audit.start_run(text, text, int) is 'Opens a run with all its passes to come, and returns its id. Raises P0002 for a slug that nobody has, 22023 for another family or sample.';

-- The one writer of results, and it writes what it has just seen: nobody can hand it a result.
create or replace function audit.record_pass(p_run bigint, p_pass text, out checked bigint, out findings bigint, out failure text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set quote_all_identifiers = off
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_run audit.runs;
  v_outcomes audit.outcome[];
  v_failure text;
begin
  update audit.runs set pending = array_remove(pending, p_pass)
  where id = p_run and p_pass = any (pending) and started_in <> pg_current_xact_id()
  returning * into v_run;
  if not found then
    raise exception using errcode = 'object_not_in_prerequisite_state', message = format('run %s does not wait for the pass %L', p_run, p_pass);
  end if;
  select a.outcomes, a.failure into v_outcomes, v_failure
  from audit.attempt(p_pass, v_run.tenant_id, v_run.sample, array(
    select relation from audit.results where run_id = p_run and check_name = 'tenant_missing' and errors = 0)) a;

  insert into audit.found (run_id, check_name, n, severity, tenant_id, relation, "row", detail, remedy)
  select p_run, k.check_name, k.n, k.severity, k.tenant_id, k.relation, coalesce(k."row", '{}'), k.detail, k.remedy
  from (
    select o."check" as check_name, f.severity, f.tenant_id, f.relation, f."row", f.detail, f.remedy,
      coalesce((select max(n) from audit.found where run_id = p_run and check_name = o."check"), 0)
        + row_number() over (partition by o."check" order by audit.severity_rank(f.severity), f.relation, f.n) as n
    from unnest(v_outcomes) o
    cross join lateral unnest(o.kept) with ordinality as f (severity, tenant_id, relation, "row", detail, remedy, n)
  ) k
  where k.n <= 1000 or v_failure is not null;

  insert into audit.results (run_id, check_name, relation, checked, errors, warnings, infos, elapsed, failed)
  select p_run, o."check", coalesce(o.relation, ''), max(o.checked), sum(o.errors), sum(o.warnings), sum(o.infos),
    clock_timestamp() - v_started, v_failure is not null
  from unnest(v_outcomes) o
  group by o."check", coalesce(o.relation, '');

  -- Somebody's trigger on these tables may take the rows, and a run without them would be clean.
  if exists (
    select from unnest(v_outcomes) o
    where not exists (select from audit.results r where r.run_id = p_run and r.check_name = o."check" and r.relation = coalesce(o.relation, ''))
      or cardinality(o.kept) > 0 and not exists (select from audit.found f where f.run_id = p_run and f.check_name = o."check"))
  then
    raise exception using errcode = 'object_not_in_prerequisite_state', message = format('what the pass %L found was not stored', p_pass),
      hint = 'Look for triggers of somebody''s own: select * from audit.run_check(''function_changed'');';
  end if;

  select case when p_pass like 'scan %' then max(o.checked) filter (where o.relation = substr(p_pass, 6)) else sum(o.checked) end, sum(o.errors + o.warnings + o.infos)
  into checked, findings from unnest(v_outcomes) o;
  checked := coalesce(checked, 0);
  findings := coalesce(findings, 0);
  failure := v_failure;
end
$$;
comment on function audit.record_pass(bigint, text) is
  'Runs one pass that an open run waits for and stores what it found; returns rows examined, findings, and why it could not run, if so. Raises 55000 for any other, and in the transaction that opened the run.';

create or replace function audit.finish_run(p_run bigint)
returns audit.runs
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run audit.runs;
begin
  if not exists (select from audit.runs where id = p_run and finished_at is null and pending = '{}') then
    raise exception using errcode = 'object_not_in_prerequisite_state', message = format('run %s is not an open one with all its passes done', p_run);
  end if;
  -- A check that met no object of its kind is still one that ran: it stands in the report with nothing examined.
  insert into audit.results (run_id, check_name, relation, checked, errors, warnings, infos, elapsed)
  select p_run, c."check", '', 0, 0, 0, 0, '0'
  from audit.checks() c join audit.runs r on r.id = p_run and c.family = coalesce(r.family, c.family)
  where not exists (select from audit.results x where x.run_id = p_run and x.check_name = c."check");

  -- What was found of a table by a test that it has no more, as the constraint was validated or dropped, is asked by reading it.
  insert into audit.results (run_id, check_name, relation, checked, errors, warnings, infos, elapsed)
  with of_rows as (
    select c."check" from audit.checks() c where c.family = 'data' and c."check" not in (select check_name from audit.data_checks())
  ), of_partitions as (
    select r.relid::text as name, coalesce(pg_partition_root(r.relid), (select inhparent from pg_inherits where inhrelid = r.relid order by inhseqno limit 1))::regclass::text as whole
    from audit.relations() r where r.is_child
  )
  select p_run, f.check_name, f.relation, 0, 0, 0, 0, interval '0'
  from (select distinct check_name, relation from audit.found) f left join of_partitions p on p.name = f.relation
  -- A check that a scan answers stands there under its own table, and where that scan failed under the scan's.
  where (f.check_name in (select "check" from of_rows) or (f.check_name, f.relation) in (select check_name, answered_by from audit.data_checks())) and (
    select bool_and(not x.failed) from audit.results x
    where x.run_id = p_run and x.relation in (f.relation, p.whole) and x.check_name in (select "check" from of_rows))
  on conflict do nothing;

  update audit.runs set finished_at = clock_timestamp(),
    (checks, rows_checked, errors, warnings, infos, not_run) = (
      select count(distinct check_name), coalesce(sum(checked), 0), coalesce(sum(r.errors), 0), coalesce(sum(r.warnings), 0),
        coalesce(sum(r.infos), 0), count(distinct check_name) filter (where failed)
      from audit.results r where run_id = p_run)
  where id = p_run and finished_at is null
  returning * into strict v_run;
  delete from audit.found
  where run_id in (select id from audit.runs where finished_at is not null order by id desc offset 100)
    and run_id <> all (array(select distinct run_id from audit.findings));
  return v_run;
end
$$;
comment on function audit.finish_run(bigint) is 'Closes a run whose passes are all done, adds it up, and forgets the findings of all but the last hundred runs and of those with a finding that is still open.';

-- Not SECURITY DEFINER and without SET: a procedure with either may not commit. It holds no rights; what it calls does. And
-- what stands here is looked for along the caller's path, unless it says where it is, operators too.
create or replace procedure audit.run(
  p_tenant text default null, p_only text default null, p_sample int default 20, inout p_run bigint default null)
language plpgsql
as $$
declare
  v_pass text;
  v_passes text[];
  v_done int := 0;
  v_result record;
  v_started timestamptz;
begin
  p_run := audit.start_run(p_tenant, p_only, p_sample);
  v_passes := (select r.pending from audit.runs r where r.id operator(pg_catalog.=) p_run);

  foreach v_pass in array v_passes loop
    -- One snapshot for each pass, and none from one pass to the next. Nothing may stand between these two: any
    -- expression takes a snapshot.
    commit;
    set transaction isolation level repeatable read;
    -- A statement_timeout ends one pass and is spent; a lock that is never given back would hold all the others.
    if pg_catalog.current_setting('lock_timeout') operator(pg_catalog.=) '0' then
      set local lock_timeout = '30s';
    end if;
    v_started := pg_catalog.clock_timestamp();
    v_done := v_done OPERATOR(pg_catalog.+) 1;
    select * into v_result from audit.record_pass(p_run, v_pass);
    raise notice '%', audit.progress_line(v_done, pg_catalog.cardinality(v_passes), v_pass, v_result.checked, v_result.findings, v_started, v_result.failure);
  end loop;

  commit;
  set transaction isolation level read committed; -- others may store and forget at once
  perform audit.say_scanned(p_run);
  perform audit.finish_run(p_run);
  commit;
end
$$;
comment on procedure audit.run(text, text, int, bigint) is
$$Runs the isolation audit, stores it and returns its id. p_tenant: the slug of one tenant (its rows only). p_only: data or schema. p_sample: in how many tenants
the proof acts; null: all. Commits after every pass, so it cannot be called inside a transaction.
  call audit.run();  table audit.findings;$$;

create or replace function audit.progress_line(p_done int, p_of int, p_pass text, p_checked bigint, p_found bigint, p_started timestamptz, p_failure text)
returns text
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select format('audit %s/%s %s: %s rows, %s, %s ms', p_done, p_of, p_pass, p_checked,
    case when p_failure is not null then 'could not run: ' || p_failure when p_found = 1 then '1 finding' else p_found || ' findings' end,
    round(extract(epoch from clock_timestamp() - p_started) * 1000))
$$;
comment on function audit.progress_line(int, int, text, bigint, bigint, timestamptz, text) is 'The notice as a pass ends: how many of how many, its name, rows, findings, milliseconds.';

create or replace function audit.say_scanned(p_run bigint)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v record;
begin
  for v in
    select r.check_name, sum(r.checked) as checked, sum(r.errors + r.warnings + r.infos) as found, count(*) as relations, sum(r.elapsed) as elapsed
    from audit.results r
    where r.run_id = p_run and r.check_name in (select c."check" from audit.checks() c where c.family = 'data')
      and r.check_name not in (select check_name from audit.data_checks() where answered_by is null)
    group by r.check_name order by r.check_name
  loop
    raise notice 'audit check %: % rows in % tables, % findings, % ms shared', v.check_name, v.checked, v.relations, v.found,
      round(extract(epoch from v.elapsed) * 1000);
  end loop;
end
$$;
comment on function audit.say_scanned(bigint) is 'A notice for each check that was answered by the passes over the tables.';
--! EndIncluded audit/run.sql
--! Included audit/code.sql
-- How the text of a function is read.
create or replace function audit.pattern_of(p_name text)
returns text
language sql
immutable
return regexp_replace(p_name, '(\W)', '\\\1', 'g');
comment on function audit.pattern_of(text) is 'A name as a regular expression that matches it and nothing else.';

-- From left to right, for a quote in a comment is none, and two dashes in a string are no comment. What goes, and what stays and might have gone,
-- is marked; a mark behind a quote is of what stays. \x22 and \x27: graphile-migrate counts quotes here as well.
create or replace function audit.code_of(p_body text, p_strings boolean)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  select regexp_replace(translate(regexp_replace(regexp_replace(p_body,
    $re$("[^\x22]*")|(\m[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^\x27]|'')*'|(?<![\w$])\$((?:[[:alpha:]_]\w*)?)\$(?:[^$]|\$\d|\$[^\w$])*\$\3\$|')|--[^\n]*|/\*(?:[^*]|\*+[^*/])*\*+/$re$,
    case when p_strings then '\1\2' else '\1' end || chr(1), 'g'), '(["''$])' || chr(1), '\1', 'g'), chr(1), ' '), '"([[:alpha:]_][\w.]*)"', '\1', 'g')
$$;
comment on function audit.code_of(text, boolean) is
  'The body of a function in SQL or PL/pgSQL without its comments, and without the quotes of names that need none; and, unless p_strings, without its strings.';

-- What a function executes as text is code as well; what it says is not.
create or replace function audit.executed(p_code text)
returns setof text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  select x[1] from regexp_matches(p_code, '\mexecute\s*(?:\w+\s*\(\s*)*(e?''(?:[^'']|'''')*''[^;]*)', 'gi') x
$$;
comment on function audit.executed(text) is 'The texts that code in PL/pgSQL executes, as far as they are there, each with what is put into it.';

-- By name: nothing in the catalog depends on what the text of a body calls. Without a schema it is Postgres's, or one of those where the function looks,
-- which is its own where it says nothing. Neither the columns of an INSERT nor those of a WITH are arguments.
create or replace function audit.calls(p_callers oid[])
returns table (caller oid, callee oid)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with code as materialized (
    select p.oid, n.nspname, p.proconfig, audit.code_of(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), true) as text
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace join pg_language l on l.oid = p.prolang and l.lanname in ('sql', 'plpgsql')
    where p.oid = any (p_callers)
  ), named as materialized (
    select distinct c.oid, m[1] as schema, m[2] as name, coalesce((select x from unnest(c.proconfig) x where x like 'search\_path=%'), c.nspname) as path
    from code c
    cross join lateral (select lower(concat(audit.code_of(c.text, false), ' ', (select string_agg(x, ' ; ') from audit.executed(c.text) x)))) t (code)
    cross join lateral regexp_matches(regexp_replace(t.code, '\m(into|update|table|references)\s+(\w+\s*\.\s*)?\w+|\m\w+\s*\([^()]*\)\s*as\s+((not\s+)?materialized\s*)?\(', '', 'g'),
      '(?:\m(\w+)\s*\.\s*)?\m(\w+)\s*\(', 'g') m
    where m[1] is not null or not exists (select from pg_proc x where x.pronamespace = 'pg_catalog'::regnamespace and x.proname = m[2])
  )
  select c.oid, f.oid
  from named c
  join pg_proc f on lower(f.proname) = c.name and f.oid >= 16384 and f.oid <> c.oid
  join pg_namespace n on n.oid = f.pronamespace and (c.schema = lower(n.nspname) or c.schema is null and c.path ~* format('\m%s\M', audit.pattern_of(n.nspname)))
  union
  -- By an operator's sign, and an aggregate its functions.
  select c.oid, o.oprcode from code c join pg_operator o on o.oid >= 16384 and strpos(c.text, o.oprname) > 0 where o.oprcode >= 16384
  union
  select d.objid, d.refobjid from pg_depend d join pg_proc a on a.oid = d.objid and a.prokind = 'a'
  where d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_proc'::regclass and d.refobjid >= 16384 and a.oid = any (p_callers)
$$;
comment on function audit.calls(oid[]) is 'Which functions those in SQL and PL/pgSQL among these call, as far as their text has the names, and aggregates are made of.';

-- Whose row it is a policy has said of an old one, and of a new one, or several, after they are written; before that, and of any other column,
-- the writer alone. Of a tenant's own row its id is nobody's choice.
create or replace function audit.own_tenant(p_function oid, p_code text)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with fired as (
    select p.prorettype = 'trigger'::regtype as is_trigger,
      coalesce(bool_and(t.tgtype & 66 = 0), true) as later, coalesce(bool_and(t.tgrelid = to_regclass('app.tenants')), false) as of_tenants
    from pg_proc p left join pg_trigger t on t.tgfoid = p.oid
    where p.oid = p_function
    group by p.oid
  ), own as (
    select concat('(?:null|''''|(?:app\s*\.\s*)?tenant_id\s*\(\s*\)|current_setting\s*\(\s*''app\.tenant_id''\s*(?:,\s*\w+\s*)?\)',
      case when is_trigger then '|old\s*\.\s*tenant_id' end,
      -- Of a record of columns that the code names itself, a tenant_id is what they say.
      case when is_trigger and later then case when p_code ~* '\mas\s+tenant_id\M|\mtenant_id\s+uuid\M|populate_record|to_record|\.\s*tenant_id\s*:=' then '|new\s*\.\s*tenant_id' else '|\w+\s*\.\s*tenant_id' end end,
      case when is_trigger and of_tenants then '|(?:new|old)\s*\.\s*id' end, ')(?:\s*::\s*\w+)*') as id
    from fired
  ), either as (
    select format('(?:%1$s|coalesce\s*\(\s*%1$s\s*,\s*%1$s\s*\)(?:\s*::\s*\w+)*|case\s+when\s+tg_op\s*=\s*''\w+''\s+then\s+%1$s\s+else\s+%1$s\s+end)', id) as id from own
  )
  -- And a constant of it, or a variable that nothing but its declaration and these calls have.
  select concat('(?:', id, (
    select string_agg('|' || m[1], '')
    from regexp_matches(p_code, '\m(\w+)\s+(constant\s+)?\w+\s*(?::?=|default)\s*' || id || '\s*;', 'gi') m
    cross join lateral (select count(*) as n from regexp_matches(p_code, format('\m%s\M', m[1]), 'gi')) whole
    cross join lateral (select count(*) as n from regexp_matches(p_code,
      format('\m(?:set_tenant\s*\(\s*(?:p_tenant_id\s*(?:=>|:=)\s*)?|set_config\s*\(\s*''app\.tenant_id''\s*,\s*)%s\M', m[1]), 'gi')) used
    where m[2] is not null or whole.n = used.n + 1), ')')
  from either
$$;
comment on function audit.own_tenant(oid, text) is
$$A regular expression of how the code of a function may name the tenant before, none, or, in a trigger's function, the one that its row is known to
be of.$$;

create or replace function audit.enters_named_tenant(p_function oid, p_code text)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with known as materialized (
    select audit.own_tenant(p_function, p_code) as id
  )
  select exists (
      select from known k cross join regexp_split_to_table(p_code, '\mset_tenant\s*\(', 'i') with ordinality as c (call, n)
      where c.n > 1 and c.call !~* ('^\s*(p_tenant_id\s*(=>|:=)\s*)?' || k.id || '\s*\)'))
    or exists (
      select from known k cross join regexp_split_to_table(p_code, '\mset_config\s*\(\s*(e?''|\$\w*\$)app\.tenant_id(''|\$\w*\$)(\s*::\s*\w+)?\s*,', 'i') with ordinality as c (call, n)
      where c.n > 1 and c.call !~* ('^\s*' || k.id || '\s*,'))
    -- By a variable that may have its name.
    or p_code ~* '(''|\$)app\.tenant_id(''|\$)' and exists (
      select from known k cross join regexp_split_to_table(p_code, '\mset_config\s*\(\s*(?=[[:alpha:]_][\w.]*\s*,)', 'i') with ordinality as c (call, n)
      where c.n > 1 and c.call !~* ('^[\w.]+\s*,\s*' || k.id || '\s*,'))
    or p_code ~* '(''|\$)app\.tenant_id(''|\$)' and exists (select from audit.executed(p_code) x where x ~* '\mset\s+(local\s+|session\s+)?%(\d+\$)?[is]\s*(=|to\M)')
    -- By a text, executed there, or, where it is put together, later; a message is none.
    or exists (
      select from known k
      cross join (
        select * from audit.executed(p_code)
        union all
        select m[1] from regexp_matches(p_code, '(?<!(?:\|\||\mraise(?:\s+\w+)?|\mraise\M[^;]*\m(?:hint|message|detail)\s*:?=)\s*)(''\s*set\s+(?:local\s+|session\s+)?app\s*\.\s*tenant_id\s*(?:=|to\M)\s*(?:%|\x27*\s*\|\|)[^;]*)', 'gi') m) x (text)
      where x.text ~* '\mset\s+(local\s+|session\s+)?app\s*\.\s*tenant_id\s*(=|to\M)(?!\s*(default\M|\x27{4}|\x27{2}\s*([;$]|\Z)))' and x.text !~* ('(=|to)\s*%L''\s*,\s*' || k.id || '\s*\)'))
$$;
comment on function audit.enters_named_tenant(oid, text) is 'Whether the code of a function enters another tenant than audit.own_tenant() has it.';
--! EndIncluded audit/code.sql
--! Included audit/checks/bodies.sql
-- What functions do, by their text.
-- A setting for the session outlives the request; the next one on the same connection is somebody else's. What the release
-- itself brought (audit.manifest) was read then, and is not read again here. SET or RESET stands at the beginning of a statement, which may be
-- the text of an EXECUTE, but not of a message, nor of what is joined to other text; an UPDATE's does not.
create or replace function audit.check_function_body()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive tenants as materialized (
    select lower(n.nspname) as schema, lower(c.relname) as name from audit.shown_relations() s (relid) join pg_class c on c.oid = s.relid join pg_namespace n on n.oid = c.relnamespace
  ), read as materialized (
    select f.oid, f.name, f.owner, f.reached, f.schema, p.proname, p.prorettype, p.provolatile, l.lanname,
      case when m.name is not null or f.vouched then null when l.lanname in ('sql', 'plpgsql') then audit.code_of(f.body, true) else f.body end as code
    from audit.functions() f
    join pg_proc p on p.oid = f.oid
    join pg_language l on l.oid = p.prolang
    left join audit.manifest() m on m.kind = 'function' and m.name = f.name and m.body = audit.definition_hash(f.oid)
    where f.schema <> 'audit' -- remedies there name what is looked for
  ), called as materialized (
    select caller, callee from audit.calls(array(select oid from read where code is not null))
  ), entering (oid, name, proname, given) as (
    -- What the release itself has for it: what these are given decides, and of app.set_tenant() that is read below.
    select oid, name, proname, false from read
    where code is null and proname <> 'set_tenant' and (schema = 'api' or proname in ('enter_tenant', 'enter_default', 'enter_lobby', 'join_default'))
    union
    select oid, name, proname, true from read
    where prorettype <> 'trigger'::regtype and code ~* 'set_tenant|app\s*\.\s*tenant_id' and audit.enters_named_tenant(oid, code)
    union
    select r.oid, r.name, r.proname, e.given from entering e join called c on c.callee = e.oid join read r on r.oid = c.caller and r.prorettype <> 'trigger'::regtype
  ), ways as materialized (
    select r.oid, min(e.name) as way
    from read r join called c on c.caller = r.oid join entering e on e.oid = c.callee
    where r.prorettype = 'trigger'::regtype
      -- One that is given the tenant is given it first.
      and not (e.given and not exists (
        select from regexp_split_to_table(r.code, format('\m%s\s*\(', audit.pattern_of(e.proname)), 'i') with ordinality as x (call, n)
        where x.n > 1 and x.call !~* ('^\s*(\w+\s*(=>|:=)\s*)?' || audit.own_tenant(r.oid, r.code) || '\s*[,)]'))
        and r.code ~* format('\m%s\s*\(', audit.pattern_of(e.proname)))
    group by r.oid
  ), asking (oid) as (
    select oid from read where prorettype <> 'trigger'::regtype and (code ~* '\mtenant_id\s*\(|(''|\$)app\.tenant_id(''|\$)' or oid = to_regprocedure('app.tenant_id()'))
    union
    select c.caller from asking a join called c on c.callee = a.oid join read r on r.oid = c.caller and r.prorettype <> 'trigger'::regtype
  )
  select case when f.reached and s.fault is not null then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when s.fault is not null then s.fault
         when exists (select from regexp_split_to_table(b.code, 'set_config\s*\(', 'i') with ordinality as c (call, n)
                      where c.n > 1 and split_part(c.call, ';', 1) ~* ',\s*(is_local\s*(=>|:=)\s*)?(false|''(f|false|off|no|n|0)''|(?!true\M|null\M|''(t|true|on|yes|y|1)'')[[:alpha:]_]\w*)\s*\)'
                        and c.call !~ '^\s*''[^'']*''\s*,\s*''[^'']*''\s*,') -- a constant says nothing of anybody
           or b.sets ~* '<set>\s+(?!local\M)(session\s+)?\w+\s*\.\s*\w+\s*(=|to\M)\s*(%|\x27*\s*\|\|)'
           -- A temporary table that is left, a cursor that outlives its transaction, a lock that does.
           or b.code ~* '\mwith\s+hold\M' or b.code ~* '\m(create\s+((local|global)\s+)?temp(orary)?\s+table|into\s+temp(orary)?\s+(table\s+)?\w+\s+from)\M' and b.code !~* '\mon\s+commit\s+(drop|delete)\M|\m(drop\s+table|truncate)\M'
           or b.bare ~* '\mpg_(try_)?advisory_lock(_shared)?\s*\(' and b.bare !~* '\mpg_advisory_unlock'
           or b.bare ~* '\mbegin\M(.*(;|\mbegin|\mthen|\melse|\mloop))?\s*(listen\s+\w+\s*;|prepare\s+\w+\s*(\([^)]*\)\s*)?as\M)' or b.code ~* '\mexecute\s*(\w+\s*\(\s*)?e?''\s*(listen|prepare)\s'
           or b.code ~ case when f.lanname ~ '^plperl' then '\$_SHARED\M|\mour\s+[$@%]' when f.lanname ~ '^plpython' then '\m[GS]D\M|\mglobal\s'
             when f.lanname ~ '^pltcl' then '\m[GS]D\M|\mglobal\s|\mupvar\s+#0|\m(set|incr|l?append|exists)\s+::|\$::' end
           then 'the function keeps something for the session, where the next request, of another tenant, finds it' end,
    format(case when s.fault like '% that the row names: %' then 'select pg_get_functiondef(%1$L::regprocedure); -- look at it; a row''s own tenant is old.tenant_id, and AFTER it is written new.tenant_id'
                when s.fault like '% is IMMUTABLE %' then replace(audit.by_owner(f.owner, format('alter function %s stable;', f.name)), '%', '%%')
                when f.reached then 'select pg_get_functiondef(%1$L::regprocedure); -- look at it; inside a tenant: perform app.set_tenant(…)'
                else 'select pg_get_functiondef(%1$L::regprocedure); -- read it, then: select audit.accept(%1$L);' end, f.name)
  from read f
  left join ways w using (oid)
  -- In braces Tcl has code of its own as well, and its own SET.
  cross join lateral (select case when f.lanname in ('sql', 'plpgsql') then '' when f.lanname ~ '^pltcl' then '|"|\mspi_\w+\s+(?:-\w+\s+\S+\s+)*\{' else '|"' end) c (quote)
  -- offset 0: once for each function, and not once for each question. The SET of an UPDATE, in whatever text, names columns.
  cross join lateral (
    select f.code, d.bare, regexp_replace(u.code, '(?<!(\|\||\mraise(\s+\w+)?|\mraise\M[^;]*\m(hint|message|detail)\s*:?=)\s*)(''|\$' || c.quote || ')\s*(re)?set\M', '<\2set>', 'gi')
      || regexp_replace(audit.code_of(u.code, false), '(^|;|\mbegin|\mthen|\melse|\mloop)\s*(re)?set\M', '<\2set>', 'gi')
      -- A second statement of the text, and one in a block.
      || coalesce((
        select string_agg(regexp_replace(x[1], '(;|\\[nrt]|\mbegin\M|\$\w*\$)\s*(re)?set\M', '<\2set>', 'gi'), '')
        from regexp_matches(u.code, '\mexecute\s*(?:\w+\s*\(\s*)?(e?''(?:[^'']|'''')*'')', 'gi') x), '')
    from (select regexp_replace(f.code, '((?<!\mfor\s+)\mupdate\M(?!'')(?:(?!\m(?:begin|then|else|loop)\M)[^;])*?)\mset\M', '\1', 'gi')) u (code)
    cross join lateral (select audit.code_of(f.code, false)) d (bare)
    offset 0) b (code, bare, sets)
  cross join lateral (
    select case when b.sets ~* '<set>\s+(session\s+)?app\s*\.\s*tenant_id\s*(=|to\M)'
             or b.sets ~* '<set>\s+(session\s+)?%(\d+\$)?[is]\s*(=|to\M)' and b.code ~* '(''|\$)app\.tenant_id(''|\$)'
             or exists (select from regexp_split_to_table(b.code, 'set_config\s*\(', 'i') with ordinality as c (call, n)
                        where c.n > 1 and split_part(c.call, ';', 1) ~* 'app\.tenant_id'
                          and regexp_replace(split_part(c.call, ';', 1), '\([^()]*\)', '', 'g') !~* ',\s*(is_local\s*(=>|:=)\s*)?(true|''(t|true|on|yes|y|1)'')\s*\)')
             then 'the function sets app.tenant_id for the session, and not for the transaction'
           when f.prorettype = 'trigger'::regtype and b.code ~* 'set_tenant|app\s*\.\s*tenant_id' and audit.enters_named_tenant(f.oid, b.code)
             then 'the function enters a tenant that the row names: whoever writes the row acts in that one'
           when f.prorettype = 'trigger'::regtype and (b.code ~* '\mset_config\s*\(\s*((new|old)\s*\.\s*\w+|\w+\s*\.\s*(key|name))\s*,' or b.code ~* '\mexecute\s+([^;]*\|\|\s*)?(new|old)\s*\.\s*\w')
             then 'the function sets, or executes, what the row names: whoever writes the row chooses the tenant, too'
           when f.prorettype = 'trigger'::regtype and w.way is not null
             then format('by way of %s the function enters a tenant that the row names: whoever writes the row acts in that one', w.way)
           when b.sets ~* '<set>\s+((session|local)\s+)?app\s*\.\s*maintenance' or b.code ~* 'set_config\s*\([^;]*app\.maintenance|(''|\$)app\.maintenance(''|\$).*\mset_config\s*\(\s*[[:alpha:]_]\w*\s*,' then 'the function sets app.maintenance, which opens every table to the owner'
           when b.code ~* '\mupdate\s+(pg_catalog\.)?pg_settings\M'
             or b.sets ~* '<(re)?set>\s+((session|local)\s+)?(role|session(\s+|_)authorization|row_security|session_replication_role)\M'
             or b.code ~* 'set_config\s*\(([^;,]*|[^;]*setting_name\s*(=>|:=)\s*)(''|\$)(role|session_authorization|row_security|session_replication_role)(''|\$)'
             then 'the function changes the role, or how policies and triggers apply to it'
           when f.provolatile = 'i' and (f.oid in (select oid from asking) or exists (
               -- Neither a comparison nor a part of a text is read from a table.
               select from (select regexp_replace(b.bare, '\mdistinct\s+from\M|\m(extract|trim|substring|overlay|position)\s*\([^()]*\mfrom\M', '', 'gi')) k (code)
               cross join lateral (
                 select regexp_matches(k.code, '\m(?:from|join|table)\s+(?:only\s+)?(?:(\w+)\s*\.\s*)?(\w+)', 'gi')
                 union all -- with its schema also in a list, in a text that is executed, and by its name
                 select regexp_matches(b.code, '(?:\m(?:from|join|table)\s|[,(])\s*(?:only\s+)?(\w+)\s*\.\s*(\w+)', 'gi')
                 union all
                 select regexp_matches(b.code, '\m(?:table|schema)_to_xml\w*\s*\(\s*e?''(\w+)\s*\.\s*(\w+)', 'gi')
                 union all
                 select regexp_matches(b.code, '''(\w+)\.(\w+)''\s*::\s*regclass', 'gi')) x (m)
               join tenants t on t.name = lower(m[2]) and t.schema = coalesce(lower(m[1]), t.schema)
               where m[1] is not null or k.code !~* format('\m%s\s*(\([^()]*\)\s*)?as\s+((not\s+)?materialized\s*)?\(', m[2]))) -- of a WITH
             then 'the function is IMMUTABLE and reads what differs from tenant to tenant: its answer is kept in plans, where the next request, of another tenant, finds it' end
    offset 0) s (fault)
  union all
  -- And what is no function, but calls these.
  select case when x.node ~ s.enter or x.code ~* 'set_config\(\s*[^\s'']|set_tenant\(|''"?(app"?\."?(tenant_id|maintenance)|role|session_authorization|row_security|session_replication_role)' then 'error' else 'warning' end,
    null, x.name, jsonb_build_object('object', pg_describe_object(x.classid, x.objid, 0)), 'it sets what is asked of the session: whoever uses it may be in another tenant, or role, afterwards', x.remedy
  from (
    select format(':(opfuncid|funcid|aggfnoid|winfnoid) (%s) ', string_agg(oid::text, '|')) as calls, format(':(opfuncid|funcid|aggfnoid|winfnoid) (%s) ', string_agg(oid::text, '|') filter (where enters)) as enter
    from (select oid, false as enters from pg_proc where oid in ('set_config(text,text,boolean)'::regprocedure, to_regprocedure('app.set_tenant(uuid)'))
          union all
          select oid, true from entering) c) s
  cross join lateral (
    select 'pg_attrdef'::regclass, d.oid, d.adrelid::regclass::text, d.adbin::text, pg_get_expr(d.adbin, d.adrelid), format('alter table %s alter column %I drop default;', d.adrelid::regclass, a.attname)
    from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum where d.adbin::text ~ s.calls
    union all
    select 'pg_constraint', k.oid, coalesce(nullif(k.conrelid, 0)::regclass::text, k.contypid::regtype::text), k.conbin::text, pg_get_constraintdef(k.oid),
      format('alter %s drop constraint %I;', coalesce('table ' || nullif(k.conrelid, 0)::regclass, 'domain ' || k.contypid::regtype), k.conname)
    from pg_constraint k where k.conbin::text ~ s.calls and k.coninhcount = 0
    union all
    select 'pg_type', t.oid, t.oid::regtype::text, t.typdefaultbin::text, pg_get_expr(t.typdefaultbin, 0), format('alter domain %s drop default;', t.oid::regtype) from pg_type t where t.typdefaultbin::text ~ s.calls
    union all
    select 'pg_rewrite', w.oid, w.ev_class::regclass::text, w.ev_action::text, pg_get_ruledef(w.oid),
      format(case when w.rulename <> '_RETURN' then 'drop rule %2$I on %1$s;' when c.relkind = 'm' then 'drop materialized view %1$s;' else 'drop view %1$s;' end, w.ev_class::regclass, w.rulename)
    from pg_rewrite w join pg_class c on c.oid = w.ev_class where w.oid >= 16384 and w.ev_action::text ~ s.calls
    union all
    select 'pg_cast', k.oid, format('cast (%s as %s)', k.castsource::regtype, k.casttarget::regtype), format(':funcid %s ', k.castfunc), k.castfunc::regprocedure::text, format('drop cast (%s as %s);', k.castsource::regtype, k.casttarget::regtype)
    from pg_cast k where format(':funcid %s ', k.castfunc) ~ s.calls
    union all
    select 'pg_trigger', t.oid, t.tgrelid::regclass::text, t.tgqual::text, pg_get_triggerdef(t.oid), format('drop trigger %I on %s;', t.tgname, t.tgrelid::regclass)
    from pg_trigger t where t.tgqual::text ~ s.calls and t.tgparentid = 0
    union all
    select 'pg_class', i.indexrelid, i.indrelid::regclass::text, concat(i.indexprs::text, i.indpred::text), pg_get_indexdef(i.indexrelid), format('drop index %s;', i.indexrelid::regclass)
    from pg_index i where concat(i.indexprs::text, i.indpred::text) ~ s.calls and not exists (select from pg_inherits where inhrelid = i.indexrelid)
    union all
    select 'pg_policy', p.oid, p.polrelid::regclass::text, concat(p.polqual::text, p.polwithcheck::text), concat(pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)),
      format('drop policy %I on %s;', p.polname, p.polrelid::regclass)
    from pg_policy p where concat(p.polqual::text, p.polwithcheck::text) ~ s.calls and p.polrelid not in (select relid from audit.relations()) -- of which policy_function tells
    union all
    select 'pg_proc', f.oid, f.oid::regprocedure::text, f.proargdefaults::text, pg_get_function_arguments(f.oid),
      format('select pg_get_functiondef(%L::regprocedure); -- and make it again without that default', f.oid::regprocedure)
    from pg_proc f where f.proargdefaults::text ~ s.calls and f.oid >= 16384) x (classid, objid, name, node, code, remedy)
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
      case when not p.prosecdef and (b.code ~* w.works -- n := count(*) from shop.orders
          or exists (
            select from audit.calls(array[p.oid]) x join pg_proc h on h.oid = x.callee and not h.prosecdef
            where h.oid::regprocedure::text not in (select name from audit.manifest()) and audit.code_of(coalesce(pg_get_function_sqlbody(h.oid), h.prosrc), false) ~* w.works))
        -- No key's action inserts, and few update.
        and (t.tgtype & 8 = 8 or t.tgtype & 16 = 16 and r.relid in (select relid from updated))
        then format('where a foreign key''s action fires the trigger, %s runs as %s %s', p.oid::regprocedure, c.relowner::regrole,
          case when t.tgtype & 2 = 2 then 'and past every policy: it reaches the rows of all tenants' else 'and, inside a tenant, sees no row: what it writes fails or changes nothing' end) end as fault
    from written r
    join pg_class c on c.oid = r.relid
    join pg_trigger t on t.tgrelid = r.relid and not t.tgisinternal and t.tgparentid = 0
    join pg_proc p on p.oid = t.tgfoid
    cross join (
      select '\m(select|table|insert|update|delete|merge|truncate|perform|execute|call)\M|(?<!\mdistinct\s+)\mfrom\s+(?!(new|old)\M)\w+\.\w') w (works)
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
  -- And what a key's action deletes one may keep.
  select 'warning', null, t.tgrelid::regclass::text, jsonb_build_object('trigger', t.tgname),
    case when audit.code_of(p.prosrc, false) ~* '\mreturn\s+null\M' and not exists (
        select from audit.accepted a where a.kind = 'function' and a.name = p.oid::regprocedure::text and a.body = audit.definition_hash(p.oid))
      then format('%s may keep rows that are deleted: they outlive their tenant', p.oid::regprocedure) end,
    format(E'-- look whether it returns null where a row is deleted, and let it return old; otherwise vouch for it:\nselect audit.accept(%L);', p.oid::regprocedure)
  from audit.relations() r
  join pg_trigger t on t.tgrelid = r.relid and not t.tgisinternal and t.tgparentid = 0 and t.tgtype & 11 = 11 -- before each row that is deleted
  join pg_proc p on p.oid = t.tgfoid and p.oid >= 16384
  join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
  union all
  -- So does what the row that it updates is made and tested with.
  select 'warning', null, u.relid::text, jsonb_build_object('uses', p.oid::regprocedure),
    case when not p.prosecdef and exists (
        select from audit.relations() r join pg_class c on c.oid = r.relid
        where audit.code_of(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), true) ~* format('\m%s\M', audit.pattern_of(c.relname)))
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
-- of a statement, nor those of a tenants' table that it reads, nor a variable that was made from them; nor by a function that tells what it is given.
create or replace function audit.check_trigger_notifies()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with shown as materialized (
    select relid from audit.shown_relations() s (relid)
  ), tellers as materialized (
    -- Where what is given is told.
    select f.oid, f.proname
    from pg_proc f join pg_language l on l.oid = f.prolang and l.lanname in ('sql', 'plpgsql')
    where f.oid >= 16384 and f.prorettype <> 'trigger'::regtype and f.pronargs > 0
      and case when f.prosqlbody is not null or f.prosrc ~* 'notify'
        then audit.code_of(coalesce(pg_get_function_sqlbody(f.oid), f.prosrc), true) ~* concat('\m(pg_)?notify\M[^;]*(\$\d', (
          select string_agg('|\m' || audit.pattern_of(a) || '\M', '') from unnest(f.proargnames) a where a <> ''), ')') end
  ), texts as materialized (
    select r.relid, lower(n.nspname) as schema, lower(c.relname) as name, string_agg(audit.pattern_of(lower(a.attname)), '|') as columns
    from shown r
    join pg_class c on c.oid = r.relid
    join pg_namespace n on n.oid = c.relnamespace
    join pg_attribute a on a.attrelid = r.relid and not a.attisdropped
    join pg_type y on y.oid = a.atttypid and (y.typcategory = 'S' or y.oid in ('json'::regtype, 'jsonb'::regtype)
      or y.typcategory = 'A' and exists (select from pg_type e where e.oid = y.typelem and (e.typcategory = 'S' or e.oid in ('json'::regtype, 'jsonb'::regtype))))
    where not exists (
      select from pg_constraint k
      where k.conrelid = r.relid and a.attnum = any (k.conkey) and (k.contype in ('p', 'f') or k.contype = 'c' and cardinality(k.conkey) = 1 and k.conbin::text like '%SCALARARRAYOPEXPR%'))
    group by r.relid, n.nspname, c.relname
  )
  select 'warning', null::uuid, r.relid::regclass::text, jsonb_build_object('trigger', t.tgname),
    case when p.proname = 'triggered_change_notification' and l.lanname = 'c' then 'NOTIFY tells whoever listens the keys of the rows, and so whose they are'
         when w.told then format('%s sends rows of the table, or texts of them, to whoever listens: NOTIFY knows no policy', p.oid::regprocedure) end,
    format(E'-- better send an id that means nothing to others, and read the row inside its tenant; until then:\ndrop trigger if exists %I on %s;', t.tgname, r.relid::regclass)
  from shown r
  join pg_trigger t on t.tgrelid = r.relid and not t.tgisinternal and t.tgparentid = 0
  join pg_proc p on p.oid = t.tgfoid
  join pg_language l on l.oid = p.prolang
  cross join lateral (
    select audit.code_of(c.body, true), d.code,
      -- The name of a table, and an alias's, is not its rows.
      regexp_replace(d.code, '\m(from|join)\s+(only\s+)?(\w+\s*\.\s*)?\w+\M(?!\s*\.)(\s+(as\s+)?(?!(where|join|on|order|group|limit|loop|cross|left|inner|for)\M)\w+)?', '', 'gi'),
      case when c.body is not null then (select '(?:new|old)\s*\.\s*(?:' || x.columns || ')' from texts x where x.relid = r.relid) end, g.names
    from (select string_agg(audit.pattern_of(h.proname), '|') from tellers h
          where p.prosrc ~* audit.pattern_of(h.proname) and h.oid in (select callee from audit.calls(array[p.oid]))) g (names)
    cross join lateral (select case when p.prosrc ~* 'notify' or g.names is not null then p.prosrc end) c (body)
    cross join lateral (select audit.code_of(c.body, false)) d (code)
    offset 0) b (code, whole, bare, texts, names)
  cross join lateral (
    with recursive read (alias, columns) as (
      select coalesce(case when m[3] !~* '^(where|join|on|order|group|limit|loop|cross|left|inner|for)$' then m[3] end, m[2]), x.columns
      from regexp_matches(lower(b.whole), '\m(?:from|join)\s+(?:only\s+)?(?:(\w+)\s*\.\s*)?(\w+)\M(?!\s*\.)(?:\s+(?:as\s+)?(\w+))?', 'g') m
      join texts x on x.name = m[2] and x.schema = coalesce(m[1], x.schema)
    ), assigned (variable, value) as (
      select m[1], m[2]
      from regexp_matches(b.bare, '(?:^|;|\m(?:declare|begin|then|else|loop))\s*(?!(?:declare|begin|then|else|loop|if|elsif|case|when|while|return|perform|select|update)\M)(\w+)(?:\s+\w+)?\s*:?=([^;]*)', 'gi') m
      union all
      select m[2], m[1] from regexp_matches(b.bare, '\mselect\M([^;]*)\minto\s+(?:strict\s+)?(\w+)', 'gi') m
      union all
      select m[1], m[2] from regexp_matches(b.whole, '\mfor\s+(\w+)\s+in\s+(?:select\s+\*\s+from|table)\s+(?:\w+\s*\.\s*)?(\w+)', 'gi') m
    ), whole (name) as (
      select x collate "C" from unnest(array['(?:new|old)', b.texts, audit.pattern_of(lower(t.tgoldtable)), audit.pattern_of(lower(t.tgnewtable))]) x where x is not null
      union
      select x collate "C" from read cross join lateral (values (alias), (format('%s\s*\.\s*(?:%s)', alias, columns))) v (x)
      union
      -- A row of what is read, by its columns.
      select format('%s\s*\.\s*(?:%s)', m[1], x.columns)
      from regexp_matches(lower(b.whole), '\mfor\s+(\w+)\s+in\s+(select\M[^;]*?)\mloop\M', 'g') m
      join texts x on x.relid = r.relid or m[2] ~ format('\m%s\M', audit.pattern_of(x.name))
      union
      select lower(a.variable) from whole w join assigned a on a.value ~* format('\m%s\M(?!\s*\.\s*["\w])', w.name)
    ), sent (what) as (
      -- Behind the call's own parenthesis a condition sends nothing.
      select case when length(replace(w.head, '(', '')) = length(replace(w.head, ')', '')) + 1 then w.head else m[2] end
      from regexp_matches(b.bare, concat('\m(pg_notify', '|' || b.names, ')\s*\(([^;]*)'), 'gi') m
      cross join lateral (select regexp_replace(m[2], '\mwhere\M.*', '', 'i')) w (head)
      union all
      select m[1] from regexp_matches(b.code, '\mexecute\M([^;]*\m(?:pg_)?notify\M[^;]*)', 'gi') m
    )
    select exists (select from whole w join sent s on s.what ~* format('\m%s\M(?!\s*\.\s*["\w])', w.name))) w (told)
  union all
  -- And what is no trigger, but tells.
  select 'warning', null, x.relid::text, jsonb_build_object('object', pg_describe_object(x.classid, x.objid, 0)), 'it sends what is written to whoever listens: NOTIFY knows no policy', x.remedy
  from (select format(':(opfuncid|funcid) (%s) ', string_agg(f::text, '|')) from (select oid from tellers union select 'pg_notify(text,text)'::regprocedure) t (f)) s (calls)
  cross join lateral (
    select 'pg_constraint'::regclass, k.oid, k.conrelid::regclass, format('alter table %s drop constraint %I;', k.conrelid::regclass, k.conname)
    from pg_constraint k where k.conrelid in (select relid from audit.relations()) and k.conbin::text ~ s.calls and k.coninhcount = 0
    union all
    select 'pg_trigger', t.oid, t.tgrelid::regclass, format('drop trigger %I on %s;', t.tgname, t.tgrelid::regclass)
    from pg_trigger t where t.tgrelid in (select relid from audit.relations()) and t.tgqual::text ~ s.calls and t.tgparentid = 0) x (classid, objid, relid, remedy)
$$;
--! EndIncluded audit/checks/bodies.sql
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
    case when k.oid is null and w.isolated then concat(o.off || E';\n', '-- app.isolate(), above, adds it')
         when k.oid is null then concat(coalesce(o.off || case when app.is_distributed() then format('; alter table %s ', r.relid) else ', ' end, format('alter table %s ', r.relid)),
           'add foreign key (tenant_id) references app.tenants (id) on delete cascade;')
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
  -- Those that do less; and whether another remedy isolates the table.
  left join lateral (
    select format('alter table %s %s', r.relid, string_agg(format('drop constraint %I', x.conname), case when app.is_distributed() then format('; alter table %s ', r.relid) else ', ' end order by x.oid)) as off
    from pg_constraint x
    where k.oid is null and x.conrelid = r.relid and x.contype = 'f' and x.conparentid = 0 and x.confrelid = to_regclass('app.tenants')
      and x.conkey = array(select attnum from pg_attribute where attrelid = r.relid and attname = 'tenant_id')
    having count(*) > 0) o on true
  left join lateral (
    select not c.relrowsecurity or exists (select from app.table_faults(r.relid)) as isolated from pg_namespace n where n.oid = c.relnamespace and n.nspname <> 'control' and k.oid is null) w on true
$$;

create or replace function audit.check_foreign_key_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- Each table's name is made once: in a subquery it would be for every column.
  with recursive named as materialized (
    select r.relid, c.relnamespace, lower(replace(c.relname, '_', '')) as name, a.attname as key, t.typcategory
    from audit.relations() r
    join pg_class c on c.oid = r.relid
    join pg_index i on i.indrelid = r.relid and i.indisprimary and i.indnkeyatts = 2
    join pg_attribute a on a.attrelid = r.relid and a.attnum = i.indkey[1]
    join pg_type t on t.oid = a.atttypid
    where not r.is_child and r.tenant_column = 'tenant_id'
  ), unbound as (
    select r.relid, r.tenant_column, c.relnamespace, c.relname like '\_%' and a.attname in ('A', 'B') as of_two, a.attname, a.attnum, a.atttypid, t.typcategory,
      lower(replace(regexp_replace(a.attname, '(_id|Id|ID|_uuid|Uuid)$', ''), '_', '')) as stem
    from audit.relations() r
    join pg_class c on c.oid = r.relid
    join pg_attribute a on a.attrelid = r.relid and a.attname <> r.tenant_column and a.attinhcount = 0
      and (a.attname ~ '(_id|[a-z0-9](Id|ID))$' or a.atttypid = 'uuid'::regtype or c.relname like '\_%' and a.attname in ('A', 'B')) -- as Prisma names those of many-to-many
    join pg_type t on t.oid = a.atttypid
    where not c.relispartition
      and not exists (select from audit.expected_references() e where to_regclass(e.child) = r.relid and e.child_column = a.attname)
  ), meant as (
    select distinct on (a.relid, a.attnum) a.relid as child, a.attnum, k.relid, k.key
    from unbound a
    cross join lateral unnest(array[a.stem, a.stem || 's', a.stem || 'es', regexp_replace(a.stem, 'y$', 'ies')]) n (name)
    join named k on k.name = n.name and k.typcategory = a.typcategory
    order by a.relid, a.attnum, k.relnamespace <> a.relnamespace, k.relid::text
  ), refs as materialized (
    select * from audit.tenant_references()
  ), branches (relid, ancestor, is_partition) as (
    select h.inhrelid, h.inhparent, c.relispartition
    from pg_inherits h join pg_class c on c.oid = h.inhrelid and c.relkind in ('r', 'p')
    where h.inhparent in (select relid from audit.relations())
    union
    select b.relid, h.inhparent, b.is_partition from branches b join pg_inherits h on h.inhrelid = b.ancestor
  )
  select case when r.constraint_name is null then 'error' else 'warning' end, null::uuid, r.child::text, jsonb_build_object('columns', to_jsonb(r.child_columns)),
    case when r.constraint_name is null then format('no foreign key (tenant_id, %s) refers to %s: a row may point into another tenant', array_to_string(r.child_columns, ', '), r.parent)
         when e.cascades and c.confdeltype <> 'c' then format('the foreign key %I has lost its ON DELETE CASCADE: what should go with a row keeps it from being deleted', r.constraint_name)
         when not e.cascades and c.confdeltype = 'c' then format('the foreign key %I has an ON DELETE CASCADE: what should keep a row from being deleted goes with it', r.constraint_name) end,
    format('alter table %s %sadd constraint %I foreign key (tenant_id, %s) references %s (tenant_id, %s)%s;', r.child,
      -- The name may be another constraint's. Citus takes one action at a time.
      (select string_agg(format('drop constraint if exists %I', n) || case when app.is_distributed() then format('; alter table %s ', r.child) else ', ' end, '')
       from (select r.constraint_name union select e.constraint_name) x (n) where n is not null),
      coalesce(e.constraint_name, r.constraint_name), array_to_string(r.child_columns, ', '), r.parent, array_to_string(r.parent_columns, ', '),
      case when e.cascades then ' on delete cascade' end)
  from refs r
  left join audit.expected_references() e on to_regclass(e.child) = r.child and to_regclass(e.parent) = r.parent and array[e.child_column] = r.child_columns
  left join pg_constraint c on c.conrelid = r.child and c.conname = r.constraint_name
  union all
  -- A child by INHERITS has its parent's columns, and none of its keys.
  select 'error', null, b.relid::regclass::text, jsonb_build_object('columns', to_jsonb(r.child_columns)),
    case when not exists (select from refs o where o.child = b.relid and (o.parent, o.child_columns, o.parent_columns) = (r.parent, r.child_columns, r.parent_columns))
      then format('the foreign key %I of %s does not hold the rows of its child: they may point into another tenant', c.conname, r.child) end,
    format('alter table %s add %s;', b.relid::regclass, pg_get_constraintdef(c.oid))
  from branches b
  join refs r on r.child = b.ancestor
  join pg_constraint c on c.conrelid = r.child and c.conname = r.constraint_name
  where not b.is_partition
  union all
  -- Which partition a row goes to, whoever writes it says.
  select 'warning', null, r.child::text, jsonb_build_object('columns', to_jsonb(r.child_columns)),
    case when not exists (
        select from branches b join refs o on o.child = b.ancestor
        where b.relid = r.child and (o.parent, o.child_columns, o.parent_columns) = (r.parent, r.child_columns, r.parent_columns))
      and exists (
        select from pg_inherits s
        where s.inhparent = h.inhparent
          and not exists (select from refs o where o.child = s.inhrelid and (o.parent, o.child_columns, o.parent_columns) = (r.parent, r.child_columns, r.parent_columns)))
      then format('the foreign key %I holds the rows of this partition, and not those of another: they may point into another tenant', c.conname) end,
    format('alter table %s add %s;', h.inhparent::regclass, pg_get_constraintdef(c.oid))
  from refs r
  join pg_constraint c on c.conrelid = r.child and c.conname = r.constraint_name
  join pg_class p on p.oid = r.child and p.relispartition
  join pg_inherits h on h.inhrelid = r.child
  union all
  -- Anybody's table: a column that looks like a reference and is bound by nothing. Of a uuid its name's end says so; a number or a text
  -- belongs to another system as often, unless the rest of its name is that of a table with such a key.
  select 'warning', null, a.relid::text, jsonb_build_object('columns', jsonb_build_array(a.attname)),
    case when not exists (select from pg_constraint c where c.conrelid = a.relid and c.contype = 'f' and a.attnum = any (c.conkey))
         then format('%I looks like a reference%s, and no foreign key holds it to its tenant', a.attname, ' to ' || p.relid) end,
    concat(format('alter table %s add foreign key (%I, %I) references %s;', a.relid, a.tenant_column, a.attname, case when p.relid is null then '… (tenant_id, id)' else format('%s (tenant_id, %I)', p.relid, p.key) end),
      -- Of which index_missing would tell next.
      (select format(E'\ncreate index %son %s (%I, %I);', case when c.relkind = 'p' then '' else 'concurrently ' end, a.relid, a.tenant_column, a.attname)
       from pg_class c join pg_attribute t on t.attrelid = c.oid and t.attname = a.tenant_column
       where c.oid = a.relid and not exists (
         select from pg_index i where i.indrelid = c.oid and i.indisvalid and i.indpred is null and i.indnkeyatts > 1 and (i.indkey::int2[])[0:1] @> array[t.attnum, a.attnum])))
  from unbound a
  left join meant p on p.child = a.relid and p.attnum = a.attnum
  where (a.atttypid = 'uuid'::regtype and a.attname ~ '(_id|_by|[a-z0-9](Id|ID|By))$' and a.tenant_column = 'tenant_id' or a.of_two or p.relid is not null)
    and (p.relid = a.relid and p.key = a.attname) is not true -- its own key
    -- Beside commentable_id stands commentable_type, which says the table: no key can hold that.
    and not (p.relid is null and exists (
      select from pg_attribute t where t.attrelid = a.relid and not t.attisdropped and lower(replace(t.attname, '_', '')) = a.stem || 'type'))
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
  from (
    select relid::oid from audit.relations()
    union
    select oid from pg_class where relnamespace in (to_regnamespace('control'), to_regnamespace('audit')) and relkind in ('r', 'p')) r
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
      where i.indrelid = c.conrelid and i.indisvalid and i.indnkeyatts >= cardinality(w.columns)
        -- Of rows that refer to nothing nobody asks.
        and (i.indpred is null or pg_get_expr(i.indpred, i.indrelid) in (
          select format('(%I IS NOT NULL)', a.attname) from pg_attribute a where a.attrelid = c.conrelid and a.attnum = any (c.conkey)))
        and ((i.indkey::int2[])[0:cardinality(w.columns) - 1] @> w.columns
          -- One that is unique will begin with tenant_id, too.
          or i.indisunique and w.tenant = w.columns[1] and (w.tenant || array_remove((i.indkey::int2[])[0:i.indnkeyatts - 1], w.tenant))[1:cardinality(w.columns)] @> w.columns))
      -- A part of them that is unique finds one row.
      and not exists (
        select from pg_index i
        where i.indrelid = c.conrelid and i.indisvalid and i.indisunique and i.indpred is null and (i.indkey::int2[])[0:i.indnkeyatts - 1] <@ c.conkey)
      then format('no index leads with the columns of the foreign key %I: deletes and look-ups read other tenants'' rows, and their time tells', c.conname) end,
    format('create index %son %s (%s);', case when p.relkind = 'p' then '' else 'concurrently ' end, c.conrelid::regclass,
      (select string_agg(quote_ident(a.attname), ', ' order by k.n) from unnest(w.columns) with ordinality as k (attnum, n)
       join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum))
  from pg_constraint c join audit.relations() r on r.relid = c.conrelid and not r.is_child
  join pg_class p on p.oid = c.conrelid
  -- As the key is when table_rules is done with it.
  cross join lateral (
    select t.tenant, case when r.tenant_column = 'tenant_id' and c.confrelid <> 'app.tenants'::regclass then t.tenant || array_remove(c.conkey, t.tenant) else c.conkey end as columns
    from (select attnum as tenant from pg_attribute where attrelid = c.conrelid and attname = 'tenant_id') t
    union all
    select null, c.conkey where r.tenant_column <> 'tenant_id') w
  -- Of what all tenants share no request deletes anything.
  -- A key to a partitioned table has a copy for each of its partitions.
  where c.contype = 'f' and c.conparentid = 0 and c.confrelid in (select t.relid from audit.relations() t)
$$;

-- Uniqueness that the service relies on. Like the references, known by heart: an INSERT names some of these constraints, so
-- an index that does the same is not enough; nor is a constraint that may wait, which no ON CONFLICT takes. Where an index is
-- wanted, one of all rows will do.
create or replace function audit.check_unique_key_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with keys as (
    select k.*, to_regclass(k.relation) as relid, array_to_string(k.columns, ', ') as list, case when k.name like '%\_pkey' then 'primary key' else 'unique' end as kind
    from (values
      ('app.tenants', 'tenants_pkey', array['id']),
      ('app.users', 'users_pkey', array['tenant_id', 'id']),
      ('app.users', 'users_tenant_identity_key', array['tenant_id', 'auth_provider', 'auth_subject']),
      ('app.boards', 'boards_pkey', array['tenant_id', 'id']),
      ('app.board_members', 'board_members_pkey', array['tenant_id', 'board_id', 'user_id']),
      ('app.generations', 'generations_pkey', array['tenant_id', 'id']), ('app.media', 'media_pkey', array['tenant_id', 'id']),
      ('app.provider_configs', 'provider_configs_pkey', array['tenant_id', 'id']),
      ('app.provider_configs', 'provider_configs_name_key', array['tenant_id', 'provider_name']),
      ('app.credit_transactions', 'credit_transactions_pkey', array['tenant_id', 'id'])
    ) as k (relation, name, columns)
  ), unique_indexes as (
    select i.indrelid as relid, n.relname as name, pg_get_expr(i.indpred, i.indrelid) as predicate, 0 = all (i.indoption) as ascending, c.conname, c.contype,
      array(select a.attname::text from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) with ordinality as k (attnum, n)
            join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum order by k.n) as columns
    from pg_index i
    join pg_class n on n.oid = i.indexrelid
    left join pg_constraint c on c.conrelid = i.indrelid and c.conindid = i.indexrelid and c.contype in ('p', 'u') -- of the table: there is an index of these
    where i.indrelid in (select relid from keys) and i.indisunique and i.indisvalid and i.indimmediate and i.indexprs is null
  )
  select 'error', null::uuid, k.relation, jsonb_build_object('columns', to_jsonb(k.columns)),
    -- Of a table that is not there another check tells.
    case when k.relid is not null and not exists (select from unique_indexes u where u.relid = k.relid and u.columns = k.columns and u.conname = k.name)
      then format('no constraint %s keeps (%s) unique', k.name, k.list) end,
    -- The name may be taken: by another constraint, by an index that is none, or by one that only wants to become one.
    case
      -- What refers to it comes off meanwhile.
      when exists (
        select from pg_constraint f join pg_index x on x.indexrelid = f.conindid join pg_attribute a on a.attrelid = x.indrelid and a.attname = 'tenant_id' and x.indkey[0] <> a.attnum
        where f.contype = 'f' and f.conindid = c.conindid) then '-- as table_rules says'
      when c.oid is not null
        then format('alter table %s drop constraint %I%sadd constraint %I %s (%s);', k.relation, k.name,
          case when app.is_distributed() then format('; alter table %s ', k.relation) else ', ' end, k.name, k.kind, k.list)
      when o.name is not null then format('alter table %s rename constraint %I to %I;', k.relation, o.name, k.name)
      when not app.is_distributed() and exists (
        select from unique_indexes u where u.relid = k.relid and u.columns = k.columns and u.name = k.name and u.predicate is null and u.ascending)
        then format('alter table %s add constraint %I %s using index %I;', k.relation, k.name, k.kind, k.name)
      else coalesce('drop index ' || i.indexrelid::regclass || '; ', '') || format('alter table %s add constraint %I %s (%s);', k.relation, k.name, k.kind, k.list) end
  from keys k
  left join pg_constraint c on c.conrelid = k.relid and c.conname = k.name
  left join (pg_index i join pg_class n on n.oid = i.indexrelid) on i.indrelid = k.relid and n.relname = k.name
  -- One of its kind that has another name.
  cross join lateral (
    select min(u.conname) from unique_indexes u where u.relid = k.relid and u.columns = k.columns and u.contype = left(k.kind, 1)::"char") o (name)
  union all
  -- Indexes: one whose name a conflict is told by, and one of any name.
  select 'error', null, x.relation, jsonb_build_object('columns', jsonb_build_array(x.column_name)),
    case when not exists (
      select from unique_indexes u
      where u.relid = to_regclass(x.relation) and u.columns = array[x.column_name]
        and case when x.name is null then u.predicate = x.predicate else u.name = x.name and coalesce(u.predicate, x.predicate) = x.predicate end)
      then format('%s keeps (%s) unique where %s', coalesce('no index ' || x.name, 'nothing'), x.column_name, x.predicate) end,
    coalesce('alter table ' || x.relation || ' drop constraint ' || c.conname || '; ', 'drop index ' || i.indexrelid::regclass || '; ', '')
      || format('create unique index %son %s (%s) where %s;', x.name || ' ', x.relation, x.column_name, x.predicate)
  from (values
    ('app.tenants', 'tenants_slug_key', 'slug', '(slug IS NOT NULL)'), ('app.tenants', null, 'is_default', 'is_default')
  ) as x (relation, name, column_name, predicate)
  left join pg_constraint c on c.conrelid = to_regclass(x.relation) and c.conname = x.name
  left join (pg_index i join pg_class n on n.oid = i.indexrelid) on i.indrelid = to_regclass(x.relation) and n.relname = x.name
$$;
--! EndIncluded audit/checks/keys.sql
--! Included audit/checks/tables.sql
create or replace function audit.check_table_rules()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb, f.fault, f.remedy
  from audit.relations() r
  left join audit.table_remedies() f on f.relid = r.relid
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
  -- Who may connect reads the catalog. A table of ranges or lists is one finding, whatever it has of partitions.
  select 'info', null, r.relid::text, case when t.what is null then '{}' else jsonb_build_object('object', t.what) end,
    case when t.what is not null then format('%s names a tenant by its id: whoever may connect reads in the catalog that there is such a tenant, and how many rows it has there', t.what) end,
    t.mend
  from audit.relations() r
  left join lateral (
    select format('the partition %s', min(c.oid::regclass::text)) as what, '-- where that is no secret, nothing. Else: partitions by hash (tenant_id) name nobody' as mend
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = r.relid and pg_get_partkeydef(r.relid) = 'LIST (tenant_id)' and pg_get_expr(c.relpartbound, c.oid) ~* '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'
    having count(*) > 0
    union all
    select format('the index %s', i.indexrelid::regclass), format('drop index %s; -- and make it again for all tenants', i.indexrelid::regclass)
    from pg_index i
    where i.indrelid = r.relid and pg_get_expr(i.indpred, i.indrelid) ~* '\mtenant_id (=|<>) [^)]*''[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}' and not exists (select from pg_inherits where inhrelid = i.indexrelid)
    union all
    select format('the constraint %I', k.conname), format('alter table %s drop constraint %I; -- and let a function or a column say what it means', r.relid, k.conname)
    from pg_constraint k
    where k.conrelid = r.relid and k.contype = 'c' and k.coninhcount = 0 and pg_get_constraintdef(k.oid) ~* '\mtenant_id (=|<>) [^)]*''[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}') t on true
  union all
  -- What one tenant's row says of another, or of another's rows, a key does or forbids to that one.
  select case when k.confdeltype = 'c' or not w.paired then 'error' else 'warning' end, null, 'app.tenants', case when k.oid is null then '{}' else jsonb_build_object('constraint', k.conname) end,
    case when k.confrelid <> t.oid and k.confdeltype = 'c' then format('the foreign key %I deletes tenants, and all that they have, with a row of %s', k.conname, k.confrelid::regclass)
         when k.confrelid <> t.oid and not w.paired then format('the foreign key %I does not pair id with tenant_id, so a tenant could point into another', k.conname)
         when k.confrelid = t.oid and k.confdeltype = 'c' then format('the foreign key %I deletes a tenant, and all that it has, together with another', k.conname)
         when k.confrelid = t.oid and (k.confdeltype <> 'n' or w.required <> '') then format('the foreign key %I keeps a tenant from being deleted while another names it', k.conname) end,
    case when k.oid is null then null
         when k.confrelid not in (select relid from audit.relations())
           then format('alter table app.tenants drop constraint %1$I, add constraint %1$I foreign key (%2$s) references %4$s (%3$s);', k.conname, w.child, w.parent, k.confrelid::regclass)
         when k.confrelid = t.oid then format('alter table app.tenants %4$sdrop constraint %1$I, add constraint %1$I foreign key (%2$s) references app.tenants (%3$s) on delete set null (%2$s)%5$s;', k.conname, w.child, w.parent, w.required,
           case when k.condeferred then ' deferrable initially deferred' when k.condeferrable then ' deferrable' end)
         else format('alter table app.tenants drop constraint %I; -- and add it again as: foreign key (id, …) references %s (tenant_id, …)', k.conname, k.confrelid::regclass) end
  from pg_class t
  left join pg_constraint k on k.conrelid = t.oid and k.contype = 'f' and k.conparentid = 0 and (k.confdeltype = 'c' or k.confrelid in (select relid from audit.relations()))
  left join lateral (
    select k.confrelid = t.oid or bool_or(a.attname = 'id' and b.attname = 'tenant_id') as paired, string_agg(quote_ident(a.attname), ', ' order by u.n) as child, string_agg(quote_ident(b.attname), ', ' order by u.n) as parent,
      coalesce(string_agg(format('alter column %I drop not null, ', a.attname), '' order by u.n) filter (where a.attnotnull), '') as required
    from unnest(k.conkey, k.confkey) with ordinality as u (child, parent, n)
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = u.child
    join pg_attribute b on b.attrelid = k.confrelid and b.attnum = u.parent) w on true
  where t.oid = to_regclass('app.tenants')
  union all
  -- Of the tenants themselves every key is over all of them.
  select 'warning', null, 'app.tenants', jsonb_build_object('index', i.indexrelid::regclass::text),
    case when i.indkey[0] <> all (array(select attnum from pg_attribute where attrelid = i.indrelid and attname in ('id', 'slug', 'is_default')))
      then format('the unique index %s is over all tenants: who may change one learns what others have', i.indexrelid::regclass) end,
    coalesce((select format('alter table app.tenants drop constraint %I;', k.conname) from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x')), format('drop index %s;', i.indexrelid::regclass))
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
    case when a.attname is null then '-- restore it from a backup, or run the migrations: npm run migrate'
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
    case when o.name is not null then format('alter table %1$s rename column %2$I to tenant_id;%3$s', c.oid::regclass, o.name,
      case when exists (select from app.table_faults(c.oid, o.name)) then ' -- and then what table_rules says of it, by then'
        else format(E'\nselect app.isolate(%L);', c.oid::regclass) end)
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
  with lent as materialized (
    select * from audit.lent_relations()
  )
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
  union all
  -- A view, a default, a policy: an owner has them call what it likes, with the rights of who reads or writes.
  select case when l.kind = 'v' then 'error' else 'warning' end, null, l.relid::text, '{}',
    case when audit.is_stranger(l.owner) then format('%s is used by requests and owned by %s: what it has them call there runs with their rights, whatever their tenant', l.relid, l.owner::regrole) end,
    format('alter %1$s %2$s owner to tms_owner; -- as its owner, or as a superuser, who gives that one what it needs of it. Or: revoke all on table %2$s from tms_app, tms_registrar, tms_service;',
      case l.kind when 'v' then 'view' when 'm' then 'materialized view' when 'f' then 'foreign table' else 'table' end, l.relid)
  from lent l
  union all
  select 'error', null, l.relid::text, jsonb_build_object('role', a.grantee::regrole, 'privilege', 'TRIGGER'),
    case when audit.is_stranger(a.grantee) then format('requests use %s, and %s has TRIGGER on it: what it has the table call there runs with their rights, whatever their tenant', l.relid, a.grantee::regrole) end,
    format('revoke trigger on table %s from %s;', l.relid, a.grantee::regrole)
  from lent l join pg_class c on c.oid = l.relid
  cross join lateral aclexplode(c.relacl) a
  where a.privilege_type = 'TRIGGER' and a.grantee <> l.owner
  union all
  select 'warning', null, quote_ident(n.nspname), jsonb_build_object('schema', n.nspname),
    case when audit.is_stranger(n.nspowner) then format('the schema %I holds tenants'' tables, or functions of the service''s roles, and is owned by %s: it may drop each of them', n.nspname, n.nspowner::regrole) end,
    format('alter schema %I owner to tms_owner;', n.nspname)
  from pg_namespace n
  where n.nspname not in ('app', 'api', 'control', 'audit', 'graphile_migrate')
    and (exists (select from pg_class c where c.relnamespace = n.oid and c.oid in (select relid from audit.relations()))
      or exists (select from pg_proc f where f.pronamespace = n.oid and f.proowner::regrole::text = any (audit.our_roles())))
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
  ), filling as materialized (
    select m.oid as view, d.refobjid as oid
    from pg_class m
    join pg_rewrite w on w.ev_class = m.oid
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_proc'::regclass and d.refobjid >= 16384
    where m.relkind = 'm'
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
  -- What a function reads the view does not depend on.
  select 'warning', null, f.view::regclass::text, '{}', format('the materialized view is filled by %s, which reads tenants'' rows, and no policy applies to it', min(p.oid::regprocedure::text)),
    format('drop materialized view %s;', f.view::regclass)
  from filling f
  join pg_proc p on p.oid = f.oid
  where f.view not in (select oid from reading) and exists (
    select from audit.relations() r join pg_class t on t.oid = r.relid join pg_namespace n on n.oid = t.relnamespace
    where audit.code_of(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), true)
      ~* format('\m(from|join|table)\s+(only\s+)?(%s\s*\.\s*)?%s\M', audit.pattern_of(n.nspname), audit.pattern_of(t.relname)))
  group by f.view
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
    case when p.pubname is not null then format('the publication %I sends %s to its subscribers: replication knows no policy', p.pubname,
      case when r.own then 'the service''s bookkeeping of all tenants' else 'every tenant''s rows' end) end,
    case when p.whole and lag(r.relid) over (partition by p.mend order by r.relid::text) is not null then '-- as above'
         else E'-- for a replica of the whole service this is right; else:\n' || p.mend end
  from (
    select relid, false as own from audit.relations()
    union all
    select oid::regclass, true from pg_class where relnamespace in (to_regnamespace('control'), to_regnamespace('audit')) and relkind in ('r', 'p')) r
  left join lateral (
    select p.pubname, format('drop publication %I; -- and make one that lists what may leave', p.pubname) as mend, true as whole from pg_publication p where p.puballtables and not r.own
    union all
    select p.pubname, format('alter publication %I drop table %s;', p.pubname, r.relid), false
    from pg_publication p join pg_publication_rel x on x.prpubid = p.oid and x.prrelid = r.relid
    union all
    select p.pubname, format('alter publication %I drop tables in schema %I;', p.pubname, n.nspname), true
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
    ('function', 'app.adopt(regclass)', 'tms_owner', '', '76f6894c8e3321fd19eca1dd06bca886'),
    ('function', 'app.await_writers(uuid,boolean)', 'tms_registrar', '', '316ea0f7df30955e5eada3a31284089b'),
    ('function', 'app.board_json(app.boards)', 'tms_owner', 'tms_app', 'b2ff17214266ed6c2d039748d90c97f3'),
    ('function', 'app.count_tenants(text)', 'tms_registrar', 'tms_auditor', '7cfb08cf11a11e9278bd0f55d33c1d5d'),
    ('function', 'app.count_tenants_like(text,text)', 'tms_registrar', '', 'd5fd689fd694ae35e0b4513652271182'),
    ('function', 'app.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', '8297e332eda8e3937d95b839446598d2'),
    ('function', 'app.cursor_of(timestamp with time zone,uuid)', 'tms_owner', 'tms_app tms_registrar', '860fabd228104008346a85a66c10fdc1'),
    ('function', 'app.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '67ed87e44a0e6241901815fe9c9a643f'),
    ('function', 'app.enter_default(text,text,text,text)', 'tms_registrar', '', 'e53d9fd4554d7ce74d399f874e5a53bc'),
    ('function', 'app.enter_lobby(text,text,text,text,text)', 'tms_registrar', '', '3bf828d30b17036231b66576e4484145'),
    ('function', 'app.enter_tenant(text,text,text,text,text)', 'tms_registrar', 'tms_app', 'bea83e40326931df9373368591bf28db'),
    ('function', 'app.etag(json)', 'tms_owner', 'tms_registrar', '8eb737e517796d6ce22928eb56414403'),
    ('function', 'app.fence_tenant(uuid)', 'tms_registrar', '', '3c0c05974051ce6ae813a5bca59726a4'),
    ('function', 'app.find_tenant(text,boolean)', 'tms_registrar', '', '919d46d05c3100ad0844ff3c5537542e'),
    ('function', 'app.find_tenant_to_change(text,text[])', 'tms_registrar', '', '7aa14f5731ecf3087f267e36070cd316'),
    ('function', 'app.insert_tenant(text,text,text,text,jsonb)', 'tms_registrar', '', '6549153521fb5ffc0a229706918f8cc3'),
    ('function', 'app.is_behind(text)', 'tms_owner', 'tms_registrar', '0c61b8391d6ee19f76981d39a8d2327d'),
    ('function', 'app.is_distributed()', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'd512d0d1fdbd05e2ff6889bcc0192c54'),
    ('function', 'app.iso_time(timestamp with time zone)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'fd59885aa9770697873dee4f51a131e7'),
    ('function', 'app.isolate(regclass,boolean)', 'tms_owner', '', '7ae28a9eafd4640832b268c160240b81'),
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
    ('function', 'app.set_actor(text,text)', 'tms_owner', 'tms_registrar', '7c1008a409b4af52f96e95baaa20f77f'),
    ('function', 'app.set_tenant(uuid)', 'tms_owner', 'tms_app tms_auditor tms_registrar', '5bd687a778e41bab3fe0cc75b0c20b2b'),
    ('function', 'app.shown_rows(uuid,integer)', 'tms_app', 'tms_auditor', 'a68c33344e0604f89c0d58c27c1d6740'),
    ('function', 'app.table_faults(regclass,name)', 'tms_owner', 'tms_auditor', '3d9ba3ee5ea2e2da36718ba8e30863d6'),
    ('function', 'app.tenant_id()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '9ca56ffeefeb0f10be11edde77d2f7dd'),
    ('function', 'app.tenant_json(app.tenants)', 'tms_owner', 'tms_app tms_registrar', '8faf545777e3b615ad9a588fe6b965a2'),
    ('function', 'app.tenant_page(integer,timestamp with time zone,uuid,text,text)', 'tms_registrar', '', '575d522375a1ff1ca17600e75e0e0e46'),
    ('function', 'app.tenant_tables()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '50a59e972960913f3b64685f6766e58e'),
    ('function', 'app.unprotected_tables()', 'tms_owner', 'tms_auditor tms_registrar', '14e044b563ed8359b27cc4f275c09273'),
    ('function', 'app.write_policies(regclass,name)', 'tms_owner', '', '16bf88379de7de608f081636ff88db64'),
    ('function', 'audit.accept(text)', 'tms_owner', 'tms_auditor', 'a131f7ffd9b349922fbb3b68f5036bd7'),
    ('function', 'audit.attempt(text,uuid,integer,text[])', 'tms_owner', 'tms_auditor', '28bd148885a1ddb1cf53272271e37e84'),
    ('function', 'audit.bound(regclass)', 'tms_owner', 'tms_auditor', '52535e0880148a554d3369e97f251356'),
    ('function', 'audit.by_acceptance(text,name,text)', 'tms_owner', 'tms_auditor', '5826636805fef7739d6dad7a137f91e0'),
    ('function', 'audit.by_giving_back(text,name)', 'tms_owner', 'tms_auditor', 'a17921e6df3e50e565d7c9402178ab65'),
    ('function', 'audit.by_moving(oid)', 'tms_owner', 'tms_auditor', 'ab75ac7ffd423e2577b0c5f358611d14'),
    ('function', 'audit.by_owner(name,text)', 'tms_owner', 'tms_auditor', 'bfdcc3e09cefe576bc101917f1537f73'),
    ('function', 'audit.calls(oid[])', 'tms_owner', 'tms_auditor', '506577231e438e942cd39073b1932415'),
    ('function', 'audit.check_app_reach()', 'tms_owner', 'tms_auditor', '46ffd4a6f49e001e7e8ce1dff7b07958'),
    ('function', 'audit.check_audit_filtered()', 'tms_owner', 'tms_auditor', '21e137c95695a27e4efa9c15efa74d20'),
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', '6c045381d725d926e931d71b047e9f1d'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', 'fbf75b4d3bf5c6df5a219a5c3fa253c7'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', '4bc9a18d746772555f169d42aa4bb79e'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', 'bedcca20c921488906681cd91cff90d0'),
    ('function', 'audit.check_foreign_table()', 'tms_owner', 'tms_auditor', 'dd7744f8f790a391194de8e7aa04c671'),
    ('function', 'audit.check_function_body()', 'tms_owner', 'tms_auditor', 'ac87e7f0d8539f838c664eb407457376'),
    ('function', 'audit.check_function_bypass()', 'tms_owner', 'tms_auditor', 'd6611ba53656c4849548953731b1395e'),
    ('function', 'audit.check_function_changed()', 'tms_owner', 'tms_auditor', '778fd60c06accf65771b9006dc4ef5ac'),
    ('function', 'audit.check_function_leakproof()', 'tms_owner', 'tms_auditor', 'd77af029401976b475f7199ef15487bc'),
    ('function', 'audit.check_function_owner()', 'tms_owner', 'tms_auditor', '8e21eb7c6499146691e4c9764f1552cf'),
    ('function', 'audit.check_function_public()', 'tms_owner', 'tms_auditor', '31e13f19ef2a9cce97644e0d27b16666'),
    ('function', 'audit.check_function_search_path()', 'tms_owner', 'tms_auditor', 'a0897ed63dd02b77b353ee67749f7f60'),
    ('function', 'audit.check_function_security()', 'tms_owner', 'tms_auditor', 'ce251b1eb7abf63c86ec57f92b3072ce'),
    ('function', 'audit.check_function_settings()', 'tms_owner', 'tms_auditor', 'b47ac2d648d1ae22490277dac35c49e8'),
    ('function', 'audit.check_index_missing()', 'tms_owner', 'tms_auditor', '1d3fa59ae1291ed7457749120ec7211d'),
    ('function', 'audit.check_other_grants()', 'tms_owner', 'tms_auditor', '97160a28ce266da2b1c2db5a31194ccf'),
    ('function', 'audit.check_policy_changed()', 'tms_owner', 'tms_auditor', '28a0f3722760e6e67af5cb5f4d868c7c'),
    ('function', 'audit.check_policy_extra()', 'tms_owner', 'tms_auditor', 'c284abb96916f7827935560688102e71'),
    ('function', 'audit.check_policy_function()', 'tms_owner', 'tms_auditor', '64e514cc5b8d394facb12a777c043de2'),
    ('function', 'audit.check_policy_missing()', 'tms_owner', 'tms_auditor', '1832f482c5fcbef65005be1c1f5b11d1'),
    ('function', 'audit.check_publication()', 'tms_owner', 'tms_auditor', '9c9c1af0b1ccca4fba8174e66004f2bf'),
    ('function', 'audit.check_registrar_reach()', 'tms_owner', 'tms_auditor', '0d8865ac4111ae12999b518c4b0597ed'),
    ('function', 'audit.check_rewrite_rule()', 'tms_owner', 'tms_auditor', 'dd5a90c6dae30ef82d55a76783ff3454'),
    ('function', 'audit.check_rights_missing()', 'tms_owner', 'tms_auditor', '1c8db2341db2d7618db6e12cff03dc04'),
    ('function', 'audit.check_rls_disabled()', 'tms_owner', 'tms_auditor', '5ff443b2048a02f320ce4713e3eb5431'),
    ('function', 'audit.check_rls_not_forced()', 'tms_owner', 'tms_auditor', '02fcf67fb0ad0ae6af9fe92ab719a004'),
    ('function', 'audit.check_role_attributes()', 'tms_owner', 'tms_auditor', '575531841992472c2d5c5bd200fbd9b6'),
    ('function', 'audit.check_role_membership()', 'tms_owner', 'tms_auditor', '8d6b21f6f2a560c935f8df194a419fd9'),
    ('function', 'audit.check_role_owns()', 'tms_owner', 'tms_auditor', '76f522701b48a9610786180fd9adb50a'),
    ('function', 'audit.check_role_settings()', 'tms_owner', 'tms_auditor', 'f2b5b972511c185b1732aae9526c9c91'),
    ('function', 'audit.check_rows(text,uuid,bigint[])', 'tms_owner', 'tms_auditor', '651c1f10582d26a1c5f1132af0b74bad'),
    ('function', 'audit.check_schema_grants()', 'tms_owner', 'tms_auditor', '1fe1b0cfae3f90b9a9af9e7fb1985190'),
    ('function', 'audit.check_server_settings()', 'tms_owner', 'tms_auditor', '53cabf313d770095a052541b2e7b8be6'),
    ('function', 'audit.check_server_version()', 'tms_owner', 'tms_auditor', '1effe665c994fb7dd9d0642cd57187c4'),
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', 'a787fc3c2e2d684ab2cf4edf7fde08d4'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '57e556d774dc091acb413beac4d7c085'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', '038808867f7687b3f4dcaa8a142d9c05'),
    ('function', 'audit.check_system_grants()', 'tms_owner', 'tms_auditor', '9cdf8d25373323ee6e3d8a950eee1000'),
    ('function', 'audit.check_table_grants()', 'tms_owner', 'tms_auditor', '17cc5d1c45ebea43fb3409ec48ddb3d5'),
    ('function', 'audit.check_table_inherits()', 'tms_owner', 'tms_auditor', '5e53ec67c729538f5348748fe43800a2'),
    ('function', 'audit.check_table_missing()', 'tms_owner', 'tms_auditor', '7524886a3da1a186a81caa672129ebe3'),
    ('function', 'audit.check_table_owner()', 'tms_owner', 'tms_auditor', 'fed8ef1723bca8946f29e59662d638bc'),
    ('function', 'audit.check_table_rules()', 'tms_owner', 'tms_auditor', '5ec7c0ad947f0600b5569f28b921caf8'),
    ('function', 'audit.check_table_without_tenant()', 'tms_owner', 'tms_auditor', '5d03b0d0fdfb0b492b6f7f93e3392e71'),
    ('function', 'audit.check_tenant_id_function()', 'tms_owner', 'tms_auditor', '009eac3d0bb20586b9d0b1bdbfa2eff7'),
    ('function', 'audit.check_tenant_key()', 'tms_owner', 'tms_auditor', '0cbcc08455e462025d5549d1cc33a331'),
    ('function', 'audit.check_trigger_disabled()', 'tms_owner', 'tms_auditor', '7c0cb1bc42599f63e0c0af6176adb61f'),
    ('function', 'audit.check_trigger_notifies()', 'tms_owner', 'tms_auditor', '1404767e5ee09d9ef547ff53c3ec1839'),
    ('function', 'audit.check_trigger_rights()', 'tms_owner', 'tms_auditor', '2fb6b62c9e9e910adc7215fe751c27e9'),
    ('function', 'audit.check_unique_key_missing()', 'tms_owner', 'tms_auditor', '77c4d1c04f0c03b76ac44007f87d4a6b'),
    ('function', 'audit.check_view_leaks()', 'tms_owner', 'tms_auditor', '73c39213314885829fcb9da9a196c2b5'),
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', 'c683fc33f623539a995c452f8896ba30'),
    ('function', 'audit.code_of(text,boolean)', 'tms_owner', 'tms_auditor', 'e85bd2e07ed52bd67973cb6025f734cf'),
    ('function', 'audit.comment_again(oid)', 'tms_owner', 'tms_auditor', '47c27737d57e16c2ead35836c4d81a3a'),
    ('function', 'audit.comparisons(oid)', 'tms_owner', 'tms_auditor', '886266a0039799fb85d5f4a88ef03938'),
    ('function', 'audit.count_lost_tenants(regclass)', 'tms_owner', 'tms_auditor', '48b396076d73de4b2c083a0baae79bb0'),
    ('function', 'audit.count_suspects(text,text[],regclass,name)', 'tms_owner', 'tms_auditor', '7296026bfb4ca52aacd5ce67d4b34484'),
    ('function', 'audit.data_checks()', 'tms_owner', 'tms_auditor', '55994310063a570050f8386f0baa2dca'),
    ('function', 'audit.default_of(text)', 'tms_owner', 'tms_auditor', '7ffd506ec2b343ed196fd1dc2857e94f'),
    ('function', 'audit.definition_hash(oid)', 'tms_owner', 'tms_auditor', '7d4595e6b1840c52b7456efb9f44930d'),
    ('function', 'audit.enters_named_tenant(oid,text)', 'tms_owner', 'tms_auditor', '09a31f99e7668b9434847114691b6350'),
    ('function', 'audit.examine(text,uuid,integer,text[])', 'tms_owner', 'tms_auditor', '81c88d8f151c95d869be8e750b464706'),
    ('function', 'audit.executed(text)', 'tms_owner', 'tms_auditor', '8d6a18f893621060e3e46ecf218d9579'),
    ('function', 'audit.expected_policies()', 'tms_owner', 'tms_auditor', 'cef3cc9db83e631c5a0e17c7b1dbfdeb'),
    ('function', 'audit.expected_references()', 'tms_owner', 'tms_auditor', 'b1fe44c1e3cfed3cdf5309b193602aee'),
    ('function', 'audit.filter_of(regclass)', 'tms_owner', 'tms_auditor', '733692876d5e6582a29c2d0d563f1f6e'),
    ('function', 'audit.find_tenant(text)', 'tms_owner', 'tms_auditor', 'f7af4ca5e9972e7e92aaf3bdbc4f1cc2'),
    ('function', 'audit.finish_run(bigint)', 'tms_owner', 'tms_auditor', 'fda1a2edc4f2b4cfdd811652e24d622a'),
    ('function', 'audit.functions()', 'tms_owner', 'tms_auditor', 'df01d81d88638aae83b84c11bb75bd9b'),
    ('function', 'audit.has_rows(regclass,name,uuid)', 'tms_owner', 'tms_auditor', 'cb2a97af9c825ca6d0c8316bc29a0674'),
    ('function', 'audit.installed()', 'tms_owner', 'tms_auditor', '1fae3c4e0b8e031c9bc3445a5ed7b45e'),
    ('function', 'audit.is_inherited(regclass)', 'tms_owner', 'tms_auditor', 'a7ea746ec51ec75d5477d08197fbe8c5'),
    ('function', 'audit.is_never_null(regclass,name)', 'tms_owner', 'tms_auditor', '0d8d1f65be045d42ac17782b75a8bb76'),
    ('function', 'audit.is_proved(regclass,text)', 'tms_owner', 'tms_auditor', '25837b3aecfc0e552fc5207e2f3ff9ee'),
    ('function', 'audit.is_stranger(oid)', 'tms_owner', 'tms_auditor', 'ad53d1007c1894a22348c405048bda91'),
    ('function', 'audit.is_unique(regclass,name[])', 'tms_owner', 'tms_auditor', '92bfe836b03b4d95b5748060a3c337d6'),
    ('function', 'audit.is_unvacuumed(regclass[])', 'tms_owner', 'tms_auditor', '410ca929421fd92318bf64e60a9f56ed'),
    ('function', 'audit.isolated_with()', 'tms_owner', 'tms_auditor', 'ade25ab236da7bbe865eda48ea3347b4'),
    ('function', 'audit.lent_relations()', 'tms_owner', 'tms_auditor', '75f5ae3c326f628fa1e99f6f6d442cbc'),
    ('function', 'audit.manifest()', 'tms_owner', 'tms_auditor', ''),
    ('function', 'audit.media_of_each()', 'tms_owner', 'tms_auditor', 'afc46091a8aaf2ff45b3654c61516264'),
    ('function', 'audit.of_extensions(regclass)', 'tms_owner', 'tms_auditor', '63192a2e82a10dce9e01cb456178e100'),
    ('function', 'audit.our_roles()', 'tms_owner', 'tms_auditor', '5dab71b472e5360b7a2ae17eb1cd2f43'),
    ('function', 'audit.own_tables()', 'tms_owner', 'tms_auditor', 'd8d62003b8a8ea98a89b0fb97bae35d7'),
    ('function', 'audit.own_tenant(oid,text)', 'tms_owner', 'tms_auditor', '6c02ea1724ac67e414894e331de512a8'),
    ('function', 'audit.pass_checks(text)', 'tms_owner', 'tms_auditor', 'e8e03400ced553936462672efd9ed231'),
    ('function', 'audit.passes(text,boolean)', 'tms_owner', 'tms_auditor', '6d1a18962baa63c18e9844d96141e187'),
    ('function', 'audit.pattern_of(text)', 'tms_owner', 'tms_auditor', '71bfc351a701c62cdc853ec1eb58c076'),
    ('function', 'audit.plan_merges(regclass,name,integer)', 'tms_owner', 'tms_auditor', 'd108b6b303d8f7d9593126ec54ce1bb9'),
    ('function', 'audit.progress_line(integer,integer,text,bigint,bigint,timestamp with time zone,text)', 'tms_owner', 'tms_auditor', '95e256b7454f60f5855a215e54f8d46d'),
    ('function', 'audit.protection_query()', 'tms_owner', 'tms_auditor', '6faa68ed577394cedf3d883887008e57'),
    ('function', 'audit.prove(text,uuid,integer)', 'tms_owner', 'tms_auditor', '09056ebdf7517b088560e426d79cadf0'),
    ('function', 'audit.record_pass(bigint,text)', 'tms_owner', 'tms_auditor', '08130587858149233528c1f29f49ea1e'),
    ('function', 'audit.relations()', 'tms_owner', 'tms_auditor', '7f840a63381ffbf1e5a4aaa63aa2b661'),
    ('function', 'audit.relations(regclass[])', 'tms_owner', 'tms_auditor', '78e3e595b58833e604bf651ce9597df6'),
    ('function', 'audit.report(bigint)', 'tms_owner', 'tms_auditor', '1525d5551cc25ba8f8b0d8031afa99a6'),
    ('function', 'audit.require_isolation()', 'tms_owner', 'tms_auditor', '3f41b7468d915ca63eb8d00a2380d7d4'),
    ('function', 'audit.require_unfiltered(regclass)', 'tms_owner', 'tms_auditor', '4ab6885a92e5986c7051f0032ce4ffc5'),
    ('function', 'audit.role_name(oid)', 'tms_owner', 'tms_auditor', 'd93e0bfa0cc30ca6a3a0e814d7901901'),
    ('function', 'audit.row_tests(regclass)', 'tms_owner', 'tms_auditor', 'f89eed1dfe3d90fcb56ebf9129403129'),
    ('function', 'audit.run(text,text,integer,bigint)', 'tms_owner', 'tms_auditor', '325790b0ede9c81ee612a26476b2a357'),
    ('function', 'audit.run_check(text,text,integer)', 'tms_owner', 'tms_auditor', 'd4f5e06dee60c858690543f7df24581c'),
    ('function', 'audit.run_family(text,boolean,integer)', 'tms_owner', 'tms_auditor', 'bb2a13f6aeb96d6e90c27e9696dd6464'),
    ('function', 'audit.sample_tenants(uuid,integer)', 'tms_owner', 'tms_auditor', '0ad9c042a63b35d83bd30743bc3698e3'),
    ('function', 'audit.say_scanned(bigint)', 'tms_owner', 'tms_auditor', '6b02023e2942fc31f4fa347a9a1eee61'),
    ('function', 'audit.scan(regclass,uuid,text[])', 'tms_owner', 'tms_auditor', '709e6bb70afa0bdade05e56ec177709c'),
    ('function', 'audit.scanned(text)', 'tms_owner', 'tms_auditor', '714ae3acb57dbdc53fb0a71fd8427aa1'),
    ('function', 'audit.severity_rank(text)', 'tms_owner', 'tms_auditor', '1fa26f34a59db5d581099b2a3365ab06'),
    ('function', 'audit.short_hash(text)', 'tms_owner', 'tms_auditor', '6f23cfe71952fec1f8acb0400a595545'),
    ('function', 'audit.shown_relations()', 'tms_owner', 'tms_auditor', '8cf1d51c18444e217ad517e3a87c0f96'),
    ('function', 'audit.slices(regclass,name,uuid)', 'tms_owner', 'tms_auditor', 'f4e53f4f93d2870056bf9cf96a75c3e9'),
    ('function', 'audit.start_run(text,text,integer)', 'tms_owner', 'tms_auditor', '80861f31eb5ce66d6fdc572ab5718e88'),
    ('function', 'audit.table_remedies()', 'tms_owner', 'tms_auditor', 'ac6b4f0812e4efe3d9444bc3cdfccf3b'),
    ('function', 'audit.template_rights()', 'tms_owner', 'tms_auditor', '895240ac6dccd5a5070dad49e0c10c8b'),
    ('function', 'audit.tenant_references()', 'tms_owner', 'tms_auditor', '7e63f48453607ddccc4fe6791d2fe0f8'),
    ('function', 'audit.tenant_references(regclass)', 'tms_owner', 'tms_auditor', '662987541e379f8f9fb0dd0cc9345954'),
    ('function', 'audit.try_writes(regclass,name,uuid,uuid)', 'tms_owner', 'tms_auditor', '615b758e986a60510125fd10cea4206c'),
    ('function', 'audit.version_fault(integer,boolean)', 'tms_owner', 'tms_auditor', 'c99f8fa921f168d5cd5dcd549b1f0100'),
    ('function', 'audit.visible_rows(regclass,name,uuid[])', 'tms_owner', 'tms_auditor', 'f56e328b033e956fdab9d1f8baad34ba'),
    ('function', 'control.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', 'f51e10df58d79ca3a0d0795dfe58aa56'),
    ('function', 'control.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '64ba8d9e056505dbf964689f858940de'),
    ('function', 'control.examine(text,uuid,integer,text[])', 'tms_auditor', 'tms_owner', 'f286437fac6a6739a95086a0631457cf'),
    ('function', 'control.find_tenant(text)', 'tms_auditor', 'tms_owner', '092ecd4817dc31d218f82c2a5fb7fb1b'),
    ('function', 'control.held_rows(regclass,uuid,integer)', 'tms_auditor', 'tms_registrar', '49f285b797178536712ef24c4701d0aa'),
    ('function', 'control.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', '379f66e5be803b087e2d33e846308ed7'),
    ('function', 'control.leaking_tables()', 'tms_app', 'tms_registrar', 'a64065acd87739f1fa6faf8563022cdf'),
    ('function', 'control.shown_rows(uuid,integer)', 'tms_app', 'tms_registrar', '940fe838dabb731f042c6f4ee27bec1c'),
    ('function', 'control.tg_tenants__count()', 'tms_owner', '', '9737cde625d18b6cd691d3909049c634'),
    ('function', 'control.tg_tenants__record()', 'tms_owner', '', 'c5bcc8f27a34855b08f6954793bb871a'),
    ('function', 'control.try_writes(regclass,name,uuid,uuid)', 'tms_app', 'tms_owner', 'c87234d5b18abbed0d017d13e0cfd085'),
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
revoke create on schema app, api from tms_app, tms_registrar;
