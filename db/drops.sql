-- Objects of an earlier release that this one no longer has, by name: functions of a product may be in the same schemas. A line may
-- be removed once every database has its release.

-- Of builds before 0.1.0: functions that took the fields of the caller one by one, and some whose parameters or result are others now.
do $$
declare
  v_function regprocedure;
begin
  for v_function in
    select p.oid from pg_proc p
    where p.pronamespace::regnamespace::text in ('api', 'app', 'control') and not 'app.caller'::regtype = any (p.proargtypes)
      and (p.proargnames && array['p_tenant_slug', 'p_auth_provider', 'p_missing_role']
             and p.proname not in ('explain_access', 'put_member', 'add_member', 'find_tenant_to_delete')
           or p.proname in ('tenant_json', 'member_json') and p.prorettype = 'json'::regtype
           or p.proname in ('proved_values', 'is_invited')
           or p.oid::regprocedure::text in ('app.board_json(app.boards)', 'app.event_page(uuid,integer,text,text,text)', 'app.refuse_slug(text)'))
  loop
    execute format('drop function %s', v_function);
  end loop;
end
$$;
