/** Roles, their settings, and the server's. */
import { type Branch, onDatabase } from "./branch.ts";

export const roleBranches: Branch[] = [
  ...["superuser", "createrole", "replication", "createdb", "inherit", "login"].map(
    (attribute): [string, string, string] => [
      "role_attributes",
      `alter role tms_auditor ${attribute}`,
      "error - tms_auditor",
    ],
  ),
  ["role_attributes", "alter role tms_auditor rename to tms_reader", "error - tms_auditor"],
  ...["tms_owner", "tms_service", "tms_registrar"].map((role): [string, string, string] => [
    "role_membership",
    `create role guest; create role chief superuser; grant ${role} to guest, chief`,
    `warning - ${role} guest`,
  ]),
  ["role_membership", "grant tms_app to tms_owner with admin option", "error - tms_app tms_owner"],
  [
    "role_membership",
    "create role chief superuser; grant chief to tms_app; create role crew; grant crew to tms_registrar",
    "error - crew tms_registrar",
    "error - chief tms_app",
  ],
  ["role_membership", "create role bea login in role tms_auditor; create schema bea authorization bea"],
  [
    "role_membership",
    "create role chief superuser; create role lead login in role tms_auditor; grant lead to chief",
  ],
  [
    "role_settings",
    `alter role tms_service set row_security = off; alter role tms_app set role = tms_owner; alter role tms_owner set app.actor = '[]'; alter role tms_auditor set app.event = 'x';
     alter role tms_app set lo_compat_privileges = on;
     alter role tms_registrar set search_path = public; create role guest; alter role guest set search_path = public; alter role guest set app.environment = 'x'; alter role guest set row_security = off`,
    "error - tms_app lo_compat_privileges=on",
    "error - tms_app role=tms_owner",
    "error - tms_auditor app.event=x",
    "error - tms_owner app.actor=[]",
    "error - tms_service row_security=off",
    "warning - tms_registrar search_path=public",
  ],
  [
    "role_settings",
    `alter role tms_service set row_security = on; alter role all set app.tenant_id = ''; alter role tms_owner set app.maintenance = off;
     ${onDatabase("alter database %I set session_replication_role = origin")}; alter role tms_app set lo_compat_privileges = off`,
  ],
  [
    "role_settings",
    `create role guest; alter role guest in database template1 set app.tenant_id = 1; alter database template1 set app.tenant_id = 2;
     alter role tms_service in database template1 set search_path = public`,
  ],
  [
    "role_settings",
    `alter role tms_service reset search_path; alter role tms_app set search_path = pg_catalog, pg_temp;
     set local search_path = "pg_catalog", "pg_temp"; select set_config('search_path', '"pg_catalog", "pg_temp"', true); alter role tms_owner set search_path from current`,
    "warning - tms_service search_path",
  ],
  [
    "bypass_role",
    `create role backup bypassrls; create role loader login in role pg_write_server_files, pg_execute_server_program, pg_read_server_files;
     create role chief superuser in role pg_read_all_data; grant pg_read_all_data to tms_auditor`,
    "warning - pg_execute_server_program loader",
    "warning - pg_read_server_files loader",
    "warning - pg_write_server_files loader",
  ],
  ["bypass_role", "alter role tms_app bypassrls"],
  [
    "bypass_role",
    `create role standby login replication; create role cdc login replication; create role copier bypassrls replication; create role sweeper bypassrls; create role chief superuser replication in role tms_app;
     grant select on app.boards to cdc, copier; grant delete on app.media to sweeper; create role boss bypassrls noinherit in role tms_app; create role maker replication;
     do $$ begin if current_setting('server_version_num')::int >= 160000 then execute 'grant tms_app to maker with admin option, inherit false, set false'; end if; end $$`,
    "warning - cdc",
    "warning - copier",
    "warning - sweeper",
  ],
  [
    "bypass_role",
    "create role loader login noinherit in role pg_read_all_data",
    "warning - pg_read_all_data loader",
  ],
  [
    "audit_filtered",
    "create policy narrow on app.boards as restrictive for insert with check (true); create table app.notes (tenant_id uuid)",
  ],
  ["audit_filtered", "alter policy auditor on app.boards using (title <> 'x')", "error app.boards "],
];
