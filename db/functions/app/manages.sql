create or replace function app.manages(p_role text, p_target_role text)
returns boolean
language sql
immutable
parallel safe
return p_role in ('owner', 'operator') or (p_role = 'admin' and p_target_role <> 'owner');

comment on function app.manages(text, text) is
$$Whether a caller with p_role may give and take p_target_role: owners and operators every role, admins all but owner. Null is no.$$;
revoke all on function app.manages(text, text) from public;
grant execute on function app.manages(text, text) to tms_app, tms_registrar;
