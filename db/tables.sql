-- Every table as it is today, in the order of creation. The committed migrations lead to the same catalog; a test compares both.
\ir tables/schemas.sql
\ir tables/profile.sql
\ir tables/vouched.sql
revoke all on audit.profile, audit.vouched from public;
grant select on audit.profile, audit.vouched to tms_auditor;
\ir functions/app/no_tenant.sql
\ir functions/app/tenant_id.sql
\ir functions/app/no_maintenance.sql
\ir functions/app/is_distributed.sql
\ir functions/app/write_policies.sql
\ir tables/tenants.sql
\ir functions/app/tenant_columns.sql
\ir functions/app/table_faults.sql
\ir functions/app/adopt.sql
\ir functions/app/write_bridge.sql
\ir functions/app/isolate.sql
\ir functions/control/gate.sql
\ir tables/caller.sql
\ir tables/users.sql
\ir tables/invitations.sql
\ir tables/api_keys.sql
\ir tables/deployment.sql
\ir tables/tenant_context.sql
\ir tables/idempotency_keys.sql
\ir tables/rate_limits.sql
\ir tables/tenant_counts.sql
\ir tables/tenant_events.sql
\ir tables/release.sql
\ir tables/runs.sql
\ir tables/results.sql
\ir tables/found.sql
\ir product/tables.sql
