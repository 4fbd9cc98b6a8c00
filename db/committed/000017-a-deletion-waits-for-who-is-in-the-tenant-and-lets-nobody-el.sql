--! Previous: sha1:1b6073c9ac3e62cc49d1c453a657b78d0df2dc40
--! Hash: sha1:12d40be08b91b11438ad9c3029c5438937f500e0
--! Message: a deletion waits for who is in the tenant and lets nobody else in

-- Whoever is in a tenant and whoever deletes it no longer meet in deadlocks.
set local citus.enable_ddl_propagation = off;
grant create on schema app, api to tms_app, tms_registrar;
--! Included context/refuse.sql
-- Functions raise, nothing returns an error value. SQLSTATE TMnnn is HTTP nnn; src/errors.ts reads the rest.
create or replace function app.refuse(p_status int, p_error text, p_detail text, p_reason text, p_extra jsonb default null)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'TM' || p_status, message = p_detail, hint = p_error, constraint = p_reason,
    detail = coalesce(p_extra::text, '');
end
$$;

comment on function app.refuse(int, text, text, text, jsonb) is
  'Raises TM<status>: message is the `detail` a client reads, hint the `error`, constraint the reason for logs and metrics, detail extra body fields as JSON.';
revoke all on function app.refuse(int, text, text, text, jsonb) from public;
grant execute on function app.refuse(int, text, text, text, jsonb) to tms_app, tms_registrar, tms_auditor;
--! EndIncluded context/refuse.sql
--! Included context/set_tenant.sql
-- Whoever is in a tenant holds its lock, which a deletion takes alone (app.fence_tenant()): else the two would meet in deadlocks, one
-- with the tenant and the other with users and boards, as foreign keys lock them. No waiting: others of other tenants stand behind.
-- A real SET LOCAL and not set_config(): only the statement travels to the workers of a distributed database.
create or replace function app.set_tenant(p_tenant_id uuid)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if not pg_try_advisory_xact_lock_shared(uuid_hash_extended(p_tenant_id, 0)) then
    perform app.refuse(503, 'Service unavailable', 'The tenant is being deleted', 'being_deleted');
  end if;
  execute format('set local app.tenant_id = %L', coalesce(p_tenant_id::text, ''));
end
$$;

comment on function app.set_tenant(uuid) is
  'Puts the rest of the transaction into one tenant; null takes it out. A savepoint that is rolled back restores the tenant before it. Raises TM503 while the tenant is being deleted.';
revoke all on function app.set_tenant(uuid) from public;
grant execute on function app.set_tenant(uuid) to tms_app, tms_registrar, tms_auditor;
--! EndIncluded context/set_tenant.sql
--! Included context/enter_tenant.sql
-- Unknown, pending, suspended and not a member are one refusal, byte for byte: nobody can probe which tenants exist.
set local role tms_registrar;
create or replace function app.enter_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text,
  out tenant_id uuid, out user_id uuid, out role text, out tenant app.tenants, out member app.users
)
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_default record;
  v_tenant_id uuid;
  v_set text;
begin
  if p_tenant_slug is null then
    v_default := app.enter_default(p_auth_provider, p_auth_subject, p_email, p_display_name);
    tenant := v_default.tenant;
    member := v_default.member;
  else
    -- Two look-ups, as quick as a join and sent to one shard where there are shards. An unknown slug looks as well, for
    -- nobody's members: the time it takes tells nothing either.
    select * into tenant from app.tenants t where t.slug = p_tenant_slug and t.status = 'active';
    v_tenant_id := coalesce(tenant.id, gen_random_uuid());
    select * into member
    from app.users u
    where u.tenant_id = v_tenant_id and u.auth_provider = p_auth_provider and u.auth_subject = p_auth_subject
      and u.removed_at is null;
  end if;
  tenant_id := member.tenant_id;
  user_id := member.id;
  role := member.role;
  if tenant_id is null then
    perform app.refuse(403, 'Access denied', 'User does not belong to tenant', 'not_a_member');
  end if;
  -- app.set_tenant(), without the call, which refuses where a deletion has the lock; in one expression, since every request passes here.
  execute case when pg_try_advisory_xact_lock_shared(uuid_hash_extended(tenant_id, 0))
    then format('set local app.tenant_id = %L', tenant_id)
    else format('select app.set_tenant(%L)', tenant_id) end;
  -- What a DBA sees in pg_stat_activity and in the server's log, for as long as the transaction lasts.
  -- An assignment is evaluated without a query.
  v_set := set_config('application_name', left('tms ' || coalesce(p_tenant_slug, '(default)'), 63), true);
end
$$;
comment on function app.enter_tenant(text, text, text, text, text) is
$$Puts the transaction into the tenant that a caller named, if the caller is a member of it and it is active.
p_tenant_slug null is single-tenant mode: the default tenant, which a verified caller joins at the first request.
Returns tenant, user and role, and the two rows that were looked up; raises TM403 `Access denied`, and TM503 while the tenant is being deleted.$$;
revoke all on function app.enter_tenant(text, text, text, text, text) from public;
grant execute on function app.enter_tenant(text, text, text, text, text) to tms_app;
reset role;
--! EndIncluded context/enter_tenant.sql
--! Included context/fence_tenant.sql
-- First of all locks of a deletion, and so without a deadlock. While it waits nobody is let in any more: it waits for the longest
-- transaction that is there. One that stays for longer may only read; app.lock_tenant() asks who writes.
set local role tms_registrar;
create or replace function app.fence_tenant(p_tenant_id uuid)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '2s'
as $$
begin
  perform pg_advisory_xact_lock(uuid_hash_extended(p_tenant_id, 0));
exception when lock_not_available then
  null;
end
$$;
comment on function app.fence_tenant(uuid) is
  'Lets nobody into a tenant until the transaction ends, once those who are in it have left; gives that up after two seconds.';
revoke all on function app.fence_tenant(uuid) from public;
reset role;
--! EndIncluded context/fence_tenant.sql
--! Included context/lock_tenant.sql
set local role tms_registrar;
create or replace function app.lock_tenant(p_tenant_id text)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id constant uuid := app.parse_uuid(p_tenant_id);
begin
  -- Of no tenant there is no worker: Citus 13.2 crashes when it looks for it.
  if v_id is null then
    return;
  end if;
  perform app.fence_tenant(v_id);
  if app.is_distributed() then
    -- The login's own setting does not reach the workers.
    execute format('set local lock_timeout = %L', current_setting('lock_timeout'));
    -- The lock of app.tenants keeps everybody from changing any tenant, so the long wait comes first. The worker's row comes after it,
    -- as in every change of a tenant: else two of them would wait for each other.
    perform 1 from app.await_writers(v_id, false);
    perform from app.tenants where id = v_id for update;
  end if;
  -- In FROM, where a distributed database sends it to the tenant's worker.
  perform 1 from app.await_writers(v_id, true);
end
$$;
comment on function app.lock_tenant(text) is
  'Locks a tenant that will be deleted, if there is one; raises 55P03 when others have not stopped writing to it for lock_timeout (0: waits as long as it takes).';
revoke all on function app.lock_tenant(text) from public;
reset role;
--! EndIncluded context/lock_tenant.sql
--! Included context/require_match.sql
create or replace function app.require_match(p_tenant app.tenants, p_if_match text[])
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_if_match is not null and not (app.etag(app.tenant_json(p_tenant)) = any (p_if_match) or '*' = any (p_if_match)) then
    perform app.refuse(412, 'Precondition failed', 'The tenant has changed since it was read', 'stale_etag');
  end if;
end
$$;
comment on function app.require_match(app.tenants, text[]) is
  'p_if_match: ETags of which one must be the tenant''s, or *; null asks nothing. Raises TM412 `Precondition failed`.';
revoke all on function app.require_match(app.tenants, text[]) from public;
grant execute on function app.require_match(app.tenants, text[]) to tms_registrar;
--! EndIncluded context/require_match.sql
--! Included context/find_tenant_to_change.sql
set local role tms_registrar;
create or replace function app.find_tenant_to_change(p_tenant_id text, p_if_match text[])
returns app.tenants
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant constant app.tenants := app.find_tenant(p_tenant_id, true);
begin
  perform app.require_match(v_tenant, p_if_match);
  return v_tenant;
end
$$;
comment on function app.find_tenant_to_change(text, text[]) is
  'The tenant with this id, locked until the transaction ends. p_if_match as of app.require_match(). Raises TM404, TM412.';
revoke all on function app.find_tenant_to_change(text, text[]) from public;
reset role;
--! EndIncluded context/find_tenant_to_change.sql
--! Included api/setup/delete_tenant.sql
set local role tms_registrar;
create or replace function api.delete_tenant(
  p_tenant_slug text, p_auth_provider text, p_auth_subject text, p_email text, p_display_name text, p_missing_role text,
  p_tenant_id text, p_if_match text[] default null
)
returns json
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant app.tenants;
begin
  perform app.require_operator(p_tenant_slug, p_auth_provider, p_auth_subject, p_email, p_display_name, p_missing_role);
  v_tenant := app.find_tenant(p_tenant_id);
  if v_tenant.is_default and p_tenant_slug is null then
    perform app.refuse(400, 'Default tenant', 'The default tenant cannot be deleted in single-tenant mode', 'default_tenant_delete');
  end if;
  -- What is refused keeps nobody out of the tenant.
  perform app.require_match(v_tenant, p_if_match);
  perform app.lock_tenant(p_tenant_id);
  return app.remove_tenant(app.find_tenant_to_change(p_tenant_id, p_if_match));
end
$$;
comment on function api.delete_tenant(text, text, text, text, text, text, text, text[]) is
$$Deletes a tenant and by cascade every row of it, in one transaction. p_if_match as of api.update_tenant. Raises TM403, TM404, TM412, TM400 `Default tenant`.$$;
revoke all on function api.delete_tenant(text, text, text, text, text, text, text, text[]) from public;
grant execute on function api.delete_tenant(text, text, text, text, text, text, text, text[]) to tms_service;
reset role;
--! EndIncluded api/setup/delete_tenant.sql
revoke create on schema app, api from tms_app, tms_registrar;
--! Included audit/manifest.sql
-- Written by UPDATE_DOCS=1 npm test -- test/audit/manifest.test.ts, from what the migrations make; a test holds it to that.
create or replace function audit.manifest()
returns table (kind text, name text, owner text, granted text, body text)
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  values
    ('function', 'api.add_member(text,text,text,text,text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '979fb66744f0def1344e5bf53c68145e'),
    ('function', 'api.approve_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'f3bfd8c25f9a6245e3ef838978073cd0'),
    ('function', 'api.create_tenant(text,text,text,text,text,text,text,text,jsonb,boolean,boolean,text)', 'tms_registrar', 'tms_service', '3720b1d293e78cbccbd3c446bf54b9e3'),
    ('function', 'api.delete_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '6eb37335359d2e7cf4270d311cf695dc'),
    ('function', 'api.ensure_default_tenant(text,text)', 'tms_registrar', 'tms_service', 'f7645e02bd526119efa67830291e5925'),
    ('function', 'api.explain_access(text,text,text,text,boolean)', 'tms_registrar', 'tms_auditor tms_owner', '361a98ce106232ab41c22e1e8256c45b'),
    ('function', 'api.explain_for_operator(text,text,text,text,text,text,text,text,text,text,boolean)', 'tms_registrar', 'tms_service', 'c07b53b6e0e36351d3d9ad7164dcb78e'),
    ('function', 'api.get_current_tenant(text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a2dabea3f1b69467272845bd714af71'),
    ('function', 'api.get_login_faults()', 'tms_registrar', 'tms_service', '5e35d1ba8adbdfe21ced71929cbde129'),
    ('function', 'api.get_readiness(text)', 'tms_registrar', 'tms_service', '2d014f472627080349fe363cec47ab14'),
    ('function', 'api.get_registration_status(text,text,text,text,text,text,boolean,integer,text[])', 'tms_registrar', 'tms_service', 'f65556ea86242d3b80f4b6bf6872cf10'),
    ('function', 'api.get_schema_version()', 'tms_registrar', 'tms_service', 'f2a7f8344bf343031795bd5adcf44dad'),
    ('function', 'api.get_setup_status(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '644645cadd2d707d7257ffd9374cecad'),
    ('function', 'api.get_tenant(text,text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '3b331c5f22ce84451db4d40c954cda90'),
    ('function', 'api.list_boards(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '232fea41870a7ebcd555b769c0c8bf42'),
    ('function', 'api.list_members(text,text,text,text,text,text,integer,text)', 'tms_app', 'tms_service', '9c48b26b968b3a7851606bad8cf23e49'),
    ('function', 'api.list_my_tenants(text,text,text,text,text,text)', 'tms_registrar', 'tms_service', '7fb84d44efb0ad29a3010156ec1c5076'),
    ('function', 'api.list_tenants(text,text,text,text,text,text,integer,text,text,text)', 'tms_registrar', 'tms_service', '7fd7b7deda326d54e6a4a7b1216ce4dd'),
    ('function', 'api.register_tenant(text,text,text,text,text,text,text,text,text,text,jsonb,boolean,boolean,integer,text[],text)', 'tms_registrar', 'tms_service', '815f9a903342d7d59cf4283b5812805f'),
    ('function', 'api.reject_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '6f7b849f51bac751aa6f08e886b85416'),
    ('function', 'api.remove_member(text,text,text,text,text,text,text)', 'tms_app', 'tms_service', '8a93c5af2867a8cb0b3d40083d3b966e'),
    ('function', 'api.resume_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', 'a915796a579fa9f1ac63c2e737746713'),
    ('function', 'api.suspend_tenant(text,text,text,text,text,text,text,text[])', 'tms_registrar', 'tms_service', '5dcc8a91279ab6c76561b86cdd412955'),
    ('function', 'api.take_rate_limit(text,text,integer)', 'tms_registrar', 'tms_service', '2467ee3d8d766a3b78ff67b0d43b9e74'),
    ('function', 'api.update_tenant(text,text,text,text,text,text,text,text,text,jsonb,text[])', 'tms_registrar', 'tms_service', '48b1b9e33de7b08da7b21deaa0a637b8'),
    ('function', 'app.adopt(regclass)', 'tms_owner', '', '765cd727e7ebd9237aaaef89a422b824'),
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
    ('function', 'app.insert_tenant(text,text,text,text,jsonb)', 'tms_registrar', '', '1d02cdf5e8e2cd790f4c6aac7f0ba5e6'),
    ('function', 'app.is_behind(text)', 'tms_owner', 'tms_registrar', '0c61b8391d6ee19f76981d39a8d2327d'),
    ('function', 'app.is_distributed()', 'tms_owner', 'tms_auditor tms_registrar', 'd512d0d1fdbd05e2ff6889bcc0192c54'),
    ('function', 'app.iso_time(timestamp with time zone)', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'fd59885aa9770697873dee4f51a131e7'),
    ('function', 'app.isolate(regclass,boolean)', 'tms_owner', '', 'a48b7c4393c1f8c554017aa17f6f002d'),
    ('function', 'app.isolation_advice()', 'tms_registrar', '', '988d42ab55152904697d76d9421641ca'),
    ('function', 'app.isolation_breaches()', 'tms_registrar', '', '9476734f3d3b943216a0a8d1859aeec4'),
    ('function', 'app.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', 'b7ac6dd1fcff487126c149995f4b5e60'),
    ('function', 'app.last_audit()', 'tms_owner', 'tms_registrar', 'c88a4e3575ea09c274ca35f2186f32c3'),
    ('function', 'app.leaking_tables()', 'tms_app', 'tms_auditor tms_registrar', 'da40bfed1c55f43ccbe19e35462c037e'),
    ('function', 'app.lock_tenant(text)', 'tms_registrar', '', 'c62c9c7b4cacec14d7d459b0e1a189f9'),
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
    ('function', 'app.require_member_admin(text,text)', 'tms_owner', 'tms_app', 'd8ca10ef652aadb1df2c118d18e1f244'),
    ('function', 'app.require_operator(text,text,text,text,text,text)', 'tms_registrar', '', 'cb53aa9b3e4769955e3bfc93a31352aa'),
    ('function', 'app.require_own_table(regclass)', 'tms_owner', 'tms_app tms_auditor', '372ed04befe2137666ccc0d3cd708e48'),
    ('function', 'app.require_status(app.tenants,text)', 'tms_owner', 'tms_registrar', 'b7e177058b7adfc35ee4d44f1917d91e'),
    ('function', 'app.schema_version()', 'tms_owner', 'tms_auditor tms_registrar', '81db2cc5b5ba419c5ace31eb05c7159e'),
    ('function', 'app.set_actor(text,text)', 'tms_owner', 'tms_registrar', '9fd716fca6d98ef85a81a4d0f9f5c190'),
    ('function', 'app.set_tenant(uuid)', 'tms_owner', 'tms_app tms_auditor tms_registrar', '5bd687a778e41bab3fe0cc75b0c20b2b'),
    ('function', 'app.shown_rows(uuid,integer)', 'tms_app', 'tms_auditor tms_registrar', '66704d878ad84c6f8985f81fd7c28633'),
    ('function', 'app.table_faults(regclass)', 'tms_owner', 'tms_auditor', 'e6241986019db17dfa51320e5863abf2'),
    ('function', 'app.tenant_id()', 'tms_owner', 'tms_app tms_auditor tms_registrar', '9ca56ffeefeb0f10be11edde77d2f7dd'),
    ('function', 'app.tenant_json(app.tenants)', 'tms_owner', 'tms_app tms_registrar', '8faf545777e3b615ad9a588fe6b965a2'),
    ('function', 'app.tenant_page(integer,timestamp with time zone,uuid,text,text)', 'tms_registrar', '', '575d522375a1ff1ca17600e75e0e0e46'),
    ('function', 'app.tenant_tables()', 'tms_owner', 'tms_app tms_auditor tms_registrar', 'a77714c0f71463977127d50ee1073861'),
    ('function', 'app.unprotected_tables()', 'tms_owner', 'tms_auditor tms_registrar', '609ab7da46f1b9e59e8d76437af5b647'),
    ('function', 'app.write_policies(regclass,name)', 'tms_owner', '', '16bf88379de7de608f081636ff88db64'),
    ('function', 'audit.accept(text)', 'tms_owner', 'tms_auditor', 'a131f7ffd9b349922fbb3b68f5036bd7'),
    ('function', 'audit.attempt(text,uuid,integer)', 'tms_owner', 'tms_auditor', 'cc98c7821e042d24cbb5df51028fe1dc'),
    ('function', 'audit.by_acceptance(text,name,text)', 'tms_owner', 'tms_auditor', '5826636805fef7739d6dad7a137f91e0'),
    ('function', 'audit.by_giving_back(text,name)', 'tms_owner', 'tms_auditor', '5b05ec0fc2bd25cde48a406835e8ac70'),
    ('function', 'audit.by_moving(oid)', 'tms_owner', 'tms_auditor', 'ab75ac7ffd423e2577b0c5f358611d14'),
    ('function', 'audit.by_owner(name,text)', 'tms_owner', 'tms_auditor', '1c05b8ac43add9b39123ae59a0526038'),
    ('function', 'audit.check_app_reach()', 'tms_owner', 'tms_auditor', '5470edb100f862b50a683f638fde9d5f'),
    ('function', 'audit.check_audit_filtered()', 'tms_owner', 'tms_auditor', 'f6a1962925c49cd55de0af372a980648'),
    ('function', 'audit.check_bypass_role()', 'tms_owner', 'tms_auditor', 'e3980905d4256cabdad3abd6e55fe23f'),
    ('function', 'audit.check_constraint_not_valid()', 'tms_owner', 'tms_auditor', 'fbf75b4d3bf5c6df5a219a5c3fa253c7'),
    ('function', 'audit.check_default_privileges()', 'tms_owner', 'tms_auditor', '4bc9a18d746772555f169d42aa4bb79e'),
    ('function', 'audit.check_foreign_key_missing()', 'tms_owner', 'tms_auditor', '800f340d9c10bbd2c669bc034e0a5e5c'),
    ('function', 'audit.check_foreign_table()', 'tms_owner', 'tms_auditor', 'dd7744f8f790a391194de8e7aa04c671'),
    ('function', 'audit.check_function_body()', 'tms_owner', 'tms_auditor', 'b217baebb150fca5635cbec48c93eece'),
    ('function', 'audit.check_function_bypass()', 'tms_owner', 'tms_auditor', '915e0614fb2b105f9a4ea867083dfdc3'),
    ('function', 'audit.check_function_changed()', 'tms_owner', 'tms_auditor', 'a74a5e2acfedee00fe9ed2bb22410b81'),
    ('function', 'audit.check_function_leakproof()', 'tms_owner', 'tms_auditor', 'd77af029401976b475f7199ef15487bc'),
    ('function', 'audit.check_function_owner()', 'tms_owner', 'tms_auditor', '6daaca48598ab437e34f8bde8721b5a6'),
    ('function', 'audit.check_function_public()', 'tms_owner', 'tms_auditor', '89df780e1f9634bf86227bba353f6084'),
    ('function', 'audit.check_function_search_path()', 'tms_owner', 'tms_auditor', '9b0f16aa3b79b73992c1518e44e47333'),
    ('function', 'audit.check_function_security()', 'tms_owner', 'tms_auditor', 'ce251b1eb7abf63c86ec57f92b3072ce'),
    ('function', 'audit.check_function_settings()', 'tms_owner', 'tms_auditor', 'b47ac2d648d1ae22490277dac35c49e8'),
    ('function', 'audit.check_index_missing()', 'tms_owner', 'tms_auditor', 'b544bf59f5d2009acc58b99acaca86c4'),
    ('function', 'audit.check_other_grants()', 'tms_owner', 'tms_auditor', 'dbf04985d622cc40230bb7ec9f76bb8c'),
    ('function', 'audit.check_policy_changed()', 'tms_owner', 'tms_auditor', '28a0f3722760e6e67af5cb5f4d868c7c'),
    ('function', 'audit.check_policy_extra()', 'tms_owner', 'tms_auditor', 'd1faf6862168f7d8f4834c8068586e61'),
    ('function', 'audit.check_policy_function()', 'tms_owner', 'tms_auditor', 'f23167578bc699e38b4c7647c9d90d51'),
    ('function', 'audit.check_policy_missing()', 'tms_owner', 'tms_auditor', '1832f482c5fcbef65005be1c1f5b11d1'),
    ('function', 'audit.check_publication()', 'tms_owner', 'tms_auditor', 'c3a1c6932de7679be0813684c8d8b9fe'),
    ('function', 'audit.check_registrar_reach()', 'tms_owner', 'tms_auditor', '0d8865ac4111ae12999b518c4b0597ed'),
    ('function', 'audit.check_rewrite_rule()', 'tms_owner', 'tms_auditor', '8c0b88682bc41535117ca19f80752ff4'),
    ('function', 'audit.check_rls_disabled()', 'tms_owner', 'tms_auditor', 'f9b1161bed0f117592e3df80920ad04c'),
    ('function', 'audit.check_rls_not_forced()', 'tms_owner', 'tms_auditor', '02fcf67fb0ad0ae6af9fe92ab719a004'),
    ('function', 'audit.check_role_attributes()', 'tms_owner', 'tms_auditor', '575531841992472c2d5c5bd200fbd9b6'),
    ('function', 'audit.check_role_membership()', 'tms_owner', 'tms_auditor', '8d6b21f6f2a560c935f8df194a419fd9'),
    ('function', 'audit.check_role_owns()', 'tms_owner', 'tms_auditor', '76f522701b48a9610786180fd9adb50a'),
    ('function', 'audit.check_role_settings()', 'tms_owner', 'tms_auditor', '9c7a2cc8fd48451d9a20748d5e6c16a1'),
    ('function', 'audit.check_rows(text,uuid,bigint[])', 'tms_owner', 'tms_auditor', '33887f08c45a5330ab690e5fac1c76ed'),
    ('function', 'audit.check_schema_grants()', 'tms_owner', 'tms_auditor', 'ae19b77b3ad4a870c518ec7de561e536'),
    ('function', 'audit.check_server_settings()', 'tms_owner', 'tms_auditor', 'c20c3d2f8b19ef51beaf706f65653baf'),
    ('function', 'audit.check_server_version()', 'tms_owner', 'tms_auditor', '1effe665c994fb7dd9d0642cd57187c4'),
    ('function', 'audit.check_service_reach()', 'tms_owner', 'tms_auditor', '158c11306d3dc787d8155ca8a9473948'),
    ('function', 'audit.check_shard_differs()', 'tms_owner', 'tms_auditor', '57e556d774dc091acb413beac4d7c085'),
    ('function', 'audit.check_statistics_view()', 'tms_owner', 'tms_auditor', 'ea7948ade84356dca011bc420f852827'),
    ('function', 'audit.check_system_grants()', 'tms_owner', 'tms_auditor', '0c47cce38869f5d865bd02ff603aa9a7'),
    ('function', 'audit.check_table_grants()', 'tms_owner', 'tms_auditor', '2c4eb1ee6f5d89ddda0752e65ac92253'),
    ('function', 'audit.check_table_inherits()', 'tms_owner', 'tms_auditor', '0ba207f4146feb218cc8b13711ee9f1a'),
    ('function', 'audit.check_table_missing()', 'tms_owner', 'tms_auditor', 'd13d37376b3026061141500c441c1bcc'),
    ('function', 'audit.check_table_owner()', 'tms_owner', 'tms_auditor', 'ae255cd593fdf4a510213d0e6426da51'),
    ('function', 'audit.check_table_rules()', 'tms_owner', 'tms_auditor', '24f765fb5b622b73ade562b60f935db9'),
    ('function', 'audit.check_table_without_tenant()', 'tms_owner', 'tms_auditor', '947e5892b33ea04ea7eb66a5c95b9c9d'),
    ('function', 'audit.check_tenant_id_function()', 'tms_owner', 'tms_auditor', 'be3f439878e18252ab4495eab95f1f42'),
    ('function', 'audit.check_tenant_key()', 'tms_owner', 'tms_auditor', 'bab30b90b68842e7a8fbb0262dd6d093'),
    ('function', 'audit.check_trigger_disabled()', 'tms_owner', 'tms_auditor', 'd99ff818e85d5d623a9751e3d1881098'),
    ('function', 'audit.check_trigger_rights()', 'tms_owner', 'tms_auditor', '63b7d44067da783d848196c7cd8ce054'),
    ('function', 'audit.check_unique_key_missing()', 'tms_owner', 'tms_auditor', '6125399627eda6768cdd0afc068115d9'),
    ('function', 'audit.check_view_leaks()', 'tms_owner', 'tms_auditor', '15274dd848763e8dd5f36f2dafc7dd6f'),
    ('function', 'audit.checks()', 'tms_owner', 'tms_auditor', 'a212671ba5daaa7ce0ffb118ac7efe0c'),
    ('function', 'audit.count_lost_tenants(regclass)', 'tms_owner', 'tms_auditor', '9eb4212f301e31c2e0b7645cc04fef87'),
    ('function', 'audit.count_suspects(text,text[],regclass,name)', 'tms_owner', 'tms_auditor', '7296026bfb4ca52aacd5ce67d4b34484'),
    ('function', 'audit.data_checks()', 'tms_owner', 'tms_auditor', '75b193c74ca1da785ae3a0d8b4d3e5f5'),
    ('function', 'audit.default_of(text)', 'tms_owner', 'tms_auditor', '7ffd506ec2b343ed196fd1dc2857e94f'),
    ('function', 'audit.definition_hash(oid)', 'tms_owner', 'tms_auditor', '7d4595e6b1840c52b7456efb9f44930d'),
    ('function', 'audit.examine(text,uuid,integer)', 'tms_owner', 'tms_auditor', '723c6c39873af3a5503b46a5b3497cd0'),
    ('function', 'audit.expected_policies()', 'tms_owner', 'tms_auditor', '810802f6e382d99beb56fb3330870c7a'),
    ('function', 'audit.expected_references()', 'tms_owner', 'tms_auditor', 'b1fe44c1e3cfed3cdf5309b193602aee'),
    ('function', 'audit.filter_of(regclass)', 'tms_owner', 'tms_auditor', '133ed8d368bc49c455825b40bca52864'),
    ('function', 'audit.find_tenant(text)', 'tms_owner', 'tms_auditor', 'f7af4ca5e9972e7e92aaf3bdbc4f1cc2'),
    ('function', 'audit.finish_run(bigint)', 'tms_owner', 'tms_auditor', 'fda1a2edc4f2b4cfdd811652e24d622a'),
    ('function', 'audit.functions()', 'tms_owner', 'tms_auditor', '4880ffbe4193b53d2dd3858b0a994364'),
    ('function', 'audit.has_rows(regclass,name,uuid)', 'tms_owner', 'tms_auditor', 'cb2a97af9c825ca6d0c8316bc29a0674'),
    ('function', 'audit.installed()', 'tms_owner', 'tms_auditor', '1f949c4b253075977eca6e03c27dd8a2'),
    ('function', 'audit.is_inherited(regclass)', 'tms_owner', 'tms_auditor', 'a7ea746ec51ec75d5477d08197fbe8c5'),
    ('function', 'audit.is_never_null(regclass,name)', 'tms_owner', 'tms_auditor', '0d8d1f65be045d42ac17782b75a8bb76'),
    ('function', 'audit.is_proved(regclass,text)', 'tms_owner', 'tms_auditor', '25837b3aecfc0e552fc5207e2f3ff9ee'),
    ('function', 'audit.is_unique(regclass,name[])', 'tms_owner', 'tms_auditor', '124b4d1b8d43aeccc901f4f7ce69c808'),
    ('function', 'audit.manifest()', 'tms_owner', 'tms_auditor', ''),
    ('function', 'audit.of_extensions(regclass)', 'tms_owner', 'tms_auditor', '63192a2e82a10dce9e01cb456178e100'),
    ('function', 'audit.our_roles()', 'tms_owner', 'tms_auditor', '5dab71b472e5360b7a2ae17eb1cd2f43'),
    ('function', 'audit.own_tables()', 'tms_owner', 'tms_auditor', 'd8d62003b8a8ea98a89b0fb97bae35d7'),
    ('function', 'audit.pass_checks(text)', 'tms_owner', 'tms_auditor', '3690d152fc02db79c130879c024c11bc'),
    ('function', 'audit.passes(text,boolean)', 'tms_owner', 'tms_auditor', '366f7720e9a287ddeea783eb1b65058b'),
    ('function', 'audit.plan_merges(regclass,name,integer)', 'tms_owner', 'tms_auditor', 'd108b6b303d8f7d9593126ec54ce1bb9'),
    ('function', 'audit.progress_line(integer,integer,text,bigint,bigint,timestamp with time zone,text)', 'tms_owner', 'tms_auditor', '95e256b7454f60f5855a215e54f8d46d'),
    ('function', 'audit.protection_query()', 'tms_owner', 'tms_auditor', '6faa68ed577394cedf3d883887008e57'),
    ('function', 'audit.prove(text,uuid,integer)', 'tms_owner', 'tms_auditor', 'f5b9abedd1567d6164420c673cbc1ae8'),
    ('function', 'audit.record_pass(bigint,text)', 'tms_owner', 'tms_auditor', '1adf85437cf05b0b339ea931d4dca3e3'),
    ('function', 'audit.relations()', 'tms_owner', 'tms_auditor', '7f840a63381ffbf1e5a4aaa63aa2b661'),
    ('function', 'audit.relations(regclass[])', 'tms_owner', 'tms_auditor', '5f24f08f442b792491759fdb213b9e29'),
    ('function', 'audit.report(bigint)', 'tms_owner', 'tms_auditor', '893cd8ca00a04f52fc227cc5cda60b79'),
    ('function', 'audit.require_isolation()', 'tms_owner', 'tms_auditor', '1ce02f8819524f9c89ec8d6591bb77d2'),
    ('function', 'audit.require_unfiltered(regclass)', 'tms_owner', 'tms_auditor', '4ab6885a92e5986c7051f0032ce4ffc5'),
    ('function', 'audit.role_name(oid)', 'tms_owner', 'tms_auditor', 'd93e0bfa0cc30ca6a3a0e814d7901901'),
    ('function', 'audit.row_tests(regclass)', 'tms_owner', 'tms_auditor', '6b9d15c3aca07d708260c60336577112'),
    ('function', 'audit.run(text,text,integer,bigint)', 'tms_owner', 'tms_auditor', '4c1d0cd8fc879cec004039519bde6973'),
    ('function', 'audit.run_check(text,text,integer)', 'tms_owner', 'tms_auditor', 'd4f5e06dee60c858690543f7df24581c'),
    ('function', 'audit.run_family(text,boolean,integer)', 'tms_owner', 'tms_auditor', '59fd73d7055b067d05eccf8f0f502408'),
    ('function', 'audit.sample_tenants(uuid,integer)', 'tms_owner', 'tms_auditor', '0ad9c042a63b35d83bd30743bc3698e3'),
    ('function', 'audit.say_scanned(bigint)', 'tms_owner', 'tms_auditor', '6b02023e2942fc31f4fa347a9a1eee61'),
    ('function', 'audit.scan(regclass,uuid)', 'tms_owner', 'tms_auditor', '4cb50244e920556cecc7139f8c077f94'),
    ('function', 'audit.scanned(text)', 'tms_owner', 'tms_auditor', '714ae3acb57dbdc53fb0a71fd8427aa1'),
    ('function', 'audit.short_hash(text)', 'tms_owner', 'tms_auditor', '6f23cfe71952fec1f8acb0400a595545'),
    ('function', 'audit.slices(regclass,name,uuid)', 'tms_owner', 'tms_auditor', '4b3ce6a95861c87d59d8f5ad643270b3'),
    ('function', 'audit.start_run(text,text,integer)', 'tms_owner', 'tms_auditor', '23e14457719a6c8e00785fb32adc22e4'),
    ('function', 'audit.tenant_references()', 'tms_owner', 'tms_auditor', '7e63f48453607ddccc4fe6791d2fe0f8'),
    ('function', 'audit.tenant_references(regclass)', 'tms_owner', 'tms_auditor', '4d2663d8c476447048220fe1694bdf0c'),
    ('function', 'audit.try_writes(regclass,name,uuid,uuid)', 'tms_owner', 'tms_auditor', '615b758e986a60510125fd10cea4206c'),
    ('function', 'audit.version_fault(integer,boolean)', 'tms_owner', 'tms_auditor', '06d07c9578250233fc2390a7b0188d14'),
    ('function', 'audit.visible_rows(regclass,name,uuid[])', 'tms_owner', 'tms_auditor', 'f56e328b033e956fdab9d1f8baad34ba'),
    ('function', 'control.create_sample_data(uuid,uuid)', 'tms_app', 'tms_registrar', 'f51e10df58d79ca3a0d0795dfe58aa56'),
    ('function', 'control.empty_tenant(uuid)', 'tms_app', 'tms_registrar', '64ba8d9e056505dbf964689f858940de'),
    ('function', 'control.examine(text,uuid,integer)', 'tms_auditor', 'tms_owner', '93c381d01a96c194de8c5ac1d25b0325'),
    ('function', 'control.find_tenant(text)', 'tms_auditor', 'tms_owner', '092ecd4817dc31d218f82c2a5fb7fb1b'),
    ('function', 'control.held_rows(regclass,uuid,integer)', 'tms_auditor', 'tms_registrar', '49f285b797178536712ef24c4701d0aa'),
    ('function', 'control.join_default(uuid,text,text,text,text)', 'tms_app', 'tms_registrar', '379f66e5be803b087e2d33e846308ed7'),
    ('function', 'control.leaking_tables()', 'tms_app', 'tms_registrar', 'a64065acd87739f1fa6faf8563022cdf'),
    ('function', 'control.shown_rows(uuid,integer)', 'tms_app', 'tms_registrar', '940fe838dabb731f042c6f4ee27bec1c'),
    ('function', 'control.tg_tenants__count()', 'tms_owner', '', '9737cde625d18b6cd691d3909049c634'),
    ('function', 'control.tg_tenants__record()', 'tms_owner', '', 'c5bcc8f27a34855b08f6954793bb871a'),
    ('function', 'control.try_writes(regclass,name,uuid,uuid)', 'tms_app', 'tms_owner', 'ce4af7fb2724cf10b0a16ca75e28c820'),
    ('function', 'control.visible_rows(regclass,name,uuid[])', 'tms_app', 'tms_owner', '4c624280d5b02e03a6ccbb7a19cbb73f'),
    ('trigger', '_500_count_delete on app.tenants', '', '', 'a2967120993725a9552d831442a27623'),
    ('trigger', '_500_count_insert on app.tenants', '', '', 'b5b94c7cad75fc5c93e1758037716a02'),
    ('trigger', '_500_count_truncate on app.tenants', '', '', 'f60577f14ae18519078b884a6581387c'),
    ('trigger', '_500_count_update on app.tenants', '', '', '1f0c76f4e9cd0d421124ed827e09822d'),
    ('trigger', '_600_record_delete on app.tenants', '', '', 'f8677253e59ebd79f53a5217611b79af'),
    ('trigger', '_600_record_insert on app.tenants', '', '', 'a8f533c4b3f31f2fb3d931c0e4e7eb67'),
    ('trigger', '_600_record_update on app.tenants', '', '', 'e5a8a4a9b2e4345335208b4ce112da88')
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
