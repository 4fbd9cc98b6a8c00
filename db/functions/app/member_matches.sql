-- Names are stored in NFC, addresses and subjects as they came. Plain text: % and _ are letters like others.
create or replace function app.member_matches(p_member app.users, p_text text)
returns boolean
language sql
stable
parallel safe
return strpos(lower(p_member.display_name), lower(normalize(p_text))) > 0
  or strpos(lower(concat_ws(E'\n', p_member.email, p_member.auth_subject) collate "default"), lower(p_text)) > 0
  or p_member.id = app.parse_uuid(p_text);

comment on function app.member_matches(app.users, text) is
$$Whether the name, e-mail address or subject of the member contains the text, in any case, or it is the id of the member. Never raises.$$;
revoke all on function app.member_matches(app.users, text) from public;
grant execute on function app.member_matches(app.users, text) to tms_app;
