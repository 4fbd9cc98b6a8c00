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
