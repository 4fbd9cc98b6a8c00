-- Everything in the schema is for members of tms_auditor, whose own rights and policies decide what it shows them.
do $$
declare
  v_view regclass;
  v_routine regprocedure;
begin
  -- With the rights of tms_owner, whom policies bind, a check would see no row, and find none.
  for v_view in select oid from pg_class where relnamespace = 'audit'::regnamespace and relkind = 'v' loop
    execute format('alter view %s set (security_invoker = true)', v_view);
  end loop;
  for v_routine in
    select oid from pg_proc where pronamespace = 'audit'::regnamespace and proowner = 'tms_owner'::regrole
  loop
    execute format('revoke all on routine %s from public', v_routine);
    execute format('grant execute on routine %s to tms_auditor', v_routine);
  end loop;
end
$$;
grant select on all tables in schema audit to tms_auditor;

-- Who answers for the functions of this release: those that this transaction has made. Of others their author does, by audit.vouch().
delete from audit.vouched where reason = 'this release';
insert into audit.vouched (kind, object, reason)
select 'function', p.oid::regprocedure::text, 'this release'
from pg_proc p
where p.pronamespace::regnamespace::text in ('api', 'app', 'audit', 'control') and p.xmin = pg_current_xact_id()::xid
on conflict (kind, object) do update set hash = null, reason = excluded.reason;
