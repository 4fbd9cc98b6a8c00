/** A cluster of Citus with one node, this server, and one shard; and what may be wrong with the shard. */
export const SHARDED = `
  create schema crm; -- another product's, closed to the auditor
  create table crm.notes (n int); create table crm.notes_102010 (n int);
  create temporary table pg_dist_partition as select unnest(array['app.users', 'crm.notes'])::regclass as logicalrelid;
  create temporary table pg_dist_shard as
    select 'app.users'::regclass as logicalrelid, 102009::bigint as shardid union all select 'crm.notes', 102010;
  create temporary table pg_dist_placement as select unnest(array[102009, 102010])::bigint as shardid, 7 as groupid;
  create temporary table pg_dist_node as select 1 as nodeid, 'worker' as nodename, 5432 as nodeport, 7 as groupid;
  create temporary table pg_dist_local_group as select 7 as groupid;
  grant select on pg_dist_partition, pg_dist_shard, pg_dist_placement, pg_dist_node, pg_dist_local_group to tms_auditor;
  create function pg_catalog.shard_name(regclass, bigint) returns text language sql immutable return format('%s_%s', $1, $2);
  create function pg_catalog.run_command_on_all_nodes(text) returns table (nodeid int, success boolean, result text) language plpgsql as $$
    begin
      nodeid := 1;
      success := true;
      begin
        execute $1 into result;
      exception when others then
        success := false;
        result := sqlerrm;
      end;
      return next;
    end $$;
  create function app.distribute(regclass) returns void language sql return null;
  create table app.users_102009 (like app.users including all);
  alter table app.users_102009 owner to tms_owner;
  alter table app.users_102009 add constraint users_102009_tenant foreign key (tenant_id) references app.tenants on delete cascade;
  alter table app.users_102009 enable row level security, force row level security;
  do $$
  declare
    v_sql text;
  begin
    for v_sql in
      select format('create policy %I on app.users_102009 as %s for %s to %s using (%s) with check (%s)',
        policyname, permissive, cmd, array_to_string(roles, ', '), qual, with_check)
      from pg_policies where schemaname = 'app' and tablename = 'users' and cmd <> 'SELECT'
      union all
      select 'create policy auditor on app.users_102009 for select to tms_auditor using (true)'
      union all
      select format('grant %s on app.users_102009 to %I', a.privilege_type, a.grantee::regrole)
      from pg_class c, aclexplode(c.relacl) a where c.oid = 'app.users'::regclass
    loop
      execute v_sql;
    end loop;
  end $$;`;

export const DAMAGE: Record<string, [string, RegExp]> = {
  "row-level security that is off": [
    "alter table app.users_102009 disable row level security",
    /^app\.users_102009 on worker:5432 lacks row-level security$/,
  ],
  "row-level security that its owner is not under": [
    "alter table app.users_102009 no force row level security",
    /^app\.users_102009 on worker:5432 lacks row-level security by force$/,
  ],
  "a policy that is gone": [
    "drop policy tenant_only on app.users_102009",
    /lacks the restrictive policy tenant_only for all to tms_app using \(tenant_id = /,
  ],
  "a policy that lets everything through": [
    "alter policy tenant_only on app.users_102009 using (true)",
    /lacks the .* policy tenant_only .*, and has besides the .* policy tenant_only for all to tms_app using true/,
  ],
  "a policy that lets everything be written": [
    "alter policy tenant_only on app.users_102009 with check (true)",
    /and has besides the .* policy tenant_only .* with check true$/,
  ],
  "a policy of its own": [
    "create policy open on app.users_102009 for select to public using (true)",
    /has besides the permissive policy open for select to public using true with check nothing$/,
  ],
  "a right": [
    "grant select on app.users_102009 to tms_service",
    /^app\.users_102009 on worker:5432 has besides SELECT for tms_service$/,
  ],
  "a right on a column": [
    "grant select (email) on app.users_102009 to tms_service",
    /has besides SELECT \(email\) for tms_service$/,
  ],
  "a key that is gone": [
    "alter table app.users_102009 drop constraint users_102009_pkey",
    /lacks a unique index btree \(tenant_id, id\)$/,
  ],
  "a key that is not valid": [
    "update pg_index set indisvalid = false where indexrelid = 'app.users_102009_pkey'::regclass",
    /lacks a unique index btree \(tenant_id, id\)$/,
  ],
  "a check that is gone": [
    "alter table app.users_102009 drop constraint users_role_known",
    /lacks CHECK \(.*role.*\)$/,
  ],
  "a foreign key that is gone": [
    "alter table app.users_102009 drop constraint users_102009_tenant",
    /lacks FOREIGN KEY \(tenant_id\) REFERENCES \(id\) ON DELETE CASCADE$/,
  ],
  "another owner": [
    "alter table app.users_102009 owner to tms_app",
    /lacks .*the owner tms_owner, and has besides .*the owner tms_app$/,
  ],
};
