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
      ('app.invitations', 'value_unknown', $q$c.role is null or c.role not in ('owner', 'admin', 'member')$q$, false, null,
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
      ('app.tenants', 'value_unknown', $q$c.status is null or c.status not in ('pending', 'active', 'suspended', 'deleted')$q$, false, null,
        $q$'the status ' || coalesce(quote_literal(c.status), 'null') || ' is not pending, active, suspended or deleted'$q$),
      ('app.tenants', 'tenant_malformed', $q$c.slug is null or c.slug !~ '^[a-z0-9-]{1,255}$' or c.name is null or c.name !~
        '[^\u0001-\u0020\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f'
        '\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd'
        '\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'
        or char_length(c.name) > 255$q$, false, null,
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
