--! Previous: sha1:03cd2b51fe8d95102f10a710cc1a444c9acf563b
--! Hash: sha1:1afc24adc53896c56e52a4f0f364d0b5e0b3997e
--! Message: the audit in slices, short reads by key, distributed tables

-- Write the next migration here. Around includes of functions:
-- grant create on schema app, api to tms_app, tms_registrar;
-- set local citus.enable_ddl_propagation = off;
-- set local citus.enable_ddl_propagation = on;
-- revoke create on schema app, api from tms_app, tms_registrar;
grant create on schema app, api to tms_app, tms_registrar;
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
  create index if not exists media_named_otherwise on app.media (tenant_id) where position(tenant_id::text in storage_url) = 0;
  comment on index app.media_named_otherwise is 'Media whose address does not hold the id of their tenant.';
end
$$;
--! EndIncluded tables/audited.sql
set local citus.enable_ddl_propagation = off;
--! Included context/tenant_id.sql
-- The one expression every policy is built on. A standard body: names are bound now, so no search_path and no
-- temporary object can redirect it later. STABLE, never IMMUTABLE: an immutable reader of a setting is folded into
-- cached plans and hands one tenant's rows to the next. What has not the form of a uuid is no tenant, like '' and unset: no
-- rows. LIKE, because every statement asks: a regular expression takes 7 µs, this half of one.
-- The cast stands outside, because Citus works out what a CASE holds before it asks which.
create or replace function app.tenant_id()
returns uuid
language sql
stable
parallel safe
return (case
  when pg_catalog.current_setting('app.tenant_id', true) like '________-____-____-____-____________'
  then pg_catalog.current_setting('app.tenant_id', true)
end)::uuid;

comment on function app.tenant_id() is
  'The tenant of this transaction, from the setting app.tenant_id; null when it is unset, empty or has not the form of a uuid. Raises 22P02 for that form with other digits than hexadecimal ones.';
revoke all on function app.tenant_id() from public;
grant execute on function app.tenant_id() to tms_app, tms_registrar, tms_auditor;
--! EndIncluded context/tenant_id.sql
--! Included context/joined_at.sql
-- As tms_app, like the request that has just made the membership.
set local role tms_app;
create or replace function app.joined_at(p_tenant_id uuid, p_user_id uuid)
returns timestamptz
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select created_at from app.users where tenant_id = p_tenant_id and id = p_user_id);
end
$$;
comment on function app.joined_at(uuid, uuid) is 'When a user joined the transaction''s tenant; null for who is not in it.';
revoke all on function app.joined_at(uuid, uuid) from public;
grant execute on function app.joined_at(uuid, uuid) to tms_registrar;
reset role;
--! EndIncluded context/joined_at.sql
--! Included context/enter_tenant.sql
-- Unknown, pending, suspended and not a member are one refusal, byte for byte: nobody can probe which tenants exist.
set local role tms_registrar;
create or replace function app.enter_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text,
  out tenant_id uuid, out user_id uuid, out role text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_tenant_id uuid;
  v_set text;
begin
  if p_tenant_slug is null then
    select e.tenant_id, e.user_id, e.role into tenant_id, user_id, role
    from app.enter_default_tenant(p_auth_provider, p_auth_subject, p_email, p_display_name) e;
  else
    -- Two look-ups, as quick as a join and sent to one shard where there are shards. An unknown slug looks as well, for
    -- nobody's members: the time it takes tells nothing either.
    v_tenant_id := coalesce((select t.id from app.tenants t where t.slug = p_tenant_slug and t.status = 'active'), gen_random_uuid());
    select u.tenant_id, u.id, u.role into tenant_id, user_id, role
    from app.users u
    where u.tenant_id = v_tenant_id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
      and u.removed_at is null;
  end if;
  if tenant_id is null then
    perform app.refuse(403, 'Access denied', 'User does not belong to tenant', 'not_a_member');
  end if;
  -- app.set_tenant(), without the call: every request passes here.
  execute format('set local app.tenant_id = %L', tenant_id);
  -- What a DBA sees in pg_stat_activity and in the server's log, for as long as the transaction lasts.
  -- An assignment is evaluated without a query.
  v_set := set_config('application_name', left('tms ' || coalesce(p_tenant_slug, '(default)'), 63), true);
end
$$;
comment on function app.enter_tenant(text, text, text, text, text) is
$$Puts the transaction into the tenant that a caller named, if the caller is a member of it and it is active.
p_tenant_slug null is single-tenant mode: the default tenant, which a verified caller joins at the first request.
Returns tenant, user and role; raises TM403 `Access denied`.$$;
revoke all on function app.enter_tenant(text, text, text, text, text) from public;
grant execute on function app.enter_tenant(text, text, text, text, text) to tms_app;
reset role;
--! EndIncluded context/enter_tenant.sql
--! Included context/count_tenants.sql
set local role tms_registrar;
create or replace function app.count_tenants(p_status text)
returns bigint
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(case p_status when 'pending' then pending when 'active' then active when 'suspended' then suspended
                      else pending + active + suspended end), 0)::bigint
  from control.tenant_counts
$$;
comment on function app.count_tenants(text) is 'How many tenants have a status, exactly; null counts all.';
revoke all on function app.count_tenants(text) from public;
reset role;
--! EndIncluded context/count_tenants.sql
--! Included api/tenants/list_my_tenants.sql
set local role tms_registrar;
create or replace function api.list_my_tenants(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenants uuid[];
  v_roles text[];
  v_joined timestamptz[];
  v_caller record;
begin
  -- Read before the caller enters, which at the first request writes: after that a distributed database lets no other role
  -- look into the tenant.
  select coalesce(array_agg(u.tenant_id), '{}'), array_agg(u.role), array_agg(u.created_at) into v_tenants, v_roles, v_joined
  from app.users u
  where u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject and u.removed_at is null;
  if p_tenant_slug is null then
    v_caller := app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
    if v_caller.tenant_id <> all (v_tenants) then
      v_tenants := v_tenants || v_caller.tenant_id;
      v_roles := v_roles || v_caller.role;
      v_joined := v_joined || app.joined_at(v_caller.tenant_id, v_caller.user_id);
    end if;
  end if;
  return (
    select json_build_object('tenants', coalesce(json_agg(json_build_object(
        'tenant_id', t.id, 'name', t.name, 'slug', t.slug, 'status', t.status,
        'role', m.role, 'joined_at', app.iso_time(m.joined)) order by m.joined, t.id), '[]'),
      'total_count', count(*))
    from unnest(v_tenants, v_roles, v_joined) m (tenant_id, role, joined)
    join app.tenants t on t.id = m.tenant_id);
end
$$;
comment on function api.list_my_tenants(text, text, text, text, text, text) is
$$Every tenant that the caller is a member of, whatever its status, oldest membership first: {tenants, total_count}. In multi-tenant mode any identified tenant will do.$$;
revoke all on function api.list_my_tenants(text, text, text, text, text, text) from public;
grant execute on function api.list_my_tenants(text, text, text, text, text, text) to tms_service;
reset role;
--! EndIncluded api/tenants/list_my_tenants.sql
--! Included api/boards/list_boards.sql
set local role tms_app;
create or replace function api.list_boards(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_limit int, p_cursor text,
  out body text, out next_cursor text
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set datestyle = 'ISO'
as $$
declare
  v_caller record := app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  -- What sorts before every row.
  v_at timestamptz := 'infinity';
  v_id uuid := '00000000-0000-0000-0000-000000000000';
  v_boards text[];
  v_ids uuid[];
  v_times timestamptz[];
begin
  if p_cursor is not null then
    select c.at, c.id into v_at, v_id from app.read_cursor(p_cursor) c;
  end if;
  -- One row more than the page tells whether there is a next one.
  select array_agg(app.board_json(row(b.*)::app.boards)), array_agg(b.id), array_agg(b.created_at)
  into v_boards, v_ids, v_times
  from (
    select * from app.boards t
    where t.tenant_id = v_caller.tenant_id
      and t.created_at <= v_at and (t.created_at < v_at or t.id > v_id)
    order by t.created_at desc, t.id
    limit p_limit + 1) b;
  if cardinality(v_boards) > p_limit then
    next_cursor := app.cursor_of(v_times[p_limit], v_ids[p_limit]);
    v_boards := v_boards[:p_limit];
  end if;
  body := concat('{"boards":[', array_to_string(v_boards, ','), ']}');
end
$$;
comment on function api.list_boards(text, text, text, text, text, text, int, text) is
$$The boards of the tenant, newest first: p_limit of them after p_cursor. body is {boards}; next_cursor is null on the last page. Raises TM403, TM422.$$;
revoke all on function api.list_boards(text, text, text, text, text, text, int, text) from public;
grant execute on function api.list_boards(text, text, text, text, text, text, int, text) to tms_service;
reset role;
--! EndIncluded api/boards/list_boards.sql
--! Included api/tenants/get_current_tenant.sql
set local role tms_app;
create or replace function api.get_current_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller record := app.enter_tenant(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name);
  v_tenant app.tenants;
  v_user app.users;
begin
  -- Two reads by key cost less than their join.
  select * into v_tenant from app.tenants t where t.id = v_caller.tenant_id;
  select * into v_user from app.users u where u.tenant_id = v_caller.tenant_id and u.id = v_caller.user_id;
  return json_build_object('tenant', app.tenant_json(v_tenant), 'membership', app.member_json(v_user));
end
$$;
comment on function api.get_current_tenant(text, text, text, text, text, text) is
$$The tenant of the request and the membership of the caller: {tenant, membership}. Raises TM403.$$;
revoke all on function api.get_current_tenant(text, text, text, text, text, text) from public;
grant execute on function api.get_current_tenant(text, text, text, text, text, text) to tms_service;
reset role;
--! EndIncluded api/tenants/get_current_tenant.sql
grant create on schema audit to tms_auditor;
grant create, usage on schema audit to tms_app;
--! Included audit/row_tests.sql
-- What is asked of each row of a table: a predicate over the row `c` and the rows it refers to: `t` is the row's tenant,
-- `r1`, `r2` … the referred rows, null where there is none. `question` asks the same of a slice of the tenants at once, in the
-- cheapest way there is, and of all tests of one reference: it counts, merging two indexes where it can. Only where it counts
-- a suspect is the predicate asked, row by row. Its four numbers: rows of the table (0: it did not count them), suspects, and
-- for the data check that the same reading answers: rows, suspects. {slice x} stands for the condition on the row x.
-- Its columns may change between releases, which `create or replace` refuses.
drop function if exists audit.row_tests(regclass);
create or replace function audit.row_tests(p_table regclass)
returns table (check_name text, check_elsewhere text, joins text, predicate text, elsewhere text, detail text, question text, child_column name)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with col as (
    select attname as name, atttypid as type from pg_attribute where attrelid = p_table and attnum > 0 and not attisdropped
  ), ref as (
    select r.*, 'r' || row_number() over (order by r.child_columns) as alias,
      (select string_agg(format('c.%I', x), ', ') from unnest(r.child_columns) x) as child_list,
      (select string_agg(format('c.%I is not null', x), ' and ') from unnest(r.child_columns) x) as given
    from audit.tenant_references() r
    where r.child = p_table
  ), own as (
    -- The tests of the service's own tables. {column} is the row that a column refers to; its question asks this as well.
    select * from (values
      ('app.board_members', 'removed_member_on_board', '{user_id}.removed_at is not null', null,
        $q$'the user ' || c.user_id || ' has left the tenant and is still on the board ' || c.board_id$q$),
      ('app.board_members', 'board_owner_as_member', '{board_id}.owner_id = c.user_id', null,
        $q$'the user ' || c.user_id || ' owns the board and is also listed as ' || c.role$q$),
      ('app.board_members', 'board_role_unknown', $q$c.role is null or c.role not in ('viewer', 'editor', 'admin')$q$, null,
        $q$'the role ' || coalesce(quote_literal(c.role), 'null') || ' is not viewer, editor or admin'$q$),
      ('app.users', 'value_unknown', $q$c.role is null or c.role not in ('owner', 'admin', 'member')$q$, null,
        $q$'the role ' || coalesce(quote_literal(c.role), 'null') || ' is not owner, admin or member'$q$),
      ('app.generations', 'value_unknown', $q$c.status is null or c.status not in ('pending', 'processing', 'completed', 'failed', 'cancelled')$q$, null,
        $q$'the status ' || coalesce(quote_literal(c.status), 'null') || ' is not one of pending, processing, completed, failed, cancelled'$q$),
      ('app.generations', 'generation_state', $q$case when c.completed_at is null then c.status = 'completed' else c.status in ('pending', 'processing') end$q$,
        -- An index holds just these rows.
        'select 0, count(*), 0, 0 from app.generations c where {predicate} and {slice c}',
        $q$'the status is ' || c.status || ' and completed_at is ' || coalesce(c.completed_at::text, 'null')$q$),
      ('app.media', 'storage_of_other_tenant',
        $q$position(c.tenant_id::text in c.storage_url) = 0 and exists (
          select from app.tenants o
          where o.id <> c.tenant_id
            and o.id = substring(c.storage_url from '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')::uuid)$q$,
        -- Almost every address holds its own tenant's id. An index holds the others.
        'select 0, count(*), 0, 0 from app.media c where {predicate} and {slice c}',
        $q$'the address names the tenant ' || substring(c.storage_url from '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')$q$),
      ('app.credit_transactions', 'time_in_future', $q$c.created_at > now() + interval '1 hour'$q$, null, $q$'created_at is ' || c.created_at$q$),
      ('app.tenants', 'value_unknown', $q$c.status is null or c.status not in ('pending', 'active', 'suspended')$q$, null,
        $q$'the status ' || coalesce(quote_literal(c.status), 'null') || ' is not pending, active or suspended'$q$),
      ('app.tenants', 'tenant_malformed', $q$c.slug is null or c.slug !~ '^[a-z0-9-]{1,255}$' or c.name is null or c.name !~ '\S' or char_length(c.name) > 255$q$, null,
        $q$case when c.slug ~ '^[a-z0-9-]{1,255}$' then 'the name is blank or longer than 255 characters'
           else 'nobody can name the slug ' || coalesce(quote_literal(left(c.slug, 300)), 'null') end$q$)
    ) as o (relation, check_name, predicate, question, detail)
    where to_regclass(o.relation) = p_table
  ), ref_sql as (
    select ref.*,
      format('left join %s %s on %s.%I = c.tenant_id and (%s) = (%s)',
        -- Postgres lets a foreign key point at a unique key only. Where that is gone, duplicates must not multiply rows.
        case when exists (
          select from pg_index i
          where i.indrelid = parent and i.indisunique and i.indisvalid and i.indpred is null and i.indexprs is null
            and (select array_agg(a.attname) from unnest((i.indkey::int2[])[0:i.indnkeyatts-1]) k join pg_attribute a on a.attrelid = parent and a.attnum = k)
                <@ (array['tenant_id'::name] || parent_columns))
          then parent::text
          else format('(select distinct on (tenant_id, %s) * from %s)', parent_names, parent) end,
        alias, alias, 'tenant_id', parent_list, child_list) as joins, parent_list
    from ref
    cross join lateral (select string_agg(format('%s.%I', alias, x), ', ') as parent_list, string_agg(quote_ident(x), ', ') as parent_names from unnest(parent_columns) x) l
  ), questions as (
    select ref_sql.*, coalesce(replace(b.question, '{given}', given),
      format('select 0, count(*), 0, 0 from %1$s c
         where %2$s and not exists (select from %3$s %4$s where %4$s.tenant_id = c.tenant_id and (%5$s) = (%6$s)%7$s and {slice %4$s}) and {slice c}',
        p_table, given, ref_sql.parent, alias, parent_list, child_list,
        (select string_agg(format(' and (%s) is not true', replace(o.predicate, '{' || child_columns[1] || '}', alias)), '') from own o
         where position('{' || child_columns[1] || '}' in o.predicate) > 0 and cardinality(child_columns) = 1))) as question
    from ref_sql
    left join (values
      -- Both ways at once: media without their generation, and completed generations without media.
      ('app.media', 'generation_id'::name, 'app.generations',
        $q$select count(c.here), count(*) filter (where {given} and r.id is null),
             count(r.id), count(r.id) filter (where c.here is null and r.unfinished is null)
           from (select c.tenant_id, c.generation_id, true as here from app.media c where {slice c}) c
           full join (
             select g.tenant_id, g.id, u.id as unfinished
             from app.generations g
             left join app.generations u on u.tenant_id = g.tenant_id and u.id = g.id and u.status <> 'completed' and {slice u}
             where {slice g}) r
           on r.tenant_id = c.tenant_id and r.id = c.generation_id$q$),
      -- A ledger is told good from bad as two arrays, in the order of the index: half of a window's cost.
      ('app.credit_transactions', 'user_id', 'app.users',
        $q$select sum(c.rows), sum(c.rows) filter (where {given} and r.id is null), sum(c.rows),
             count(*) filter (where c.before[1] <> 0 or c.before[2:] <> c.after[:c.rows - 1])
           from (
             select c.tenant_id, c.user_id, count(*)::int as rows,
               array_agg(c.balance_after - c.amount order by c.created_at, c.id) as before,
               array_agg(c.balance_after order by c.created_at, c.id) as after
             from app.credit_transactions c
             where {slice c}
             group by c.tenant_id, c.user_id) c
           left join app.users r on r.tenant_id = c.tenant_id and r.id = c.user_id and {slice r}$q$)
    ) as b (child, child_column, parent, question)
    on to_regclass(b.child) = ref_sql.child and to_regclass(b.parent) = ref_sql.parent and child_columns = array[b.child_column]
  ), own_sql as (
    select o.check_name, r.joins, coalesce(r.question, replace(o.question, '{predicate}', o.predicate)) as question,
      case when r.alias is null then o.predicate else replace(o.predicate, '{' || r.child_columns[1] || '}', r.alias) end as predicate, o.detail
    from own o
    left join questions r on position('{' || r.child_columns[1] || '}' in o.predicate) > 0 and cardinality(r.child_columns) = 1
  )
  select * from (
  select 'tenant_missing', null::text, 'left join app.tenants t on t.id = c.tenant_id', 't.id is null', null::text,
    $q$case when c.tenant_id is null then 'the row has no tenant' else 'there is no tenant ' || c.tenant_id end$q$,
    null::text, null::name
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
    question, child_columns[1]
  from questions
  left join (values
    ('app.boards', 'owner_id', 'board_owner_outside_tenant'), ('app.board_members', 'user_id', 'board_member_outside_tenant'),
    ('app.board_members', 'board_id', 'membership_without_board'), ('app.board_members', 'invited_by', 'board_inviter_outside_tenant')
  ) as b (relation, column_name, name) on to_regclass(b.relation) = child and child_columns = array[b.column_name::name]
  union all
  select check_name, null, joins, predicate, null, detail, question, null from own_sql
  union all
  select 'times_out_of_order', null, null, format('c.%I < c.created_at', name), null,
    format($q$%L || c.%I || ' is before created_at ' || c.created_at$q$, name || ' ', name), null, null
  from col
  where name in ('updated_at', 'started_at', 'completed_at', 'finished_at', 'removed_at', 'deleted_at') and type = 'timestamptz'::regtype
    and exists (select from col where name = 'created_at' and type = 'timestamptz'::regtype)
  union all
  select 'not_an_object', null, null, format($q$jsonb_typeof(c.%I) <> 'object'$q$, name), null,
    format($q$%L || jsonb_typeof(c.%I)$q$, name || ' holds a JSON ', name), null, null
  from col where name in ('settings', 'config', 'input', 'registration', 'metadata') and type = 'jsonb'::regtype
  union all
  -- A validated CHECK cannot have been broken; one that was added NOT VALID says nothing about the rows before it.
  select 'constraint_broken', null, null, format('(c).ctid in (select ctid from %s where not (%s))', p_table, pg_get_expr(conbin, conrelid)), null,
    format($q$%L$q$, format('the row breaks the constraint %I', conname)), null, null
  from pg_constraint where conrelid = p_table and contype = 'c' and not (convalidated and coalesce((to_jsonb(pg_constraint) ->> 'conenforced')::boolean, true))
  ) as tests (check_name, check_elsewhere, joins, predicate, elsewhere, detail, question, child_column)
  order by question, check_name
$$;
comment on function audit.row_tests(regclass) is
$$The tests of a table: `predicate` is true of a row that fails; for references `elsewhere` then tells whether the missing row
lives in another tenant (check_elsewhere) or nowhere (check_name). `detail` is an SQL expression.$$;
--! EndIncluded audit/row_tests.sql
--! Included audit/data_checks.sql
-- The data checks that are about more than one row of a table. $1 is the tenant, or null for all. Some are answered by the scan
-- of a table, which reads the same rows. Some a valid unique key rules out: Postgres never skips it, triggers off or not.
-- Its columns may change between releases, which `create or replace` refuses.
drop function if exists audit.data_checks();
create or replace function audit.data_checks()
returns table (check_name text, tables text[], answered_by text, unique_key name[], rows_sql text, failing_sql text, remedy text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
  ('identity_twice_in_tenant', array['app.users'], null, array['tenant_id', 'auth_provider', 'auth_subject']::name[],
    'select count(*) from app.users where $1 is null or tenant_id = $1',
    $q$select tenant_id, jsonb_build_object('tenant_id', tenant_id, 'id', max(id::text)) as key,
         format('%s rows stand for one identity: the users %s', count(*), string_agg(id::text, ', ' order by created_at, id)) as detail
       from app.users where $1 is null or tenant_id = $1
       group by tenant_id, auth_provider, auth_subject having count(*) > 1$q$,
    $q$-- point everything to one of the users, then delete the other and restore the constraint:
alter table app.users add constraint users_tenant_identity_key unique (tenant_id, auth_provider, auth_subject);$q$),

  ('provider_twice_in_tenant', array['app.provider_configs'], null, array['tenant_id', 'provider_name'],
    'select count(*) from app.provider_configs where $1 is null or tenant_id = $1',
    $q$select tenant_id, jsonb_build_object('tenant_id', tenant_id, 'id', max(id::text)) as key,
         format('%s configurations are for one provider: %s', count(*), string_agg(id::text, ', ' order by created_at, id)) as detail
       from app.provider_configs where $1 is null or tenant_id = $1
       group by tenant_id, provider_name having count(*) > 1$q$,
    $q$-- delete all but one, then restore the constraint:
alter table app.provider_configs add constraint provider_configs_name_key unique (tenant_id, provider_name);$q$),

  ('slug_twice', array['app.tenants'], null, null,
    'select count(*) from app.tenants',
    $q$select max(id::text)::uuid as tenant_id, jsonb_build_object('id', max(id::text)) as key,
         format('%s tenants have the slug %L: %s', count(*), lower(slug), string_agg(id::text, ', ' order by created_at, id)) as detail
       from app.tenants group by lower(slug) having count(*) > 1 and ($1 is null or bool_or(id = $1))$q$,
    $q$-- give one of the tenants another slug, then restore the constraint:
alter table app.tenants add constraint tenants_slug_key unique (slug);$q$),

  ('default_tenant_twice', array['app.tenants'], null, null,
    'select count(*) from app.tenants',
    $q$select id as tenant_id, jsonb_build_object('id', id) as key, 'is_default is true here and in an older tenant too' as detail
       from (select id, row_number() over (order by created_at, id) as n from app.tenants where is_default) d where n > 1$q$,
    $q$update app.tenants set is_default = false where id = '{id}';
create unique index tenants_one_default on app.tenants (is_default) where is_default;$q$),

  ('tenant_count_wrong', array['app.tenants'], null, null,
    'select count(*) from app.tenants',
    $q$select null::uuid as tenant_id, jsonb_build_object('status', s.status) as key,
         format('control.tenant_counts says %s tenants are %s, app.tenants holds %s', app.count_tenants(s.status), s.status, s.n) as detail
       from (select v.status, count(t.id) as n
             from unnest(array['pending', 'active', 'suspended']) as v (status) left join app.tenants t on t.status = v.status
             group by v.status) s
       where app.count_tenants(s.status) <> s.n$q$,
    $q$begin;
lock table app.tenants in share row exclusive mode;
delete from control.tenant_counts;
insert into control.tenant_counts (shard, pending, active, suspended)
select 0, count(*) filter (where status = 'pending'), count(*) filter (where status = 'active'), count(*) filter (where status = 'suspended')
from app.tenants;
commit;$q$),

  ('tenant_without_owner', array['app.tenants', 'app.users'], null, null,
    'select count(*) from app.tenants where registration is not null and ($1 is null or id = $1)',
    $q$select t.id as tenant_id, jsonb_build_object('id', t.id) as key, 'was registered by somebody, and has no owner' as detail
       from app.tenants t
       left join app.users u on u.tenant_id = t.id and u.role = 'owner' and u.removed_at is null
       where t.registration is not null and ($1 is null or t.id = $1) and u.tenant_id is null$q$,
    $q$-- make one of its members the owner:
update app.users set role = 'owner' where tenant_id = '{id}' and auth_subject = '…';$q$),

  ('credit_balance', array['app.credit_transactions'], 'app.credit_transactions', null,
    'select count(*) from app.credit_transactions where $1 is null or tenant_id = $1',
    $q$select tenant_id, jsonb_build_object('tenant_id', tenant_id, 'id', id) as key,
         format('the balance before was %s, the amount is %s, and balance_after says %s instead of %s',
           balance_before, amount, balance_after, balance_before + amount) as detail
       from (
         select c.tenant_id, c.id, c.amount, c.balance_after,
           lag(c.balance_after, 1, 0::bigint) over (partition by c.tenant_id, c.user_id order by c.created_at, c.id) as balance_before
         from app.credit_transactions c where $1 is null or c.tenant_id = $1) r
       where balance_after <> balance_before + amount$q$,
    $q$-- look at the ledger around it:
select id, type, amount, balance_after, created_at from app.credit_transactions
where (tenant_id, user_id) = (select tenant_id, user_id from app.credit_transactions where tenant_id = '{tenant_id}' and id = '{id}')
order by created_at, id;$q$),

  ('completed_without_media', array['app.generations', 'app.media'], 'app.media', null,
    'select count(*) from app.generations where $1 is null or tenant_id = $1',
    $q$select g.tenant_id, jsonb_build_object('tenant_id', g.tenant_id, 'id', g.id) as key, 'the generation is completed and has no media' as detail
       from app.generations g
       where g.status = 'completed' and ($1 is null or g.tenant_id = $1)
         and not exists (select from app.media m where m.tenant_id = g.tenant_id and m.generation_id = g.id)$q$,
    $q$update app.generations set status = 'failed', error = 'its media were lost' where tenant_id = '{tenant_id}' and id = '{id}';$q$)
$$;
comment on function audit.data_checks() is
$$Checks of rows against other rows: a count of what is examined, and a query for what fails, with its columns tenant_id, key
and detail. answered_by: the table whose scan says whether there is anything to look for. {column} in a remedy stands for the key's value.$$;

drop function if exists audit.check_rows(text, uuid);
create or replace function audit.check_rows(p_check text, p_tenant_id uuid, p_answer bigint[] default null)
returns audit.outcome
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_check record;
  v_found audit.outcome;
  v_table text;
begin
  select * into strict v_check from audit.data_checks() where check_name = p_check;
  v_found."check" := p_check;
  v_found.relation := v_check.tables[1];
  foreach v_table in array v_check.tables loop
    perform audit.require_unfiltered(v_table::regclass);
  end loop;
  if p_answer is not null then
    v_found.checked := p_answer[1];
    v_found.errors := p_answer[2];
  else
    execute v_check.rows_sql into v_found.checked using p_tenant_id;
    v_found.errors := 0;
    if not audit.is_unique(v_found.relation::regclass, v_check.unique_key) then
      execute format('select count(*) from (%s) f', v_check.failing_sql) into v_found.errors using p_tenant_id;
    end if;
  end if;
  if v_found.errors > 0 then
    execute format(
      $q$with f as materialized (%3$s) select count(*), array(
           select row(null, tenant_id, %1$L, key, detail,
             (select replace(replace(%2$L, '{id}', coalesce(key ->> 'id', '')), '{tenant_id}', coalesce(key ->> 'tenant_id', ''))))::audit.observation
           from f order by tenant_id, key limit 1000)
         from f$q$, v_found.relation, v_check.remedy, v_check.failing_sql)
    into v_found.errors, v_found.kept using p_tenant_id;
  end if;
  return v_found;
end
$$;
comment on function audit.check_rows(text, uuid, bigint[]) is
$$Runs one of audit.data_checks(); all findings are counted under `errors`. p_answer: what the scan of a table has already counted for it, {rows, suspects}.$$;

set local role tms_registrar;
grant execute on function app.count_tenants(text) to tms_auditor;
reset role;
--! EndIncluded audit/data_checks.sql
--! Included audit/proved.sql
-- What the catalog proves of every row, so that no row need be read.
-- What a validated CHECK proves is not asked again: the planner refutes the predicate against the constraints that hold
-- (triggers off or not, Postgres never skips a CHECK), and leaves nothing to scan. A constraint that is gone, NOT VALID or NOT
-- ENFORCED proves nothing, and then the rows are read.
create or replace function audit.is_proved(p_table regclass, p_predicate text)
returns boolean
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set constraint_exclusion = on
as $$
declare
  v_plan json;
begin
  execute format('explain (format json, costs off) select from %s c where %s', p_table, p_predicate) into v_plan;
  return coalesce(v_plan #>> '{0,Plan,One-Time Filter}' = 'false', false);
end
$$;
comment on function audit.is_proved(regclass, text) is 'Whether the table''s own constraints rule the predicate out for every row; `c` is the row.';

-- From Postgres 18 on attnotnull is true of a NOT NULL that is not yet validated, too.
create or replace function audit.is_never_null(p_table regclass, p_column name)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
return exists (
  select from pg_attribute a
  where a.attrelid = p_table and a.attname = p_column and a.attnotnull and not exists (
    select from pg_constraint k where k.conrelid = p_table and k.contype = 'n' and k.conkey = array[a.attnum] and not k.convalidated));

-- A valid unique key over these columns, or fewer of them, is enforced whatever triggers do.
create or replace function audit.is_unique(p_table regclass, p_columns name[])
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
return exists (
  select from pg_index i
  where i.indrelid = p_table and i.indisunique and i.indisvalid and i.indimmediate and i.indpred is null and i.indexprs is null
    and (select array_agg(a.attname) from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) k join pg_attribute a on a.attrelid = p_table and a.attnum = k)
        <@ p_columns
    and not exists (
      select from pg_attribute a where a.attrelid = p_table and a.attname = any (p_columns) and not audit.is_never_null(p_table, a.attname)));
--! EndIncluded audit/proved.sql
--! Included audit/ask.sql
-- The tenants in slices of about as many each, as conditions on a row %: workers take one after the other, and each slice
-- is a merge of the same stretch of two indexes. A row without a tenant is in none of them, so it has one of its own.
create or replace function audit.slices(p_table regclass, p_column name, p_tenant_id uuid)
returns text[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenants bigint;
  v_bounds uuid[];
  v_nullable constant boolean := not audit.is_never_null(p_table, p_column);
begin
  if p_tenant_id is not null then
    return array[format('%%.%I = %L', p_column, p_tenant_id)];
  elsif (select reltuples from pg_class where oid = p_table) < 200000 then
    return array['true'];
  end if;
  select count(*) into v_tenants from app.tenants;
  v_bounds := array(
    select id from generate_series(1, 7) n cross join lateral (select id from app.tenants order by id offset v_tenants * n / 8 limit 1) t order by id);
  return array(
    select coalesce(nullif(concat_ws(' and ', format('%%.%I >= ', p_column) || quote_literal(v_bounds[n]), format('%%.%I < ', p_column) || quote_literal(v_bounds[n + 1])), ''), 'true')
    from generate_series(0, cardinality(v_bounds)) n)
    || case when v_nullable then array[format('%%.%I is null', p_column)] end;
end
$$;

-- A hash table that outgrows the processor's cache costs several times the merge of two indexes, which needs no memory
-- either; the planner's costs do not know that. Several slices are the workers' shares: within one there is nothing to
-- share out, or each worker would read the whole inner index. Undone when audit.examine() returns.
create or replace function audit.plan_merges(p_table regclass, p_column name, p_slices int)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select set_config('enable_hashjoin', case when merge then 'off' else 'on' end, true),
    set_config('parallel_setup_cost', case when p_slices > 1 then '0' else '1000' end, true),
    set_config('parallel_tuple_cost', case when p_slices > 1 then '0' else '0.1' end, true),
    set_config('min_parallel_index_scan_size', case when p_slices > 1 then '1TB' else '512kB' end, true),
    set_config('min_parallel_table_scan_size', case when p_slices > 1 then '1TB' else '8MB' end, true)
  from (
    select p_slices > 1 and exists (
      select from pg_index i
      join pg_attribute t on t.attrelid = p_table and t.attnum = i.indkey[0] and t.attname = 'tenant_id'
      join pg_attribute c on c.attrelid = p_table and c.attnum = i.indkey[1] and c.attname = p_column
      where i.indrelid = p_table and i.indisvalid and i.indpred is null) as merge) m
$$;

create or replace function audit.ask(p_question text, p_slices text[], p_table regclass, p_column name)
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_answer bigint[];
begin
  perform audit.plan_merges(p_table, p_column, cardinality(p_slices));
  execute 'select array[coalesce(sum(a), 0), coalesce(sum(b), 0), coalesce(sum(c), 0), coalesce(sum(d), 0)] from ('
    || (select string_agg(regexp_replace(p_question, '\{slice (\w+)}', replace(s, '%', '\1'), 'g'), ' union all ') from unnest(p_slices) s)
    || ') as answers (a, b, c, d)'
  into v_answer;
  perform audit.plan_merges(p_table, null, 1);
  return v_answer;
end
$$;
comment on function audit.ask(text, text[], regclass, name) is 'Puts a question of audit.row_tests() to every slice and adds up its four numbers.';
--! EndIncluded audit/ask.sql
--! Included audit/scan.sql
drop function if exists audit.count_lost_tenants(regclass, bigint), audit.prefer_merge(regclass);
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
  v_lost_in regclass := p_table;
  v_keys name[];
  v_row text;
  v_key text;
  v_test record;
  v_check text;
  v_suspected boolean;
  v_found audit.outcome;
begin
  select tenant_column into strict v_column from audit.relations() where relid = p_table;
  for v_joined in
    select p_table union select r.parent from audit.tenant_references() r where r.child = p_table
    union select 'app.tenants'::regclass
  loop
    perform audit.require_unfiltered(v_joined);
  end loop;
  v_slices := audit.slices(p_table, v_column, p_tenant_id);
  for v_test in select distinct on (t.question) t.question, t.child_column from audit.row_tests(p_table) t where t.question is not null order by t.question loop
    v_answer := audit.ask(v_test.question, v_slices, p_table, v_test.child_column);
    v_answers := v_answers || jsonb_build_object(v_test.question, v_answer[2]);
    v_rows := greatest(v_rows, nullif(v_answer[1], 0));
    if v_answer[3] > 0 then
      v_also := v_answer[3:4];
    end if;
  end loop;
  select array_agg(t.predicate) into v_asked
  from audit.row_tests(p_table) t
  where t.question is null and t.check_name <> 'tenant_missing' and not audit.is_proved(p_table, t.predicate);
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
  select r.parent into v_lost_in
  from audit.row_tests(p_table) t
  join audit.tenant_references() r on r.child = p_table and r.child_columns = array[t.child_column]
  join pg_class c on c.oid = r.parent
  where v_answers ->> t.question = '0' and c.reltuples < v_rows
    and audit.is_never_null(p_table, 'tenant_id') and audit.is_never_null(p_table, t.child_column)
  order by c.reltuples limit 1;
  v_lost_in := coalesce(v_lost_in, p_table);

  select array_agg(a.attname order by k.n) into v_keys
  from pg_index i cross join unnest(i.indkey) with ordinality as k (attnum, n)
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
  where i.indrelid = p_table and i.indisprimary;
  v_keys := coalesce(v_keys, array['ctid'::name]);
  select string_agg(format('%L, c.%I', k, k), ', '),
         'concat_ws('' and '', ' || string_agg(format('format(%L, c.%I)', k || ' = %L', k), ', ') || ')'
  into v_row, v_key from unnest(v_keys) k;

  for v_test in select * from audit.row_tests(p_table) loop
    if v_test.question is not null then
      v_suspected := (v_answers ->> v_test.question) <> '0';
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
        execute format(
          $q$with s as materialized (
               select %1$s as tenant_id, jsonb_build_object(%2$s) as key, %3$s as detail, %4$s as place
               from %11$s c %5$s cross join lateral (select %6$s as elsewhere) s
               where (%7$s) %8$s %9$s)
             select count(*), array(
               select row(null, tenant_id, %10$L, key, detail,
                 format('-- look at it, then correct or delete it:' || chr(10) || 'select * from %11$s where %%s;', place))::audit.observation
               from s order by key limit 1000)
             from s$q$,
          format('c.%I', v_column), v_row, v_test.detail, v_key, coalesce(v_test.joins, ''), coalesce(v_test.elsewhere, 'null::boolean'), v_test.predicate,
          case when v_test.check_elsewhere is null or v_test.check_elsewhere = v_test.check_name then ''
               when v_found."check" = v_test.check_elsewhere then 'and s.elsewhere' else 'and not s.elsewhere' end,
          case when p_tenant_id is null then '' else format('and c.%I = $1', v_column) end,
          p_table::text, p_table)
        into v_found.errors, v_found.kept using p_tenant_id;
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
--! Included audit/require_unfiltered.sql
-- row_security = off cannot be asked for: it raises wherever a policy applies, even one that says true. So the policies
-- themselves are read. Exactly what Postgres would apply to this role decides: a permissive `true`, and nothing
-- restrictive. (Other permissive policies beside a true one change nothing; another check names them.)
create or replace function audit.filter_of(p_table regclass)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when not row_security_active(p_table) then null
    when string_agg(p.polname, ', ') filter (where not p.polpermissive) is not null
      then format('%s does not see all of it: the restrictive policy %s applies to it', current_user, string_agg(p.polname, ', ') filter (where not p.polpermissive))
    when coalesce(bool_or(p.polpermissive and pg_get_expr(p.polqual, p.polrelid) = 'true'), false) then null
    else format('%s does not see all of it: no policy lets it read every row', current_user) end
  from pg_policy p
  where p.polrelid = p_table and p.polcmd in ('r', '*')
    and exists (select from unnest(p.polroles) as r (role) where r.role = 0 or pg_has_role(r.role, 'usage'))
$$;
comment on function audit.filter_of(regclass) is 'Why the current role would not see every row of a table; null when it would.';

create or replace function audit.require_unfiltered(p_table regclass)
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_filter constant text := audit.filter_of(p_table);
  v_owner constant regrole := (select relowner from pg_class where oid = p_table);
begin
  -- Whoever owns a table chooses what reading it calls: policies, constraints, triggers. Not with the auditor's rights.
  if v_owner <> 'tms_owner'::regrole then
    raise exception using errcode = 'insufficient_privilege',
      message = format('%s is owned by %s: what it calls when it is read would run with the rights of %s', p_table, v_owner, current_user),
      hint = format('alter table %s owner to tms_owner;', p_table);
  end if;
  if v_filter is not null then
    raise exception using errcode = 'insufficient_privilege', message = format('%s: %s', p_table, v_filter);
  end if;
end
$$;
comment on function audit.require_unfiltered(regclass) is
  'Raises 42501 unless the table is tms_owner''s and the current role sees every row of it: called before each table is read, in the transaction that reads it.';

-- A second witness for an empty table: another role, another policy.
create or replace function audit.has_rows(p_table regclass, p_column name, p_tenant_id uuid)
returns boolean
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_before constant text := coalesce(current_setting('app.maintenance', true), '');
  v_any boolean;
begin
  -- Not as a SET clause of the function: only a superuser may write one for a setting that no module has declared.
  set local app.maintenance = 'on';
  execute format('select exists (select 1 from %s where $1 is null or %I = $1)', p_table, p_column) into v_any using p_tenant_id;
  execute format('set local app.maintenance = %L', v_before);
  return v_any;
end
$$;
comment on function audit.has_rows(regclass, name, uuid) is
  'Whether the owner of the tables sees a row where the auditor saw none: nothing examined where rows exist is not a pass.';
--! EndIncluded audit/require_unfiltered.sql
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
as $$
declare
  v_before constant text := coalesce(current_setting('app.tenant_id', true), '');
  v_nobody constant uuid := gen_random_uuid();
  v_distributed constant boolean := to_regprocedure('app.distribute(regclass)') is not null;  -- db/distribute.sql was run
  v_attempt record;
  v_rows bigint;
  v_message text;
begin
  for v_attempt in
    select * from (values
      ('insert a row for another tenant', p_tenant_id, 'insert into %1$s (%2$I) values (%3$L)', p_other_id),
      ('give its rows to another tenant', p_tenant_id, 'update %1$s set %2$I = %3$L', p_other_id),
      ('take the rows of other tenants', v_nobody, 'update %1$s set %2$I = %3$L', v_nobody),
      ('delete the rows of other tenants', v_nobody, 'delete from %1$s', v_nobody),
      ('insert a row without a tenant', null, 'insert into %1$s (%2$I) values (%3$L)', p_other_id),
      ('delete rows without a tenant', null, 'delete from %1$s', null)
    ) as a (name, tenant_id, statement, value)
  loop
    attempt := v_attempt.name;
    fault := null;
    decided := true;
    begin
      execute format('set local app.tenant_id = %L', coalesce(v_attempt.tenant_id::text, ''));
      execute format(v_attempt.statement, p_table, p_column, v_attempt.value)
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
        end if;
      when division_by_zero then
        fault := 'was accepted';
      when lock_not_available or query_canceled then
        raise;
      when integrity_constraint_violation then
        get stacked diagnostics v_message = message_text;
        fault := 'was stopped by a constraint only: ' || v_message;
      when others then
        get stacked diagnostics v_message = message_text;
        -- On Citus no row changes its tenant, whoever asks: also a refusal.
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
      execute format(
        $q$with counted as (select %1$I as tenant_id, count(*) as n from %2$s where %1$I = any ($1) group by 1),
             compared as (select v.tenant_id, v.visible, v.own, coalesce(n, 0) as n
                          from audit.visible_rows(%2$L, %1$L, $1) v left join counted using (tenant_id))
           select coalesce(sum(n), 0), count(*) filter (where visible <> n or own <> n), array(
             select row('error', tenant_id, %2$L, jsonb_build_object(%1$L, tenant_id),
               format('inside the tenant tms_app sees %%s rows, %%s of them the tenant''s, and the tenant has %%s', visible, own, n), $2)::audit.observation
             from compared where visible <> n or own <> n limit 1000) from compared$q$, v_table.col, v_table.relid)
      into v_out.checked, v_out.errors, v_out.kept using v_tenants, format('select app.write_policies(%L, %L);', v_table.relid, v_table.col);
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
            format('select app.write_policies(%L, %L);', v_table.relid, v_table.col))::audit.observation) filter (where w.fault is not null), '{}')
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
    format('revoke execute on function %s from tms_service, public;', f.oid::regprocedure)
  from pg_proc f join pg_namespace n on n.oid = f.pronamespace
  where n.nspname in ('app', 'control', 'audit')
    and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'e')
  union all
  select 'error', null, c.oid::regclass::text, '{}'::jsonb, 'the schema api holds functions and nothing else', format('drop table %s;', c.oid::regclass)
  from pg_class c where c.relnamespace = to_regnamespace('api') and c.relkind in ('r', 'p', 'v', 'm', 'f')
$$;
--! EndIncluded audit/checks/grants.sql
--! Included audit/checks/rls.sql
create or replace function audit.check_rls_disabled()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb,
    case when not c.relrowsecurity then 'row-level security is not enabled: every role with a right on it sees every tenant' end,
    format('alter table %s enable row level security;', r.relid)
      || case when r.is_child or r.tenant_column = 'id' then '' else format(E'\nselect app.isolate(%L);', r.relid) end
  from audit.relations() r join pg_class c on c.oid = r.relid
$$;

create or replace function audit.check_rls_not_forced()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, r.relid::text, '{}'::jsonb,
    case when not c.relforcerowsecurity and to_regprocedure('app.distribute(regclass)') is null then format('row-level security is not forced: its owner, %s, and every definer function of that role see every tenant', c.relowner::regrole) end,
    format('alter table %s force row level security;', r.relid)
  from audit.relations() r join pg_class c on c.oid = r.relid
$$;

create or replace function audit.expected_policies()
returns table (relid regclass, policy name, permissive boolean, command "char", role text, qual text, with_check text, remedy text)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with style as (
    select to_regprocedure('app.distribute(regclass)') is not null as bare  -- db/distribute.sql was run
  ), template as (
    select r.relid, r.tenant_column, bare,
      format(case when bare then '(%I = app.tenant_id())' else '(%I = ( SELECT app.tenant_id() AS tenant_id))' end, r.tenant_column) as own,
      case when bare then '(current_setting(''app.maintenance''::text, true) = ''on''::text)'
           else '(( SELECT current_setting(''app.maintenance''::text, true) AS current_setting) = ''on''::text)' end as maintenance
    from audit.relations() r cross join style
  )
  select t.relid, p.policy, p.permissive, p.command, p.role, p.qual, p.with_check,
    case when p.policy = 'registrar'
      then format('drop policy if exists registrar on %s;', t.relid)
        || format(E'\ncreate policy registrar on %s for all to tms_registrar using (true) with check (true);', t.relid)
      else format('select app.write_policies(%L, %L);', t.relid, t.tenant_column) end
  from template t
  cross join lateral (values
    ('tenant_only'::name, bare, '*'::"char", 'tms_app', own, own),
    ('tenant_rows', true, '*', 'tms_app', 'true', 'true'),
    ('maintenance', true, '*', 'tms_owner', maintenance, maintenance),
    ('auditor', true, 'r', 'tms_auditor', 'true', null),
    ('registrar', true, '*', 'tms_registrar', 'true', 'true')
  ) as p (policy, permissive, command, role, qual, with_check)
  where (p.policy <> 'tenant_rows' or not bare)
    and (p.policy <> 'registrar' or t.relid::oid in (to_regclass('app.tenants'), to_regclass('app.users')))
$$;

create or replace function audit.check_policy_missing()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, e.relid::text, jsonb_build_object('policy', e.policy),
    case when p.oid is null then format('the policy %s is missing', e.policy) end, e.remedy
  from audit.expected_policies() e
  left join pg_policy p on p.polrelid = e.relid and p.polname = e.policy
$$;

-- As the server spells it, compared with how the server spells the template: nothing is parsed here.
create or replace function audit.check_policy_changed()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, e.relid::text, jsonb_build_object('policy', e.policy),
    nullif(concat_ws('; ',
      case when p.polpermissive <> e.permissive then format('the policy %s is %s', e.policy, case when p.polpermissive then 'permissive, so that any other policy widens it' else 'restrictive' end) end,
      case when p.polcmd <> e.command then format('the policy %s is for the command %s', e.policy, p.polcmd) end,
      case when p.polroles <> array[to_regrole(e.role)::oid] then format('the policy %s is for %s', e.policy,
        (select string_agg(case when r = 0 then 'public' else r::regrole::text end, ', ') from unnest(p.polroles) r)) end,
      case when pg_get_expr(p.polqual, p.polrelid) is distinct from e.qual
        then format('USING of %s is %s instead of %s', e.policy, coalesce(pg_get_expr(p.polqual, p.polrelid), 'missing'), coalesce(e.qual, 'nothing')) end,
      case when pg_get_expr(p.polwithcheck, p.polrelid) is distinct from e.with_check
        then format('WITH CHECK of %s is %s instead of %s', e.policy, coalesce(pg_get_expr(p.polwithcheck, p.polrelid), 'missing'), coalesce(e.with_check, 'nothing')) end
    ), ''), e.remedy
  from audit.expected_policies() e
  join pg_policy p on p.polrelid = e.relid and p.polname = e.policy
$$;

create or replace function audit.check_policy_extra()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- To tms_app a further policy can only narrow: the restrictive one always holds, but on Citus, which has none. To anybody
  -- else it opens or blinds.
  select case when p.polroles = array[to_regrole('tms_app')::oid] and not app.is_distributed() then 'warning' else 'error' end,
    null::uuid, r.relid::text, jsonb_build_object('policy', p.polname),
    case when e.policy is null then format('%s policy %I for %s is not of the template: USING %s',
      case when p.polpermissive then 'the permissive' else 'the restrictive' end, p.polname,
      (select string_agg(case when x = 0 then 'public' else x::regrole::text end, ', ') from unnest(p.polroles) x),
      coalesce(pg_get_expr(p.polqual, p.polrelid), '(none)')) end,
    format('drop policy %I on %s;', p.polname, r.relid)
  from audit.relations() r
  join pg_policy p on p.polrelid = r.relid
  left join audit.expected_policies() e on e.relid = r.relid and e.policy = p.polname
$$;

-- A policy may call app.tenant_id() and what Postgres ships; any other function decides who sees what, row by row.
create or replace function audit.check_policy_function()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, p.polrelid::regclass::text, jsonb_build_object('policy', p.polname),
    case when f.oid is not null and f.oid is distinct from to_regprocedure('app.tenant_id()')
         then format('the policy %I calls %s, which is %s', p.polname, f.oid::regprocedure,
           case f.provolatile when 'i' then 'immutable: its answer is kept in plans, across tenants' when 'v' then 'volatile: it is asked again for each row'
           else 'not part of the template' end)
         when d.refclassid = 'pg_class'::regclass and d.refobjid <> p.polrelid
         then format('the policy %I reads %s, whose own rows then decide', p.polname, d.refobjid::regclass) end,
    format('drop policy %I on %s;', p.polname, p.polrelid::regclass)
  from pg_policy p
  join audit.relations() r on r.relid = p.polrelid
  left join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refobjid >= 16384
    and (d.refclassid = 'pg_proc'::regclass or d.refclassid = 'pg_class'::regclass)
  left join pg_proc f on d.refclassid = 'pg_proc'::regclass and f.oid = d.refobjid
$$;

create or replace function audit.check_tenant_id_function()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'error', null::uuid, null, jsonb_build_object('function', 'app.tenant_id()'),
    nullif(concat_ws('; ',
      case when f.oid is null then 'the function app.tenant_id() is missing' end,
      case when f.provolatile <> 's' then 'app.tenant_id() is ' || case f.provolatile when 'i' then 'immutable: a cached plan keeps one tenant''s id for the next' else 'volatile: it is asked again for each row' end end,
      case when f.oid is not null and regexp_replace(pg_get_function_sqlbody(f.oid), '\s+', ' ', 'g') is distinct from
          'RETURN (CASE WHEN (current_setting(''app.tenant_id''::text, true) ~~ ''________-____-____-____-____________''::text) '
          || 'THEN current_setting(''app.tenant_id''::text, true) ELSE NULL::text END)::uuid'
        then 'the body of app.tenant_id() is not the one it came with: ' || coalesce(pg_get_function_sqlbody(f.oid), left(f.prosrc, 200)) end,
      case when f.prosecdef then 'app.tenant_id() is SECURITY DEFINER' end,
      case when f.proconfig is not null then 'app.tenant_id() sets ' || array_to_string(f.proconfig, ', ') end,
      case when f.proleakproof then 'app.tenant_id() is LEAKPROOF' end), ''),
    $q$create or replace function app.tenant_id() returns uuid language sql stable parallel safe
return (case
  when pg_catalog.current_setting('app.tenant_id', true) like '________-____-____-____-____________'
  then pg_catalog.current_setting('app.tenant_id', true)
end)::uuid;
-- what an earlier definition added:
alter function app.tenant_id() security invoker not leakproof reset all;$q$
  from (select to_regprocedure('app.tenant_id()') as oid) w
  left join pg_proc f on f.oid = w.oid
$$;
--! EndIncluded audit/checks/rls.sql
--! Included audit/run.sql
create or replace function audit.passes(p_family text default null, p_gate boolean default false)
returns setof text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select pass from (
    select c."check" as pass, 1 as part, n
    from audit.checks() with ordinality as c ("check", category, severity, family, gate, finds, why, mend, n)
    where c.family = 'schema' and p_family is distinct from 'data' and (c.gate or not p_gate)
    union all
    select 'scan ' || relid, 2, row_number() over (order by relid::text) from audit.relations()
    where not is_child and p_family is distinct from 'schema' and not p_gate
    union all
    select d.check_name, 3, row_number() over () from audit.data_checks() d
    where d.answered_by is null and p_family is distinct from 'schema' and not p_gate
  ) p
  order by part, n
$$;
comment on function audit.passes(text, boolean) is
  'The units of a run, each in a transaction of its own: a check by its name, or `scan <table>`, one pass over a table for all checks of single rows.';

create or replace function audit.pass_checks(p_pass text)
returns setof text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select p_pass where p_pass not like 'scan %'
  union
  select unnest(array_remove(array[t.check_name, t.check_elsewhere], null))
  from audit.relations() r cross join lateral audit.row_tests(r.relid) t
  where p_pass = 'scan ' || r.relid
  union
  select d.check_name from audit.data_checks() d where p_pass = 'scan ' || d.answered_by
$$;
comment on function audit.pass_checks(text) is 'The checks that a pass is part of.';

-- Everything that reads tenants' rows reads them here, as tms_auditor, whoever called.
set local role tms_auditor;
create or replace function audit.examine(p_pass text, p_tenant_id uuid, p_sample int)
returns setof audit.outcome
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set row_security = on
set work_mem = '128MB'
set random_page_cost = 1.1
set enable_hashjoin = on
set min_parallel_index_scan_size = '512kB'
set jit = off
as $$
declare
  v_out audit.outcome;
  v_severity text;
begin
  if p_pass like 'proof\_%' then
    return query select * from audit.prove(p_pass, p_tenant_id, p_sample);
  elsif p_pass like 'scan %' or exists (select from audit.data_checks() where check_name = p_pass) then
    for v_out in
      -- Not by a cast of the name: that fails in a schema that tms_auditor may not use, where the scan says what is missing.
      select s.* from audit.relations() r cross join lateral audit.scan(r.relid, p_tenant_id) s where p_pass = 'scan ' || r.relid
      union all
      select * from audit.check_rows(p_pass, p_tenant_id) where p_pass not like 'scan %'
    loop
      select severity into strict v_severity from audit.checks() c where c."check" = v_out."check";
      v_out.warnings := case v_severity when 'warning' then v_out.errors else 0 end;
      v_out.infos := case v_severity when 'info' then v_out.errors else 0 end;
      v_out.errors := case v_severity when 'error' then v_out.errors else 0 end;
      v_out.kept := array(select row(v_severity, k.tenant_id, k.relation, k."row", k.detail, k.remedy)::audit.observation from unnest(v_out.kept) k);
      return next v_out;
    end loop;
  else
    return query execute format(
      $q$select %L::text, coalesce(r.relid::text, ''), count(*),
           count(*) filter (where o.detail is not null and o.severity = 'error'),
           count(*) filter (where o.detail is not null and o.severity = 'warning'),
           count(*) filter (where o.detail is not null and o.severity = 'info'),
           (array_agg(o order by o.severity, o.relation, o."row"::text) filter (where o.detail is not null))[1:1000]
         from audit.%I() o left join audit.relations() r on r.relid::text = o.relation
         group by 1, 2$q$, p_pass, 'check_' || p_pass);
  end if;
end
$$;
comment on function audit.examine(text, uuid, int) is
  'Runs one pass as tms_auditor and returns its outcomes, by check and relation. Raises what the check raises.';
revoke all on function audit.examine(text, uuid, int) from public;
grant execute on function audit.examine(text, uuid, int) to tms_owner;
reset role;

-- A check that cannot run is a finding. Only a person's own cancellation goes through.
create or replace function audit.attempt(p_pass text, p_tenant_id uuid, p_sample int, out outcomes audit.outcome[], out failure text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_state text;
  v_hint text;
  v_limit constant bigint := (select setting::bigint from pg_settings where name = 'statement_timeout');
begin
  begin
    outcomes := array(select o from audit.examine(p_pass, p_tenant_id, p_sample) o);
  exception when others or query_canceled or assert_failure then
    get stacked diagnostics v_state = returned_sqlstate, failure = message_text, v_hint = pg_exception_hint;
    if v_state = '57014' and (failure ~ 'user request' or v_limit = 0
                              or clock_timestamp() < statement_timestamp() + v_limit * interval '1 millisecond') then
      raise;
    end if;
  end;
  if failure is not null then
    outcomes := array(
      select row(c, case when p_pass like 'scan %' then substr(p_pass, 6) else '' end, 0, 1, 0, 0, array[
        row('error', p_tenant_id, case when p_pass like 'scan %' then substr(p_pass, 6) end, '{}'::jsonb,
          format('the check could not run: %s (SQLSTATE %s)', failure, v_state),
          coalesce(nullif(v_hint, ''), format('-- mend the cause, then:%sselect * from audit.run_check(%L);', E'\n', c)))::audit.observation])::audit.outcome
      from audit.pass_checks(p_pass) c);
    if cardinality(outcomes) = 0 then
      raise exception 'the pass % failed and belongs to no check: %', p_pass, failure;
    end if;
  end if;
end
$$;
comment on function audit.attempt(text, uuid, int) is
  'audit.examine(), with a failure turned into one finding of severity error for each check of the pass; failure is its message, else null.';

set local role tms_auditor;
create or replace function audit.find_tenant(p_slug text)
returns uuid
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id uuid;
begin
  if p_slug is not null then
    perform audit.require_unfiltered('app.tenants');
    select id into v_id from app.tenants where slug = p_slug;
    if v_id is null then
      raise exception using errcode = 'no_data_found', message = format('there is no tenant with the slug %L', p_slug);
    end if;
  end if;
  return v_id;
end
$$;
comment on function audit.find_tenant(text) is 'The id of the tenant with a slug; null for null. Raises P0002 for a slug that nobody has.';
revoke all on function audit.find_tenant(text) from public;
grant execute on function audit.find_tenant(text) to tms_owner;
reset role;

create or replace function audit.start_run(p_tenant text, p_tenant_id uuid, p_only text, p_sample int)
returns bigint
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run bigint;
begin
  insert into audit.runs (tenant, tenant_id, family, sample, schema_version, run_by)
  values (p_tenant, p_tenant_id, p_only, p_sample, app.schema_version(), session_user)
  returning id into v_run;
  return v_run;
end
$$;
comment on function audit.start_run(text, uuid, text, int) is 'Opens a run and returns its id.';

-- The one writer of results, and it writes what it has just seen: nobody can hand it a result.
create or replace function audit.record_pass(p_run bigint, p_pass text, out checked bigint, out findings bigint, out failure text)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_started constant timestamptz := clock_timestamp();
  v_run audit.runs;
  v_outcomes audit.outcome[];
  v_failure text;
begin
  select * into strict v_run from audit.runs where id = p_run and finished_at is null;
  select a.outcomes, a.failure into v_outcomes, v_failure from audit.attempt(p_pass, v_run.tenant_id, v_run.sample) a;

  insert into audit.found (run_id, check_name, n, severity, tenant_id, relation, "row", detail, remedy)
  select p_run, k.check_name, k.n, k.severity, k.tenant_id, k.relation, coalesce(k."row", '{}'), k.detail, k.remedy
  from (
    select o."check" as check_name, f.severity, f.tenant_id, f.relation, f."row", f.detail, f.remedy,
      coalesce((select max(n) from audit.found where run_id = p_run and check_name = o."check"), 0)
        + row_number() over (partition by o."check" order by f.severity, f.relation, f.n) as n
    from unnest(v_outcomes) o
    cross join lateral unnest(o.kept) with ordinality as f (severity, tenant_id, relation, "row", detail, remedy, n)
  ) k
  where k.n <= 1000 or v_failure is not null;

  insert into audit.results as r (run_id, check_name, relation, checked, errors, warnings, infos, elapsed, failed)
  select p_run, o."check", coalesce(o.relation, ''), max(o.checked), sum(o.errors), sum(o.warnings), sum(o.infos),
    clock_timestamp() - v_started, v_failure is not null
  from unnest(v_outcomes) o
  group by o."check", coalesce(o.relation, '')
  on conflict (run_id, check_name, relation) do update
  set checked = r.checked + excluded.checked, errors = r.errors + excluded.errors, warnings = r.warnings + excluded.warnings,
      infos = r.infos + excluded.infos, elapsed = r.elapsed + excluded.elapsed, failed = r.failed or excluded.failed;

  select case when p_pass like 'scan %' then max(o.checked) filter (where o.relation = substr(p_pass, 6)) else sum(o.checked) end, sum(o.errors + o.warnings + o.infos)
  into checked, findings from unnest(v_outcomes) o;
  checked := coalesce(checked, 0);
  findings := coalesce(findings, 0);
  failure := v_failure;
  update audit.runs set passes = passes + 1 where id = p_run;
end
$$;
comment on function audit.record_pass(bigint, text) is
  'Runs one pass for an open run and stores what it found; returns rows examined, findings, and why it could not run, if so.';

create or replace function audit.finish_run(p_run bigint)
returns audit.runs
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run audit.runs;
begin
  -- A check that met no object of its kind is still one that ran: it stands in the report with nothing examined.
  insert into audit.results (run_id, check_name, relation, checked, errors, warnings, infos, elapsed)
  select p_run, c."check", '', 0, 0, 0, 0, '0'
  from audit.checks() c join audit.runs r on r.id = p_run and c.family = coalesce(r.family, c.family)
  where not exists (select from audit.results x where x.run_id = p_run and x.check_name = c."check");

  update audit.runs set finished_at = clock_timestamp(),
    (checks, rows_checked, errors, warnings, infos, not_run) = (
      select count(distinct check_name), coalesce(sum(checked), 0), coalesce(sum(r.errors), 0), coalesce(sum(r.warnings), 0),
        coalesce(sum(r.infos), 0), count(distinct check_name) filter (where failed)
      from audit.results r where run_id = p_run)
  where id = p_run and finished_at is null
  returning * into strict v_run;
  delete from audit.found where run_id in (select id from audit.runs where finished_at is not null order by id desc offset 100);
  return v_run;
end
$$;
comment on function audit.finish_run(bigint) is 'Closes a run, adds it up, and forgets the findings of all but the last hundred.';

-- Not SECURITY DEFINER and without SET: a procedure with either may not commit. It holds no rights; what it calls does.
create or replace procedure audit.run(
  p_tenant text default null, p_only text default null, p_sample int default 20, inout p_run bigint default null)
language plpgsql
as $$
declare
  v_tenant_id uuid;
  v_pass text;
  v_passes text[];
  v_done int := 0;
  v_result record;
  v_started timestamptz;
begin
  if p_only not in ('data', 'schema') then
    raise exception using errcode = 'invalid_parameter_value', message = pg_catalog.format('p_only is data, schema or null, and not %L', p_only);
  end if;
  if p_sample < 1 then
    raise exception using errcode = 'invalid_parameter_value', message = 'p_sample is the number of tenants that the proof acts in, or null for all';
  end if;
  v_tenant_id := audit.find_tenant(p_tenant);
  p_run := audit.start_run(p_tenant, v_tenant_id, p_only, p_sample);
  v_passes := array(select audit.passes(p_only));

  foreach v_pass in array v_passes loop
    -- One snapshot for each pass, and none from one pass to the next. Nothing may stand between these two: any
    -- expression takes a snapshot.
    commit;
    set transaction isolation level repeatable read;
    -- A statement_timeout ends one pass and is spent; a lock that is never given back would hold all the others.
    if pg_catalog.current_setting('lock_timeout') operator(pg_catalog.=) '0' then
      set local lock_timeout = '30s';
    end if;
    v_started := pg_catalog.clock_timestamp();
    v_done := v_done OPERATOR(pg_catalog.+) 1;
    select * into v_result from audit.record_pass(p_run, v_pass);
    raise notice '%', audit.progress_line(v_done, pg_catalog.cardinality(v_passes), v_pass, v_result.checked, v_result.findings, v_started, v_result.failure);
  end loop;

  commit;
  perform audit.say_scanned(p_run);
  perform audit.finish_run(p_run);
  commit;
end
$$;
comment on procedure audit.run(text, text, int, bigint) is
$$Runs the isolation audit, stores it and returns its id. p_tenant: the slug of one tenant (its rows only). p_only: data or schema. p_sample: in how many tenants
the proof acts; null: all. Commits after every pass, so it cannot be called inside a transaction.
  call audit.run();  table audit.findings;$$;

create or replace function audit.progress_line(p_done int, p_of int, p_pass text, p_checked bigint, p_found bigint, p_started timestamptz, p_failure text)
returns text
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select format('audit %s/%s %s: %s rows, %s, %s ms', p_done, p_of, p_pass, p_checked,
    case when p_failure is not null then 'could not run: ' || p_failure when p_found = 1 then '1 finding' else p_found || ' findings' end,
    round(extract(epoch from clock_timestamp() - p_started) * 1000))
$$;

create or replace function audit.say_scanned(p_run bigint)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v record;
begin
  for v in
    select r.check_name, sum(r.checked) as checked, sum(r.errors + r.warnings + r.infos) as found, count(*) as relations, sum(r.elapsed) as elapsed
    from audit.results r
    where r.run_id = p_run and r.check_name in (select c."check" from audit.checks() c where c.family = 'data')
      and r.check_name not in (select check_name from audit.data_checks() where answered_by is null)
    group by r.check_name order by r.check_name
  loop
    raise notice 'audit check %: % rows in % tables, % findings, % ms shared', v.check_name, v.checked, v.relations, v.found,
      round(extract(epoch from v.elapsed) * 1000);
  end loop;
end
$$;
comment on function audit.say_scanned(bigint) is 'A notice for each check that was answered by the passes over the tables.';

create or replace function audit.run_check(p_check text, p_tenant text default null, p_sample int default 20)
returns table ("check" text, category text, severity text, tenant_id uuid, relation text, "row" jsonb, detail text, remedy text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_tenant_id constant uuid := audit.find_tenant(p_tenant);
  v_pass text;
begin
  if not exists (select from audit.checks() c where c."check" = p_check) then
    raise exception using errcode = 'invalid_parameter_value', message = format('there is no check %L: select "check" from audit.checks()', p_check);
  end if;
  for v_pass in select p from audit.passes() p loop
    if p_check in (select audit.pass_checks(v_pass)) then
      return query
        select c."check", c.category, k.severity, k.tenant_id, k.relation, k."row", k.detail, k.remedy
        from audit.attempt(v_pass, v_tenant_id, p_sample) a
        cross join lateral unnest(a.outcomes) o
        cross join lateral unnest(o.kept) k
        join audit.checks() c on c."check" = o."check"
        where o."check" = p_check;
    end if;
  end loop;
end
$$;
comment on function audit.run_check(text, text, int) is
  'The findings of one check, now, without storing anything; works inside a transaction. A check that cannot run is a finding.';

create or replace function audit.run_family(p_only text default null, p_gate boolean default false, p_sample int default 3)
returns table ("check" text, category text, severity text, tenant_id uuid, relation text, "row" jsonb, detail text, remedy text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
  return query
    select c."check", c.category, k.severity, k.tenant_id, k.relation, k."row", k.detail, k.remedy
    from audit.passes(p_only, p_gate) with ordinality as p (pass, n)
    cross join lateral (select a.outcomes from audit.attempt(p.pass, null, p_sample) a) a
    cross join lateral unnest(a.outcomes) o
    cross join lateral unnest(o.kept) k
    join audit.checks() c on c."check" = o."check"
    order by array_position(array['error', 'warning', 'info'], k.severity), p.n, k.relation, k."row"::text;
end
$$;
comment on function audit.run_family(text, boolean, int) is
  'The findings of all checks, or of a family, or of the gate''s, now, without storing anything: what audit.run() would find. Works inside a transaction.';

-- What stops a pipeline. The first line alone must say which object and what to do: that is what a log shows.
create or replace function audit.require_isolation()
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_faults text[];
begin
  select array_agg(format('%s: %s. Mend it with: %s', coalesce(f.relation, f."check"), f.detail, regexp_replace(f.remedy, '\s*\n\s*', ' ', 'g')))
  into v_faults from audit.run_family('schema', true) f where f.severity = 'error';
  if v_faults is not null then
    raise exception using errcode = 'object_not_in_prerequisite_state',
      message = 'Tenants are not isolated: ' || v_faults[1] || case when cardinality(v_faults) > 1 then format(' (and %s more)', cardinality(v_faults) - 1) else '' end,
      detail = array_to_string(v_faults, E'\n');
  end if;
end
$$;
comment on function audit.require_isolation() is
  'The migration gate: raises 55000 with the object, the fault and the remedy when a schema check finds an error.';
--! EndIncluded audit/run.sql
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
