-- Each value with its length in bytes, so that no two lists of values give the same text. Without SET search_path, so that the planner puts it
-- in place of the call.
create or replace function app.proved_values(p_1 text, p_2 text, p_3 text, p_4 text, p_5 text)
returns text
language sql
stable
parallel safe
return
  coalesce(',' || octet_length(p_1) || ':' || p_1, ',-') ||
  coalesce(',' || octet_length(p_2) || ':' || p_2, ',-') ||
  coalesce(',' || octet_length(p_3) || ':' || p_3, ',-') ||
  coalesce(',' || octet_length(p_4) || ':' || p_4, ',-') ||
  coalesce(',' || octet_length(p_5) || ':' || p_5, ',-');

comment on function app.proved_values(text, text, text, text, text) is 'The values of a caller as the proof of them covers them.';
revoke all on function app.proved_values(text, text, text, text, text) from public;
grant execute on function app.proved_values(text, text, text, text, text) to tms_registrar;
