-- The release: every function, view, trigger and check, in the order of installation. src/migrate/installer.ts runs this file in one
-- transaction as tms_owner, with the gate at its end. By hand, on a migrated database:
--   psql -1 -v ON_ERROR_STOP=1 -f db/install.sql -d <database>   (records no release, so npm run migrate installs again)
set local app.maintenance = on;
-- What is written down below names objects with their schema.
set local search_path = pg_catalog, pg_temp;
set local check_function_bodies = off;
set local client_min_messages = warning;
-- Citus must not send these statements to the workers; db/citus/distribute.sql creates the functions there. Plain Postgres ignores the
-- setting.
set local citus.enable_ddl_propagation = off;
-- A function belongs to the role that it runs as. That role needs CREATE on the schema, which is revoked at the end.
grant create on schema app, api to tms_app, tms_registrar;
grant create, usage on schema control to tms_app, tms_auditor;

-- Objects of an earlier release that this one does not have.
\ir drops.sql

-- A standard SQL body binds names at creation, so the functions that others call come first.
\ir functions/app/no_tenant.sql
\ir functions/app/tenant_id.sql
\ir functions/app/no_maintenance.sql
\ir functions/app/requires_proof.sql
\ir functions/app/hmac.sql
\ir functions/app/proved_values.sql
\ir functions/app/is_distributed.sql
\ir functions/app/version_of.sql
\ir functions/app/iso_time.sql
\ir functions/app/etag.sql
\ir functions/app/to_base64url.sql
\ir functions/app/from_base64url.sql
\ir functions/app/cursor_of.sql
\ir functions/app/page_bytes.sql
\ir functions/app/parse_uuid.sql
\ir functions/app/manages.sql

\ir functions/app/add_member.sql
\ir functions/app/adopt.sql
\ir functions/app/await_writers.sql
\ir functions/app/change_member.sql
\ir functions/app/change_tenant.sql
\ir functions/app/context_faults.sql
\ir functions/app/count_tenants.sql
\ir functions/app/count_tenants_like.sql
\ir functions/app/create_invitation.sql
\ir functions/app/deletion_counts.sql
\ir functions/app/empty_tenant.sql
\ir functions/app/end_memberships.sql
\ir functions/app/enter_as_operator.sql
\ir functions/app/enter_default.sql
\ir functions/app/enter_lobby.sql
\ir functions/app/enter_tenant.sql
\ir functions/app/event_cursor.sql
\ir functions/app/event_page.sql
\ir functions/app/events_wait.sql
\ir functions/app/fence_tenant.sql
\ir functions/app/find_tenant.sql
\ir functions/app/find_tenant_to_change.sql
\ir functions/app/find_tenant_to_delete.sql
\ir functions/app/has_context_secret.sql
\ir functions/app/insert_tenant.sql
\ir functions/app/invitation_json.sql
\ir functions/app/invitation_page.sql
\ir functions/app/for_each_tenant.sql
\ir functions/app/is_behind.sql
\ir functions/app/is_being_deleted.sql
\ir functions/app/isolate.sql
\ir functions/app/isolation_advice.sql
\ir functions/app/isolation_breaches.sql
\ir functions/app/join_default.sql
\ir functions/app/key_json.sql
\ir functions/app/last_audit.sql
\ir functions/app/leaking_tables.sql
\ir functions/app/lock_member.sql
\ir functions/app/lock_tenant.sql
\ir functions/app/member_json.sql
\ir functions/app/member_matches.sql
\ir functions/app/member_page.sql
\ir functions/app/merge_patch.sql
\ir functions/app/move_tenant.sql
\ir functions/app/patched_settings.sql
\ir functions/app/purge_tenant.sql
\ir functions/app/put_member.sql
\ir functions/app/prove_caller.sql
\ir functions/app/prove_tenant.sql
\ir functions/app/read_cursor.sql
\ir functions/app/read_event_cursor.sql
\ir functions/app/read_events.sql
\ir functions/app/read_tenant_cursor.sql
\ir functions/app/record_event.sql
\ir functions/app/record_own_event.sql
\ir functions/app/refuse.sql
\ir functions/app/refuse_invitation.sql
\ir functions/app/refuse_key.sql
\ir functions/app/refuse_null_slug.sql
\ir functions/app/refuse_slug.sql
\ir functions/app/refuse_stranger.sql
\ir functions/app/release.sql
\ir functions/app/remove_member.sql
\ir functions/app/remove_tenant.sql
\ir functions/app/replay.sql
\ir functions/app/require_match.sql
\ir functions/app/require_member.sql
\ir functions/app/require_member_admin.sql
\ir functions/app/require_operator.sql
\ir functions/app/require_own_table.sql
\ir functions/app/require_status.sql
\ir functions/app/require_version.sql
\ir functions/app/require_writable.sql
\ir functions/app/revoke_invitation.sql
\ir functions/app/schedule_deletion.sql
\ir functions/app/role_now.sql
\ir functions/app/schema_version.sql
\ir functions/app/set_actor.sql
\ir functions/app/set_tenant.sql
\ir functions/app/shown_rows.sql
\ir functions/app/sign_proved_tenant.sql
\ir functions/app/sign_tenant.sql
\ir functions/app/table_faults.sql
\ir functions/app/tenant_answer.sql
\ir functions/app/own_answer.sql
\ir functions/app/tenant_columns.sql
\ir functions/app/tenant_cursor.sql
\ir functions/app/tenant_json.sql
\ir functions/app/tenant_page.sql
\ir functions/app/tenant_stem.sql
\ir functions/app/tenant_tables.sql
\ir functions/app/unprotected_tables.sql
\ir functions/app/write_bridge.sql
\ir functions/app/write_policies.sql

\ir functions/control/accept_invitation.sql
\ir functions/control/audit_page.sql
\ir functions/control/create_sample_data.sql
\ir functions/control/empty_tenant.sql
\ir functions/control/enter_key.sql
\ir functions/control/event_epoch.sql
\ir functions/control/event_origin.sql
\ir functions/control/event_place.sql
\ir functions/control/gate.sql
\ir functions/control/held_rows.sql
\ir functions/control/join_default.sql
\ir functions/control/key_expired.sql
\ir functions/control/leaking_tables.sql
\ir functions/control/proof_required.sql
\ir functions/control/shown_rows.sql
\ir functions/control/signed_tenant_id.sql
\ir functions/control/store_mode.sql
\ir functions/control/store_tenant_context.sql
\ir functions/control/switch_tenant_context.sql
\ir functions/control/tg_tenants__count.sql
\ir functions/control/tg_tenants__record.sql

\ir functions/api/invitations/accept_invitation.sql
\ir functions/api/invitations/create_invitation.sql
\ir functions/api/invitations/list_invitations.sql
\ir functions/api/invitations/revoke_invitation.sql
\ir functions/api/keys/create_key.sql
\ir functions/api/keys/list_keys.sql
\ir functions/api/keys/revoke_key.sql
\ir functions/api/members/add_member.sql
\ir functions/api/members/change_member.sql
\ir functions/api/members/list_members.sql
\ir functions/api/members/remove_member.sql
\ir functions/api/service/ensure_default_tenant.sql
\ir functions/api/service/get_context_faults.sql
\ir functions/api/service/get_login_faults.sql
\ir functions/api/service/get_readiness.sql
\ir functions/api/service/get_release.sql
\ir functions/api/service/take_rate_limit.sql
\ir functions/api/setup/add_tenant_member.sql
\ir functions/api/service/take_key_rate_limit.sql
\ir functions/api/setup/approve_tenant.sql
\ir functions/api/setup/change_tenant_member.sql
\ir functions/api/setup/create_tenant.sql
\ir functions/api/setup/create_tenant_invitation.sql
\ir functions/api/setup/delete_tenant.sql
\ir functions/api/setup/purge_tenant.sql
\ir functions/api/setup/explain_access.sql
\ir functions/api/setup/explain_for_operator.sql
\ir functions/api/setup/get_audit.sql
\ir functions/api/setup/get_setup_status.sql
\ir functions/api/setup/get_tenant.sql
\ir functions/api/setup/list_events.sql
\ir functions/api/setup/list_tenant_invitations.sql
\ir functions/api/setup/list_tenant_members.sql
\ir functions/api/setup/list_tenants.sql
\ir functions/api/setup/patch_tenant.sql
\ir functions/api/setup/preview_deletion.sql
\ir functions/api/setup/reject_tenant.sql
\ir functions/api/setup/restore_tenant.sql
\ir functions/api/setup/remove_tenant_member.sql
\ir functions/api/setup/resume_tenant.sql
\ir functions/api/setup/revoke_tenant_invitation.sql
\ir functions/api/setup/suspend_tenant.sql
\ir functions/api/setup/update_tenant.sql
\ir functions/api/tenants/get_current_tenant.sql
\ir functions/api/tenants/get_registration_status.sql
\ir functions/api/tenants/list_my_tenants.sql
\ir functions/api/tenants/list_tenant_events.sql
\ir functions/api/tenants/patch_current_tenant.sql
\ir functions/api/tenants/register_tenant.sql

\ir audit/reset.sql
\ir audit/profile.sql
\ir audit/propose.sql
\ir audit/vouched.sql
\ir audit/support.sql
\ir audit/citus.sql
\ir audit/checks/bridge_open.sql
\ir audit/checks/constraint_off.sql
\ir audit/checks/default_privileges.sql
\ir audit/checks/foreign_table.sql
\ir audit/checks/function_leakproof.sql
\ir audit/checks/function_search_path.sql
\ir audit/checks/function_unknown.sql
\ir audit/checks/grants_beyond.sql
\ir audit/checks/key_crosses_tenants.sql
\ir audit/checks/not_of_tenants.sql
\ir audit/checks/owner_bypasses.sql
\ir audit/checks/policy_depends.sql
\ir audit/checks/publication.sql
\ir audit/checks/rewrite_rule.sql
\ir audit/checks/rls_disabled.sql
\ir audit/checks/role_bypasses.sql
\ir audit/checks/role_settings.sql
\ir audit/checks/schema_grants.sql
\ir audit/checks/server_settings.sql
\ir audit/checks/server_version.sql
\ir audit/checks/shard_differs.sql
\ir audit/checks/system_grants.sql
\ir audit/checks/table_inherits.sql
\ir audit/checks/table_without_tenant.sql
\ir audit/checks/tenant_column.sql
\ir audit/checks/tenant_unchecked.sql
\ir audit/checks/unique_over_tenants.sql
\ir audit/checks/view_as_owner.sql
\ir audit/data.sql
\ir audit/proof.sql
\ir audit/proof-writes.sql
\ir audit/proof-verdict.sql
\ir audit/who_reads.sql
\ir audit/seed.sql
\ir audit/run.sql
\ir audit/report.sql
\ir audit/service/default_tenant_twice.sql
\ir audit/service/identity_twice_in_tenant.sql
\ir audit/service/not_an_object.sql
\ir audit/service/slug_twice.sql
\ir audit/service/tenant_count_wrong.sql
\ir audit/service/tenant_malformed.sql
\ir audit/service/tenant_without_owner.sql
\ir audit/service/times_out_of_order.sql
\ir audit/service/value_unknown.sql
\ir product/install.sql
\ir audit/service-profile.sql
\ir audit/history.sql

-- What requests may call: every function of api, and nothing else. Their owners grant it.
do $$
declare
  v_function record;
begin
  for v_function in
    select p.oid::regprocedure as name, p.proowner::regrole as owner
    from pg_proc p
    where p.pronamespace = 'api'::regnamespace and p.proowner in ('tms_app'::regrole, 'tms_registrar'::regrole, 'tms_owner'::regrole)
      and p.proname <> 'explain_access' -- for DBAs: its file grants it
  loop
    execute format('set local role %s', v_function.owner);
    execute format('revoke all on function %s from public', v_function.name);
    -- A function must not run as tms_owner for requests.
    if v_function.owner <> 'tms_owner'::regrole then
      execute format('grant execute on function %s to tms_service', v_function.name);
    end if;
  end loop;
  reset role;
end
$$;
revoke create on schema app, api from tms_app, tms_registrar;
revoke create, usage on schema control from tms_app, tms_auditor;
-- The functions with two bodies were installed as they are without a secret.
select control.switch_tenant_context();
\ir audit/rights.sql
\ir gate.sql
