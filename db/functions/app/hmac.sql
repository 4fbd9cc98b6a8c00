-- HMAC (RFC 2104) of built-in functions; the extension pgcrypto is not needed. The pads are in the keys already. Without SET search_path,
-- so that the planner puts both in place of the call; a standard body binds its names at creation.
create or replace function app.hmac(p_inner_key bytea, p_outer_key bytea, p_message bytea)
returns text
language sql
immutable
parallel safe
return encode(sha256(p_outer_key || sha256(p_inner_key || p_message)), 'hex');

comment on function app.hmac(bytea, bytea, bytea) is
  'HMAC-SHA256 in hexadecimal. The keys are one key, exclusive-ored with the inner and the outer pad.';
revoke all on function app.hmac(bytea, bytea, bytea) from public;

create or replace function app.tenant_signature(p_inner_key bytea, p_outer_key bytea, p_tenant_id text)
returns text
language sql
stable
return app.hmac(p_inner_key, p_outer_key,
  convert_to(p_tenant_id, 'UTF8') || int4send(pg_backend_pid()) || timestamptz_send(transaction_timestamp()));

comment on function app.tenant_signature(bytea, bytea, text) is 'What the setting app.tenant_id carries for a tenant in this transaction.';
revoke all on function app.tenant_signature(bytea, bytea, text) from public;
