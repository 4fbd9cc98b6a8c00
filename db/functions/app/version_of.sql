create or replace function app.version_of(p_text text)
returns text
language sql
immutable
parallel safe
return left(encode(sha256(convert_to(p_text, 'UTF8')), 'hex'), 32);
comment on function app.version_of(text) is 'A hash of the text of a tenant: the first part of its ETag.';
revoke all on function app.version_of(text) from public;
grant execute on function app.version_of(text) to tms_app, tms_registrar;
