create or replace view audit.function_search_path as
with definer as (
  select f.oid, f.proowner, replace(substr(s.setting, 13), '"', '') as path
  from pg_proc f
  left join lateral (select setting from unnest(f.proconfig) setting where setting like 'search\_path=%') s on true
  where f.prosecdef and f.prosqlbody is null and f.oid >= 16384
    and f.oid not in (select oid from audit.unvouched) -- function_unknown names those
)
select case when q.roles is null then 'warning' else 'error' end as severity, d.oid::regprocedure::text as relation, null as object,
  concat('runs as ', d.proowner::regrole, ' and looks for names ', case when d.path is null then 'where its caller''s search_path says'
      when d.path ~ 'pg_temp' then 'among its caller''s temporary objects first'
      else format('in %s, where %s may create', o.nspname, o.creators) end,
    '; ' || q.roles || ' may execute it') as detail,
  format(E'-- when every name in it has its schema: alter function %s set search_path = pg_catalog, pg_temp', d.oid::regprocedure) as remedy
from definer d
left join audit.executed q on q.oid = d.oid
left join lateral (
  select n.nspname, string_agg(r.rolname, ', ' order by r.rolname) as creators
  from pg_namespace n join audit.request_roles r on has_schema_privilege(r.oid, n.oid, 'create')
  where n.nspname = any (regexp_split_to_array(d.path, ', *')) group by n.nspname limit 1) o on true
where d.path is null or d.path ~ 'pg_temp *,' or o.nspname is not null;
comment on view audit.function_search_path is
$$error: A SECURITY DEFINER function without a search_path of its own, with pg_temp before another schema, or with a schema in which
requests may create; a warning where no request role may execute it.
Why: Whoever calls it puts an object of the same name in front of the one that is meant, and it is used with the owner's rights.
Fix: Name every object with its schema, then set search_path = pg_catalog, pg_temp.$$;
