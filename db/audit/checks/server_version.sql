create or replace view audit.server_version as
with server as (
  select current_setting('server_version_num')::int / 10000 as major, current_setting('server_version_num')::int % 10000 as minor,
    -- The one that this service brings along, for development.
    current_setting('cluster_name') = 'tenancy embedded' as is_embedded
), floor (major, minor, holes) as (
  -- 15.20 closes the set of November 2026; the other branches' numbers are those of the set of August 2026.
  values (15, 20, 'CVE-2026-120154, CVE-2026-16237, CVE-2026-116311, CVE-2026-116327'),
    (16, 15, 'CVE-2026-14666'), (17, 11, 'CVE-2026-14666'), (18, 6, 'CVE-2026-14666')
)
select case when s.is_embedded or f.major is null then 'warning' else 'error' end as severity, null as relation,
  current_setting('server_version') as object,
  case when f.major is null then format('which holes in row-level security Postgres %s has was not looked up', s.major)
    else format('Postgres %s.%s has holes in its policies that %1$s.%3$s closes (%4$s)', s.major, s.minor, f.minor, f.holes) end as detail,
  case when f.major is null then '-- use Postgres 15 to 18'
    when s.is_embedded then format('-- the embedded Postgres is for development: in production %s.%s or later', s.major, f.minor)
    else format('-- update the server to %s.%s or later', s.major, f.minor) end as remedy
from server s
left join floor f on f.major = s.major
where f.major is null or s.minor < f.minor
union all
-- A cluster that was made before the fix keeps the view it was made with.
select 'warning', format('pg_catalog.%I', c.relname), null, 'the view shows values of rows that policies hide (CVE-2024-4317)',
  '-- in every database, as a superuser: share/fix-CVE-2024-4317.sql of the server''s release'
from pg_class c
where c.relnamespace = 'pg_catalog'::regnamespace and c.relname in ('pg_stats_ext', 'pg_stats_ext_exprs')
  and pg_get_viewdef(c.oid) !~ 'pg_has_role';
comment on view audit.server_version is
$$error: A Postgres with known holes in row-level security. warning: The embedded one, a release that was not looked up, or a statistics
view from before CVE-2024-4317.
Why: Policies are the server's own code.
Fix: Update the server; run the script of its release notes.$$;
