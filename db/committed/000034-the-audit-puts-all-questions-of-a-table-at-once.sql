--! Previous: sha1:be3ec0d406f0bc4c283a110fd5c6b7971950e6d9
--! Hash: sha1:2fc71942056898f1ec9ae9f8d51849332ae40e42
--! Message: the audit puts all questions of a table at once

grant create on schema app, api to tms_app, tms_registrar;
set local citus.enable_ddl_propagation = off;
--! Included audit/row_tests.sql
-- Of an extension's type = is another operator, or, found by its name, another type's; and of two collations the parent's counts.
create or replace function audit.comparisons(p_key oid)
returns table (child name, parent name, compared_with text, compared text, is_plain boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select c.attname, p.attname, w.value, format('.%I %s %s', p.attname, case when w.is_ours then '=' else format('operator(%I.%s)', n.nspname, o.oprname) end, w.value), w.is_ours
  from pg_constraint k
  cross join unnest(k.conkey, k.confkey, k.conpfeqop) as e (child, parent, operator)
  join pg_attribute c on c.attrelid = k.conrelid and c.attnum = e.child
  join pg_attribute p on p.attrelid = k.confrelid and p.attnum = e.parent
  join pg_operator o on o.oid = e.operator
  join pg_namespace n on n.oid = o.oprnamespace
  cross join lateral (
    select n.nspname = 'pg_catalog' as is_ours, concat(format('c.%I', c.attname),
        case when o.oprright = 'bpchar'::regtype and c.atttypid <> o.oprright then '::bpchar' end, -- as which blanks at the end are none
        case when c.attcollation <> p.attcollation then ' collate ' || p.attcollation::regcollation end) as value) w
  where k.oid = p_key
$$;
comment on function audit.comparisons(oid) is
  'How a foreign key compares each of its columns, as SQL: `compared` stands behind the name of a row of the parent, and `compared_with` is its right side; c is the row of the child. is_plain: with Postgres''s own =.';

-- What is asked of each row of a table: a predicate over the row `c` and the rows it refers to: `t` is the row's tenant,
-- `r1`, `r2` … the referred rows, null where there is none. `question` asks the same of a slice of the tenants at once, in the
-- cheapest way there is, and of all tests of one reference: it counts, merging two indexes where it can. Only where it counts
-- a suspect is the predicate asked, row by row. Its four numbers, bigint so that workers share all of one statement: rows of the table (0: it did not count them), suspects, and
-- for the data check that the same reading answers rows and suspects, or null. {slice x} stands for the condition on the row x, {unless too large: p} for true until a number is.
-- Its columns may change between releases, which `create or replace` refuses.
drop function if exists audit.row_tests(regclass);
create or replace function audit.row_tests(p_table regclass)
returns table (check_name text, check_elsewhere text, joins text, predicate text, elsewhere text, detail text, question text, shortcut text, child_column name, parent regclass)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with col as (
    -- What such names mean in somebody's own table nobody knows.
    select attname as name, atttypid as type,
      p_table in (select to_regclass(t.name) from audit.own_tables() t) as is_own
    from pg_attribute where attrelid = p_table and attnum > 0 and not attisdropped
  ), ref as (
    -- Two keys of the same columns are one reference, and MATCH FULL asks more; of two parents of a column the service's own tests mean the expected one.
    select distinct on (r.child_columns, r.parent, r.parent_columns)
      r.*, k.oid as key, e.child_column as expected, case when p_table = to_regclass('app.tenants') then 'id' else 'tenant_id' end as tenant_column,
      'r' || row_number() over (order by r.child_columns, r.constraint_name, r.parent::text) as alias,
      -- With MATCH FULL a key is null as a whole or not at all, and tenant_id is not.
      (select case when k.confmatchtype is distinct from 'f' then string_agg(given, ' and ')
                   when cardinality(k.conkey) > cardinality(r.child_columns) then 'true' else format('(%s)', string_agg(given, ' or ')) end
       from unnest(r.child_columns) x cross join format('c.%I is not null', x) given) as given,
      coalesce(k.confmatchtype = 'f', false) as is_full,
      -- From Postgres 18 on the last column of a key may be a period, which several rows of the parent cover together.
      coalesce((to_jsonb(k) ->> 'conperiod')::boolean, false) as is_temporal
    from audit.tenant_references(p_table) r
    left join pg_constraint k on k.conrelid = p_table and k.conname = r.constraint_name and k.contype = 'f'
    left join audit.expected_references() e on to_regclass(e.child) = r.child and to_regclass(e.parent) = r.parent
      and r.child_columns = array[e.child_column] and r.parent_columns = array['id'::name]
    order by r.child_columns, r.parent, r.parent_columns, is_full desc, r.constraint_name
  ), own as (
    -- The tests of the service's own tables. {column} is the row that a column refers to; the question about `asked_with`, or
    -- about that column, asks this as well. An index finds the rows of an `indexed` one (tables/audited.sql).
    select o.check_name, o.predicate, o.indexed, o.detail, coalesce(o.asked_with, substring(o.predicate from '\{(\w+)}')::name) as asked_with,
      o.predicate ~ '\{' and o.predicate !~ '\mc\.' as of_parent
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
        -- The search is a subselect of its own because of Citus, which takes it in no other place of a correlated EXISTS.
        $q$position(c.tenant_id::text in c.storage_url) = 0 and position(c.tenant_id::text in lower(c.storage_url)) = 0
        and position(replace(c.tenant_id::text, '-', '') in lower(c.storage_url)) = 0 and exists (
          select from (select (regexp_matches(lower(c.storage_url), '(?:%2f)?([0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12})', 'g'))[1]::uuid as id) m
          join app.tenants o on o.id = m.id)$q$,
        true, null, -- almost every address holds its own tenant's id; it holds the others
        $q$'the address names the tenant ' || (
          select string_agg(distinct o.id::text, ' and ')
          from (select (regexp_matches(lower(c.storage_url), '(?:%2f)?([0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12})', 'g'))[1]::uuid as id) m
          join app.tenants o on o.id = m.id)$q$),
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
      case when is_temporal then format('left join lateral (select c.%I as tenant_id from %s) %s on true', ref.tenant_column, covering, alias)
      else format('left join %s %s on %s.tenant_id = c.%I and %s',
        -- Postgres lets a foreign key point at a unique key only. Where that is gone, duplicates must not multiply rows.
        case when is_single
          then parent::text
          else format('(select distinct on (tenant_id, %s) * from %s)', parent_names, parent) end,
        alias, alias, ref.tenant_column, matched) end as joins, parent_names, matched, covering, is_plain, child_list, is_single
    from ref
    cross join lateral audit.is_unique(ref.parent, array['tenant_id'::name] || ref.parent_columns) as is_single
    cross join lateral (
      select string_agg(quote_ident(w.parent), ', ' order by w.n) as parent_names, bool_and(coalesce(k.is_plain, true)) as is_plain,
        string_agg(coalesce(k.compared_with, format('c.%I', w.child)), ', ' order by w.n) as child_list,
        string_agg(alias || t.compared, ' and ' order by w.n) as matched,
        format('%1$s p where p.tenant_id = c.%5$I%2$s having range_agg(p.%3$I) @> c.%4$I', ref.parent,
          string_agg(' and p' || t.compared, '' order by w.n) filter (where w.n < cardinality(child_columns)),
          parent_columns[cardinality(parent_columns)], child_columns[cardinality(child_columns)], ref.tenant_column) as covering
      from unnest(parent_columns, child_columns) with ordinality as w (parent, child, n)
      left join audit.comparisons(ref.key) k on k.parent = w.parent and k.child = w.child
      cross join lateral coalesce(k.compared, format('.%I = c.%I', w.parent, w.child)) t (compared)) t
  ), whole as (
    select ref_sql.*, b.question as built_in, b.built_for, b.shortcut,
      (select string_agg(replace(o.predicate, '{' || expected || '}', alias), ') or (') from own o where o.asked_with = expected and not (o.of_parent and is_single)) as also,
      -- Every row has a parent to look for, and finds one at most: then the same reading counts the rows.
      tenant_column = 'tenant_id' and audit.is_never_null(p_table, 'tenant_id') and (select bool_and(audit.is_never_null(p_table, x)) from unnest(child_columns) x)
        and is_single and not is_temporal as countable
    from ref_sql
    left join (values
      -- Both ways at once: media without their generation, and completed generations without media. Those with several media
      -- would be counted as often.
      ('app.media', array['generation_id'::name],
        $q$select count(c.tenant_id), count(*) - count(r.id), 0::bigint, count(*) filter (where c.tenant_id is null and r.unfinished is null)
           from (select c.tenant_id, c.generation_id from app.media c where {slice c}) c
           full join (
             select g.tenant_id, g.id, u.id as unfinished
             from app.generations g
             left join app.generations u on u.tenant_id = g.tenant_id and u.id = g.id and u.status <> 'completed' and {slice u}
             where {slice g}) r
           on r.tenant_id = c.tenant_id and r.id = c.generation_id
           union all
           select 0::bigint, 0::bigint, count(*), 0::bigint from app.generations n where {slice n}$q$, -- of other types the workers would not share it
        'audit.media_of_each()'),
      -- A ledger is told good from bad as two arrays, in the order of the index: half of a window's cost. {also} is asked of its last row.
      -- A balance before that no bigint could hold is null: no row's balance_after equals it. Where there is none, asking would be a fifteenth of the work.
      ('app.credit_transactions', array['user_id'],
        $q$select sum(cardinality(c.after)), count(*) filter (where r.id is null or ({also})), sum(cardinality(c.after)),
             count(*) filter (where c.before[1] is distinct from 0 or c.before[2:] <> trim_array(c.after, 1))
           from (
             select c.tenant_id, c.user_id, max(c.created_at) as created_at,
               array_agg(case when {unless too large: case when c.amount < 0 then c.balance_after <= 9223372036854775807 + c.amount
                                                         else c.balance_after >= c.amount - 9223372036854775807 end}
                              then c.balance_after - c.amount end order by c.created_at, c.id) as before,
               array_agg(c.balance_after order by c.created_at, c.id) as after
             from app.credit_transactions c
             where {slice c}
             group by c.tenant_id, c.user_id) c
           left join app.users r on r.tenant_id = c.tenant_id and r.id = c.user_id and {slice r}$q$, null),
      -- Who generates on a board does so again: both references are asked of the few pairs that one index, in this order, is grouped to.
      ('app.generations', array['board_id', 'user_id'],
        $q$select sum(c.rows), sum(c.rows) filter (where b.id is null or u.id is null), null::bigint, null::bigint
           from (
             select c.tenant_id, c.board_id, c.user_id, count(*)::int as rows
             from app.generations c
             where {slice c}
             group by c.tenant_id, c.board_id, c.user_id) c
           left join app.boards b on b.tenant_id = c.tenant_id and b.id = c.board_id and {slice b}
           left join app.users u on u.tenant_id = c.tenant_id and u.id = c.user_id and {slice u}$q$, null)
    ) as b (child, built_for, question, shortcut) on to_regclass(b.child) = ref_sql.child and expected = any (b.built_for)
  ), questions as (
    select w.*, case
      when is_temporal then format('select 0::bigint, count(*), null::bigint, null::bigint from %s c where %s and not exists (select from %s) and {slice c}',
        p_table, given, covering)
      when is_built_in then replace(built_in, '{also}', coalesce(also, 'false'))
      -- One question of a table counts its rows.
      when countable and not bool_or(is_built_in) over ()
        and 1 = row_number() over (partition by countable order by also is not null, child_columns, constraint_name, parent::text)
      then format('select count(*), %5$s, null::bigint, null::bigint from %1$s c
          left join %2$s %3$s on %3$s.tenant_id = c.tenant_id and %4$s and {slice %3$s}
          where %6$s and {slice c}', -- which all are; Citus refuses the join of a table whose rows no policy shows without it
        p_table, parent, alias, matched,
        case when also is null then format('count(*) - count(%s.tenant_id)', alias)
             else format('count(*) filter (where %s.tenant_id is null or (%s))', alias, also) end, given)
      else format('select 0::bigint, count(*), null::bigint, null::bigint from %1$s c
          where %2$s and not exists (select from %3$s %4$s where %4$s.tenant_id = c.%5$I and %6$s%7$s%8$s) and {slice c}',
        p_table, given, parent, alias, tenant_column, matched, ' and ((' || also || ')) is not true',
        -- The slices of app.tenants are of its id.
        case when tenant_column = 'tenant_id' then format(' and {slice %s}', alias) end)
      end as question
    from (
      select whole.*, built_in is not null and bool_and(countable) over same and count(*) over same = cardinality(built_for) as is_built_in
      from whole window same as (partition by built_in)) w
  ), own_sql as (
    select o.check_name, r.joins, case
        -- Few parents are so, and most of their columns stand in no index: they are looked for first, by themselves.
        when o.of_parent and r.is_single then format('select 0::bigint, count(*), null::bigint, null::bigint from %1$s %2$s
          where %3$s and exists (select from %4$s c where %2$s.tenant_id = c.%5$I and %6$s and {slice c}) and {slice %2$s}',
          r.parent, r.alias, p.predicate, p_table, r.tenant_column, r.matched)
        when o.indexed then format('select 0::bigint, count(*), null::bigint, null::bigint from %s c where %s and {slice c}', p_table, o.predicate)
        else r.question end as question,
      p.predicate, o.detail
    from own o
    left join questions r on r.expected = o.asked_with
    cross join lateral (select coalesce(replace(o.predicate, '{' || r.expected || '}', r.alias), o.predicate) as predicate) p
  )
  select * from (
  select 'tenant_missing', null::text, 'left join app.tenants t on t.id = c.tenant_id', 't.id is null', null::text,
    $q$case when c.tenant_id is null then 'the row has no tenant' else 'there is no tenant ' || c.tenant_id end$q$,
    null::text, null::text, null::name, null::regclass
  where p_table is distinct from to_regclass('app.tenants') and not exists (select from audit.relations(array[p_table]) where is_child)
  union all
  select
    coalesce(b.name, 'parent_missing'),
    coalesce(b.name, case when parent = to_regclass('app.users') then 'user_of_other_tenant' else 'parent_of_other_tenant' end),
    joins, format('%s and %s.tenant_id is null', given, alias),
    -- Asked of suspects only: does the row exist, elsewhere? Citus takes no correlated subquery here.
    case when is_temporal then format('exists (select from %s)', replace(covering, format('p.tenant_id = c.%I', tenant_column), 'true'))
         when is_plain then format('coalesce((%s) in (select %s from %s), false)', child_list, parent_names, parent) -- null beside a null of the parent's
         else format('exists (select from %s %s where %s)', parent, alias, matched) end,
    format($q$concat_ws(', ', %s)$q$,
      (select string_agg(format(case when is_full then $f$%L || coalesce(c.%I::text, 'null')$f$ else $f$%L || c.%I$f$ end, x || ' ', x), ', ') from unnest(child_columns) x))
      || format($q$ || case when s.elsewhere then %L else %L end$q$,
        format(' is in %s, but in another tenant', parent), format(' is not in %s', parent)),
    question, case when countable then shortcut end, case when cardinality(child_columns) = 1 then child_columns[1] end, questions.parent
  from questions
  left join (values
    ('app.boards', 'owner_id', 'board_owner_outside_tenant'), ('app.board_members', 'user_id', 'board_member_outside_tenant'),
    ('app.board_members', 'board_id', 'membership_without_board'), ('app.board_members', 'invited_by', 'board_inviter_outside_tenant')
  ) as b (relation, column_name, name) on to_regclass(b.relation) = child and b.column_name = expected
  union all
  -- Another tenant that a row names, or what it repeats of its own.
  select distinct 'parent_missing', null, null, p.predicate, null, p.detail, format('select 0::bigint, count(*), null::bigint, null::bigint from %s c where %s and {slice c}', p_table, p.predicate),
    null, null::name, null::regclass
  from pg_constraint k
  cross join lateral (
    select format('%s and not exists (select from app.tenants r where %s)', string_agg(format('c.%I is not null', w.child), ' and ' order by w.child),
        string_agg('r' || w.compared, ' and ' order by w.child)) as predicate,
      format($q$concat_ws(', ', %s) || ' is not in app.tenants'$q$, string_agg(format('%L || c.%I', w.child || ' ', w.child), ', ' order by w.child)) as detail,
      array_agg(w.child || ' ' || w.parent) as pairs
    from audit.comparisons(k.oid) w) p
  where k.conrelid = p_table and k.contype = 'f' and k.conparentid = 0 and k.confrelid = to_regclass('app.tenants') and p.pairs <> array['tenant_id id']
  union all
  select check_name, null, joins, predicate, null, detail, question, null, null, null from own_sql
  union all
  select 'times_out_of_order', null, null, format('c.%I < c.created_at', name), null,
    format($q$%L || c.%I || ' is before created_at ' || c.created_at$q$, name || ' ', name), null, null, null, null
  from col
  where is_own and name in ('updated_at', 'completed_at', 'removed_at') and type = 'timestamptz'::regtype
    and exists (select from col where name = 'created_at' and type = 'timestamptz'::regtype)
  union all
  select 'not_an_object', null, null, format($q$jsonb_typeof(c.%I) <> 'object'$q$, name), null,
    format($q$%L || jsonb_typeof(c.%I)$q$, name || ' holds a JSON ', name), null, null, null, null
  from col where is_own and name in ('settings', 'config', 'input', 'registration') and type = 'jsonb'::regtype
  union all
  -- A validated CHECK cannot have been broken; one that was added NOT VALID says nothing about the rows before it.
  select 'constraint_broken', null, null, format('not (%s)%s', case when 0 = any (conkey) -- it is about the whole row, which is c here
      then replace(pg_get_expr(conbin, conrelid), (select quote_ident(relname) from pg_class where oid = conrelid) || '.*', 'c.*')
      else pg_get_expr(conbin, conrelid) end, case when connoinherit then format(' and c.tableoid = %L::regclass', p_table) end), null,
    format($q$%L$q$, format('the row breaks the constraint %I', conname)), null, null, null, null
  from pg_constraint where conrelid = p_table and contype = 'c' and coninhcount = 0 and not convalidated
  ) as tests (check_name, check_elsewhere, joins, predicate, elsewhere, detail, question, shortcut, child_column, parent)
  order by question, check_name
$$;
comment on function audit.row_tests(regclass) is
$$The tests of a table: `predicate` is true of a row that fails; for references `elsewhere` then tells whether the missing row
lives in another tenant (check_elsewhere) or nowhere (check_name). `detail` is an SQL expression.$$;
--! EndIncluded audit/row_tests.sql
--! Included audit/media_of_each.sql
-- As a rule a completed generation has one medium. Then both tables hold the same keys, and sums of the keys' hashes say so by one reading of each table
-- in its own order, which costs a third of merging two indexes. Whether that is worth trying, statistics tell; whether it is so, every row.
-- In the order of an index the visibility map is read back and forth.
create or replace function audit.media_of_each()
returns bigint[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_seed constant bigint := uuid_hash_extended(gen_random_uuid(), 0); -- drawn anew, so that rows that no sum tells apart today are told apart tomorrow
  v_hash constant text := 'uuid_hash_extended(%I, uuid_hash_extended(tenant_id, $1))';
  v_answer bigint[];
begin
  if (
    select m.reltuples >= 200000 and abs(g.reltuples - u.reltuples - m.reltuples) <= m.reltuples / 20
    from pg_class m, pg_class g, pg_class u
    where m.oid = to_regclass('app.media') and g.oid = to_regclass('app.generations') and u.oid = to_regclass('app.generations_unfinished'))
  then
    perform audit.plan_merges(false, 8);
    -- Media, less generations, and the unfinished of these, which an index has. In pieces of the tables, so that workers start once for all of it.
    -- The average comes from what the sum has kept, and tells how many there are; to count them would add 3 %.
    execute (
      select 'select array[sum(round(keys / nullif(average, 0))) filter (where n = 1), 0, sum(round(keys / nullif(average, 0))) filter (where n = 2), 0] from ('
        || string_agg(part, ' union all ') || ') p (n, keys, average) having sum(keys * case n when 2 then -1 else 1 end) = 0'
      from (
        select format('select %s, sum(%s), avg(%2$s) from %s where ctid >= %L%s', n, format(v_hash, key), relation, format('(%s,0)', pages * i / 8),
          case when i < 7 then format(' and ctid < %L', format('(%s,0)', pages * (i + 1) / 8)) end)
        from (values (1, 'generation_id', 'app.media'::regclass), (2, 'id', 'app.generations')) t (n, key, relation)
        cross join lateral (select pg_relation_size(relation) / current_setting('block_size')::int as pages) s
        cross join generate_series(0, 7) i
        union all
        select format('select 3, sum(%s), null::numeric from app.generations where status <> %L', format(v_hash, 'id'), 'completed')) p (part))
    into v_answer using v_seed;
    perform audit.plan_merges(false, 1);
  end if;
  return v_answer;
end
$$;
comment on function audit.media_of_each() is
$$The four numbers of a question of audit.row_tests() where each completed generation has one medium, and no other has any; null where that is not so, is
unlikely by the tables' statistics, or the tables are small. Compares sums of 64-bit hashes, with a seed of the call: sums of other keys are equal by a chance of 2^-64.$$;
--! EndIncluded audit/media_of_each.sql
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
  ('identity_twice_in_tenant', array['app.users'], 'app.users', array['tenant_id', 'auth_provider', 'auth_subject']::name[],
    'select count(*) from app.users where $1 is null or tenant_id = $1',
    $q$select tenant_id, jsonb_build_object('tenant_id', tenant_id, 'id', max(id::text)) as key,
         format('%s rows stand for one identity: the users %s', count(*), string_agg(id::text, ', ' order by created_at, id)) as detail
       from app.users where $1 is null or tenant_id = $1
       group by tenant_id, auth_provider, auth_subject having count(*) > 1$q$,
    $q$-- point everything to one of the users, then delete the other and restore the constraint:
alter table app.users add constraint users_tenant_identity_key unique (tenant_id, auth_provider, auth_subject);$q$),

  ('provider_twice_in_tenant', array['app.provider_configs'], 'app.provider_configs', array['tenant_id', 'provider_name'],
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
    $q$-- give one of the tenants another slug, then restore the index:
create unique index tenants_slug_key on app.tenants (slug) where slug is not null;$q$),

  ('default_tenant_twice', array['app.tenants'], null, null,
    'select count(*) from app.tenants',
    $q$select id as tenant_id, jsonb_build_object('id', id) as key, 'is_default is true here and in an older tenant too' as detail
       from (select id, row_number() over (order by created_at, id) as n from app.tenants where is_default) d where n > 1 and ($1 is null or id = $1)$q$,
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
set local app.maintenance = 'on';
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
    -- Entries of one created_at may be in any order that adds up: which id is the lower is chance. Their balances, before and
    -- after, cancel each other out but for the first and the last; where those do too, the ledger is where it was before them.
    -- Asked of the ledgers alone that are not right as they stand.
    $q$with suspects as materialized (
         select distinct tenant_id, user_id
         from (
           select c.tenant_id, c.user_id, c.amount, c.balance_after,
             lag(c.balance_after::numeric, 1, 0::numeric) over (partition by c.tenant_id, c.user_id order by c.created_at, c.id) as balance_before
           from app.credit_transactions c where $1 is null or c.tenant_id = $1) r
         where balance_after is distinct from balance_before + amount
       ), moments as (
         select m.*, coalesce(o.opening, m.before) as opening, coalesce(o.openings, 1) as openings,
           case cardinality(m.after) when 1 then m.after else o.closing end as closing,
           row_number() over (partition by m.tenant_id, m.user_id order by m.created_at) as n
         from (
           select c.tenant_id, c.user_id, c.created_at, sum(c.amount) as amount, max(c.id::text) as id,
             array_agg(c.balance_after - c.amount::numeric) as before, array_agg(c.balance_after::numeric) as after
           from app.credit_transactions c
           where (c.tenant_id, c.user_id) in (select tenant_id, user_id from suspects)
           group by c.tenant_id, c.user_id, c.created_at) m
         cross join lateral (
           select array_agg(v) filter (where n < 0) as opening, -sum(n) filter (where n < 0) as openings, array_agg(v) filter (where n > 0) as closing
           from (
             select v, sum(n) as n
             from (select v, case when e.n > cardinality(m.before) then 1 else -1 end as n from unnest(m.before || m.after) with ordinality e (v, n)) e
             where cardinality(m.after) > 1 -- most are single
             group by v) d) o
       ), ledgers as (
         select m.*, coalesce((max(m.n::numeric || m.closing) filter (where m.closing is not null) over (
             partition by m.tenant_id, m.user_id order by m.created_at rows between unbounded preceding and 1 preceding))[2:], array[0::numeric]) as held
         from moments m
       )
       select tenant_id, jsonb_build_object('tenant_id', tenant_id, 'id', id) as key,
         case when cardinality(after) = 1
           then format('the balance before was %s, the amount is %s, and balance_after says %s instead of %s',
             held[1], amount, after[1], held[1] + amount)
           else format('the balance before was %s, and in no order do the %s entries of %s add up', held[1], cardinality(after), created_at) end as detail
       from ledgers
       where openings > 1 or not opening && held$q$,
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
and detail. answered_by: the table whose scan counts its rows or says whether there is anything to look for. {column} in a remedy stands for the key's value.$$;

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
  if v_found.errors is null then
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
$$Runs one of audit.data_checks(); all findings are counted under `errors`. p_answer: what the scan of a table has already counted for it, {rows or null, suspects or null}.$$;

set local role tms_registrar;
grant execute on function app.count_tenants(text) to tms_auditor;
reset role;
--! EndIncluded audit/data_checks.sql
--! Included audit/count_suspects.sql
-- The tenants in slices of about as many each, as conditions on a row %: workers take one after the other, and each slice
-- is a merge of the same stretch of two indexes. A row without a tenant is in none of them, so it has one of its own.
create or replace function audit.slices(p_table regclass, p_column name, p_tenant_id uuid)
returns text[]
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_bounds uuid[];
  v_nullable constant boolean := not audit.is_never_null(p_table, p_column);
begin
  if p_tenant_id is not null then
    return array[format('%%.%I = %L', p_column, p_tenant_id)];
  elsif (select reltuples from pg_class where oid = p_table) < 200000 then
    return array['true'];
  end if;
  v_bounds := array(
    select distinct unnest(bounds) as id
    from (select percentile_disc(array(select n / 12.0 from generate_series(1, 11) n)) within group (order by id) as bounds from app.tenants) b
    order by id);
  return array(
    select coalesce(nullif(concat_ws(' and ', format('%%.%I >= ', p_column) || quote_literal(v_bounds[n]), format('%%.%I < ', p_column) || quote_literal(v_bounds[n + 1])), ''), 'true')
    from generate_series(0, cardinality(v_bounds)) n)
    || case when v_nullable then array[format('%%.%I is null', p_column)] end;
end
$$;
comment on function audit.slices(regclass, name, uuid) is 'The slices of a table: conditions on a row, written %.column. One where it is small, or of one tenant.';

-- Of partitioned tables Postgres keeps no such count, and of a table that was never analyzed neither.
create or replace function audit.is_unvacuumed(variadic p_tables regclass[])
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(sum(relallvisible) < sum(relpages) / 2, false) from pg_class where oid = any (p_tables) and relpages > 0
$$;
comment on function audit.is_unvacuumed(regclass[]) is
  'Whether an index leaves open, for most rows, if they are visible: a merge of indexes would fetch them from the tables one by one, in the order of keys.';

-- A hash table that outgrows the processor's cache costs several times the merge of two indexes, which needs no memory
-- either; the planner's costs do not know that. Several slices are the workers' shares: within one there is nothing to
-- share out, or each worker would read the whole inner index. Undone when control.examine() returns.
drop function if exists audit.plan_merges(regclass, name, int); -- it looked for the index
create or replace function audit.plan_merges(p_merge boolean, p_slices int)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select set_config('enable_hashjoin', case when p_merge and p_slices > 1 then 'off' else 'on' end, true),
    set_config('parallel_setup_cost', case when p_slices > 1 then '0' else '1000' end, true),
    set_config('parallel_tuple_cost', case when p_slices > 1 then '0' else '0.1' end, true),
    set_config('min_parallel_index_scan_size', case when p_slices > 1 then '1TB' else '512kB' end, true),
    set_config('min_parallel_table_scan_size', case when p_slices > 1 then '1TB' else '8MB' end, true)
$$;
comment on function audit.plan_merges(boolean, int) is 'Makes the planner merge two indexes, slice by slice; with one slice, plan as it would. Until the transaction ends.';

create or replace function audit.is_in_order(p_table regclass, p_column name)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from pg_index i
    join pg_attribute t on t.attrelid = p_table and t.attnum = i.indkey[0] and t.attname = 'tenant_id'
    join pg_attribute c on c.attrelid = p_table and c.attnum = i.indkey[1] and c.attname = p_column
    where i.indrelid = p_table and i.indisvalid and i.indpred is null)
$$;
comment on function audit.is_in_order(regclass, name) is 'Whether an index has the rows of a table in the order of their tenants and a column.';

-- All at once: workers start once, and two processes at different questions do not wait for each other at the same pages.
drop function if exists audit.count_suspects(text, text[], regclass, name); -- it put one question
create or replace function audit.count_suspects(p_questions text[], p_slices text[], p_merge boolean)
returns jsonb
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_sql text;
  v_answers jsonb;
begin
  perform audit.plan_merges(p_merge, cardinality(p_slices));
  v_sql := 'select jsonb_object_agg(n, answer) from (select n, array[coalesce(sum(a), 0), coalesce(sum(b), 0), sum(c), sum(d)] as answer from ('
    || (select string_agg(format('select %s, q.* from (%s) q', n, regexp_replace(question, '\{slice (\w+)}', replace(s, '%', '\1'), 'g')), ' union all ')
        from unnest(p_slices) s cross join unnest(p_questions) with ordinality q (question, n))
    || ') as answers (n, a, b, c, d) group by n) q';
  begin
    execute regexp_replace(v_sql, '\{unless too large: [^}]*}', 'true', 'g') into v_answers;
  exception when numeric_value_out_of_range then
    execute regexp_replace(v_sql, '\{unless too large: ([^}]*)}', '\1', 'g') into v_answers;
  end;
  perform audit.plan_merges(false, 1);
  return (select jsonb_object_agg(p_questions[n::int], answer) from jsonb_each(v_answers) a (n, answer));
end
$$;
comment on function audit.count_suspects(text[], text[], boolean) is 'Puts questions of audit.row_tests() to every slice and adds up the four numbers of each: {"question": [rows, suspects, rows, suspects]}.';
--! EndIncluded audit/count_suspects.sql
--! Included audit/scan.sql
-- Rows of a tenant that does not exist lie, in an index of tenants, between two that do: one look for each of these gaps.
create or replace function audit.count_lost_tenants(p_table regclass)
returns bigint
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_count bigint;
begin
  if (select reltuples from pg_class where oid = p_table) < 20 * (select greatest(reltuples, 1) from pg_class where oid = 'app.tenants'::regclass)
    or not exists (
      select from pg_index i join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
      join pg_class x on x.oid = i.indexrelid join pg_am m on m.oid = x.relam and m.amname = 'btree'
      where i.indrelid = p_table and i.indisvalid and i.indpred is null and a.attname = 'tenant_id' and audit.is_never_null(p_table, 'tenant_id'))
  then
    execute format('select count(*) from %s c where not exists (select from app.tenants t where t.id = c.tenant_id)', p_table) into v_count;
  else
    execute format(
      'select count(*)
       from (select id as below, lead(id) over (order by id) as above from app.tenants) t
       cross join lateral (select from %1$s c where c.tenant_id > t.below and c.tenant_id < t.above order by c.tenant_id limit 1) c', p_table)
    into v_count;
    -- Below the first and above the last; of no tenants at all, any row.
    execute format(
      'select $1 + count(*)
       from (select (select id from app.tenants order by id limit 1) as first, (select id from app.tenants order by id desc limit 1) as last) t
       join (
         (select tenant_id from %1$s order by tenant_id limit 1) union all (select tenant_id from %1$s order by tenant_id desc limit 1)) c
       on c.tenant_id < t.first or c.tenant_id > t.last or t.first is null', p_table)
    into v_count using v_count;
  end if;
  return v_count;
end
$$;
comment on function audit.count_lost_tenants(regclass) is 'How many tenants, or rows, of a table name a tenant that does not exist: 0 or more than 0 is all that is promised.';

-- One question for each reference, and one for all tests of single rows that no constraint proves; of a clean table nothing
-- else is asked. The rows are counted where they are read anyway.
drop function if exists audit.scan(regclass, uuid); -- it had a parameter less
create or replace function audit.scan(p_table regclass, p_tenant_id uuid, p_settled text[] default '{}')
returns setof audit.outcome
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_column name;
  v_is_child boolean;
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
  v_unfound text[];
  v_found audit.outcome;
  v_kept jsonb;
begin
  select tenant_column, is_child into strict v_column, v_is_child from audit.relations(array[p_table]);
  select jsonb_agg(t) into v_tests from audit.row_tests(p_table) t; -- once: writing them takes milliseconds
  for v_joined in
    select p_table union select 'app.tenants'::regclass
    union select t.parent from jsonb_to_recordset(v_tests) t (parent regclass) where t.parent is not null
  loop
    perform audit.require_unfiltered(v_joined);
  end loop;
  v_slices := audit.slices(p_table, v_column, p_tenant_id);
  if p_tenant_id is null then
    for v_test in select distinct question, shortcut from jsonb_to_recordset(v_tests) t (question text, shortcut text) where shortcut is not null loop
      execute 'select ' || v_test.shortcut into v_answer;
      if v_answer is not null then
        v_answers := v_answers || jsonb_build_object(v_test.question, v_answer);
      end if;
    end loop;
  end if;
  for v_test in
    -- A question of several references groups as it reads, and of one it merges two indexes.
    -- Eight at once at most: each slice's plan has room for two pages of each index, in each process.
    select array_agg(q.question order by q.question) as questions, q.slices, q.merge
    from (
      select t.question, row_number() over (order by t.question) - 1 as n, coalesce(count(distinct t.child_column) = 1 and audit.is_in_order(p_table, max(t.child_column)), false) as merge,
        -- What an index holds is no work to share. And where the tables' rows have to be read, they are read once, unless a ledger would have to be sorted.
        case when p_tenant_id is null and (count(t.parent) = 0 or audit.is_unvacuumed(variadic p_table || array_remove(array_agg(distinct t.parent), null)) and t.question not like '%array_agg(%')
          then array['true'] else v_slices end as slices
      from jsonb_to_recordset(v_tests) t (question text, child_column name, parent regclass)
      where t.question is not null and not v_answers ? t.question
      group by t.question) q
    group by q.slices, q.merge, q.n / 8
  loop
    v_answers := v_answers || audit.count_suspects(v_test.questions, v_test.slices, v_test.merge);
  end loop;
  select max(nullif((answer ->> 0)::bigint, 0)) into v_rows from jsonb_each(v_answers) a (question, answer);
  select array[(answer ->> 2)::bigint, (answer ->> 3)::bigint] into v_also
  from jsonb_each(v_answers) a (question, answer) where answer ->> 3 is not null;
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
  -- Rows that all have their parent are in their parents' tenants: then the question is put to the fewer rows, or was before.
  select t.parent into v_lost_in
  from jsonb_to_recordset(v_tests) t (question text, child_column name, parent regclass)
  join pg_class c on c.oid = t.parent
  where t.child_column is not null and v_answers -> t.question ->> 1 = '0' and (t.parent::text = any (p_settled) or c.reltuples between 0 and v_rows)
    and audit.is_never_null(p_table, t.child_column)
  order by t.parent::text = any (p_settled) desc, c.reltuples limit 1;
  v_lost_in := coalesce(v_lost_in, p_table);

  select array_agg(a.attname order by k.n) into v_keys
  from pg_index i cross join unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) with ordinality as k (attnum, n)
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
  where i.indrelid = p_table and i.indisprimary;
  v_keys := coalesce(v_keys, array['ctid'::name]);
  select string_agg(format('%L, c.%I', k, k), ', '),
         'concat_ws('' and '', ' || string_agg(format('format(%L, c.%I)', replace(quote_ident(k), '%', '%%') || ' = %L', k), ', ') || ')'
  into v_row, v_key from unnest(v_keys) k;
  if v_keys = array['ctid'::name] then -- of one partition, or one child, only
    v_key := $q$format('tableoid = %L::regclass and ctid = %L', c.tableoid::regclass, c.ctid)$q$;
  end if;

  v_unfound := array(select question from jsonb_each(v_answers) a (question, answer) where answer ->> 1 <> '0');
  for v_test in
    select * from jsonb_to_recordset(v_tests)
      t (check_name text, check_elsewhere text, joins text, predicate text, elsewhere text, detail text, question text)
  loop
    if v_test.question is not null then
      v_suspected := v_answers -> v_test.question ->> 1 is distinct from '0';
    elsif v_test.check_name = 'tenant_missing' then
      v_suspected := p_tenant_id is null and (v_lost_in = p_table or (v_lost_in::text = any (p_settled)) is not true) and audit.count_lost_tenants(v_lost_in) > 0;
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
        if v_found.errors > 0 then
          v_unfound := array_remove(v_unfound, v_test.question);
        end if;
      end if;
      return next v_found;
    end loop;
  end loop;
  if v_unfound <> '{}' then
    raise exception using errcode = 'data_exception', message = format('rows of %s look wrong, and no test tells which', p_table);
  end if;
  for v_check, v_answer in
    select d.check_name, coalesce(v_also, case when to_regclass(d.tables[1]) = p_table then array[v_rows, null] end)
    from audit.data_checks() d where to_regclass(d.answered_by) = p_table and not v_is_child
  loop
    return next audit.check_rows(v_check, p_tenant_id, v_answer);
  end loop;
end
$$;
comment on function audit.scan(regclass, uuid, text[]) is
$$Runs every row test of a table, over all its rows or those of one tenant: one outcome a test, all findings counted under
`errors` (the caller knows the severity). Raises 42501 when the auditor would not see every row, 22000 when it sees none and there are some, or counts suspects of which
no test is true. p_settled: tables whose rows all have a tenant that exists, which then is not asked again of rows that all have their parent there.$$;
--! EndIncluded audit/scan.sql
--! Included audit/manifest.sql
-- Written by UPDATE_DOCS=1 npm test -- test/audit/manifest.test.ts, from what the migrations make; a test holds it to that.
create or replace function audit.manifest()
returns table (kind text, name text, owner text, granted text, body text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('function', 'api.add_member(text,text,text,text,text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '2f97023490ea72b34cf4ef4103d6e746'),
    ('function', 'api.approve_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'f3bfd8c25f9a6245e3ef838978073cd0'),
    ('function', 'api.create_tenant(text,text,text,text,text,text,text,text,jsonb,boolean,boolean,text)', 'tms_registrar', 'tms_service', '2e32d6041832e3e8150a7c8cdeacddc0'),
    ('function', 'api.delete_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '6eb37335359d2e7cf4270d311cf695dc'),
    ('function', 'api.ensure_default_tenant(text,text)', 'tms_registrar', 'tms_service', '8c20a270f8f8be8ef8b57704ce3a4f4c'),
    ('function', 'api.explain_access(text,text,text,text,boolean)', 'tms_registrar', 'tms_auditor tms_owner', '44861a70b56289848c0987b2d5988fb3'),
    ('function', 'api.explain_for_operator(text,text,text,text,text,text,text,text,text,text,boolean)', 'tms_registrar', 'tms_service', 'c07b53b6e0e36351d3d9ad7164dcb78e'),
    ('function', 'api.get_current_tenant(text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a2dabea3f1b69467272845bd714af71'),
    ('function', 'api.get_login_faults()', 'tms_registrar', 'tms_service', '42564d4a18c5f86fd8b79c9c8b932210'),
    ('function', 'api.get_readiness(text)', 'tms_registrar', 'tms_service', '861b38cfc3d0f9673f58277b6b3c12fd'),
    ('function', 'api.get_registration_status(text,text,text,text,text,text,boolean,integer,text[])', 'tms_registrar', 'tms_service', 'f65556ea86242d3b80f4b6bf6872cf10'),
    ('function', 'api.get_schema_version()', 'tms_registrar', 'tms_service', 'f2a7f8344bf343031795bd5adcf44dad'),
    ('function', 'api.get_setup_status(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '644645cadd2d707d7257ffd9374cecad'),
    ('function', 'api.get_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '3b331c5f22ce84451db4d40c954cda90'),
    ('function', 'api.list_boards(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '232fea41870a7ebcd555b769c0c8bf42'),
    ('function', 'api.list_members(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '9c48b26b968b3a7851606bad8cf23e49'),
    ('function', 'api.list_my_tenants(text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '7fb84d44efb0ad29a3010156ec1c5076'),
    ('function', 'api.list_tenants(text,text,text,text,text,text,integer,text,text,text)', 'tms_registrar', 'tms_service', 'a2ed4035f6915b33773df85b2ea6e076'),
    ('function', 'api.register_tenant(text,text,text,text,text,text,text,text,text,text,jsonb,boolean,boolean,integer,text[],text)', 'tms_registrar', 'tms_service', '8f12ec3b17764ab3d66783ff940eb38c'),
    ('function', 'api.reject_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '6f7b849f51bac751aa6f08e886b85416'),
    ('function', 'api.remove_member(text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a93c5af2867a8cb0b3d40083d3b966e'),
    ('function', 'api.resume_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'a915796a579fa9f1ac63c2e737746713'),
    ('function', 'api.suspend_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '5dcc8a91279ab6c76561b86cdd412955'),
    ('function', 'api.take_rate_limit(text,text,integer)', 'tms_registrar', 'tms_service', 'cd69c8629b32585c78beaaaff0eee2b2'),
    ('function', 'api.update_tenant(text,text,text,text,text,text,text,text,text,jsonb,text[])', 'tms_registrar', 'tms_service', '48b1b9e33de7b08da7b21deaa0a637b8'),
    ('function', 'app.adopt(regclass)', 'tms_owner', '', 'f591e50dec32df3bde89836de68878b8'),
    ('function', 'app.await_writers(uuid,boolean)', 'tms_registrar', '', '316ea0f7df30955e5eada3a31284089b'),
    ('function', 'app.board_json(app.boards)', 'tms_owner', 'tms_app', 'b2ff17214266ed6c2d039748d90c97f3'),
    ('function', 'app.count_tenants(text)', 'tms_registrar', 'tms_auditor', '7cfb08cf11a11e9278bd0f55d33c1d5d'),
    ('function', 'app.count_tenants_like(text,text)', 'tms_registrar', '', 'd5fd689fd694ae35e0b4513652271182'),
    ('function', 'app.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', '8297e332eda8e3937d95b839446598d2'),
    ('function', 'app.cursor_of(timestamp with time zone,uuid)', 'tms_owner', 'tms_app tms_registrar', '860fabd228104008346a85a66c10fdc1'),
    ('function', 'app.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '67ed87e44a0e6241901815fe9c9a643f'),
    ('function', 'app.enter_default(text,text,text,text)', 'tms_registrar', '', 'e53d9fd4554d7ce74d399f874e5a53bc'),
    ('function', 'app.enter_lobby(text,text,text,text,text)', 'tms_registrar', '', '3bf828d30b17036231b66576e4484145'),
    ('function', 'app.enter_tenant(text,text,text,text,text)', 'tms_registrar', 'tms_app', 'bea83e40326931df9373368591bf28db'),
    ('function', 'app.etag(json)', 'tms_owner', 'tms_registrar', '8eb737e517796d6ce22928eb56414403'),
    ('function', 'app.fence_tenant(uuid)', 'tms_registrar', '', '3c0c05974051ce6ae813a5bca59726a4'),
    ('function', 'app.find_tenant(text,boolean)', 'tms_registrar', '', '919d46d05c3100ad0844ff3c5537542e'),
    ('function', 'app.find_tenant_to_change(text,text[])', 'tms_registrar', '', '7aa14f5731ecf3087f267e36070cd316'),
    ('function', 'app.insert_tenant(text,text,text,text,jsonb)', 'tms_registrar', '', '6549153521fb5ffc0a229706918f8cc3'),
    ('function', 'app.is_behind(text)', 'tms_owner', 'tms_registrar', '0c61b8391d6ee19f76981d39a8d2327d'),
    ('function', 'app.is_distributed()', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'd512d0d1fdbd05e2ff6889bcc0192c54'),
    ('function', 'app.iso_time(timestamp with time zone)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'fd59885aa9770697873dee4f51a131e7'),
    ('function', 'app.isolate(regclass,boolean)', 'tms_owner', '', '7ae28a9eafd4640832b268c160240b81'),
    ('function', 'app.isolation_advice()', 'tms_registrar', '', '988d42ab55152904697d76d9421641ca'),
    ('function', 'app.isolation_breaches()', 'tms_registrar', '', '6a9ddfb86e9954d108e466f819fe09b1'),
    ('function', 'app.join_default(uuid,text,text,text,text)', 'tms_app', '', 'b7ac6dd1fcff487126c149995f4b5e60'),
    ('function', 'app.last_audit()', 'tms_owner', 'tms_registrar', 'c88a4e3575ea09c274ca35f2186f32c3'),
    ('function', 'app.leaking_tables()', 'tms_app', 'tms_auditor', '7f4b699eca6aef74799825a5e5d49de8'),
    ('function', 'app.lock_tenant(text)', 'tms_registrar', '', 'fdb2f07636e0ce359939859f86727e76'),
    ('function', 'app.member_json(app.users)', 'tms_owner', 'tms_app', 'a26aaca041cce263b087e34bf13bfab2'),
    ('function', 'app.move_tenant(text,text[],text,text)', 'tms_registrar', '', 'ee5850e71f4f5c4d77064d7bafb5fa14'),
    ('function', 'app.parse_uuid(text)', 'tms_owner', 'tms_app tms_registrar', '16cbb9025fe9d8da60ca41bdd12a10b6'),
    ('function', 'app.read_cursor(text)', 'tms_owner', 'tms_app tms_registrar', '784e132c450f7f990b3891e42f4db431'),
    ('function', 'app.refuse(integer,text,text,text,jsonb)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'ed53708c0d267cc1eda3001a2aa9e4fd'),
    ('function', 'app.refuse_slug(text)', 'tms_owner', 'tms_registrar', '0494b21e36b9be8782d818579eacf24b'),
    ('function', 'app.remove_tenant(app.tenants)', 'tms_registrar', '', '0e07ca947d8eb6df20f0633e482b86d9'),
    ('function', 'app.replay(text,text,text,jsonb)', 'tms_registrar', '', '1de402158f59334ded63d0ca48e00947'),
    ('function', 'app.require_match(app.tenants,text[])', 'tms_owner', 'tms_registrar', '36acea6d1f3a1c428113f3500284ff79'),
    ('function', 'app.require_member(uuid,uuid)', 'tms_owner', 'tms_app', 'c6d4124107c68742c702ce61fe216009'),
    ('function', 'app.require_member_admin(text,text)', 'tms_owner', 'tms_app', 'b28f892d33bfcb25492fef7ff3003841'),
    ('function', 'app.require_operator(text,text,text,text,text,text)', 'tms_registrar', '', 'cb53aa9b3e4769955e3bfc93a31352aa'),
    ('function', 'app.require_own_table(regclass)', 'tms_owner', 'tms_app tms_auditor', '372ed04befe2137666ccc0d3cd708e48'),
    ('function', 'app.require_status(app.tenants,text)', 'tms_owner', 'tms_registrar', 'b7e177058b7adfc35ee4d44f1917d91e'),
    ('function', 'app.schema_version()', 'tms_owner', 'tms_auditor tms_registrar', '81db2cc5b5ba419c5ace31eb05c7159e'),
    ('function', 'app.set_actor(text,text)', 'tms_owner', 'tms_registrar', '7c1008a409b4af52f96e95baaa20f77f'),
    ('function', 'app.set_tenant(uuid)', 'tms_owner', 'tms_app tms_auditor tms_registrar', '5bd687a778e41bab3fe0cc75b0c20b2b'),
    ('function', 'app.shown_rows(uuid,integer)', 'tms_app', 'tms_auditor', 'a68c33344e0604f89c0d58c27c1d6740'),
    ('function', 'app.table_faults(regclass,name)', 'tms_owner', 'tms_auditor', '3d9ba3ee5ea2e2da36718ba8e30863d6'),
    ('function', 'app.tenant_columns(regclass)', 'tms_owner', 'tms_auditor', '1285db90fed6c7c5173f5d0eee790325'),
    ('function', 'app.tenant_id()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '9ca56ffeefeb0f10be11edde77d2f7dd'),
    ('function', 'app.tenant_json(app.tenants)', 'tms_owner', 'tms_app tms_registrar', '8faf545777e3b615ad9a588fe6b965a2'),
    ('function', 'app.tenant_page(integer,timestamp with time zone,uuid,text,text)', 'tms_registrar', '', '575d522375a1ff1ca17600e75e0e0e46'),
    ('function', 'app.tenant_tables()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '50a59e972960913f3b64685f6766e58e'),
    ('function', 'app.unprotected_tables()', 'tms_owner', 'tms_auditor tms_registrar', '14e044b563ed8359b27cc4f275c09273'),
    ('function', 'app.write_policies(regclass,name)', 'tms_owner', '', '16bf88379de7de608f081636ff88db64'),
    ('function', 'audit.accept(text)', 'tms_owner', 'tms_auditor', 'a131f7ffd9b349922fbb3b68f5036bd7'),
    ('function', 'audit.attempt(text,uuid,integer,text[])', 'tms_owner', 'tms_auditor', '28bd148885a1ddb1cf53272271e37e84'),
    ('function', 'audit.bound(regclass)', 'tms_owner', 'tms_auditor', '52535e0880148a554d3369e97f251356'),
    ('function', 'audit.by_acceptance(text,name,text)', 'tms_owner', 'tms_auditor', '5826636805fef7739d6dad7a137f91e0'),
    ('function', 'audit.by_giving_back(text,name)', 'tms_owner', 'tms_auditor', 'a17921e6df3e50e565d7c9402178ab65'),
    ('function', 'audit.by_moving(oid)', 'tms_owner', 'tms_auditor', 'ab75ac7ffd423e2577b0c5f358611d14'),
    ('function', 'audit.by_owner(name,text)', 'tms_owner', 'tms_auditor', '4e04f5c576647e69123bd22d32c2e00a'),
    ('function', 'audit.calls(oid[])', 'tms_owner', 'tms_auditor', '506577231e438e942cd39073b1932415'),
    ('function', 'audit.check_app_reach()', 'tms_owner', 'tms_auditor', 'd21a7aa88bcebf8971f0f2a6f1f08527'),
    ('function', 'audit.check_audit_filtered()', 'tms_owner', 'tms_auditor', '21e137c95695a27e4efa9c15efa74d20'),
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', '6c045381d725d926e931d71b047e9f1d'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', 'fbf75b4d3bf5c6df5a219a5c3fa253c7'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', '4bc9a18d746772555f169d42aa4bb79e'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', '9808fd6afb2a79568d6a87031c4600f7'),
    ('function', 'audit.check_foreign_table()', 'tms_owner', 'tms_auditor', 'dd7744f8f790a391194de8e7aa04c671'),
    ('function', 'audit.check_function_body()', 'tms_owner', 'tms_auditor', 'ac87e7f0d8539f838c664eb407457376'),
    ('function', 'audit.check_function_bypass()', 'tms_owner', 'tms_auditor', 'd6611ba53656c4849548953731b1395e'),
    ('function', 'audit.check_function_changed()', 'tms_owner', 'tms_auditor', '778fd60c06accf65771b9006dc4ef5ac'),
    ('function', 'audit.check_function_leakproof()', 'tms_owner', 'tms_auditor', 'd77af029401976b475f7199ef15487bc'),
    ('function', 'audit.check_function_owner()', 'tms_owner', 'tms_auditor', '8e21eb7c6499146691e4c9764f1552cf'),
    ('function', 'audit.check_function_public()', 'tms_owner', 'tms_auditor', '31e13f19ef2a9cce97644e0d27b16666'),
    ('function', 'audit.check_function_search_path()', 'tms_owner', 'tms_auditor', 'a0897ed63dd02b77b353ee67749f7f60'),
    ('function', 'audit.check_function_security()', 'tms_owner', 'tms_auditor', 'ce251b1eb7abf63c86ec57f92b3072ce'),
    ('function', 'audit.check_function_settings()', 'tms_owner', 'tms_auditor', 'b47ac2d648d1ae22490277dac35c49e8'),
    ('function', 'audit.check_index_missing()', 'tms_owner', 'tms_auditor', '517eab548c62f3f29bb166e802c1138b'),
    ('function', 'audit.check_other_grants()', 'tms_owner', 'tms_auditor', '97160a28ce266da2b1c2db5a31194ccf'),
    ('function', 'audit.check_policy_changed()', 'tms_owner', 'tms_auditor', '28a0f3722760e6e67af5cb5f4d868c7c'),
    ('function', 'audit.check_policy_extra()', 'tms_owner', 'tms_auditor', 'c284abb96916f7827935560688102e71'),
    ('function', 'audit.check_policy_function()', 'tms_owner', 'tms_auditor', '64e514cc5b8d394facb12a777c043de2'),
    ('function', 'audit.check_policy_missing()', 'tms_owner', 'tms_auditor', '1832f482c5fcbef65005be1c1f5b11d1'),
    ('function', 'audit.check_publication()', 'tms_owner', 'tms_auditor', '2503ecbef3a841fc5ed77c8ccddcf372'),
    ('function', 'audit.check_registrar_reach()', 'tms_owner', 'tms_auditor', '0d8865ac4111ae12999b518c4b0597ed'),
    ('function', 'audit.check_rewrite_rule()', 'tms_owner', 'tms_auditor', 'dd5a90c6dae30ef82d55a76783ff3454'),
    ('function', 'audit.check_rights_missing()', 'tms_owner', 'tms_auditor', '1c8db2341db2d7618db6e12cff03dc04'),
    ('function', 'audit.check_rls_disabled()', 'tms_owner', 'tms_auditor', '85c222908747d1cb4afe38aa3b614687'),
    ('function', 'audit.check_rls_not_forced()', 'tms_owner', 'tms_auditor', '02fcf67fb0ad0ae6af9fe92ab719a004'),
    ('function', 'audit.check_role_attributes()', 'tms_owner', 'tms_auditor', '575531841992472c2d5c5bd200fbd9b6'),
    ('function', 'audit.check_role_membership()', 'tms_owner', 'tms_auditor', '074467003d1e988a68018b428e8e0a85'),
    ('function', 'audit.check_role_owns()', 'tms_owner', 'tms_auditor', '76f522701b48a9610786180fd9adb50a'),
    ('function', 'audit.check_role_settings()', 'tms_owner', 'tms_auditor', '88b2092e87c98cb20f3175a2c782e862'),
    ('function', 'audit.check_rows(text,uuid,bigint[])', 'tms_owner', 'tms_auditor', '651c1f10582d26a1c5f1132af0b74bad'),
    ('function', 'audit.check_schema_grants()', 'tms_owner', 'tms_auditor', '784d1c66ce98ffaa242030ed446c8405'),
    ('function', 'audit.check_server_settings()', 'tms_owner', 'tms_auditor', '53cabf313d770095a052541b2e7b8be6'),
    ('function', 'audit.check_server_version()', 'tms_owner', 'tms_auditor', '1effe665c994fb7dd9d0642cd57187c4'),
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', 'a787fc3c2e2d684ab2cf4edf7fde08d4'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '57e556d774dc091acb413beac4d7c085'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', '038808867f7687b3f4dcaa8a142d9c05'),
    ('function', 'audit.check_system_grants()', 'tms_owner', 'tms_auditor', 'e5f59db158c2f613ad503861b408e7b2'),
    ('function', 'audit.check_table_grants()', 'tms_owner', 'tms_auditor', '6fccbe665758eb03bb1d35ff22864e31'),
    ('function', 'audit.check_table_inherits()', 'tms_owner', 'tms_auditor', '5e53ec67c729538f5348748fe43800a2'),
    ('function', 'audit.check_table_missing()', 'tms_owner', 'tms_auditor', '7524886a3da1a186a81caa672129ebe3'),
    ('function', 'audit.check_table_owner()', 'tms_owner', 'tms_auditor', 'd0bd8997cf39991624d050c38da2d0b4'),
    ('function', 'audit.check_table_rules()', 'tms_owner', 'tms_auditor', '5ec7c0ad947f0600b5569f28b921caf8'),
    ('function', 'audit.check_table_without_tenant()', 'tms_owner', 'tms_auditor', 'd6743e3cfe567632da6335b40ab19515'),
    ('function', 'audit.check_tenant_id_function()', 'tms_owner', 'tms_auditor', '009eac3d0bb20586b9d0b1bdbfa2eff7'),
    ('function', 'audit.check_tenant_key()', 'tms_owner', 'tms_auditor', '0cbcc08455e462025d5549d1cc33a331'),
    ('function', 'audit.check_trigger_disabled()', 'tms_owner', 'tms_auditor', '7c0cb1bc42599f63e0c0af6176adb61f'),
    ('function', 'audit.check_trigger_notifies()', 'tms_owner', 'tms_auditor', 'c439fdc78c6bc9dac1bd1b5fa0ae2d51'),
    ('function', 'audit.check_trigger_rights()', 'tms_owner', 'tms_auditor', '24a73a70ba4361a35a20948c9cffd266'),
    ('function', 'audit.check_unique_key_missing()', 'tms_owner', 'tms_auditor', '77c4d1c04f0c03b76ac44007f87d4a6b'),
    ('function', 'audit.check_view_leaks()', 'tms_owner', 'tms_auditor', '73c39213314885829fcb9da9a196c2b5'),
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', 'b8eaa5b2b8990c1758e2c56d0f66bb03'),
    ('function', 'audit.code_of(text,boolean)', 'tms_owner', 'tms_auditor', 'e85bd2e07ed52bd67973cb6025f734cf'),
    ('function', 'audit.comment_again(oid)', 'tms_owner', 'tms_auditor', '47c27737d57e16c2ead35836c4d81a3a'),
    ('function', 'audit.comparisons(oid)', 'tms_owner', 'tms_auditor', '886266a0039799fb85d5f4a88ef03938'),
    ('function', 'audit.count_lost_tenants(regclass)', 'tms_owner', 'tms_auditor', '48b396076d73de4b2c083a0baae79bb0'),
    ('function', 'audit.count_suspects(text[],text[],boolean)', 'tms_owner', 'tms_auditor', 'fc4ad5a59ad9984babc3b47e2a1aaaaf'),
    ('function', 'audit.data_checks()', 'tms_owner', 'tms_auditor', '2fe71559a18fcbfa639506c0433e506a'),
    ('function', 'audit.default_of(text)', 'tms_owner', 'tms_auditor', '7ffd506ec2b343ed196fd1dc2857e94f'),
    ('function', 'audit.definition_hash(oid)', 'tms_owner', 'tms_auditor', '7d4595e6b1840c52b7456efb9f44930d'),
    ('function', 'audit.enters_named_tenant(oid,text)', 'tms_owner', 'tms_auditor', '09a31f99e7668b9434847114691b6350'),
    ('function', 'audit.examine(text,uuid,integer,text[])', 'tms_owner', 'tms_auditor', '81c88d8f151c95d869be8e750b464706'),
    ('function', 'audit.executed(text)', 'tms_owner', 'tms_auditor', '8d6a18f893621060e3e46ecf218d9579'),
    ('function', 'audit.expected_policies()', 'tms_owner', 'tms_auditor', 'cef3cc9db83e631c5a0e17c7b1dbfdeb'),
    ('function', 'audit.expected_references()', 'tms_owner', 'tms_auditor', 'b1fe44c1e3cfed3cdf5309b193602aee'),
    ('function', 'audit.filter_of(regclass)', 'tms_owner', 'tms_auditor', '733692876d5e6582a29c2d0d563f1f6e'),
    ('function', 'audit.find_tenant(text)', 'tms_owner', 'tms_auditor', 'f7af4ca5e9972e7e92aaf3bdbc4f1cc2'),
    ('function', 'audit.finish_run(bigint)', 'tms_owner', 'tms_auditor', 'fda1a2edc4f2b4cfdd811652e24d622a'),
    ('function', 'audit.functions()', 'tms_owner', 'tms_auditor', 'df01d81d88638aae83b84c11bb75bd9b'),
    ('function', 'audit.has_rows(regclass,name,uuid)', 'tms_owner', 'tms_auditor', 'cb2a97af9c825ca6d0c8316bc29a0674'),
    ('function', 'audit.installed()', 'tms_owner', 'tms_auditor', '1fae3c4e0b8e031c9bc3445a5ed7b45e'),
    ('function', 'audit.is_in_order(regclass,name)', 'tms_owner', 'tms_auditor', 'a40cc7e68cbee2eb9011ca09391b9ce1'),
    ('function', 'audit.is_inherited(regclass)', 'tms_owner', 'tms_auditor', 'a7ea746ec51ec75d5477d08197fbe8c5'),
    ('function', 'audit.is_never_null(regclass,name)', 'tms_owner', 'tms_auditor', '0d8d1f65be045d42ac17782b75a8bb76'),
    ('function', 'audit.is_proved(regclass,text)', 'tms_owner', 'tms_auditor', '25837b3aecfc0e552fc5207e2f3ff9ee'),
    ('function', 'audit.is_stranger(oid)', 'tms_owner', 'tms_auditor', 'ad53d1007c1894a22348c405048bda91'),
    ('function', 'audit.is_unique(regclass,name[])', 'tms_owner', 'tms_auditor', '92bfe836b03b4d95b5748060a3c337d6'),
    ('function', 'audit.is_unvacuumed(regclass[])', 'tms_owner', 'tms_auditor', '410ca929421fd92318bf64e60a9f56ed'),
    ('function', 'audit.isolated_with()', 'tms_owner', 'tms_auditor', 'ade25ab236da7bbe865eda48ea3347b4'),
    ('function', 'audit.lent_relations()', 'tms_owner', 'tms_auditor', '75f5ae3c326f628fa1e99f6f6d442cbc'),
    ('function', 'audit.manifest()', 'tms_owner', 'tms_auditor', ''),
    ('function', 'audit.media_of_each()', 'tms_owner', 'tms_auditor', '5d689428b218391b9d26476901214cc2'),
    ('function', 'audit.of_extensions(regclass)', 'tms_owner', 'tms_auditor', '63192a2e82a10dce9e01cb456178e100'),
    ('function', 'audit.our_roles()', 'tms_owner', 'tms_auditor', '5dab71b472e5360b7a2ae17eb1cd2f43'),
    ('function', 'audit.own_tables()', 'tms_owner', 'tms_auditor', 'd8d62003b8a8ea98a89b0fb97bae35d7'),
    ('function', 'audit.own_tenant(oid,text)', 'tms_owner', 'tms_auditor', '6c02ea1724ac67e414894e331de512a8'),
    ('function', 'audit.paired_key(oid)', 'tms_owner', 'tms_auditor', '3b54936547466f211bee60c218da6b8d'),
    ('function', 'audit.pass_checks(text)', 'tms_owner', 'tms_auditor', 'e8e03400ced553936462672efd9ed231'),
    ('function', 'audit.passes(text,boolean)', 'tms_owner', 'tms_auditor', '6d1a18962baa63c18e9844d96141e187'),
    ('function', 'audit.pattern_of(text)', 'tms_owner', 'tms_auditor', '71bfc351a701c62cdc853ec1eb58c076'),
    ('function', 'audit.plan_merges(boolean,integer)', 'tms_owner', 'tms_auditor', '5255424a6042cae13a96ab43c4225e8a'),
    ('function', 'audit.progress_line(integer,integer,text,bigint,bigint,timestamp with time zone,text)', 'tms_owner', 'tms_auditor', '95e256b7454f60f5855a215e54f8d46d'),
    ('function', 'audit.protection_query()', 'tms_owner', 'tms_auditor', '6faa68ed577394cedf3d883887008e57'),
    ('function', 'audit.prove(text,uuid,integer)', 'tms_owner', 'tms_auditor', '09056ebdf7517b088560e426d79cadf0'),
    ('function', 'audit.record_pass(bigint,text)', 'tms_owner', 'tms_auditor', '08130587858149233528c1f29f49ea1e'),
    ('function', 'audit.relations()', 'tms_owner', 'tms_auditor', '7f840a63381ffbf1e5a4aaa63aa2b661'),
    ('function', 'audit.relations(regclass[])', 'tms_owner', 'tms_auditor', '78e3e595b58833e604bf651ce9597df6'),
    ('function', 'audit.report(bigint)', 'tms_owner', 'tms_auditor', '1525d5551cc25ba8f8b0d8031afa99a6'),
    ('function', 'audit.require_isolation()', 'tms_owner', 'tms_auditor', '3f41b7468d915ca63eb8d00a2380d7d4'),
    ('function', 'audit.require_unfiltered(regclass)', 'tms_owner', 'tms_auditor', '4ab6885a92e5986c7051f0032ce4ffc5'),
    ('function', 'audit.role_name(oid)', 'tms_owner', 'tms_auditor', 'd93e0bfa0cc30ca6a3a0e814d7901901'),
    ('function', 'audit.row_tests(regclass)', 'tms_owner', 'tms_auditor', 'fea3d8ad505c5d176efc7bb147b532d4'),
    ('function', 'audit.run(text,text,integer,bigint)', 'tms_owner', 'tms_auditor', '325790b0ede9c81ee612a26476b2a357'),
    ('function', 'audit.run_check(text,text,integer)', 'tms_owner', 'tms_auditor', 'd4f5e06dee60c858690543f7df24581c'),
    ('function', 'audit.run_family(text,boolean,integer)', 'tms_owner', 'tms_auditor', 'bb2a13f6aeb96d6e90c27e9696dd6464'),
    ('function', 'audit.sample_tenants(uuid,integer)', 'tms_owner', 'tms_auditor', '0ad9c042a63b35d83bd30743bc3698e3'),
    ('function', 'audit.say_scanned(bigint)', 'tms_owner', 'tms_auditor', '6b02023e2942fc31f4fa347a9a1eee61'),
    ('function', 'audit.scan(regclass,uuid,text[])', 'tms_owner', 'tms_auditor', '9f66afa5390f8b5a336226c711621e9a'),
    ('function', 'audit.scanned(text)', 'tms_owner', 'tms_auditor', '714ae3acb57dbdc53fb0a71fd8427aa1'),
    ('function', 'audit.severity_rank(text)', 'tms_owner', 'tms_auditor', '1fa26f34a59db5d581099b2a3365ab06'),
    ('function', 'audit.short_hash(text)', 'tms_owner', 'tms_auditor', '6f23cfe71952fec1f8acb0400a595545'),
    ('function', 'audit.shown_relations()', 'tms_owner', 'tms_auditor', '8cf1d51c18444e217ad517e3a87c0f96'),
    ('function', 'audit.slices(regclass,name,uuid)', 'tms_owner', 'tms_auditor', '6b94c046de687e1e660d40e8db8b1031'),
    ('function', 'audit.start_run(text,text,integer)', 'tms_owner', 'tms_auditor', '80861f31eb5ce66d6fdc572ab5718e88'),
    ('function', 'audit.table_remedies()', 'tms_owner', 'tms_auditor', '1244c999fcbccc4172a9ac13b5620ed6'),
    ('function', 'audit.template_rights()', 'tms_owner', 'tms_auditor', '895240ac6dccd5a5070dad49e0c10c8b'),
    ('function', 'audit.tenant_references()', 'tms_owner', 'tms_auditor', '7e63f48453607ddccc4fe6791d2fe0f8'),
    ('function', 'audit.tenant_references(regclass)', 'tms_owner', 'tms_auditor', '662987541e379f8f9fb0dd0cc9345954'),
    ('function', 'audit.try_writes(regclass,name,uuid,uuid)', 'tms_owner', 'tms_auditor', '615b758e986a60510125fd10cea4206c'),
    ('function', 'audit.version_fault(integer,boolean)', 'tms_owner', 'tms_auditor', 'c99f8fa921f168d5cd5dcd549b1f0100'),
    ('function', 'audit.visible_rows(regclass,name,uuid[])', 'tms_owner', 'tms_auditor', 'f56e328b033e956fdab9d1f8baad34ba'),
    ('function', 'control.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', 'f51e10df58d79ca3a0d0795dfe58aa56'),
    ('function', 'control.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '64ba8d9e056505dbf964689f858940de'),
    ('function', 'control.examine(text,uuid,integer,text[])', 'tms_auditor', 'tms_owner', 'f286437fac6a6739a95086a0631457cf'),
    ('function', 'control.find_tenant(text)', 'tms_auditor', 'tms_owner', '092ecd4817dc31d218f82c2a5fb7fb1b'),
    ('function', 'control.held_rows(regclass,uuid,integer)', 'tms_auditor', 'tms_registrar', '49f285b797178536712ef24c4701d0aa'),
    ('function', 'control.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', '379f66e5be803b087e2d33e846308ed7'),
    ('function', 'control.leaking_tables()', 'tms_app', 'tms_registrar', 'a64065acd87739f1fa6faf8563022cdf'),
    ('function', 'control.shown_rows(uuid,integer)', 'tms_app', 'tms_registrar', '940fe838dabb731f042c6f4ee27bec1c'),
    ('function', 'control.tg_tenants__count()', 'tms_owner', '', '9737cde625d18b6cd691d3909049c634'),
    ('function', 'control.tg_tenants__record()', 'tms_owner', '', 'c5bcc8f27a34855b08f6954793bb871a'),
    ('function', 'control.try_writes(regclass,name,uuid,uuid)', 'tms_app', 'tms_owner', 'c87234d5b18abbed0d017d13e0cfd085'),
    ('function', 'control.visible_rows(regclass,name,uuid[])', 'tms_app', 'tms_owner', '4c624280d5b02e03a6ccbb7a19cbb73f'),
    ('trigger', '_500_count_delete on app.tenants', '', '', 'dae737c3cddf08b70a4e63626f9fd7ad'),
    ('trigger', '_500_count_insert on app.tenants', '', '', '3d1350530d7d1487c4b6c3df953b505a'),
    ('trigger', '_500_count_truncate on app.tenants', '', '', '464acf41f80ba54008e74b1b9cfa2b17'),
    ('trigger', '_500_count_update on app.tenants', '', '', '2fabaee9bcae28855c95ce5e7c5c3677'),
    ('trigger', '_600_record_delete on app.tenants', '', '', 'dd4ca5ebe052335dac1b828f3c9f33e1'),
    ('trigger', '_600_record_insert on app.tenants', '', '', 'df1991c7cc1a8c76af7ad26d2962b8cb'),
    ('trigger', '_600_record_update on app.tenants', '', '', '676657851e292162756ebbb434641cb3')
$$;
comment on function audit.manifest() is
  'The functions of this release, who owns and may execute them, and the triggers on its tables, each with a hash of what it does.';
--! EndIncluded audit/manifest.sql
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
-- One sentence for \df+ and the documentation.
do $$
declare
  v_check record;
begin
  for v_check in select "check", finds from audit.checks() where to_regprocedure('audit.check_' || "check" || '()') is not null loop
    execute pg_catalog.format('comment on function audit.check_%s() is %L', v_check."check", v_check.finds);
  end loop;
end
$$;
revoke create, usage on schema control from tms_app, tms_auditor;
--! EndIncluded audit/end.sql
set local citus.enable_ddl_propagation = on;
revoke create on schema app, api from tms_app, tms_registrar;
