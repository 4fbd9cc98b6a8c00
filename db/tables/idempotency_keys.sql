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
