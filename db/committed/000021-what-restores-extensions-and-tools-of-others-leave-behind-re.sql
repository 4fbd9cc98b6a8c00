--! Previous: sha1:de5e8e5f790f4d72351bc77f593e16fb8358b708
--! Hash: sha1:c6549816cf1d38bd915706206fd9472c941324c6
--! Message: what restores, extensions and tools of others leave behind: remedies that end, fewer false errors, keys and slots that it did not see

set local citus.enable_ddl_propagation = off;
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
    'A rewrite rule on a tenants'' table, or one elsewhere that reaches tenants'' rows.', 'What it adds runs with the rights of the table''s owner.', 'Drop it.'),
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
  ('default_privileges', 'isolation_config', 'error', 'schema', true,
    'Default privileges that give tables, functions or large objects away as they are made: to everybody or a role of the service, or by one of the five to anybody else; in a schema of somebody else''s, or where policies still narrow, a warning.', 'A table is open from the moment it is made until somebody isolates it.', 'Revoke them.'),
  ('service_reach', 'isolation_config', 'error', 'schema', true,
    'The service''s login has a right on a table that it can get at, or on a function outside api; or api holds something else.', 'A login that can only call api functions cannot set a tenant and read it.', 'Revoke it.'),
  ('registrar_reach', 'isolation_config', 'error', 'schema', true,
    'tms_registrar reaches a tenants'' table beyond app.tenants and app.users.', 'It crosses tenants by design; its functions must have nothing to carry.', 'Revoke it.'),
  ('app_reach', 'isolation_config', 'error', 'schema', true,
    'tms_app or tms_registrar has a right on a table, view or foreign table that is no tenants'' table, or tms_app on a large object; a warning where requests only read it, or only write.',
    'What lies outside has no policy: whatever a request writes there, or somebody copies there, is every tenant''s.',
    'Revoke it; or give the table a tenant_id and call app.isolate().'),
  ('system_grants', 'isolation_config', 'error', 'schema', true,
    'A right of PUBLIC or of one of the five roles on a table, function, schema or parameter that Postgres ships, on a function of an extension, or on a foreign server, beyond those they come with; of anybody else on the statistics a warning.',
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
--! Included audit/relations.sql
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
               and not coalesce(has_any_column_privilege(to_regrole('tms_app'), c.oid, 'select, insert, update'), true))
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
  select * from audit.relations(null)
$$;
comment on function audit.relations() is
$$The tables that must keep tenants apart: app.tenants, and every table with a column tenant_id wherever it is, with their
partitions and children (is_child). The schemas control, audit and graphile_migrate hold no tenant's data; what pg_repack copies, and
pg_partman's templates, are nobody's to isolate.$$;

create or replace function audit.own_tables()
returns table (name text, columns text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('app.tenants', 'id uuid, name text, slug text, settings jsonb, status text, is_default boolean, registration jsonb null, created_at timestamptz, updated_at timestamptz'),
    ('app.users', 'tenant_id uuid null, id uuid, auth_provider text, auth_subject text, role text, created_at timestamptz, updated_at timestamptz, removed_at timestamptz null'),
    ('app.boards', 'tenant_id uuid null, id uuid, owner_id uuid, title text, settings jsonb, created_at timestamptz, updated_at timestamptz'),
    ('app.board_members', 'tenant_id uuid null, board_id uuid, user_id uuid, role text, invited_by uuid null, created_at timestamptz'),
    ('app.generations', 'tenant_id uuid null, id uuid, board_id uuid, user_id uuid, artifact_type text, status text, input jsonb, created_at timestamptz, completed_at timestamptz null'),
    ('app.media', 'tenant_id uuid null, id uuid, generation_id uuid, storage_url text, created_at timestamptz'),
    ('app.provider_configs', 'tenant_id uuid null, id uuid, provider_name text, config jsonb, is_enabled boolean, created_at timestamptz, updated_at timestamptz'),
    ('app.credit_transactions', 'tenant_id uuid null, id uuid, user_id uuid, generation_id uuid null, type text, amount bigint, balance_after bigint, created_at timestamptz')
$$;

comment on function audit.own_tables() is 'The service''s own tables: name, and the columns that the audit relies on with their types, null where they may be null.';

-- The keys of the service's own tables: a dropped constraint is no longer in the catalog to be missed.
drop function if exists audit.expected_references(); -- its columns may change between releases
create or replace function audit.expected_references()
returns table (child text, child_column name, parent text, constraint_name name, cascades boolean)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('app.boards', 'owner_id'::name, 'app.users', 'boards_owner'::name, false),
    ('app.board_members', 'board_id', 'app.boards', 'board_members_board', true),
    ('app.board_members', 'user_id', 'app.users', 'board_members_user', true),
    ('app.board_members', 'invited_by', 'app.users', 'board_members_inviter', false),
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
      and not (ca.attname = cr.tenant_column and pa.attname = pr.tenant_column)
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
  select * from audit.tenant_references(null)
$$;
comment on function audit.tenant_references() is
$$How tenants' tables refer to each other, without the tenant columns: every foreign key in the catalog, and those of the
service's own tables that are no longer there (constraint_name null), even when their column is gone: the check then fails.$$;
--! EndIncluded audit/relations.sql
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
          k.contype = 'f' and k.conparentid = 0 and k.confrelid is distinct from to_regclass('app.tenants')
          or k.contype = 'c' and k.coninhcount = 0 and not (k.convalidated and coalesce((to_jsonb(k) ->> 'conenforced')::boolean, true)))))
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
  v_state text;
  v_hint text;
  v_limit bigint;
begin
  begin
    outcomes := array(select o from audit.examine(p_pass, p_tenant_id, p_sample) o);
  exception when others or query_canceled or assert_failure then
    get stacked diagnostics v_state = returned_sqlstate, failure = message_text, v_hint = pg_exception_hint;
    v_limit := (select setting::bigint from pg_settings where name = 'statement_timeout');
    if v_state = '57014' and (failure ~ 'user request' or v_limit = 0
                              or clock_timestamp() < statement_timestamp() + v_limit * interval '1 millisecond') then
      raise;
    end if;
  end;
  if failure is not null then
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
    join pg_attribute a on a.attrelid = r.relid and a.attname <> 'tenant_id'
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
         when e.cascades and c.confdeltype <> 'c' then format('the foreign key %I has lost its ON DELETE CASCADE: what should go with a row keeps it from being deleted', r.constraint_name)
         when not e.cascades and c.confdeltype = 'c' then format('the foreign key %I has an ON DELETE CASCADE: what should keep a row from being deleted goes with it', r.constraint_name) end,
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
        and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey)
      then format('no index leads with the columns of the foreign key %I: deletes and look-ups read other tenants'' rows, and their time tells', c.conname) end,
    format('create index %son %s (%s);', case when p.relkind = 'p' then '' else 'concurrently ' end, c.conrelid::regclass,
      (select string_agg(quote_ident(a.attname), ', ' order by k.n) from unnest(c.conkey) with ordinality as k (attnum, n)
       join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum))
  from pg_constraint c join audit.relations() r on r.relid = c.conrelid and not r.is_child
  join pg_class p on p.oid = c.conrelid
  -- Of what all tenants share no request deletes anything.
  where c.contype = 'f' and c.confrelid in (select t.relid from audit.relations() t)
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
    case when not exists (select from unique_indexes u where u.relid = k.relid and u.columns = k.columns and u.conname = k.name)
      then format('no constraint %s keeps (%s) unique', k.name, k.list) end,
    -- The name may be taken: by another constraint, by an index that is none, or by one that only wants to become one.
    case
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
    select format(E'alter table %1$s drop constraint %2$I; -- then give %3$s a key (tenant_id, %5$s), if it has none, and:\nalter table %1$s add constraint %2$I foreign key (tenant_id, %4$s) references %3$s (tenant_id, %5$s)%6$s%7$s%8$s;',
      r.relid, c.conname, c.confrelid::regclass, o.child, o.parent,
      case c.confdeltype when 'c' then ' on delete cascade' when 'r' then ' on delete restrict' when 'n' then format(' on delete set null (%s)', o.emptied)
        when 'd' then format(' on delete set default (%s)', o.emptied) end,
      case c.confupdtype when 'c' then ' on update cascade' when 'r' then ' on update restrict' end,
      case when c.condeferred then ' deferrable initially deferred' when c.condeferrable then ' deferrable' end)
    from pg_constraint c
    cross join lateral (
      select string_agg(quote_ident(a.attname), ', ' order by u.n) as child, string_agg(quote_ident(b.attname), ', ' order by u.n) as parent,
        string_agg(quote_ident(a.attname), ', ' order by u.n) filter (where c.confdelsetcols is null or u.child = any (c.confdelsetcols)) as emptied
      from unnest(c.conkey, c.confkey) with ordinality as u (child, parent, n)
      join pg_attribute a on a.attrelid = c.conrelid and a.attnum = u.child
      join pg_attribute b on b.attrelid = c.confrelid and b.attnum = u.parent
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
  select 'error', null::uuid, r.relid::text, jsonb_build_object('rule', w.rulename),
    case when w.oid is not null then format('the rule %I rewrites statements on the table with the rights of its owner', w.rulename) end,
    'drop rule ' || quote_ident(w.rulename) || ' on ' || r.relid || ';'
  from audit.relations() r left join pg_rewrite w on w.ev_class = r.relid
  union all
  -- And one on anything else that gets there.
  select distinct 'error', null::uuid, w.ev_class::regclass::text, jsonb_build_object('rule', w.rulename),
    format('the rule %I reaches %s with the rights of the owner, %s', w.rulename, d.refobjid::regclass, o.relowner::regrole),
    'drop rule ' || quote_ident(w.rulename) || ' on ' || w.ev_class::regclass || ';'
  from pg_rewrite w
  join pg_class o on o.oid = w.ev_class
  join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
  join pg_class c on c.oid = d.refobjid
  where w.rulename <> '_RETURN' and w.ev_class not in (select relid from audit.relations())
    and (c.oid in (select relid from audit.relations()) or c.relnamespace in (to_regnamespace('control'), to_regnamespace('audit')))
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
      -- What everybody may, as it shipped, a role may also be given by name: the set-up of pg_partman does.
      select from aclexplode(coalesce(i.initprivs, acldefault(s.since, s.owner))) x
      where x.privilege_type = a.privilege_type and (x.grantee = a.grantee or x.grantee = 0 and s.kind = 'function' and x.privilege_type in (
        select y.privilege_type from aclexplode(s.acl) y where y.grantee = 0)))
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
  select case when w.ours then 'error' else 'warning' end, null::uuid, case when kind = 'table' then name end, jsonb_build_object('object', name, 'role', w.who, 'privilege', privilege_type),
    format('%s has %s%s on the %s %s, which Postgres and its extensions do not grant by default', w.who, privilege_type, col, kind, name),
    format('revoke %s%s on %s %s from %s; -- as a superuser', privilege_type, col, kind, name, w.who)
  from given
  cross join lateral (select audit.role_name(grantee), audit.role_name(grantee) = any (array_append(audit.our_roles(), 'public'))) as w (who, ours)
  -- Statistics hold tenants' values, whoever reads them.
  where w.ours or kind = 'table' and name in ('pg_statistic', 'pg_statistic_ext_data')
$$;
--! EndIncluded audit/checks/grants.sql
--! Included audit/checks/reach.sql
-- How far the roles that work for requests get, by whatever way: grants to them or to PUBLIC, policies, ownership.
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
    -- A view's readers keep it, as by the remedy of view_leaks: `create or replace view` takes the option away.
    case when c.relkind = 'v' and c.oid not in (select audit.of_extensions('pg_class')) then format('alter view %s set (security_invoker = true);', c.oid::regclass)
         else format('revoke all on table %s from %s, public;', c.oid::regclass, r.name) || case when c.oid in (select audit.of_extensions('pg_class')) then audit.by_moving(c.oid) else '' end end
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
    and c.oid not in (select relid from audit.relations())
    -- Of these table_without_tenant tells how to isolate them, which the revoke would undo.
    and not (r.name = 'tms_app' and exists (select from pg_constraint f where f.conrelid = c.oid and f.confrelid in (select relid from audit.relations())))
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
                              when 'audit' then array['tms_owner'] else array['tms_owner', 'tms_app', 'tms_auditor'] end)
      then format('%s owns the function, so that it runs with rights that no policy was written for', f.owner) end,
    format(case when o.owner <> 'tms_owner' and f.owner = 'tms_owner'
             then 'grant create on schema %1$s to %3$s; alter routine %2$s owner to %3$s; revoke create on schema %1$s from %3$s;'
             else 'alter routine %2$s owner to %3$s;' end, f.schema, f.name, o.owner)
  from audit.functions() f
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name
  left join audit.accepted a on a.kind = 'function' and a.name = f.name
  cross join lateral (select coalesce(m.owner, a.owner, case when f.schema = 'api' then 'tms_app' else 'tms_owner' end)) o (owner)
  where f.own
  union all
  -- What a row is made and tested with runs as whoever writes it; in a policy as who reads it, in statistics as the table's owner.
  -- Followed for all tables at once: for one at a time the planner would expect as many rows, and clear a table of their size, for each.
  select 'error', null, r.relid::text, case when c.name is null then '{}' else jsonb_build_object('uses', c.name) end,
    case when not (o.rolname in ('tms_app', 'tms_registrar', 'tms_auditor') or pg_has_role(o.oid, to_regrole('tms_owner'), 'member'))
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
        select 'pg_class'::regclass, typrelid from pg_type where u.classid = 'pg_type'::regclass and oid = u.objid
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
           case when not f.reached then format('; none of the service''s roles may execute it, but %s', case when 'public' = any (string_to_array(f.granted, ' ')) then format('whoever may use the schema %I', f.schema)
             else coalesce(nullif(replace(f.granted, ' ', ', '), ''), 'its owner only') end) end) end,
    -- Of the service's own functions it is the role that is wrong.
    case when f.own and f.owner in ('tms_owner', 'tms_registrar', 'tms_auditor', 'tms_app') then '-- as an administrator:' || E'\n\\i db/roles.sql'
         when f.own and coalesce(m.owner, a.owner) is not null then format('alter routine %s owner to %s;', f.name, coalesce(m.owner, a.owner))
         when not f.reached and not h.holds then audit.by_acceptance(f.name, f.owner, 'security invoker')
         else audit.by_owner(f.owner, format('alter routine %s security invoker;', f.name)) || coalesce(
           (select format(' -- or: revoke execute on routine %s from %s;', f.name, string_agg(w, ', ' order by w)) from unnest(string_to_array(f.granted, ' ')) w
            where not f.own and w = any (array_append(audit.our_roles(), 'public')) having count(*) > 0), '') end
  from audit.functions() f join pg_roles r on r.rolname = f.owner
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name
  left join audit.accepted a on a.kind = 'function' and a.name = f.name
  cross join lateral (
    select not r.rolsuper and exists (
      select from pg_roles t where t.rolname in ('tms_owner', 'tms_registrar', 'tms_auditor', 'tms_app') and pg_has_role(r.oid, t.oid, 'usage')) as holds) h
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
        select from pg_constraint k where k.conrelid = r.relid and (k.confdeltype in ('n', 'd') or k.confupdtype in ('c', 'n', 'd'))))
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
    select case when l.lanname = 'plpgsql' then regexp_replace(regexp_replace(regexp_replace(p.prosrc, '--[^\n]*', ' ', 'g'), '/\*.*?\*/', ' ', 'g'), '''[^'']*''', '', 'g') else 'execute' end
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
    case when f.reached then audit.by_owner(f.owner, format('alter routine %s %s;', f.name, n.path)) else audit.by_acceptance(f.name, f.owner, n.path) end
  from audit.functions() f
  join pg_proc p on p.oid = f.oid
  join pg_language l on l.oid = p.prolang
  left join lateral (select substr(x, 13) as path from unnest(f.config) x where x like 'search\_path=%') c on true
  -- Elsewhere it may count on its schema, or on those that it names.
  cross join lateral (
    select format('set search_path = %s, pg_temp', case when f.own then 'pg_catalog'
      else coalesce(regexp_replace(nullif(c.path, '""'), '"?pg_temp"?, *', '', 'g'), 'pg_catalog, ' || quote_ident(f.schema)) end)) n (path)
  where l.lanname not in ('c', 'internal')
$$;

create or replace function audit.check_function_settings()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when c.setting is not null and not f.vouched and not (f.schema = 'control' and c.setting = 'row_security=on')
      then format('the function sets %s', c.setting) end,
    case when f.reached and lower(split_part(c.setting, '=', 1)) in ('role', 'row_security')
           then audit.by_owner(f.owner, format('alter routine %s reset %s;', f.name, split_part(c.setting, '=', 1)))
         when f.reached then format('alter routine %s reset %s; -- as a superuser, who alone may set it', f.name, split_part(c.setting, '=', 1))
         else audit.by_acceptance(f.name, f.owner, 'reset ' || split_part(c.setting, '=', 1)) end
  from audit.functions() f
  left join lateral (
    select x as setting from unnest(f.config) x
    where lower(split_part(x, '=', 1)) in ('role', 'session_authorization', 'row_security', 'session_replication_role', 'app.tenant_id', 'app.maintenance', 'app.actor')) c on true
$$;

-- A setting for the session outlives the request; the next one on the same connection is somebody else's. What the release
-- itself brought (audit.manifest) was read then, and is not read again here. SET or RESET stands at the beginning of a statement, which may be
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
           or b.sets ~* '<(re)?set>\s+((session|local)\s+)?"?(role|session(\s+|_)authorization|row_security|session_replication_role)\M'
           or b.code ~* 'set_config\s*\([^;]*(''|\$)(role|session_authorization|row_security|session_replication_role)(''|\$)'
           then 'the function changes the role, or how policies and triggers apply to it' end,
    format(case when f.reached then 'select pg_get_functiondef(%1$L::regprocedure); -- look at it; inside a tenant: perform app.set_tenant(…)'
                else 'select pg_get_functiondef(%1$L::regprocedure); -- read it, then: select audit.accept(%1$L);' end, f.name)
  from audit.functions() f
  -- Not in one expression: with an alternative in it, it would take all between the first and the last comment.
  cross join lateral (select regexp_replace(regexp_replace(f.body, '--[^\n]*', ' ', 'g'), '/\*.*?\*/', ' ', 'g')) c (code)
  cross join lateral (
    select c.code, regexp_replace(c.code, '(?<!(\|\||\mraise(\s+\w+)?)\s*)(''|\$)\s*(re)?set\M', '<\2set>', 'gi')
      || regexp_replace(regexp_replace(c.code, '''[^'']*''', '', 'g'), '(^|;|\mbegin|\mthen|\melse|\mloop)\s*(re)?set\M', '<\2set>', 'gi')) b (code, sets)
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name and m.body = audit.definition_hash(f.oid)
  where f.schema <> 'audit' -- remedies there name what is looked for
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
  -- An aggregate is what its functions are, and by itself always internal.
  cross join lateral (
    select l.lanname
    from (select f.oid where f.kind <> 'a'
          union all
          select refobjid from pg_depend where f.kind = 'a' and classid = 'pg_proc'::regclass and objid = f.oid and refclassid = 'pg_proc'::regclass
            and refobjid not in (select audit.of_extensions('pg_proc'))) x
    join pg_proc p on p.oid = x.oid
    -- An untrusted one that somebody marked as trusted still has its name.
    join pg_language l on l.oid = p.prolang and (not l.lanpltrusted or l.lanname like 'pl%u')
    limit 1) l
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
  -- Those of Postgres that are so were made in one transaction, before there were others.
  select 'warning', null, f.oid::regprocedure::text, '{}'::jsonb, 'Postgres did not make the function LEAKPROOF, and somebody did: it is run on rows before the policy is',
    format('alter function %s not leakproof; -- as a superuser', f.oid::regprocedure)
  from pg_proc f
  where f.proleakproof and f.oid < 16384 and f.proname <> 'uuid_eq' and f.xmin <> (select xmin from pg_proc where oid = 'pg_catalog.uuid_lt(uuid,uuid)'::regprocedure)
  union all
  select 'error', null, 'uuid_eq(uuid,uuid)', '{}'::jsonb,
    case when not proleakproof then 'the comparison in every policy is not leakproof: conditions of a query may be run before it, on any tenant''s rows' end,
    'alter function pg_catalog.uuid_eq(uuid, uuid) leakproof;'
  from pg_proc where oid = 'pg_catalog.uuid_eq(uuid,uuid)'::regprocedure
$$;
--! EndIncluded audit/checks/functions.sql
--! Included audit/checks/changes.sql
-- What a release made, compared with what is there: the functions by what they are and who may call them, and the triggers on
-- the service's own tables. Somebody's hand, or a migration that forgot the list, is told from the release either way.
create or replace function audit.installed()
returns table (kind text, name text, owner text, granted text, body text, definer boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'function', f.name, f.owner::text, f.granted, case when f.name <> 'audit.manifest()' then audit.definition_hash(f.oid) else '' end, f.definer
  from audit.functions() f
  where f.own
  union all
  -- On Citus those of app.tenants are on the coordinator's own copy (db/distribute.sql), which it shows to nobody in pg_class.
  select 'trigger', format('%I on %s', t.tgname, w.name), '', '', audit.short_hash(replace(pg_get_triggerdef(t.oid), format(' ON %s ', t.tgrelid::regclass), format(' ON %s ', w.name))
    -- The service's own are compared by themselves.
    || case when p.pronamespace not in (select to_regnamespace(s) from unnest(array['app', 'api', 'control', 'audit']) s) then audit.definition_hash(p.oid) else '' end), false
  from pg_trigger t
  join pg_proc p on p.oid = t.tgfoid
  cross join lateral (
    select case when app.is_distributed() then regexp_replace(t.tgrelid::regclass::text, '^app\.tenants_\d+$', 'app.tenants') else t.tgrelid::regclass::text end) w (name)
  where not t.tgisinternal and t.tgparentid = 0
    and (w.name ~ '^(control|audit)\.' or w.name in (select o.name from audit.own_tables() o))
  union all
  select 'event trigger', quote_ident(e.evtname), '', '', audit.short_hash(concat_ws('|', e.evtevent, e.evttags::text, e.evtfoid::regprocedure, audit.definition_hash(e.evtfoid))), false
  from pg_event_trigger e
  where e.oid not in (select audit.of_extensions('pg_event_trigger'))
$$;

comment on function audit.installed() is
$$The functions of the service's schemas, the triggers on its tables and the event triggers, as they are: owner, who may execute
(granted) and a hash of the definition (body). The same columns as audit.manifest(), which says what the release brought.$$;

create or replace function audit.accept(p_name text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into audit.accepted as a (kind, name, owner, granted, body)
  select i.kind, i.name, i.owner, i.granted, i.body
  from (
    select kind, name, owner, granted, body from audit.installed()
    union all
    select 'function', name, owner, granted, audit.definition_hash(oid) from audit.functions() where not own) i
  where i.name = p_name and i.name not in (select m.name from audit.manifest() m)
  on conflict (kind, name) do update
  set owner = excluded.owner, granted = excluded.granted, body = excluded.body, accepted_at = now(), accepted_by = session_user;
  if not found then
    raise exception using errcode = 'undefined_function', message = format('%s is not a function or trigger of your own', p_name),
      hint = 'select name from audit.installed() where name not in (select name from audit.manifest()) union select name from audit.functions() where not own;';
  end if;
end
$$;
comment on function audit.accept(text) is
$$Vouches for a function or trigger of one's own, as it is now: app.my_function(uuid), my_trigger on app.boards; for an event trigger; or for a
function outside the service's schemas, whoever owns it. As tms_owner. What differs from it later is function_changed; outside, it is found again by
the checks that found it before, which never stop finding what one of the five roles may execute. delete from audit.accepted takes it back. Raises
42883 where there is none.$$;

create or replace function audit.check_function_changed()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when m.name is null and f.kind <> 'function' then 'warning'
              when m.name is null or f.name is null or f.body <> m.body or f.owner <> m.owner or x.public then 'error' else 'warning' end,
    null::uuid, null, jsonb_build_object(coalesce(m.kind, f.kind), coalesce(m.name, f.name)),
    nullif(concat_ws('; ',
      case when f.name is null then format('the %s %s is not there', m.kind, m.name)
           when m.name is null and f.kind <> 'function' then format('the %s %s is not of this release: it does what it likes inside %s', f.kind, f.name,
             case f.kind when 'trigger' then 'every request' else 'sessions of all roles' end)
           when m.name is null and f.definer then format('the function is not of this release, and runs with the rights of %s', f.owner)
           when f.body <> m.body then format('the %s is not what the release made', f.kind)
           when f.owner <> m.owner then format('the function belongs to %s instead of %s', f.owner, m.owner) end,
      case when x.more <> '' then format('%s may execute it, and should not', x.more) end), ''),
    case when f.body = m.body and f.owner <> m.owner then format(case when m.owner = 'tms_owner' then 'alter routine %2$s owner to %3$s;'
           else 'grant create on schema %1$I to %3$s; alter routine %2$s owner to %3$s; revoke create on schema %1$I from %3$s;' end, split_part(m.name, '.', 1), m.name, m.owner)
         when m.accepted then format(case when f.name is null then 'delete from audit.accepted where name = %L;' else 'select audit.accept(%L); -- once you have read it' end, m.name)
         when f.name is null or f.body <> m.body then 'restore it from db/committed of this release, or from a backup'
         -- Only a superuser makes one: on a managed server that is the provider.
         when m.name is null and f.kind = 'event trigger' then format('select audit.accept(%1$L); -- once you have read its function; or, as its owner: drop event trigger %1$s;', f.name)
         -- Dropped while it works, the copy that takes the table's place would lack rows.
         when f.name like 'repack\_trigger on %' then '-- unless pg_repack is at work:' || E'\ndrop extension pg_repack cascade; create extension pg_repack;'
         when m.name is null and f.kind <> 'function' then format('drop %s %s; -- or, once you have read it: select audit.accept(%L);', f.kind, f.name, f.name)
         -- There nothing else may be but a definer.
         when m.name is null and f.name like 'api.%' then format('select audit.accept(%1$L); -- once you have read it; or, as %2$I: drop routine %1$s;', f.name, f.owner)
         when m.name is null then audit.by_owner(f.owner, format('alter routine %s security invoker;', f.name)) || format(' -- or, once you have read it: select audit.accept(%L);', f.name)
         else audit.by_owner(f.owner, format('revoke execute on routine %s from %s;', f.name, x.more)) end
  from (
    select *, false as accepted from audit.manifest()
    union all
    -- What a release brings by now under the same name is the release's. Functions elsewhere are audit.functions()'s to compare.
    select kind, name, owner, granted, body, true from audit.accepted a
    where (a.kind <> 'function' or a.name ~ '^(app|api|control|audit)\.') and not exists (select from audit.manifest() x where x.kind = a.kind and x.name = a.name)) m
  full join audit.installed() f on f.kind = m.kind and f.name = m.name
  cross join lateral (
    select string_agg(w.who, ', ') as more, bool_or(w.who = 'public' or w.who like 'tms\_%') as public
    -- A name in quotes may have blanks in it.
    from (select (regexp_matches(f.granted, '"(?:[^"]|"")+"|[^ ]+', 'g'))[1]) w (who)
    where w.who <> all (string_to_array(m.granted, ' '))) x
$$;
--! EndIncluded audit/checks/changes.sql
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
    ('function', 'api.get_readiness(text)', 'tms_registrar', 'tms_service', '2d014f472627080349fe363cec47ab14'),
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
    ('function', 'app.isolate(regclass,boolean)', 'tms_owner', '', '88fb0304b9e7be4eeb21138a5e14abe4'),
    ('function', 'app.isolation_advice()', 'tms_registrar', '', '988d42ab55152904697d76d9421641ca'),
    ('function', 'app.isolation_breaches()', 'tms_registrar', '', '9476734f3d3b943216a0a8d1859aeec4'),
    ('function', 'app.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', 'b7ac6dd1fcff487126c149995f4b5e60'),
    ('function', 'app.last_audit()', 'tms_owner', 'tms_registrar', 'c88a4e3575ea09c274ca35f2186f32c3'),
    ('function', 'app.leaking_tables()', 'tms_app', 'tms_auditor tms_registrar', 'da40bfed1c55f43ccbe19e35462c037e'),
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
    ('function', 'app.require_member_admin(text,text)', 'tms_owner', 'tms_app', 'd8ca10ef652aadb1df2c118d18e1f244'),
    ('function', 'app.require_operator(text,text,text,text,text,text)', 'tms_registrar', '', 'cb53aa9b3e4769955e3bfc93a31352aa'),
    ('function', 'app.require_own_table(regclass)', 'tms_owner', 'tms_app tms_auditor', '372ed04befe2137666ccc0d3cd708e48'),
    ('function', 'app.require_status(app.tenants,text)', 'tms_owner', 'tms_registrar', 'b7e177058b7adfc35ee4d44f1917d91e'),
    ('function', 'app.schema_version()', 'tms_owner', 'tms_auditor tms_registrar', '81db2cc5b5ba419c5ace31eb05c7159e'),
    ('function', 'app.set_actor(text,text)', 'tms_owner', 'tms_registrar', '9fd716fca6d98ef85a81a4d0f9f5c190'),
    ('function', 'app.set_tenant(uuid)', 'tms_owner', 'tms_app tms_auditor tms_registrar', '5bd687a778e41bab3fe0cc75b0c20b2b'),
    ('function', 'app.shown_rows(uuid,integer)', 'tms_app', 'tms_auditor tms_registrar', '66704d878ad84c6f8985f81fd7c28633'),
    ('function', 'app.table_faults(regclass)', 'tms_owner', 'tms_auditor', 'f232c83feedde5096a7363d3cf056b4c'),
    ('function', 'app.tenant_id()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '9ca56ffeefeb0f10be11edde77d2f7dd'),
    ('function', 'app.tenant_json(app.tenants)', 'tms_owner', 'tms_app tms_registrar', '8faf545777e3b615ad9a588fe6b965a2'),
    ('function', 'app.tenant_page(integer,timestamp with time zone,uuid,text,text)', 'tms_registrar', '', '575d522375a1ff1ca17600e75e0e0e46'),
    ('function', 'app.tenant_tables()', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'a77714c0f71463977127d50ee1073861'),
    ('function', 'app.unprotected_tables()', 'tms_owner', 'tms_auditor tms_registrar', '609ab7da46f1b9e59e8d76437af5b647'),
    ('function', 'app.write_policies(regclass,name)', 'tms_owner', '', '16bf88379de7de608f081636ff88db64'),
    ('function', 'audit.accept(text)', 'tms_owner', 'tms_auditor', 'a131f7ffd9b349922fbb3b68f5036bd7'),
    ('function', 'audit.attempt(text,uuid,integer)', 'tms_owner', 'tms_auditor', 'f3bf0d78fb9b4c38844f64e3de4a26ea'),
    ('function', 'audit.by_acceptance(text,name,text)', 'tms_owner', 'tms_auditor', '5826636805fef7739d6dad7a137f91e0'),
    ('function', 'audit.by_giving_back(text,name)', 'tms_owner', 'tms_auditor', '539c547f771286c1bf9b89bb697510e7'),
    ('function', 'audit.by_moving(oid)', 'tms_owner', 'tms_auditor', 'ab75ac7ffd423e2577b0c5f358611d14'),
    ('function', 'audit.by_owner(name,text)', 'tms_owner', 'tms_auditor', '1c05b8ac43add9b39123ae59a0526038'),
    ('function', 'audit.check_app_reach()', 'tms_owner', 'tms_auditor', '0d48dddb6e228de6a390d81b44feed48'),
    ('function', 'audit.check_audit_filtered()', 'tms_owner', 'tms_auditor', 'f6a1962925c49cd55de0af372a980648'),
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', 'e3980905d4256cabdad3abd6e55fe23f'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', 'fbf75b4d3bf5c6df5a219a5c3fa253c7'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', '4bc9a18d746772555f169d42aa4bb79e'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', 'f23437cbacde9da8f8bb2717e17c6003'),
    ('function', 'audit.check_foreign_table()', 'tms_owner', 'tms_auditor', 'dd7744f8f790a391194de8e7aa04c671'),
    ('function', 'audit.check_function_body()', 'tms_owner', 'tms_auditor', '2249bda66bc776ff094465994ed1732a'),
    ('function', 'audit.check_function_bypass()', 'tms_owner', 'tms_auditor', '14ab4e7914e212becf0f472d7eced6a2'),
    ('function', 'audit.check_function_changed()', 'tms_owner', 'tms_auditor', '4f5676fc829d00fe20dfd02be9783115'),
    ('function', 'audit.check_function_leakproof()', 'tms_owner', 'tms_auditor', 'd77af029401976b475f7199ef15487bc'),
    ('function', 'audit.check_function_owner()', 'tms_owner', 'tms_auditor', '310efb22cf0c443834e9676127d8e257'),
    ('function', 'audit.check_function_public()', 'tms_owner', 'tms_auditor', '7ddb696d506b8159aebda1ff7ae97553'),
    ('function', 'audit.check_function_search_path()', 'tms_owner', 'tms_auditor', 'dca178e23aee4cf029eac64678b0017e'),
    ('function', 'audit.check_function_security()', 'tms_owner', 'tms_auditor', 'ce251b1eb7abf63c86ec57f92b3072ce'),
    ('function', 'audit.check_function_settings()', 'tms_owner', 'tms_auditor', 'b47ac2d648d1ae22490277dac35c49e8'),
    ('function', 'audit.check_index_missing()', 'tms_owner', 'tms_auditor', 'b544bf59f5d2009acc58b99acaca86c4'),
    ('function', 'audit.check_other_grants()', 'tms_owner', 'tms_auditor', 'dbf04985d622cc40230bb7ec9f76bb8c'),
    ('function', 'audit.check_policy_changed()', 'tms_owner', 'tms_auditor', '28a0f3722760e6e67af5cb5f4d868c7c'),
    ('function', 'audit.check_policy_extra()', 'tms_owner', 'tms_auditor', 'c284abb96916f7827935560688102e71'),
    ('function', 'audit.check_policy_function()', 'tms_owner', 'tms_auditor', '3ed161d51f66125a3998b82f1ec1cd8b'),
    ('function', 'audit.check_policy_missing()', 'tms_owner', 'tms_auditor', '1832f482c5fcbef65005be1c1f5b11d1'),
    ('function', 'audit.check_publication()', 'tms_owner', 'tms_auditor', '566a00097081d7764931cdb37af7dd97'),
    ('function', 'audit.check_registrar_reach()', 'tms_owner', 'tms_auditor', '0d8865ac4111ae12999b518c4b0597ed'),
    ('function', 'audit.check_rewrite_rule()', 'tms_owner', 'tms_auditor', '8c0b88682bc41535117ca19f80752ff4'),
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
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', '158c11306d3dc787d8155ca8a9473948'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '57e556d774dc091acb413beac4d7c085'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', 'ea7948ade84356dca011bc420f852827'),
    ('function', 'audit.check_system_grants()', 'tms_owner', 'tms_auditor', '8143ce86140a99a246dc0d9193beabaf'),
    ('function', 'audit.check_table_grants()', 'tms_owner', 'tms_auditor', '17cc5d1c45ebea43fb3409ec48ddb3d5'),
    ('function', 'audit.check_table_inherits()', 'tms_owner', 'tms_auditor', '0ba207f4146feb218cc8b13711ee9f1a'),
    ('function', 'audit.check_table_missing()', 'tms_owner', 'tms_auditor', 'd13d37376b3026061141500c441c1bcc'),
    ('function', 'audit.check_table_owner()', 'tms_owner', 'tms_auditor', 'cc9f419bf6de76dfa0e9ea8ff8d420e5'),
    ('function', 'audit.check_table_rules()', 'tms_owner', 'tms_auditor', '82d2133c39278f6d2cdb722dc7afa83f'),
    ('function', 'audit.check_table_without_tenant()', 'tms_owner', 'tms_auditor', '947e5892b33ea04ea7eb66a5c95b9c9d'),
    ('function', 'audit.check_tenant_id_function()', 'tms_owner', 'tms_auditor', 'be3f439878e18252ab4495eab95f1f42'),
    ('function', 'audit.check_tenant_key()', 'tms_owner', 'tms_auditor', 'bab30b90b68842e7a8fbb0262dd6d093'),
    ('function', 'audit.check_trigger_disabled()', 'tms_owner', 'tms_auditor', 'd99ff818e85d5d623a9751e3d1881098'),
    ('function', 'audit.check_trigger_rights()', 'tms_owner', 'tms_auditor', '63b7d44067da783d848196c7cd8ce054'),
    ('function', 'audit.check_unique_key_missing()', 'tms_owner', 'tms_auditor', 'd43abea332e859e4b3d714e33c9341e0'),
    ('function', 'audit.check_view_leaks()', 'tms_owner', 'tms_auditor', '7871c909258d9ace0e43124e55abd457'),
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', '64e474b1b9ea9ba3575662e954e69bb8'),
    ('function', 'audit.count_lost_tenants(regclass)', 'tms_owner', 'tms_auditor', '48b396076d73de4b2c083a0baae79bb0'),
    ('function', 'audit.count_suspects(text,text[],regclass,name)', 'tms_owner', 'tms_auditor', '7296026bfb4ca52aacd5ce67d4b34484'),
    ('function', 'audit.data_checks()', 'tms_owner', 'tms_auditor', '285d810f5dd35fb5c0609e9c3220435e'),
    ('function', 'audit.default_of(text)', 'tms_owner', 'tms_auditor', '7ffd506ec2b343ed196fd1dc2857e94f'),
    ('function', 'audit.definition_hash(oid)', 'tms_owner', 'tms_auditor', '7d4595e6b1840c52b7456efb9f44930d'),
    ('function', 'audit.examine(text,uuid,integer)', 'tms_owner', 'tms_auditor', '723c6c39873af3a5503b46a5b3497cd0'),
    ('function', 'audit.expected_policies()', 'tms_owner', 'tms_auditor', '810802f6e382d99beb56fb3330870c7a'),
    ('function', 'audit.expected_references()', 'tms_owner', 'tms_auditor', 'b1fe44c1e3cfed3cdf5309b193602aee'),
    ('function', 'audit.filter_of(regclass)', 'tms_owner', 'tms_auditor', '733692876d5e6582a29c2d0d563f1f6e'),
    ('function', 'audit.find_tenant(text)', 'tms_owner', 'tms_auditor', 'f7af4ca5e9972e7e92aaf3bdbc4f1cc2'),
    ('function', 'audit.finish_run(bigint)', 'tms_owner', 'tms_auditor', 'fda1a2edc4f2b4cfdd811652e24d622a'),
    ('function', 'audit.functions()', 'tms_owner', 'tms_auditor', 'f548d847bde40d85a06c20de765cc3fb'),
    ('function', 'audit.has_rows(regclass,name,uuid)', 'tms_owner', 'tms_auditor', 'cb2a97af9c825ca6d0c8316bc29a0674'),
    ('function', 'audit.installed()', 'tms_owner', 'tms_auditor', '1f949c4b253075977eca6e03c27dd8a2'),
    ('function', 'audit.is_inherited(regclass)', 'tms_owner', 'tms_auditor', 'a7ea746ec51ec75d5477d08197fbe8c5'),
    ('function', 'audit.is_never_null(regclass,name)', 'tms_owner', 'tms_auditor', '0d8d1f65be045d42ac17782b75a8bb76'),
    ('function', 'audit.is_proved(regclass,text)', 'tms_owner', 'tms_auditor', '25837b3aecfc0e552fc5207e2f3ff9ee'),
    ('function', 'audit.is_unique(regclass,name[])', 'tms_owner', 'tms_auditor', '92bfe836b03b4d95b5748060a3c337d6'),
    ('function', 'audit.manifest()', 'tms_owner', 'tms_auditor', ''),
    ('function', 'audit.of_extensions(regclass)', 'tms_owner', 'tms_auditor', '63192a2e82a10dce9e01cb456178e100'),
    ('function', 'audit.our_roles()', 'tms_owner', 'tms_auditor', '5dab71b472e5360b7a2ae17eb1cd2f43'),
    ('function', 'audit.own_tables()', 'tms_owner', 'tms_auditor', 'd8d62003b8a8ea98a89b0fb97bae35d7'),
    ('function', 'audit.pass_checks(text)', 'tms_owner', 'tms_auditor', '3690d152fc02db79c130879c024c11bc'),
    ('function', 'audit.passes(text,boolean)', 'tms_owner', 'tms_auditor', '366f7720e9a287ddeea783eb1b65058b'),
    ('function', 'audit.plan_merges(regclass,name,integer)', 'tms_owner', 'tms_auditor', 'd108b6b303d8f7d9593126ec54ce1bb9'),
    ('function', 'audit.progress_line(integer,integer,text,bigint,bigint,timestamp with time zone,text)', 'tms_owner', 'tms_auditor', '95e256b7454f60f5855a215e54f8d46d'),
    ('function', 'audit.protection_query()', 'tms_owner', 'tms_auditor', '6faa68ed577394cedf3d883887008e57'),
    ('function', 'audit.prove(text,uuid,integer)', 'tms_owner', 'tms_auditor', '36cc3bc6d186055f72c4cebfe2ecbe29'),
    ('function', 'audit.record_pass(bigint,text)', 'tms_owner', 'tms_auditor', '61d259898bce3cab0c44cd51b704cfd6'),
    ('function', 'audit.relations()', 'tms_owner', 'tms_auditor', '7f840a63381ffbf1e5a4aaa63aa2b661'),
    ('function', 'audit.relations(regclass[])', 'tms_owner', 'tms_auditor', '371f1f9134a6b5c26f7c14c5bd3cfa9e'),
    ('function', 'audit.report(bigint)', 'tms_owner', 'tms_auditor', '1525d5551cc25ba8f8b0d8031afa99a6'),
    ('function', 'audit.require_isolation()', 'tms_owner', 'tms_auditor', '1ce02f8819524f9c89ec8d6591bb77d2'),
    ('function', 'audit.require_unfiltered(regclass)', 'tms_owner', 'tms_auditor', '4ab6885a92e5986c7051f0032ce4ffc5'),
    ('function', 'audit.role_name(oid)', 'tms_owner', 'tms_auditor', 'd93e0bfa0cc30ca6a3a0e814d7901901'),
    ('function', 'audit.row_tests(regclass)', 'tms_owner', 'tms_auditor', '6b9d15c3aca07d708260c60336577112'),
    ('function', 'audit.run(text,text,integer,bigint)', 'tms_owner', 'tms_auditor', '4c1d0cd8fc879cec004039519bde6973'),
    ('function', 'audit.run_check(text,text,integer)', 'tms_owner', 'tms_auditor', 'd4f5e06dee60c858690543f7df24581c'),
    ('function', 'audit.run_family(text,boolean,integer)', 'tms_owner', 'tms_auditor', '1cb2d1dc963d4b0d84f1e768ef2b61ae'),
    ('function', 'audit.sample_tenants(uuid,integer)', 'tms_owner', 'tms_auditor', '0ad9c042a63b35d83bd30743bc3698e3'),
    ('function', 'audit.say_scanned(bigint)', 'tms_owner', 'tms_auditor', '6b02023e2942fc31f4fa347a9a1eee61'),
    ('function', 'audit.scan(regclass,uuid)', 'tms_owner', 'tms_auditor', '7a2fcbde9f29efb9b018037c5d15cac7'),
    ('function', 'audit.scanned(text)', 'tms_owner', 'tms_auditor', '714ae3acb57dbdc53fb0a71fd8427aa1'),
    ('function', 'audit.severity_rank(text)', 'tms_owner', 'tms_auditor', '1fa26f34a59db5d581099b2a3365ab06'),
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
    ('function', 'control.examine(text,uuid,integer)', 'tms_auditor', 'tms_owner', '51b19e3e922c05db62e7100805aeab0a'),
    ('function', 'control.find_tenant(text)', 'tms_auditor', 'tms_owner', '092ecd4817dc31d218f82c2a5fb7fb1b'),
    ('function', 'control.held_rows(regclass,uuid,integer)', 'tms_auditor', 'tms_registrar', '49f285b797178536712ef24c4701d0aa'),
    ('function', 'control.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', '379f66e5be803b087e2d33e846308ed7'),
    ('function', 'control.leaking_tables()', 'tms_app', 'tms_registrar', 'a64065acd87739f1fa6faf8563022cdf'),
    ('function', 'control.shown_rows(uuid,integer)', 'tms_app', 'tms_registrar', '940fe838dabb731f042c6f4ee27bec1c'),
    ('function', 'control.tg_tenants__count()', 'tms_owner', '', '9737cde625d18b6cd691d3909049c634'),
    ('function', 'control.tg_tenants__record()', 'tms_owner', '', 'c5bcc8f27a34855b08f6954793bb871a'),
    ('function', 'control.try_writes(regclass,name,uuid,uuid)', 'tms_app', 'tms_owner', '3a4fbc2f566b1f44585c853bfd22e820'),
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
