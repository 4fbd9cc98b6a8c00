-- Objects of an earlier release that this one no longer has, by name: functions of a product may be in the same schemas. A line may
-- be removed once every database has its release.
drop function if exists api.get_schema_version(), api.get_readiness(text), app.is_behind(text);
drop function if exists api.get_setup_status(text, text, text, text, text, text, text, text[]);
drop function if exists audit.accept(text);
drop function if exists control.visible_rows(regclass, name, uuid[]), control.try_writes(regclass, name, uuid, uuid);
drop function if exists app.tenant_page(int, timestamptz, uuid, text, text), app.count_tenants_like(text, text);
drop function if exists app.board_json(app.boards);
drop function if exists app.enter_invited(text, text, text, text, text, uuid, bytea), control.is_invited(uuid, bytea);
-- It belongs to tms_registrar now, and only its owner may replace it.
do $$
begin
  if exists (
    select from pg_proc
    where oid = to_regprocedure('api.accept_invitation(text, text, text, text, text, text, text, text, text)') and proowner = 'tms_app'::regrole)
  then
    drop function api.accept_invitation(text, text, text, text, text, text, text, text, text);
  end if;
end
$$;
drop function if exists app.event_page(uuid, int, text, text, text);
-- They return text now.
do $$
begin
  if exists (select from pg_proc where oid = to_regprocedure('app.tenant_json(app.tenants)') and prorettype = 'json'::regtype) then
    drop function app.tenant_json(app.tenants), app.member_json(app.users);
  end if;
end
$$;
drop function if exists api.preview_deletion(text, text, text, text, text, text, text, text[]);
drop function if exists app.refuse_slug(text);
