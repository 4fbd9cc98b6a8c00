-- Each value with its length in bytes, so that no two lists of values give the same text. Without SET search_path, so that the planner puts it
-- in place of the call.
create or replace function app.proved_values(p_caller app.caller)
returns text
language sql
stable
parallel safe
return
  coalesce(',' || octet_length((p_caller).slug) || ':' || (p_caller).slug, ',-') ||
  coalesce(',' || octet_length((p_caller).provider) || ':' || (p_caller).provider, ',-') ||
  coalesce(',' || octet_length((p_caller).subject) || ':' || (p_caller).subject, ',-') ||
  coalesce(',' || octet_length((p_caller).email) || ':' || (p_caller).email, ',-') ||
  coalesce(',' || octet_length((p_caller).name) || ':' || (p_caller).name, ',-');

comment on function app.proved_values(app.caller) is 'The values of a caller as the proof of them covers them.';
revoke all on function app.proved_values(app.caller) from public;
grant execute on function app.proved_values(app.caller) to tms_registrar;
