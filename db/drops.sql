-- Objects of an earlier release that this one no longer has, by name: functions of a product may be in the same schemas. A line may
-- be removed once every database has its release.

-- Of builds before 0.1.0: functions that took the fields of the caller one by one, and some whose parameters or result are others now.
do $$
declare
  v_function regprocedure;
begin
  for v_function in
    select p.oid from pg_proc p
    where p.pronamespace::regnamespace::text in ('api', 'app', 'control') and (
      p.pronamespace = 'api'::regnamespace
        and p.proargnames[1:6] = '{p_tenant_slug,p_auth_provider,p_auth_subject,p_email,p_display_name,p_missing_role}'
        and p.proname = any ('{accept_invitation,add_member,add_tenant_member,approve_tenant,change_member,change_tenant_member,
          create_invitation,create_key,create_tenant,delete_tenant,explain_for_operator,get_audit,get_current_tenant,
          get_registration_status,get_setup_status,get_tenant,list_boards,list_events,list_invitations,list_keys,list_members,
          list_my_tenants,list_tenant_events,list_tenant_members,list_tenants,patch_current_tenant,patch_tenant,preview_deletion,
          purge_tenant,register_tenant,reject_tenant,remove_member,remove_tenant_member,restore_tenant,resume_tenant,
          revoke_invitation,revoke_key,suspend_tenant,update_tenant}')
      or p.oid::regprocedure::text in ('app.board_json(app.boards)', 'app.compact_json(jsonb)', 'app.event_page(uuid,integer,text,text,text)',
        'app.enter_as_operator(text,text,text,text,text,text,text,boolean)', 'app.enter_default(text,text,text,text)',
        'app.enter_invited(text,text,text,text,text,uuid,bytea)', 'app.enter_lobby(text,text,text,text,text)', 'app.etag(json)',
        'app.join_default(uuid,text,text,text,text)', 'app.prove_caller(text,text,text,text,text,boolean)',
        'app.proved_values(text,text,text,text,text)', 'app.refuse_key(text)', 'app.refuse_slug(text)',
        'app.replay(text,text,text,jsonb)', 'app.require_operator(text,text,text,text,text,text)', 'app.set_actor(text,text)', 'app.set_actor(app.caller)', 'app.find_tenant_to_delete(text,text,text[])',
        'control.accept_invitation(text,text,text,text,uuid,bytea,text,boolean)', 'control.is_invited(uuid,bytea)',
        'control.join_default(uuid,text,text,text,text)')
      or p.oid::regprocedure::text = 'app.enter_tenant(text,text,text,text,text)' and p.proargnames[1] = 'p_tenant_slug'
      or p.oid::regprocedure::text in ('app.tenant_json(app.tenants)', 'app.member_json(app.users)')
        and p.prorettype = 'json'::regtype
      -- Those whose ETag was cut out of their JSON.
      or p.oid::regprocedure::text in ('app.move_tenant(text,text[],text,text)', 'app.tenant_answer(app.tenants)',
        'api.approve_tenant(app.caller,text,text[])', 'api.get_current_tenant(app.caller)',
        'api.patch_current_tenant(app.caller,text,jsonb,text[],text[],boolean,jsonb)', 'api.restore_tenant(app.caller,text,text[])',
        'api.resume_tenant(app.caller,text,text[])', 'api.suspend_tenant(app.caller,text,text[],text)')
        and not 'etag' = any (coalesce(p.proargnames, '{}')))
  loop
    execute format('drop function %s', v_function);
  end loop;
end
$$;

-- Of builds before 0.1.0: functions that took fewer parameters.
drop function if exists api.explain_access(text, text, text, text, boolean), api.explain_for_operator(app.caller, text, text, text, text, boolean),
  api.list_members(app.caller, int, text), api.list_tenant_members(app.caller, text, int, text), app.member_page(uuid, int, text);

-- Of builds before 0.1.0: events without the roles.
drop function if exists app.record_event(text, uuid, uuid, text[], text), app.record_own_event(text, uuid, uuid, text[], text);
do $$
begin
  if exists (select from pg_proc p where p.oid = to_regprocedure('app.read_events()') and not 'role_before' = any (p.proargnames)) then
    drop view if exists audit.events;
    drop function app.read_events();
  end if;
end
$$;

-- Of builds before 0.1.0: no bridge.
drop function if exists app.isolate(regclass, boolean);
