create or replace function app.from_base64url(p_text text)
returns text
language sql
immutable
parallel safe
return convert_from(decode(translate(p_text, '-_', '+/') || repeat('=', -length(p_text) & 3), 'base64'), 'UTF8');
comment on function app.from_base64url(text) is 'The reverse of app.to_base64url(). Raises a data exception for a text that is none.';
revoke all on function app.from_base64url(text) from public;
grant execute on function app.from_base64url(text) to tms_app, tms_registrar;
