-- Cursors are encoded so that clients treat them as opaque.
create or replace function app.to_base64url(p_text text)
returns text
language sql
immutable
parallel safe
return translate(encode(convert_to(p_text, 'UTF8'), 'base64'), E'+/=\n', '-_');
comment on function app.to_base64url(text) is 'A text as base64url (RFC 4648, 5), without padding.';
revoke all on function app.to_base64url(text) from public;
grant execute on function app.to_base64url(text) to tms_app, tms_registrar;
