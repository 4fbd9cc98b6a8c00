/** Row-level security, keys and indexes. */
import { PARTITIONED } from "../keys.ts";
import { type Branch, ORDERS } from "./branch.ts";

export const keyBranches: Branch[] = [
  [
    "tenant_key",
    "alter table control.idempotency_keys drop constraint idempotency_keys_tenant_id_fkey, add foreign key (tenant_id) references app.tenants on delete cascade not valid",
    "error control.idempotency_keys ",
  ],
  [
    "tenant_key",
    `create table app.plans (tenant_id uuid primary key); insert into app.plans select id from app.tenants; alter table app.media drop constraint media_tenant_id_fkey,
       add partner_id uuid references app.tenants on delete cascade, add foreign key (tenant_id) references app.plans on delete cascade`,
    "error app.media ",
    "error app.plans ",
  ],
  ["tenant_key", PARTITIONED],
  [
    "tenant_key",
    `create table control.events (tenant_id uuid not null, id uuid not null, primary key (tenant_id, id)) partition by hash (tenant_id);
       create table app.events_0 partition of control.events for values with (modulus 1, remainder 0)`,
    "error app.events_0 ",
  ],
  [
    "tenant_key",
    "alter table app.media add constraint another foreign key (tenant_id) references app.tenants on delete cascade not valid",
  ],
  [
    "tenant_key",
    `${PARTITIONED} alter table app.events drop constraint events_tenant_id_fkey`,
    "error app.events ",
  ],
  [
    "foreign_key_missing",
    `alter table app.media add folder_id uuid, add foreign key (tenant_id, folder_id) references app.boards (tenant_id, id),
       add dropped_id uuid; alter table app.media drop dropped_id`,
  ],
  [
    "foreign_key_missing",
    "alter table app.generations drop constraint generations_board",
    "error app.generations board_id",
  ],
  [
    "foreign_key_missing",
    `alter table app.boards drop constraint boards_owner, add constraint boards_owner foreign key (tenant_id, owner_id) references app.users (tenant_id, id) on delete cascade;
     alter table app.media drop constraint media_generation, add constraint media_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id)`,
    "warning app.boards owner_id",
    "warning app.media generation_id",
  ],
  [
    "foreign_key_missing",
    `create table app.category (tenant_id uuid not null, id int, primary key (tenant_id, id)); create table app.taxes (tenant_id uuid not null, id int, primary key (tenant_id, id));
     alter table app.media add category_id int, add tax_id int, add "A" uuid`,
    "warning app.media category_id",
    "warning app.media tax_id",
  ],
  [
    "foreign_key_missing",
    `${PARTITIONED} alter table app.events add shop_id uuid; alter table app.tenants add partner_id uuid`,
    "warning app.events shop_id",
  ],
  [
    "foreign_key_missing",
    `create table app.companies (tenant_id uuid not null, id int, primary key (tenant_id, id)); alter table app.media add company_id int;
     create table app."_BoardToMedia" (tenant_id uuid not null, "A" int, "B" text, primary key (tenant_id, "A", "B"))`,
    'warning app."_BoardToMedia" A',
    'warning app."_BoardToMedia" B',
    "warning app.media company_id",
  ],
  [
    "foreign_key_missing",
    `alter table app.media add created_by uuid, add "updatedBy" uuid, add board uuid, add owner uuid, add note_by text, add board_uuid uuid, add token uuid;
     alter table app.tenants add board_id uuid, add partner_id uuid, add created_by uuid`,
    "warning app.media board",
    "warning app.media board_uuid",
    "warning app.media created_by",
    "warning app.media updatedBy",
    "warning app.tenants board_id",
  ],
  // Of what a child by INHERITS has from its parent, keys are not; and what only it has.
  [
    "foreign_key_missing",
    `${ORDERS} alter table shop.orders add by_user uuid, add foreign key (tenant_id, by_user) references app.users (tenant_id, id);
     create table shop.old (primary key (tenant_id, id)) inherits (shop.orders); create table shop.older (board_id uuid, primary key (tenant_id, id)) inherits (shop.old);
     create table shop.held (primary key (tenant_id, id), foreign key (tenant_id, by_user) references app.users (tenant_id, id)) inherits (shop.orders)`,
    "error shop.old by_user",
    "error shop.older by_user",
    "warning shop.older board_id",
  ],
  // Of some partitions only.
  [
    "foreign_key_missing",
    `${PARTITIONED.replace("modulus 1", "modulus 2")} create table app.events_1 partition of app.events for values with (modulus 2, remainder 1);
     alter table app.events_0 add foreign key (tenant_id, other) references app.users (tenant_id, id)`,
    "warning app.events_0 other",
  ],
  [
    "foreign_key_missing",
    `${PARTITIONED.replace("modulus 1", "modulus 2")} create table app.events_1 partition of app.events for values with (modulus 2, remainder 1);
     alter table app.events_0 add foreign key (tenant_id, other) references app.users (tenant_id, id); alter table app.events_1 add foreign key (tenant_id, other) references app.users (tenant_id, id)`,
  ],
  // And where their table has it anyway.
  [
    "foreign_key_missing",
    `${PARTITIONED.replace("modulus 1", "modulus 2")} create table app.events_1 partition of app.events for values with (modulus 2, remainder 1);
     alter table app.events add foreign key (tenant_id, other) references app.users (tenant_id, id); alter table app.events_0 add constraint own foreign key (tenant_id, other) references app.users (tenant_id, id)`,
  ],
  [
    "constraint_not_valid",
    "alter table app.media add constraint old check (storage_url <> '') not valid",
    "warning app.media old",
  ],
  [
    "trigger_disabled",
    `create trigger seen before update on app.media for each row execute function suppress_redundant_updates_trigger();
     create trigger told before update on app.media for each row execute function suppress_redundant_updates_trigger();
     alter table app.media disable trigger seen, enable replica trigger told`,
    "warning app.media seen",
    "warning app.media told",
  ],
  [
    "index_missing",
    "update pg_index set indisvalid = false where indexrelid = 'app.media_by_generation'::regclass",
    "warning app.media media_generation",
  ],
  [
    "index_missing", // of the first one the primary key finds the row
    "alter table app.tenants add first uuid, add constraint has foreign key (id, first) references app.boards, add again uuid, add constraint names foreign key (again) references app.tenants on delete set null",
    "warning app.tenants names",
  ],
  [
    "index_missing",
    "drop index app.media_by_generation; create index on app.media (tenant_id) include (generation_id)",
    "warning app.media media_generation",
  ],
  [
    "index_missing",
    `${PARTITIONED} alter table app.events add foreign key (tenant_id, other) references app.users (tenant_id, id)`,
    "warning app.events events_tenant_id_other_fkey",
  ],
  ...["create index", "create unique index", "create unique index"].map(
    (index, i): [string, string, string] => [
      "unique_key_missing",
      `drop index app.tenants_one_default; ${index} again on app.tenants (is_default${i === 1 ? ", lower(slug)" : ""}) where is_default;
       update pg_index set indisvalid = ${i < 2} where indexrelid = 'app.again'::regclass`,
      "error app.tenants is_default",
    ],
  ),
  [
    "unique_key_missing",
    "drop index app.tenants_one_default; create unique index on app.tenants (is_default) where not is_default and slug = '-'",
    "error app.tenants is_default",
  ],
  ["unique_key_missing", "drop table app.media"], // table_missing tells
  [
    "unique_key_missing",
    "alter table app.provider_configs drop constraint provider_configs_name_key, add constraint provider_configs_name_key unique (tenant_id, provider_name) include (is_enabled)",
  ],
  [
    "unique_key_missing",
    "alter table app.media drop constraint media_pkey; alter table app.boards rename constraint boards_pkey to media_pkey",
    "error app.boards tenant_id,id",
    "error app.media tenant_id,id",
  ],
  [
    "rls_disabled",
    `${PARTITIONED} alter table app.events_0 disable row level security`,
    "error app.events_0 ",
  ],
  ["rls_disabled", "create temporary table mine (tenant_id uuid)"],
  ...[
    "drop policy tenant_rows on app.boards; create policy tenant_rows on app.boards as restrictive for all to tms_app using (true) with check (true)",
    "drop policy tenant_rows on app.boards; create policy tenant_rows on app.boards for all to tms_app using (true)",
  ].map((change): [string, string, string] => ["policy_changed", change, "error app.boards tenant_rows"]),
  ...[
    "drop policy auditor on app.boards; create policy auditor on app.boards for all to tms_auditor using (true)",
    "alter policy auditor on app.boards to tms_auditor, pg_monitor",
  ].map((change): [string, string, string] => ["policy_changed", change, "error app.boards auditor"]),
  [
    "policy_extra",
    "create policy registrar on app.boards to tms_registrar using (true)",
    "error app.boards registrar",
  ],
  ...["security definer", "set jit = off", "leakproof", "rename to tenant"].map(
    (change): [string, string, string] => [
      "tenant_id_function",
      `alter function app.tenant_id() ${change}`,
      "error - app.tenant_id()",
    ],
  ),
  [
    "tenant_id_function",
    "create or replace function app.tenant_id() returns uuid language sql stable parallel safe as $$ select null::uuid $$",
    "error - app.tenant_id()",
  ],
  [
    "policy_function",
    "create policy soon on app.media as restrictive to tms_app using (created_at < clock_timestamp() and length(lower(storage_url)) > 0 and random() < 1)",
  ],
  ["table_inherits", "create table app.far_media () inherits (app.media)"],
  [
    "table_inherits",
    "create schema shop; create table shop.archived () inherits (app.tenants); create table shop.plain (id uuid)",
    "error shop.archived app.tenants",
  ],
];
