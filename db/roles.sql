-- The five roles of the service. Roles belong to the cluster, not to one database, so no migration makes them.
-- Run by an administrator (superuser, or CREATEROLE), as often as you like, before the first migration:
--   psql -v ON_ERROR_STOP=1 -f db/roles.sql "$ROOT_DATABASE_URL"
-- A second run repairs only what has drifted. Passwords are not set here; give the two logins theirs with
--   \password tms_owner   and   \password tms_service
do $$
declare
  -- The nodes of a Citus cluster connect to each other as the current role, so there every role must be able to log in.
  v_citus constant boolean := exists (select from pg_catalog.pg_settings where name = 'citus.shard_count' and vartype = 'integer');
  v_wanted record;
  v_found pg_catalog.pg_roles;
  v_drift text;
  v_setting text;
  v_member record;
  v_of_owner text[] := '{}';
  v_of_service text[] := array[
    -- Requests are short. The server ends longer ones, whatever the client does. Short statements gain nothing from jit.
    'statement_timeout=30s',
    -- Shorter than the wait for a connection: requests that wait for one tenant's lock must not use up all connections for long.
    'lock_timeout=2s',
    'idle_in_transaction_session_timeout=30s',
    'search_path=pg_catalog, pg_temp',
    'jit=off',
    -- A statement that has waited for a lock must see what others committed meanwhile.
    'default_transaction_isolation=read committed',
    -- Values that a server sets for other applications would change responses: quoted names, fewer search results.
    'quote_all_identifiers=off',
    'gin_fuzzy_search_limit=0'
  ];
begin
  perform pg_catalog.pg_advisory_xact_lock(8624367001);  -- a second pipeline waits
  perform pg_catalog.set_config('client_min_messages', 'warning', true);

  -- Migrations and commands have no time limit. They set the other time-outs themselves; transaction_timeout exists since Postgres 17.
  if current_setting('server_version_num')::int >= 170000 then
    v_of_owner := v_of_owner || 'transaction_timeout=0'::text;
    v_of_service := v_of_service || 'transaction_timeout=0'::text;
  end if;
  -- The server cancels a statement, also one that waits for a lock, once the service has closed the connection. Not on Windows.
  if version() !~* 'windows|mingw|visual c' then
    v_of_service := v_of_service || 'client_connection_check_interval=500ms'::text;
  end if;

  for v_wanted in
    select *
    from (values
      ('tms_owner', true, v_of_owner, 'Owns the objects of the tenant management service; the login of migrations'),
      ('tms_service', true, v_of_service, 'The service''s login: may execute api functions and nothing else; member of nothing'),
      ('tms_app', v_citus, '{}', 'The application inside one tenant: every right it has is under row-level security'),
      ('tms_registrar', v_citus, '{}',
        'Owns the few functions that must cross tenants; reaches app.tenants, app.users and the bookkeeping in control'),
      ('tms_auditor', v_citus, '{}', 'For DBAs: runs the isolation audit and reads every tenant; writes only audit results')
    ) as wanted (name, can_login, settings, purpose)
  loop
    if not exists (select from pg_catalog.pg_roles where rolname = v_wanted.name) then
      begin
        execute format('create role %I noinherit', v_wanted.name);
      exception when unique_violation or duplicate_object then
        null; -- the pipeline of another database has just created it
      end;
    end if;

    -- Alters only what differs: only a superuser may name SUPERUSER or REPLICATION, even to switch them off. And the lock above holds
    -- in this database only: a pipeline of another database that alters the same role at the same moment makes one of them fail.
    select * into strict v_found from pg_catalog.pg_roles where rolname = v_wanted.name;
    v_drift := concat_ws(' ',
      case when v_found.rolcanlogin <> v_wanted.can_login
        then case when v_wanted.can_login then 'login' else 'nologin' end end,
      case when v_found.rolinherit then 'noinherit' end,
      case when v_found.rolsuper then 'nosuperuser' end,
      case when v_found.rolcreatedb then 'nocreatedb' end,
      case when v_found.rolcreaterole then 'nocreaterole' end,
      case when v_found.rolreplication then 'noreplication' end,
      case when v_found.rolbypassrls then 'nobypassrls' end);
    if v_drift <> '' then
      execute format('alter role %I %s', v_wanted.name, v_drift);
    end if;
    if v_wanted.settings is distinct from coalesce(
      (select setconfig from pg_catalog.pg_db_role_setting where setrole = v_found.oid and setdatabase = 0), '{}')
    then
      execute format('alter role %I reset all', v_wanted.name);
      foreach v_setting in array v_wanted.settings loop
        -- A quoted search_path would name one schema.
        execute format(case when v_setting like 'search_path=%' then 'alter role %I set %s = %s' else 'alter role %I set %s = %L' end,
          v_wanted.name, split_part(v_setting, '=', 1), split_part(v_setting, '=', 2));
      end loop;
    end if;
    for v_member in
      select d.datname
      from pg_catalog.pg_db_role_setting s
      join pg_catalog.pg_database d on d.oid = s.setdatabase
      where s.setrole = v_found.oid
    loop
      execute format('alter role %I in database %I reset all', v_wanted.name, v_member.datname);
    end loop;
    if v_wanted.purpose is distinct from shobj_description(v_found.oid, 'pg_authid') then
      execute format('comment on role %I is %L', v_wanted.name, v_wanted.purpose);
    end if;
  end loop;

  -- None of the five is a member of another role, except tms_owner of the three below.
  for v_member in
    select g.rolname as granted, m.rolname as member
    from pg_catalog.pg_auth_members a
    join pg_catalog.pg_roles g on g.oid = a.roleid
    join pg_catalog.pg_roles m on m.oid = a.member
    where m.rolname in ('tms_owner', 'tms_service', 'tms_app', 'tms_registrar', 'tms_auditor')
      and not (m.rolname = 'tms_owner' and g.rolname in ('tms_app', 'tms_registrar', 'tms_auditor'))
  loop
    execute format('revoke %I from %I', v_member.granted, v_member.member);
  end loop;

  -- tms_owner may become these to create their functions, and has none of their rights without SET ROLE (NOINHERIT). Since Postgres 16
  -- this is an option of the grant.
  for v_member in
    select granted
    from unnest(array['tms_app', 'tms_registrar', 'tms_auditor']) as granted
    where coalesce((
      select bool_or(to_jsonb(a) ->> 'inherit_option' = 'true' or to_jsonb(a) ->> 'set_option' = 'false')
      from pg_catalog.pg_auth_members a
      where a.roleid = granted::regrole and a.member = 'tms_owner'::regrole), true)
  loop
    execute format('grant %I to tms_owner', v_member.granted);
    if current_setting('server_version_num')::int >= 160000 then
      execute format('grant %I to tms_owner with inherit false, set true', v_member.granted);
    end if;
  end loop;
end
$$;
