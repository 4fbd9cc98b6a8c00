create or replace view audit.function_unknown as
select case when f.prosecdef and not exists (select from audit.request_roles q where q.oid = f.proowner)
    or f.is_native or bool_or(u.past_policies) then 'error' else 'warning' end as severity,
  f.oid::regprocedure::text as relation, null as object,
  concat('nobody vouches for it: ', concat_ws('; ', e.roles || ' may execute it',
    'used by ' || min(u.used_by) || case when count(u.used_by) > 1 then format(' and %s more', count(u.used_by) - 1) else '' end,
    case when f.is_native then 'it is code of the server' end,
    case when bool_or(u.past_policies) then 'it runs past the policies there' end,
    case when f.prosecdef then format('it runs as %s', f.proowner::regrole) || case
        when f.proconfig::text not like '%search_path=%' and f.prosqlbody is null then ', by its caller''s search_path' end end)) as detail,
  format(E'-- read it: \\sf %1$s\n-- then vouch for it in the repository''s file: {"kind": "function", "object": %2$s, "hash": "%3$s", '
    '"reason": "…"}\n-- and for the gate of this service''s own database: select "audit".vouch(%1$L, ''…'');',
    f.oid::regprocedure, to_json(f.oid::regprocedure::text), audit.hash_of('pg_proc', f.oid)) as remedy
from audit.unvouched f
left join audit.function_uses u on u.oid = f.oid
left join audit.executed e on e.oid = f.oid
where e.roles is not null or u.oid is not null
group by f.oid, f.proowner, f.prosecdef, f.is_native, f.proconfig, f.prosqlbody, e.roles;
comment on view audit.function_unknown is
$$error: A function that nobody vouches for, which requests execute themselves or by a trigger, policy, view, default, check or operator,
and which runs as another role, as code of the server, or past the policies (a foreign key's action, a login); any other such function
is a warning.
Why: Whoever writes a function decides what requests do, and no check can tell what it does. One that changed since it was reviewed is
unknown again.
Fix: Read it, then vouch for it in the repository's file, with its hash and a reason; for the gate by "audit".vouch().$$;
