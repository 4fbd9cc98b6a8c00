--! Previous: sha1:dc24ebb838ca5eb31a39621992d41bfe42baee56
--! Hash: sha1:5f3e1e26f22e7a9039548f871f291a77d9c3156e
--! Message: bookkeeping behind row-level security

-- The bookkeeping gets the wall that tenants' tables have: a login with pg_read_all_data reads none of it. Its owner, tms_owner, is not
-- forced: its definer functions read it in every transaction.
alter table control.rate_limits enable row level security;
drop policy if exists registrar on control.rate_limits;
create policy registrar on control.rate_limits for all to tms_registrar using (true) with check (true);
alter table control.tenant_counts enable row level security;
drop policy if exists registrar on control.tenant_counts;
create policy registrar on control.tenant_counts for all to tms_registrar using (true) with check (true);
alter table control.deployment enable row level security;
drop policy if exists registrar on control.deployment;
create policy registrar on control.deployment for all to tms_registrar using (true) with check (true);
alter table control.idempotency_keys enable row level security;
drop policy if exists registrar on control.idempotency_keys;
create policy registrar on control.idempotency_keys for all to tms_registrar using (true) with check (true);
alter table control.tenant_events enable row level security;
drop policy if exists registrar on control.tenant_events;
create policy registrar on control.tenant_events for all to tms_registrar using (true) with check (true);
alter table control.tenant_context enable row level security;
alter table control.release enable row level security;
comment on table control.tenant_context is
$$One row once SERVICE_TENANT_CONTEXT_SECRET is stored: then the tenant context must be proved. Keys of HMAC-SHA256, each exclusive-ored
with the inner and the outer pad; the key of the proofs is the SHA-256 of the secret. No role but tms_owner reads them.$$;

select control.gate();
