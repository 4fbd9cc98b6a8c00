create or replace function audit.hash_of(p_catalog regclass, p_object oid)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
return (
  select encode(sha256(convert_to(d.definition, 'UTF8')), 'hex')
  from (
    select concat_ws('|', f.oid::regprocedure, case when f.prokind = 'a' then a::text else pg_get_functiondef(f.oid) end,
      f.proowner::regrole, (select string_agg(x::text, ',' order by x::text) from unnest(f.proacl) x))
    from pg_proc f left join pg_aggregate a on a.aggfnoid = f.oid
    where p_catalog = 'pg_proc'::regclass and f.oid = p_object
    union all
    select concat_ws('|', c.oid::regclass, c.relkind, c.relowner::regrole, c.relrowsecurity, c.relforcerowsecurity, c.reloptions,
      (select string_agg(x::text, ',' order by x::text) from unnest(c.relacl) x),
      (select string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attacl, pg_get_expr(adbin, adrelid)), ','
          order by attnum)
        from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
        where attrelid = c.oid and attnum > 0 and not attisdropped),
      (select string_agg(pg_get_indexdef(indexrelid), ',' order by indexrelid::regclass::text) from pg_index where indrelid = c.oid),
      (select string_agg(concat_ws(' ', conname, pg_get_constraintdef(oid)), ',' order by conname)
        from pg_constraint where conrelid = c.oid),
      (select string_agg(concat_ws(' ', pg_get_triggerdef(oid), tgenabled), ',' order by tgname)
        from pg_trigger where tgrelid = c.oid and not tgisinternal),
      (select string_agg(concat_ws(' ', polname, polpermissive, polcmd, polroles::regrole[], pg_get_expr(polqual, polrelid),
          pg_get_expr(polwithcheck, polrelid)), ',' order by polname) from pg_policy where polrelid = c.oid),
      (select string_agg(pg_get_ruledef(oid), ',' order by rulename) from pg_rewrite where ev_class = c.oid))
    from pg_class c
    where p_catalog = 'pg_class'::regclass and c.oid = p_object
    union all
    select pg_get_indexdef(indexrelid) from pg_index where p_catalog = 'pg_index'::regclass and indexrelid = p_object) d (definition));
comment on function audit.hash_of(regclass, oid) is
$$A hash of all that makes a function, a relation or an index what it is, its owner and privileges too:
audit.hash_of('pg_proc', 'app.f(int)'::regprocedure).
When anything of it changes, the hash does, and nobody vouches for it any more.$$;

create or replace view audit.vouched_functions as
with named as materialized ( -- to_regprocedure() would need USAGE on the schema
  select oid, oid::regprocedure::text as name from pg_proc where oid >= 16384 or prosecdef
)
select f.oid
from named f
join audit.vouched v on v.kind = 'function' and v.object = f.name
where v.hash is null or v.hash = audit.hash_of('pg_proc', f.oid);
comment on view audit.vouched_functions is
  'The functions that the repository''s file or the release''s manifest vouches for, as they are now.';
