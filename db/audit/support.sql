create or replace view audit.sources as
with recursive reads as (
  select r.ev_class as relid, d.refobjid as source
  from pg_rewrite r
  join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
  where r.ev_type = '1' and d.refclassid = 'pg_class'::regclass and d.refobjid <> r.ev_class
  union
  select w.relid, d.refobjid
  from reads w
  join pg_rewrite r on r.ev_class = w.source and r.ev_type = '1'
  join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
  where d.refclassid = 'pg_class'::regclass and d.refobjid <> r.ev_class
)
select relid, source from reads;
comment on view audit.sources is 'The relations that each view reads, itself or through other views.';

create or replace function audit.is_invoker(p_options text[])
returns boolean
language sql
immutable
return (select coalesce(bool_or(option_value::boolean), false) from pg_options_to_table(p_options) where option_name = 'security_invoker');
comment on function audit.is_invoker(text[]) is 'Whether a view with these options asks policies for its reader, and not for its owner.';

create or replace function audit.commented(p_text text)
returns text
language sql
immutable
return regexp_replace(p_text, '^', '-- ', 'gn');
comment on function audit.commented(text) is
  'A text as a comment of SQL, each line of it: what a remedy shows and is not to be executed as it is.';

create or replace function audit.names_of_roles(p_roles oid[])
returns text
language sql
stable
return (
  select string_agg(coalesce(quote_ident(r.rolname), 'public'), ', ' order by r.rolname)
  from unnest(p_roles) x
  left join pg_roles r on r.oid = x);
comment on function audit.names_of_roles(oid[]) is 'Roles as GRANT and REVOKE name them; 0 is public.';

create or replace view audit.function_uses as
select g.tgfoid as oid, format('trigger %I on %s', g.tgname, g.tgrelid::regclass) as used_by,
  exists (
    select from audit.foreign_keys k cross join audit.profile p
    where k.conrelid = g.tgrelid and k.confrelid is distinct from p.tenants
      and (k.confdeltype = 'c' and g.tgtype & 8 > 0 -- fires on DELETE
        or (k.confdeltype in ('n', 'd') or k.confupdtype in ('c', 'n', 'd')) and g.tgtype & 16 > 0)) as past_policies -- on UPDATE
from pg_trigger g
where not g.tgisinternal
union all
select e.evtfoid, format('event trigger %I', e.evtname), e.evtevent = 'login' from pg_event_trigger e where e.evtenabled <> 'D'
union all
select d.refobjid, pg_describe_object(d.classid, d.objid, 0), false
from pg_depend d
where d.refclassid = 'pg_proc'::regclass and d.deptype <> 'e' and d.classid not in ('pg_trigger'::regclass, 'pg_event_trigger'::regclass);
comment on view audit.function_uses is
$$What executes each function by itself: triggers, event triggers, policies, views, defaults, checks, indexes, operators, other functions.
past_policies: a foreign key's action executes it on the rows that it reaches, as their owner and past the policies; or every login
does.$$;

create or replace view audit.unvouched as
select f.oid, f.proowner, f.prosecdef, f.proconfig, f.prosqlbody, l.lanname in ('c', 'internal') as is_native
from pg_proc f
join pg_language l on l.oid = f.prolang
join pg_namespace n on n.oid = f.pronamespace
where n.nspname !~ '^pg_(temp|toast)' and (f.oid >= 16384 or f.prosecdef)
  and f.oid not in (select oid from audit.vouched_functions)
  -- A range's own constructors come with the type.
  and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'i')
  and not exists (
    select from pg_depend d join pg_extension e on e.oid = d.refobjid
    where d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'e' and not f.prosecdef and f.proowner in (e.extowner, 10));
comment on view audit.unvouched is
$$The functions that neither the repository's file nor the release's manifest vouches for. An extension's author does for its functions;
not for a definer, nor for a function that somebody else put into the extension.$$;

create or replace function audit.key_with_tenant(p_key oid, p_tenant name, p_parent_tenant name)
returns text
language sql
stable
return (
  select format(E'-- was: %s\n', pg_get_constraintdef(k.oid))
    || case when p_tenant = any (k.columns) and not b.carries
        then '-- its columns pair the tenant with another column: say what it means first'
      else concat(case when not u.is_unique then format(E'alter table %s add unique (%s);\n', k.confrelid::regclass, b.parents) end,
        format('alter table %s add constraint %I foreign key (%s) references %s (%s)', k.conrelid::regclass,
          left(k.conname, 54) || '_tenant', b.columns, k.confrelid::regclass, b.parents),
        case k.confdeltype when 'c' then ' on delete cascade' when 'r' then ' on delete restrict'
          when 'n' then format(' on delete set null (%s)', b.own) when 'd' then format(' on delete set default (%s)', b.own) end,
        case k.confupdtype when 'c' then ' on update cascade' when 'r' then ' on update restrict' end,
        case when c.condeferrable then ' deferrable' end, case when c.condeferred then ' initially deferred' end,
        format(', drop constraint %I;', k.conname)) end
  from audit.foreign_keys k
  join pg_constraint c on c.oid = k.oid
  cross join lateral (
    select bool_or(x.child = p_tenant and x.parent = p_parent_tenant) as carries, array_agg(x.parent) as all_parents,
      string_agg(quote_ident(x.child), ', ' order by x.n) as columns, string_agg(quote_ident(x.parent), ', ' order by x.n) as parents,
      string_agg(quote_ident(x.child), ', ' order by x.n) filter (where x.child <> p_tenant) as own
    from (select p_tenant as child, p_parent_tenant as parent, 0 as n where p_tenant <> all (k.columns)
      union all select k.columns[i], k.parents[i], i from generate_subscripts(k.columns, 1) i) x) b
  cross join lateral (
    select exists (
      select from pg_index i
      where i.indrelid = k.confrelid and i.indisunique and i.indimmediate and i.indisvalid and i.indpred is null
        and (select array_agg(a.attname order by a.attname) from pg_attribute a
          where a.attrelid = i.indrelid and a.attnum = any ((i.indkey::int2[])[:i.indnkeyatts - 1]))
          = (select array_agg(x order by x) from unnest(b.all_parents) x)) as is_unique) u
  where k.oid = p_key);
comment on function audit.key_with_tenant(oid, name, name) is
  'Statements that put a foreign key with the tenant on both sides in place of one without; the last does both, so that none is missing.';

create or replace function audit.condition_of(p_key jsonb)
returns text
language sql
immutable
return (select string_agg(format('%I = %L', k.key, k.value), ' and ') from jsonb_each_text(p_key) k);
comment on function audit.condition_of(jsonb) is 'The WHERE of a remedy that means the row with this key.';

create or replace view audit.executed as
select f.oid, string_agg(q.rolname, ', ' order by q.rolname) as roles
from pg_proc f
join audit.request_roles q on has_function_privilege(q.oid, f.oid, 'execute') and has_schema_privilege(q.oid, f.pronamespace, 'usage')
where f.oid >= 16384 or f.prosecdef
group by f.oid;
comment on view audit.executed is 'The functions that request roles may execute, Postgres''s own left out, and which of them may.';
