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
