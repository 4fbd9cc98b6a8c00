/** The tenants' tables, and what reads them. */
import type { Plant } from "./plant.ts";

export const tables: Plant[] = [
  { check: "table_missing", how: "a dropped table", sql: "drop table app.media", relation: "app.media" },
  {
    check: "table_missing",
    how: "a renamed column",
    sql: "alter table app.provider_configs rename config to configuration",
    relation: "app.provider_configs",
    row: { column: "config" },
  },
  {
    check: "table_missing",
    how: "a config that became json",
    sql: "alter table app.provider_configs drop constraint provider_configs_config_is_object, alter config drop default, alter config type json",
    relation: "app.provider_configs",
    row: { column: "config" },
  },
  {
    check: "table_missing",
    how: "a time that lost its zone",
    sql: "alter table app.generations alter completed_at type timestamp",
    relation: "app.generations",
    row: { column: "completed_at" },
  },
  {
    check: "table_missing",
    how: "names that are the same in capitals",
    sql: "create collation app.loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false); alter table app.provider_configs alter provider_name type text collate app.loose",
    relation: "app.provider_configs",
    row: { column: "provider_name" },
  },
  {
    check: "view_leaks",
    how: "a view of every tenant's events",
    sql: "create view app.history as select at, slug from control.tenant_events; alter view app.history owner to tms_owner",
    relation: "app.history",
  },
  {
    check: "table_missing",
    how: "a balance that may be null",
    sql: "alter table app.credit_transactions alter balance_after drop not null",
    relation: "app.credit_transactions",
    row: { column: "balance_after" },
  },
  {
    check: "table_missing",
    how: "an owner that may be null",
    sql: "alter table app.boards alter owner_id drop not null",
    relation: "app.boards",
    row: { column: "owner_id" },
  },
  {
    check: "table_without_tenant",
    how: "a table hung on boards",
    sql: "create schema extra; create unique index on app.boards (id); create table extra.labels (board_id uuid references app.boards (id))",
    relation: "extra.labels",
  },
  {
    check: "table_owner",
    how: "a table made by somebody else",
    sql: "alter table app.media owner to postgres",
    relation: "app.media",
  },
  {
    check: "view_leaks",
    how: "a reporting view",
    sql: "create view app.every_board as select * from app.boards",
    relation: "app.every_board",
  },
  {
    check: "view_leaks",
    how: "a view over a view, elsewhere",
    sql: "create schema extra; create view extra.a with (security_invoker) as select * from app.boards; create view extra.b as select * from extra.a",
    relation: "extra.b",
  },
  {
    check: "view_leaks",
    how: "a materialized view",
    sql: "create materialized view app.totals as select tenant_id, count(*) from app.boards group by 1",
    relation: "app.totals",
  },
  {
    check: "foreign_table",
    how: "another server's table",
    sql: "create foreign data wrapper far; create server far foreign data wrapper far; create foreign table app.far (tenant_id uuid) server far",
    relation: "app.far",
  },
  {
    check: "rewrite_rule",
    how: "a rule that copies",
    sql: "create rule copy as on insert to app.media do also select 1",
    relation: "app.media",
    row: { rule: "copy" },
  },
  {
    check: "publication",
    severity: "warning",
    how: "a feed for a warehouse",
    sql: "create publication feed for table app.boards",
    relation: "app.boards",
    row: { publication: "feed" },
  },
  {
    check: "publication",
    severity: "warning",
    how: "a subscription that a move to this server left behind",
    sql: `create subscription moved connection 'dbname=elsewhere' publication everything with (connect = false);
          set local allow_system_table_mods = on;
          insert into pg_subscription_rel (srsubid, srrelid, srsubstate) select oid, 'app.boards'::regclass, 'r' from pg_subscription where subname = 'moved'`,
    relation: "app.boards",
    row: { subscription: "moved" },
  },
  {
    check: "rewrite_rule",
    how: "a rule elsewhere that reads boards",
    sql: "create schema crm; create table crm.door (a int); create rule peek as on insert to crm.door do also select title from app.boards",
    relation: "crm.door",
    row: { rule: "peek" },
  },
];
