/** What holds rows to each other and to their tenant. */
import type { Plant } from "./plant.ts";

/** Isolated, with one partition, and nothing wrong with it. */
export const PARTITIONED = `
  create table app.events (tenant_id uuid not null, id uuid not null, other uuid, name text, primary key (tenant_id, id)) partition by hash (tenant_id);
  alter table app.events owner to tms_owner;
  create table app.events_0 partition of app.events for values with (modulus 1, remainder 0);
  alter table app.events_0 owner to tms_owner;
  select app.isolate('app.events');`;

export const keys: Plant[] = [
  {
    check: "table_rules",
    how: "a nullable tenant_id",
    sql: "alter table app.media drop constraint media_pkey, alter tenant_id drop not null",
    relation: "app.media",
  },
  {
    check: "table_rules",
    how: "a unique key across tenants",
    sql: "create unique index on app.users (email)",
    relation: "app.users",
  },
  {
    check: "table_rules",
    how: "a foreign key without the tenant",
    sql: "create unique index on app.boards (id); alter table app.generations add constraint by_id foreign key (board_id) references app.boards (id)",
    relation: "app.generations",
  },
  {
    check: "table_rules",
    how: "ON DELETE SET NULL over tenant_id",
    sql: "alter table app.board_members drop constraint board_members_inviter, add foreign key (tenant_id, invited_by) references app.users (tenant_id, id) on delete set null",
    relation: "app.board_members",
  },
  {
    check: "table_rules",
    how: "ON UPDATE SET DEFAULT over tenant_id",
    sql: "alter table app.board_members add foreign key (tenant_id, invited_by) references app.users (tenant_id, id) on update set default",
    relation: "app.board_members",
  },
  {
    check: "table_rules",
    how: "a second tenant of a row",
    sql: "alter table app.boards add partner_id uuid references app.tenants (id)",
    relation: "app.boards",
  },
  {
    check: "table_rules",
    how: "a key to the slugs of all tenants",
    sql: "alter table app.tenants add unique (slug); alter table app.boards add partner text references app.tenants (slug) on update cascade",
    relation: "app.boards",
  },
  {
    check: "table_rules",
    severity: "warning",
    how: "names that no two tenants may have",
    sql: "create unique index names on app.tenants (name)",
    relation: "app.tenants",
    row: { index: "app.names" },
  },
  {
    check: "table_rules",
    how: "a unique index on one partition",
    sql: `${PARTITIONED} create unique index on app.events_0 (name)`,
    relation: "app.events_0",
  },
  {
    check: "table_rules",
    how: "a foreign key of one partition that pairs the tenant with another column",
    sql: `${PARTITIONED} alter table app.events_0 add foreign key (other, id) references app.users (tenant_id, id)`,
    relation: "app.events_0",
  },
  {
    check: "table_rules",
    how: "a unique index on a child",
    sql: `create table app.events (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id));
          create table app.events_0 (primary key (id)) inherits (app.events)`,
    relation: "app.events_0",
  },
  {
    check: "table_rules",
    how: "an exclusion of whatever other tenants have",
    sql: "create extension if not exists btree_gist; alter table app.boards add exclude using gist (tenant_id with <>, id with =)",
    relation: "app.boards",
  },
  {
    check: "tenant_key",
    how: "a foreign key lost in a restore",
    sql: "alter table app.media drop constraint media_tenant_id_fkey",
    relation: "app.media",
  },
  {
    check: "tenant_key",
    how: "a foreign key without CASCADE",
    sql: "alter table app.media drop constraint media_tenant_id_fkey, add foreign key (tenant_id) references app.tenants (id)",
    relation: "app.media",
  },
  {
    check: "tenant_key",
    how: "a child by INHERITS, which has none of its parent's keys",
    sql: `create table app.places (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id));
          alter table app.places owner to tms_owner; select app.isolate('app.places');
          create table app.far_places (primary key (tenant_id, id)) inherits (app.places)`,
    relation: "app.far_places",
  },
  {
    check: "tenant_key",
    how: "answers that outlive their tenant",
    sql: "alter table control.idempotency_keys drop constraint idempotency_keys_tenant_id_fkey",
    relation: "control.idempotency_keys",
  },
  {
    check: "foreign_key_missing",
    how: "a key that was made to point elsewhere",
    sql: `alter table app.boards drop constraint boards_owner,
          add constraint boards_owner foreign key (tenant_id, owner_id) references app.generations (tenant_id, id) not valid`,
    relation: "app.boards",
    row: { columns: ["owner_id"] },
  },
  {
    check: "foreign_key_missing",
    how: "a dropped composite key",
    sql: "alter table app.generations drop constraint generations_board",
    relation: "app.generations",
    row: { columns: ["board_id"] },
  },
  {
    check: "foreign_key_missing",
    severity: "warning",
    how: "a reference that nobody declared",
    sql: "alter table app.media add column folder_id uuid",
    relation: "app.media",
    row: { columns: ["folder_id"] },
  },
  {
    check: "foreign_key_missing",
    severity: "warning",
    how: "a number that is named like another table, as some tools name it",
    sql: `create table app."Folder" (tenant_id uuid not null, id bigint generated always as identity, primary key (tenant_id, id));
          alter table app."Folder" owner to tms_owner; select app.isolate('app."Folder"');
          alter table app.media add column "folderId" int`,
    relation: "app.media",
    row: { columns: ["folderId"] },
  },
  {
    check: "foreign_key_missing",
    severity: "warning",
    how: "a side of many-to-many, as Prisma names it",
    sql: `create table app."_BoardToTag" (tenant_id uuid not null, "A" uuid not null, "B" text not null, primary key (tenant_id, "A", "B"));
          alter table app."_BoardToTag" owner to tms_owner; select app.isolate('app."_BoardToTag"')`,
    relation: 'app."_BoardToTag"',
    row: { columns: ["B"] },
  },
  {
    check: "unique_key_missing",
    how: "a dropped unique constraint",
    sql: "alter table app.users drop constraint users_tenant_identity_key",
    relation: "app.users",
    row: { columns: ["tenant_id", "auth_provider", "auth_subject"] },
  },
  {
    check: "foreign_key_missing",
    severity: "warning",
    how: "a key without its CASCADE",
    sql: "alter table app.media drop constraint media_generation, add constraint media_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id)",
    relation: "app.media",
    row: { columns: ["generation_id"] },
  },
  {
    check: "unique_key_missing",
    how: "an index in place of the constraint that an INSERT names",
    sql: "alter table app.provider_configs drop constraint provider_configs_name_key; create unique index on app.provider_configs (tenant_id, provider_name)",
    relation: "app.provider_configs",
    row: { columns: ["tenant_id", "provider_name"] },
  },
  {
    check: "unique_key_missing",
    how: "an index of another name, for which nobody has words",
    sql: "alter index app.tenants_slug_key rename to slugs",
    relation: "app.tenants",
    row: { columns: ["slug"] },
  },
  {
    check: "unique_key_missing",
    how: "an index of some slugs only",
    sql: "drop index app.tenants_slug_key; create unique index tenants_slug_key on app.tenants (slug) where status = 'active'",
    relation: "app.tenants",
    row: { columns: ["slug"] },
  },
  {
    check: "unique_key_missing",
    how: "a constraint by its name that waits for the commit",
    sql: "drop index app.tenants_slug_key; alter table app.tenants add constraint tenants_slug_key unique (slug) deferrable",
    relation: "app.tenants",
    row: { columns: ["slug"] },
  },
  {
    check: "unique_key_missing",
    how: "a constraint that waits for the commit, which no ON CONFLICT takes",
    sql: "alter table app.users drop constraint users_tenant_identity_key, add constraint users_tenant_identity_key unique (tenant_id, auth_provider, auth_subject) deferrable",
    relation: "app.users",
    row: { columns: ["tenant_id", "auth_provider", "auth_subject"] },
  },
  {
    check: "unique_key_missing",
    how: "a lost primary key",
    sql: "alter table app.media drop constraint media_pkey",
    relation: "app.media",
    row: { columns: ["tenant_id", "id"] },
  },
  {
    check: "constraint_not_valid",
    how: "a key that was never validated",
    sql: "alter table app.media drop constraint media_generation, add constraint media_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id) not valid",
    relation: "app.media",
    row: { constraint: "media_generation" },
  },
  {
    check: "trigger_disabled",
    how: "triggers left off after a load",
    sql: "alter table app.media disable trigger all",
    relation: "app.media",
    row: { trigger: "any" },
  },
  {
    check: "index_missing",
    severity: "warning",
    how: "a dropped index",
    sql: "drop index app.media_by_generation",
    relation: "app.media",
    row: { constraint: "media_generation" },
  },
];
