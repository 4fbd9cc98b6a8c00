-- What is used is followed through a hash table, which is made as large as memory allows: with the audit's own, clearing it takes most of the time.
create or replace function audit.check_function_owner()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
set work_mem = '4MB'
as $$
  with lent as materialized (
    select * from audit.lent_relations()
  ), examined as materialized (
    select * from audit.functions()
  )
  select 'error', null::uuid, f.name, '{}'::jsonb,
    case when f.owner <> all (case f.schema when 'api' then array['tms_app', 'tms_registrar'] when 'app' then array['tms_owner', 'tms_app', 'tms_registrar']
                              when 'audit' then array['tms_owner'] else array['tms_owner', 'tms_app', 'tms_auditor'] end)
      then format('%s owns the function, so that it runs with rights that no policy was written for', f.owner) end,
    format(case when o.owner <> 'tms_owner' and f.owner = 'tms_owner'
             then 'grant create on schema %1$s to %3$s; alter routine %2$s owner to %3$s; revoke create on schema %1$s from %3$s;'
             else 'alter routine %2$s owner to %3$s;' end, f.schema, f.name, o.owner)
  from examined f
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name
  left join audit.accepted a on a.kind = 'function' and a.name = f.name
  cross join lateral (select coalesce(m.owner, a.owner, case when f.schema = 'api' then 'tms_app' else 'tms_owner' end)) o (owner)
  where f.own
  union all
  -- What a row is made and tested with runs as whoever writes it; in a policy, or a view, as who reads it, in statistics as the table's owner.
  -- Followed for all tables at once: for one at a time the planner would expect as many rows, and clear a table of their size, for each.
  select case when c.kind = 'type' then 'warning' else 'error' end, null, r.relid::text, case when c.name is null then '{}' else jsonb_build_object('uses', c.name) end,
    case when audit.is_stranger(c.owner)
      then format(case when c.kind = 'type' then 'columns there are of the type %s, which belongs to %s: it makes the casts that run when they are read, and drops it together with them'
        when r.lent then 'what requests read there, or write, calls %s, which belongs to %s: it runs with the rights of the request, whatever its tenant'
        else 'what is written to the table is made or tested by %s, which belongs to %s: it runs with the rights of whoever writes' end, c.name, c.owner::regrole) end,
    format('alter %s %s owner to tms_owner; -- as its owner, or as a superuser, who gives that one what it needs of it; and read what it does', c.kind, c.name)
      || case when r.lent then format('. Or: revoke all on table %s from tms_app, tms_registrar, tms_service;', r.relid) else '' end
  from (select relid, false as lent from audit.relations() union all select relid, true from lent) r
  left join (
    with recursive used (relid, classid, objid) as (
      select t.relid, x.* from (select relid, true as written from audit.relations() union all select relid, written from lent) t cross join lateral (
        -- Who only reads has a view do something, or a policy.
        select 'pg_rewrite'::regclass::oid, oid from pg_rewrite where ev_class = t.relid
        union all
        select 'pg_policy'::regclass, oid from pg_policy where polrelid = t.relid
        union all
        select w.* from (
          select 'pg_class'::regclass::oid, t.relid::oid -- the types of columns, the key of partitions
          union all
          select 'pg_attrdef'::regclass, oid from pg_attrdef where adrelid = t.relid
          union all
          select 'pg_constraint'::regclass, oid from pg_constraint where conrelid = t.relid
          union all
          select 'pg_trigger'::regclass, oid from pg_trigger where tgrelid = t.relid
          union all
          select 'pg_class'::regclass, indexrelid from pg_index where indrelid = t.relid
          union all
          select 'pg_statistic_ext'::regclass, oid from pg_statistic_ext where stxrelid = t.relid) w
        where t.written
      ) x
      union
      -- And what these use: an operator's function, those of an index's operators, a domain's tests, what a domain, an array or a composite type is of, and
      -- the views that a view reads.
      select u.relid, n.* from used u cross join lateral (
        select d.refclassid, d.refobjid from pg_depend d
        where d.classid = u.classid and d.objid = u.objid and d.refobjid >= 16384
          and (d.refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass, 'pg_opclass'::regclass)
            or d.refclassid = 'pg_class'::regclass and d.classid = 'pg_rewrite'::regclass)
        union all
        select 'pg_rewrite'::regclass, w.oid from pg_rewrite w join pg_class v on v.oid = w.ev_class and v.relkind = 'v' where u.classid = 'pg_class'::regclass and w.ev_class = u.objid
        union all
        select 'pg_proc'::regclass, a.amproc from pg_opclass o join pg_amproc a on a.amprocfamily = o.opcfamily
        where u.classid = 'pg_opclass'::regclass and o.oid = u.objid and a.amproc >= 16384
        union all
        select 'pg_operator'::regclass, a.amopopr from pg_opclass o join pg_amop a on a.amopfamily = o.opcfamily
        where u.classid = 'pg_opclass'::regclass and o.oid = u.objid and a.amopopr >= 16384
        union all
        select 'pg_constraint'::regclass, oid from pg_constraint where u.classid = 'pg_type'::regclass and contypid = u.objid
        union all
        select 'pg_class'::regclass, typrelid from pg_type where u.classid = 'pg_type'::regclass and oid = u.objid
      ) n
    )
    select u.relid, 'routine' as kind, f.oid::regprocedure::text as name, f.proowner as owner
    from used u join pg_proc f on f.oid = u.objid
    where u.classid = 'pg_proc'::regclass
    union all
    select u.relid, 'operator', o.oid::regoperator::text, o.oprowner
    from used u join pg_operator o on o.oid = u.objid
    where u.classid = 'pg_operator'::regclass
    union all
    -- A domain's tests run; of any type an owner makes the casts, and drops it with the columns that are of it.
    select u.relid, case when t.typtype = 'd' then 'domain' else 'type' end, t.oid::regtype::text, t.typowner
    from used u join pg_type t on t.oid = u.objid and (t.typtype in ('d', 'e', 'r') or t.typtype = 'c' and exists (select from pg_class where oid = t.typrelid and relkind = 'c'))
    where u.classid = 'pg_type'::regclass
  ) c on c.relid = r.relid
  union all
  -- And what they may call in requests, or what is called there in a body, of which nothing depends.
  select 'warning', null, f.name, jsonb_build_object('role', w.who),
    case when audit.is_stranger(o.oid) then format('%s may execute the function, which belongs to %s: it runs with the rights of the request, whatever its tenant', w.who, o.rolname) end,
    format('alter routine %1$s owner to tms_owner; -- as its owner, or as a superuser; and read what it does. Or: revoke execute on routine %1$s from %2$s;', f.name, w.who)
  from examined f
  join pg_roles o on o.rolname = f.owner
  cross join lateral (
    select x.grantee::regrole::text as who from aclexplode(f.acl) x
    where x.grantee = any (array[to_regrole('tms_service'), to_regrole('tms_app'), to_regrole('tms_registrar')]::oid[]) and has_schema_privilege(x.grantee, f.schema, 'usage')) w
  where not f.own
  union all
  select 'warning', null, f.name, jsonb_build_object('called by', g.name),
    case when audit.is_stranger(o.oid) then format('%s calls the function, which belongs to %s: it runs with the rights of the request, whatever its tenant', g.name, o.rolname) end,
    format('alter routine %s owner to tms_owner; -- as its owner, or as a superuser; and read what it does', f.name)
  from examined g
  -- Bodies are read only where they have the name of a stranger's.
  join (select string_agg(distinct '\m' || audit.pattern_of(p.proname) || '\M', '|') as names
        from pg_proc p where p.oid >= 16384 and p.proowner in (select oid from pg_roles where audit.is_stranger(oid))) s on g.body ~* s.names
  join pg_roles h on h.rolname = g.owner and g.reached and not audit.is_stranger(h.oid)
  cross join lateral (select distinct callee from audit.calls(array[g.oid])) c
  join examined f on f.oid = c.callee and not f.own
  join pg_roles o on o.rolname = f.owner
$$;

create or replace function audit.check_function_security()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with expected as (
    -- Somebody's own helper of such a role may be either; of a definer function_changed asks that it be in the list.
    select f.*, case when m.name is null and f.schema <> 'api' and f.owner in ('tms_app', 'tms_registrar', 'tms_auditor') then null else (f.schema = 'api' or coalesce(m.owner, f.owner) in ('tms_app', 'tms_registrar', 'tms_auditor') or f.name ~ any (array[
        -- The owner's own definers: each reads or writes what nobody else may, and nothing of a tenant's.
        '^app\.(schema_version|release|last_audit)\(', '^control\.tg_tenants__(count|record)\(',
        -- They hold the keys of proofs, and enter a tenant for nobody who has none.
        '^app\.(has_context_secret|context_faults|sign_tenant|sign_proved_tenant)\(', '^control\.signed_tenant_id\(', case when app.has_context_secret() then '^app\.tenant_id\(' else '^$' end, '^audit\.(has_rows|start_run|record_pass|finish_run|examine|find_tenant|try_writes|visible_rows)\(']))
        and f.name <> 'api.get_login_faults()' end as wanted
    from audit.functions() f left join audit.manifest() m on m.kind = 'function' and m.name = f.name
    where f.own
  )
  select 'error', null::uuid, name, '{}'::jsonb,
    case when definer and not wanted then format('the function runs with all rights of its owner, %s, and is not one of those that must', owner)
         when wanted and not definer then 'the function is not SECURITY DEFINER, and was made to run as its owner' end,
    audit.by_owner(owner, format('alter routine %s security %s;', name, case when wanted then 'definer' else 'invoker' end))
  from expected
$$;

-- Elsewhere, what the service's roles have no way to is a provider's own: worth reading once, and no reason to stop a migration.
create or replace function audit.check_function_bypass()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached or h.holds then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when f.definer and not f.own and h.holds then format('the function lies outside the service''s schemas and runs as %s', f.owner)
         when f.definer and (r.rolsuper or r.rolbypassrls) and not f.vouched then format('the function runs as %s, to whom no policy applies%s', f.owner,
           case when not f.reached then format('; none of the service''s roles may execute it, but %s', case when 'public' = any (string_to_array(f.granted, ' ')) then format('whoever may use the schema %I', f.schema)
             else coalesce(nullif(replace(f.granted, ' ', ', '), ''), 'its owner only') end) end) end,
    -- Of the service's own functions it is the role that is wrong.
    case when f.own and f.owner in ('tms_owner', 'tms_registrar', 'tms_auditor', 'tms_app') then '-- as an administrator:' || E'\n\\i db/roles.sql'
         when f.own and coalesce(m.owner, a.owner) is not null then format('alter routine %s owner to %s;', f.name, coalesce(m.owner, a.owner))
         when not f.reached and not h.holds then audit.by_acceptance(f.name, f.owner, 'security invoker')
         else audit.by_owner(f.owner, format('alter routine %s security invoker;', f.name)) || coalesce(
           (select format(' -- or: revoke execute on routine %s from %s;', f.name, string_agg(w, ', ' order by w)) from unnest(string_to_array(f.granted, ' ')) w
            where not f.own and w = any (array_append(audit.our_roles(), 'public')) having count(*) > 0), '') end
  from audit.functions() f join pg_roles r on r.rolname = f.owner
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name
  left join audit.accepted a on a.kind = 'function' and a.name = f.name
  cross join lateral (
    select not r.rolsuper and exists (
      select from pg_roles t
      where (t.rolname in ('tms_owner', 'tms_registrar', 'tms_auditor', 'tms_app')
          or f.reached and t.rolname in ('pg_read_all_data', 'pg_write_all_data', 'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program'))
        and pg_has_role(r.oid, t.oid, 'usage')) as holds) h
  union all
  -- None of Postgres's own is: each belongs to a superuser, and some execute what they are given.
  select 'error', null, f.oid::regprocedure::text, '{}'::jsonb,
    format('somebody made a function of Postgres''s own run as %s, to whom no policy applies', f.proowner::regrole),
    format('alter function %s security invoker; -- as a superuser', f.oid::regprocedure)
  from pg_proc f
  where f.oid < 16384 and f.prosecdef
    and exists (select from unnest(audit.our_roles()) r where has_function_privilege(to_regrole(r), f.oid, 'execute'))
$$;

create or replace function audit.check_function_search_path()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when f.vouched then null
         when (f.own or f.definer) and c.path is null and (f.definer or p.prosqlbody is null and f.kind <> 'p'
           -- Inlined without one: each name in them has its schema, and function_changed looks at their bodies.
           and f.name not in ('app.tenant_json(app.tenants)', 'app.member_json(app.users)'))
           then 'the function takes its search_path from the caller, whose objects can stand in for the real ones'
         when f.own and c.path not in ('pg_catalog, pg_temp', '"pg_catalog", "pg_temp"') then format('search_path is %s instead of pg_catalog, pg_temp', c.path)
         when f.definer and c.path !~ ',\s*(pg_temp|"pg_temp")$' then format('search_path is %s: without pg_temp in the last place, temporary objects are found first', c.path)
         when f.reached and s.fault is not null then format('search_path is %s: %s', c.path, s.fault) end,
    case when f.reached and s.fault is not null and c.path ~ ',\s*(pg_temp|"pg_temp")$' then s.mend
         when f.reached then audit.by_owner(f.owner, format('alter routine %s %s;', f.name, n.path)) else audit.by_acceptance(f.name, f.owner, n.path) end
  from audit.functions() f
  join pg_proc p on p.oid = f.oid
  join pg_language l on l.oid = p.prolang
  left join lateral (select substr(x, 13) as path from unnest(f.config) x where x like 'search\_path=%') c on true
  -- Where a stranger may create, it has what fits better found. What is a stranger's may look there.
  left join lateral (
    select format('in %I %s may create what is found in the place of the real one', x.name, w.who) as fault, w.mend
    from (select trim(both '"' from e) as name from regexp_split_to_table(c.path, '\s*,\s*') e) x
    left join pg_namespace n on n.nspname = x.name
    cross join lateral (
      select audit.role_name(a.grantee) as who, format('revoke create on schema %I from %s;', n.nspname, audit.role_name(a.grantee)) as mend
      from aclexplode(n.nspacl) a where a.privilege_type = 'CREATE' and a.grantee <> n.nspowner and (a.grantee = 0 or audit.is_stranger(a.grantee))
      union all
      select n.nspowner::regrole::text, format('alter schema %I owner to tms_owner; -- as its owner, or as a superuser', n.nspname) where audit.is_stranger(n.nspowner)
      union all
      -- One that is not there, who may create schemas makes.
      select audit.role_name(a.grantee), format('revoke create on database %I from %s;', d.datname, audit.role_name(a.grantee))
      from pg_database d cross join lateral aclexplode(d.datacl) a
      where n.oid is null and x.name not in ('', 'pg_temp') and d.datname = current_database() and a.privilege_type = 'CREATE' and a.grantee <> d.datdba and (a.grantee = 0 or audit.is_stranger(a.grantee))) w
    order by x.name, w.who limit 1) s on f.reached and not audit.is_stranger(p.proowner)
  -- Elsewhere it may count on its schema, or on those that it names.
  cross join lateral (
    select format('set search_path = %s, pg_temp', case when f.own then 'pg_catalog'
      else coalesce(regexp_replace(nullif(c.path, '""'), '"?pg_temp"?, *', '', 'g'), 'pg_catalog, ' || quote_ident(f.schema)) end)) n (path)
  where l.lanname not in ('c', 'internal')
$$;

create or replace function audit.check_function_settings()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when c.setting is not null and not f.vouched and not (f.schema in ('api', 'control') and c.setting = 'row_security=on')
      then format('the function sets %s', c.setting) end,
    case when f.reached and lower(split_part(c.setting, '=', 1)) in ('role', 'row_security')
           then audit.by_owner(f.owner, format('alter routine %s reset %s;', f.name, split_part(c.setting, '=', 1)))
         when f.reached then format('alter routine %s reset %s; -- as a superuser, who alone may set it', f.name, split_part(c.setting, '=', 1))
         else audit.by_acceptance(f.name, f.owner, 'reset ' || split_part(c.setting, '=', 1)) end
  from audit.functions() f
  left join lateral (
    select x as setting from unnest(f.config) x
    where lower(split_part(x, '=', 1)) in ('role', 'session_authorization', 'row_security', 'session_replication_role', 'app.tenant_id', 'app.maintenance', 'app.actor')) c on true
$$;

create or replace function audit.check_function_public()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.own or a.who = 'tms_service' then 'error' else 'warning' end, null::uuid, f.name, jsonb_build_object('role', a.who),
    case when f.own and a.who = 'public' then 'everybody may execute the function'
         when f.definer and a.who = 'public' and f.reached then format('everybody may execute the function with the rights of %s', f.owner)
         when a.is_grantable is null and a.who is not null
           then format('requests have the function executed with the rights of %s: what one tenant leaves there another may find', f.owner)
         when f.definer and not f.own and a.who in ('tms_service', 'tms_app', 'tms_registrar')
           then format('%s may execute the function with the rights of %s: what one tenant leaves there another may find', a.who, f.owner)
         when f.own and a.is_grantable then format('%s may pass on the right to execute the function', a.who)
         when f.schema = 'api' and a.who not in ('tms_service', 'tms_owner', 'tms_auditor') then format('%s may execute the function, beside the service''s login', a.who) end,
    audit.by_owner(f.owner, format(case when a.is_grantable is null then 'alter routine %s security invoker;' else 'revoke execute on routine %s from %s;' end, f.name, a.who))
  from audit.functions() f
  left join lateral (
    select audit.role_name(x.grantee) as who, x.is_grantable
    from aclexplode(f.acl) x where x.grantee <> to_regrole(quote_ident(f.owner))
    union all
    -- A trigger asks nobody for that right, nor does an aggregate.
    select 'tms_app', null
    where f.definer and not f.own and f.reached and not string_to_array(f.granted, ' ') && array_append(array_remove(audit.our_roles(), 'tms_owner'), 'public')) a on true
  union all
  -- Under a name of its own a function of the server is under none of the server's rights.
  select 'error', null, f.name, jsonb_build_object('role', w.role),
    case when (has_schema_privilege(w.role, f.schema, 'usage') or f.oid in (select audit.bound('pg_proc'))) and has_function_privilege(w.role, f.oid, 'execute')
      then format('%s may execute the function, which is written in %s: it does what the server''s account may', w.role, l.lanname) end,
    audit.by_owner(f.owner, format('revoke execute on routine %s from %s, public;', f.name, w.role))
  from audit.functions() f
  -- An aggregate is what its functions are, and by itself always internal.
  cross join lateral (
    select l.lanname
    from (select f.oid where f.kind <> 'a'
          union all
          select refobjid from pg_depend where f.kind = 'a' and classid = 'pg_proc'::regclass and objid = f.oid and refclassid = 'pg_proc'::regclass
            and refobjid not in (select audit.of_extensions('pg_proc'))) x
    join pg_proc p on p.oid = x.oid
    -- An untrusted one that somebody marked as trusted still has its name.
    join pg_language l on l.oid = p.prolang and (not l.lanpltrusted or l.lanname like 'pl%u')
    limit 1) l
  cross join (values ('tms_service'), ('tms_app'), ('tms_registrar'), ('tms_auditor')) as w (role)
  where to_regrole(w.role) is not null
  union all
  select 'warning', null, null, '{"role": "tms_app", "extension": "dblink"}',
    'tms_app may connect to any database, this one too, as whoever it has a password of',
    format('revoke execute on function %s from tms_app, public; -- as a superuser', string_agg(f.oid::regprocedure::text, ', '))
  from pg_proc f
  join pg_depend d on d.classid = 'pg_proc'::regclass and d.objid = f.oid and d.deptype = 'e'
  join pg_extension e on e.oid = d.refobjid and e.extname = 'dblink'
  where f.proname in ('dblink', 'dblink_connect', 'dblink_exec') and has_function_privilege('tms_app', f.oid, 'execute')
    and (has_schema_privilege('tms_app', f.pronamespace, 'usage') or f.oid in (select audit.bound('pg_proc')))
  having count(*) > 0
  union all
  select 'info', null, oid::regprocedure::text, jsonb_build_object('role', 'tms_service'),
    case when has_function_privilege(to_regrole('tms_service'), oid, 'execute')
      then 'the service may write large objects, which belong to no tenant and know no policy' end,
    format('revoke execute on function %s from public; -- by a superuser; db/large_objects.sql does it for all of them', oid::regprocedure)
  from pg_proc
  where pronamespace = 'pg_catalog'::regnamespace and proname in ('lo_creat', 'lo_create', 'lo_from_bytea', 'lo_put', 'lowrite')
$$;

create or replace function audit.check_function_leakproof()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select case when f.reached then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when f.leakproof and not f.vouched then 'the function claims to be LEAKPROOF: it is run on rows before the policy is' end,
    case when f.reached then format('alter function %s not leakproof;', f.name) else audit.by_acceptance(f.name, f.owner, 'not leakproof') end
  from audit.functions() f
  where f.kind in ('f', 'w')
  union all
  select 'warning', null, f.oid::regprocedure::text, '{}'::jsonb,
    'the function of an extension claims to be LEAKPROOF: it is run on rows before the policy is',
    format('alter function %s not leakproof; -- unless the extension made it so', f.oid::regprocedure)
  from pg_proc f
  where f.proleakproof and f.oid >= 16384 and f.oid in (select audit.of_extensions('pg_proc'))
  union all
  -- Those of Postgres that are so were made in one transaction, before there were others.
  select 'warning', null, f.oid::regprocedure::text, '{}'::jsonb, 'Postgres did not make the function LEAKPROOF, and somebody did: it is run on rows before the policy is',
    format('alter function %s not leakproof; -- as a superuser', f.oid::regprocedure)
  from pg_proc f
  where f.proleakproof and f.oid < 16384 and f.proname <> 'uuid_eq' and f.xmin <> (select xmin from pg_proc where oid = 'pg_catalog.uuid_lt(uuid,uuid)'::regprocedure)
  union all
  select 'error', null, 'uuid_eq(uuid,uuid)', '{}'::jsonb,
    case when not proleakproof then 'the comparison in every policy is not leakproof: conditions of a query may be run before it, on any tenant''s rows' end,
    'alter function pg_catalog.uuid_eq(uuid, uuid) leakproof;'
  from pg_proc where oid = 'pg_catalog.uuid_eq(uuid,uuid)'::regprocedure
$$;
