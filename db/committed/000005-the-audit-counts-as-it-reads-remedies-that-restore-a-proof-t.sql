--! Previous: sha1:694dece5d090b60e881af73f8b703fc062b6bb80
--! Hash: sha1:9f655960a170fbc02dafa7a5947ef3ced4d9a3d4
--! Message: the audit counts as it reads, remedies that restore, a proof that decides by a row

-- Write the next migration here. Around includes of functions:
-- grant create on schema app, api to tms_app, tms_registrar;
-- set local citus.enable_ddl_propagation = off;
-- set local citus.enable_ddl_propagation = on;
-- revoke create on schema app, api from tms_app, tms_registrar;
--! Included tables/audited.sql
-- What the audit would otherwise read whole tables for: the few rows that are not as almost all others.
-- In a block, which Citus is shown statement by statement: it sends each to the shards as it is told it.
do $$
begin
  create index if not exists generations_unfinished on app.generations (tenant_id, id) where status <> 'completed';
  comment on index app.generations_unfinished is 'What waits, runs or has failed.';
  create index if not exists generations_contradictory on app.generations (tenant_id)
    where case when completed_at is null then status = 'completed' else status in ('pending', 'processing') end;
  comment on index app.generations_contradictory is 'Generations whose status and completed_at contradict each other. Empty, where all is well.';
  create index if not exists boards_with_owner on app.boards (tenant_id, id) include (owner_id);
  comment on index app.boards_with_owner is 'Whose each board is, without reading the boards.';
  create index if not exists media_named_otherwise on app.media (tenant_id) where position(tenant_id::text in storage_url) = 0;
  comment on index app.media_named_otherwise is 'Media whose address does not hold the id of their tenant.';
end
$$;
--! EndIncluded tables/audited.sql
grant create on schema app, api to tms_app, tms_registrar;
set local citus.enable_ddl_propagation = off;
--! Included context/isolation_breaches.sql
set local role tms_registrar;
create or replace function app.isolation_breaches()
returns table (object text, fault text, remedy text)
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select 'the service''s login', f, 'give the service the login that db/roles.sql makes for it' from api.get_login_faults() f
  union all
  select u.name::text, u.fault, 'npm run audit says how to mend it' from app.unprotected_tables() u
  union all
  select distinct l::text, 'rows are visible outside their tenant', 'npm run audit says how to mend it' from app.leaking_tables() l
  union all
  select format('the role %s', rolname), 'it can bypass row level security', 'run db/roles.sql again'
  from pg_roles
  where rolname in ('tms_service', 'tms_app', 'tms_registrar', 'tms_owner', 'tms_auditor') and (rolsuper or rolbypassrls)
$$;
comment on function app.isolation_breaches() is
$$What lets rows out of their tenant now: faults of the login that asks, of tables, of roles, and what tms_app sees where it may see
nothing. The gate of GET /ready, and advice of GET /api/setup/status. No row when all is well.$$;
revoke all on function app.isolation_breaches() from public;
reset role;
--! EndIncluded context/isolation_breaches.sql
--! Included context/isolation_advice.sql
set local role tms_registrar;
create or replace function app.isolation_advice()
returns setof text
language sql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
  select format('Isolation is broken: %s: %s: %s', b.object, b.fault, b.remedy) from app.isolation_breaches() b
  union all
  -- Not the tenants', so no breach: a table that a migration put beside theirs without one.
  select format('The table %s has no forced row-level security: npm run audit says how to mend it', c.oid::regclass)
  from pg_class c
  where c.relkind in ('r', 'p') and c.relnamespace = 'app'::regnamespace and not (c.relrowsecurity and (c.relforcerowsecurity or app.is_distributed()))
    and c.oid not in (select name from app.unprotected_tables())
  union all
  select case
      when a.last is null then 'Isolation was never audited as a whole: run npm run audit'
      when (a.last ->> 'errors')::bigint > 0 or (a.last ->> 'not_run')::bigint > 0
        then format('The last audit (%s) found %s error(s), and %s check(s) could not run: npm run audit names them',
          a.last ->> 'finished_at', a.last ->> 'errors', a.last ->> 'not_run')
      else format('The last audit is %s days old: run npm run audit', (a.last ->> 'age_seconds')::bigint / 86400) end
  from app.last_audit() as a (last)
  where a.last is null or (a.last ->> 'errors')::bigint > 0 or (a.last ->> 'not_run')::bigint > 0 or (a.last ->> 'age_seconds')::bigint >= 8 * 86400
$$;
comment on function app.isolation_advice() is
$$What GET /api/setup/status says of isolation: one sentence for each breach, for each other table without row-level security, and for
a last audit that found errors, is more than a week old, or never was. None when all is well.$$;
revoke all on function app.isolation_advice() from public;
reset role;
--! EndIncluded context/isolation_advice.sql
--! Included api/service/get_readiness.sql
set local role tms_registrar;
create or replace function api.get_readiness(p_schema_version text)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_version constant text := app.schema_version();
begin
  return json_build_object(
    'migrations', array(
      select format('the schema is at %s, this release needs %s', coalesce(v_version, 'nothing committed'), coalesce(p_schema_version, 'nothing committed'))
      where v_version is distinct from p_schema_version),
    'isolation', array(select format('%s: %s', b.object, b.fault) from app.isolation_breaches() b),
    'audit', app.last_audit(),
    'tenants', json_build_object('pending', app.count_tenants('pending'), 'active', app.count_tenants('active'),
      'suspended', app.count_tenants('suspended')));
end
$$;
comment on function api.get_readiness(text) is
$$What GET /ready and GET /metrics say of the database: {migrations, isolation} are sentences, one a fault, none when all is
well; tenants are the numbers by status, audit is the last one. p_schema_version is the migration this release was built with.$$;
revoke all on function api.get_readiness(text) from public;
grant execute on function api.get_readiness(text) to tms_service;
reset role;
--! EndIncluded api/service/get_readiness.sql
grant create on schema audit to tms_auditor;
grant create, usage on schema audit to tms_app;
--! Included audit/relations.sql
create or replace function audit.relations()
returns table (relid regclass, tenant_column name, is_child boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select c.oid::regclass, a.attname, exists (select from pg_inherits where inhrelid = c.oid)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  join pg_attribute a on a.attrelid = c.oid and not a.attisdropped
    and a.attname = case when c.oid = to_regclass('app.tenants') then 'id' else 'tenant_id' end
  where c.relkind in ('r', 'p') and c.relpersistence <> 't'
    and n.nspname not in ('pg_catalog', 'information_schema', 'control', 'audit', 'graphile_migrate')
  order by c.oid::regclass::text
$$;
comment on function audit.relations() is
$$The tables that must keep tenants apart: app.tenants, and every table with a column tenant_id wherever it is, with their
partitions and children (is_child). The schemas control, audit and graphile_migrate hold no tenant's data.$$;

-- The keys of the service's own tables, by heart: a dropped constraint is no longer in the catalog to be missed.
drop function if exists audit.expected_references(); -- its columns may change between releases
create or replace function audit.expected_references()
returns table (child text, child_column name, parent text, constraint_name name, cascades boolean)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('app.boards', 'owner_id'::name, 'app.users', 'boards_owner'::name, false),
    ('app.board_members', 'board_id', 'app.boards', 'board_members_board', true),
    ('app.board_members', 'user_id', 'app.users', 'board_members_user', true),
    ('app.board_members', 'invited_by', 'app.users', 'board_members_inviter', false),
    ('app.generations', 'board_id', 'app.boards', 'generations_board', true),
    ('app.generations', 'user_id', 'app.users', 'generations_user', false),
    ('app.media', 'generation_id', 'app.generations', 'media_generation', true),
    ('app.credit_transactions', 'user_id', 'app.users', 'credit_transactions_user', false),
    ('app.credit_transactions', 'generation_id', 'app.generations', 'credit_transactions_generation', false)
$$;

create or replace function audit.tenant_references()
returns table (child regclass, parent regclass, child_columns name[], parent_columns name[], constraint_name name)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with declared as (
    select c.conrelid::regclass as child, c.confrelid::regclass as parent, c.conname,
      array_agg(ca.attname order by k.n) as child_columns, array_agg(pa.attname order by k.n) as parent_columns
    from pg_constraint c
    cross join unnest(c.conkey, c.confkey) with ordinality as k (child, parent, n)
    join pg_attribute ca on ca.attrelid = c.conrelid and ca.attnum = k.child
    join pg_attribute pa on pa.attrelid = c.confrelid and pa.attnum = k.parent
    join audit.relations() cr on cr.relid = c.conrelid and not cr.is_child
    join audit.relations() pr on pr.relid = c.confrelid
    where c.contype = 'f' and c.conparentid = 0 and c.confrelid is distinct from to_regclass('app.tenants')
      and not (ca.attname = 'tenant_id' and pa.attname = 'tenant_id')
    group by c.oid
  )
  select child, parent, child_columns, parent_columns, conname from declared
  union all
  select to_regclass(e.child), to_regclass(e.parent), array[e.child_column], array['id'::name], null
  from audit.expected_references() e
  where to_regclass(e.child) is not null and to_regclass(e.parent) is not null
    and not exists (select from declared d where d.child = to_regclass(e.child) and d.child_columns = array[e.child_column])
  order by 1, 3
$$;
comment on function audit.tenant_references() is
$$How tenants' tables refer to each other, without the tenant columns: every foreign key in the catalog, and those of the
service's own tables that are no longer there (constraint_name null), even when their column is gone: the check then fails.$$;
--! EndIncluded audit/relations.sql
--! Included audit/row_tests.sql
-- What is asked of each row of a table: a predicate over the row `c` and the rows it refers to: `t` is the row's tenant,
-- `r1`, `r2` … the referred rows, null where there is none. `question` asks the same of a slice of the tenants at once, in the
-- cheapest way there is, and of all tests of one reference: it counts, merging two indexes where it can. Only where it counts
-- a suspect is the predicate asked, row by row. Its four numbers: rows of the table (0: it did not count them), suspects, and
-- for the data check that the same reading answers rows and suspects, or null. {slice x} stands for the condition on the row x.
-- Its columns may change between releases, which `create or replace` refuses.
drop function if exists audit.row_tests(regclass);
create or replace function audit.row_tests(p_table regclass)
returns table (check_name text, check_elsewhere text, joins text, predicate text, elsewhere text, detail text, question text, child_column name, parent regclass)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with col as (
    select attname as name, atttypid as type from pg_attribute where attrelid = p_table and attnum > 0 and not attisdropped
  ), ref as (
    select r.*, 'r' || row_number() over (order by r.child_columns, r.constraint_name, r.parent::text) as alias,
      (select string_agg(format('c.%I', x), ', ') from unnest(r.child_columns) x) as child_list,
      (select string_agg(format('c.%I is not null', x), ' and ') from unnest(r.child_columns) x) as given
    from audit.tenant_references() r
    where r.child = p_table
  ), own as (
    -- The tests of the service's own tables. {column} is the row that a column refers to; the question about `asked_with`, or
    -- about that column, asks this as well. An index finds the rows of an `indexed` one (tables/audited.sql).
    select o.check_name, o.predicate, o.indexed, o.detail, coalesce(o.asked_with, substring(o.predicate from '\{(\w+)}')::name) as asked_with
    from (values
      ('app.board_members', 'removed_member_on_board', '{user_id}.removed_at is not null', false, null::name,
        $q$'the user ' || c.user_id || ' has left the tenant and is still on the board ' || c.board_id$q$),
      ('app.board_members', 'board_owner_as_member', '{board_id}.owner_id = c.user_id', false, null,
        $q$'the user ' || c.user_id || ' owns the board and is also listed as ' || c.role$q$),
      ('app.board_members', 'board_role_unknown', $q$c.role is null or c.role not in ('viewer', 'editor', 'admin')$q$, false, null,
        $q$'the role ' || coalesce(quote_literal(c.role), 'null') || ' is not viewer, editor or admin'$q$),
      ('app.users', 'value_unknown', $q$c.role is null or c.role not in ('owner', 'admin', 'member')$q$, false, null,
        $q$'the role ' || coalesce(quote_literal(c.role), 'null') || ' is not owner, admin or member'$q$),
      ('app.generations', 'value_unknown', $q$c.status is null or c.status not in ('pending', 'processing', 'completed', 'failed', 'cancelled')$q$, false, null,
        $q$'the status ' || coalesce(quote_literal(c.status), 'null') || ' is not one of pending, processing, completed, failed, cancelled'$q$),
      ('app.generations', 'generation_state', $q$case when c.completed_at is null then c.status = 'completed' else c.status in ('pending', 'processing') end$q$,
        true, null, -- it holds just these rows
        $q$'the status is ' || c.status || ' and completed_at is ' || coalesce(c.completed_at::text, 'null')$q$),
      ('app.media', 'storage_of_other_tenant',
        $q$position(c.tenant_id::text in c.storage_url) = 0 and exists (
          select from app.tenants o
          where o.id <> c.tenant_id
            and o.id = substring(c.storage_url from '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')::uuid)$q$,
        true, null, -- almost every address holds its own tenant's id; it holds the others
        $q$'the address names the tenant ' || substring(c.storage_url from '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')$q$),
      ('app.credit_transactions', 'time_in_future', $q$c.created_at > now() + interval '1 hour'$q$, false, 'user_id', $q$'created_at is ' || c.created_at$q$),
      ('app.tenants', 'value_unknown', $q$c.status is null or c.status not in ('pending', 'active', 'suspended')$q$, false, null,
        $q$'the status ' || coalesce(quote_literal(c.status), 'null') || ' is not pending, active or suspended'$q$),
      ('app.tenants', 'tenant_malformed', $q$c.slug is null or c.slug !~ '^[a-z0-9-]{1,255}$' or c.name is null or c.name !~ '\S' or char_length(c.name) > 255$q$, false, null,
        $q$case when c.slug ~ '^[a-z0-9-]{1,255}$' then 'the name is blank or longer than 255 characters'
           else 'nobody can name the slug ' || coalesce(quote_literal(left(c.slug, 300)), 'null') end$q$)
    ) as o (relation, check_name, predicate, indexed, asked_with, detail)
    where to_regclass(o.relation) = p_table
  ), ref_sql as (
    select ref.*,
      format('left join %s %s on %s.%I = c.tenant_id and (%s) = (%s)',
        -- Postgres lets a foreign key point at a unique key only. Where that is gone, duplicates must not multiply rows.
        case when audit.is_unique(parent, array['tenant_id'::name] || parent_columns)
          then parent::text
          else format('(select distinct on (tenant_id, %s) * from %s)', parent_names, parent) end,
        alias, alias, 'tenant_id', parent_list, child_list) as joins, parent_list
    from ref
    cross join lateral (select string_agg(format('%s.%I', alias, x), ', ') as parent_list, string_agg(quote_ident(x), ', ') as parent_names from unnest(parent_columns) x) l
  ), whole as (
    select ref_sql.*, b.question as built_in,
      (select string_agg(replace(o.predicate, '{' || child_columns[1] || '}', alias), ') or (') from own o
       where o.asked_with = child_columns[1] and cardinality(child_columns) = 1) as also,
      -- Every row has a parent to look for, and finds one at most: then the same reading counts the rows.
      audit.is_never_null(p_table, 'tenant_id') and (select bool_and(audit.is_never_null(p_table, x)) from unnest(child_columns) x)
        and audit.is_unique(ref_sql.parent, array['tenant_id'::name] || parent_columns) as countable
    from ref_sql
    left join (values
      -- Both ways at once: media without their generation, and completed generations without media.
      ('app.media', 'generation_id'::name, 'app.generations',
        $q$select count(c.tenant_id), count(*) - count(r.id), count(r.id), count(*) filter (where c.tenant_id is null and r.unfinished is null)
           from (select c.tenant_id, c.generation_id from app.media c where {slice c}) c
           full join (
             select g.tenant_id, g.id, u.id as unfinished
             from app.generations g
             left join app.generations u on u.tenant_id = g.tenant_id and u.id = g.id and u.status <> 'completed' and {slice u}
             where {slice g}) r
           on r.tenant_id = c.tenant_id and r.id = c.generation_id$q$),
      -- A ledger is told good from bad as two arrays, in the order of the index: half of a window's cost. {also} is asked of its last row.
      ('app.credit_transactions', 'user_id', 'app.users',
        $q$select sum(c.rows), sum(c.rows) filter (where r.id is null or ({also})), sum(c.rows),
             count(*) filter (where c.before[1] <> 0 or c.before[2:] <> c.after[:c.rows - 1])
           from (
             select c.tenant_id, c.user_id, count(*)::int as rows, max(c.created_at) as created_at,
               array_agg(c.balance_after - c.amount order by c.created_at, c.id) as before,
               array_agg(c.balance_after order by c.created_at, c.id) as after
             from app.credit_transactions c
             where {slice c}
             group by c.tenant_id, c.user_id) c
           left join app.users r on r.tenant_id = c.tenant_id and r.id = c.user_id and {slice r}$q$)
    ) as b (child, child_column, parent, question)
    on to_regclass(b.child) = ref_sql.child and to_regclass(b.parent) = ref_sql.parent and child_columns = array[b.child_column]
      and parent_columns = array['id'::name]
  ), questions as (
    select whole.*, case
      when countable and built_in is not null then replace(built_in, '{also}', coalesce(also, 'false'))
      -- One question of a table counts its rows.
      when countable and not bool_or(countable and built_in is not null) over ()
        and 1 = row_number() over (partition by countable order by also is not null, child_columns, constraint_name, parent::text)
      then format('select count(*), %6$s, null::bigint, null::bigint from %1$s c
          left join %2$s %3$s on %3$s.tenant_id = c.tenant_id and (%4$s) = (%5$s) and {slice %3$s}
          where %7$s and {slice c}', -- which all are; Citus refuses the join of a table whose rows no policy shows without it
        p_table, parent, alias, parent_list, child_list,
        case when also is null then format('count(*) - count(%s.tenant_id)', alias)
             else format('count(*) filter (where %s.tenant_id is null or (%s))', alias, also) end, given)
      else format('select 0, count(*), null::bigint, null::bigint from %1$s c
          where %2$s and not exists (select from %3$s %4$s where %4$s.tenant_id = c.tenant_id and (%5$s) = (%6$s)%7$s and {slice %4$s}) and {slice c}',
        p_table, given, parent, alias, parent_list, child_list, ' and ((' || also || ')) is not true')
      end as question
    from whole
  ), own_sql as (
    select o.check_name, r.joins, coalesce(r.question, case when o.indexed then
        format('select 0, count(*), null::bigint, null::bigint from %s c where %s and {slice c}', p_table, o.predicate) end) as question,
      case when r.alias is null then o.predicate else replace(o.predicate, '{' || r.child_columns[1] || '}', r.alias) end as predicate, o.detail
    from own o
    left join questions r on r.child_columns = array[o.asked_with]
  )
  select * from (
  select 'tenant_missing', null::text, 'left join app.tenants t on t.id = c.tenant_id', 't.id is null', null::text,
    $q$case when c.tenant_id is null then 'the row has no tenant' else 'there is no tenant ' || c.tenant_id end$q$,
    null::text, null::name, null::regclass
  where p_table is distinct from to_regclass('app.tenants')
  union all
  select
    coalesce(b.name, 'parent_missing'),
    coalesce(b.name, case when parent = to_regclass('app.users') then 'user_of_other_tenant' else 'parent_of_other_tenant' end),
    joins, format('%s and %s.tenant_id is null', given, alias),
    -- Asked of suspects only: does the row exist, elsewhere?
    format('(%s) in (select %s from %s)', child_list, (select string_agg(quote_ident(x), ', ') from unnest(parent_columns) x), parent),
    format($q$concat_ws(', ', %s)$q$, (select string_agg(format($f$%L || c.%I$f$, x || ' ', x), ', ') from unnest(child_columns) x))
      || format($q$ || case when s.elsewhere then %L else %L end$q$,
        format(' is in %s, but in another tenant', parent), format(' is not in %s', parent)),
    question, case when cardinality(child_columns) = 1 then child_columns[1] end, questions.parent
  from questions
  left join (values
    ('app.boards', 'owner_id', 'board_owner_outside_tenant'), ('app.board_members', 'user_id', 'board_member_outside_tenant'),
    ('app.board_members', 'board_id', 'membership_without_board'), ('app.board_members', 'invited_by', 'board_inviter_outside_tenant')
  ) as b (relation, column_name, name) on to_regclass(b.relation) = child and child_columns = array[b.column_name::name]
  union all
  select check_name, null, joins, predicate, null, detail, question, null, null from own_sql
  union all
  select 'times_out_of_order', null, null, format('c.%I < c.created_at', name), null,
    format($q$%L || c.%I || ' is before created_at ' || c.created_at$q$, name || ' ', name), null, null, null
  from col
  where name in ('updated_at', 'started_at', 'completed_at', 'finished_at', 'removed_at', 'deleted_at') and type = 'timestamptz'::regtype
    and exists (select from col where name = 'created_at' and type = 'timestamptz'::regtype)
  union all
  select 'not_an_object', null, null, format($q$jsonb_typeof(c.%I) <> 'object'$q$, name), null,
    format($q$%L || jsonb_typeof(c.%I)$q$, name || ' holds a JSON ', name), null, null, null
  from col where name in ('settings', 'config', 'input', 'registration', 'metadata') and type = 'jsonb'::regtype
  union all
  -- A validated CHECK cannot have been broken; one that was added NOT VALID says nothing about the rows before it.
  select 'constraint_broken', null, null, format('not (%s)', case when 0 = any (conkey) -- it is about the whole row, which is c here
      then replace(pg_get_expr(conbin, conrelid), (select quote_ident(relname) from pg_class where oid = conrelid) || '.*', 'c.*')
      else pg_get_expr(conbin, conrelid) end), null,
    format($q$%L$q$, format('the row breaks the constraint %I', conname)), null, null, null
  from pg_constraint where conrelid = p_table and contype = 'c' and not (convalidated and coalesce((to_jsonb(pg_constraint) ->> 'conenforced')::boolean, true))
  ) as tests (check_name, check_elsewhere, joins, predicate, elsewhere, detail, question, child_column, parent)
  order by question, check_name
$$;
comment on function audit.row_tests(regclass) is
$$The tests of a table: `predicate` is true of a row that fails; for references `elsewhere` then tells whether the missing row
lives in another tenant (check_elsewhere) or nowhere (check_name). `detail` is an SQL expression.$$;
--! EndIncluded audit/row_tests.sql
--! Included audit/scan.sql
-- The tenants that a table names: with many rows a tenant they are read off an index, one step a tenant.
create or replace function audit.count_lost_tenants(p_table regclass)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count bigint;
begin
  if (select reltuples from pg_class where oid = p_table) < 100 * (select greatest(reltuples, 1) from pg_class where oid = 'app.tenants'::regclass)
    or not exists (
      select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      where i.indrelid = p_table and i.indisvalid and i.indpred is null and a.attname = 'tenant_id' and audit.is_never_null(p_table, 'tenant_id'))
  then
    execute format('select count(*) from %s c where not exists (select from app.tenants t where t.id = c.tenant_id)', p_table) into v_count;
  else
    execute format(
      'with recursive named (id) as (
         (select tenant_id from %1$s order by tenant_id limit 1)
         union all
         select (select tenant_id from %1$s where tenant_id > n.id order by tenant_id limit 1) from named n where n.id is not null)
       select count(*) from named n where n.id is not null and not exists (select from app.tenants t where t.id = n.id)', p_table) into v_count;
  end if;
  return v_count;
end
$$;
comment on function audit.count_lost_tenants(regclass) is 'How many tenants, or rows, of a table name a tenant that does not exist: 0 or more than 0 is all that is promised.';

-- One question for each reference, and one for all tests of single rows that no constraint proves; of a clean table nothing
-- else is asked. The rows are counted where they are read anyway.
create or replace function audit.scan(p_table regclass, p_tenant_id uuid)
returns setof audit.outcome
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_column name;
  v_joined regclass;
  v_asked text[];
  v_slices text[];
  v_rows bigint;
  v_suspects bigint := 0;
  v_answer bigint[];
  v_answers jsonb := '{}';
  v_also bigint[];
  v_lost_in regclass;
  v_keys name[];
  v_row text;
  v_key text;
  v_tests jsonb;
  v_test record;
  v_check text;
  v_suspected boolean;
  v_found audit.outcome;
  v_kept jsonb;
begin
  select tenant_column into strict v_column from audit.relations() where relid = p_table;
  for v_joined in
    select p_table union select r.parent from audit.tenant_references() r where r.child = p_table
    union select 'app.tenants'::regclass
  loop
    perform audit.require_unfiltered(v_joined);
  end loop;
  v_slices := audit.slices(p_table, v_column, p_tenant_id);
  select jsonb_agg(t) into v_tests from audit.row_tests(p_table) t; -- once: writing them takes milliseconds
  for v_test in
    select distinct on (question) t ->> 'question' as question, t ->> 'child_column' as child_column
    from jsonb_array_elements(v_tests) t where t ->> 'question' is not null
    order by question, child_column
  loop
    v_answer := audit.ask(v_test.question, v_slices, p_table, v_test.child_column);
    v_answers := v_answers || jsonb_build_object(v_test.question, v_answer[2]);
    v_rows := greatest(v_rows, nullif(v_answer[1], 0));
    if v_answer[4] is not null then
      v_also := v_answer[3:4];
    end if;
  end loop;
  select array_agg(t ->> 'predicate') into v_asked
  from jsonb_array_elements(v_tests) t
  where t ->> 'question' is null and t ->> 'check_name' <> 'tenant_missing' and not audit.is_proved(p_table, t ->> 'predicate');
  if v_rows is null or v_asked is not null then
    execute format('select count(*), count(*) filter (where %s) from %s c where $1 is null or c.%I = $1',
      coalesce('(' || array_to_string(v_asked, ') or (') || ')', 'false'), p_table, v_column)
    into v_rows, v_suspects using p_tenant_id;
  end if;
  if v_rows = 0 and audit.has_rows(p_table, v_column, p_tenant_id) then
    raise exception using errcode = 'data_exception',
      message = format('%s shows the auditor no row, and it has rows', p_table);
  end if;
  -- Rows that all have their parent are in their parents' tenants: then the question is put to the fewer rows.
  select t.parent into v_lost_in
  from jsonb_to_recordset(v_tests) t (question text, child_column name, parent regclass)
  join pg_class c on c.oid = t.parent
  where t.child_column is not null and v_answers ->> t.question = '0' and c.reltuples between 0 and v_rows
    and audit.is_never_null(p_table, 'tenant_id') and audit.is_never_null(p_table, t.child_column)
  order by c.reltuples limit 1;
  v_lost_in := coalesce(v_lost_in, p_table);

  select array_agg(a.attname order by k.n) into v_keys
  from pg_index i cross join unnest(i.indkey) with ordinality as k (attnum, n)
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
  where i.indrelid = p_table and i.indisprimary;
  v_keys := coalesce(v_keys, array['ctid'::name]);
  select string_agg(format('%L, c.%I', k, k), ', '),
         'concat_ws('' and '', ' || string_agg(format('format(%L, c.%I)', replace(quote_ident(k), '%', '%%') || ' = %L', k), ', ') || ')'
  into v_row, v_key from unnest(v_keys) k;
  if v_keys = array['ctid'::name] then -- of one partition, or one child, only
    v_key := $q$format('tableoid = %L::regclass and ctid = %L', c.tableoid::regclass, c.ctid)$q$;
  end if;

  for v_test in
    select * from jsonb_to_recordset(v_tests)
      t (check_name text, check_elsewhere text, joins text, predicate text, elsewhere text, detail text, question text)
  loop
    if v_test.question is not null then
      v_suspected := v_answers ->> v_test.question is distinct from '0';
    elsif v_test.check_name = 'tenant_missing' then
      v_suspected := p_tenant_id is null and audit.count_lost_tenants(v_lost_in) > 0;
    else
      v_suspected := v_suspects > 0 and v_test.predicate = any (v_asked);
    end if;
    for v_found."check" in select unnest(array_remove(array[v_test.check_name, nullif(v_test.check_elsewhere, v_test.check_name)], null)) loop
      v_found.relation := p_table;
      v_found.checked := v_rows;
      v_found.errors := 0;
      v_found.kept := null;
      if v_suspected then
        -- In two steps, and without the audit's types, because of Citus: it asks whether a row exists elsewhere only of rows
        -- that it has in hand, and sends a statement about a single tenant to a worker, which knows no such type.
        execute format(
          $q$with suspects as materialized (
               select %11$s c.* from %10$s c %5$s where (%7$s) %9$s
             ), s as materialized (
               select %1$s as tenant_id, jsonb_build_object(%2$s) as key, %3$s as detail, %4$s as place
               from suspects c cross join lateral (select %6$s as elsewhere) s
               where true %8$s)
             select count(*), (select jsonb_agg(k) from (select tenant_id, key, detail, place from s order by key limit 1000) k)
             from s$q$,
          format('c.%I', v_column), v_row, v_test.detail, v_key, coalesce(v_test.joins, ''), coalesce(v_test.elsewhere, 'null::boolean'), v_test.predicate,
          case when v_test.check_elsewhere is null or v_test.check_elsewhere = v_test.check_name then ''
               when v_found."check" = v_test.check_elsewhere then 'and s.elsewhere' else 'and not s.elsewhere' end,
          case when p_tenant_id is null then '' else format('and c.%I = $1', v_column) end,
          p_table::text, case when v_keys = array['ctid'::name] then 'c.tableoid, c.ctid,' end)
        into v_found.errors, v_kept using p_tenant_id;
        v_found.kept := array(
          select row(null, k.tenant_id, p_table::text, k.key, k.detail,
            format(E'-- look at it, then correct or delete it:\nselect * from %s where %s;', p_table, k.place))::audit.observation
          from jsonb_to_recordset(v_kept) k (tenant_id uuid, key jsonb, detail text, place text));
      end if;
      return next v_found;
    end loop;
  end loop;
  for v_check in select d.check_name from audit.data_checks() d where to_regclass(d.answered_by) = p_table loop
    return next audit.check_rows(v_check, p_tenant_id, v_also);
  end loop;
end
$$;
comment on function audit.scan(regclass, uuid) is
$$Runs every row test of a table, over all its rows or those of one tenant: one outcome a test, all findings counted under
`errors` (the caller knows the severity). Raises 42501 when the auditor would not see every row, 22000 when it sees none and there are some.$$;
--! EndIncluded audit/scan.sql
--! Included audit/checks/tables.sql
create or replace function audit.check_table_rules()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb, f.fault,
    format('-- mend it, then:%sselect app.isolate(%L);', E'\n', r.relid)
  from audit.relations() r
  left join lateral app.isolation_faults(r.relid) f on true
  where r.tenant_column = 'tenant_id' and not r.is_child
$$;

-- The service's own tables and what the checks read of them: most tests are made from the columns there are, so that a
-- column that is gone would take its test along without a word.
create or replace function audit.check_table_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, t.name, case when c.name is null then '{}' else jsonb_build_object('column', c.name) end,
    case when to_regclass(t.name) is null then 'the table is not there: what depends on it was not examined'
         when c.name is not null and not exists (
           select from pg_attribute where attrelid = to_regclass(t.name) and attname = c.name and not attisdropped)
           then format('the column %s is not there: what is asked of it was not examined', c.name) end,
    'restore it from a backup, or run the migrations: npm run migrate'
  from (values
    ('app.tenants', array['slug', 'name', 'status', 'settings', 'registration', 'is_default', 'created_at', 'updated_at']),
    ('app.users', array['tenant_id', 'auth_provider', 'auth_subject', 'role', 'created_at', 'updated_at', 'removed_at']),
    ('app.boards', array['tenant_id', 'owner_id', 'settings', 'created_at', 'updated_at']),
    ('app.board_members', array['tenant_id', 'board_id', 'user_id', 'invited_by', 'role', 'created_at']),
    ('app.generations', array['tenant_id', 'board_id', 'user_id', 'status', 'input', 'created_at', 'completed_at']),
    ('app.media', array['tenant_id', 'generation_id', 'storage_url', 'created_at']),
    ('app.provider_configs', array['tenant_id', 'provider_name', 'config', 'created_at', 'updated_at']),
    ('app.credit_transactions', array['tenant_id', 'user_id', 'generation_id', 'amount', 'balance_after', 'created_at'])
  ) as t (name, columns)
  cross join lateral (select null union all select unnest(t.columns)) c (name)
  where c.name is null or to_regclass(t.name) is not null
$$;

-- The tables that hang on a tenant by their foreign keys, whether or not anybody thought of tenant_id.
create or replace function audit.check_table_without_tenant()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive reached (relid) as (
    select relid::oid from audit.relations()
    union
    select c.conrelid from reached r join pg_constraint c on c.confrelid = r.relid and c.contype = 'f'
  )
  select 'error', null::uuid, c.oid::regclass::text, '{}'::jsonb,
    case when t.relid is null then
      case when k.relid is not null then 'the table refers to tenants'' rows and has no column tenant_id: its rows belong to nobody'
      else 'the table is among the tenants'' tables and has no column tenant_id' end end,
    format('select app.isolate(%L, p_adopt => true);', c.oid::regclass)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join audit.relations() t on t.relid = c.oid
  left join reached k on k.relid = c.oid
  where c.relkind in ('r', 'p') and c.relpersistence <> 't' and n.nspname not in ('control', 'audit')
    and (n.nspname = 'app' or k.relid is not null)
$$;

create or replace function audit.check_tenant_key()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb,
    case when k.oid is null then 'no foreign key ties tenant_id to app.tenants with ON DELETE CASCADE: rows of nobody can be written, and outlive their tenant'
         when not k.convalidated then format('the foreign key %I is NOT VALID: nobody looked at the rows before it', k.conname) end,
    case when k.oid is null then format('alter table %s add foreign key (tenant_id) references app.tenants (id) on delete cascade;', r.relid)
         else format('alter table %s validate constraint %I;', r.relid, k.conname) end
  from audit.relations() r
  left join lateral (
    select c.* from pg_constraint c
    where c.conrelid = r.relid and c.contype = 'f' and c.confrelid = to_regclass('app.tenants') and c.confdeltype = 'c'
      and coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true)
      and c.conkey = array(select attnum from pg_attribute where attrelid = r.relid and attname = 'tenant_id')
    order by c.convalidated desc limit 1) k on true
  where r.tenant_column = 'tenant_id' and not r.is_child
$$;

create or replace function audit.check_foreign_key_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when r.constraint_name is null then 'error' else 'warning' end, null::uuid, r.child::text, jsonb_build_object('columns', to_jsonb(r.child_columns)),
    case when r.constraint_name is null then format('no foreign key (tenant_id, %s) refers to %s: a row may point into another tenant', array_to_string(r.child_columns, ', '), r.parent)
         when e.cascades and c.confdeltype <> 'c' then format('the foreign key %I has lost its ON DELETE CASCADE: what should go with a row keeps it from being deleted', r.constraint_name) end,
    format('alter table %s %sadd constraint %I foreign key (tenant_id, %s) references %s (tenant_id, %s)%s;', r.child, 'drop constraint ' || quote_ident(r.constraint_name) || ', ',
      coalesce(e.constraint_name, r.constraint_name), array_to_string(r.child_columns, ', '), r.parent, array_to_string(r.parent_columns, ', '),
      case when e.cascades then ' on delete cascade' end)
  from audit.tenant_references() r
  left join audit.expected_references() e on to_regclass(e.child) = r.child and array[e.child_column] = r.child_columns
  left join pg_constraint c on c.conrelid = r.child and c.conname = r.constraint_name
  union all
  -- Anybody's table: a column that looks like a reference and is bound by nothing.
  select 'warning', null, r.relid::text, jsonb_build_object('columns', jsonb_build_array(a.attname)),
    case when not exists (select from pg_constraint c where c.conrelid = r.relid and c.contype = 'f' and a.attnum = any (c.conkey))
         then format('%I looks like a reference, and no foreign key holds it to its tenant', a.attname) end,
    format('alter table %s add foreign key (tenant_id, %I) references … (tenant_id, id);', r.relid, a.attname)
  from audit.relations() r
  join pg_attribute a on a.attrelid = r.relid and a.attnum > 0 and not a.attisdropped
    and a.atttypid = 'uuid'::regtype and a.attname like '%\_id' and a.attname <> 'tenant_id'
  where not r.is_child and r.tenant_column = 'tenant_id'
    and not exists (select from audit.expected_references() e where to_regclass(e.child) = r.relid and e.child_column = a.attname)
$$;

create or replace function audit.check_constraint_not_valid()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when c.contype = 'f' then 'error' else 'warning' end, null::uuid, r.relid::text, jsonb_build_object('constraint', c.conname),
    case when not coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true) then format('the constraint %I is NOT ENFORCED', c.conname)
         when not c.convalidated then format('the constraint %I is NOT VALID: it was never held against the rows before it', c.conname) end,
    case when not coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true) then format('alter table %s alter constraint %I enforced;', r.relid, c.conname)
         else format('alter table %s validate constraint %I;', r.relid, c.conname) end
  from audit.relations() r join pg_constraint c on c.conrelid = r.relid
  where c.contype in ('f', 'c', 'n')
$$;

-- Foreign keys are triggers. Switched off they keep their names and check nothing.
create or replace function audit.check_trigger_disabled()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when t.tgisinternal then 'error' else 'warning' end, null::uuid, t.tgrelid::regclass::text, jsonb_build_object('trigger', t.tgname),
    case when t.tgenabled in ('D', 'R') then format('the trigger %s is disabled%s', t.tgname,
      coalesce(': the foreign key ' || quote_ident(c.conname) || ' of ' || c.conrelid::regclass || ' is not checked', '')) end,
    format('alter table %s enable trigger all;', t.tgrelid::regclass)
  from audit.relations() r
  join pg_trigger t on t.tgrelid = r.relid
  left join pg_constraint c on c.oid = t.tgconstraint
$$;

create or replace function audit.check_index_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, c.conrelid::regclass::text, jsonb_build_object('constraint', c.conname),
    case when not exists (
      select from pg_index i
      where i.indrelid = c.conrelid and i.indisvalid and i.indpred is null and i.indnkeyatts >= cardinality(c.conkey)
        and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] @> c.conkey and (i.indkey::int2[])[0:cardinality(c.conkey) - 1] <@ c.conkey)
      then format('no index leads with the columns of the foreign key %I: deletes and look-ups read other tenants'' rows, and their time tells', c.conname) end,
    format('create index concurrently on %s (%s);', c.conrelid::regclass,
      (select string_agg(quote_ident(a.attname), ', ' order by k.n) from unnest(c.conkey) with ordinality as k (attnum, n)
       join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.attnum))
  from pg_constraint c join audit.relations() r on r.relid = c.conrelid and not r.is_child
  where c.contype = 'f'
$$;

create or replace function audit.check_table_owner()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, o.name, o.key,
    case when o.owner is distinct from to_regrole('tms_owner') then format('%s is owned by %s: an owner can switch row-level security off', o.name, o.owner::regrole) end,
    format('alter %s %s owner to tms_owner;', o.kind, o.name)
  from (
    select c.oid::regclass::text as name, '{}'::jsonb as key, c.relowner as owner, case c.relkind when 'S' then 'sequence' when 'v' then 'view' else 'table' end as kind
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'S') and (n.nspname in ('app', 'control', 'audit', 'api') or c.oid in (select relid from audit.relations()))
    union all
    select n.nspname, jsonb_build_object('schema', n.nspname), n.nspowner, 'schema'
    from pg_namespace n where n.nspname in ('app', 'api', 'control', 'audit')
  ) o
$$;

create or replace function audit.check_view_leaks()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive reading (oid) as (
    select relid::oid from audit.relations()
    union
    select w.ev_class from reading r
    join pg_depend d on d.refclassid = 'pg_class'::regclass and d.refobjid = r.oid and d.classid = 'pg_rewrite'::regclass
    join pg_rewrite w on w.oid = d.objid
  )
  select 'error', null::uuid, c.oid::regclass::text, '{}'::jsonb,
    case when c.relkind = 'm' then 'the materialized view holds tenants'' rows, and no policy applies to it'
         when not exists (select from unnest(c.reloptions) o where o in ('security_invoker=true', 'security_invoker=on', 'security_invoker=1', 'security_invoker=yes'))
           then format('the view reads tenants'' rows with the rights of its owner, %s', c.relowner::regrole) end,
    case when c.relkind = 'm' then format('drop materialized view %s;', c.oid::regclass)
         else format('alter view %s set (security_invoker = true);', c.oid::regclass) end
  from pg_class c join reading r on r.oid = c.oid
  where c.relkind in ('v', 'm')
$$;

create or replace function audit.check_foreign_table()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, c.oid::regclass::text, '{}'::jsonb,
    case when c.relkind = 'f' then 'the foreign table holds tenants'' rows, and no policy applies to it' end,
    format('drop foreign table %s;', c.oid::regclass)
  from pg_class c
  where c.relkind in ('f', 'r', 'p') and (c.relnamespace = to_regnamespace('app')
    or c.relkind = 'f' and exists (select from pg_attribute where attrelid = c.oid and attname = 'tenant_id'))
$$;

create or replace function audit.check_rewrite_rule()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, jsonb_build_object('rule', w.rulename),
    case when w.oid is not null then format('the rule %I rewrites statements on the table with the rights of its owner', w.rulename) end,
    'drop rule ' || quote_ident(w.rulename) || ' on ' || r.relid || ';'
  from audit.relations() r left join pg_rewrite w on w.ev_class = r.relid
$$;

create or replace function audit.check_publication()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, r.relid::text, jsonb_build_object('publication', p.pubname),
    case when p.pubname is not null then format('the publication %I sends every tenant''s rows to its subscribers: replication knows no policy', p.pubname) end,
    E'-- for a replica of the whole service this is right; else:\n' || p.mend
  from audit.relations() r
  left join lateral (
    select p.pubname, format('drop publication %I; -- and make one that lists what may leave', p.pubname) as mend from pg_publication p where p.puballtables
    union all
    select p.pubname, format('alter publication %I drop table %s;', p.pubname, r.relid)
    from pg_publication p join pg_publication_rel x on x.prpubid = p.oid and x.prrelid = r.relid
    union all
    select p.pubname, format('alter publication %I drop tables in schema %I;', p.pubname, n.nspname)
    from pg_publication p join pg_publication_namespace x on x.pnpubid = p.oid
    join pg_class c on c.relnamespace = x.pnnspid and c.oid = r.relid join pg_namespace n on n.oid = c.relnamespace
  ) p on true
$$;

-- Uniqueness that the service relies on. Like the references, known by heart: an INSERT names some of these constraints, so
-- an index that does the same is not enough.
create or replace function audit.check_unique_key_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, w.relation, jsonb_build_object('columns', to_jsonb(w.columns)),
    case when not exists (
      select from pg_index i
      where i.indrelid = to_regclass(w.relation) and i.indisunique and i.indisvalid and i.indexprs is null
        and (w.name is null or exists (select from pg_constraint c where c.conindid = i.indexrelid and c.conrelid = i.indrelid and c.conname = w.name))
        and coalesce(pg_get_expr(i.indpred, i.indrelid), '') = w.predicate
        and array(select a.attname::text from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) with ordinality as k (attnum, n)
                  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum order by k.n) = w.columns)
      then format('%s keeps (%s) unique%s', coalesce('no constraint ' || w.name, 'nothing'), array_to_string(w.columns, ', '),
        case when w.predicate = '' then '' else ' where ' || w.predicate end) end,
    case when w.name is null then format('create unique index on %s (%s) where %s;', w.relation, array_to_string(w.columns, ', '), w.predicate)
         else format('alter table %s add constraint %I %s (%s);', w.relation, w.name,
           case when w.name like '%\_pkey' then 'primary key' else 'unique' end, array_to_string(w.columns, ', ')) end
  from (values
    ('app.tenants', 'tenants_pkey', array['id'], ''), ('app.tenants', 'tenants_slug_key', array['slug'], ''),
    ('app.tenants', null, array['is_default'], 'is_default'),
    ('app.users', 'users_pkey', array['tenant_id', 'id'], ''),
    ('app.users', 'users_tenant_identity_key', array['tenant_id', 'auth_provider', 'auth_subject'], ''),
    ('app.boards', 'boards_pkey', array['tenant_id', 'id'], ''),
    ('app.board_members', 'board_members_pkey', array['tenant_id', 'board_id', 'user_id'], ''),
    ('app.generations', 'generations_pkey', array['tenant_id', 'id'], ''), ('app.media', 'media_pkey', array['tenant_id', 'id'], ''),
    ('app.provider_configs', 'provider_configs_pkey', array['tenant_id', 'id'], ''),
    ('app.provider_configs', 'provider_configs_name_key', array['tenant_id', 'provider_name'], ''),
    ('app.credit_transactions', 'credit_transactions_pkey', array['tenant_id', 'id'], '')
  ) as w (relation, name, columns, predicate)
$$;
--! EndIncluded audit/checks/tables.sql
--! Included audit/checks/grants.sql
create or replace function audit.check_table_grants()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with granted as (
    select r.relid, r.is_child, c.relowner, a.grantee, a.privilege_type, a.is_grantable, ''::text as column_name
    from audit.relations() r join pg_class c on c.oid = r.relid
    cross join lateral aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
    union all
    select r.relid, r.is_child, c.relowner, a.grantee, a.privilege_type, a.is_grantable, format('(%I)', t.attname)
    from audit.relations() r join pg_class c on c.oid = r.relid
    join pg_attribute t on t.attrelid = c.oid and t.attacl is not null
    cross join lateral aclexplode(t.attacl) a
  ), named as (
    select g.*, case when grantee = 0 then 'public' else grantee::regrole::text end as who,
      coalesce(w.rights @> array[g.privilege_type], false) and not is_grantable as wanted
    from granted g
    left join lateral (values
      ('tms_app', case when g.is_child then array[]::text[] when g.relid = to_regclass('app.tenants') then array['SELECT']
                       else array['SELECT', 'INSERT', 'UPDATE', 'DELETE'] end),
      ('tms_auditor', array['SELECT']),
      ('tms_registrar', case when g.relid::oid in (to_regclass('app.tenants'), to_regclass('app.users'))
                             then array['SELECT', 'INSERT', 'UPDATE', 'DELETE'] else array[]::text[] end)
    ) as w (role, rights) on to_regrole(w.role) = g.grantee
    where g.grantee <> g.relowner
  )
  select case when who = 'public' or who like 'tms\_%' or is_grantable or privilege_type not in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
              then 'error' else 'warning' end,
    null::uuid, relid::text, jsonb_build_object('role', who, 'privilege', privilege_type),
    case when not wanted then format('%s has %s%s on the table%s%s', who, privilege_type, column_name, case when is_grantable then ' and may pass it on' else '' end,
      case when privilege_type = 'TRUNCATE' then ', which empties every tenant and knows no policy'
           when privilege_type in ('REFERENCES', 'TRIGGER') then ', which knows no policy'
           when is_child then ': queried by its own name a partition does not look at its parent''s policies' else '' end) end,
    format('revoke %s%s on table %s from %s;', privilege_type, column_name, relid, who)
  from named
  union all
  select 'error', null, r.relid::text, jsonb_build_object('role', 'tms_auditor', 'privilege', 'SELECT'),
    case when not has_table_privilege('tms_auditor', r.relid, 'select') then 'tms_auditor may not read the table: it is not examined'
         when not has_schema_privilege('tms_auditor', c.relnamespace, 'usage') then format('tms_auditor may not use the schema %s: the table is not examined', c.relnamespace::regnamespace) end,
    format('grant usage on schema %s to tms_auditor; grant select on table %s to tms_auditor;', c.relnamespace::regnamespace, r.relid)
  from audit.relations() r join pg_class c on c.oid = r.relid
$$;

-- What is not a tenant's table but lies beside them: the service's bookkeeping, the audit's results, views and sequences.
create or replace function audit.check_other_grants()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, c.oid::regclass::text, jsonb_build_object('role', coalesce(a.who, 'nobody'), 'privilege', a.privilege_type),
    case when a.who is not null and not (
        n.nspname = 'control' and a.who = 'tms_registrar' and a.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')
        or n.nspname = 'audit' and a.who = 'tms_auditor' and a.privilege_type = 'SELECT'
        or n.nspname = 'app' and c.relkind = 'v' and a.who in ('tms_app', 'tms_auditor') and a.privilege_type = 'SELECT'
        or n.nspname = 'app' and c.relkind = 'S' and a.who in ('tms_app', 'tms_auditor') and a.privilege_type in ('USAGE', 'SELECT', 'UPDATE'))
      then format('%s has %s on it', a.who, a.privilege_type) end,
    format('revoke %s on %s from %s;', a.privilege_type, c.oid::regclass, a.who)
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  left join lateral (
    select case when x.grantee = 0 then 'public' else x.grantee::regrole::text end as who, x.privilege_type
    from aclexplode(c.relacl) x where x.grantee <> c.relowner
    union all
    select case when x.grantee = 0 then 'public' else x.grantee::regrole::text end, x.privilege_type
    from pg_attribute t cross join lateral aclexplode(t.attacl) x where t.attrelid = c.oid and t.attacl is not null and x.grantee <> c.relowner
  ) a on true
  where n.nspname in ('app', 'api', 'control', 'audit', 'graphile_migrate') and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
    and c.oid not in (select relid from audit.relations())
$$;

create or replace function audit.check_schema_grants()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with granted as (
    select format('schema %I', n.nspname) as object, n.nspname as name, a.grantee, a.privilege_type, a.is_grantable
    from pg_namespace n cross join lateral aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
    where n.nspname in ('app', 'api', 'control', 'audit', 'public') and a.grantee <> n.nspowner
    union all
    select format('database %I', d.datname), 'database', a.grantee, a.privilege_type, a.is_grantable
    from pg_database d cross join lateral aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) a
    where d.datname = current_database() and a.grantee <> d.datdba
  ), named as (
    select *, case when grantee = 0 then 'public' else grantee::regrole::text end as who from granted
  )
  select case when name in ('public', 'database') and who = 'public' and privilege_type = 'CONNECT' then 'warning'
              when who = 'public' or who like 'tms\_%' then 'error' else 'warning' end,
    null::uuid, null, jsonb_build_object('object', object, 'role', who, 'privilege', privilege_type),
    case when is_grantable or not (
        name = 'app' and privilege_type = 'USAGE' and who in ('tms_app', 'tms_registrar', 'tms_auditor')
        or name = 'api' and privilege_type = 'USAGE' and who in ('tms_service', 'tms_app', 'tms_registrar', 'tms_auditor')
        or name = 'control' and privilege_type = 'USAGE' and who = 'tms_registrar'
        or name = 'audit' and privilege_type = 'USAGE' and who in ('tms_auditor', 'tms_registrar')
        or name = 'public' and privilege_type = 'USAGE'
        or name = 'public' and who not in ('public', 'tms_service', 'tms_app', 'tms_registrar', 'tms_auditor')
        or name = 'database' and privilege_type = 'CONNECT' and who <> 'public'
        or name = 'database' and who not like 'tms\_%' and who <> 'public')
      then format('%s has %s on the %s%s', who, privilege_type, object,
        case privilege_type when 'TEMPORARY' then ': temporary tables can stand in for others' when 'CREATE' then ': objects of its own can stand in for others' else '' end) end,
    format('revoke %s on %s from %s;', privilege_type, object, who)
  from named
$$;

create or replace function audit.check_default_privileges()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, null, jsonb_build_object('owner', d.defaclrole::regrole::text, 'role', a.who, 'privilege', a.privilege_type),
    case when a.who in ('public', 'tms_service', 'tms_app', 'tms_registrar') then
      format('%s gets %s on everything that %s makes%s, before anybody isolates it', a.who, a.privilege_type, d.defaclrole::regrole,
        coalesce(' in ' || nullif(d.defaclnamespace, 0)::regnamespace, '')) end,
    format('alter default privileges for role %s%s revoke all on %s from %s;', d.defaclrole::regrole,
      coalesce(' in schema ' || nullif(d.defaclnamespace, 0)::regnamespace, ''),
      case d.defaclobjtype when 'r' then 'tables' when 'S' then 'sequences' when 'f' then 'functions' when 'n' then 'schemas' else 'types' end, a.who)
  from pg_default_acl d
  cross join lateral (select x.*, case when x.grantee = 0 then 'public' else x.grantee::regrole::text end as who from aclexplode(d.defaclacl) x) a
  where a.grantee <> d.defaclrole and d.defaclobjtype in ('r', 'S', 'f', 'n')
  union all
  select 'warning', null, null, jsonb_build_object('owner', 'tms_owner', 'role', 'public', 'privilege', 'EXECUTE'),
    case when not exists (
      select from pg_default_acl where defaclrole = to_regrole('tms_owner') and defaclnamespace = 0 and defaclobjtype = 'f')
    then 'everybody may execute every function that tms_owner makes from now on' end,
    'alter default privileges for role tms_owner revoke execute on functions from public;'
$$;

create or replace function audit.check_service_reach()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- What an extension shows to everybody (pg_stat_statements, citus_tables) is its own, and may be there before a migration.
  select case when exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
              then 'warning' else 'error' end, null::uuid, c.oid::regclass::text, jsonb_build_object('role', 'tms_service'),
    case when has_table_privilege('tms_service', c.oid, 'select, insert, update, delete, truncate, references, trigger')
           or has_any_column_privilege('tms_service', c.oid, 'select, insert, update, references')
      then 'the service''s login has rights on it: it may execute api functions and nothing else' end,
    format('revoke all on table %s from tms_service, public;', c.oid::regclass)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\_t%'
  union all
  select 'error', null, f.oid::regprocedure::text, jsonb_build_object('role', 'tms_service'),
    case when has_function_privilege('tms_service', f.oid, 'execute') then 'the service''s login may execute it, and it is not of the schema api' end,
    format('revoke execute on routine %s from tms_service, public;', f.oid::regprocedure)
  from pg_proc f join pg_namespace n on n.oid = f.pronamespace
  where n.nspname in ('app', 'control', 'audit')
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'e')
  union all
  select 'error', null, c.oid::regclass::text, '{}'::jsonb, 'the schema api holds functions and nothing else', format('drop table %s;', c.oid::regclass)
  from pg_class c where c.relnamespace = to_regnamespace('api') and c.relkind in ('r', 'p', 'v', 'm', 'f')
$$;
--! EndIncluded audit/checks/grants.sql
--! Included audit/checks/functions.sql
-- Extensions' functions are theirs; everything else in the database is examined.
create or replace function audit.functions()
returns table (oid oid, name text, schema name, owner name, definer boolean, config text[], body text, leakproof boolean, acl aclitem[], kind "char", own boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select f.oid, f.oid::regprocedure::text, n.nspname, o.rolname, f.prosecdef, coalesce(f.proconfig, '{}'), f.prosrc, f.proleakproof,
    coalesce(f.proacl, acldefault('f', f.proowner)), f.prokind, n.nspname in ('app', 'api', 'control', 'audit')
  from pg_proc f
  join pg_namespace n on n.oid = f.pronamespace
  join pg_roles o on o.oid = f.proowner
  where n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast') and n.nspname not like 'pg\_temp\_%'
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'e')
$$;

create or replace function audit.check_function_owner()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when f.owner <> all (case f.schema when 'api' then array['tms_app', 'tms_registrar'] when 'app' then array['tms_owner', 'tms_app', 'tms_registrar']
                              when 'audit' then array['tms_owner', 'tms_auditor', 'tms_app'] else array['tms_owner'] end)
      then format('%s owns the function, so that it runs with rights that no policy was written for', f.owner) end,
    format('alter %s %s owner to %s;', case f.kind when 'p' then 'procedure' else 'function' end, f.name, case when f.schema = 'api' then 'tms_app' else 'tms_owner' end)
  from audit.functions() f
  where f.own
$$;

create or replace function audit.check_function_security()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with expected as (
    select f.*, (f.schema = 'api' or f.owner in ('tms_app', 'tms_registrar', 'tms_auditor') or f.name ~ any (array[
        -- The owner's own definers: each reads or writes what nobody else may, and nothing of a tenant's.
        '^app\.(schema_version|last_audit)\(', '^control\.tg_tenants__(count|record)\(', '^audit\.(has_rows|start_run|record_pass|finish_run)\(']))
        and f.name <> 'api.get_login_faults()' as wanted
    from audit.functions() f where f.own
  )
  select 'error', null::uuid, name, '{}'::jsonb,
    case when definer and not wanted then format('the function runs with all rights of its owner, %s, and is not one of those that must', owner)
         when wanted and not definer then 'the function is not SECURITY DEFINER, and was made to run as its owner' end,
    format('alter %s %s security %s;', case kind when 'p' then 'procedure' else 'function' end, name, case when wanted then 'definer' else 'invoker' end)
  from expected
$$;

create or replace function audit.check_function_bypass()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when f.definer and (r.rolsuper or r.rolbypassrls) then format('the function runs as %s, to whom no policy applies', f.owner)
         when f.definer and not f.own and exists (
           select from unnest(array['tms_owner', 'tms_registrar', 'tms_auditor', 'tms_app']) t where to_regrole(t) is not null and pg_has_role(r.oid, to_regrole(t), 'usage'))
           then format('the function lies outside the service''s schemas and runs as %s', f.owner) end,
    -- Of the service's own functions it is the role that is wrong.
    case when f.owner in ('tms_owner', 'tms_registrar', 'tms_auditor', 'tms_app') then '-- as an administrator:' || E'\n\\i db/roles.sql'
         else format('alter function %s security invoker;', f.name) end
  from audit.functions() f join pg_roles r on r.rolname = f.owner
  where f.kind <> 'a'
$$;

create or replace function audit.check_function_search_path()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when (f.own or f.definer) and c.path is null and (f.definer or f.body ~ '\S' and f.kind <> 'p')
           then 'the function takes its search_path from the caller, whose objects can stand in for the real ones'
         when f.own and c.path not in ('pg_catalog, pg_temp', '"pg_catalog", "pg_temp"') then format('search_path is %s instead of pg_catalog, pg_temp', c.path)
         when f.definer and c.path !~ ',\s*"?pg_temp"?$' then format('search_path is %s: without pg_temp in the last place, temporary objects are found first', c.path) end,
    format('alter function %s set search_path = pg_catalog, pg_temp;', f.name)
  from audit.functions() f
  join pg_proc p on p.oid = f.oid
  join pg_language l on l.oid = p.prolang
  left join lateral (select substr(x, 13) as path from unnest(f.config) x where x like 'search\_path=%') c on true
  where l.lanname not in ('c', 'internal')
$$;

create or replace function audit.check_function_settings()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when c.setting is not null and not (f.schema = 'audit' and c.setting = 'row_security=on')
      then format('the function sets %s', c.setting) end,
    format('alter function %s reset %s;', f.name, split_part(c.setting, '=', 1))
  from audit.functions() f
  left join lateral (
    select x as setting from unnest(f.config) x
    where split_part(x, '=', 1) in ('role', 'session_authorization', 'row_security', 'session_replication_role') or x like 'app.%') c on true
$$;

-- A setting for the session outlives the request; the next one on the same connection is somebody else's.
create or replace function audit.check_function_body()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when b.code ~* '\mset\s+(session\s+)?app\.tenant_id' or b.code ~* '\mset_config\s*\(\s*''app\.tenant_id''[^;]*,\s*false\s*\)'
           then 'the function sets app.tenant_id for the session, and not for the transaction'
         when b.code ~* '\mset\s+((session|local)\s+)?app\.maintenance' or b.code ~* '\mset_config\s*\(\s*''app\.maintenance'''
           then 'the function sets app.maintenance, which opens every table to the owner'
         when b.statements ~* '\mset\s+((session|local)\s+)?(role|session\s+authorization)\M' or b.code ~* '\mset\s+((session|local)\s+)?(row_security|session_replication_role)\M'
           or b.code ~* '\mset_config\s*\(\s*''(role|session_authorization|row_security|session_replication_role)'''
           then 'the function changes the role, or how policies and triggers apply to it' end,
    format('select prosrc from pg_proc where oid = %L::regprocedure;', f.name)
  from audit.functions() f
  cross join lateral (select regexp_replace(f.body, '--[^\n]*', '', 'g')) c (code)
  cross join lateral (select c.code, regexp_replace(c.code, $q$'[^']*'$q$, '', 'g') as statements) b
  where f.schema <> 'audit'
$$;

create or replace function audit.check_function_public()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.own or a.who = 'tms_service' then 'error' else 'warning' end, null::uuid, f.name, jsonb_build_object('role', a.who),
    case when f.own and a.who = 'public' then 'everybody may execute the function'
         when f.definer and a.who = 'public' then format('everybody may execute the function with the rights of %s', f.owner)
         when f.own and a.is_grantable then format('%s may pass on the right to execute the function', a.who)
         when f.schema = 'api' and a.who not in ('tms_service', 'tms_owner', 'tms_auditor') then format('%s may execute the function, beside the service''s login', a.who) end,
    format('revoke execute on %s %s from %s;', case f.kind when 'p' then 'procedure' else 'function' end, f.name, a.who)
  from audit.functions() f
  left join lateral (
    select case when x.grantee = 0 then 'public' else x.grantee::regrole::text end as who, x.is_grantable
    from aclexplode(f.acl) x where x.grantee <> to_regrole(quote_ident(f.owner))) a on true
  union all
  select 'info', null, oid::regprocedure::text, jsonb_build_object('role', 'tms_service'),
    case when has_function_privilege(to_regrole('tms_service'), oid, 'execute')
      then 'the service may write large objects, which belong to no tenant and know no policy' end,
    format('revoke execute on function %s from public; -- by a superuser; db/large_objects.sql does it for all of them', oid::regprocedure)
  from pg_proc
  where pronamespace = 'pg_catalog'::regnamespace and proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_put', 'lowrite')
$$;

create or replace function audit.check_function_leakproof()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when f.leakproof then 'the function claims to be LEAKPROOF: it is run on rows before the policy is' end,
    format('alter function %s not leakproof;', f.name)
  from audit.functions() f
  where f.kind in ('f', 'w')
  union all
  select 'error', null, 'uuid_eq(uuid,uuid)', '{}'::jsonb,
    case when not proleakproof then 'the comparison in every policy is not leakproof: conditions of a query may be run before it, on any tenant''s rows' end,
    'alter function pg_catalog.uuid_eq(uuid, uuid) leakproof;'
  from pg_proc where oid = 'pg_catalog.uuid_eq(uuid,uuid)'::regprocedure
$$;
--! EndIncluded audit/checks/functions.sql
--! Included audit/proof.sql
-- The proof acts instead of reading: as tms_app, inside a tenant, by the way a request or a DBA gets there.
set local role tms_app;
create or replace function audit.visible_rows(p_table regclass, p_column name, p_tenants uuid[])
returns table (tenant_id uuid, visible bigint, own bigint)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before constant text := coalesce(current_setting('app.tenant_id', true), '');
begin
  -- A null among the tenants stands for no tenant at all.
  foreach tenant_id in array p_tenants loop
    execute format('set local app.tenant_id = %L', coalesce(tenant_id::text, ''));
    execute format('select count(*), count(*) filter (where %I = $1) from %s', p_column, p_table) into visible, own using tenant_id;
    return next;
  end loop;
  execute format('set local app.tenant_id = %L', v_before);
end
$$;
comment on function audit.visible_rows(regclass, name, uuid[]) is
  'As tms_app inside each tenant: the rows it sees of a table, and how many of them are that tenant''s.';
revoke all on function audit.visible_rows(regclass, name, uuid[]) from public;
grant execute on function audit.visible_rows(regclass, name, uuid[]) to tms_auditor;

-- A row is tried that is one of the tenant's own but for the tenant: so it meets its policy, and no default, domain, trigger
-- or missing partition before. Where the tenant has no row, only its tenant_id is given; what stops that before the policy is
-- asked decides nothing. Citus plans no such INSERT.
-- Every attempt ends in an error or in nothing: where a write goes through, its first row raises 22012, so that nothing is
-- kept and no second row is touched. RETURNING names no column, because reading one would bring the SELECT policies to help.
-- Citus plans no such RETURNING: there the rows are counted afterwards, and what they were is rolled back.
create or replace function audit.try_writes(p_table regclass, p_column name, p_tenant_id uuid, p_other_id uuid)
returns table (attempt text, fault text, decided boolean)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
set enable_seqscan = off  -- a tenant's first row is looked for, not stumbled on
as $$
declare
  v_before constant text := coalesce(current_setting('app.tenant_id', true), '');
  v_nobody constant uuid := gen_random_uuid();
  v_distributed constant boolean := to_regprocedure('app.distribute(regclass)') is not null;  -- db/distribute.sql was run
  -- There no row changes its tenant, whoever asks, and no UPDATE of it would say what the policies let through.
  v_taken constant name := coalesce((
    select a.attname from pg_attribute a
    where v_distributed and a.attrelid = p_table and a.attnum > 0 and not a.attisdropped and a.attname <> p_column
      and a.attgenerated = '' and a.attidentity = ''
    order by a.attnotnull, a.attnum limit 1), p_column);
  -- A number that tms_app may not draw stops the row before the policy does, with the same error.
  v_numbered constant boolean := exists (
    select from pg_attrdef a
    join pg_depend d on d.classid = 'pg_attrdef'::regclass and d.objid = a.oid and d.refclassid = 'pg_class'::regclass
    join pg_class s on s.oid = d.refobjid
    where a.adrelid = p_table and case when s.relkind = 'S' then not has_sequence_privilege(s.oid, 'usage') end
      and has_any_column_privilege(p_table, 'insert'));
  v_insert text := 'insert into %1$s (%2$I) values (%3$L)';
  v_row jsonb;
  v_attempt record;
  v_rows bigint;
  v_message text;
  v_constraint text;
  v_missing text;
  v_type text;
begin
  if not v_distributed then
    execute format('set local app.tenant_id = %L', p_tenant_id);
    begin
      execute format('select to_jsonb(r) from %s r limit 1', p_table) into v_row;
    exception when insufficient_privilege then
      null; -- then it is tried without
    end;
  end if;
  if v_row is not null then
    select format('insert into %%1$s (%s) overriding system value select %s from jsonb_populate_record(null::%%1$s, %L) r',
      concat_ws(', ', '%2$I', string_agg(replace(quote_ident(a.attname), '%', '%%'), ', ' order by a.attnum)),
      concat_ws(', ', '%3$L::uuid', string_agg(replace(format('r.%I', a.attname), '%', '%%'), ', ' order by a.attnum)),
      replace(v_row::text, '%', '%%'))
    into v_insert
    from pg_attribute a
    where a.attrelid = p_table and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attname <> p_column
      and has_column_privilege(p_table, a.attnum, 'insert');
  end if;
  for v_attempt in
    select * from (values
      ('insert a row for another tenant', p_tenant_id, v_insert, p_other_id),
      ('give its rows to another tenant', p_tenant_id, 'update %1$s set %2$I = %3$L', p_other_id),
      ('take the rows of other tenants', v_nobody, 'update %1$s set %4$I = %3$L', case when v_taken = p_column then v_nobody end),
      ('delete the rows of other tenants', v_nobody, 'delete from %1$s', v_nobody),
      ('insert a row without a tenant', null, v_insert, p_other_id),
      ('delete rows without a tenant', null, 'delete from %1$s', null)
    ) as a (name, tenant_id, statement, value)
  loop
    attempt := v_attempt.name;
    fault := null;
    decided := true;
    begin
      execute format('set local app.tenant_id = %L', coalesce(v_attempt.tenant_id::text, ''));
      execute format(v_attempt.statement, p_table, p_column, v_attempt.value, v_taken)
        || case when v_distributed then '' else ' returning 1 / (pg_backend_pid() * 0)' end;
      get diagnostics v_rows = row_count;
      if v_rows > 0 then
        raise division_by_zero;
      end if;
      -- An INSERT that raises nothing was swallowed by a trigger or a rule; an UPDATE or DELETE found no row.
      if v_attempt.statement like 'insert%' then
        fault := 'was accepted';
      end if;
    exception
      when insufficient_privilege then
        -- Refused at the door, or by WITH CHECK. Where no row may be seen, WITH CHECK is already one row too far.
        get stacked diagnostics v_message = message_text;
        if v_attempt.tenant_id = v_nobody and v_message ~ 'row-level security' then
          fault := 'reached a row';
        elsif v_attempt.statement like 'insert%' and v_row is null and v_numbered then
          fault := 'cannot be decided: ' || v_message;
          decided := false;
        end if;
      when division_by_zero then
        fault := 'was accepted';
      when lock_not_available or query_canceled then
        raise;
      when integrity_constraint_violation then
        get stacked diagnostics v_message = message_text, v_constraint = constraint_name, v_missing = column_name, v_type = pg_datatype_name;
        -- The table's own constraints come after its policies; domains, the way to a partition and triggers before.
        decided := v_type = '' and (v_constraint <> '' or v_missing <> '');
        fault := case when decided then 'was stopped by a constraint only: ' else 'cannot be decided: ' end || v_message;
      when others then
        get stacked diagnostics v_message = message_text;
        -- Citus gives no row to another tenant: also a refusal.
        if not (v_distributed and sqlstate = '0A000' and v_message ~ 'partition value') then
          fault := 'cannot be decided: ' || v_message;
          decided := false;
        end if;
    end;
    return next;
  end loop;
  execute format('set local app.tenant_id = %L', v_before);
end
$$;
comment on function audit.try_writes(regclass, name, uuid, uuid) is
  'As tms_app inside p_tenant_id: tries to write into p_other_id and to reach rows from a tenant that does not exist; fault is null where that was refused. Nothing is kept.';
revoke all on function audit.try_writes(regclass, name, uuid, uuid) from public;
grant execute on function audit.try_writes(regclass, name, uuid, uuid) to tms_auditor;
reset role;

create or replace function audit.sample_tenants(p_tenant_id uuid, p_sample int)
returns uuid[]
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select case when p_tenant_id is not null then array[p_tenant_id]
    else array(select id from app.tenants order by is_default desc, random() limit p_sample) end
$$;
comment on function audit.sample_tenants(uuid, int) is 'The tenants that the proof acts in: the given one, or the default one and others at random; p_sample null: all.';

create or replace function audit.prove(p_check text, p_tenant_id uuid, p_sample int)
returns setof audit.outcome
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenants uuid[];
  v_table record;
  v_counted uuid[];
  v_counts bigint[];
  v_other uuid;
  v_owner regrole;
  v_out audit.outcome;
begin
  perform audit.require_unfiltered('app.tenants');
  v_tenants := audit.sample_tenants(p_tenant_id, case when p_check = 'proof_writes' then least(p_sample, 5) else p_sample end);
  for v_table in select relid, tenant_column as col from audit.relations() where not is_child loop
    v_out := row(p_check, v_table.relid, 0, 0, 0, 0, '{}'::audit.observation[]);
    -- Its owner chose what reading it calls, so it is not read; that must not keep the others from being proved.
    select c.relowner into v_owner from pg_class c where c.oid = v_table.relid;
    if v_owner <> 'tms_owner'::regrole then
      v_out.errors := 1;
      v_out.kept := array[row('error', null, v_table.relid, '{}'::jsonb,
        format('nothing is proved of %s: it is owned by %s, and the audit reads no table that somebody else owns', v_table.relid, v_owner),
        format('alter table %1$s owner to tms_owner; select app.isolate(%1$L);', v_table.relid))::audit.observation];
      return next v_out;
      continue;
    end if;
    perform audit.require_unfiltered(v_table.relid);
    if p_check = 'proof_rows' then
      -- Counted by itself: of a single tenant Citus would send the comparison to its worker, too, where there is no audit.
      execute format(
        $q$select coalesce(sum(n), 0), array_agg(tenant_id), array_agg(n)
           from (select %1$I as tenant_id, count(*) as n from %2$s where %1$I = any ($1) group by 1) c$q$, v_table.col, v_table.relid)
      into v_out.checked, v_counted, v_counts using v_tenants;
      select count(*), (array_agg(row('error', v.tenant_id, v_table.relid::text, jsonb_build_object(v_table.col, v.tenant_id),
          format('inside the tenant tms_app sees %s rows, %s of them the tenant''s, and the tenant has %s', v.visible, v.own, coalesce(c.n, 0)),
          format('select app.write_policies(%L, %L);', v_table.relid, v_table.col))::audit.observation))[1:1000]
      into v_out.errors, v_out.kept
      from audit.visible_rows(v_table.relid, v_table.col, v_tenants) v
      left join unnest(v_counted, v_counts) c (tenant_id, n) using (tenant_id)
      where v.visible <> coalesce(c.n, 0) or v.own <> coalesce(c.n, 0);
    elsif p_check = 'proof_nothing' then
      -- Without a tenant, and in one that nobody ever made.
      select count(*), count(*) filter (where v.visible > 0), array_agg(row('error', null, v_table.relid::text, jsonb_build_object('inside', coalesce(v.tenant_id::text, 'no tenant')),
          format('tms_app sees %s rows %s', v.visible, case when v.tenant_id is null then 'without a tenant' else 'in a tenant that does not exist' end),
          format('select app.write_policies(%L, %L);', v_table.relid, v_table.col))::audit.observation) filter (where v.visible > 0)
      into v_out.checked, v_out.errors, v_out.kept
      from audit.visible_rows(v_table.relid, v_table.col, array[null, gen_random_uuid(), '00000000-0000-0000-0000-000000000000']) v;
    else
      for i in 1 .. greatest(cardinality(v_tenants), 1) loop
        -- With a single tenant the other one is made up: a refusal does not ask whether it exists.
        v_other := coalesce((select id from app.tenants where id <> v_tenants[i] order by random() limit 1), gen_random_uuid());
        select v_out.checked + count(*), v_out.errors + count(*) filter (where w.fault is not null and w.decided),
          v_out.warnings + count(*) filter (where w.fault is not null and not w.decided),
          v_out.kept || coalesce(array_agg(row(case when w.decided then 'error' else 'warning' end, v_tenants[i], v_table.relid::text,
            jsonb_build_object('attempt', w.attempt), format('inside the tenant tms_app tried to %s, which %s', w.attempt, w.fault),
            case when w.decided then format('select app.write_policies(%L, %L);', v_table.relid, v_table.col)
                 else '-- what stops it comes before the policy is asked: look why, and try it by hand with a row that gets past' end
            )::audit.observation) filter (where w.fault is not null), '{}')
        into v_out.checked, v_out.errors, v_out.warnings, v_out.kept
        from audit.try_writes(v_table.relid, v_table.col, coalesce(v_tenants[i], gen_random_uuid()), v_other) w;
      end loop;
    end if;
    return next v_out;
  end loop;
end
$$;
comment on function audit.prove(text, uuid, int) is
$$The proof, table by table: proof_rows (inside each tenant exactly its rows), proof_nothing (without a tenant no row),
proof_writes (no write reaches another tenant). Compares counts: run it in a repeatable read transaction while others write.$$;
--! EndIncluded audit/proof.sql
--! Included audit/end.sql
-- Everything in the schema is for tms_auditor, but for what only the procedure's own steps may call.
do $$
declare
  v_function record;
begin
  for v_function in
    select oid::regprocedure as name, prokind from pg_catalog.pg_proc
    where pronamespace = 'audit'::regnamespace and proowner = 'tms_owner'::regrole
  loop
    execute pg_catalog.format('revoke all on %s %s from public', case v_function.prokind when 'p' then 'procedure' else 'function' end, v_function.name);
    execute pg_catalog.format('grant execute on %s %s to tms_auditor', case v_function.prokind when 'p' then 'procedure' else 'function' end, v_function.name);
  end loop;
end
$$;
revoke create on schema audit from tms_auditor;
revoke create, usage on schema audit from tms_app;
--! EndIncluded audit/end.sql
set local citus.enable_ddl_propagation = on;
revoke create on schema app, api from tms_app, tms_registrar;
