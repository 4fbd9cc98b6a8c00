--! Previous: sha1:9f655960a170fbc02dafa7a5947ef3ced4d9a3d4
--! Hash: sha1:373ae076b677bcae720a1b58b496ada55a123711
--! Message: on Citus, what protects each shard is compared with what protects its table

set local citus.enable_ddl_propagation = off;
grant create on schema audit to tms_auditor;
grant create, usage on schema audit to tms_app;
--! Included audit/catalog.sql
-- Every check: what it finds, why that matters, how it is mended. The report, docs/audit.md and the tests are held to it.
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
    'A balance is not the balance before it plus the amount, in the order of the ledger.', 'Credit appears or vanishes.', 'Look at the ledger around the row; book a correction.'),
  ('generation_state', 'data_consistency', 'error', 'data', false,
    'A generation is completed without a time, or has a time and is not finished.', 'Bills and retries go by either.', 'Set the status that is true.'),
  ('completed_without_media', 'data_consistency', 'warning', 'data', false,
    'A generation is completed and has no media.', 'It was paid for and shows nothing.', 'Mark it failed, or restore the media.'),
  ('value_unknown', 'data_consistency', 'error', 'data', false,
    'A role or status is not one that the service knows.', 'Code that asks "not a member?" lets unknown roles in.', 'Set a known value, then restore the constraint.'),
  ('times_out_of_order', 'data_consistency', 'error', 'data', false,
    'A row was changed, finished or removed before it was made.', 'The order of events, which audits and bills rest on, is wrong.', 'Correct the times, then restore the constraint.'),
  ('time_in_future', 'data_consistency', 'warning', 'data', false,
    'A credit transaction was booked more than an hour from now.', 'A clock is wrong, or somebody wrote the time by hand: the ledger''s order is no longer that of events.', 'Correct created_at.'),
  ('not_an_object', 'data_consistency', 'error', 'data', false,
    'Settings, config, input, registration or metadata hold JSON that is not an object.', 'Readers that look for a key find null, and defaults apply unasked.', 'Write an object, then restore the constraint.'),
  ('constraint_broken', 'data_consistency', 'error', 'data', false,
    'A row breaks a CHECK of its table that was added NOT VALID or is not enforced.', 'The rule is believed and does not hold.', 'Correct the row, then validate the constraint.'),

  -- schema: the wall itself
  ('rls_disabled', 'isolation_config', 'error', 'schema', true,
    'A tenants'' table, partition or child without row-level security.', 'Policies, if there are any, are not applied to anybody.', 'Enable it; app.isolate() does.'),
  ('rls_not_forced', 'isolation_config', 'error', 'schema', true,
    'Row-level security that its owner is exempt from.', 'Definer functions of the owner, and migrations, see every tenant.', 'Force it; app.isolate() does.'),
  ('policy_missing', 'isolation_config', 'error', 'schema', true,
    'One of the template''s policies is not there.', 'Without the restrictive one tenants see each other; without the auditor''s this audit is blind.', 'app.write_policies() writes all of them.'),
  ('policy_changed', 'isolation_config', 'error', 'schema', true,
    'A policy differs from the template: its expression, command, role, or being restrictive.', 'One OR, one missing WITH CHECK, one permissive instead of restrictive opens the table.', 'app.write_policies() writes it anew.'),
  ('policy_extra', 'isolation_config', 'error', 'schema', true,
    'A policy that the template does not have. To tms_app it is a warning: there it can only narrow.', 'To any other role it opens the table, or blinds the audit or the migrations.', 'Drop it.'),
  ('policy_function', 'isolation_config', 'error', 'schema', true,
    'A policy calls a function other than app.tenant_id(), or reads another table.', 'Immutable functions are folded into plans that the next tenant runs; other tables bring their own holes.', 'Drop the policy, or write it with app.tenant_id().'),
  ('tenant_id_function', 'isolation_config', 'error', 'schema', true,
    'app.tenant_id(), on which every policy rests, is not what it came as.', 'Whoever changes it changes every policy at once.', 'Create it anew, as the remedy does.'),
  ('audit_filtered', 'isolation_config', 'error', 'schema', true,
    'A policy hides rows of a table from the audit.', 'What is hidden cannot be found; the data checks then refuse to run.', 'Restore the auditor policy; drop restrictive policies that reach tms_auditor.'),
  -- schema: tables and keys
  ('table_missing', 'isolation_config', 'error', 'schema', true,
    'One of the service''s own tables, or a column that the checks read, is not there.', 'What is not there is not examined.', 'Restore it.'),
  ('table_rules', 'isolation_config', 'error', 'schema', true,
    'A table breaks a rule of app.isolate(): tenant_id nullable, a key that does not begin with it, a foreign key without it.', 'Keys look past policies: they tell one tenant of another''s values, and let rows point across.', 'Mend the key, then app.isolate().'),
  ('table_without_tenant', 'isolation_config', 'error', 'schema', true,
    'A table among the tenants'' tables, or hanging on one by a foreign key, has no tenant_id.', 'Checks that look for the column never see it: everybody reads it.', 'app.isolate(…, p_adopt => true).'),
  ('tenant_key', 'isolation_config', 'error', 'schema', true,
    'tenant_id is not tied to app.tenants by a validated foreign key with ON DELETE CASCADE.', 'Rows outlive their tenant.', 'Add or validate the foreign key.'),
  ('foreign_key_missing', 'isolation_config', 'error', 'schema', true,
    'A reference between tenants'' tables without its composite foreign key. In tables that are not the service''s own it is a warning.', 'Only the key stops a row from pointing into another tenant.', 'Add it.'),
  ('unique_key_missing', 'isolation_config', 'error', 'schema', true,
    'One of the unique keys that the service relies on is not there.', 'Two rows for one identity, or two tenants for one slug: which one a request meets is chance.', 'Create it.'),
  ('constraint_not_valid', 'isolation_config', 'error', 'schema', true,
    'A constraint that is NOT VALID or NOT ENFORCED. A CHECK is a warning.', 'It reads like a promise and is none.', 'Validate it.'),
  ('trigger_disabled', 'isolation_config', 'error', 'schema', true,
    'A trigger is disabled: a foreign key''s own, or (a warning) somebody else''s.', 'A load that switched triggers off left the keys unchecked.', 'Enable it, then run the data checks.'),
  ('index_missing', 'isolation_config', 'warning', 'schema', true,
    'No index leads with a foreign key''s columns.', 'Look-ups read other tenants'' rows, and the time they take tells of them; deleting a tenant takes hours.', 'Create the index.'),
  ('table_owner', 'isolation_config', 'error', 'schema', true,
    'A table, view, sequence or schema of the service is not tms_owner''s.', 'Its owner can switch the policies off.', 'Give it to tms_owner.'),
  ('view_leaks', 'isolation_config', 'error', 'schema', true,
    'A view over tenants'' rows that runs as its owner, or a materialized view of them.', 'Policies are asked for the owner and not for the reader; a materialized view has none.', 'security_invoker = true; drop the materialized view.'),
  ('foreign_table', 'isolation_config', 'error', 'schema', true,
    'A foreign table among the tenants'' tables.', 'No policy applies to it.', 'Keep it in another schema, behind a function.'),
  ('rewrite_rule', 'isolation_config', 'error', 'schema', true,
    'A rewrite rule on a tenants'' table.', 'What it adds runs with the rights of the table''s owner.', 'Drop it.'),
  ('publication', 'isolation_config', 'warning', 'schema', true,
    'A publication sends tenants'' rows.', 'Subscribers get every tenant''s.', 'Drop the table from it, unless the subscriber is a replica of the whole.'),
  -- schema: rights
  ('table_grants', 'isolation_config', 'error', 'schema', true,
    'A right on a tenants'' table beyond the template, or the auditor''s own missing.', 'TRUNCATE, REFERENCES and TRIGGER know no policy; a right of PUBLIC is everybody''s.', 'Revoke it.'),
  ('other_grants', 'isolation_config', 'error', 'schema', true,
    'Rights on the service''s bookkeeping, the audit''s results, views or sequences.', 'Whoever writes the results of the audit decides what it finds.', 'Revoke them.'),
  ('schema_grants', 'isolation_config', 'error', 'schema', true,
    'CREATE, TEMP or USAGE on a schema or the database beyond what the roles need.', 'Whoever can create can put an object in another''s place.', 'Revoke it.'),
  ('default_privileges', 'isolation_config', 'error', 'schema', true,
    'Default privileges that give tables or functions away as they are made.', 'A table is open from the moment it is made until somebody isolates it.', 'Revoke them.'),
  ('service_reach', 'isolation_config', 'error', 'schema', true,
    'The service''s login has a right on a table, or on a function outside api; or api holds something else.', 'A login that can only call api functions cannot set a tenant and read it.', 'Revoke it.'),
  ('registrar_reach', 'isolation_config', 'error', 'schema', true,
    'tms_registrar reaches a tenants'' table beyond app.tenants and app.users.', 'It crosses tenants by design; its functions must have nothing to carry.', 'Revoke it.'),
  -- schema: functions
  ('function_owner', 'isolation_config', 'error', 'schema', true,
    'A function of the service is owned by a role that no policy was written for.', 'A definer function has its owner''s rights.', 'Give it back.'),
  ('function_security', 'isolation_config', 'error', 'schema', true,
    'A function is SECURITY DEFINER and should not be, or the other way round.', 'As tms_owner''s definer it may do what only migrations should.', 'Change it back.'),
  ('function_bypass', 'isolation_config', 'error', 'schema', true,
    'Any definer function in the database whose owner no policy applies to, or that runs as a role of the service from outside.', 'Calling it is a way around every policy.', 'Make it SECURITY INVOKER, or give it to a role under the policies.'),
  ('function_search_path', 'isolation_config', 'error', 'schema', true,
    'A function without a fixed search_path, or with pg_temp not in the last place.', 'A temporary table of the same name takes the place of the real one.', 'Set it.'),
  ('function_settings', 'isolation_config', 'error', 'schema', true,
    'A function comes with a setting for the role, the tenant, or how policies apply.', 'It then works in a tenant of its own choosing.', 'Reset it.'),
  ('function_body', 'isolation_config', 'error', 'schema', true,
    'A function sets the tenant for the whole session, opens the tables to their owner, or changes the role.', 'On a pooled connection the next request is another tenant''s.', 'Use app.set_tenant().'),
  ('function_public', 'isolation_config', 'error', 'schema', true,
    'PUBLIC, or another role than planned, may execute a function.', 'Functions are executable by everybody until that is revoked.', 'Revoke it.'),
  ('function_leakproof', 'isolation_config', 'error', 'schema', true,
    'A function claims to be LEAKPROOF; or the comparison of tenant ids no longer is.', 'The planner runs leakproof conditions before policies.', 'Take the mark away.'),
  -- schema: roles and server
  ('role_attributes', 'isolation_config', 'error', 'schema', true,
    'One of the five roles has an attribute that it must not have.', 'No policy applies to a superuser or BYPASSRLS.', 'Run db/roles.sql.'),
  ('role_membership', 'isolation_config', 'error', 'schema', true,
    'One of the five roles is a member of another role, or somebody may become one that crosses tenants (a warning).', 'Policies and rights come along with membership, and pg_policy does not show it.', 'Revoke it.'),
  ('role_settings', 'isolation_config', 'error', 'schema', true,
    'Sessions begin with a tenant, with open tables, another role or another search_path.', 'Without a tenant of its own a request would be in that one.', 'Reset it.'),
  ('bypass_role', 'isolation_config', 'warning', 'schema', true,
    'A role with BYPASSRLS has rights on tenants'' tables.', 'It sees every tenant.', 'Take the attribute away.'),
  ('server_version', 'isolation_config', 'error', 'schema', false,
    'A Postgres with known holes in row-level security; a warning for the embedded one and for releases nobody looked at.', 'The wall is the server''s own.', 'Update it.'),
  ('server_settings', 'isolation_config', 'error', 'schema', false,
    'Server settings that switch triggers, policies or the protection of large objects off, or log tenants'' values.', 'They work on every database and role.', 'Reset them.'),
  ('statistics_view', 'isolation_config', 'warning', 'schema', false,
    'A statistics view from before CVE-2024-4317.', 'It shows the most common values of hidden rows.', 'Run the script of the release notes.'),
  ('shard_differs', 'isolation_config', 'error', 'schema', false,
    'On Citus: a shard, or a copy of app.tenants, does not have the policies, rights or keys of its table; or a node has another app.tenant_id(), or roles there that get past policies.',
    'Rows are in the shards, and each has policies, rights and keys of its own.', 'Write the policies again on the coordinator; then look at the node.'),
  -- schema: the proof
  ('proof_rows', 'isolation_config', 'error', 'schema', false,
    'Inside a tenant tms_app does not see exactly the rows that the auditor counts for it.', 'Everything above is reading the plans of the wall; this is leaning on it.', 'Restore the policies.'),
  ('proof_nothing', 'isolation_config', 'error', 'schema', false,
    'Without a tenant, or in one that does not exist, tms_app sees a row.', 'A request that forgot its tenant must find nothing.', 'Restore the policies.'),
  ('proof_writes', 'isolation_config', 'error', 'schema', false,
    'Inside a tenant tms_app can write a row into another, or reach one.', 'Reading back is not needed to do harm.', 'Restore the policies.')
$$;
comment on function audit.checks() is
$$Every check of the audit: category, worst severity, family (data or schema), whether the migration gate runs it (gate), what it finds, why that matters,
how it is mended.  select * from audit.checks();$$;
--! EndIncluded audit/catalog.sql
--! Included audit/checks/tables.sql
create or replace function audit.check_table_rules()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb, f.fault,
    format('-- mend it, then:%sselect app.isolate(%L);', E'\n', r.relid)
  from audit.relations() r
  left join lateral app.isolation_faults(r.relid) f on true
  where r.tenant_column = 'tenant_id' and not r.is_child
$$;

-- The service's own tables and what the checks read of them: most tests are made from the columns there are, so that a
-- column that is gone would take its test along without a word.
create or replace function audit.check_table_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, t.name, case when c.name is null then '{}' else jsonb_build_object('column', c.name) end,
    case when to_regclass(t.name) is null then 'the table is not there: what depends on it was not examined'
         when c.name is not null and not exists (
           select from pg_attribute where attrelid = to_regclass(t.name) and attname = c.name and not attisdropped)
           then format('the column %s is not there: what is asked of it was not examined', c.name) end,
    'restore it from a backup, or run the migrations: npm run migrate'
  from (values
    ('app.tenants', array['slug', 'name', 'status', 'settings', 'registration', 'is_default', 'created_at', 'updated_at']),
    ('app.users', array['tenant_id', 'auth_provider', 'auth_subject', 'role', 'created_at', 'updated_at', 'removed_at']),
    ('app.boards', array['tenant_id', 'owner_id', 'settings', 'created_at', 'updated_at']),
    ('app.board_members', array['tenant_id', 'board_id', 'user_id', 'invited_by', 'role', 'created_at']),
    ('app.generations', array['tenant_id', 'board_id', 'user_id', 'status', 'input', 'created_at', 'completed_at']),
    ('app.media', array['tenant_id', 'generation_id', 'storage_url', 'created_at']),
    ('app.provider_configs', array['tenant_id', 'provider_name', 'config', 'created_at', 'updated_at']),
    ('app.credit_transactions', array['tenant_id', 'user_id', 'generation_id', 'amount', 'balance_after', 'created_at'])
  ) as t (name, columns)
  cross join lateral (select null union all select unnest(t.columns)) c (name)
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
    select c.conrelid from reached r join pg_constraint c on c.confrelid = r.relid and c.contype = 'f'
  )
  select 'error', null::uuid, c.oid::regclass::text, '{}'::jsonb,
    case when t.relid is null then
      case when k.relid is not null then 'the table refers to tenants'' rows and has no column tenant_id: its rows belong to nobody'
      else 'the table is among the tenants'' tables and has no column tenant_id' end end,
    format('select app.isolate(%L, p_adopt => true);', c.oid::regclass)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join audit.relations() t on t.relid = c.oid
  left join reached k on k.relid = c.oid
  where c.relkind in ('r', 'p') and c.relpersistence <> 't' and n.nspname not in ('control', 'audit')
    and (n.nspname = 'app' or k.relid is not null)
$$;

create or replace function audit.check_tenant_key()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb,
    case when k.oid is null then 'no foreign key ties tenant_id to app.tenants with ON DELETE CASCADE: rows of nobody can be written, and outlive their tenant'
         when not k.convalidated then format('the foreign key %I is NOT VALID: nobody looked at the rows before it', k.conname) end,
    case when k.oid is null then format('alter table %s add foreign key (tenant_id) references app.tenants (id) on delete cascade;', r.relid)
         else format('alter table %s validate constraint %I;', r.relid, k.conname) end
  from audit.relations() r
  left join lateral (
    select c.* from pg_constraint c
    where c.conrelid = r.relid and c.contype = 'f' and c.confrelid = to_regclass('app.tenants') and c.confdeltype = 'c'
      and coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true)
      and c.conkey = array(select attnum from pg_attribute where attrelid = r.relid and attname = 'tenant_id')
    order by c.convalidated desc limit 1) k on true
  where r.tenant_column = 'tenant_id' and not r.is_child
$$;

create or replace function audit.check_foreign_key_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when r.constraint_name is null then 'error' else 'warning' end, null::uuid, r.child::text, jsonb_build_object('columns', to_jsonb(r.child_columns)),
    case when r.constraint_name is null then format('no foreign key (tenant_id, %s) refers to %s: a row may point into another tenant', array_to_string(r.child_columns, ', '), r.parent)
         when e.cascades and c.confdeltype <> 'c' then format('the foreign key %I has lost its ON DELETE CASCADE: what should go with a row keeps it from being deleted', r.constraint_name) end,
    format('alter table %s %sadd constraint %I foreign key (tenant_id, %s) references %s (tenant_id, %s)%s;', r.child,
      -- Citus takes one at a time.
      'drop constraint ' || quote_ident(r.constraint_name) || case when app.is_distributed() then format('; alter table %s ', r.child) else ', ' end,
      coalesce(e.constraint_name, r.constraint_name), array_to_string(r.child_columns, ', '), r.parent, array_to_string(r.parent_columns, ', '),
      case when e.cascades then ' on delete cascade' end)
  from audit.tenant_references() r
  left join audit.expected_references() e on to_regclass(e.child) = r.child and array[e.child_column] = r.child_columns
  left join pg_constraint c on c.conrelid = r.child and c.conname = r.constraint_name
  union all
  -- Anybody's table: a column that looks like a reference and is bound by nothing.
  select 'warning', null, r.relid::text, jsonb_build_object('columns', jsonb_build_array(a.attname)),
    case when not exists (select from pg_constraint c where c.conrelid = r.relid and c.contype = 'f' and a.attnum = any (c.conkey))
         then format('%I looks like a reference, and no foreign key holds it to its tenant', a.attname) end,
    format('alter table %s add foreign key (tenant_id, %I) references … (tenant_id, id);', r.relid, a.attname)
  from audit.relations() r
  join pg_attribute a on a.attrelid = r.relid and a.attnum > 0 and not a.attisdropped
    and a.atttypid = 'uuid'::regtype and a.attname like '%\_id' and a.attname <> 'tenant_id'
  where not r.is_child and r.tenant_column = 'tenant_id'
    and not exists (select from audit.expected_references() e where to_regclass(e.child) = r.relid and e.child_column = a.attname)
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
    case when not coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true) then format('alter table %s alter constraint %I enforced;', r.relid, c.conname)
         else format('alter table %s validate constraint %I;', r.relid, c.conname) end
  from audit.relations() r join pg_constraint c on c.conrelid = r.relid
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
    format('alter table %s enable trigger all;', t.tgrelid::regclass)
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
      where i.indrelid = c.conrelid and i.indisvalid and i.indpred is null and i.indnkeyatts >= cardinality(c.conkey)
        and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] <@ c.conkey)
      then format('no index leads with the columns of the foreign key %I: deletes and look-ups read other tenants'' rows, and their time tells', c.conname) end,
    format('create index concurrently on %s (%s);', c.conrelid::regclass,
      (select string_agg(quote_ident(a.attname), ', ' order by k.n) from unnest(c.conkey) with ordinality as k (attnum, n)
       join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum))
  from pg_constraint c join audit.relations() r on r.relid = c.conrelid and not r.is_child
  where c.contype = 'f'
$$;

create or replace function audit.check_table_owner()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, o.name, o.key,
    case when o.owner is distinct from to_regrole('tms_owner') then format('%s is owned by %s: an owner can switch row-level security off', o.name, o.owner::regrole) end,
    format('alter %s %s owner to tms_owner;', o.kind, o.name)
  from (
    select c.oid::regclass::text as name, '{}'::jsonb as key, c.relowner as owner, case c.relkind when 'S' then 'sequence' when 'v' then 'view' else 'table' end as kind
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'S') and (n.nspname in ('app', 'control', 'audit', 'api') or c.oid in (select relid from audit.relations()))
    union all
    select n.nspname, jsonb_build_object('schema', n.nspname), n.nspowner, 'schema'
    from pg_namespace n where n.nspname in ('app', 'api', 'control', 'audit')
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
    select w.ev_class from reading r
    join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = r.oid and d.classid = 'pg_rewrite'::regclass
    join pg_rewrite w on w.oid = d.objid
  )
  select 'error', null::uuid, c.oid::regclass::text, '{}'::jsonb,
    case when c.relkind = 'm' then 'the materialized view holds tenants'' rows, and no policy applies to it'
         when not exists (select from unnest(c.reloptions) o where o in ('security_invoker=true', 'security_invoker=on', 'security_invoker=1', 'security_invoker=yes'))
           then format('the view reads tenants'' rows with the rights of its owner, %s', c.relowner::regrole) end,
    case when c.relkind = 'm' then format('drop materialized view %s;', c.oid::regclass)
         else format('alter view %s set (security_invoker = true);', c.oid::regclass) end
  from pg_class c join reading r on r.oid = c.oid
  where c.relkind in ('v', 'm')
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
$$;

-- Uniqueness that the service relies on. Like the references, known by heart: an INSERT names some of these constraints, so
-- an index that does the same is not enough.
create or replace function audit.check_unique_key_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, w.relation, jsonb_build_object('columns', to_jsonb(w.columns)),
    case when not exists (
      select from pg_index i
      where i.indrelid = to_regclass(w.relation) and i.indisunique and i.indisvalid and i.indexprs is null
        and (w.name is null or exists (select from pg_constraint c where c.conindid = i.indexrelid and c.conrelid = i.indrelid and c.conname = w.name))
        and coalesce(pg_get_expr(i.indpred, i.indrelid), '') = w.predicate
        and array(select a.attname::text from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) with ordinality as k (attnum, n)
                  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum order by k.n) = w.columns)
      then format('%s keeps (%s) unique%s', coalesce('no constraint ' || w.name, 'nothing'), array_to_string(w.columns, ', '),
        case when w.predicate = '' then '' else ' where ' || w.predicate end) end,
    case when w.name is null then format('create unique index on %s (%s) where %s;', w.relation, array_to_string(w.columns, ', '), w.predicate)
         else format('alter table %s add constraint %I %s (%s);', w.relation, w.name,
           case when w.name like '%\_pkey' then 'primary key' else 'unique' end, array_to_string(w.columns, ', ')) end
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
$$;
--! EndIncluded audit/checks/tables.sql
--! Included audit/checks/shards.sql
-- What protects a table, in words that can be compared: %s is a list of (relation, place).
create or replace function audit.protection_query()
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  select $q$
    select l.relation, l.place::text as place, array(
      select 'row-level security' where c.relrowsecurity
      union all select 'row-level security by force' where c.relforcerowsecurity
      union all select format('the owner %%s', c.relowner::regrole)
      union all select format('%%s for %%s', a.privilege_type, case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
        from aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
      union all select format('%%s (%%I) for %%s', a.privilege_type, t.attname, case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
        from pg_attribute t cross join aclexplode(t.attacl) a where t.attrelid = c.oid
      union all select format('the %%s policy %%I for %%s to %%s using %%s with check %%s', case when p.polpermissive then 'permissive' else 'restrictive' end,
          p.polname, case p.polcmd when '*' then 'all' when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' else 'delete' end,
          (select string_agg(case r when 0 then 'public' else r::regrole::text end, ', ' order by r) from unnest(p.polroles) r),
          coalesce(pg_get_expr(p.polqual, p.polrelid), 'nothing'), coalesce(pg_get_expr(p.polwithcheck, p.polrelid), 'nothing'))
        from pg_policy p where p.polrelid = c.oid
      union all select regexp_replace(pg_get_indexdef(i.indexrelid), '^CREATE UNIQUE INDEX .*? USING', 'a unique index')
        from pg_index i where i.indrelid = c.oid and i.indisunique and i.indisvalid
      -- Without the parent's name: a shard's key names a shard.
      union all select regexp_replace(pg_get_constraintdef(k.oid), 'REFERENCES [^(]*', 'REFERENCES ')
        from pg_constraint k where k.conrelid = c.oid and k.contype in ('c', 'f')) as protection
    from (%s) l (relation, place)
    join pg_class c on c.oid = l.place
    union all
    select '', 'the node', array(
      select 'this app.tenant_id(): ' || regexp_replace(pg_get_functiondef(oid), '\s+', ' ', 'g') from pg_proc where oid = to_regprocedure('app.tenant_id()')
      union all select format('a role %%s that no policy holds', rolname) from pg_roles
        where rolname in ('tms_owner', 'tms_app', 'tms_registrar', 'tms_auditor', 'tms_service') and (rolsuper or rolbypassrls))$q$
$$;
comment on function audit.protection_query() is 'A query, with %s for a list of (relation, place): what protects each place, and the node itself, in words, as an array.';

-- On Citus rows are in shards, on nodes of their own, and each has policies and rights of its own, which no check of the
-- coordinator's catalog reads. Each node tells what protects its own.
create or replace function audit.check_shard_differs()
returns setof audit.observation
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tables constant text := (
    select string_agg(format('%L', format('%I.%I', n.nspname, c.relname)), ', ')
    from audit.relations() r join pg_class c on c.oid = r.relid join pg_namespace n on n.oid = c.relnamespace);
  -- Every node knows all tables by name, and which shards are its own.
  v_places constant text := format($q$
    select t.name, p.place
    from (
      select d.logicalrelid as relid, format('%%I.%%I', n.nspname, c.relname) as name
      from pg_dist_partition d join pg_class c on c.oid = d.logicalrelid join pg_namespace n on n.oid = c.relnamespace) t
    cross join lateral (
      select t.relid::regclass
      union all
      select shard_name(s.logicalrelid, s.shardid)::regclass
      from pg_dist_shard s join pg_dist_placement o using (shardid)
      where s.logicalrelid = t.relid and o.groupid = {group}) p (place)
    where t.name in (%s)$q$, v_tables);
  v_here jsonb;
  v_answer record;
  v_expected bigint;
begin
  if not app.is_distributed() then
    return;
  end if;
  execute format('select jsonb_agg(q) from (%s) q', format(audit.protection_query(),
    'select format(''%I.%I'', n.nspname, c.relname), r.relid from audit.relations() r join pg_class c on c.oid = r.relid join pg_namespace n on n.oid = c.relnamespace'))
  into v_here;
  for v_answer in
    select n.nodename || ':' || n.nodeport as node, n.groupid, a.success, a.result
    from run_command_on_all_nodes(format('select jsonb_agg(q) from (%s) q',
      format(audit.protection_query(), replace(v_places, '{group}', '(select groupid from pg_dist_local_group)')))) a
    join pg_dist_node n using (nodeid)
  loop
    if not v_answer.success then
      raise exception '%: %', v_answer.node, v_answer.result;
    end if;
    execute format('select count(*) from (%s) p', replace(v_places, '{group}', v_answer.groupid::text)) into v_expected;
    if v_expected <> (select count(*) from jsonb_to_recordset(v_answer.result::jsonb) t (relation text) where t.relation <> '') then
      raise exception '%: it does not tell of every table and shard that it should have', v_answer.node;
    end if;
    return query
      select 'error', null::uuid, nullif(t.relation, ''), jsonb_build_object('node', v_answer.node, 'place', t.place),
        format('%s on %s ', t.place, v_answer.node)
          || nullif(concat_ws(', and ', 'lacks ' || d.lacks, 'has besides ' || d.besides), ''),
        case when t.relation = '' then E'-- on the coordinator, for app.tenant_id(): psql -f db/distribute.sql\n-- on the node, for a role: alter role … nosuperuser nobypassrls'
          else concat_ws(E'\n',
            case when d.lacks is not null then E'-- on the coordinator, which tells every shard:\n'
              || (select string_agg(distinct e.remedy, E'\n') from audit.expected_policies() e where e.relid = to_regclass(t.relation)) end,
            case when d.besides is not null then format('-- on %s, where %s still has more: drop policy …, revoke …', v_answer.node, t.place) end) end
      from jsonb_to_recordset(v_answer.result::jsonb) t (relation text, place text, protection text[])
      join jsonb_to_recordset(v_here) h (relation text, protection text[]) using (relation)
      cross join lateral (
        select (select string_agg(w, ', ' order by w) from (select unnest(h.protection) except select unnest(t.protection)) x (w)) as lacks,
          (select string_agg(w, ', ' order by w) from (select unnest(t.protection) except select unnest(h.protection)) x (w)) as besides) d;
  end loop;
end
$$;
--! EndIncluded audit/checks/shards.sql
--! Included audit/proof.sql
-- The proof acts instead of reading: as tms_app, inside a tenant, by the way a request or a DBA gets there.
set local role tms_app;
create or replace function audit.visible_rows(p_table regclass, p_column name, p_tenants uuid[])
returns table (tenant_id uuid, visible bigint, own bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before constant text := coalesce(current_setting('app.tenant_id', true), '');
begin
  -- A null among the tenants stands for no tenant at all.
  foreach tenant_id in array p_tenants loop
    execute format('set local app.tenant_id = %L', coalesce(tenant_id::text, ''));
    execute format('select count(*), count(*) filter (where %I = $1) from %s', p_column, p_table) into visible, own using tenant_id;
    return next;
  end loop;
  execute format('set local app.tenant_id = %L', v_before);
end
$$;
comment on function audit.visible_rows(regclass, name, uuid[]) is
  'As tms_app inside each tenant: the rows it sees of a table, and how many of them are that tenant''s.';
revoke all on function audit.visible_rows(regclass, name, uuid[]) from public;
grant execute on function audit.visible_rows(regclass, name, uuid[]) to tms_auditor;

-- A row is tried that is one of the tenant's own but for the tenant: so it meets its policy, and no default, domain, trigger
-- or missing partition before. Where the tenant has no row, only its tenant_id is given; what stops that before the policy is
-- asked decides nothing. Citus plans no such INSERT.
-- Every attempt ends in an error or in nothing: where a write goes through, its first row raises 22012, so that nothing is
-- kept and no second row is touched. RETURNING names no column, because reading one would bring the SELECT policies to help.
-- Citus plans no such RETURNING: there the rows are counted afterwards, and what they were is rolled back.
create or replace function audit.try_writes(p_table regclass, p_column name, p_tenant_id uuid, p_other_id uuid)
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
  v_distributed constant boolean := to_regprocedure('app.distribute(regclass)') is not null;  -- db/distribute.sql was run
  -- There no row changes its tenant, whoever asks, and no UPDATE of it would say what the policies let through.
  v_taken constant name := coalesce((
    select a.attname from pg_attribute a
    where v_distributed and a.attrelid = p_table and a.attnum > 0 and not a.attisdropped and a.attname <> p_column
      and a.attgenerated = '' and a.attidentity = ''
    order by a.attnotnull, a.attnum limit 1), p_column);
  -- A number that tms_app may not draw stops the row before the policy does, with the same error.
  v_numbered constant boolean := exists (
    select from pg_attrdef a
    join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = a.oid and d.refclassid = 'pg_class'::regclass
    join pg_class s on s.oid = d.refobjid
    where a.adrelid = p_table and case when s.relkind = 'S' then not has_sequence_privilege(s.oid, 'usage') end
      and has_any_column_privilege(p_table, 'insert'));
  v_insert text := 'insert into %1$s (%2$I) values (%3$L)';
  v_row jsonb;
  v_attempt record;
  v_rows bigint;
  v_message text;
  v_constraint text;
  v_missing text;
  v_type text;
begin
  if not v_distributed then
    execute format('set local app.tenant_id = %L', p_tenant_id);
    begin
      execute format('select to_jsonb(r) from %s r limit 1', p_table) into v_row;
    exception when insufficient_privilege then
      null; -- then it is tried without
    end;
  end if;
  if v_row is not null then
    select format('insert into %%1$s (%s) overriding system value select %s from jsonb_populate_record(null::%%1$s, %L) r',
      concat_ws(', ', '%2$I', string_agg(replace(quote_ident(a.attname), '%', '%%'), ', ' order by a.attnum)),
      concat_ws(', ', '%3$L::uuid', string_agg(replace(format('r.%I', a.attname), '%', '%%'), ', ' order by a.attnum)),
      replace(v_row::text, '%', '%%'))
    into v_insert
    from pg_attribute a
    where a.attrelid = p_table and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attname <> p_column
      and has_column_privilege(p_table, a.attnum, 'insert');
  end if;
  for v_attempt in
    select * from (values
      ('insert a row for another tenant', p_tenant_id, v_insert, p_other_id),
      ('give its rows to another tenant', p_tenant_id, 'update %1$s set %2$I = %3$L', p_other_id),
      ('take the rows of other tenants', v_nobody, 'update %1$s set %4$I = %3$L', case when v_taken = p_column then v_nobody end),
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
        || case when v_distributed then '' else ' returning 1 / (pg_backend_pid() * 0)' end;
      get diagnostics v_rows = row_count;
      if v_rows > 0 then
        raise division_by_zero;
      end if;
      -- An INSERT that raises nothing was swallowed by a trigger or a rule; an UPDATE or DELETE found no row.
      if v_attempt.statement like 'insert%' then
        fault := 'was accepted';
      end if;
    exception
      when insufficient_privilege then
        -- Refused at the door, or by WITH CHECK. Where no row may be seen, WITH CHECK is already one row too far.
        get stacked diagnostics v_message = message_text;
        if v_attempt.tenant_id = v_nobody and v_message ~ 'row-level security' then
          fault := 'reached a row';
        elsif v_attempt.statement like 'insert%' and v_row is null and v_numbered then
          fault := 'cannot be decided: ' || v_message;
          decided := false;
        end if;
      when division_by_zero then
        fault := 'was accepted';
      when lock_not_available or query_canceled then
        raise;
      when integrity_constraint_violation then
        get stacked diagnostics v_message = message_text, v_constraint = constraint_name, v_missing = column_name, v_type = pg_datatype_name;
        -- The table's own constraints come after its policies; domains, the way to a partition and triggers before.
        -- Of what a worker says Citus brings the message and not the names.
        decided := case when v_distributed then v_message ~ '^(null value in column|new row for relation|duplicate key value|insert or update on table) '
          else v_type = '' and (v_constraint <> '' or v_missing <> '') end;
        fault := case when decided then 'was stopped by a constraint only: ' else 'cannot be decided: ' end || v_message;
      when others then
        get stacked diagnostics v_message = message_text;
        -- Citus gives no row to another tenant: also a refusal.
        if not (v_distributed and sqlstate = '0A000' and v_message ~ 'partition value') then
          fault := 'cannot be decided: ' || v_message;
          decided := false;
        end if;
    end;
    return next;
  end loop;
  execute format('set local app.tenant_id = %L', v_before);
end
$$;
comment on function audit.try_writes(regclass, name, uuid, uuid) is
  'As tms_app inside p_tenant_id: tries to write into p_other_id and to reach rows from a tenant that does not exist; fault is null where that was refused. Nothing is kept.';
revoke all on function audit.try_writes(regclass, name, uuid, uuid) from public;
grant execute on function audit.try_writes(regclass, name, uuid, uuid) to tms_auditor;
reset role;

create or replace function audit.sample_tenants(p_tenant_id uuid, p_sample int)
returns uuid[]
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select case when p_tenant_id is not null then array[p_tenant_id]
    else array(select id from app.tenants order by is_default desc, random() limit p_sample) end
$$;
comment on function audit.sample_tenants(uuid, int) is 'The tenants that the proof acts in: the given one, or the default one and others at random; p_sample null: all.';

create or replace function audit.prove(p_check text, p_tenant_id uuid, p_sample int)
returns setof audit.outcome
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenants uuid[];
  v_table record;
  v_counted uuid[];
  v_counts bigint[];
  v_other uuid;
  v_owner regrole;
  v_out audit.outcome;
begin
  perform audit.require_unfiltered('app.tenants');
  -- There an UPDATE of every shard waits for any other: runs at the same time would end each other's by time-outs.
  if p_check = 'proof_writes' and app.is_distributed() then
    perform pg_advisory_xact_lock(hashtext('audit.proof_writes'));
  end if;
  v_tenants := audit.sample_tenants(p_tenant_id, case when p_check = 'proof_writes' then least(p_sample, 5) else p_sample end);
  for v_table in select relid, tenant_column as col from audit.relations() where not is_child loop
    v_out := row(p_check, v_table.relid, 0, 0, 0, 0, '{}'::audit.observation[]);
    -- Its owner chose what reading it calls, so it is not read; that must not keep the others from being proved.
    select c.relowner into v_owner from pg_class c where c.oid = v_table.relid;
    if v_owner <> 'tms_owner'::regrole then
      v_out.errors := 1;
      v_out.kept := array[row('error', null, v_table.relid, '{}'::jsonb,
        format('nothing is proved of %s: it is owned by %s, and the audit reads no table that somebody else owns', v_table.relid, v_owner),
        format('alter table %1$s owner to tms_owner; select app.isolate(%1$L);', v_table.relid))::audit.observation];
      return next v_out;
      continue;
    end if;
    perform audit.require_unfiltered(v_table.relid);
    if p_check = 'proof_rows' then
      -- Counted by itself: of a single tenant Citus would send the comparison to its worker, too, where there is no audit.
      execute format(
        $q$select coalesce(sum(n), 0), array_agg(tenant_id), array_agg(n)
           from (select %1$I as tenant_id, count(*) as n from %2$s where %1$I = any ($1) group by 1) c$q$, v_table.col, v_table.relid)
      into v_out.checked, v_counted, v_counts using v_tenants;
      select count(*), (array_agg(row('error', v.tenant_id, v_table.relid::text, jsonb_build_object(v_table.col, v.tenant_id),
          format('inside the tenant tms_app sees %s rows, %s of them the tenant''s, and the tenant has %s', v.visible, v.own, coalesce(c.n, 0)),
          format('select app.write_policies(%L, %L);', v_table.relid, v_table.col))::audit.observation))[1:1000]
      into v_out.errors, v_out.kept
      from audit.visible_rows(v_table.relid, v_table.col, v_tenants) v
      left join unnest(v_counted, v_counts) c (tenant_id, n) using (tenant_id)
      where v.visible <> coalesce(c.n, 0) or v.own <> coalesce(c.n, 0);
    elsif p_check = 'proof_nothing' then
      -- Without a tenant, and in one that nobody ever made.
      select count(*), count(*) filter (where v.visible > 0), array_agg(row('error', null, v_table.relid::text, jsonb_build_object('inside', coalesce(v.tenant_id::text, 'no tenant')),
          format('tms_app sees %s rows %s', v.visible, case when v.tenant_id is null then 'without a tenant' else 'in a tenant that does not exist' end),
          format('select app.write_policies(%L, %L);', v_table.relid, v_table.col))::audit.observation) filter (where v.visible > 0)
      into v_out.checked, v_out.errors, v_out.kept
      from audit.visible_rows(v_table.relid, v_table.col, array[null, gen_random_uuid(), '00000000-0000-0000-0000-000000000000']) v;
    else
      for i in 1 .. greatest(cardinality(v_tenants), 1) loop
        -- With a single tenant the other one is made up: a refusal does not ask whether it exists.
        v_other := coalesce((select id from app.tenants where id <> v_tenants[i] order by random() limit 1), gen_random_uuid());
        select v_out.checked + count(*), v_out.errors + count(*) filter (where w.fault is not null and w.decided),
          v_out.warnings + count(*) filter (where w.fault is not null and not w.decided),
          v_out.kept || coalesce(array_agg(row(case when w.decided then 'error' else 'warning' end, v_tenants[i], v_table.relid::text,
            jsonb_build_object('attempt', w.attempt), format('inside the tenant tms_app tried to %s, which %s', w.attempt, w.fault),
            case when w.decided then format('select app.write_policies(%L, %L);', v_table.relid, v_table.col)
                 else '-- what stops it comes before the policy is asked: look why, and try it by hand with a row that gets past' end
            )::audit.observation) filter (where w.fault is not null), '{}')
        into v_out.checked, v_out.errors, v_out.warnings, v_out.kept
        from audit.try_writes(v_table.relid, v_table.col, coalesce(v_tenants[i], gen_random_uuid()), v_other) w;
      end loop;
    end if;
    return next v_out;
  end loop;
end
$$;
comment on function audit.prove(text, uuid, int) is
$$The proof, table by table: proof_rows (inside each tenant exactly its rows), proof_nothing (without a tenant no row),
proof_writes (no write reaches another tenant). Compares counts: run it in a repeatable read transaction while others write.$$;
--! EndIncluded audit/proof.sql
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
revoke create on schema audit from tms_auditor;
revoke create, usage on schema audit from tms_app;
--! EndIncluded audit/end.sql
set local citus.enable_ddl_propagation = on;
