-- What keeps tenants apart, as a DBA sees it. Run on a database with the tenants acme and globex, as a superuser:
--   psql "$DATABASE" -v ON_ERROR_STOP=1 -f examples/psql/isolation.sql

-- Every table of a tenant is under row-level security, also for its owner.
select c.relname as table, c.relrowsecurity as secured, c.relforcerowsecurity as forced
from pg_class c
where c.relnamespace = 'app'::regnamespace and c.relkind = 'r'
order by c.relname;

-- The application inside acme sees acme's boards, and a row of another tenant is not there for it.
begin;
select set_config('app.tenant_id', id::text, true) is not null as inside from app.tenants where slug = 'acme';
set local role tms_app;
select title from app.boards;
select count(*) as boards_of_others from app.boards where tenant_id <> app.tenant_id();
rollback;

-- Inside no tenant it sees nothing.
begin;
set local role tms_app;
select count(*) as boards_of_nobody from app.boards;
rollback;

-- The service's own login can only call functions: no table is open to it.
select count(*) as tables_open_to_the_service
from pg_class c
where c.relnamespace = 'app'::regnamespace and c.relkind = 'r'
  and has_table_privilege('tms_service', c.oid, 'select, insert, update, delete');
