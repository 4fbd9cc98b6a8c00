-- The checks of rows that hold for any tables, made from the foreign keys and the tenant columns. One row's fault is one finding: a row
-- without a tenant is not also one whose parent is another tenant's, nor one whose parent is missing one of another tenant.
create or replace function audit.filter_of(p_relation oid)
returns text
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_policy record;
  v_all boolean := false;
  v_shows boolean;
begin
  if not row_security_active(p_relation) then
    return null;
  end if;
  for v_policy in
    select p.polname, p.polpermissive, pg_get_expr(p.polqual, p.polrelid) as condition,
      exists (
        select from pg_depend d
        where d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refobjid = p.polrelid and d.deptype = 'n') as of_rows
    from pg_policy p
    where p.polrelid = p_relation and p.polcmd in ('r', '*')
      and exists (select from unnest(p.polroles) r (role) where r.role = 0 or pg_has_role(r.role, 'usage'))
  loop
    v_shows := false;
    if not v_policy.of_rows then
      execute format('select %s', v_policy.condition) into v_shows;
    end if;
    if not v_policy.polpermissive and v_shows is not true then
      return format('the restrictive policy %I filters what %I reads', v_policy.polname, current_user);
    end if;
    v_all := v_all or v_policy.polpermissive and coalesce(v_shows, false);
  end loop;
  return case when not v_all then format('no policy shows %I every row', current_user) end;
end
$$;
comment on function audit.filter_of(oid) is
$$Why the current role would not see every row of a table; null when it would. A policy that looks at no column of the table shows all
rows or none, and is asked which.$$;

create or replace function audit.require_unfiltered(p_relation oid)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_filter constant text := audit.filter_of(p_relation);
begin
  if v_filter is not null then
    raise exception using errcode = 'insufficient_privilege', message = format('%s: %s', p_relation::regclass, v_filter),
      hint = 'The audit reads every row or none: its login needs BYPASSRLS, or a policy that shows it all.';
  end if;
end
$$;
comment on function audit.require_unfiltered(oid) is 'Raises 42501 where policies keep rows of a table from the current role.';

create or replace view audit.data_statements as
with tables as materialized (
  select * from audit.tables
), relations as materialized (
  -- key: an expression over a row c, its primary key as jsonb, or else its place.
  select r.relid, r.relation, r.relnamespace, coalesce((
    select format('jsonb_build_object(%s)', string_agg(format('%L, c.%I', a.attname, a.attname), ', ' order by a.attnum))
    from pg_index i
    join pg_attribute a on a.attrelid = i.indrelid and a.attnum = any ((i.indkey::int2[])[:i.indnkeyatts - 1])
    where i.indrelid = r.relid and i.indisprimary
    having count(*) > 0), 'jsonb_build_object(''ctid'', c.ctid)') as key
  from audit.relations r
), foreign_keys as materialized (
  select k.*, t.steps > 0 and t.parent = k.confrelid and t.tenant_by = k.columns as gives_tenant
  from audit.foreign_keys k
  left join tables t on t.relid = k.conrelid
), keys as materialized (
  select k.oid, k.conname, c.relid, c.relation, c.key, p.relation as parent, k.columns, k.parents,
    case when k.confrelid = f.tenants then 'tenant_missing' else 'parent_missing' end as missing,
    audit.key_condition(k.columns, k.parents, 'c', 'p') as whole,
    -- The key without the tenant, where it has the tenant: by it a row of another tenant is found.
    (select string_agg(audit.key_condition(array[k.columns[i]], array[k.parents[i]], 'c', 'o'), ' and ' order by i)
      from generate_subscripts(k.columns, 1) i
      where k.columns[i] is distinct from t.attname or k.parents[i] is distinct from m.attname) as rest,
    (select string_agg(format(', c.%I', k.columns[i]), '' order by i) from generate_subscripts(k.columns, 1) i
      where k.columns[i] is distinct from t.attname or k.parents[i] is distinct from m.attname) as rest_columns,
    exists (
      select from generate_subscripts(k.columns, 1) i where k.columns[i] = t.attname and k.parents[i] = m.attname) as paired,
    -- A child that has its tenant from this very parent has the same.
    t.relid is not null and m.relid is not null and k.confrelid is distinct from f.tenants and k.gives_tenant is not true as compared,
    case when t.relid is null then 'null::text' else format('(%s)::text', format(t.template, 'c')) end as tenant,
    format('(%s)::text', format(m.template, 'p')) as parent_tenant,
    format('(%s)::text', format(m.template, 'o')) as other_tenant,
    (select string_agg(format('c.%I is not null', x), ' and ') from unnest(k.columns) x) as set_columns
  from foreign_keys k
  cross join audit.profile f
  join relations c on c.relid = k.conrelid and c.relnamespace not in (select oid from pg_namespace where nspname = any (f.bookkeeping))
  join relations p on p.relid = k.confrelid
  left join tables t on t.relid = k.conrelid
  left join tables m on m.relid = k.confrelid
  where t.relid is not null or m.relid is not null
), columns as materialized (
  select c.*, y.key, p.tenants, p.tenant_key, x.relation as tenants_name, format(x.template, 'x') as tenant_in_x
  from tables c
  cross join audit.profile p
  join relations y on y.relid = c.relid
  left join tables x on x.relid = p.tenants
  where c.steps = 0 and c.relkind in ('r', 'p') and c.relid is distinct from p.tenants
    -- Its rows are read with its parent's.
    and not exists (select from pg_inherits i join tables o on o.relid = i.inhparent where i.inhrelid = c.relid)
), faults as (
  -- A key that has the tenant: no row has all of it; another tenant's may have the rest.
  select k.relid, k.relation, array[k.missing, 'parent_in_other_tenant'] as checks, k.conname::text as object, k.parent,
    -- In two steps, since Citus joins no row with those of other tenants before it has them here.
    format('with lost as materialized (select %1$s as "its tenant", %2$s as "its key"%3$s from %4$s c '
      'where %5$s and not exists (select from %6$s p where %7$s)), '
      'others as materialized (select c."its key", min(%8$s) as other from lost c join %6$s o on %9$s group by 1) '
      'select l."its tenant" as tenant, l."its key" as key, o.other from lost l left join others o using ("its key")',
      k.tenant, k.key, k.rest_columns, k.relation, k.set_columns, k.parent, k.whole, k.other_tenant, k.rest) as rows,
    format('%s and not exists (select from %s p where %s)', k.set_columns, k.parent, k.whole) as listed
  from keys k
  where k.compared and k.paired and k.rest is not null
  union all
  -- One that has not: the row is found, and asked whose it is.
  select k.relid, k.relation, array[k.missing, 'parent_in_other_tenant'], k.conname, k.parent,
    format('select %1$s as tenant, %2$s as key, %3$s as other from %4$s c left join %5$s p on %6$s '
      'where %7$s and (p.ctid is null or %1$s <> %3$s)',
      k.tenant, k.key, k.parent_tenant, k.relation, k.parent, k.whole, k.set_columns),
    format('%s and not exists (select from %s p where %s and %s is not distinct from %s)',
      k.set_columns, k.parent, k.whole, k.parent_tenant, k.tenant)
  from keys k
  where k.compared and not k.paired
  union all
  select k.relid, k.relation, array[k.missing, null], k.conname, k.parent,
    format('select %s as tenant, %s as key, null as other from %s c where %s and not exists (select from %s p where %s)',
      k.tenant, k.key, k.relation, k.set_columns, k.parent, k.whole),
    format('%s and not exists (select from %s p where %s)', k.set_columns, k.parent, k.whole)
  from keys k
  where not k.compared or k.paired and k.rest is null
  union all
  select c.relid, c.relation, array['tenant_missing', null], c.attname, c.tenants_name,
    format('select (%s)::text as tenant, %s as key, null as other from %s c where %s',
      format(c.template, 'c'), c.key, c.relation, x.condition), x.condition
  from columns c
  cross join lateral (
    select format('c.%1$I is not null and not exists (select from %2$s p where p.%3$I = c.%1$I)', c.attname, c.tenants_name, c.tenant_key)
      as condition) x
  where c.tenants is not null and not exists (
    select from foreign_keys k where k.conrelid = c.relid and k.confrelid = c.tenants and c.attname = any (k.columns))
  union all
  select c.relid, c.relation, array['no_tenant', null], c.attname, null,
    format('select null as tenant, %s as key, null as other from %s c where c.%I is null', c.key, c.relation, c.attname),
    format('c.%I is null', c.attname)
  from columns c
  -- From Postgres 18 on attnotnull is true of a NOT NULL that is not yet validated, too.
  where not c.attnotnull or exists (
    select from pg_constraint n
    where n.conrelid = c.relid and n.contype = 'n' and n.conkey = array[c.attnum] and not n.convalidated)
)
select f.relid, f.relation, f.checks, f.object, f.parent,
  format('select case when r.other is null then %L else %L end, r.tenant, count(*), min(r.key::text)::jsonb, min(r.other) from (%s) r '
    'group by r.other is null, r.tenant order by 2', f.checks[1], f.checks[2], f.rows) as statement,
  format('select c.* from %s c where %s;', f.relation, f.listed) as listing,
  -- What a tenant that is gone left behind is tenant_missing, and once.
  case when t.attname is null or p.tenants is null then 'true'
    else format('f.tenant is null or exists (select from %s x where (%s)::text = f.tenant)', t.tenants_name, t.tenant_in_x) end as unless
from faults f
cross join audit.profile p
left join columns t on t.relid = f.relid;
comment on view audit.data_statements is
$$The statements of the data checks, one for each key and column. Each returns check, tenant, number of rows, one row's key, and the other
tenant. listing shows the rows themselves.$$;

create or replace function audit.find_rows(s audit.data_statements)
returns table (
  "check" text, severity text, tenant_id text, relation text, "row" jsonb, detail text, remedy text, rows bigint)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
-- Few rows are expected to be at fault, and many may be: never a scan of the parents for each of them.
set enable_nestloop = off
set work_mem = '64MB'
as $$
begin
  perform audit.require_unfiltered(s.relid);
  return query execute format($f$
    select f.kind, 'error', f.tenant, %1$L::text, f.key, format('%%s: %%s', case f.kind
        when 'parent_in_other_tenant'
          then format('rows whose parent in %%s is of another tenant (%%s), by %%s', %2$L::text, f.other, %3$L::text)
        when 'parent_missing' then format('rows whose parent in %%s does not exist, by %%s', %2$L::text, %3$L::text)
        when 'tenant_missing' then format('rows of a tenant that does not exist, by %%s', %3$L::text)
        else format('rows whose %%s is null', %3$L::text) end, f.n), %4$L::text, f.n
    from (%5$s) f (kind, tenant, n, key, other)
    where f.kind <> 'parent_missing' or %6$s$f$, s.relation, s.parent, s.object, s.listing, s.statement, s.unless);
end
$$;
comment on function audit.find_rows(audit.data_statements) is
  'What one of the statements finds: a line for each tenant, with one of its rows.';
