-- What decides who sees what in this service's own objects, one line each, to compare with manifest.tsv, which the release ships.
-- The client sends this query, with search_path = pg_catalog, pg_temp: nothing that is stored in the database answers in its place.
-- The lines are the same on Postgres 15 to 18: an owner's own rights are left out (17 added one), and NOT NULL is the column's.
with ours as (
  select oid, nspname from pg_namespace where nspname in ('app', 'api', 'control', 'audit')
), five as (
  select oid, rolname::text as name from pg_roles where rolname in ('tms_owner', 'tms_service', 'tms_app', 'tms_registrar', 'tms_auditor')
), packed as (
  select classid, objid from pg_depend where deptype = 'e'
), rel as (
  select c.*, c.oid::regclass::text as name, relkind in ('v', 'm') as view from pg_class c join ours n on n.oid = relnamespace
  where not exists (select from packed where classid = 'pg_class'::regclass and objid = c.oid)
), parts (id, uses) as ( -- which columns and functions a view uses
  select ev_class, string_agg(distinct pg_describe_object(refclassid, refobjid, refobjsubid), ', ')
  from pg_rewrite r join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
  where ev_class in (select oid from rel) group by 1
), system (class, id, sub, name, default_of, acl) as ( -- Postgres's own objects
  select 'pg_class'::regclass, oid, 0, oid::regclass::text, 'r'::"char", relacl from pg_class
    where relnamespace in ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
  union all select 'pg_proc', oid, 0, oid::regprocedure::text, 'f', proacl from pg_proc where pronamespace = 'pg_catalog'::regnamespace
  union all select 'pg_class', attrelid, attnum, format('%s (%I)', attrelid::regclass, attname), 'c', attacl from pg_attribute
    where attrelid < 16384 and attacl is not null
  union all select 'pg_namespace', oid, 0, oid::regnamespace::text, 'n', nspacl from pg_namespace where oid < 16384
  union all select 'pg_language', oid, 0, lanname, 'l', lanacl from pg_language
  union all select 'pg_parameter_acl', oid, 0, parname, 'p', paracl from pg_parameter_acl
  union all select 'pg_foreign_server', oid, 0, srvname, 'S', srvacl from pg_foreign_server
), thing (kind, name, owner, acl, definition) as (
  select case when prosecdef then 'definer' else 'function' end, f.oid::regprocedure::text, proowner,
    coalesce(proacl, acldefault('f', proowner)),
    concat_ws('|', lanname, prokind, provolatile, proisstrict, proleakproof, proparallel, pg_get_function_arguments(f.oid),
      pg_get_function_result(f.oid), (select string_agg(replace(c, '"', ''), ', ' order by c) from unnest(proconfig) c),
      nullif(prosupport, 0)::regproc, probin,
      coalesce(regexp_replace(pg_get_function_sqlbody(f.oid), '\s+', ' ', 'g'), replace(prosrc, E'\r\n', E'\n')))
    from pg_proc f join ours n on n.oid = pronamespace join pg_language l on l.oid = prolang
    where not exists (select from packed where classid = 'pg_proc'::regclass and objid = f.oid)
  union all
  select case when view then 'view' when relkind = 'S' then 'sequence' else 'table' end, name, relowner,
    coalesce(relacl, acldefault(case relkind when 'S' then 's' else 'r' end::"char", relowner)),
    concat_ws('|', nullif(relkind, 'r'),
      case when relkind in ('r', 'p') then case when relrowsecurity then 'row security' else 'no row security' end end,
      case when relforcerowsecurity then 'forced' end,
      (select 'child of ' || string_agg(inhparent::regclass::text, ', ' order by inhseqno) from pg_inherits where inhrelid = r.oid),
      pg_get_expr(relpartbound, r.oid), case when view then reloptions::text end,
      -- Before a column of the one table of a query, 16 and newer leave out the table's name; `uses` has it.
      case when view then regexp_replace(pg_get_viewdef(oid), '\m\w+\.(?=[\w"])', '', 'g') end,
      (select uses from parts where id = r.oid))
    from rel r where relkind in ('r', 'p', 'v', 'm', 'f', 'S')
  union all
  select 'column', format('%s.%I', name, attname), relowner, attacl,
    concat_ws(' ', format_type(atttypid, atttypmod), case when attcollation <> 0 then nullif(attcollation, 100)::regcollation end,
      case when attnotnull then 'not null' end, nullif(attgenerated, ''), nullif(attidentity, ''),
      'default ' || pg_get_expr(adbin, adrelid))
    from rel r join pg_attribute a on attrelid = r.oid and attnum > 0 and not attisdropped
    left join pg_attrdef on adrelid = attrelid and adnum = attnum where relkind in ('r', 'p', 'f')
  union all
  select case when indisunique or indisexclusion then 'unique index' else 'index' end, format('%s on %s', i.indexrelid::regclass, name),
    relowner, null,
    concat_ws('|', pg_get_indexdef(i.indexrelid), case when not indisvalid then 'invalid' end)
    from rel r join pg_index i on i.indrelid = r.oid where relkind in ('r', 'p', 'm')
  union all
  select 'constraint', format('%I on %s', conname, coalesce(name, contypid::regtype::text)), relowner, null,
    concat_ws('|', pg_get_constraintdef(k.oid), case when not convalidated then 'not valid' end)
    from pg_constraint k join ours n on n.oid = connamespace left join rel r on r.oid = conrelid where contype <> 'n'
  union all
  select 'policy', format('%I on %s', polname, name), relowner, null,
    concat_ws('|', case when not polpermissive then 'restrictive' end, polcmd,
      (select string_agg(case m when 0 then 'public' else m::regrole::text end, ', ' order by m) from unnest(polroles) m),
      'using ' || using_q, 'check ' || check_q)
    from pg_policy join rel r on r.oid = polrelid, lateral ( -- Citus refuses the subquery
      select replace(pg_get_expr(polqual, polrelid), '( SELECT app.tenant_id() AS tenant_id)', 'app.tenant_id()'),
        replace(pg_get_expr(polwithcheck, polrelid), '( SELECT app.tenant_id() AS tenant_id)', 'app.tenant_id()')) x (using_q, check_q)
  union all
  select 'trigger', format('%I on %s', tgname, name), relowner, null,
    concat_ws('|', pg_get_triggerdef(t.oid), 'enabled ' || nullif(tgenabled, 'O')::text)
    from pg_trigger t join rel r on r.oid = tgrelid where not tgisinternal
  union all
  select 'keys', name, relowner, null, 'switched off: ' || string_agg(distinct conname, ', ')
    from pg_trigger t join rel r on r.oid = tgrelid join pg_constraint k on k.oid = tgconstraint
    where tgisinternal and tgenabled <> 'O' group by 2, 3
  union all
  select 'rule', format('%I on %s', rulename, name), relowner, null, concat_ws('|', pg_get_ruledef(w.oid), ev_enabled)
    from pg_rewrite w join rel r on r.oid = ev_class where rulename <> '_RETURN'
  union all
  select 'type', t.oid::regtype::text, typowner, coalesce(typacl, acldefault('T', typowner)),
    concat_ws('|', typtype, nullif(typbasetype, 0)::regtype, typnotnull, typdefault,
      (select string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', ' order by attnum) from pg_attribute
        where attrelid = typrelid and attnum > 0 and not attisdropped),
      (select string_agg(enumlabel, ', ' order by enumsortorder) from pg_enum where enumtypid = t.oid))
    from pg_type t join ours n on n.oid = typnamespace
    where typtype in ('d', 'e', 'r') or typtype = 'c' and exists (select from pg_class where oid = typrelid and relkind = 'c')
  union all
  select 'schema', nspname, nspowner, coalesce(nspacl, acldefault('n', nspowner)), null
    from pg_namespace where oid in (select oid from ours)
  union all
  select 'role', name, null, null,
    concat_ws(' ', case when rolcanlogin then 'login' end, case when rolinherit then 'inherit' end, case when rolsuper then 'superuser' end,
      case when rolcreatedb then 'createdb' end, case when rolcreaterole then 'createrole' end,
      case when rolreplication then 'replication' end, case when rolbypassrls then 'bypassrls' end)
    from pg_roles join five using (oid)
  union all
  select 'member', format('%s of %s', member::regrole, roleid::regrole), null, null,
    concat_ws(', ', case when bool_or(admin_option) then 'may grant it' end, case when bool_or(inherits) then 'inherits it' end,
      case when bool_or(may_set) then 'may become it' end)
    from pg_auth_members m join pg_roles r on r.oid = member, lateral (
      select coalesce((to_jsonb(m) ->> 'inherit_option')::boolean, rolinherit),
        coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)) o (inherits, may_set)
    -- Who may act as tms_app or tms_auditor is the operator's to say; who_reads lists them.
    where not rolsuper and (member in (select oid from five)
      or roleid in (select oid from five where name not in ('tms_app', 'tms_auditor'))) group by member, roleid
    having member in (select oid from five) or bool_or(inherits or may_set) -- the rest is how 16 and newer record who made a role
  union all
  select 'setting', format('%s of %s%s', split_part(c, '=', 1), coalesce(nullif(setrole, 0)::regrole::text, 'every role'),
      case when setdatabase <> 0 then ' in this database' end), null, null, substr(c, strpos(c, '=') + 1)
    from pg_db_role_setting left join pg_database d on d.oid = setdatabase, unnest(setconfig) c
    where (setdatabase = 0 or datname = current_database())
      and (setrole in (select oid from five) and c !~ '^(transaction_timeout|client_connection_check_interval)=' -- not on every server
        or c ~* '^(app\.(tenant_id|maintenance)|role|row_security|session_replication_role|lo_compat_privileges)=')
  union all
  select 'default privileges', concat_ws(' ', defaclrole::regrole, nullif(defaclnamespace, 0)::regnamespace, defaclobjtype), defaclrole,
    defaclacl, 'not the default' from pg_default_acl where defaclrole in (select oid from five) or defaclnamespace in (select oid from ours)
  union all
  select 'owned', pg_describe_object(d.classid, d.objid, d.objsubid), refobjid, null, null
    from pg_shdepend d join pg_database b on datname = current_database() and dbid in (0, b.oid) join five f on f.oid = refobjid
    where refclassid = 'pg_authid'::regclass and deptype = 'o'
      and (f.name = 'tms_service' or f.name <> 'tms_owner' and d.classid <> 'pg_proc'::regclass)
  union all
  select 'event trigger', evtname, evtowner, null, concat_ws('|', evtevent, evtfoid::regprocedure, evtenabled, evttags, md5(prosrc))
    from pg_event_trigger e join pg_proc f on f.oid = evtfoid
    where not exists (select from packed where classid = 'pg_event_trigger'::regclass and objid = e.oid)
  union all
  -- Of what is not the service's own: rights of everybody and of the five roles, beyond those that a new database has.
  select 'database', 'the database', null, array_agg(makeaclitem(grantee, grantor, privilege_type, is_grantable)), null
    from pg_database cross join lateral aclexplode(coalesce(datacl, acldefault('d', datdba)))
    where datname = current_database() and grantee <> datdba
      and (grantee in (select oid from five) or grantee = 0 and privilege_type <> 'CONNECT')
  union all
  select 'system object', s.name, null, array_agg(makeaclitem(x.grantee, x.grantor, x.privilege_type, x.is_grantable)), null
    from system s left join pg_init_privs i on i.classoid = class and objoid = id and objsubid = sub cross join lateral aclexplode(s.acl) x
    where (x.grantee = 0 or x.grantee in (select oid from five))
      and not (x.grantee = 0 and x.privilege_type in ('SELECT', 'USAGE') and s.name ~ '^information_schema') -- too late for pg_init_privs
      and not exists (select from aclexplode(coalesce(initprivs, acldefault(default_of, 10))) y
        where y.grantee = x.grantee and y.privilege_type = x.privilege_type and y.is_grantable >= x.is_grantable)
    group by class, id, s.name
  union all
  select 'in pg_catalog', pg_describe_object(class, id, 0), null, null, 'not of Postgres'
    from (select 'pg_proc'::regclass, oid from pg_proc where pronamespace = 'pg_catalog'::regnamespace
      union all select 'pg_operator', oid from pg_operator where oprnamespace = 'pg_catalog'::regnamespace
      union all select 'pg_class', oid from pg_class where relnamespace = 'pg_catalog'::regnamespace
      union all select 'pg_cast', oid from pg_cast where castsource < 16384 and casttarget < 16384) x (class, id)
    where id >= 16384 and not exists (select from packed where classid = class and objid = id)
  union all
  select 'in pg_catalog', 'function ' || oid::regprocedure, null, null, 'marked SECURITY DEFINER'
    from pg_proc where oid < 16384 and prosecdef
)
select kind, name, coalesce(owner::regrole::text, '') as owner,
  coalesce((select string_agg(format('%s=%s', who, rights), ' ' order by who) from (
    select coalesce(nullif(grantee, 0)::regrole::text, 'public'), string_agg(distinct p, ',' order by p)
    from aclexplode(acl), lateral (select privilege_type || case when is_grantable then '*' else '' end) as r (p)
    where grantee is distinct from owner group by 1) as g (who, rights)), '') as rights,
  -- Short ones are for people to read.
  case when length(definition) > 80 or definition ~ E'[\n\t]' then left(encode(sha256(convert_to(definition, 'UTF8')), 'hex'), 32)
    else coalesce(definition, '') end as definition
from thing order by kind collate "C", name collate "C";
