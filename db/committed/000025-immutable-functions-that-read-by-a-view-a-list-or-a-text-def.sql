--! Previous: sha1:402c778b03b9acf3ecaf868e288125e9e783c9c2
--! Hash: sha1:8e98b19b39086c729c5bd673b14238d7434c17d4
--! Message: Immutable functions that read by a view, a list or a text; definers behind operators, rules, and aggregates of closed schemas

set local citus.enable_ddl_propagation = off;
--! Included audit/functions.sql
create or replace function audit.our_roles()
returns text[]
language sql
immutable
return array['tms_owner', 'tms_service', 'tms_app', 'tms_registrar', 'tms_auditor'];
comment on function audit.our_roles() is 'The five roles of the service.';

create or replace function audit.role_name(p_role oid)
returns text
language sql
stable
return case when p_role = 0 then 'public' else p_role::regrole::text end;
comment on function audit.role_name(oid) is 'A role as a statement writes it; public for 0, which stands for everybody where Postgres keeps rights.';

create or replace function audit.of_extensions(p_catalog regclass)
returns setof oid
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select objid from pg_depend where classid = p_catalog and (deptype = 'e' or classid = 'pg_proc'::regclass and deptype = 'i')
$$;
comment on function audit.of_extensions(regclass) is
  'What extensions brought of one kind, by its catalog: pg_proc, pg_class, pg_type …; and the functions that a range type brought, which are Postgres''s own.';

-- A migration, where most remedies are pasted, runs as tms_owner, who may become these roles and has no rights of theirs before.
create or replace function audit.by_owner(p_owner name, p_statement text)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  select case when p_owner in ('tms_app', 'tms_registrar', 'tms_auditor') then format(
    -- What they own there they may not name.
    case when p_owner <> 'tms_registrar' and p_statement like '% control.%'
      then 'grant usage on schema control to %1$I; set role %1$I; %2$s reset role; revoke usage on schema control from %1$I;'
      else 'set role %1$I; %2$s reset role;' end, p_owner, p_statement) else p_statement end
$$;
comment on function audit.by_owner(name, text) is 'A remedy that only the owner of an object may execute, as tms_owner can paste it.';

create or replace function audit.template_rights()
returns table (role text, rights text, kind text, object text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  select t.role, t.rights, t.kind, o
  from (values
    ('tms_service', 'usage', 'schema', '{api}'),
    ('tms_app', 'usage', 'schema', '{api, app}'),
    ('tms_app', 'select', 'table', '{app.tenants}'),
    ('tms_registrar', 'usage', 'schema', '{api, app, audit, control}'),
    ('tms_registrar', 'select, insert, update, delete', 'table', '{app.tenants, app.users, control.idempotency_keys, control.rate_limits}'),
    ('tms_registrar', 'select, insert, update', 'table', '{control.tenant_counts}'),
    ('tms_registrar', 'select, insert', 'table', '{control.deployment}'),
    ('tms_auditor', 'usage', 'schema', '{api, app, audit}'),
    ('tms_auditor', 'select', 'table', '{app.tenants, audit.accepted, audit.found, audit.results, audit.runs}'),
    ('tms_auditor', 'select', 'view', '{audit.findings, audit.last_checks, audit.last_run, audit.trend}')
  ) as t (role, rights, kind, objects) cross join lateral unnest(t.objects::text[]) o
$$;
comment on function audit.template_rights() is
  'The rights of the service''s roles on its schemas, tables and views, as migrations give them; but for those that app.isolate() gives on tenants'' tables.';

-- Who is given a thing keeps no right on it but an owner's, which goes along to the next owner.
create or replace function audit.by_giving_back(p_object text, p_owner name)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select format('alter %s owner to tms_owner;', p_object) || coalesce(
    (select format(' grant %s on %s to %I;', t.rights, regexp_replace(p_object, '^view ', 'table '), p_owner)
     from audit.template_rights() t where t.role = p_owner and p_object = t.kind || ' ' || t.object),
    (select format(' select app.isolate(%L);', r.relid) from audit.relations() r
     where p_owner in ('tms_app', 'tms_auditor') and 'table ' || r.relid = p_object and r.tenant_column = 'tenant_id' and not r.is_child), '')
$$;
comment on function audit.by_giving_back(text, name) is 'A remedy that makes tms_owner the owner, and gives the one that it was the rights of the template again.';

create or replace function audit.by_acceptance(p_function text, p_owner name, p_change text)
returns text
language sql
immutable
return format('select audit.accept(%1$L); -- once you have read it; or, as %3$I: alter routine %1$s %2$s;', p_function, p_change, p_owner);
comment on function audit.by_acceptance(text, name, text) is 'The remedy for a function that the service''s roles have no way to: it may be a provider''s, and is to be read and vouched for.';

-- md5() does not run on a server in FIPS mode.
create or replace function audit.short_hash(p_text text)
returns text
language sql
immutable
return left(encode(sha256(convert_to(p_text, 'UTF8')), 'hex'), 32);
comment on function audit.short_hash(text) is 'The first 128 bits of its SHA-256, in hexadecimal.';

create or replace function audit.definition_hash(p_function oid)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  -- Lines are kept where they are: a comment ends with its own.
  select audit.short_hash(concat_ws('|', l.lanname, f.prokind, f.provolatile, f.proisstrict, f.prosecdef, f.proparallel, pg_get_function_arguments(f.oid), pg_get_function_result(f.oid),
    (select string_agg(replace(c, '"', ''), ', ' order by c) from unnest(f.proconfig) c),
    coalesce(regexp_replace(pg_get_function_sqlbody(f.oid), '\s+', ' ', 'g'), replace(f.prosrc, E'\r\n', E'\n')), f.probin))
  from pg_proc f join pg_language l on l.oid = f.prolang where f.oid = p_function
$$;
comment on function audit.definition_hash(oid) is 'What a function does, as a hash: language, kind, volatility, strictness, whose rights, parallel safety, arguments, result, settings, body, library.';

-- What has its number, as a view or a standard body has it, asks for no right on the schema. All at once: asked of one object at a time it took as
-- long as all other checks of a catalog of thousands of functions.
create or replace function audit.bound(p_catalog regclass)
returns setof oid
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive opened as materialized (
    select n.oid from pg_namespace n
    where exists (select from unnest(array_remove(audit.our_roles(), 'tms_owner')) r where has_schema_privilege(r, n.oid, 'usage'))
  ), reached (classid, objid, used) as (
    select 'pg_class'::regclass::oid, ev_class, false from pg_rewrite join pg_class c on c.oid = ev_class where c.relnamespace in (select oid from opened)
    union
    -- Of an aggregate audit.functions() asks who may execute it.
    select 'pg_proc'::regclass, oid, false from pg_proc where oid >= 16384 and prokind <> 'a' and pronamespace in (select oid from opened)
    union
    select refclassid, refobjid, true from pg_depend
    where refclassid = 'pg_proc'::regclass and refobjid >= 16384 and classid in (
      'pg_operator'::regclass, 'pg_cast'::regclass, 'pg_attrdef'::regclass, 'pg_constraint'::regclass, 'pg_policy'::regclass, 'pg_class'::regclass, 'pg_type'::regclass)
    union
    select d.refclassid, d.refobjid, true
    from reached r
    left join pg_rewrite w on r.classid = 'pg_class'::regclass and w.ev_class = r.objid
    join pg_depend d on d.classid = case when w.oid is null then r.classid else 'pg_rewrite'::regclass end and d.objid = coalesce(w.oid, r.objid)
      and d.refclassid in ('pg_class'::regclass, 'pg_proc'::regclass) and d.refobjid >= 16384 and d.refobjid <> r.objid
    where w.oid is not null or r.classid = 'pg_proc'::regclass
  )
  select distinct objid from reached where used and classid = p_catalog
$$;
comment on function audit.bound(regclass) is
  'The relations, or functions, that a view, a rule or the body of a function uses where another of the five roles than tms_owner gets to, and functions that an operator, a cast, a type or a table uses: nobody needs a right on their schemas.';

-- Extensions' functions are theirs, and those below 16384 Postgres's; everything else in the database is examined.
create or replace function audit.functions()
returns table (oid oid, name text, schema name, owner name, definer boolean, config text[], body text, leakproof boolean, acl aclitem[], granted text, kind "char", own boolean,
  reached boolean, vouched boolean)
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive ours as materialized (
    select oid from pg_roles where rolname = any (audit.our_roles())
  ), above (tgfoid, relid, written) as (
    select t.tgfoid, t.tgrelid, exists (
      select from ours r
      where has_table_privilege(r.oid, t.tgrelid, 'delete, truncate') or has_any_column_privilege(r.oid, t.tgrelid, 'insert, update'))
    from pg_trigger t where not t.tgisinternal
    union
    -- What is done to a table is done to its partitions and children, by a key's action to what refers to it, and by a rule, or a view, to what that names.
    select a.tgfoid, x.relid, exists (
      select from ours r where has_table_privilege(r.oid, x.relid, 'delete') or has_any_column_privilege(r.oid, x.relid, 'insert, update'))
    from above a
    cross join lateral (
      select inhparent from pg_inherits where inhrelid = a.relid
      union all
      select w.ev_class from pg_depend d join pg_rewrite w on w.oid = d.objid where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = a.relid
      union all
      select confrelid from pg_constraint where conrelid = a.relid and contype = 'f' and (confdeltype in ('c', 'n', 'd') or confupdtype in ('c', 'n', 'd'))) x (relid)
    where not a.written
  ), fired as materialized (
    -- Neither a trigger nor an aggregate asks who may execute the function that it calls, nor do a range type, an index, and what compares by its operators.
    select tgfoid from above where written
    union all
    select f from pg_range cross join lateral unnest(array[rngcanonical, rngsubdiff]) f
    union all
    select amproc from pg_amproc
    union all
    select o.oprcode from pg_amop a join pg_operator o on o.oid = a.amopopr
    union all
    select d.refobjid from pg_depend d join pg_proc a on a.oid = d.objid and a.prokind = 'a'
    where d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_proc'::regclass and d.refobjid >= 16384
      and exists (select from ours r where has_function_privilege(r.oid, a.oid, 'execute') and (has_schema_privilege(r.oid, a.pronamespace, 'usage') or a.oid in (select audit.bound('pg_proc'))))
  )
  select f.oid, w.name, n.nspname, o.rolname, f.prosecdef, f.proconfig, coalesce(pg_get_function_sqlbody(f.oid), f.prosrc), f.proleakproof,
    w.acl, w.granted, f.prokind, w.own, r.reached,
    not r.reached and exists (
      select from audit.accepted a
      where a.kind = 'function' and a.name = w.name and a.owner = o.rolname and a.granted = w.granted and a.body = audit.definition_hash(f.oid))
  from pg_proc f
  join pg_namespace n on n.oid = f.pronamespace
  join pg_roles o on o.oid = f.proowner
  cross join lateral (
    select f.oid::regprocedure::text as name, coalesce(f.proacl, acldefault('f', f.proowner)) as acl,
      coalesce((select string_agg(g.who, ' ' order by g.who)
        from aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a
        cross join lateral (select audit.role_name(a.grantee)) g (who)
        where a.grantee <> f.proowner), '') as granted,
      n.nspname in ('app', 'api', 'control', 'audit') as own) w
  cross join lateral (
    select w.own or f.oid in (select tgfoid from fired)
      or f.prorettype <> 'event_trigger'::regtype and exists ( -- only a superuser has one executed
        select from ours r
        where has_function_privilege(r.oid, f.oid, 'execute') and (has_schema_privilege(r.oid, n.oid, 'usage') or f.oid in (select audit.bound('pg_proc')))) as reached) r
  where f.oid >= 16384 and n.nspname not like 'pg\_temp\_%'
    -- One that somebody packed into an extension still has its owner; what Postgres ships belongs to a superuser.
    and (f.oid not in (select audit.of_extensions('pg_proc')) or o.rolname = any (audit.our_roles()))
$$;
comment on function audit.functions() is
$$The functions that the audit examines: all but those of Postgres and of extensions, of these only what belongs to one of the five roles. granted: who may execute it beside its owner. own: in one of
the service's schemas. reached: own, or one of the five roles may execute it or has it executed by a trigger, an aggregate, a range type or the operators of an index. vouched: not
reached, and as audit.accept() found it.$$;

create or replace function audit.by_moving(p_relation oid)
returns text
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce((
    select format(' -- or, where that is refused: alter extension %I set schema …, one that the service''s roles may not use', e.extname)
    from pg_depend d join pg_extension e on e.oid = d.refobjid
    where d.classid = 'pg_class'::regclass and d.objid = p_relation and d.objsubid = 0 and d.refclassid = 'pg_extension'::regclass and d.deptype = 'e'), '')
$$;
comment on function audit.by_moving(oid) is 'The second half of a remedy for a table or view of an extension, whose owner may be the provider''s; empty for any other.';
--! EndIncluded audit/functions.sql
--! Included audit/checks/bodies.sql
-- What functions do, by their text.
-- From left to right, for a quote in a comment is none, and two dashes in a string are no comment. What goes, and what stays and might have gone,
-- is marked; a mark behind a quote is of what stays. \x22 and \x27: graphile-migrate counts quotes here as well.
create or replace function audit.code_of(p_body text, p_strings boolean)
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  select translate(regexp_replace(regexp_replace(p_body,
    $re$("[^\x22]*")|(\m[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^\x27]|'')*'|(?<![\w$])\$([[:alpha:]_]*)\$(?:[^$]|\$\d)*\$\3\$|')|--[^\n]*|/\*(?:[^*]|\*+[^*/])*\*+/$re$,
    case when p_strings then '\1\2' else '\1' end || chr(1), 'g'), '(["''$])' || chr(1), '\1', 'g'), chr(1), ' ')
$$;
comment on function audit.code_of(text, boolean) is 'The body of a function in SQL or PL/pgSQL without its comments; and, unless p_strings, without its strings.';

-- Whose row it is a policy has said of an old one, and of a new one, or several, after they are written; before that, and of any other column,
-- the writer alone. Of a tenant's own row its id is nobody's choice.
create or replace function audit.enters_named_tenant(p_function oid, p_code text)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with fired as (
    select coalesce(bool_and(tgtype & 66 = 0), true) as later, coalesce(bool_and(tgrelid = to_regclass('app.tenants')), false) as of_tenants
    from pg_trigger where tgfoid = p_function
  ), own as (
    select concat('(?:null|(?:app\s*\.\s*)?tenant_id\s*\(\s*\)|current_setting\s*\(\s*''app\.tenant_id''\s*(?:,\s*\w+\s*)?\)|old\s*\.\s*"?tenant_id"?',
      case when later then '|\w+\s*\.\s*"?tenant_id"?' end, case when of_tenants then '|(?:new|old)\s*\.\s*"?id"?' end, ')(?:\s*::\s*\w+)*') as id
    from fired
  ), either as (
    select format('(?:%1$s|coalesce\s*\(\s*%1$s\s*,\s*%1$s\s*\)(?:\s*::\s*\w+)*)', id) as id from own
  ), known as (
    select concat('(?:', id, (select string_agg('|' || m[1], '') from regexp_matches(p_code, '\m(\w+)\s+constant\s+\w+\s*(?::?=|default)\s*' || id || '\s*;', 'gi') m), ')') as id from either
  )
  select exists (
      select from known k cross join regexp_split_to_table(p_code, '\mset_tenant"?\s*\(', 'i') with ordinality as c (call, n)
      where c.n > 1 and c.call !~* ('^\s*(p_tenant_id\s*(=>|:=)\s*)?' || k.id || '\s*\)'))
    or exists (
      select from known k cross join regexp_split_to_table(p_code, '\mset_config\s*\(\s*''app\.tenant_id''\s*,', 'i') with ordinality as c (call, n)
      where c.n > 1 and c.call !~* ('^\s*(''''|' || k.id || ')\s*,'))
    or p_code ~* '''\s*set\s+local\s+"?app"?\s*\.\s*"?tenant_id"?\s*(=|to\M)\s*(%|''\s*\|\|)'
$$;
comment on function audit.enters_named_tenant(oid, text) is
  'Whether the code of a trigger''s function enters any other tenant than the one that its row is known to be of, or the one before.';

-- A setting for the session outlives the request; the next one on the same connection is somebody else's. What the release
-- itself brought (audit.manifest) was read then, and is not read again here. SET or RESET stands at the beginning of a statement, which may be
-- the text of an EXECUTE, but not of a message, nor of what is joined to other text; an UPDATE's does not.
create or replace function audit.check_function_body()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive shown (relid) as (
    select relid::oid from audit.relations()
    union
    select w.ev_class from shown s
    join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass and d.refobjid = s.relid
    join pg_rewrite w on w.oid = d.objid and w.rulename = '_RETURN'
  ), tenants as materialized (
    select lower(n.nspname) as schema, lower(c.relname) as name from shown s join pg_class c on c.oid = s.relid join pg_namespace n on n.oid = c.relnamespace
  )
  select case when f.reached and s.fault is not null then 'error' else 'warning' end, null::uuid, f.name, '{}'::jsonb,
    case when s.fault is not null then s.fault
         when exists (select from regexp_split_to_table(b.code, 'set_config\s*\(', 'i') with ordinality as c (call, n)
                      where c.n > 1 and split_part(c.call, ';', 1) ~* ',\s*(is_local\s*(=>|:=)\s*)?(false|''(f|false|off|no|n|0)'')\s*\)'
                        and c.call !~ '^\s*''[^'']*''\s*,\s*''[^'']*''\s*,') -- a constant says nothing of anybody
           -- A temporary table that is left, a cursor that outlives its transaction.
           or b.code ~* '\mwith\s+hold\M' or b.code ~* '\m(create\s+((local|global)\s+)?temp(orary)?\s+table|into\s+temp(orary)?\s+(table\s+)?\w+\s+from)\M' and b.code !~* '\mon\s+commit\s+(drop|delete)\M|\m(drop\s+table|truncate)\M'
           or b.code ~ case when l.lanname ~ '^plperl' then '\$_SHARED\M' when l.lanname ~ '^pl(tcl|python)' then '\m[GS]D\M' end
           then 'the function keeps something for the session, where the next request, of another tenant, finds it' end,
    format(case when s.fault like '% that the row names: %' then 'select pg_get_functiondef(%1$L::regprocedure); -- look at it; a row''s own tenant is old.tenant_id, and AFTER it is written new.tenant_id'
                when s.fault like '% is IMMUTABLE %' then audit.by_owner(f.owner, 'alter function %1$s stable;')
                when f.reached then 'select pg_get_functiondef(%1$L::regprocedure); -- look at it; inside a tenant: perform app.set_tenant(…)'
                else 'select pg_get_functiondef(%1$L::regprocedure); -- read it, then: select audit.accept(%1$L);' end, f.name)
  from audit.functions() f
  join pg_proc p on p.oid = f.oid
  join pg_language l on l.oid = p.prolang
  left join audit.manifest() m on m.kind = 'function' and m.name = f.name and m.body = audit.definition_hash(f.oid)
  -- offset 0: once for each function, and not once for each question.
  cross join lateral (
    select case when m.name is not null or f.vouched then null when l.lanname in ('sql', 'plpgsql') then audit.code_of(f.body, true) else f.body end,
      case when l.lanname in ('sql', 'plpgsql') then '' else '|"' end offset 0) c (code, quote)
  cross join lateral (
    select c.code, regexp_replace(c.code, '(?<!(\|\||\mraise(\s+\w+)?)\s*)(''|\$' || c.quote || ')\s*(re)?set\M', '<\2set>', 'gi')
      || regexp_replace(audit.code_of(c.code, false), '(^|;|\mbegin|\mthen|\melse|\mloop)\s*(re)?set\M', '<\2set>', 'gi')
      -- A second statement of the text.
      || coalesce((
        select string_agg(regexp_replace(x[1], '(;|\\[nrt])\s*(re)?set\M', '<\2set>', 'gi'), '')
        from regexp_matches(c.code, '\mexecute\s*(?:\w+\s*\(\s*)?(e?''(?:[^'']|'''')*'')', 'gi') x), '') offset 0) b (code, sets)
  cross join lateral (
    select case when b.sets ~* '<set>\s+(session\s+)?"?app"?\."?tenant_id"?\s*(=|to\M)'
             or exists (select from regexp_split_to_table(b.code, 'set_config\s*\(', 'i') with ordinality as c (call, n)
                        where c.n > 1 and split_part(c.call, ';', 1) ~* 'app\.tenant_id'
                          and split_part(c.call, ';', 1) !~* ',\s*(is_local\s*(=>|:=)\s*)?(true|''(t|true|on|yes|y|1)'')\s*\)')
             then 'the function sets app.tenant_id for the session, and not for the transaction'
           when p.prorettype = 'trigger'::regtype and b.code ~* 'set_tenant|app"?\s*\.\s*"?tenant_id' and audit.enters_named_tenant(f.oid, b.code)
             then 'the function enters a tenant that the row names: whoever writes the row acts in that one'
           when b.sets ~* '<set>\s+((session|local)\s+)?"?app"?\."?maintenance' or b.code ~* 'set_config\s*\([^;]*app\.maintenance' then 'the function sets app.maintenance, which opens every table to the owner'
           when b.code ~* '\mupdate\s+(pg_catalog\.)?pg_settings\M'
             or b.sets ~* '<(re)?set>\s+((session|local)\s+)?"?(role|session(\s+|_)authorization|row_security|session_replication_role)\M'
             or b.code ~* 'set_config\s*\([^;]*(''|\$)(role|session_authorization|row_security|session_replication_role)(''|\$)'
             then 'the function changes the role, or how policies and triggers apply to it'
           when p.provolatile = 'i' and (b.code ~* '\mtenant_id"?\s*\(|current_setting\s*\(\s*''app\.tenant_id' or exists (
               select from audit.code_of(b.code, false) k (code)
               cross join lateral (
                 select regexp_matches(k.code, '\m(?:from|join|table)\s+(?:only\s+)?(?:"?(\w+)"?\s*\.\s*)?"?(\w+)', 'gi')
                 union all -- with its schema also in a list, and in a text that is executed
                 select regexp_matches(b.code, '(?:\m(?:from|join|table)\s|[,(])\s*(?:only\s+)?"?(\w+)"?\s*\.\s*"?(\w+)', 'gi')) x (m)
               join tenants t on t.name = lower(m[2]) and t.schema = coalesce(lower(m[1]), t.schema)
               where m[1] is not null or k.code !~* format('\m%s\s*(\([^()]*\)\s*)?as\s+((not\s+)?materialized\s*)?\(', m[2]))) -- of a WITH
             then 'the function is IMMUTABLE and reads what differs from tenant to tenant: its answer is kept in plans, where the next request, of another tenant, finds it' end
    offset 0) s (fault)
  where f.schema <> 'audit' -- remedies there name what is looked for
  union all
  -- And what is no function, but calls these.
  select case when x.code ~* 'set_tenant\(|''"?(app"?\."?(tenant_id|maintenance)|role|session_authorization|row_security|session_replication_role)' then 'error' else 'warning' end,
    null, x.name, jsonb_build_object('object', pg_describe_object(x.classid, x.objid, 0)), 'it sets what is asked of the session: whoever uses it may be in another tenant, or role, afterwards', x.remedy
  from (select format(':funcid (%s) ', string_agg(oid::text, '|')) from pg_proc where oid in ('set_config(text,text,boolean)'::regprocedure, to_regprocedure('app.set_tenant(uuid)'))) s (calls)
  cross join lateral (
    select 'pg_attrdef'::regclass, d.oid, d.adrelid::regclass::text, pg_get_expr(d.adbin, d.adrelid), format('alter table %s alter column %I drop default;', d.adrelid::regclass, a.attname)
    from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum where d.adbin::text ~ s.calls
    union all
    select 'pg_constraint', k.oid, coalesce(nullif(k.conrelid, 0)::regclass::text, k.contypid::regtype::text), pg_get_constraintdef(k.oid),
      format('alter %s drop constraint %I;', coalesce('table ' || nullif(k.conrelid, 0)::regclass, 'domain ' || k.contypid::regtype), k.conname)
    from pg_constraint k where k.conbin::text ~ s.calls and k.coninhcount = 0
    union all
    select 'pg_type', t.oid, t.oid::regtype::text, pg_get_expr(t.typdefaultbin, 0), format('alter domain %s drop default;', t.oid::regtype) from pg_type t where t.typdefaultbin::text ~ s.calls
    union all
    select 'pg_rewrite', w.oid, w.ev_class::regclass::text, pg_get_ruledef(w.oid),
      format(case when w.rulename <> '_RETURN' then 'drop rule %2$I on %1$s;' when c.relkind = 'm' then 'drop materialized view %1$s;' else 'drop view %1$s;' end, w.ev_class::regclass, w.rulename)
    from pg_rewrite w join pg_class c on c.oid = w.ev_class where w.oid >= 16384 and w.ev_action::text ~ s.calls
    union all
    select 'pg_trigger', t.oid, t.tgrelid::regclass::text, pg_get_triggerdef(t.oid), format('drop trigger %I on %s;', t.tgname, t.tgrelid::regclass)
    from pg_trigger t where t.tgqual::text ~ s.calls and t.tgparentid = 0
    union all
    select 'pg_policy', p.oid, p.polrelid::regclass::text, concat(pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid)), format('drop policy %I on %s;', p.polname, p.polrelid::regclass)
    from pg_policy p where concat(p.polqual::text, p.polwithcheck::text) ~ s.calls and p.polrelid not in (select relid from audit.relations()) -- of which policy_function tells
    union all
    select 'pg_proc', f.oid, f.oid::regprocedure::text, pg_get_function_arguments(f.oid), format('select pg_get_functiondef(%L::regprocedure); -- and make it again without that default', f.oid::regprocedure)
    from pg_proc f where f.proargdefaults::text ~ s.calls and f.oid >= 16384) x (classid, objid, name, code, remedy)
$$;

-- A key's own action runs as the owner of the table, and as no policy applied: a trigger that it fires runs likewise, before the
-- row on every release, after it on Postgres 18 and newer. Every tenants' table is reached so, from app.tenants.
create or replace function audit.check_trigger_rights()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  with recursive written (relid) as (
    select relid from audit.relations()
    union
    -- Elsewhere, from where requests write.
    select conrelid::regclass from pg_constraint
    where contype = 'f' and (confdeltype in ('c', 'n', 'd') and has_table_privilege('tms_app', confrelid, 'delete')
      or confupdtype in ('c', 'n', 'd') and has_any_column_privilege('tms_app', confrelid, 'update'))
    union
    select k.conrelid::regclass from written w join pg_constraint k on k.confrelid = w.relid and k.contype = 'f' and (k.confdeltype in ('c', 'n', 'd') or k.confupdtype in ('c', 'n', 'd'))
  ), updated as (
    select r.relid, c.relowner from written r join pg_class c on c.oid = r.relid
    where exists (select from pg_constraint k where k.conrelid = r.relid and (k.confdeltype in ('n', 'd') or k.confupdtype in ('c', 'n', 'd')))
  ), faults as (
    select r.relid, t.tgname, p.oid, p.pronamespace, f.name,
      case when not p.prosecdef and b.code ~* '\m(select|table|insert|update|delete|merge|truncate|perform|execute|call)\M|(?<!\mdistinct\s+)\mfrom\s+(?!(new|old)\M)\w+\.\w' -- n := count(*) from shop.orders
        -- No key's action inserts, and few update.
        and (t.tgtype & 8 = 8 or t.tgtype & 16 = 16 and r.relid in (select relid from updated))
        then format('where a foreign key''s action fires the trigger, %s runs as %s %s', p.oid::regprocedure, c.relowner::regrole,
          case when t.tgtype & 2 = 2 then 'and past every policy: it reaches the rows of all tenants' else 'and, inside a tenant, sees no row: what it writes fails or changes nothing' end) end as fault
    from written r
    join pg_class c on c.oid = r.relid
    join pg_trigger t on t.tgrelid = r.relid and not t.tgisinternal and t.tgparentid = 0
    join pg_proc p on p.oid = t.tgfoid
    cross join lateral (
      select case when l.lanname = 'plpgsql' then audit.code_of(p.prosrc, false) else 'execute' end
      from pg_language l where l.oid = p.prolang) b (code)
    cross join lateral (
      select case when p.pronamespace = to_regnamespace('api') then 'api.' else 'app.' end || quote_ident(p.proname) || '()') f (name)
    where r.relid <> 'app.tenants'::regclass and p.oid >= 16384
      and (p.oid not in (select audit.of_extensions('pg_proc')) or p.proowner::regrole::text = any (audit.our_roles()))
  )
  select 'warning', null::uuid, f.relid::text, jsonb_build_object('trigger', f.tgname), f.fault,
    -- A function goes to another schema once, however many triggers call it.
    case when lag(f.oid) over (partition by f.oid, f.fault is null order by f.relid::text, f.tgname) is not null
      then format('-- as above, by the first trigger that calls %s', f.oid::regprocedure)
    else format(E'-- as docs/extending.md tells; in each of its statements name tenant_id, and the schema of each table and function:\n'
      '%1$sgrant create on schema app to tms_app; alter function %2$s owner to tms_app; revoke create on schema app from tms_app;\n'
      'set role tms_app; alter function %2$s security definer set search_path = pg_catalog, pg_temp; revoke all on function %2$s from public; reset role;\n'
      'select audit.accept(%2$L);',
      case when f.pronamespace not in ('app'::regnamespace, to_regnamespace('api')) then format(E'alter function %s set schema app;\n', f.oid::regprocedure) end,
      f.name) end
  from faults f
  union all
  -- So does what the row that it updates is made and tested with.
  select 'warning', null, u.relid::text, jsonb_build_object('uses', p.oid::regprocedure),
    case when not p.prosecdef and exists (
        select from audit.relations() r join pg_class c on c.oid = r.relid
        where audit.code_of(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), true) ~* format('\m%s\M', regexp_replace(c.relname, '(\W)', '\\\1', 'g')))
      then format('where a foreign key''s action updates the row, %s runs as %s and past every policy: it reads the rows of all tenants', p.oid::regprocedure, u.relowner::regrole) end,
    format(E'-- let it read no table, or make it a definer of tms_app, as docs/extending.md tells of triggers:\nselect pg_get_functiondef(%L::regprocedure);', p.oid::regprocedure)
  from updated u
  cross join lateral (
    select distinct d.refobjid
    from (select 'pg_attrdef'::regclass, oid from pg_attrdef where adrelid = u.relid
          union all
          select 'pg_constraint'::regclass, oid from pg_constraint where conrelid = u.relid
          union all
          select 'pg_constraint'::regclass, k.oid from pg_attribute a join pg_constraint k on k.contypid = a.atttypid where a.attrelid = u.relid
          union all
          select 'pg_class'::regclass, indexrelid from pg_index where indrelid = u.relid) x (classid, objid)
    join pg_depend d on d.classid = x.classid and d.objid = x.objid and d.refclassid = 'pg_proc'::regclass) f
  join pg_proc p on p.oid = f.refobjid
$$;

-- An id that means nothing to others may be told, and one of a few words. A row as a whole may not, nor a text of it: neither new nor old, nor all rows
-- of a statement, nor a variable that was made from them.
create or replace function audit.check_trigger_notifies()
returns setof audit.observation
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select 'warning', null::uuid, r.relid::text, jsonb_build_object('trigger', t.tgname),
    case when p.proname = 'triggered_change_notification' and l.lanname = 'c' then 'NOTIFY tells whoever listens the keys of the rows, and so whose they are'
         when w.told then format('%s sends rows of the table, or texts of them, to whoever listens: NOTIFY knows no policy', p.oid::regprocedure) end,
    format(E'-- better send an id that means nothing to others, and read the row inside its tenant; until then:\ndrop trigger %I on %s;', t.tgname, r.relid)
  from audit.relations() r
  join pg_trigger t on t.tgrelid = r.relid and not t.tgisinternal and t.tgparentid = 0
  join pg_proc p on p.oid = t.tgfoid
  join pg_language l on l.oid = p.prolang
  cross join lateral (
    select audit.code_of(c.body, true), d.code, regexp_replace(d.code, '\m(from|join)\s+\w+\M(?!\s*\.)', '', 'gi'), -- an alias's name is not its rows
      case when c.body is not null then (
        select '(?:new|old)\s*\.\s*"?(?:' || string_agg(lower(a.attname), '|') || ')'
        from pg_attribute a join pg_type y on y.oid = a.atttypid
        where a.attrelid = r.relid and not a.attisdropped and (y.typcategory = 'S' or y.oid in ('json'::regtype, 'jsonb'::regtype)) and not exists (
          select from pg_constraint k
          where k.conrelid = r.relid and a.attnum = any (k.conkey) and (k.contype in ('p', 'f') or k.contype = 'c' and k.conbin::text like '%SCALARARRAYOPEXPR%'))) end
    from (select case when p.prosrc ~* 'notify' then p.prosrc end) c (body)
    cross join lateral (select audit.code_of(c.body, false)) d (code)
    offset 0) b (code, whole, bare, texts)
  cross join lateral (
    with recursive assigned (variable, value) as (
      select m[1], m[2]
      from regexp_matches(b.bare, '(?:^|;|\m(?:declare|begin|then|else|loop))\s*(?!(?:declare|begin|then|else|loop|if|elsif|case|when|while|return|perform|select|update)\M)(\w+)(?:\s+\w+)?\s*:?=([^;]*)', 'gi') m
      union all
      select m[2], m[1] from regexp_matches(b.bare, '\mselect\M([^;]*)\minto\s+(?:strict\s+)?(\w+)', 'gi') m
      union all
      select m[1], m[2] from regexp_matches(b.whole, '\mfor\s+(\w+)\s+in\s+(?:select\s+\*\s+from|table)\s+(\w+)', 'gi') m
    ), whole (name) as (
      select x collate "C" from unnest(array['(?:new|old)', b.texts, lower(t.tgoldtable), lower(t.tgnewtable)]) x where x is not null
      union
      select lower(a.variable) from whole w join assigned a on a.value ~* format('\m%s\M(?!\s*\.\s*["\w])', w.name)
    ), sent (what) as (
      select m[1] from regexp_matches(b.bare, '\mpg_notify\s*\(([^;]*)', 'gi') m
      union all
      select m[1] from regexp_matches(b.code, '\mexecute\M([^;]*\mnotify\M[^;]*)', 'gi') m
    )
    select exists (select from whole w join sent s on s.what ~* format('\m%s\M(?!\s*\.\s*["\w])', w.name))) w (told)
$$;
--! EndIncluded audit/checks/bodies.sql
--! Included audit/manifest.sql
-- Written by UPDATE_DOCS=1 npm test -- test/audit/manifest.test.ts, from what the migrations make; a test holds it to that.
create or replace function audit.manifest()
returns table (kind text, name text, owner text, granted text, body text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('function', 'api.add_member(text,text,text,text,text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '2f97023490ea72b34cf4ef4103d6e746'),
    ('function', 'api.approve_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'f3bfd8c25f9a6245e3ef838978073cd0'),
    ('function', 'api.create_tenant(text,text,text,text,text,text,text,text,jsonb,boolean,boolean,text)', 'tms_registrar', 'tms_service', '2e32d6041832e3e8150a7c8cdeacddc0'),
    ('function', 'api.delete_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '6eb37335359d2e7cf4270d311cf695dc'),
    ('function', 'api.ensure_default_tenant(text,text)', 'tms_registrar', 'tms_service', '8c20a270f8f8be8ef8b57704ce3a4f4c'),
    ('function', 'api.explain_access(text,text,text,text,boolean)', 'tms_registrar', 'tms_auditor tms_owner', '44861a70b56289848c0987b2d5988fb3'),
    ('function', 'api.explain_for_operator(text,text,text,text,text,text,text,text,text,text,boolean)', 'tms_registrar', 'tms_service', 'c07b53b6e0e36351d3d9ad7164dcb78e'),
    ('function', 'api.get_current_tenant(text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a2dabea3f1b69467272845bd714af71'),
    ('function', 'api.get_login_faults()', 'tms_registrar', 'tms_service', '42564d4a18c5f86fd8b79c9c8b932210'),
    ('function', 'api.get_readiness(text)', 'tms_registrar', 'tms_service', '861b38cfc3d0f9673f58277b6b3c12fd'),
    ('function', 'api.get_registration_status(text,text,text,text,text,text,boolean,integer,text[])', 'tms_registrar', 'tms_service', 'f65556ea86242d3b80f4b6bf6872cf10'),
    ('function', 'api.get_schema_version()', 'tms_registrar', 'tms_service', 'f2a7f8344bf343031795bd5adcf44dad'),
    ('function', 'api.get_setup_status(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '644645cadd2d707d7257ffd9374cecad'),
    ('function', 'api.get_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '3b331c5f22ce84451db4d40c954cda90'),
    ('function', 'api.list_boards(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '232fea41870a7ebcd555b769c0c8bf42'),
    ('function', 'api.list_members(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '9c48b26b968b3a7851606bad8cf23e49'),
    ('function', 'api.list_my_tenants(text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '7fb84d44efb0ad29a3010156ec1c5076'),
    ('function', 'api.list_tenants(text,text,text,text,text,text,integer,text,text,text)', 'tms_registrar', 'tms_service', 'a2ed4035f6915b33773df85b2ea6e076'),
    ('function', 'api.register_tenant(text,text,text,text,text,text,text,text,text,text,jsonb,boolean,boolean,integer,text[],text)', 'tms_registrar', 'tms_service', '8f12ec3b17764ab3d66783ff940eb38c'),
    ('function', 'api.reject_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '6f7b849f51bac751aa6f08e886b85416'),
    ('function', 'api.remove_member(text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a93c5af2867a8cb0b3d40083d3b966e'),
    ('function', 'api.resume_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'a915796a579fa9f1ac63c2e737746713'),
    ('function', 'api.suspend_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '5dcc8a91279ab6c76561b86cdd412955'),
    ('function', 'api.take_rate_limit(text,text,integer)', 'tms_registrar', 'tms_service', 'cd69c8629b32585c78beaaaff0eee2b2'),
    ('function', 'api.update_tenant(text,text,text,text,text,text,text,text,text,jsonb,text[])', 'tms_registrar', 'tms_service', '48b1b9e33de7b08da7b21deaa0a637b8'),
    ('function', 'app.adopt(regclass)', 'tms_owner', '', '01b1a7f3124085f7bdc4b4365a4bd31e'),
    ('function', 'app.await_writers(uuid,boolean)', 'tms_registrar', '', '316ea0f7df30955e5eada3a31284089b'),
    ('function', 'app.board_json(app.boards)', 'tms_owner', 'tms_app', 'b2ff17214266ed6c2d039748d90c97f3'),
    ('function', 'app.count_tenants(text)', 'tms_registrar', 'tms_auditor', '469edab0911b6b7799ab8aecfb63b42c'),
    ('function', 'app.count_tenants_like(text,text)', 'tms_registrar', '', 'd5fd689fd694ae35e0b4513652271182'),
    ('function', 'app.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', '8297e332eda8e3937d95b839446598d2'),
    ('function', 'app.cursor_of(timestamp with time zone,uuid)', 'tms_owner', 'tms_app tms_registrar', '860fabd228104008346a85a66c10fdc1'),
    ('function', 'app.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '67ed87e44a0e6241901815fe9c9a643f'),
    ('function', 'app.enter_default(text,text,text,text)', 'tms_registrar', '', 'e53d9fd4554d7ce74d399f874e5a53bc'),
    ('function', 'app.enter_lobby(text,text,text,text,text)', 'tms_registrar', '', '3bf828d30b17036231b66576e4484145'),
    ('function', 'app.enter_tenant(text,text,text,text,text)', 'tms_registrar', 'tms_app', '33ec4070fb2a308b0c63b7f837402aaf'),
    ('function', 'app.etag(json)', 'tms_owner', 'tms_registrar', '8eb737e517796d6ce22928eb56414403'),
    ('function', 'app.fence_tenant(uuid)', 'tms_registrar', '', '3c0c05974051ce6ae813a5bca59726a4'),
    ('function', 'app.find_tenant(text,boolean)', 'tms_registrar', '', '919d46d05c3100ad0844ff3c5537542e'),
    ('function', 'app.find_tenant_to_change(text,text[])', 'tms_registrar', '', '7aa14f5731ecf3087f267e36070cd316'),
    ('function', 'app.insert_tenant(text,text,text,text,jsonb)', 'tms_registrar', '', '6549153521fb5ffc0a229706918f8cc3'),
    ('function', 'app.is_behind(text)', 'tms_owner', 'tms_registrar', '0c61b8391d6ee19f76981d39a8d2327d'),
    ('function', 'app.is_distributed()', 'tms_owner', 'tms_auditor tms_registrar', 'd512d0d1fdbd05e2ff6889bcc0192c54'),
    ('function', 'app.iso_time(timestamp with time zone)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'fd59885aa9770697873dee4f51a131e7'),
    ('function', 'app.isolate(regclass,boolean)', 'tms_owner', '', 'c03b627b849e7bb7db0ffcb4fa3ef7bf'),
    ('function', 'app.isolation_advice()', 'tms_registrar', '', '988d42ab55152904697d76d9421641ca'),
    ('function', 'app.isolation_breaches()', 'tms_registrar', '', '6a9ddfb86e9954d108e466f819fe09b1'),
    ('function', 'app.join_default(uuid,text,text,text,text)', 'tms_app', '', 'b7ac6dd1fcff487126c149995f4b5e60'),
    ('function', 'app.last_audit()', 'tms_owner', 'tms_registrar', 'c88a4e3575ea09c274ca35f2186f32c3'),
    ('function', 'app.leaking_tables()', 'tms_app', 'tms_auditor', '7f4b699eca6aef74799825a5e5d49de8'),
    ('function', 'app.lock_tenant(text)', 'tms_registrar', '', 'fdb2f07636e0ce359939859f86727e76'),
    ('function', 'app.member_json(app.users)', 'tms_owner', 'tms_app', 'a26aaca041cce263b087e34bf13bfab2'),
    ('function', 'app.move_tenant(text,text[],text,text)', 'tms_registrar', '', 'ee5850e71f4f5c4d77064d7bafb5fa14'),
    ('function', 'app.parse_uuid(text)', 'tms_owner', 'tms_app tms_registrar', '16cbb9025fe9d8da60ca41bdd12a10b6'),
    ('function', 'app.read_cursor(text)', 'tms_owner', 'tms_app tms_registrar', '784e132c450f7f990b3891e42f4db431'),
    ('function', 'app.refuse(integer,text,text,text,jsonb)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'ed53708c0d267cc1eda3001a2aa9e4fd'),
    ('function', 'app.refuse_slug(text)', 'tms_owner', 'tms_registrar', '0494b21e36b9be8782d818579eacf24b'),
    ('function', 'app.remove_tenant(app.tenants)', 'tms_registrar', '', '0e07ca947d8eb6df20f0633e482b86d9'),
    ('function', 'app.replay(text,text,text,jsonb)', 'tms_registrar', '', '1de402158f59334ded63d0ca48e00947'),
    ('function', 'app.require_match(app.tenants,text[])', 'tms_owner', 'tms_registrar', '36acea6d1f3a1c428113f3500284ff79'),
    ('function', 'app.require_member(uuid,uuid)', 'tms_owner', 'tms_app', 'c6d4124107c68742c702ce61fe216009'),
    ('function', 'app.require_member_admin(text,text)', 'tms_owner', 'tms_app', 'b28f892d33bfcb25492fef7ff3003841'),
    ('function', 'app.require_operator(text,text,text,text,text,text)', 'tms_registrar', '', 'cb53aa9b3e4769955e3bfc93a31352aa'),
    ('function', 'app.require_own_table(regclass)', 'tms_owner', 'tms_app tms_auditor', '372ed04befe2137666ccc0d3cd708e48'),
    ('function', 'app.require_status(app.tenants,text)', 'tms_owner', 'tms_registrar', 'b7e177058b7adfc35ee4d44f1917d91e'),
    ('function', 'app.schema_version()', 'tms_owner', 'tms_auditor tms_registrar', '81db2cc5b5ba419c5ace31eb05c7159e'),
    ('function', 'app.set_actor(text,text)', 'tms_owner', 'tms_registrar', '9fd716fca6d98ef85a81a4d0f9f5c190'),
    ('function', 'app.set_tenant(uuid)', 'tms_owner', 'tms_app tms_auditor tms_registrar', '5bd687a778e41bab3fe0cc75b0c20b2b'),
    ('function', 'app.shown_rows(uuid,integer)', 'tms_app', 'tms_auditor', 'a68c33344e0604f89c0d58c27c1d6740'),
    ('function', 'app.table_faults(regclass)', 'tms_owner', 'tms_auditor', 'f232c83feedde5096a7363d3cf056b4c'),
    ('function', 'app.tenant_id()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '9ca56ffeefeb0f10be11edde77d2f7dd'),
    ('function', 'app.tenant_json(app.tenants)', 'tms_owner', 'tms_app tms_registrar', '8faf545777e3b615ad9a588fe6b965a2'),
    ('function', 'app.tenant_page(integer,timestamp with time zone,uuid,text,text)', 'tms_registrar', '', '575d522375a1ff1ca17600e75e0e0e46'),
    ('function', 'app.tenant_tables()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '50a59e972960913f3b64685f6766e58e'),
    ('function', 'app.unprotected_tables()', 'tms_owner', 'tms_auditor tms_registrar', '8447f0500a6676562aefa282c426f9f8'),
    ('function', 'app.write_policies(regclass,name)', 'tms_owner', '', '16bf88379de7de608f081636ff88db64'),
    ('function', 'audit.accept(text)', 'tms_owner', 'tms_auditor', 'a131f7ffd9b349922fbb3b68f5036bd7'),
    ('function', 'audit.attempt(text,uuid,integer)', 'tms_owner', 'tms_auditor', '225e92a0a838bbb116cdbe066705a70e'),
    ('function', 'audit.bound(regclass)', 'tms_owner', 'tms_auditor', 'a4b71f5fd1ee6821f4da908c16936de3'),
    ('function', 'audit.by_acceptance(text,name,text)', 'tms_owner', 'tms_auditor', '5826636805fef7739d6dad7a137f91e0'),
    ('function', 'audit.by_giving_back(text,name)', 'tms_owner', 'tms_auditor', 'a17921e6df3e50e565d7c9402178ab65'),
    ('function', 'audit.by_moving(oid)', 'tms_owner', 'tms_auditor', 'ab75ac7ffd423e2577b0c5f358611d14'),
    ('function', 'audit.by_owner(name,text)', 'tms_owner', 'tms_auditor', '1c05b8ac43add9b39123ae59a0526038'),
    ('function', 'audit.check_app_reach()', 'tms_owner', 'tms_auditor', '3dfde5a5398a858ba124ca9c01172da5'),
    ('function', 'audit.check_audit_filtered()', 'tms_owner', 'tms_auditor', 'f6a1962925c49cd55de0af372a980648'),
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', '6c045381d725d926e931d71b047e9f1d'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', 'fbf75b4d3bf5c6df5a219a5c3fa253c7'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', '4bc9a18d746772555f169d42aa4bb79e'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', '1f7f4d253c174f7323bfc423cbe55110'),
    ('function', 'audit.check_foreign_table()', 'tms_owner', 'tms_auditor', 'dd7744f8f790a391194de8e7aa04c671'),
    ('function', 'audit.check_function_body()', 'tms_owner', 'tms_auditor', 'a9183356d15b1d3478bb5a29d759899b'),
    ('function', 'audit.check_function_bypass()', 'tms_owner', 'tms_auditor', '7d07094eded0dd6ce5d82f31b4f27f71'),
    ('function', 'audit.check_function_changed()', 'tms_owner', 'tms_auditor', '4f5676fc829d00fe20dfd02be9783115'),
    ('function', 'audit.check_function_leakproof()', 'tms_owner', 'tms_auditor', 'd77af029401976b475f7199ef15487bc'),
    ('function', 'audit.check_function_owner()', 'tms_owner', 'tms_auditor', '310efb22cf0c443834e9676127d8e257'),
    ('function', 'audit.check_function_public()', 'tms_owner', 'tms_auditor', '31e13f19ef2a9cce97644e0d27b16666'),
    ('function', 'audit.check_function_search_path()', 'tms_owner', 'tms_auditor', 'dca178e23aee4cf029eac64678b0017e'),
    ('function', 'audit.check_function_security()', 'tms_owner', 'tms_auditor', 'ce251b1eb7abf63c86ec57f92b3072ce'),
    ('function', 'audit.check_function_settings()', 'tms_owner', 'tms_auditor', 'b47ac2d648d1ae22490277dac35c49e8'),
    ('function', 'audit.check_index_missing()', 'tms_owner', 'tms_auditor', 'b544bf59f5d2009acc58b99acaca86c4'),
    ('function', 'audit.check_other_grants()', 'tms_owner', 'tms_auditor', 'dbf04985d622cc40230bb7ec9f76bb8c'),
    ('function', 'audit.check_policy_changed()', 'tms_owner', 'tms_auditor', '28a0f3722760e6e67af5cb5f4d868c7c'),
    ('function', 'audit.check_policy_extra()', 'tms_owner', 'tms_auditor', 'c284abb96916f7827935560688102e71'),
    ('function', 'audit.check_policy_function()', 'tms_owner', 'tms_auditor', 'e1c19f4331a9df790d8945ec7faed8c9'),
    ('function', 'audit.check_policy_missing()', 'tms_owner', 'tms_auditor', '1832f482c5fcbef65005be1c1f5b11d1'),
    ('function', 'audit.check_publication()', 'tms_owner', 'tms_auditor', '566a00097081d7764931cdb37af7dd97'),
    ('function', 'audit.check_registrar_reach()', 'tms_owner', 'tms_auditor', '0d8865ac4111ae12999b518c4b0597ed'),
    ('function', 'audit.check_rewrite_rule()', 'tms_owner', 'tms_auditor', 'dd5a90c6dae30ef82d55a76783ff3454'),
    ('function', 'audit.check_rights_missing()', 'tms_owner', 'tms_auditor', '1c8db2341db2d7618db6e12cff03dc04'),
    ('function', 'audit.check_rls_disabled()', 'tms_owner', 'tms_auditor', 'f9b1161bed0f117592e3df80920ad04c'),
    ('function', 'audit.check_rls_not_forced()', 'tms_owner', 'tms_auditor', '02fcf67fb0ad0ae6af9fe92ab719a004'),
    ('function', 'audit.check_role_attributes()', 'tms_owner', 'tms_auditor', '575531841992472c2d5c5bd200fbd9b6'),
    ('function', 'audit.check_role_membership()', 'tms_owner', 'tms_auditor', '8d6b21f6f2a560c935f8df194a419fd9'),
    ('function', 'audit.check_role_owns()', 'tms_owner', 'tms_auditor', '76f522701b48a9610786180fd9adb50a'),
    ('function', 'audit.check_role_settings()', 'tms_owner', 'tms_auditor', 'f2b5b972511c185b1732aae9526c9c91'),
    ('function', 'audit.check_rows(text,uuid,bigint[])', 'tms_owner', 'tms_auditor', '33887f08c45a5330ab690e5fac1c76ed'),
    ('function', 'audit.check_schema_grants()', 'tms_owner', 'tms_auditor', 'ae19b77b3ad4a870c518ec7de561e536'),
    ('function', 'audit.check_server_settings()', 'tms_owner', 'tms_auditor', '53cabf313d770095a052541b2e7b8be6'),
    ('function', 'audit.check_server_version()', 'tms_owner', 'tms_auditor', '1effe665c994fb7dd9d0642cd57187c4'),
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', 'a787fc3c2e2d684ab2cf4edf7fde08d4'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '57e556d774dc091acb413beac4d7c085'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', 'ea7948ade84356dca011bc420f852827'),
    ('function', 'audit.check_system_grants()', 'tms_owner', 'tms_auditor', 'd5e268ce37a69da9d1c054e2a0671072'),
    ('function', 'audit.check_table_grants()', 'tms_owner', 'tms_auditor', '17cc5d1c45ebea43fb3409ec48ddb3d5'),
    ('function', 'audit.check_table_inherits()', 'tms_owner', 'tms_auditor', '0ba207f4146feb218cc8b13711ee9f1a'),
    ('function', 'audit.check_table_missing()', 'tms_owner', 'tms_auditor', 'd13d37376b3026061141500c441c1bcc'),
    ('function', 'audit.check_table_owner()', 'tms_owner', 'tms_auditor', 'cc9f419bf6de76dfa0e9ea8ff8d420e5'),
    ('function', 'audit.check_table_rules()', 'tms_owner', 'tms_auditor', '861fb53abed480788e8819ce1841cc9c'),
    ('function', 'audit.check_table_without_tenant()', 'tms_owner', 'tms_auditor', '947e5892b33ea04ea7eb66a5c95b9c9d'),
    ('function', 'audit.check_tenant_id_function()', 'tms_owner', 'tms_auditor', 'be3f439878e18252ab4495eab95f1f42'),
    ('function', 'audit.check_tenant_key()', 'tms_owner', 'tms_auditor', 'bab30b90b68842e7a8fbb0262dd6d093'),
    ('function', 'audit.check_trigger_disabled()', 'tms_owner', 'tms_auditor', 'd99ff818e85d5d623a9751e3d1881098'),
    ('function', 'audit.check_trigger_notifies()', 'tms_owner', 'tms_auditor', 'f148f3f8c95acf7e6e6ed5df4e24a432'),
    ('function', 'audit.check_trigger_rights()', 'tms_owner', 'tms_auditor', '693ac2a093dc4ead5345d93d13722777'),
    ('function', 'audit.check_unique_key_missing()', 'tms_owner', 'tms_auditor', 'd43abea332e859e4b3d714e33c9341e0'),
    ('function', 'audit.check_view_leaks()', 'tms_owner', 'tms_auditor', '7871c909258d9ace0e43124e55abd457'),
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', '9db0dc4a0682b9c10c60a98fc5959e1b'),
    ('function', 'audit.code_of(text,boolean)', 'tms_owner', 'tms_auditor', 'c653f72cd36fc8f310c493455acf9b2d'),
    ('function', 'audit.comparisons(oid)', 'tms_owner', 'tms_auditor', '879a8daee1e3314dcb35b18e0650d0a2'),
    ('function', 'audit.count_lost_tenants(regclass)', 'tms_owner', 'tms_auditor', '48b396076d73de4b2c083a0baae79bb0'),
    ('function', 'audit.count_suspects(text,text[],regclass,name)', 'tms_owner', 'tms_auditor', '7296026bfb4ca52aacd5ce67d4b34484'),
    ('function', 'audit.data_checks()', 'tms_owner', 'tms_auditor', '7b29736eb3fcacc231676c46c78e6666'),
    ('function', 'audit.default_of(text)', 'tms_owner', 'tms_auditor', '7ffd506ec2b343ed196fd1dc2857e94f'),
    ('function', 'audit.definition_hash(oid)', 'tms_owner', 'tms_auditor', '7d4595e6b1840c52b7456efb9f44930d'),
    ('function', 'audit.enters_named_tenant(oid,text)', 'tms_owner', 'tms_auditor', 'a4a30b017b4124027a64a75666a4b977'),
    ('function', 'audit.examine(text,uuid,integer)', 'tms_owner', 'tms_auditor', '723c6c39873af3a5503b46a5b3497cd0'),
    ('function', 'audit.expected_policies()', 'tms_owner', 'tms_auditor', '810802f6e382d99beb56fb3330870c7a'),
    ('function', 'audit.expected_references()', 'tms_owner', 'tms_auditor', 'b1fe44c1e3cfed3cdf5309b193602aee'),
    ('function', 'audit.filter_of(regclass)', 'tms_owner', 'tms_auditor', '733692876d5e6582a29c2d0d563f1f6e'),
    ('function', 'audit.find_tenant(text)', 'tms_owner', 'tms_auditor', 'f7af4ca5e9972e7e92aaf3bdbc4f1cc2'),
    ('function', 'audit.finish_run(bigint)', 'tms_owner', 'tms_auditor', 'fda1a2edc4f2b4cfdd811652e24d622a'),
    ('function', 'audit.functions()', 'tms_owner', 'tms_auditor', 'ce58dec2520f96fba7ecbe5c3ba1f16e'),
    ('function', 'audit.has_rows(regclass,name,uuid)', 'tms_owner', 'tms_auditor', 'cb2a97af9c825ca6d0c8316bc29a0674'),
    ('function', 'audit.installed()', 'tms_owner', 'tms_auditor', '1fae3c4e0b8e031c9bc3445a5ed7b45e'),
    ('function', 'audit.is_inherited(regclass)', 'tms_owner', 'tms_auditor', 'a7ea746ec51ec75d5477d08197fbe8c5'),
    ('function', 'audit.is_never_null(regclass,name)', 'tms_owner', 'tms_auditor', '0d8d1f65be045d42ac17782b75a8bb76'),
    ('function', 'audit.is_proved(regclass,text)', 'tms_owner', 'tms_auditor', '25837b3aecfc0e552fc5207e2f3ff9ee'),
    ('function', 'audit.is_unique(regclass,name[])', 'tms_owner', 'tms_auditor', '92bfe836b03b4d95b5748060a3c337d6'),
    ('function', 'audit.manifest()', 'tms_owner', 'tms_auditor', ''),
    ('function', 'audit.of_extensions(regclass)', 'tms_owner', 'tms_auditor', '63192a2e82a10dce9e01cb456178e100'),
    ('function', 'audit.our_roles()', 'tms_owner', 'tms_auditor', '5dab71b472e5360b7a2ae17eb1cd2f43'),
    ('function', 'audit.own_tables()', 'tms_owner', 'tms_auditor', 'd8d62003b8a8ea98a89b0fb97bae35d7'),
    ('function', 'audit.pass_checks(text)', 'tms_owner', 'tms_auditor', '3690d152fc02db79c130879c024c11bc'),
    ('function', 'audit.passes(text,boolean)', 'tms_owner', 'tms_auditor', '96dbcc22ca1b79f0f3287b8a1c2f9d2e'),
    ('function', 'audit.plan_merges(regclass,name,integer)', 'tms_owner', 'tms_auditor', 'd108b6b303d8f7d9593126ec54ce1bb9'),
    ('function', 'audit.progress_line(integer,integer,text,bigint,bigint,timestamp with time zone,text)', 'tms_owner', 'tms_auditor', '95e256b7454f60f5855a215e54f8d46d'),
    ('function', 'audit.protection_query()', 'tms_owner', 'tms_auditor', '6faa68ed577394cedf3d883887008e57'),
    ('function', 'audit.prove(text,uuid,integer)', 'tms_owner', 'tms_auditor', '4d1b764e97341981ccdd7c5ab700fbf2'),
    ('function', 'audit.record_pass(bigint,text)', 'tms_owner', 'tms_auditor', '61d259898bce3cab0c44cd51b704cfd6'),
    ('function', 'audit.relations()', 'tms_owner', 'tms_auditor', '7f840a63381ffbf1e5a4aaa63aa2b661'),
    ('function', 'audit.relations(regclass[])', 'tms_owner', 'tms_auditor', '78e3e595b58833e604bf651ce9597df6'),
    ('function', 'audit.report(bigint)', 'tms_owner', 'tms_auditor', '1525d5551cc25ba8f8b0d8031afa99a6'),
    ('function', 'audit.require_isolation()', 'tms_owner', 'tms_auditor', '1ce02f8819524f9c89ec8d6591bb77d2'),
    ('function', 'audit.require_unfiltered(regclass)', 'tms_owner', 'tms_auditor', '4ab6885a92e5986c7051f0032ce4ffc5'),
    ('function', 'audit.role_name(oid)', 'tms_owner', 'tms_auditor', 'd93e0bfa0cc30ca6a3a0e814d7901901'),
    ('function', 'audit.row_tests(regclass)', 'tms_owner', 'tms_auditor', 'bbca1cac025ba3ecd5cdf11eae6a42bb'),
    ('function', 'audit.run(text,text,integer,bigint)', 'tms_owner', 'tms_auditor', 'f30ad84e75d3d727a46ca711468351fa'),
    ('function', 'audit.run_check(text,text,integer)', 'tms_owner', 'tms_auditor', 'd4f5e06dee60c858690543f7df24581c'),
    ('function', 'audit.run_family(text,boolean,integer)', 'tms_owner', 'tms_auditor', '1cb2d1dc963d4b0d84f1e768ef2b61ae'),
    ('function', 'audit.sample_tenants(uuid,integer)', 'tms_owner', 'tms_auditor', '0ad9c042a63b35d83bd30743bc3698e3'),
    ('function', 'audit.say_scanned(bigint)', 'tms_owner', 'tms_auditor', '6b02023e2942fc31f4fa347a9a1eee61'),
    ('function', 'audit.scan(regclass,uuid)', 'tms_owner', 'tms_auditor', '9c433b86292b13cbe38a6aff785f6498'),
    ('function', 'audit.scanned(text)', 'tms_owner', 'tms_auditor', '714ae3acb57dbdc53fb0a71fd8427aa1'),
    ('function', 'audit.severity_rank(text)', 'tms_owner', 'tms_auditor', '1fa26f34a59db5d581099b2a3365ab06'),
    ('function', 'audit.short_hash(text)', 'tms_owner', 'tms_auditor', '6f23cfe71952fec1f8acb0400a595545'),
    ('function', 'audit.slices(regclass,name,uuid)', 'tms_owner', 'tms_auditor', '4b3ce6a95861c87d59d8f5ad643270b3'),
    ('function', 'audit.start_run(text,text,integer)', 'tms_owner', 'tms_auditor', '23e14457719a6c8e00785fb32adc22e4'),
    ('function', 'audit.template_rights()', 'tms_owner', 'tms_auditor', '895240ac6dccd5a5070dad49e0c10c8b'),
    ('function', 'audit.tenant_references()', 'tms_owner', 'tms_auditor', '7e63f48453607ddccc4fe6791d2fe0f8'),
    ('function', 'audit.tenant_references(regclass)', 'tms_owner', 'tms_auditor', '662987541e379f8f9fb0dd0cc9345954'),
    ('function', 'audit.try_writes(regclass,name,uuid,uuid)', 'tms_owner', 'tms_auditor', '615b758e986a60510125fd10cea4206c'),
    ('function', 'audit.version_fault(integer,boolean)', 'tms_owner', 'tms_auditor', '06d07c9578250233fc2390a7b0188d14'),
    ('function', 'audit.visible_rows(regclass,name,uuid[])', 'tms_owner', 'tms_auditor', 'f56e328b033e956fdab9d1f8baad34ba'),
    ('function', 'control.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', 'f51e10df58d79ca3a0d0795dfe58aa56'),
    ('function', 'control.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '64ba8d9e056505dbf964689f858940de'),
    ('function', 'control.examine(text,uuid,integer)', 'tms_auditor', 'tms_owner', '51b19e3e922c05db62e7100805aeab0a'),
    ('function', 'control.find_tenant(text)', 'tms_auditor', 'tms_owner', '092ecd4817dc31d218f82c2a5fb7fb1b'),
    ('function', 'control.held_rows(regclass,uuid,integer)', 'tms_auditor', 'tms_registrar', '49f285b797178536712ef24c4701d0aa'),
    ('function', 'control.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', '379f66e5be803b087e2d33e846308ed7'),
    ('function', 'control.leaking_tables()', 'tms_app', 'tms_registrar', 'a64065acd87739f1fa6faf8563022cdf'),
    ('function', 'control.shown_rows(uuid,integer)', 'tms_app', 'tms_registrar', '940fe838dabb731f042c6f4ee27bec1c'),
    ('function', 'control.tg_tenants__count()', 'tms_owner', '', '9737cde625d18b6cd691d3909049c634'),
    ('function', 'control.tg_tenants__record()', 'tms_owner', '', 'c5bcc8f27a34855b08f6954793bb871a'),
    ('function', 'control.try_writes(regclass,name,uuid,uuid)', 'tms_app', 'tms_owner', 'c1a9c81872b0f88b78929ad1aad62b83'),
    ('function', 'control.visible_rows(regclass,name,uuid[])', 'tms_app', 'tms_owner', '4c624280d5b02e03a6ccbb7a19cbb73f'),
    ('trigger', '_500_count_delete on app.tenants', '', '', 'dae737c3cddf08b70a4e63626f9fd7ad'),
    ('trigger', '_500_count_insert on app.tenants', '', '', '3d1350530d7d1487c4b6c3df953b505a'),
    ('trigger', '_500_count_truncate on app.tenants', '', '', '464acf41f80ba54008e74b1b9cfa2b17'),
    ('trigger', '_500_count_update on app.tenants', '', '', '2fabaee9bcae28855c95ce5e7c5c3677'),
    ('trigger', '_600_record_delete on app.tenants', '', '', 'dd4ca5ebe052335dac1b828f3c9f33e1'),
    ('trigger', '_600_record_insert on app.tenants', '', '', 'df1991c7cc1a8c76af7ad26d2962b8cb'),
    ('trigger', '_600_record_update on app.tenants', '', '', '676657851e292162756ebbb434641cb3')
$$;
comment on function audit.manifest() is
  'The functions of this release, who owns and may execute them, and the triggers on its tables, each with a hash of what it does.';
--! EndIncluded audit/manifest.sql
--! Included audit/end.sql
-- Everything in the schema is for tms_auditor, but for what only the procedure's own steps may call.
do $$
declare
  v_function record;
begin
  for v_function in
    select oid::regprocedure as name, prokind from pg_catalog.pg_proc
    where pronamespace = 'audit'::regnamespace and proowner = 'tms_owner'::regrole
  loop
    execute pg_catalog.format('revoke all on %s %s from public', case v_function.prokind when 'p' then 'procedure' else 'function' end, v_function.name);
    execute pg_catalog.format('grant execute on %s %s to tms_auditor', case v_function.prokind when 'p' then 'procedure' else 'function' end, v_function.name);
  end loop;
end
$$;
-- One sentence for \df+ and the documentation.
do $$
declare
  v_check record;
begin
  for v_check in select "check", finds from audit.checks() where to_regprocedure('audit.check_' || "check" || '()') is not null loop
    execute pg_catalog.format('comment on function audit.check_%s() is %L', v_check."check", v_check.finds);
  end loop;
end
$$;
revoke create, usage on schema control from tms_app, tms_auditor;
--! EndIncluded audit/end.sql
set local citus.enable_ddl_propagation = on;
