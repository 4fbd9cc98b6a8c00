create or replace view audit.policy_depends as
select case when audit.reached_by(t.relid) is null then 'warning' else 'error' end as severity, t.relation, p.polname::text as object,
  concat('looks at ', string_agg(distinct m.what[1], ', '), ', which the proof does not vary', '; ' || audit.reached_by(t.relid)
    || ' may reach the table') as detail,
  format(E'-- it is: %s\n-- let it look at the tenant only, or name what else there is in the profile''s principals',
    replace(x.text, E'\n', ' ')) as remedy
from audit.tables t
join pg_policy p on p.polrelid = t.relid
cross join audit.profile f
cross join lateral (
  select concat_ws(' / ', pg_get_expr(p.polqual, t.relid), pg_get_expr(p.polwithcheck, t.relid)) as text) x
cross join lateral regexp_matches(x.text,
  '(session_user|system_user|inet_client_addr|inet_server_addr|pg_backend_pid|application_name|now\(|CURRENT_TIME|CURRENT_DATE|LOCALTIME'
    '|statement_timestamp|clock_timestamp|random\(|pg_notify|set_config|lo_put|nextval|pg_advisory|current_setting\(''[^'']+'')',
    'gi') m (what)
where (0 = any (p.polroles) or exists (select from audit.request_roles q where q.oid = any (p.polroles)))
  and not (m.what[1] like 'current_setting%' and strpos(f.principals, split_part(m.what[1], '''', 2)) > 0)
group by t.relid, t.relation, p.oid, p.polname, x.text;
comment on view audit.policy_depends is
$$error: A policy that looks at something in which the principals of the profile do not differ: the login, the address, the time, another
setting; or that does something: it notifies, sets, draws numbers. A warning where no request role has a privilege on the table.
Why: The proof becomes each principal; what else a policy looks at may be otherwise in production, and the table open there.
Fix: Look at the tenant only, or name what else there is in the profile's principals.$$;
