-- Rows for a database that has none, so that the proof has something to see: in the transaction of the audit, which is rolled back.
create or replace function audit.seeded_value(p_table audit.tables, p_column pg_attribute, p_tenant text, p_n int)
returns text
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select case
    when p_column.attname = p_table.attname and p_tenant is not null then quote_literal(p_tenant)
    -- The first that a CHECK names: often it is a list of what the column may hold.
    when c.example is not null then quote_literal(c.example)
    when y.typtype = 'e' then (select quote_literal(enumlabel) from pg_enum where enumtypid = y.oid order by enumsortorder limit 1)
    when y.typcategory = 'S' then quote_literal(left(md5(random()::text),
      case when p_column.atttypmod > 4 then p_column.atttypmod - 4 else 32 end))
    when y.typcategory = 'N' then p_n::text
    when y.typcategory = 'B' then 'false'
    when y.typcategory = 'D' then 'pg_catalog.now()'
    when y.typcategory = 'T' then quote_literal('1 day')
    when y.typcategory = 'I' then quote_literal('127.0.0.1')
    when y.typcategory = 'R' then quote_literal('empty')
    when y.typcategory = 'A' then quote_literal('{}')
    when y.typname = 'uuid' then 'pg_catalog.gen_random_uuid()'
    when y.typname in ('json', 'jsonb') then quote_literal('{}')
    when y.typname = 'bytea' then quote_literal('\x' || md5(random()::text) || md5(random()::text)) end
  from pg_type t
  join pg_type y on y.oid = case when t.typtype = 'd' then t.typbasetype else t.oid end
  left join lateral (
    select substring(pg_get_constraintdef(k.oid) from '''([^'']+)''') as example
    from pg_constraint k
    where k.conrelid = p_table.relid and k.contype = 'c' and k.conkey = array[p_column.attnum]
      and pg_get_constraintdef(k.oid) ~ '= ANY|= ''' order by k.conname limit 1) c on true
  where t.oid = p_column.atttypid
$$;
comment on function audit.seeded_value(audit.tables, pg_attribute, text, int) is 'An expression for a value that a column may take.';

create or replace function audit.seeded_insert(p_table audit.tables, p_tenant text, p_n int)
returns text
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  with keys as (
    select k.columns, k.parents, r.relation,
      case when m.relid is null then 'true' else format('(%s)::text = %L', format(m.template, 'p'), p_tenant) end as of_tenant,
      row_number() over (order by cardinality(k.columns) desc, k.oid) as n
    from audit.foreign_keys k
    join audit.relations r on r.relid = k.confrelid
    left join audit.tables m on m.relid = k.confrelid
    where k.conrelid = p_table.relid and k.confrelid <> k.conrelid
  ), columns as (
    select a.attname, a.attnum, coalesce(
      (select format('f%s.%I', k.n, k.parents[array_position(k.columns, a.attname)])
        from keys k where a.attname = any (k.columns) and a.attname is distinct from p_table.attname order by k.n limit 1),
      audit.seeded_value(p_table, a, p_tenant, p_n)) as value
    from pg_attribute a
    where a.attrelid = p_table.relid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attidentity = ''
      and (a.attname = any (p_table.tenant_by) or a.attnotnull and not a.atthasdef
        or exists (select from keys k where a.attname = any (k.columns) and p_table.attname is distinct from a.attname and a.attnotnull))
  )
  select format('insert into %s (%s) select %s from (select) one%s', p_table.relation,
    (select string_agg(quote_ident(attname), ', ' order by attnum) from columns),
    (select string_agg(coalesce(value, 'null'), ', ' order by attnum) from columns),
    (select string_agg(format(' left join lateral (select * from %s p where %s limit 1) f%s on true', relation,
      of_tenant, n), '' order by n) from keys))
$$;
comment on function audit.seeded_insert(audit.tables, text, int) is
  'An INSERT of one row of a tenant: parents are rows of the same tenant, other columns have a value of their type.';

create or replace function audit.seed(p_rows int default 2)
returns table (relation text, rows int, failure text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_role constant text := current_setting('session_replication_role');
  v_left audit.tables[];
  v_tenants text[];
  v_seeded boolean;
  t audit.tables;
begin
  v_left := array(select x from audit.tables x where x.relkind in ('r', 'p') and not x.relispartition);
  -- Neither triggers nor foreign keys: in their order each parent is there.
  perform set_config('session_replication_role', 'replica', true);
  while v_left <> '{}' loop
    -- The next whose parents are done; in a ring of tables that need each other, the first.
    select x.* into t
    from unnest(v_left) x
    cross join audit.profile p
    order by exists (
      select from audit.foreign_keys k
      where k.conrelid = x.relid and k.required and k.confrelid <> k.conrelid and k.confrelid in (select y.relid from unnest(v_left) y)),
      x.relid is distinct from p.tenants, x.relation
    limit 1;
    v_left := array(select y from unnest(v_left) y where y.relid <> t.relid);
    relation := t.relation;
    rows := 0;
    failure := null;
    execute format('select exists (select from %s)', t.relation) into v_seeded;
    for i in 1 .. case when v_seeded then 0 when v_tenants is null then 1 else p_rows end loop
      for j in 1 .. coalesce(cardinality(v_tenants), 2) loop
        begin
          execute audit.seeded_insert(t, v_tenants[j], i + j);
          rows := rows + 1;
        exception when others then
          failure := sqlerrm;
        end;
      end loop;
    end loop;
    if t.relid = (select tenants from audit.profile) then
      execute format('select array_agg(x) from (select (%s)::text as x from %s t limit 2) y', t.tenant, t.relation) into v_tenants;
    end if;
    if not v_seeded then
      return next;
    end if;
  end loop;
  perform set_config('session_replication_role', v_role, true);
end
$$;
comment on function audit.seed(int) is
$$Inserts rows of two tenants into each table that has none, so that a pipeline can prove an empty database: in a transaction that is
rolled back, first select * from audit.seed(), then select * from audit.run_once(). Needs the right to set session_replication_role.
failure: why a table has no rows.$$;
