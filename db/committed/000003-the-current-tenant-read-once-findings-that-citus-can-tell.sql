--! Previous: sha1:1afc24adc53896c56e52a4f0f364d0b5e0b3997e
--! Hash: sha1:7b9ce7e217a28cb691abb57dcad916f916a65d83
--! Message: the current tenant read once, findings that Citus can tell

-- Write the next migration here. Around includes of functions:
-- grant create on schema app, api to tms_app, tms_registrar;
-- set local citus.enable_ddl_propagation = off;
-- set local citus.enable_ddl_propagation = on;
-- revoke create on schema app, api from tms_app, tms_registrar;
grant create on schema app, api to tms_app, tms_registrar;
set local citus.enable_ddl_propagation = off;
--! Included context/join_default.sql
-- As tms_app, like all that the request does afterwards: on a distributed database two roles cannot work on one shard in
-- one transaction once either has written.
set local role tms_app;
create or replace function app.join_default(
  p_tenant_id uuid, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text
)
returns app.users
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_member app.users;
begin
  insert into app.users as u (tenant_id, auth_provider, auth_subject, email, display_name)
  values (p_tenant_id, p_auth_provider, p_auth_subject, p_email, p_display_name)
  on conflict on constraint users_tenant_identity_key do nothing
  returning u.* into v_member;
  if not found then
    select * into v_member
    from app.users u
    where u.tenant_id = p_tenant_id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
      and u.removed_at is null;
  end if;
  return v_member;
end
$$;
comment on function app.join_default(uuid, text, text, text, text) is
  'Makes the caller a member of the transaction''s tenant, unless a parallel request just did; nulls when the membership was ended.';
revoke all on function app.join_default(uuid, text, text, text, text) from public;
grant execute on function app.join_default(uuid, text, text, text, text) to tms_registrar;
reset role;
--! EndIncluded context/join_default.sql
--! Included context/enter_default.sql
set local role tms_registrar;
create or replace function app.enter_default(
  p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, out tenant app.tenants, out member app.users
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  select * into tenant from app.tenants t where t.is_default and t.status = 'active';
  -- Read first: the usual request writes nothing, and works on a read-only replica.
  select * into member
  from app.users u
  where u.tenant_id = tenant.id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
    and u.removed_at is null;
  if not found and tenant.id is not null then
    perform app.set_tenant(tenant.id);
    member := app.join_default(tenant.id, p_auth_provider, p_auth_subject, p_email, p_display_name);
  end if;
end
$$;
comment on function app.enter_default(text, text, text, text) is
  'The default tenant and the caller''s membership of it, made at the first request; nulls when the tenant is not active or the membership was ended.';
revoke all on function app.enter_default(text, text, text, text) from public;
reset role;
--! EndIncluded context/enter_default.sql
--! Included context/enter_tenant.sql
-- Unknown, pending, suspended and not a member are one refusal, byte for byte: nobody can probe which tenants exist.
set local role tms_registrar;
-- A function that returns more than before cannot be replaced, and a request that is inside it fails when it is dropped:
-- the old one stays under another name, and what it calls as it is, for a later migration to drop.
do $$
begin
  if (select 'member' <> all (proargnames) from pg_proc where oid = to_regprocedure('app.enter_tenant(text, text, text, text, text)')) then
    alter function app.enter_tenant(text, text, text, text, text) rename to enter_tenant_before_000003;
  end if;
end
$$;
create or replace function app.enter_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text,
  out tenant_id uuid, out user_id uuid, out role text, out tenant app.tenants, out member app.users
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_default record;
  v_tenant_id uuid;
  v_set text;
begin
  if p_tenant_slug is null then
    v_default := app.enter_default(p_auth_provider, p_auth_subject, p_email, p_display_name);
    tenant := v_default.tenant;
    member := v_default.member;
  else
    -- Two look-ups, as quick as a join and sent to one shard where there are shards. An unknown slug looks as well, for
    -- nobody's members: the time it takes tells nothing either.
    select * into tenant from app.tenants t where t.slug = p_tenant_slug and t.status = 'active';
    v_tenant_id := coalesce(tenant.id, gen_random_uuid());
    select * into member
    from app.users u
    where u.tenant_id = v_tenant_id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
      and u.removed_at is null;
  end if;
  tenant_id := member.tenant_id;
  user_id := member.id;
  role := member.role;
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
Returns tenant, user and role, and the two rows that were looked up; raises TM403 `Access denied`.$$;
revoke all on function app.enter_tenant(text, text, text, text, text) from public;
grant execute on function app.enter_tenant(text, text, text, text, text) to tms_app;
reset role;
--! EndIncluded context/enter_tenant.sql
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
begin
  -- What the membership was looked up in: read again it would cost as much once more.
  return json_build_object('tenant', app.tenant_json(v_caller.tenant), 'membership', app.member_json(v_caller.member));
end
$$;
comment on function api.get_current_tenant(text, text, text, text, text, text) is
$$The tenant of the request and the membership of the caller: {tenant, membership}. Raises TM403.$$;
revoke all on function api.get_current_tenant(text, text, text, text, text, text) from public;
grant execute on function api.get_current_tenant(text, text, text, text, text, text) to tms_service;
reset role;
--! EndIncluded api/tenants/get_current_tenant.sql
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
      v_joined := v_joined || (v_caller.member).created_at;
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
grant create on schema audit to tms_auditor;
grant create, usage on schema audit to tms_app;
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

-- The rows of children by INHERITS are read with their parent's and bound by none of its keys. Partitions are.
create or replace function audit.is_inherited(p_table regclass)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
return exists (
  select from pg_inherits h join pg_class p on p.oid = h.inhparent where p.oid = p_table and p.relkind = 'r');

-- From Postgres 18 on attnotnull is true of a NOT NULL that is not yet validated, too.
create or replace function audit.is_never_null(p_table regclass, p_column name)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
return exists (
  select from pg_attribute a
  where a.attrelid = p_table and a.attname = p_column and a.attnotnull and not audit.is_inherited(p_table) and not exists (
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
    and not audit.is_inherited(p_table)
    and (select array_agg(a.attname) from unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) k join pg_attribute a on a.attrelid = p_table and a.attnum = k)
        <@ p_columns
    and not exists (
      select from pg_attribute a where a.attrelid = p_table and a.attname = any (p_columns) and not audit.is_never_null(p_table, a.attname)));
--! EndIncluded audit/proved.sql
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
    -- The tests of the service's own tables. {column} is the row that a column refers to; its question asks this as well.
    -- An index finds the rows of an `indexed` one (tables/audited.sql).
    select * from (values
      ('app.board_members', 'removed_member_on_board', '{user_id}.removed_at is not null', false,
        $q$'the user ' || c.user_id || ' has left the tenant and is still on the board ' || c.board_id$q$),
      ('app.board_members', 'board_owner_as_member', '{board_id}.owner_id = c.user_id', false,
        $q$'the user ' || c.user_id || ' owns the board and is also listed as ' || c.role$q$),
      ('app.board_members', 'board_role_unknown', $q$c.role is null or c.role not in ('viewer', 'editor', 'admin')$q$, false,
        $q$'the role ' || coalesce(quote_literal(c.role), 'null') || ' is not viewer, editor or admin'$q$),
      ('app.users', 'value_unknown', $q$c.role is null or c.role not in ('owner', 'admin', 'member')$q$, false,
        $q$'the role ' || coalesce(quote_literal(c.role), 'null') || ' is not owner, admin or member'$q$),
      ('app.generations', 'value_unknown', $q$c.status is null or c.status not in ('pending', 'processing', 'completed', 'failed', 'cancelled')$q$, false,
        $q$'the status ' || coalesce(quote_literal(c.status), 'null') || ' is not one of pending, processing, completed, failed, cancelled'$q$),
      ('app.generations', 'generation_state', $q$case when c.completed_at is null then c.status = 'completed' else c.status in ('pending', 'processing') end$q$,
        true, -- it holds just these rows
        $q$'the status is ' || c.status || ' and completed_at is ' || coalesce(c.completed_at::text, 'null')$q$),
      ('app.media', 'storage_of_other_tenant',
        $q$position(c.tenant_id::text in c.storage_url) = 0 and exists (
          select from app.tenants o
          where o.id <> c.tenant_id
            and o.id = substring(c.storage_url from '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')::uuid)$q$,
        true, -- almost every address holds its own tenant's id; it holds the others
        $q$'the address names the tenant ' || substring(c.storage_url from '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}')$q$),
      ('app.credit_transactions', 'time_in_future', $q$c.created_at > now() + interval '1 hour'$q$, false, $q$'created_at is ' || c.created_at$q$),
      ('app.tenants', 'value_unknown', $q$c.status is null or c.status not in ('pending', 'active', 'suspended')$q$, false,
        $q$'the status ' || coalesce(quote_literal(c.status), 'null') || ' is not pending, active or suspended'$q$),
      ('app.tenants', 'tenant_malformed', $q$c.slug is null or c.slug !~ '^[a-z0-9-]{1,255}$' or c.name is null or c.name !~ '\S' or char_length(c.name) > 255$q$, false,
        $q$case when c.slug ~ '^[a-z0-9-]{1,255}$' then 'the name is blank or longer than 255 characters'
           else 'nobody can name the slug ' || coalesce(quote_literal(left(c.slug, 300)), 'null') end$q$)
    ) as o (relation, check_name, predicate, indexed, detail)
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
  ), questions as (
    select ref_sql.*, coalesce(replace(b.question, '{given}', given),
      format('select 0, count(*), null::bigint, null::bigint from %1$s c
         where %2$s and not exists (select from %3$s %4$s where %4$s.tenant_id = c.tenant_id and (%5$s) = (%6$s)%7$s and {slice %4$s}) and {slice c}',
        p_table, given, ref_sql.parent, alias, parent_list, child_list,
        (select string_agg(format(' and (%s) is not true', replace(o.predicate, '{' || child_columns[1] || '}', alias)), '') from own o
         where position('{' || child_columns[1] || '}' in o.predicate) > 0 and cardinality(child_columns) = 1))) as question
    from ref_sql
    left join (values
      -- Both ways at once: media without their generation, and completed generations without media.
      ('app.media', 'generation_id'::name, 'app.generations',
        $q$select count(c.here), count(*) filter (where {given} and r.id is null),
             null::bigint, count(r.id) filter (where c.here is null and r.unfinished is null)
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
      and parent_columns = array['id'::name] and audit.is_unique(ref_sql.parent, array['tenant_id', 'id'])
  ), own_sql as (
    select o.check_name, r.joins, coalesce(r.question, case when o.indexed then
        format('select 0, count(*), null::bigint, null::bigint from %s c where %s and {slice c}', p_table, o.predicate) end) as question,
      case when r.alias is null then o.predicate else replace(o.predicate, '{' || r.child_columns[1] || '}', r.alias) end as predicate, o.detail
    from own o
    left join questions r on position('{' || r.child_columns[1] || '}' in o.predicate) > 0 and cardinality(r.child_columns) = 1
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
  v_rows jsonb;
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
  end if;
  if v_found.checked is null then
    execute v_check.rows_sql into v_found.checked using p_tenant_id;
  end if;
  if p_answer is null then
    v_found.errors := 0;
    if not audit.is_unique(v_found.relation::regclass, v_check.unique_key) then
      execute format('select count(*) from (%s) f', v_check.failing_sql) into v_found.errors using p_tenant_id;
    end if;
  end if;
  if v_found.errors > 0 then
    execute format(
      $q$with f as materialized (%s)
         select count(*), (select jsonb_agg(k) from (select tenant_id, key, detail from f order by tenant_id, key limit 1000) k) from f$q$,
      v_check.failing_sql)
    into v_found.errors, v_rows using p_tenant_id;
    -- Not in the statement itself: Citus sends one about a single tenant to its worker, where the audit has no types.
    v_found.kept := array(
      select row(null, k.tenant_id, v_found.relation, k.key, k.detail,
        replace(replace(v_check.remedy, '{id}', coalesce(k.key ->> 'id', '')), '{tenant_id}', coalesce(k.key ->> 'tenant_id', '')))::audit.observation
      from jsonb_to_recordset(v_rows) k (tenant_id uuid, key jsonb, detail text));
  end if;
  return v_found;
end
$$;
comment on function audit.check_rows(text, uuid, bigint[]) is
$$Runs one of audit.data_checks(); all findings are counted under `errors`. p_answer: what the scan of a table has already counted for it, {rows or null, suspects}.$$;

set local role tms_registrar;
grant execute on function app.count_tenants(text) to tms_auditor;
reset role;
--! EndIncluded audit/data_checks.sql
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
    select id from generate_series(1, 15) n cross join lateral (select id from app.tenants order by id offset v_tenants * n / 16 limit 1) t order by id);
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
  execute 'select array[coalesce(sum(a), 0), coalesce(sum(b), 0), sum(c), sum(d)] from ('
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
  for v_test in select distinct on (t.question) t.question, t.child_column from audit.row_tests(p_table) t where t.question is not null
    order by t.question, t.child_column
  loop
    v_answer := audit.ask(v_test.question, v_slices, p_table, v_test.child_column);
    v_answers := v_answers || jsonb_build_object(v_test.question, v_answer[2]);
    v_rows := greatest(v_rows, nullif(v_answer[1], 0));
    if v_answer[4] is not null then
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
  select t.parent into v_lost_in
  from audit.row_tests(p_table) t
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

  for v_test in select * from audit.row_tests(p_table) loop
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
  -- There no row changes its tenant, whoever asks, and no UPDATE of it would say what the policies let through.
  v_taken constant name := coalesce((
    select a.attname from pg_attribute a
    where v_distributed and a.attrelid = p_table and a.attnum > 0 and not a.attisdropped and a.attname <> p_column
      and a.attgenerated = '' and a.attidentity = ''
    order by a.attnotnull, a.attnum limit 1), p_column);
  v_attempt record;
  v_rows bigint;
  v_message text;
begin
  for v_attempt in
    select * from (values
      ('insert a row for another tenant', p_tenant_id, 'insert into %1$s (%2$I) values (%3$L)', p_other_id),
      ('give its rows to another tenant', p_tenant_id, 'update %1$s set %2$I = %3$L', p_other_id),
      ('take the rows of other tenants', v_nobody, 'update %1$s set %4$I = %3$L', case when v_taken = p_column then v_nobody end),
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
--! Included audit/passes.sql
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
    -- Where the table is gone whose scan would answer, the check runs by itself, and says why it cannot.
    where (d.answered_by is null or not exists (select from audit.relations() r where r.relid = to_regclass(d.answered_by) and not r.is_child))
      and p_family is distinct from 'schema' and not p_gate
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
set parallel_setup_cost = 1000
set parallel_tuple_cost = 0.1
set min_parallel_index_scan_size = '512kB'
set min_parallel_table_scan_size = '8MB'
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
    if not found then
      raise exception using errcode = 'undefined_table', message = format('%s: the table is gone', p_pass);
    end if;
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
--! EndIncluded audit/passes.sql
--! Included audit/run.sql
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
--! EndIncluded audit/run.sql
--! Included audit/findings.sql
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
--! EndIncluded audit/findings.sql
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
