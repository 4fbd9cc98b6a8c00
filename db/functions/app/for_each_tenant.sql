-- A procedure that commits can have neither SECURITY DEFINER nor a search_path of its own. So each name in it has its schema, and the work
-- runs with the caller's search_path.
create or replace procedure app.for_each_tenant(p_work text)
language plpgsql
as $$
declare
  v_ids uuid[];
  v_slugs text[];
  v_failed text[] = '{}';
  v_state text;
  v_message text;
  v_context text;
begin
  commit; -- inside a transaction block it fails here, before any work
  set local role tms_auditor;
  select pg_catalog.array_agg(t.id order by t.slug), pg_catalog.array_agg(t.slug order by t.slug) into v_ids, v_slugs
  from app.tenants t where t.status operator(pg_catalog.=) 'active';
  commit;
  for i in 1 .. coalesce(pg_catalog.cardinality(v_ids), 0) loop
    begin
      -- tms_auditor enters a tenant without a proof.
      set local role tms_auditor;
      perform app.set_tenant(v_ids[i]);
      set local role tms_app;
      -- It may have been suspended or deleted meanwhile.
      if exists (select from app.tenants t where t.id operator(pg_catalog.=) app.tenant_id() and t.status operator(pg_catalog.=) 'active') then
        execute p_work;
        -- A deferred constraint would fail at the commit, where no handler is.
        set constraints all immediate;
      end if;
    exception when others then
      get stacked diagnostics v_state = returned_sqlstate, v_message = message_text, v_context = pg_exception_context;
      v_failed := pg_catalog.array_append(v_failed, pg_catalog.format('%s: %s (%s)', v_slugs[i], v_message, v_state));
      raise warning using message = pg_catalog.format('tenant %s: %s', v_slugs[i], v_message), errcode = v_state, detail = v_context;
    end;
    commit;
  end loop;
  if v_failed operator(pg_catalog.<>) '{}' then
    raise exception using errcode = 'TM500', constraint = 'tenants_failed',
      message = pg_catalog.format('%s of %s tenants failed, and were rolled back; the others are committed',
        pg_catalog.cardinality(v_failed), pg_catalog.cardinality(v_ids)),
      detail = pg_catalog.array_to_string(v_failed[1:100], E'\n');
  end if;
end
$$;

comment on procedure app.for_each_tenant(text) is
$$Executes SQL as tms_app in each active tenant, one transaction for each. A tenant that fails is rolled back and warned of; the others go
on, and at the end TM500 lists those that failed, at most 100 of them. Call it outside a transaction block, after
`set role tms_auditor`, with a login that is also a member of tms_app.$$;
revoke all on procedure app.for_each_tenant(text) from public;
grant execute on procedure app.for_each_tenant(text) to tms_auditor;
