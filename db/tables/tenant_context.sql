create table control.tenant_context (
  singleton boolean primary key default true check (singleton),
  inner_key bytea not null,
  outer_key bytea not null,
  previous_inner_key bytea,
  previous_outer_key bytea,
  setting_inner_key bytea not null,
  setting_outer_key bytea not null,
  stored_at timestamptz not null default now(),
  constraint tenant_context_lengths check (
    64 = all (array[octet_length(inner_key), octet_length(outer_key), octet_length(setting_inner_key), octet_length(setting_outer_key)])),
  constraint tenant_context_previous check (
    64 = all (array[coalesce(octet_length(previous_inner_key), 64), coalesce(octet_length(previous_outer_key), 64)])
    and (previous_inner_key is null) = (previous_outer_key is null))
);
revoke all on table control.tenant_context from public;
alter table control.tenant_context enable row level security;

comment on table control.tenant_context is
$$One row once SERVICE_TENANT_CONTEXT_SECRET is stored: then the tenant context must be proved. Keys of HMAC-SHA256, each exclusive-ored
with the inner and the outer pad; the key of the proofs is the SHA-256 of the secret. No role but tms_owner reads them.$$;
comment on column control.tenant_context.inner_key is 'Of the secret, for the proofs of callers and tenants. outer_key belongs to it.';
comment on column control.tenant_context.previous_inner_key is 'Of the secret before, which is still accepted; null: none.';
comment on column control.tenant_context.setting_inner_key is
  'Made by the database, for the signature in the setting app.tenant_id. setting_outer_key belongs to it.';
