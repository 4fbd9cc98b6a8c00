-- What a profile of this database could be, as far as the catalog says it. A person reads it and corrects it.
create or replace view audit.likely_tenants as
with children as (
  select k.confrelid as relid, k.parents[1] as key, k.columns[1] as "column", k.conrelid as child
  from audit.foreign_keys k
  where cardinality(k.columns) = 1 and k.confrelid <> k.conrelid
), keys as (
  -- Also a table that nothing refers to, if it is named like one.
  select i.indrelid as relid, a.attname as key, null::name as "column", null::oid as child
  from pg_index i
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
  where i.indisprimary and i.indnatts = 1
  union all
  select * from children
)
select r.relid, r.relation, k.key, count(distinct k.child) as children
from keys k
join audit.relations r on r.relid = k.relid and r.relkind in ('r', 'p')
join pg_class c on c.oid = r.relid
cross join lateral (
  select c.relname ~* '^_?(tenant|team|org|organi[sz]ation|account|workspace|company|companie|customer)s?$' as named,
    rtrim(replace(lower(c.relname), '_', ''), 's') as singular) n
where n.named or k."column" ~* '(tenant|team|org|account|workspace|company|customer|store|shop|project)'
group by r.relid, r.relation, k.key, n.named
order by count(distinct k.child) filter (where strpos(replace(lower(k."column"), '_', ''), n.singular) > 0)
  + case when n.named then 1 + 3 * count(distinct k.child) else 0 end desc, r.relation;
comment on view audit.likely_tenants is
  'Tables that could be the tenants'' table, the likeliest first: named like an organization, and many tables refer to it by such names.';

create or replace function audit.likely_columns(p_tenants oid, p_key name)
returns name[]
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with referring as (
    select a.attname, count(distinct a.attrelid) as n
    from audit.foreign_keys k
    join pg_attribute a on a.attrelid = k.conrelid and a.attnum = any (k.conkey)
    where k.confrelid = p_tenants and cardinality(k.conkey) = 1 and k.conrelid <> p_tenants
    group by a.attname
    having count(distinct a.attrelid) > 1 or a.attname ~* '(tenant|team|org|account|workspace|company|customer)'
  ), alike as (
    -- The same name in another spelling, and where nothing refers, the usual names.
    select a.attname, 0 as n
    from audit.relations r
    join pg_attribute a on a.attrelid = r.relid and a.attnum > 0 and not a.attisdropped
    where r.relkind in ('r', 'p') and a.attname not in (select attname from referring)
      and (lower(replace(a.attname, '_', '')) in (select lower(replace(attname, '_', '')) from referring)
          and a.atttypid in (select atttypid from pg_attribute where attrelid = p_tenants and attname = p_key)
        or not exists (select from referring)
          and a.attname ~* '^(tenant|team|org|organi[sz]ation|account|workspace|company|customer)_?id$')
    group by a.attname
  )
  select coalesce(array_agg(attname order by n desc, attname), '{}') from (select * from referring union all select * from alike) x
$$;
comment on function audit.likely_columns(oid, name) is
  'Names of columns that say whose a row is: those that refer to the tenants'' table, the commonest first.';

create or replace view audit.asked_by_policies as
with recursive policies as (
  select p.oid, p.polrelid, p.polroles, concat_ws(' ', pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)) as text
  from pg_policy p
  join audit.relations r on r.relid = p.polrelid
), functions as (
  select f.oid, f.proname || '(' as call, concat(f.prosrc, pg_get_function_sqlbody(f.oid)) as body
  from pg_proc f
  join pg_namespace n on n.oid = f.pronamespace
  where f.prokind = 'f' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
), asked as (
  select p.oid, null::oid as function, p.text from policies p
  union
  select a.oid, f.oid, f.body from asked a
  join functions f on strpos(a.text, f.call) > 0
    and a.text ~ ('(^|[^[:alnum:]_])' || regexp_replace(f.call, '\W', '\\\&', 'g')) -- a whole name
)
select p.oid, p.polrelid, p.polroles, string_agg(a.text, ' ') as text
from policies p
join asked a on a.oid = p.oid
group by p.oid, p.polrelid, p.polroles;
comment on view audit.asked_by_policies is
  'Each policy''s text, and with it the bodies of the functions that it seems to call, and that these seem to call.';

create or replace function audit.likely_membership(p_tenants oid)
returns table (relation text, tenant_column name, user_column name)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select r.relation, k.columns[1], u.columns[1]
  from audit.foreign_keys k
  join audit.relations r on r.relid = k.conrelid
  join audit.foreign_keys u on u.conrelid = k.conrelid and cardinality(u.columns) = 1
  join audit.relations p on p.relid = u.confrelid and p.relation ~* 'user|profile|member|person|people'
  where k.confrelid = p_tenants and cardinality(k.columns) = 1 and k.required and u.required
  order by r.relation ~* 'member|user|_on_' desc,
    (select count(*) from pg_attribute a where a.attrelid = k.conrelid and a.attnum > 0), r.relation
  limit 1
$$;
comment on function audit.likely_membership(oid) is
  'The table that says which user belongs to which tenant: a key to each, and few columns more.';

create or replace function audit.likely_principals(p_tenants oid, p_key name, p_roles name[])
returns text
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenants constant text := (select r.relation from audit.relations r where r.relid = p_tenants);
  v_asked constant text := (select string_agg(a.text, ' ') from audit.asked_by_policies a);
  v_settings constant text[] := array(
    select s.name
    from (select distinct m[1] as name from regexp_matches(v_asked, $r$current_setting\('([^']+)'$r$, 'g') m) s
    where s.name not in ('role', 'search_path', 'is_superuser')
    order by s.name ~* '(tenant|org|team|account|workspace|company)' desc, s.name ~* 'claims$' desc, s.name ~* 'jwt|claims' desc,
      s.name ~* 'user' desc, s.name);
  -- As the role that policies name, or else the first.
  v_role constant name := (
    select r from unnest(p_roles) with ordinality u (r, i)
    order by exists (select from audit.asked_by_policies a where (select oid from pg_roles where rolname = r) = any (a.polroles)) desc,
      r <> 'anon' desc, i limit 1);
  v_enter constant text := 'set local role ' || quote_ident(v_role);
  v_role_column name;
  v_membership record;
  v_stranger text;
  v_query text;
begin
  if v_tenants is null or v_role is null then
    return null;
  end if;
  select * into v_membership from audit.likely_membership(p_tenants);
  select a.attname into v_role_column
  from pg_attribute a
  where a.attrelid = p_tenants and a.attnum > 0 and v_asked ~* format('\m%s\M\)?[^=]{0,12}= *\(?[^=]{0,12}(current_user|session_user)'
    '|(current_user|session_user)[^=]{0,12}= *[^=]{0,12}\m%1$s\M', regexp_replace(a.attname, '\W', '.', 'g'))
  limit 1;
  v_stranger := case (select format_type(atttypid, null) from pg_attribute where attrelid = p_tenants and attname = p_key)
    when 'uuid' then 'gen_random_uuid()' when 'text' then quote_literal('no such tenant') else quote_literal('-1') end;

  v_query := case
    when v_role_column is not null then format(
      'select %1$I::text, array[format(''set local role %%I'', %2$I)], array[%1$I::text] from %3$s where %2$I is not null',
      p_key, v_role_column, v_tenants)
    when v_settings[1] ~* 'jwt|claims' and v_membership.relation is not null then format(
      'select m.%1$I::text, array[%2$L, format(''set local %3$s = %%L'', json_build_object(''sub'', m.%1$I, ''role'', %4$L))], '
      'array_agg(m.%5$I::text) from %6$s m group by m.%1$I union all select ''a stranger'', array[%2$L, format(''set local %3$s = %%L'', '
      'json_build_object(''sub'', gen_random_uuid(), ''role'', %4$L))], ''{}''',
      v_membership.user_column, v_enter, v_settings[1], v_role, v_membership.tenant_column, v_membership.relation)
    when v_settings[1] ~* 'user' and v_membership.relation is not null then format(
      'select m.%1$I::text, array[%2$L, format(''set local %3$s = %%L'', m.%1$I)], array_agg(m.%4$I::text) from %5$s m group by m.%1$I',
      v_membership.user_column, v_enter, v_settings[1], v_membership.tenant_column, v_membership.relation)
    when v_settings[1] is not null then format(
      'select t.%1$I::text, array[%2$L, format(''set local %3$s = %%L'', t.%1$I)], array[t.%1$I::text] from %4$s t '
      'union all select ''a tenant that does not exist'', array[%2$L, format(''set local %3$s = %%L'', %5$s)], ''{}''',
      p_key, v_enter, v_settings[1], v_tenants, v_stranger)
    -- Nothing asks for whom a session acts: the role itself is every tenant's.
    else format('select t.%1$I::text, array[%2$L], array[t.%1$I::text] from %3$s t', p_key, v_enter, v_tenants) end;
  -- And each role without anything that says for whom it acts.
  return v_query || coalesce((
    select string_agg(format(' union all select %L, array[%L], ''{}''', 'nobody, as ' || r, format('set local role %I', r)), '')
    from unnest(p_roles) r
    where v_role_column is null or not exists (select from pg_roles where rolname = r and rolcanlogin)), '');
end
$$;
comment on function audit.likely_principals(oid, name, name[]) is
$$The query of principals, by what policies ask for: the current user, whom a column of the tenants' table names; claims of a token, or a
user, with a membership table; or a setting that holds the tenant.$$;

create or replace function audit.propose(p_roles name[] default null)
returns jsonb
language plpgsql
stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_tenants record;
  v_columns name[];
  v_sees_all name[];
  v_roles name[];
begin
  select * into v_tenants from audit.likely_tenants limit 1;
  v_columns := audit.likely_columns(v_tenants.relid, v_tenants.key);
  -- Roles of which policies always say true, and never ask anything.
  v_sees_all := array(
    select r.rolname
    from pg_roles r
    join pg_policy p on r.oid = any (p.polroles)
    group by r.rolname
    having bool_and(p.polpermissive and coalesce(pg_get_expr(p.polqual, p.polrelid), 'true') = 'true'));
  v_roles := coalesce(p_roles, array(
    select r.rolname
    from pg_roles r
    where not r.rolsuper and not r.rolbypassrls and r.rolname !~ '^pg_' and r.rolname <> all (v_sees_all)
      and not exists (select from audit.relations o where o.relowner = r.oid)
      and exists (
        select from audit.relations t
        where t.relkind in ('r', 'p') and has_schema_privilege(r.oid, t.relnamespace, 'usage')
          and has_any_column_privilege(r.oid, t.relid, 'select')
          and (t.relid = v_tenants.relid
            or exists (select from pg_attribute a where a.attrelid = t.relid and a.attname = any (v_columns) and not a.attisdropped)))
    order by r.rolname));
  -- Where nobody else may, requests act as the owner itself.
  if v_roles = '{}' then
    v_roles := array(
      select r.rolname from audit.relations t join pg_roles r on r.oid = t.relowner
      where t.relid = v_tenants.relid and r.rolcanlogin and not r.rolsuper);
  end if;
  return jsonb_build_object(
    'tenants', v_tenants.relation, 'tenant_key', v_tenants.key, 'tenant_columns', to_jsonb(v_columns), 'per_table', '{}'::jsonb,
    'bookkeeping', '[]'::jsonb, 'request_roles', to_jsonb(v_roles),
    'principals', audit.likely_principals(v_tenants.relid, v_tenants.key, v_roles),
    'sees_all', to_jsonb(v_sees_all),
    'trusted_owners', (
      select coalesce(jsonb_agg(distinct o.rolname), '[]') from audit.relations r join pg_roles o on o.oid = r.relowner
      where o.rolname <> all (v_roles)),
    -- A policy that looks at more of a row than whose it is.
    'sees_less', exists (
      select from pg_policy p
      join pg_depend d on d.classid = 'pg_policy'::regclass and d.objid = p.oid and d.refobjid = p.polrelid and d.refobjsubid > 0
      join pg_attribute a on a.attrelid = d.refobjid and a.attnum = d.refobjsubid
      where p.polcmd in ('r', '*') and a.attname <> all (v_columns) and (p.polrelid <> v_tenants.relid or a.attname <> v_tenants.key)
        and exists (select from audit.relations r where r.relid = p.polrelid)),
    'isolate', null, 'extra_checks', '[]'::jsonb);
end
$$;
comment on function audit.propose(name[]) is
$$A profile as the catalog suggests it; no row is read. Read it before you believe it: select jsonb_pretty(audit.propose()).
p_roles: the roles that requests act as, where you know them.$$;

create or replace function audit.profile_faults(p_profile jsonb)
returns table (fault text)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
  v_tenants constant oid := to_regclass(p_profile ->> 'tenants');
  v_known constant name[] := array(
    select attname from pg_attribute where attrelid = 'audit.profile'::regclass and attnum > 0 and attname <> 'one');
begin
  return query
    select format('%s is none of %s', k, array_to_string(v_known, ', ')) from jsonb_object_keys(p_profile) k where k <> all (v_known)
    union all
    select format('%s is missing', k) from unnest('{request_roles,principals}'::text[]) k where p_profile ->> k is null
    union all
    select format('tenants: there is no table %s', p_profile ->> 'tenants') where p_profile ->> 'tenants' is not null and v_tenants is null
    union all
    select format('tenant_key: %s has no column %s', p_profile ->> 'tenants', p_profile ->> 'tenant_key')
    where v_tenants is not null and not exists (
      select from pg_attribute where attrelid = v_tenants and attname = p_profile ->> 'tenant_key' and not attisdropped)
    union all
    select format('%s must be a list', k)
    from unnest('{tenant_columns,bookkeeping,request_roles,sees_all,trusted_owners,extra_checks}'::text[]) k
    where jsonb_typeof(p_profile -> k) not in ('array', 'null')
    union all
    select format('per_table: %s', case
      when r.relid is null then format('there is no relation %s (name its schema, and quote as SQL does)', e.key)
      else format('%s has no column %s', e.key, e.value) end)
    from jsonb_each_text(case when jsonb_typeof(p_profile -> 'per_table') = 'object' then p_profile -> 'per_table' else '{}' end) e
    left join audit.relations r on r.relation = e.key
    where r.relid is null or e.value is not null and not exists (
      select from pg_attribute where attrelid = r.relid and attname = e.value and attnum > 0 and not attisdropped)
    union all
    select format('%s: there is no role %s', l.key, x.name)
    from (values ('request_roles'), ('sees_all'), ('trusted_owners')) l (key)
    cross join lateral jsonb_array_elements_text(
      case when jsonb_typeof(p_profile -> l.key) = 'array' then p_profile -> l.key else '[]' end) x (name)
    where not exists (select from pg_roles where rolname = x.name)
    union all
    select format('%s: there is no schema %s', l.key, x.name)
    from (values ('bookkeeping'), ('extra_checks')) l (key)
    cross join lateral jsonb_array_elements_text(
      case when jsonb_typeof(p_profile -> l.key) = 'array' then p_profile -> l.key else '[]' end) x (name)
    where not exists (select from pg_namespace where nspname = x.name);
end
$$;
comment on function audit.profile_faults(jsonb) is 'What is wrong with a profile, all at once.';

create or replace function audit.load_profile(p_profile jsonb)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_faults constant text := (select string_agg(f.fault, '; ') from audit.profile_faults(p_profile) f);
begin
  if v_faults is not null then
    raise exception using errcode = 'invalid_parameter_value', message = v_faults;
  end if;
  begin
    execute format('select q.principal::text, q.enter::text[], q.tenants::text[] from (%s) q (principal, enter, tenants) limit 0',
      p_profile ->> 'principals');
  exception when others then
    raise exception using errcode = 'invalid_parameter_value', message = 'principals: ' || sqlerrm,
      hint = 'It is a query of principal text, enter text[], tenants text[]; it names tables with their schema.';
  end;
  delete from audit.profile;
  insert into audit.profile
  select true, p.tenants, p.tenant_key, coalesce(p.tenant_columns, '{}'), coalesce(p.per_table, '{}'), coalesce(p.bookkeeping, '{}'),
    p.request_roles, p.principals, coalesce(p.sees_all, '{}'), coalesce(p.trusted_owners, '{}'), coalesce(p.sees_less, false), p.isolate,
    coalesce(p.extra_checks, '{}')
  from jsonb_populate_record(null::audit.profile, p_profile) p;
end
$$;
comment on function audit.load_profile(jsonb) is
  'Stores a profile: what audit.propose() returns, as a person corrected it. Raises 22023 with all that is wrong with it.';
