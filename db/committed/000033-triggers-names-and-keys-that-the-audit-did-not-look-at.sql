--! Previous: sha1:8fe1fe0bd03eb93aa89638a8e7b88155c6b74fcb
--! Hash: sha1:be3ec0d406f0bc4c283a110fd5c6b7971950e6d9
--! Message: triggers, names and keys that the audit did not look at

grant create on schema app, api to tms_app, tms_registrar;
set local citus.enable_ddl_propagation = off;
--! Included context/tenant_columns.sql
-- Of a table without tenant_id.
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
  where f.conrelid = p_table and f.contype = 'f' and p.attname = case when f.confrelid = 'app.tenants'::regclass then 'id' else 'tenant_id' end
  group by a.attname, a.attnotnull
$$;
comment on function app.tenant_columns(regclass) is
$$The columns of a table whose foreign keys say a tenant: they refer to app.tenants, or to the tenant_id of a table. alone: none of these keys has another column
beside it.$$;
revoke all on function app.tenant_columns(regclass) from public;
grant execute on function app.tenant_columns(regclass) to tms_auditor;
--! EndIncluded context/tenant_columns.sql
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
  v_needed text;
  v_organization name;
  v_others int;
begin
  if not exists (select from pg_attribute where attrelid = p_table and attname = 'tenant_id' and not attisdropped) then
    -- One column that is never null says whose each row is, under another name.
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
    -- Where there are several, or one that may be null, a person says whose a row is, unless they all say the same.
    for v_organization in select name from app.tenant_columns(p_table) order by name loop
      execute format('select from %s where %I <> $1 limit 1', p_table, v_organization) using v_default;
      get diagnostics v_others = row_count;
      if v_others > 0 then
        raise exception using errcode = 'object_not_in_prerequisite_state',
          message = format('%s cannot be adopted: %I says that rows are of other tenants than the default one', p_table, v_organization),
          hint = format('alter table %1$s add column tenant_id uuid; update %1$s set tenant_id = …; alter table %1$s alter column tenant_id set not null;', p_table);
      end if;
    end loop;
    -- A constant default fills the old rows without rewriting the table; it must not outlive the fill.
    execute format('alter table %s add column tenant_id uuid not null default %L', p_table, v_default);
    execute format('alter table %s alter column tenant_id drop default', p_table);
  end if;

  select c.conname, string_agg(quote_ident(a.attname), ', ' order by k.n) filter (where a.attname <> 'tenant_id'),
    (select string_agg(format('alter table %s drop constraint %I; -- %s', f.conrelid::regclass, f.conname, pg_get_constraintdef(f.oid)), E'\n' order by f.oid)
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
  'Gives a single-tenant table a tenant_id, filled with the default tenant, and puts it first in the primary key. One that is there stays as it is. Raises 55000 without a default tenant to fill it with, or where other columns name other tenants, 2BP01 while other tables'' foreign keys need the old primary key.';
revoke all on function app.adopt(regclass) from public;
--! EndIncluded context/adopt.sql
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
    'A table, view, sequence or schema of the service is not tms_owner''s. Or a view elsewhere that a role of requests was given a right on belongs to somebody who can be none of the service''s administrators; or who can be none of these has TRIGGER on a table there. A table of such an owner, a schema that holds tenants'' tables or functions of the service''s roles, or the database, is a warning.', 'Its owner can switch the policies off; of a view or a table, have requests call what it likes; of a schema, drop what is in it.', 'Give it to tms_owner, or take the right on it away.'),
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
    'CREATE, TEMP or USAGE on a schema or the database beyond what the roles need; CREATE for everybody on any schema; CREATE on one that requests may use, or that holds tenants'' tables or functions of the service''s roles, or, where a login is a member of tms_app, on the database, for somebody who can be none of the service''s administrators (a warning).', 'Whoever can create can put an object in another''s place.', 'Revoke it.'),
  ('rights_missing', 'isolation_config', 'warning', 'schema', true,
    'A role that requests act as lacks a right on the service''s schemas, tables or functions.', 'Nobody sees more than before, but requests that need it fail.', 'Grant it again.'),
  ('default_privileges', 'isolation_config', 'error', 'schema', true,
    'Default privileges that give tables, functions or large objects away as they are made: to everybody or a role of the service, or by one of the five to anybody else; in a schema of somebody else''s, or where policies still narrow, a warning.', 'A table is open from the moment it is made until somebody isolates it.', 'Revoke them.'),
  ('service_reach', 'isolation_config', 'error', 'schema', true,
    'The service''s login has a right on a table that it can get at, or on a function outside api; or api holds something else.', 'A login that can only call api functions cannot set a tenant and read it.', 'Revoke it.'),
  ('registrar_reach', 'isolation_config', 'error', 'schema', true,
    'tms_registrar reaches a tenants'' table beyond app.tenants and app.users.', 'It crosses tenants by design; its functions must have nothing to carry.', 'Revoke it.'),
  ('app_reach', 'isolation_config', 'error', 'schema', true,
    'tms_app or tms_registrar has a right on a table, view or foreign table that is no tenants'' table, or tms_app on a large object; a warning where requests only read it, or only write, and no foreign key goes on to delete or change tenants'' rows. Who can be none of the service''s administrators and sets such a key off, by a right or as the owner, is a warning; so is a foreign key of a tenants'' table to values that requests may not read, uuids aside: it tells whether there is one.',
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
    'A trigger that a foreign key''s action can fire on a tenants'' table, or on one elsewhere by way of a request, reads or writes tables, itself or by a function that it calls, or what the action makes and tests a row with reads tenants'' tables; and the function is not SECURITY DEFINER. The same of what is asked first, in its WHEN. Or one that is fired before a row is deleted may keep it, or before it is updated may give it to another tenant.', 'Fired so, it runs as the table''s owner: before the row it reaches every tenant''s rows, after it (on Postgres 18) none. A row that is kept outlives its tenant; which one it is given to, no policy asks.', 'Make its function a definer of tms_app, as docs/extending.md shows; let it return old, and leave tenant_id as it is.'),
  ('trigger_notifies', 'isolation_config', 'warning', 'schema', true,
    'A trigger sends rows of a tenants'' table, or of a view of it, their keys, or their texts, by NOTIFY, itself or by a function that it calls; or a test of the table, of a domain of its columns, or of a trigger, does. Or any other function sends rows that it reads.', 'Every login of the database may listen, and no policy is asked.', 'Send an id that means nothing to others; whoever listens reads the row inside its tenant.'),
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
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when p_owner not in ('tms_app', 'tms_registrar', 'tms_auditor')
      then case when p_owner <> 'tms_owner' and not coalesce(pg_has_role(to_regrole('tms_owner'), to_regrole(quote_ident(p_owner)), 'usage'), false) then E'-- as its owner, or as a superuser:\n' else '' end || p_statement
    -- What they own there they may not name.
    when to_regnamespace(s.name) is not null and s.name not in ('app', 'api', 'audit') and not has_schema_privilege(p_owner, to_regnamespace(s.name), 'usage')
      then format('grant usage on schema %3$s to %1$I; set role %1$I; %2$s reset role; revoke usage on schema %3$s from %1$I;', p_owner, p_statement, s.name)
    else format('set role %I; %s reset role;', p_owner, p_statement) end
  from (select substring(p_statement from '(?:routine|function|table) ("(?:[^"]|"")+"|\w+)\.')) s (name)
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
    -- Its WHEN. The trigger's own function asks for no right at all.
    select d.refclassid, d.refobjid, true
    from pg_trigger t join pg_depend d on d.classid = 'pg_trigger'::regclass and d.objid = t.oid and d.refclassid = 'pg_proc'::regclass and d.refobjid >= 16384 and d.refobjid <> t.tgfoid
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
  'The relations, or functions, that a view, a rule or the body of a function uses where another of the five roles than tms_owner gets to, and functions that an operator, a cast, a type, a table or the WHEN of a trigger uses: nobody needs a right on their schemas.';

create or replace function audit.is_stranger(p_role oid)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select not (r.rolname = any (array_remove(audit.our_roles(), 'tms_service')) or r.rolsuper
    or pg_has_role(r.oid, o.oid, case when v.version >= 160000 then 'usage, set' else 'member' end)
    -- Who administers the roles may make itself a member; before 16 whoever may create roles may give itself any.
    or pg_has_role(r.oid, o.oid, 'member with admin option') or r.rolcreaterole and v.version < 160000)
  from (select current_setting('server_version_num')::int as version) v
  cross join pg_roles o
  join pg_roles r on r.oid = case when p_role = to_regrole('pg_database_owner') then (select datdba from pg_database where datname = current_database()) else p_role end
  where o.rolname = 'tms_owner'
$$;
comment on function audit.is_stranger(oid) is 'Whether a role is none of the five, or their login, and cannot become tms_owner: superusers, and who administers the roles, can.';

create or replace function audit.lent_relations()
returns table (relid regclass, kind "char", owner oid, written boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive lent (oid) as (
    select c.oid
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.oid >= 16384
      and n.nspname not in ('app', 'api', 'control', 'audit', 'graphile_migrate', 'pg_catalog') and n.nspname not like 'pg\_t%'
      and c.oid not in (select relid from audit.relations())
      -- Into an extension that one may make oneself, one may also put what is one's own.
      and (c.oid not in (select audit.of_extensions('pg_class')) or audit.is_stranger(c.relowner))
      and exists (
        select from (select a.grantee from aclexplode(c.relacl) a
                     union all
                     select a.grantee from pg_attribute t cross join lateral aclexplode(t.attacl) a where t.attrelid = c.oid and t.attacl is not null) g
        join pg_roles r on r.oid = g.grantee and r.rolname in ('tms_service', 'tms_app', 'tms_registrar')
        where has_schema_privilege(r.oid, n.oid, 'usage') or c.oid in (select audit.bound('pg_class')))
    union
    select i.inhrelid from lent l join pg_inherits i on i.inhparent = l.oid
  )
  select c.oid::regclass, c.relkind, c.relowner, bool_or(x.written)
  from lent l
  join pg_class c on c.oid = l.oid
  -- Also through those above it.
  cross join lateral (
    with recursive above (oid) as (
      select c.oid union select i.inhparent from above a join pg_inherits i on i.inhrelid = a.oid
    )
    select has_any_column_privilege(r.oid, a.oid, 'insert, update') or has_table_privilege(r.oid, a.oid, 'delete') as written
    from above a cross join pg_roles r where r.rolname in ('tms_service', 'tms_app', 'tms_registrar')) x
  group by c.oid, c.relkind, c.relowner
$$;
comment on function audit.lent_relations() is
  'The tables and views outside the service''s schemas that are no tenants'' tables, and that a role that works for requests was given a right on by name, with their partitions and children; written: not only to read.';

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
    -- What is done to a table is done to its partitions and children, by a key's action to what refers to it, and by a rule, or a view, to what that names.
    select a.tgfoid, x.relid, exists (
      select from ours r where has_table_privilege(r.oid, x.relid, 'delete') or has_any_column_privilege(r.oid, x.relid, 'insert, update'))
    from above a
    cross join lateral (
      select inhparent from pg_inherits where inhrelid = a.relid
      union all
      select w.ev_class from pg_depend d join pg_rewrite w on w.oid = d.objid where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = a.relid
      union all
      select confrelid from pg_constraint where conrelid = a.relid and contype = 'f' and (confdeltype in ('c', 'n', 'd') or confupdtype in ('c', 'n', 'd'))) x (relid)
    where not a.written
  ), fired as materialized (
    -- Neither a trigger nor an aggregate asks who may execute the function that it calls, nor do a range type, an index, and what compares by its operators.
    select tgfoid from above where written
    union all
    select f from pg_range cross join lateral unnest(array[rngcanonical, rngsubdiff]) f
    union all
    select amproc from pg_amproc
    union all
    select o.oprcode from pg_amop a join pg_operator o on o.oid = a.amopopr
    union all
    select d.refobjid from pg_depend d join pg_proc a on a.oid = d.objid and a.prokind = 'a'
    where d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_proc'::regclass and d.refobjid >= 16384
      and exists (select from ours r where has_function_privilege(r.oid, a.oid, 'execute') and (has_schema_privilege(r.oid, a.pronamespace, 'usage') or a.oid in (select audit.bound('pg_proc'))))
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
    and (f.oid not in (select audit.of_extensions('pg_proc')) or o.rolname = any (audit.our_roles()) or audit.is_stranger(o.oid))
$$;
comment on function audit.functions() is
$$The functions that the audit examines: all but those of Postgres and of extensions, of these only what belongs to one of the five roles, or to who can be none of the service's administrators. granted: who may execute it beside its owner. own: in one of
the service's schemas. reached: own, or one of the five roles may execute it or has it executed by a trigger, an aggregate, a range type or the operators of an index. vouched: not
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
  select case when who = any (array_append(audit.our_roles(), 'public')) or is_grantable or privilege_type not in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
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
  select case when ((v.invoker or c.relkind = 'S' and a.privilege_type <> 'UPDATE') and n.nspname = 'app' or not v.own)
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
  ) a on v.own or a.privilege_type = 'UPDATE' and (a.who = any (array_append(audit.our_roles(), 'public'))
    and (has_schema_privilege('tms_app', n.oid, 'usage') or has_schema_privilege('tms_service', n.oid, 'usage'))
    -- One that tenants' rows are numbered by.
    or audit.is_stranger(to_regrole(a.who)) and exists (
      select from pg_depend d left join pg_attrdef x on d.classid = 'pg_attrdef'::regclass and x.oid = d.objid
      where d.refclassid = 'pg_class'::regclass and d.refobjid = c.oid and x.adrelid in (select relid from audit.relations())
      union all
      select from pg_depend d
      where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i') and d.refobjid in (select relid from audit.relations())))
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
    -- Elsewhere it is nobody's business who uses a schema, but that the service's roles make nothing there, nor a stranger where they look for names.
    select format('schema %I', n.nspname), 'elsewhere', a.grantee, a.privilege_type, a.is_grantable
    from pg_namespace n cross join lateral aclexplode(n.nspacl) a
    where n.nspname not in ('app', 'api', 'control', 'audit', 'public', 'pg_catalog', 'information_schema') and n.nspname not like 'pg\_t%'
      and a.privilege_type = 'CREATE' and (a.grantee = any (array[0, to_regrole('tms_service'), to_regrole('tms_app'), to_regrole('tms_registrar'), to_regrole('tms_auditor')]::oid[])
        or a.grantee <> n.nspowner and audit.is_stranger(a.grantee))
  ), used as materialized (
    -- Where a name that the service's roles use may be taken over: by a function that fits a call better, or in a schema of a job's own name.
    select 'schema ' || quote_ident(n.nspname) as object
    from pg_namespace n
    where n.nspname <> 'public' and has_schema_privilege('tms_app', n.oid, 'usage')
      or exists (select from pg_class c where c.relnamespace = n.oid and c.oid in (select relid from audit.relations()))
      or exists (select from pg_proc f where f.pronamespace = n.oid and f.proowner::regrole::text = any (audit.our_roles()))
    union all
    select 'database ' || quote_ident(current_database())
    where exists (select from pg_roles r where r.rolcanlogin and not r.rolsuper and r.rolname <> all (audit.our_roles()) and pg_has_role(r.oid, to_regrole('tms_app'), 'member'))
  ), named as (
    select g.*, audit.role_name(grantee) as who, grantee <> 0 and audit.is_stranger(grantee) and object in (select object from used) as intrudes from granted g
    where name <> 'elsewhere' or grantee = any (array[0, to_regrole('tms_service'), to_regrole('tms_app'), to_regrole('tms_registrar'), to_regrole('tms_auditor')]::oid[])
      or object in (select object from used)
  )
  select case when who = 'public' and privilege_type = 'CONNECT' then 'warning'
              when who = any (array_append(audit.our_roles(), 'public')) then 'error' else 'warning' end,
    null::uuid, null, jsonb_build_object('object', object, 'role', who, 'privilege', privilege_type),
    case when is_grantable or not (
        name = 'app' and privilege_type = 'USAGE' and who in ('tms_app', 'tms_registrar', 'tms_auditor')
        or name = 'api' and privilege_type = 'USAGE' and who in ('tms_service', 'tms_app', 'tms_registrar', 'tms_auditor')
        or name = 'control' and privilege_type = 'USAGE' and who = 'tms_registrar'
        or name = 'audit' and privilege_type = 'USAGE' and who in ('tms_auditor', 'tms_registrar')
        or name = 'public' and privilege_type = 'USAGE'
        or name = 'public' and who not in ('public', 'tms_service', 'tms_app', 'tms_registrar', 'tms_auditor') and not (privilege_type = 'CREATE' and intrudes)
        or name = 'database' and privilege_type = 'CONNECT' and who <> 'public'
        or name = 'database' and who <> all (array_append(audit.our_roles(), 'public')) and not (privilege_type = 'CREATE' and intrudes))
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
  where w.ours or kind = 'table' and name in ('pg_statistic', 'pg_statistic_ext_data', 'pg_largeobject') or kind = 'function' and name ~ '^(pg_read_(binary_)?file|lo_import)\(|\mpg_get_wal_'
    or toasted = 'pg_statistic'::regclass or toasted in (select relid from audit.relations())
    -- For everybody's sessions, or as what the server's account is to execute.
    or kind = 'parameter' and privilege_type = 'ALTER SYSTEM' and not exists (select from pg_roles r where r.oid = given.grantee and r.rolsuper)
      and name ~ '^(session_replication_role|lo_compat_privileges|row_security|search_path|dynamic_library_path|\w+_preload_libraries|\w+_command|archive_library|jit_provider|oauth_validator_libraries|extension_control_path|hba_file|ident_file|allow_system_table_mods|app\..*)$'
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
--! Included audit/table_remedies.sql
create or replace function audit.comment_again(p_constraint oid)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select format(' comment on constraint %I on %s is %L;', conname, conrelid::regclass, told)
  from pg_constraint cross join obj_description(oid, 'pg_constraint') told
  where oid = p_constraint and told <> ''
$$;
comment on function audit.comment_again(oid) is 'The statement, behind a blank, that gives a constraint of a table its comment again; null where it has none.';

-- Only ON DELETE can be told to which columns.
create or replace function audit.paired_key(p_constraint oid)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select format('foreign key (tenant_id, %s) references %s (tenant_id, %s)%s%s%s%s%s',
    o.child, c.confrelid::regclass, o.parent, case when c.confmatchtype = 'f' and cardinality(c.conkey) > 1 then ' match full' end,
    case c.confdeltype when 'c' then ' on delete cascade' when 'r' then ' on delete restrict' when 'n' then format(' on delete set null (%s)', o.emptied)
      when 'd' then format(' on delete set default (%s)', o.emptied) end,
    case c.confupdtype when 'c' then ' on update cascade' when 'r' then ' on update restrict' end,
    case when c.condeferred then ' deferrable initially deferred' when c.condeferrable then ' deferrable' end,
    substring(pg_get_constraintdef(c.oid) from ' NOT (?:VALID|ENFORCED)$'))
  from pg_constraint c
  cross join lateral (
    select string_agg(w.period || quote_ident(x.attname), ', ' order by u.n) as child, string_agg(w.period || quote_ident(y.attname), ', ' order by u.n) as parent,
      coalesce(string_agg(quote_ident(x.attname), ', ' order by u.n) filter (where u.child = any (c.confdelsetcols)), string_agg(quote_ident(x.attname), ', ' order by u.n)) as emptied
    from unnest(c.conkey, c.confkey) with ordinality as u (child, parent, n)
    join pg_attribute x on x.attrelid = c.conrelid and x.attnum = u.child
    join pg_attribute y on y.attrelid = c.confrelid and y.attnum = u.parent
    cross join lateral (select case when (to_jsonb(c) ->> 'conperiod')::boolean and u.n = cardinality(c.conkey) then 'period ' else '' end as period) w
    where 'tenant_id' not in (x.attname, y.attname)) o
  where c.oid = p_constraint and o.child is not null
$$;
comment on function audit.paired_key(oid) is 'The definition of a foreign key, with tenant_id on both sides of it; null of one of no other columns.';

-- In the order of a report each finds what those above it leave, so that all can be pasted as one migration.
create or replace function audit.table_remedies()
returns table (relid regclass, fault text, remedy text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with owned as materialized (
    -- As a tool writes a type `string`; numbers stand for no uuid. Of a partition or child the type is changed with its table's.
    select w.relid, w.isolated, t.attnum,
      case when y.typcategory = 'S' or y.typbasetype = 'uuid'::regtype then format('alter table %s alter column tenant_id drop default, alter column tenant_id type uuid using tenant_id::uuid;', w.isolated) end as conversion
    from audit.isolated_with() w
    join pg_attribute t on t.attrelid = w.relid and t.attname = 'tenant_id'
    join pg_type y on y.oid = t.atttypid
  ), tied as materialized (
    -- These keep both of their columns of one type.
    select c.oid, a.isolated as child, b.isolated as parent, format('alter table %s drop constraint if exists %I;', c.conrelid::regclass, c.conname) as off,
      concat(format('alter table %s add constraint %I %s;', c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid)), audit.comment_again(c.oid)) as again
    from pg_constraint c
    join owned a on a.relid = c.conrelid
    join owned b on b.relid = c.confrelid and (a.conversion is not null or b.conversion is not null)
    where c.contype = 'f' and c.conparentid = 0 and exists (select from unnest(c.conkey, c.confkey) as u (child, parent) where u.child = a.attnum and u.parent = b.attnum)
  ), rekeyed as materialized (
    -- The same foreign key with tenant_id on both sides; one whose parent's key has none in front waits for that.
    select c.oid, c.conname, c.conrelid, k.indexrelid, k.indrelid, p.relid is not null and k.indkey[0] <> p.attnum as waits,
      format('alter table %s drop constraint if exists %I;', c.conrelid::regclass, c.conname) as off,
      -- Of a table above, a policy has it by then.
      concat(case when a.isolated::text > k.indrelid::regclass::text then a.conversion || ' ' end, format('alter table %s add constraint %I %s;', c.conrelid::regclass, c.conname, d.definition), audit.comment_again(c.oid)) as again,
      case when c.confupdtype in ('n', 'd') then ', without its ON UPDATE, which would empty tenant_id' end as lost
    from pg_constraint c
    join owned a on a.relid = c.conrelid
    -- That of a partition is its table's.
    join pg_index k on k.indexrelid = coalesce(pg_partition_root(c.conindid), c.conindid)
    left join owned p on p.relid = k.indrelid
    cross join lateral audit.paired_key(c.oid) d (definition)
    where c.contype = 'f' and c.conparentid = 0 and d.definition is not null
  ), faults as materialized (
    select o.relid, o.isolated, f.fault, case when f.fault = 'tenant_id may be null' then format('alter table %s alter column tenant_id set not null;', o.relid)
      when f.fault = 'tenant_id is not of type uuid' and o.conversion is null
        then '-- first add a column of type uuid, fill it with the ids of app.tenants that these values stand for, drop this one, and give its name to that'
      when f.fault = 'tenant_id is not of type uuid' and exists (select from pg_partitioned_table t where t.partrelid = o.isolated and o.attnum = any (t.partattrs))
        then '-- first make the table again, with tenant_id of type uuid: of a column that partitions are cut by, Postgres does not change it'
      when f.fault = 'tenant_id is not of type uuid' then (
        select case when o.relid = any (g.relids) and o.relid::text > any (g.relids::text[]) then '-- as above'
          else concat((
              select format(E'-- first drop, and make again afterwards: %s\n', string_agg(distinct pg_describe_object(d.classid, d.objid, 0), ', '))
              from pg_depend d
              where d.refclassid = 'pg_class'::regclass and (d.refobjid = o.relid or o.relid = any (g.relids) and d.refobjid = any (g.relids)) and (d.classid in ('pg_rewrite'::regclass, 'pg_policy'::regclass, 'pg_trigger'::regclass)
                  or d.classid = 'pg_attrdef'::regclass and exists (select from pg_attrdef x where x.oid = d.objid and x.adnum <> d.refobjsubid)) -- a generated column's
                and d.refobjsubid = (select attnum from pg_attribute where attrelid = d.refobjid and attname = 'tenant_id')
              having count(*) > 0),
            (select string_agg(off, ' ' order by oid) || ' ' from tied where o.relid = any (g.relids)),
            (select string_agg(c.conversion, ' ' order by c.relid::text) from owned c where c.relid = c.isolated and (c.relid = o.relid or o.relid = any (g.relids) and c.relid = any (g.relids))),
            (select ' ' || string_agg(again, ' ' order by oid) from tied where o.relid = any (g.relids))) end
        from (
          -- Together, as far as they have such keys.
          select array_agg(distinct c.relid) as relids from owned c
          where c.conversion is not null and c.relid = c.isolated and c.relid in (select child from tied union select parent from tied)) g)
      when f.fault = 'it has no primary key' and o.relid in (select to_regclass(t.name) from audit.own_tables() t) then '-- as unique_key_missing says'
      when f.fault = 'it has no primary key' then format('alter table %s add primary key (tenant_id, …); -- with what tells the rows of one tenant apart', o.relid)
      else nullif(k.mend, '') end as mend
    from owned o
    cross join lateral app.table_faults(o.relid) f
    left join lateral (
      -- The same key with tenant_id in front of it, and nowhere else; what refers to it comes off meanwhile.
      select concat((
          select string_agg(format(E'-- first take off the key %I of %s, which has no tenant_id\n', x.conname, x.conrelid::regclass), '' order by x.oid)
          from pg_constraint x where x.contype = 'f' and x.conindid = i.indexrelid and x.conparentid = 0 and x.conrelid not in (select relid from owned)), (
          select string_agg(format(E'-- first give %s another replica identity, and afterwards this one again\n', x.indrelid::regclass), '' order by x.indrelid::regclass::text)
          from pg_partition_tree(i.indexrelid) n join pg_index x on x.indexrelid = n.relid and n.level > 0 where x.indisreplident),
        b.off || ' ',
        case when c.oid is null then format('drop index %s; %s(tenant_id, %s;', i.indexrelid::regclass, n.head, d.rest)
             else format('alter table %s drop constraint %I, add constraint %2$I %s(tenant_id%s, %s;', o.relid, c.conname, n.head, case when c.contype = 'x' then ' WITH =' end, d.rest) end,
        case when i.indisreplident then format(' alter table %s replica identity using index %I;', o.relid, x.relname) end,
        audit.comment_again(c.oid), (select format(' comment on index %s is %L;', i.indexrelid::regclass, told) from obj_description(i.indexrelid, 'pg_class') told where told <> ''),
        ' ' || b.again, case when c.contype = 'x' then ' -- needs the extension btree_gist' end) as mend
      from pg_index i
      join pg_class x on x.oid = i.indexrelid
      join pg_am m on m.oid = x.relam
      join pg_class t on t.oid = i.indrelid
      join pg_namespace s on s.oid = t.relnamespace
      left join pg_constraint c on c.conindid = i.indexrelid and c.contype in ('p', 'u', 'x')
      -- ONLY is how Postgres writes an index of a partitioned table: made so, it would be of no partition.
      cross join lateral (
        select coalesce(regexp_substr(pg_get_constraintdef(c.oid), '^[^(]*'), format('CREATE UNIQUE INDEX %I ON %I.%I USING %s ', x.relname, s.nspname, t.relname, m.amname)) as head,
          coalesce(pg_get_constraintdef(c.oid), pg_get_indexdef(i.indexrelid)) as def) n
      cross join lateral (
        select regexp_replace(substr(n.def, length(n.head) + case when c.oid is null and t.relkind = 'p' then 5 else 0 end + 2),
          case when i.indexprs is null and o.attnum = any ((i.indkey::int2[])[0:i.indnkeyatts - 1])
            then ', tenant_id(?: ASC| DESC)?(?: NULLS (?:FIRST|LAST))?(?: WITH =)?(?=[,)])' else '\A\Z' end, '') as rest) d
      cross join lateral (
        select string_agg(w.off, ' ' order by w.oid) as off, string_agg(w.again, ' ' order by w.oid) as again
        from rekeyed w where w.indexrelid = i.indexrelid and w.waits) b
      where i.indrelid = o.relid and (i.indisunique or i.indisexclusion) and strpos(f.fault, format('the unique index %s does not begin', i.indexrelid::regclass)) = 1
      union all
      select format('drop index %s; %s;', i.indexrelid::regclass, regexp_replace(replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON '), '\(tenant_id [^,)]+', '(tenant_id'))
      from pg_index i
      where i.indrelid = o.relid and i.indisunique and strpos(f.fault, format('the unique index %s compares tenant_id', i.indexrelid::regclass)) = 1
      union all
      select case when not c.waits then concat('-- it comes again' || c.lost || E'\n', c.off, E'\n', c.again)
                  when c.conrelid::regclass::text <= c.indrelid::regclass::text then format('%s -- until the key of %s, below, adds it again%s', c.off, c.indrelid::regclass, c.lost)
                  else format('-- as above, with the key of %s%s', c.indrelid::regclass, c.lost) end
      from rekeyed c
      where c.conrelid = o.relid
        and (strpos(f.fault, format('the foreign key %I does not pair', c.conname)) = 1 or strpos(f.fault, format('the foreign key %I would set tenant_id', c.conname)) = 1)) k on true
    where not f.inherited
  )
  -- Isolated once, as the last of its faults is mended, in the order of a report: before that it would be refused.
  select relid, fault, concat(coalesce(mend, '-- mend it'), case when is_last then format(E'%s\nselect app.isolate(%L);', case when by_hand then E'\n-- when all of it is mended:' end, isolated) end)
  from (
    select f.*, lead(fault) over (partition by isolated order by relid::text, fault collate "C") is null as is_last,
      bool_or(mend is null or mend ~ '…|^-- first |needs the extension') over (partition by isolated) as by_hand
    from faults f) f
$$;
comment on function audit.table_remedies() is
$$How each fault of app.table_faults() is mended, of each of the tenants' tables that has it by itself: SQL, with comments where a person decides. What one takes off for
a while another, which it names, brings back.$$;
--! EndIncluded audit/table_remedies.sql
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
  ), held as materialized (
    -- As each is when table_rules is done with it.
    select r.*, case when cardinality(c.conkey) > cardinality(r.child_columns) then pg_get_constraintdef(c.oid) else audit.paired_key(c.oid) end as definition
    from refs r join pg_constraint c on c.conrelid = r.child and c.conname = r.constraint_name
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
      then format('the foreign key %I of %s does not hold the rows of its child: they may point into another tenant', r.constraint_name, r.child) end,
    format('alter table %s add %s;', b.relid::regclass, r.definition)
  from branches b
  join held r on r.child = b.ancestor
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
      then format('the foreign key %I holds the rows of this partition, and not those of another: they may point into another tenant', r.constraint_name) end,
    format('alter table %s add %s;', h.inhparent::regclass, r.definition)
  from held r
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
    select t.tenant, case when r.tenant_column = 'tenant_id' and c.confrelid <> 'app.tenants'::regclass then t.tenant || array_remove(k.key, t.tenant) else k.key end as columns
    -- A period is looked for among the few rows of the rest.
    from (select case when (to_jsonb(c) ->> 'conperiod')::boolean then trim_array(c.conkey, 1) else c.conkey end) k (key)
    left join pg_attribute a on a.attrelid = c.conrelid and a.attname = 'tenant_id' and r.tenant_column = 'tenant_id'
    cross join lateral (select a.attnum) t (tenant)) w
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
--! Included audit/checks/reach.sql
-- How far the roles that work for requests get, by whatever way: grants to them or to PUBLIC, policies, ownership.
create or replace function audit.check_service_reach()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- What an extension shows to everybody (pg_stat_statements, citus_tables) is its own, and may be there before a migration.
  select case when c.oid in (select audit.of_extensions('pg_class')) and c.relowner::regrole::text <> all (audit.our_roles())
              then 'warning' else 'error' end, null::uuid, c.oid::regclass::text, jsonb_build_object('role', 'tms_service'),
    -- Elsewhere a right is one where the schema may be used.
    case when (n.nspname in ('app', 'api', 'control', 'audit') or has_schema_privilege('tms_service', n.oid, 'usage') or c.oid in (select audit.bound('pg_class')))
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

-- Of tms_app and tms_registrar, through PUBLIC too. What lies in the service's own schemas other checks look at.
create or replace function audit.check_app_reach()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive shared (relid, privilege, columns) as (
    -- What a key does to the rows that refer to one, it does past every policy.
    select k.confrelid, a.privilege, k.confkey
    from pg_constraint k
    cross join lateral (values ('delete', k.confdeltype), ('update', k.confupdtype)) as a (privilege, does)
    where k.contype = 'f' and a.does in ('c', 'n', 'd') and k.conrelid in (select relid from audit.relations())
    union
    select k.confrelid, s.privilege, k.confkey
    from shared s join pg_constraint k on k.conrelid = s.relid and k.contype = 'f' and case s.privilege when 'delete' then k.confdeltype else k.confupdtype end = 'c'
  )
  select case when (c.relkind in ('r', 'p') and not (w.reads and w.writes) and r.name = 'tms_app' or e.shipped) and not k.cascades then 'warning' else 'error' end,
    null::uuid, c.oid::regclass::text, jsonb_build_object('role', r.name),
    case when not w.reads and not w.writes then null
         when k.cascades then 'what one tenant deletes or changes in it a foreign key deletes or changes in the rows of every tenant'
         when (select option_value::boolean from pg_options_to_table(c.reloptions) where option_name = 'security_invoker') then null  -- its reader's rights decide
         when c.relkind in ('v', 'm', 'f')
           then format('%s reads it with the rights of %s, past every policy', r.name, c.relowner::regrole)
         when r.name = 'tms_registrar' then 'tms_registrar, which crosses tenants, has rights on it: its reach is app.tenants, app.users and control'
         when w.reads and w.writes then 'what one tenant writes into it every other may read: it has no column tenant_id and no policy'
         when w.writes then 'requests of all tenants write into it: whoever reads it has to know whose is what'
         else 'every tenant reads all of it: right for what all share, such as a list of countries' end,
    -- A view's readers keep it, as by the remedy of view_leaks: `create or replace view` takes the option away.
    case when c.relkind = 'v' and not e.shipped then format('alter view %s set (security_invoker = true);', c.oid::regclass)
         else format('revoke all on table %s from %s, public;', c.oid::regclass, r.name) || case when e.shipped then audit.by_moving(c.oid) else '' end end
  from (values ('tms_app'), ('tms_registrar')) as r (name)
  cross join pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  cross join lateral (
    select n.nspname not in ('app', 'api', 'control', 'audit') and (has_schema_privilege(r.name, n.oid, 'usage') or c.oid in (select audit.bound('pg_class'))) as there,
      -- What extensions brought; one of the five packed the others into one.
      c.oid in (select audit.of_extensions('pg_class')) and c.relowner::regrole::text <> all (audit.our_roles()) as shipped
  ) e
  cross join lateral (
    select e.there and has_any_column_privilege(r.name, c.oid, 'select') as reads,
      e.there and (has_any_column_privilege(r.name, c.oid, 'insert, update, references') or has_table_privilege(r.name, c.oid, 'delete, truncate, trigger')) as writes
  ) o
  -- The rows of a partition or a child are also written and read through those above it.
  cross join lateral (
    with recursive above (relid) as (
      select inhparent from pg_inherits where inhrelid = c.oid and o.reads <> o.writes
      union
      select i.inhparent from above a join pg_inherits i on i.inhrelid = a.relid
    )
    select o.reads or bool_or(has_any_column_privilege(r.name, relid, 'select')) is true as reads,
      o.writes or bool_or(has_any_column_privilege(r.name, relid, 'insert, update')) is true as writes
    from above
  ) w
  cross join lateral (
    select r.name = 'tms_app' and o.writes and exists (
      select from shared s
      where s.relid = c.oid and case s.privilege when 'delete' then has_table_privilege(r.name, c.oid, 'delete')
        else exists (select from unnest(s.columns) u (attnum) where has_column_privilege(r.name, c.oid, u.attnum, 'update')) end) as cascades
  ) k
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and c.oid >= 16384 and n.nspname <> 'pg_catalog' and n.nspname not like 'pg\_t%'
    and c.oid not in (select relid from audit.relations())
    -- Of these table_without_tenant tells how to isolate them, which the revoke would undo.
    and not (r.name = 'tms_app' and exists (select from pg_constraint f where f.conrelid = c.oid and f.confrelid in (select relid from audit.relations())))
  union all
  select distinct 'warning', null::uuid, s.relid::regclass::text, jsonb_build_object('role', a.who, 'privilege', upper(s.privilege)),
    format('what %s %s in it a foreign key deletes or changes in the rows of every tenant', a.who, s.privilege || 's'), a.mend
  from shared s
  join pg_class c on c.oid = s.relid and c.oid not in (select relid from audit.relations())
  cross join lateral (
    select c.relowner::regrole::text as who, format('alter table %s owner to tms_owner; -- as its owner, or as a superuser', c.oid::regclass) as mend where audit.is_stranger(c.relowner)
    union
    select g.grantee::regrole::text, format('revoke %s on table %s from %s;', s.privilege, c.oid::regclass, g.grantee::regrole)
    from (select x.grantee, x.privilege_type from aclexplode(c.relacl) x
          union all
          select x.grantee, x.privilege_type from pg_attribute t cross join lateral aclexplode(t.attacl) x where t.attrelid = c.oid and t.attnum = any (s.columns)) g
    where lower(g.privilege_type) = s.privilege and g.grantee <> c.relowner and audit.is_stranger(g.grantee)) a
  union all
  -- A key says whether there is such a value, whoever may read it. Nobody guesses a uuid.
  select 'warning', null, k.conrelid::regclass::text, jsonb_build_object('constraint', k.conname),
    case when not has_schema_privilege('tms_app', p.relnamespace, 'usage') or exists (
        select from unnest(k.confkey) u (attnum) where not has_column_privilege('tms_app', k.confrelid, u.attnum, 'select'))
      then format('by the foreign key %I a request learns which values %s has, which it may not read', k.conname, k.confrelid::regclass) end,
    format(E'-- where every tenant may know them: grant usage on schema %s to tms_app; grant select (%s) on table %s to tms_app; -- else:\nalter table %s drop constraint %I;',
      p.relnamespace::regnamespace, (select string_agg(quote_ident(a.attname), ', ') from pg_attribute a where a.attrelid = k.confrelid and a.attnum = any (k.confkey)), k.confrelid::regclass, k.conrelid::regclass, k.conname)
  from pg_constraint k
  join pg_class p on p.oid = k.confrelid
  where k.contype = 'f' and k.conparentid = 0 and k.conrelid in (select relid from audit.relations()) and k.confrelid not in (select relid from audit.relations())
    and exists (select from pg_attribute a where a.attrelid = k.confrelid and a.attnum = any (k.confkey) and a.atttypid <> 'uuid'::regtype)
    and has_any_column_privilege('tms_app', k.conrelid, 'insert, update')
  union all
  -- Where the functions that open them are closed (db/large_objects.sql), a right on one is no way to it.
  select case when l.reads and l.writes then 'error' else 'warning' end, null, null, jsonb_build_object('role', 'tms_app', 'large object', l.example),
    format('tms_app %s %s %s, which no policy narrows', concat_ws(' and ', case when l.reads then 'reads' end, case when l.writes then 'writes' end), case when l.n = 1 then 'the large object' else l.n || ' large objects, the first of them' end, l.example),
    format(E'-- as a superuser:\n\\i db/large_objects.sql\n-- or, on a managed server, of each: revoke all on large object %s from tms_app, public;', l.example)
  from (
    select count(distinct o.oid) as n, min(o.oid) as example, bool_or(w.reads) as reads, bool_or(w.writes) as writes
    from pg_largeobject_metadata o
    cross join lateral aclexplode(o.lomacl) a
    cross join lateral (
      select a.privilege_type = 'SELECT' and (has_function_privilege('tms_app', 'lo_get(oid)', 'execute') or has_function_privilege('tms_app', 'lo_get(oid,bigint,integer)', 'execute')
          or has_function_privilege('tms_app', 'loread(integer,integer)', 'execute')) as reads,
        a.privilege_type = 'UPDATE' and (has_function_privilege('tms_app', 'lo_put(oid,bigint,bytea)', 'execute') or has_function_privilege('tms_app', 'lowrite(integer,bytea)', 'execute')) as writes) w
    where a.grantee in (0, to_regrole('tms_app')) and o.lomowner <> to_regrole('tms_app') and (w.reads or w.writes)
    having count(*) > 0) l
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
         else audit.by_giving_back(d.named, r.name) || format(' -- as a superuser, or as a member of %s and tms_owner', r.name) end
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
--! EndIncluded audit/checks/reach.sql
--! Included audit/checks/rls.sql
create or replace function audit.check_rls_disabled()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with open as materialized (
    select w.* from audit.isolated_with() w join pg_class c on c.oid = w.relid and not c.relrowsecurity
  ), refused as materialized (
    select isolated from (select distinct isolated from open) o where exists (select from app.table_faults(o.isolated))
  )
  select 'error', null::uuid, r.relid::text, '{}'::jsonb,
    case when not c.relrowsecurity then 'row-level security is not enabled: every role with a right on it sees every tenant' end,
    format('alter table %s enable row level security;', r.relid)
      || case when r.tenant_column = 'id' then '' when o.isolated in (select isolated from refused) then ' -- and then what is left: select remedy from audit.run_check(''table_rules'');'
         else format(E'\nselect app.isolate(%L);', o.isolated) end
  from audit.relations() r join pg_class c on c.oid = r.relid
  left join open o on o.relid = r.relid
$$;

create or replace function audit.check_rls_not_forced()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb,
    case when not c.relforcerowsecurity and not app.is_distributed() then format('row-level security is not forced: its owner, %s, and every definer function of that role see every tenant', c.relowner::regrole) end,
    format('alter table %s force row level security;', r.relid)
  from audit.relations() r join pg_class c on c.oid = r.relid
$$;

create or replace function audit.expected_policies()
returns table (relid regclass, policy name, permissive boolean, command "char", role text, qual text, with_check text, remedy text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with style as (
    select app.is_distributed() as bare
  ), template as (
    select r.relid, r.tenant_column, bare, (select atttypid = 'uuid'::regtype from pg_attribute where attrelid = r.relid and attname = r.tenant_column) as is_uuid,
      format(case when bare then '(%I = app.tenant_id())' else '(%I = ( SELECT app.tenant_id() AS tenant_id))' end, r.tenant_column) as own,
      case when bare then '(current_setting(''app.maintenance''::text, true) = ''on''::text)'
           else '(( SELECT current_setting(''app.maintenance''::text, true) AS current_setting) = ''on''::text)' end as maintenance
    from audit.relations() r cross join style
  )
  select t.relid, p.policy, p.permissive, p.command, p.role, p.qual, p.with_check,
    case when p.policy = 'registrar'
      then format('drop policy if exists registrar on %s;', t.relid)
        || format(E'\ncreate policy registrar on %s for all to tms_registrar using (true) with check (true);', t.relid)
      when not t.is_uuid then '-- by app.isolate(), once tenant_id is a uuid, as table_rules says'
      else format('select app.write_policies(%L, %L);', t.relid, t.tenant_column) end
  from template t
  cross join lateral (values
    ('tenant_only'::name, bare, '*'::"char", 'tms_app', own, own),
    ('tenant_rows', true, '*', 'tms_app', 'true', 'true'),
    ('maintenance', true, '*', 'tms_owner', maintenance, maintenance),
    ('auditor', true, 'r', 'tms_auditor', 'true', null),
    ('registrar', true, '*', 'tms_registrar', 'true', 'true')
  ) as p (policy, permissive, command, role, qual, with_check)
  where (p.policy <> 'tenant_rows' or not bare)
    and (p.policy <> 'registrar' or t.relid::oid in (to_regclass('app.tenants'), to_regclass('app.users')))
$$;
comment on function audit.expected_policies() is 'The policies that each of the tenants'' tables must have, as pg_policy shows them, and the statement that restores each.';

create or replace function audit.check_policy_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, e.relid::text, jsonb_build_object('policy', e.policy),
    case when p.oid is null then format('the policy %s is missing', e.policy) end, e.remedy
  from audit.expected_policies() e
  left join pg_policy p on p.polrelid = e.relid and p.polname = e.policy
$$;

-- As the server spells it, compared with how the server spells the template: nothing is parsed here.
create or replace function audit.check_policy_changed()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, e.relid::text, jsonb_build_object('policy', e.policy),
    nullif(concat_ws('; ',
      case when p.polpermissive <> e.permissive then format('the policy %s is %s', e.policy, case when p.polpermissive then 'permissive, so that any other policy widens it' else 'restrictive' end) end,
      case when p.polcmd <> e.command then format('the policy %s is for the command %s', e.policy, p.polcmd) end,
      case when p.polroles <> array[to_regrole(e.role)::oid] then format('the policy %s is for %s', e.policy,
        (select string_agg(audit.role_name(r), ', ') from unnest(p.polroles) r)) end,
      case when pg_get_expr(p.polqual, p.polrelid) is distinct from e.qual
        then format('USING of %s is %s instead of %s', e.policy, coalesce(pg_get_expr(p.polqual, p.polrelid), 'missing'), coalesce(e.qual, 'nothing')) end,
      case when pg_get_expr(p.polwithcheck, p.polrelid) is distinct from e.with_check
        then format('WITH CHECK of %s is %s instead of %s', e.policy, coalesce(pg_get_expr(p.polwithcheck, p.polrelid), 'missing'), coalesce(e.with_check, 'nothing')) end
    ), ''), e.remedy
  from audit.expected_policies() e
  join pg_policy p on p.polrelid = e.relid and p.polname = e.policy
$$;

create or replace function audit.check_policy_extra()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- To tms_app a further policy can only narrow: the restrictive one always holds, but on Citus, which has none. To anybody
  -- else it opens or blinds.
  select case when p.polroles = array[to_regrole('tms_app')::oid] and not app.is_distributed() then 'warning' else 'error' end,
    null::uuid, r.relid::text, jsonb_build_object('policy', p.polname),
    case when e.policy is null then format('%s policy %I for %s is not of the template: USING %s',
      case when p.polpermissive then 'the permissive' else 'the restrictive' end, p.polname,
      (select string_agg(audit.role_name(x), ', ') from unnest(p.polroles) x),
      coalesce(pg_get_expr(p.polqual, p.polrelid), '(none)')) end,
    format('drop policy if exists %I on %s;', p.polname, r.relid)
  from audit.relations() r
  join pg_policy p on p.polrelid = r.relid
  left join audit.expected_policies() e on e.relid = r.relid and e.policy = p.polname
$$;

-- A policy may call app.tenant_id() and what Postgres ships; any other function decides who sees what, row by row.
create or replace function audit.check_policy_function()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, p.polrelid::regclass::text, jsonb_build_object('policy', p.polname),
    case when f.oid is not null and f.oid is distinct from to_regprocedure('app.tenant_id()')
         then format('the policy %I calls %s, which is %s', p.polname, f.oid::regprocedure,
           case f.provolatile when 'i' then 'immutable: its answer is kept in plans, across tenants' when 'v' then 'volatile: it is asked again for each row'
           else 'not part of the template' end)
         when d.refclassid = 'pg_class'::regclass and d.refobjid <> p.polrelid
         then format('the policy %I reads %s, whose own rows then decide', p.polname, d.refobjid::regclass) end,
    coalesce(e.remedy, format('drop policy if exists %I on %s;', p.polname, p.polrelid::regclass))
  from pg_policy p
  join audit.relations() r on r.relid = p.polrelid
  left join audit.expected_policies() e on e.relid = r.relid and e.policy = p.polname
  left join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refobjid >= 16384
    and (d.refclassid = 'pg_proc'::regclass or d.refclassid = 'pg_class'::regclass)
  left join pg_proc f on d.refclassid = 'pg_proc'::regclass and f.oid = d.refobjid
  union all
  -- By an operator, or a domain's tests.
  select 'error', null, p.polrelid::regclass::text, jsonb_build_object('policy', p.polname),
    format('the policy %I calls %s, by %s, which is not part of the template', p.polname, x.called, pg_describe_object(d.refclassid, d.refobjid, 0)),
    coalesce(e.remedy, format('drop policy if exists %I on %s;', p.polname, p.polrelid::regclass))
  from pg_policy p
  join audit.relations() r on r.relid = p.polrelid
  left join audit.expected_policies() e on e.relid = r.relid and e.policy = p.polname
  join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refobjid >= 16384 and d.refclassid in ('pg_operator'::regclass, 'pg_type'::regclass)
  cross join lateral (
    select o.oprcode::text as called from pg_operator o
    where d.refclassid = 'pg_operator'::regclass and o.oid = d.refobjid and o.oprcode >= 16384 and o.oprcode not in (select audit.of_extensions('pg_proc'))
    union all
    select f.refobjid::regprocedure::text
    from pg_constraint k join pg_depend f on f.classid = 'pg_constraint'::regclass and f.objid = k.oid and f.refclassid = 'pg_proc'::regclass and f.refobjid >= 16384
    where d.refclassid = 'pg_type'::regclass and k.contypid = d.refobjid and f.refobjid not in (select audit.of_extensions('pg_proc'))) x
  union all
  -- Nothing depends on Postgres's own functions. What may be asked before tenant_only is, is asked of every tenant's rows.
  select 'error', null, p.polrelid::regclass::text, jsonb_build_object('policy', p.polname),
    case when c.name is not null then format('the policy %I calls %s: reading the table does something, and to rows of all tenants', p.polname, c.name) end,
    coalesce(e.remedy, format('drop policy if exists %I on %s;', p.polname, p.polrelid::regclass))
  from (
    select format('\m(%s)\(', string_agg(distinct proname, '|')) from pg_proc
    where pronamespace = 'pg_catalog'::regnamespace and provolatile = 'v'
      and proname not in (select proname from pg_proc where pronamespace = 'pg_catalog'::regnamespace and pronargs = 0)) v (calls) -- but random() and clocks
  cross join pg_policy p
  join audit.relations() r on r.relid = p.polrelid
  left join audit.expected_policies() e on e.relid = r.relid and e.policy = p.polname
  cross join lateral (
    select case when e.policy is null then (regexp_match(concat(pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)), v.calls))[1] end offset 0) c (name)
$$;

create or replace function audit.check_tenant_id_function()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, null, jsonb_build_object('function', 'app.tenant_id()'),
    nullif(concat_ws('; ',
      case when f.oid is null then 'the function app.tenant_id() is missing' end,
      case when f.provolatile <> 's' then 'app.tenant_id() is ' || case f.provolatile when 'i' then 'immutable: a cached plan keeps one tenant''s id for the next' else 'volatile: it is asked again for each row' end end,
      case when f.oid is not null and regexp_replace(pg_get_function_sqlbody(f.oid), '\s+', ' ', 'g') is distinct from
          'RETURN (CASE WHEN (current_setting(''app.tenant_id''::text, true) ~~ ''________-____-____-____-____________''::text) '
          || 'THEN current_setting(''app.tenant_id''::text, true) ELSE NULL::text END)::uuid'
        then 'the body of app.tenant_id() is not the one it came with: ' || coalesce(pg_get_function_sqlbody(f.oid), left(f.prosrc, 200)) end,
      -- A cast of somebody's making reads the same.
      (select 'app.tenant_id() calls ' || string_agg(d.refobjid::regprocedure::text, ', ')
       from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.refclassid = 'pg_proc'::regclass and d.refobjid >= 16384),
      case when f.prosecdef then 'app.tenant_id() is SECURITY DEFINER' end,
      case when f.proconfig is not null then 'app.tenant_id() sets ' || array_to_string(f.proconfig, ', ') end,
      case when f.proleakproof then 'app.tenant_id() is LEAKPROOF' end), ''),
    -- A cast that somebody made would be taken again.
    concat((select string_agg(format('drop cast (%s as %s); -- as its owner, or as a superuser', k.castsource::regtype, k.casttarget::regtype) || E'\n', '')
      from pg_depend d join pg_cast k on k.castfunc = d.refobjid
      where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.refclassid = 'pg_proc'::regclass and d.refobjid >= 16384), $q$create or replace function app.tenant_id() returns uuid language sql stable parallel safe
return (case
  when pg_catalog.current_setting('app.tenant_id', true) like '________-____-____-____-____________'
  then pg_catalog.current_setting('app.tenant_id', true)
end)::uuid;
-- what an earlier definition added:
alter function app.tenant_id() security invoker not leakproof reset all;$q$)
  from (select to_regprocedure('app.tenant_id()') as oid) w
  left join pg_proc f on f.oid = w.oid
$$;

-- Whoever reads the parent reads the children, under the parent's policies and rights alone.
create or replace function audit.check_table_inherits()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, case when i.inhparent is null then '{}' else jsonb_build_object('parent', i.inhparent::regclass::text) end,
    case when i.inhparent is not null and p.relid is null
      then format('the table is a child of %s, which is no tenants'' table: whoever reads that one reads every tenant''s rows', i.inhparent::regclass) end,
    format(case when c.relispartition then 'alter table %2$s detach partition %1$s;' else 'alter table %s no inherit %s;' end, r.relid, i.inhparent::regclass)
  from audit.relations() r
  join pg_class c on c.oid = r.relid
  left join pg_inherits i on i.inhrelid = r.relid
  left join audit.relations() p on p.relid = i.inhparent
  union all
  -- And a tenant there is none to the keys, nor to any of the checks.
  select 'error', null, i.inhrelid::regclass::text, jsonb_build_object('parent', i.inhparent::regclass::text),
    'the table is a child of app.tenants: it is isolated by nothing, and whoever reads the tenants reads what is in it',
    format('alter table %s no inherit app.tenants;', i.inhrelid::regclass)
  from pg_inherits i where i.inhparent = to_regclass('app.tenants')
$$;
--! EndIncluded audit/checks/rls.sql
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
    where r.rolname <> all (audit.our_roles()) and pg_has_role(r.oid, t.oid, 'usage, ' || k.kind)
      and not pg_has_role(r.oid, to_regrole('tms_owner'), 'usage, ' || k.kind) -- as superusers may, too
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
         else format('revoke %I from %I%s; -- as an administrator', m.granted, m.member, m.by_grantor) end
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
  select case when s.setting like 'search\_path=%' or r.rolname <> all (audit.our_roles()) then 'warning' else 'error' end,
    null::uuid, null, jsonb_build_object('role', coalesce(r.rolname, 'all'), 'setting', s.setting),
    -- What a session has anyway: some drivers want a value to be there.
    case when lower(s.setting) ~ '^(row_security=(on|true|yes|1)|session_replication_role=origin|lo_compat_privileges=(off|false|no|0)|app\.maintenance=off|app\.\w+=(""|))$' then null
         when lower(split_part(s.setting, '=', 1)) in ('role', 'row_security', 'session_replication_role', 'lo_compat_privileges', 'app.tenant_id', 'app.maintenance', 'app.actor', 'app.event')
           then format('every session of %s begins with %s', coalesce(r.rolname, 'every role'), s.setting)
         when s.setting like 'search\_path=%' and s.setting not in ('search_path=pg_catalog, pg_temp', 'search_path="pg_catalog", "pg_temp"')
           then format('%s looks for names in %s', coalesce(r.rolname, 'every role'), substr(s.setting, 13)) end,
    format('alter %s%s reset %I;%s', case when r.oid is not null then format('role %I', r.rolname) when d.oid is null then 'role all' else format('database %I', d.datname) end,
      case when r.oid is not null and d.oid is not null then format(' in database %I', d.datname) else '' end, split_part(s.setting, '=', 1),
      case when r.oid is not null or d.oid is null or s.setting like 'app.%' then ' -- as an administrator' end)
  from pg_db_role_setting x
  cross join lateral unnest(x.setconfig) as s (setting)
  left join pg_roles r on r.oid = x.setrole
  left join pg_database d on d.oid = x.setdatabase
  where (x.setdatabase = 0 or d.datname = current_database()) and (x.setrole = 0 or r.rolname = any (audit.our_roles()) or s.setting ilike any (array['app.%', 'session\_replication\_role=%']))
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
    case when exists (select from audit.relations() t where has_any_column_privilege(r.oid, t.relid, 'select, insert, update') or has_table_privilege(r.oid, t.relid, 'delete'))
           or not a.bypasses and exists (
             select from pg_auth_members m where m.roleid = to_regrole('tms_app') and m.member = r.oid and coalesce((to_jsonb(m) ->> 'set_option')::boolean, true))
      then format('%s has %s and rights on tenants'' tables: it reads every tenant once it may connect', r.rolname, upper(a.name)) end,
    format('alter role %I no%s; -- as an administrator. A provider''s own role is the provider''s, and cannot be changed', r.rolname, a.name)
  from pg_roles r
  -- From a slot, which any session of such a role may make and read.
  join (values ('bypassrls', true), ('replication', false)) a (name, bypasses) on case when a.bypasses then r.rolbypassrls else r.rolreplication and not r.rolbypassrls end
  where not r.rolsuper and r.rolname <> all (audit.our_roles())
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
--! EndIncluded audit/checks/roles.sql
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
      case when o.n = 1 then format('the tenant of its rows is in %I: what asks for tenant_id, every check too, does not find it', o.name)
      when k.relid is not null then 'the table refers to tenants'' rows and has no column tenant_id: its rows belong to nobody'
      else 'the table is among the tenants'' tables and has no column tenant_id' end end,
    case when o.n = 1 then format('alter table %1$s rename column %2$I to tenant_id;%3$s', c.oid::regclass, o.name,
      case when exists (select from app.table_faults(c.oid, o.name)) then ' -- and then what is left: select remedy from audit.run_check(''table_rules'');'
        else format(E'\nselect app.isolate(%L);', c.oid::regclass) end)
    when o.said is not null then format(E'-- look whether %s says whose each row is:\nalter table %2$s add column tenant_id uuid;\nupdate %2$s set tenant_id = %3$s;\nalter table %2$s alter column tenant_id set not null;%4$s',
      replace(o.said, ', ', ' or '), c.oid::regclass, case when o.said ~ ', ' then format('coalesce(%s)', o.said) else o.said end,
      case when o.alone then format(E'\nselect app.isolate(%L, p_adopt => true);', c.oid::regclass) else ' -- and then what is left: select remedy from audit.run_check(''table_rules'');' end)
    else format(E'-- this gives every row to the default tenant; where rows are of several tenants, add tenant_id and fill it first:\n'
      'select app.isolate(%L, p_adopt => true);%s', c.oid::regclass, case when k.relid is null then
        format(E'\n-- what all tenants share, such as a list of countries, belongs in a schema of its own instead: alter table %s set schema …;', c.oid::regclass) end) end
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join audit.relations() t on t.relid = c.oid
  left join reached k on k.relid = c.oid
  left join lateral (
    -- One column that is never null says whose each row is, under another name.
    select min(name) filter (where never_null) as name, count(*) filter (where never_null) as n, string_agg(quote_ident(name), ', ' order by not never_null, name) as said, bool_and(alone) as alone
    from app.tenant_columns(c.oid)) o on t.relid is null
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
  union all
  select 'warning', null, null, jsonb_build_object('object', format('database %I', d.datname), 'role', d.datdba::regrole::text),
    case when audit.is_stranger(d.datdba) then format('the database is owned by %s: it may make schemas, and settings for all sessions, and in Postgres''s template it owns public', d.datdba::regrole) end,
    format('alter database %I owner to tms_owner; -- as its owner, or as a superuser', d.datname)
  from pg_database d where d.datname = current_database()
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
    select p.pubname, format('drop publication %I; -- as its owner, or as a superuser; and make one that lists what may leave', p.pubname) as mend, true as whole from pg_publication p where p.puballtables and not r.own
    union all
    select p.pubname, format('alter publication %I drop table %s; -- as its owner, or as a superuser', p.pubname, r.relid), false
    from pg_publication p join pg_publication_rel x on x.prpubid = p.oid and x.prrelid = r.relid
    union all
    select p.pubname, format('alter publication %I drop tables in schema %I; -- as its owner, or as a superuser', p.pubname, n.nspname), true
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
--! Included audit/checks/triggers.sql
-- What triggers do with rights that no policy narrows, and whom they tell.
-- A key's own action runs as the owner of the table, and as no policy applied: a trigger that it fires runs likewise, before the
-- row on every release, after it on Postgres 18 and newer. Every tenants' table is reached so, from app.tenants.
create or replace function audit.check_trigger_rights()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive reading (works) as (
    select '\m(select|table|insert|update|delete|merge|truncate|perform|execute|call)\M|(?<!\mdistinct\s+)\mfrom\s+(?!(new|old)\M)\w+\.\w'
  ), written (relid) as (
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
  ), fired as materialized (
    select t.oid as trigger, t.tgrelid::regclass as relid, t.tgname, t.tgtype, t.tgqual, c.relowner, p.oid, p.pronamespace, p.proname, p.prosecdef, l.lanname = 'plpgsql' as is_read,
      t.tgrelid in (select relid from audit.relations()) as of_tenants,
      t.tgtype & 16 = 16 and t.tgrelid in (select relid from updated) as by_update, t.tgtype & 8 = 8 as by_delete, -- no key's action inserts, and few update
      p.oid not in (select audit.of_extensions('pg_proc')) or p.proowner::regrole::text = any (audit.our_roles()) as is_own
    from pg_trigger t
    join pg_class c on c.oid = t.tgrelid
    join pg_proc p on p.oid = t.tgfoid and p.oid >= 16384
    join pg_language l on l.oid = p.prolang
    where t.tgrelid in (select relid from written) and not t.tgisinternal and t.tgparentid = 0
  ), read as materialized (
    -- Once, however many triggers call it.
    select p.oid, p.prosecdef, audit.code_of(p.prosrc, true) as code, audit.code_of(p.prosrc, false) as bare
    from pg_proc p where p.oid = any (array(select oid from fired where is_read))
  ), called as materialized (
    select caller, callee from audit.calls(array(select oid from read where not prosecdef))
  ), working (oid) as materialized (
    select oid from fired where not is_read
    union
    select r.oid from read r cross join reading w where r.bare ~* w.works -- n := count(*) from shop.orders
    union
    select c.caller
    from called c
    where c.callee in (
      select h.oid from pg_proc h cross join reading w
      where h.oid = any (array(select callee from called)) and not h.prosecdef and h.oid::regprocedure::text not in (select name from audit.manifest())
        and audit.code_of(coalesce(pg_get_function_sqlbody(h.oid), h.prosrc), false) ~* w.works)
  ), vouched (oid) as materialized (
    select p.oid from pg_proc p join audit.accepted a on a.kind = 'function' and a.name = p.oid::regprocedure::text and a.body = audit.definition_hash(p.oid)
    where p.oid = any (array(select oid from fired))
  ), faults as (
    select f.relid, f.tgname, f.oid, f.pronamespace, n.name,
      case when not f.prosecdef and (f.by_delete or f.by_update) and f.oid in (select oid from working)
        then format('where a foreign key''s action fires the trigger, %s runs as %s %s', f.oid::regprocedure, f.relowner::regrole,
          case when f.tgtype & 2 = 2 then 'and past every policy: it reaches the rows of all tenants' else 'and, inside a tenant, sees no row: what it writes fails or changes nothing' end) end as fault
    from fired f
    cross join lateral (
      select case when f.pronamespace = to_regnamespace('api') then 'api.' else 'app.' end || quote_ident(f.proname) || '()') n (name)
    where f.relid <> 'app.tenants'::regclass and f.is_own
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
  -- And what a key's action deletes one may keep, and what it changes one may give to another tenant: no policy asks whose row that is then.
  select 'warning', null, f.relid::text, jsonb_build_object('trigger', f.tgname),
    case when f.oid in (select oid from vouched) then null
         when k.keeps
           then format('%s may keep rows that are deleted: they outlive their tenant', f.oid::regprocedure)
         when f.by_update and f.tgtype & 3 = 3 and (
             r.bare ~* format('(^|;|\m(begin|then|else|loop)\M)\s*new\s*\.\s*tenant_id\s*:?=(?!\s*(\(\s*select\s+)?(%s|new\s*\.\s*tenant_id|current_setting\s*\([^()]*\)(\s*::\s*\w+)?)\s*\)?\s*;|\s*coalesce\s*\(\s*(new|old)\s*\.\s*tenant_id\M)', audit.own_tenant(f.oid, r.code))
             or r.bare ~* '(^|;|\m(begin|then|else|loop)\M)\s*new\s*:?=(?!\s*(old|null)\s*;)|\minto\s+(strict\s+)?([\w.]+\s*,\s*)*new\M\s*(?!\.)(?!\s)|\minto\s+(strict\s+)?([\w.]+\s*,\s*)*new\s*\.\s*tenant_id\M')
           then format('where a foreign key''s action fires the trigger, no policy asks which tenant %s gives the row to', f.oid::regprocedure) end,
    case when k.keeps then format(E'-- look whether it returns null where a row is deleted, and let it return old; otherwise vouch for it:\nselect audit.accept(%L);', f.oid::regprocedure)
         else format(E'-- look whether it leaves tenant_id as it is, where it is not null; otherwise let it. Then vouch for it:\nselect audit.accept(%L);', f.oid::regprocedure) end
  from fired f
  join read r using (oid)
  cross join lateral (select f.tgtype & 11 = 11 and r.bare ~* '\mreturn\s+null\M' as keeps) k -- before each row that is deleted
  where f.of_tenants and (f.tgtype & 11 = 11 or f.by_update and f.tgtype & 3 = 3)
  union all
  -- So does what the row that it changes is made and tested with, and what the trigger asks first.
  select 'warning', null, u.relid::text, jsonb_build_object('uses', u.used::regprocedure),
    case when not p.prosecdef and exists (
        select from audit.relations() r join pg_class c on c.oid = r.relid where p.code ~* format('\m%s\M', audit.pattern_of(c.relname)))
      then format('where a foreign key''s action changes the row, %s runs as %s and past every policy: it reads the rows of all tenants', u.used::regprocedure, u.relowner::regrole) end,
    format(E'-- let it read no table, or make it a definer of tms_app, as docs/extending.md tells of triggers:\nselect pg_get_functiondef(%L::regprocedure);', u.used::regprocedure)
  from (
    select distinct x.relid, x.relowner, d.refobjid as used
    from (select u.*, 'pg_attrdef'::regclass, oid, null::oid from updated u join pg_attrdef on adrelid = u.relid
          union all
          select u.*, 'pg_constraint', oid, null from updated u join pg_constraint on conrelid = u.relid
          union all
          select u.*, 'pg_constraint', k.oid, null from updated u join pg_attribute a on a.attrelid = u.relid join pg_constraint k on k.contypid = a.atttypid
          union all
          select u.*, 'pg_class', indexrelid, null from updated u join pg_index on indrelid = u.relid
          union all
          select relid, relowner, 'pg_trigger', trigger, oid from fired where tgqual is not null and (by_update or by_delete)) x (relid, relowner, classid, objid, fires)
    join pg_depend d on d.classid = x.classid and d.objid = x.objid and d.refclassid = 'pg_proc'::regclass and d.refobjid is distinct from x.fires) u
  -- offset 0: read once, and not for each table.
  cross join lateral (select q.prosecdef, audit.code_of(coalesce(pg_get_function_sqlbody(q.oid), q.prosrc), true) as code from pg_proc q where q.oid = u.used offset 0) p
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
  ), asked (relid, tgname, tgoldtable, tgnewtable, oid) as materialized (
    select t.tgrelid, t.tgname, t.tgoldtable, t.tgnewtable, t.tgfoid from pg_trigger t where t.tgrelid in (select relid from shown) and not t.tgisinternal and t.tgparentid = 0
    union all
    -- Beside the triggers, what is called.
    select null, null, null, null, f.oid
    from audit.functions() f join pg_proc p using (oid) join pg_language l on l.oid = p.prolang and l.lanname in ('sql', 'plpgsql')
    where f.body ~* 'notify' and p.prorettype <> 'trigger'::regtype and not f.own and not f.vouched
  )
  select 'warning', null::uuid, coalesce(t.relid::regclass::text, p.oid::regprocedure::text), jsonb_strip_nulls(jsonb_build_object('trigger', t.tgname)),
    case when p.proname = 'triggered_change_notification' and l.lanname = 'c' then 'NOTIFY tells whoever listens the keys of the rows, and so whose they are'
         when w.told then format('%s sends rows of %s, or texts of them, to whoever listens: NOTIFY knows no policy', p.oid::regprocedure, case when t.relid is null then 'a tenants'' table' else 'the table' end) end,
    E'-- better send an id that means nothing to others, and read the row inside its tenant; until then:\n'
      || case when t.relid is null then format('select pg_get_functiondef(%L::regprocedure); -- look whose rows it sends', p.oid::regprocedure)
              else format('drop trigger if exists %I on %s;', t.tgname, t.relid::regclass) end
  from asked t
  join pg_proc p using (oid)
  join pg_language l on l.oid = p.prolang
  cross join lateral (
    select audit.code_of(c.body, true), d.code,
      -- The name of a table, and an alias's, is not its rows.
      regexp_replace(d.code, '\m(from|join)\s+(only\s+)?(\w+\s*\.\s*)?\w+\M(?!\s*\.)(\s+(as\s+)?(?!(where|join|on|order|group|limit|loop|cross|left|inner|for)\M)\w+)?', '', 'gi'),
      case when c.body is not null then (select '(?:new|old)\s*\.\s*(?:' || x.columns || ')' from texts x where x.relid = t.relid) end, g.names
    from (select string_agg(audit.pattern_of(h.proname), '|') from tellers h
          where p.prosrc ~* audit.pattern_of(h.proname) and h.oid in (select callee from audit.calls(array[p.oid]))) g (names)
    cross join lateral (select case when t.relid is null or p.prosrc ~* 'notify' or g.names is not null then coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) end) c (body)
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
      select x collate "C" from unnest(array[case when t.relid is not null then '(?:new|old)' end, b.texts, audit.pattern_of(lower(t.tgoldtable)), audit.pattern_of(lower(t.tgnewtable))]) x where x is not null
      union
      select x collate "C" from read cross join lateral (values (alias), (format('%s\s*\.\s*(?:%s)', alias, columns)), (case when t.relid is null then format('(?<![.\w])(?:%s)', columns) end)) v (x) where x is not null
      union
      -- A row of what is read, by its columns.
      select format('%s\s*\.\s*(?:%s)', m[1], x.columns)
      from regexp_matches(lower(b.whole), '\mfor\s+(\w+)\s+in\s+(select\M[^;]*?)\mloop\M', 'g') m
      join texts x on x.relid = t.relid or m[2] ~ format('\m%s\M', audit.pattern_of(x.name))
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
  select 'warning', null, x.name, jsonb_build_object('object', pg_describe_object(x.classid, x.objid, 0)), 'it sends what is written to whoever listens: NOTIFY knows no policy', x.remedy
  from (select format(':(opfuncid|funcid) (%s) ', string_agg(f::text, '|')) from (select oid from tellers union select 'pg_notify(text,text)'::regprocedure) t (f)) s (calls)
  cross join lateral (
    select 'pg_constraint'::regclass, k.oid, n.name, format('alter %s %s drop constraint %I;', case when k.contypid = 0 then 'table' else 'domain' end, n.name, k.conname)
    from pg_constraint k cross join lateral (select coalesce(nullif(k.conrelid, 0)::regclass::text, k.contypid::regtype::text)) n (name)
    where k.conbin::text ~ s.calls and k.coninhcount = 0
      and (k.conrelid in (select relid from audit.relations()) or k.contypid in (select a.atttypid from pg_attribute a where a.attrelid in (select relid from audit.relations())))
    union all
    select 'pg_trigger', t.oid, t.tgrelid::regclass::text, format('drop trigger %I on %s;', t.tgname, t.tgrelid::regclass)
    from pg_trigger t where t.tgrelid in (select relid from audit.relations()) and t.tgqual::text ~ s.calls and t.tgparentid = 0) x (classid, objid, name, remedy)
$$;
--! EndIncluded audit/checks/triggers.sql
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
    ('function', 'app.adopt(regclass)', 'tms_owner', '', 'f591e50dec32df3bde89836de68878b8'),
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
    ('function', 'app.tenant_columns(regclass)', 'tms_owner', 'tms_auditor', '1285db90fed6c7c5173f5d0eee790325'),
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
    ('function', 'audit.by_owner(name,text)', 'tms_owner', 'tms_auditor', '4e04f5c576647e69123bd22d32c2e00a'),
    ('function', 'audit.calls(oid[])', 'tms_owner', 'tms_auditor', '506577231e438e942cd39073b1932415'),
    ('function', 'audit.check_app_reach()', 'tms_owner', 'tms_auditor', 'd21a7aa88bcebf8971f0f2a6f1f08527'),
    ('function', 'audit.check_audit_filtered()', 'tms_owner', 'tms_auditor', '21e137c95695a27e4efa9c15efa74d20'),
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', '6c045381d725d926e931d71b047e9f1d'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', 'fbf75b4d3bf5c6df5a219a5c3fa253c7'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', '4bc9a18d746772555f169d42aa4bb79e'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', '9808fd6afb2a79568d6a87031c4600f7'),
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
    ('function', 'audit.check_index_missing()', 'tms_owner', 'tms_auditor', '517eab548c62f3f29bb166e802c1138b'),
    ('function', 'audit.check_other_grants()', 'tms_owner', 'tms_auditor', '97160a28ce266da2b1c2db5a31194ccf'),
    ('function', 'audit.check_policy_changed()', 'tms_owner', 'tms_auditor', '28a0f3722760e6e67af5cb5f4d868c7c'),
    ('function', 'audit.check_policy_extra()', 'tms_owner', 'tms_auditor', 'c284abb96916f7827935560688102e71'),
    ('function', 'audit.check_policy_function()', 'tms_owner', 'tms_auditor', '64e514cc5b8d394facb12a777c043de2'),
    ('function', 'audit.check_policy_missing()', 'tms_owner', 'tms_auditor', '1832f482c5fcbef65005be1c1f5b11d1'),
    ('function', 'audit.check_publication()', 'tms_owner', 'tms_auditor', '2503ecbef3a841fc5ed77c8ccddcf372'),
    ('function', 'audit.check_registrar_reach()', 'tms_owner', 'tms_auditor', '0d8865ac4111ae12999b518c4b0597ed'),
    ('function', 'audit.check_rewrite_rule()', 'tms_owner', 'tms_auditor', 'dd5a90c6dae30ef82d55a76783ff3454'),
    ('function', 'audit.check_rights_missing()', 'tms_owner', 'tms_auditor', '1c8db2341db2d7618db6e12cff03dc04'),
    ('function', 'audit.check_rls_disabled()', 'tms_owner', 'tms_auditor', '85c222908747d1cb4afe38aa3b614687'),
    ('function', 'audit.check_rls_not_forced()', 'tms_owner', 'tms_auditor', '02fcf67fb0ad0ae6af9fe92ab719a004'),
    ('function', 'audit.check_role_attributes()', 'tms_owner', 'tms_auditor', '575531841992472c2d5c5bd200fbd9b6'),
    ('function', 'audit.check_role_membership()', 'tms_owner', 'tms_auditor', '074467003d1e988a68018b428e8e0a85'),
    ('function', 'audit.check_role_owns()', 'tms_owner', 'tms_auditor', '76f522701b48a9610786180fd9adb50a'),
    ('function', 'audit.check_role_settings()', 'tms_owner', 'tms_auditor', '88b2092e87c98cb20f3175a2c782e862'),
    ('function', 'audit.check_rows(text,uuid,bigint[])', 'tms_owner', 'tms_auditor', '651c1f10582d26a1c5f1132af0b74bad'),
    ('function', 'audit.check_schema_grants()', 'tms_owner', 'tms_auditor', '784d1c66ce98ffaa242030ed446c8405'),
    ('function', 'audit.check_server_settings()', 'tms_owner', 'tms_auditor', '53cabf313d770095a052541b2e7b8be6'),
    ('function', 'audit.check_server_version()', 'tms_owner', 'tms_auditor', '1effe665c994fb7dd9d0642cd57187c4'),
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', 'a787fc3c2e2d684ab2cf4edf7fde08d4'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '57e556d774dc091acb413beac4d7c085'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', '038808867f7687b3f4dcaa8a142d9c05'),
    ('function', 'audit.check_system_grants()', 'tms_owner', 'tms_auditor', 'e5f59db158c2f613ad503861b408e7b2'),
    ('function', 'audit.check_table_grants()', 'tms_owner', 'tms_auditor', '6fccbe665758eb03bb1d35ff22864e31'),
    ('function', 'audit.check_table_inherits()', 'tms_owner', 'tms_auditor', '5e53ec67c729538f5348748fe43800a2'),
    ('function', 'audit.check_table_missing()', 'tms_owner', 'tms_auditor', '7524886a3da1a186a81caa672129ebe3'),
    ('function', 'audit.check_table_owner()', 'tms_owner', 'tms_auditor', 'd0bd8997cf39991624d050c38da2d0b4'),
    ('function', 'audit.check_table_rules()', 'tms_owner', 'tms_auditor', '5ec7c0ad947f0600b5569f28b921caf8'),
    ('function', 'audit.check_table_without_tenant()', 'tms_owner', 'tms_auditor', 'd6743e3cfe567632da6335b40ab19515'),
    ('function', 'audit.check_tenant_id_function()', 'tms_owner', 'tms_auditor', '009eac3d0bb20586b9d0b1bdbfa2eff7'),
    ('function', 'audit.check_tenant_key()', 'tms_owner', 'tms_auditor', '0cbcc08455e462025d5549d1cc33a331'),
    ('function', 'audit.check_trigger_disabled()', 'tms_owner', 'tms_auditor', '7c0cb1bc42599f63e0c0af6176adb61f'),
    ('function', 'audit.check_trigger_notifies()', 'tms_owner', 'tms_auditor', 'c439fdc78c6bc9dac1bd1b5fa0ae2d51'),
    ('function', 'audit.check_trigger_rights()', 'tms_owner', 'tms_auditor', '24a73a70ba4361a35a20948c9cffd266'),
    ('function', 'audit.check_unique_key_missing()', 'tms_owner', 'tms_auditor', '77c4d1c04f0c03b76ac44007f87d4a6b'),
    ('function', 'audit.check_view_leaks()', 'tms_owner', 'tms_auditor', '73c39213314885829fcb9da9a196c2b5'),
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', 'b8eaa5b2b8990c1758e2c56d0f66bb03'),
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
    ('function', 'audit.paired_key(oid)', 'tms_owner', 'tms_auditor', '3b54936547466f211bee60c218da6b8d'),
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
    ('function', 'audit.table_remedies()', 'tms_owner', 'tms_auditor', '1244c999fcbccc4172a9ac13b5620ed6'),
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
