--! Previous: sha1:c81e7375bc9f0bc32882186e5fccb6fbcf444209
--! Hash: sha1:f4a49b49a378916eb7189a5f2c3858c70bef5f1f
--! Message: sample product

-- The tables of the sample product (db/product/tables.sql), in a database that is to have it. Elsewhere they are made and dropped in this
-- transaction, which keeps the statements plain. A migration after this one finds them or not: to_regclass('app.boards').

-- product/tables/boards.sql

create table app.boards (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  owner_id uuid not null,
  title text not null constraint boards_title_length check (char_length(title) between 1 and 255),
  description text constraint boards_description_length check (char_length(description) <= 10000),
  settings jsonb not null default '{}' constraint boards_settings_is_object check (jsonb_typeof(settings) = 'object')
    constraint boards_settings_size check (octet_length(settings::text) <= 1048576),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now() constraint boards_times_in_order check (updated_at >= created_at),
  primary key (tenant_id, id),
  constraint boards_owner foreign key (tenant_id, owner_id) references app.users (tenant_id, id)
);

create index boards_by_owner on app.boards (tenant_id, owner_id);
create index boards_newest_first on app.boards (tenant_id, created_at desc, id);
create index boards_with_owner on app.boards (tenant_id, id) include (owner_id);

select app.isolate('app.boards');

comment on table app.boards is 'The boards of a tenant.';
comment on column app.boards.owner_id is 'The member who owns the board. The owner has no row in board_members, unless somebody added one.';
comment on column app.boards.settings is 'A JSON object, stored unchanged.';
comment on index app.boards_with_owner is 'The audit reads the owner of each board from it, without reading the boards.';

-- product/tables/board_members.sql

create table app.board_members (
  tenant_id uuid not null,
  board_id uuid not null,
  user_id uuid not null,
  role text not null default 'viewer' constraint board_members_role_known check (role in ('viewer', 'editor', 'admin')),
  invited_by uuid,
  created_at timestamptz not null default now(),
  primary key (tenant_id, board_id, user_id),
  constraint board_members_board foreign key (tenant_id, board_id) references app.boards (tenant_id, id) on delete cascade,
  constraint board_members_user foreign key (tenant_id, user_id) references app.users (tenant_id, id) on delete cascade,
  constraint board_members_inviter foreign key (tenant_id, invited_by) references app.users (tenant_id, id)
);

create index board_members_by_user on app.board_members (tenant_id, user_id);
create index board_members_by_inviter on app.board_members (tenant_id, invited_by);

select app.isolate('app.board_members');

comment on table app.board_members is 'The members who work on a board besides its owner.';
comment on column app.board_members.role is 'viewer, editor or admin of the board.';
comment on column app.board_members.invited_by is 'The member who added this one; null where unknown.';

-- product/tables/generations.sql

create table app.generations (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  board_id uuid not null,
  user_id uuid not null,
  artifact_type text not null constraint generations_artifact_type_length check (char_length(artifact_type) between 1 and 50),
  status text not null default 'pending'
    constraint generations_status_known check (status in ('pending', 'processing', 'completed', 'failed', 'cancelled')),
  input jsonb not null default '{}' constraint generations_input_is_object check (jsonb_typeof(input) = 'object')
    constraint generations_input_size check (octet_length(input::text) <= 1048576),
  error text constraint generations_error_length check (char_length(error) <= 10000),
  created_at timestamptz not null default now(),
  completed_at timestamptz constraint generations_times_in_order check (completed_at >= created_at),
  primary key (tenant_id, id),
  constraint generations_board foreign key (tenant_id, board_id) references app.boards (tenant_id, id) on delete cascade,
  constraint generations_user foreign key (tenant_id, user_id) references app.users (tenant_id, id)
);

create index generations_by_board_and_user on app.generations (tenant_id, board_id, user_id);
create index generations_by_user on app.generations (tenant_id, user_id);
create index generations_unfinished on app.generations (tenant_id, id) where status <> 'completed';
create index generations_contradictory on app.generations (tenant_id)
  where case when completed_at is null then status = 'completed' else status in ('pending', 'processing') end;

select app.isolate('app.generations');

comment on table app.generations is 'What was generated on a board, and by which member.';
comment on column app.generations.user_id is 'The member who asked for it.';
comment on column app.generations.artifact_type is 'What was asked for: image, video, …';
comment on column app.generations.status is
  'pending, processing, completed, failed or cancelled. A completed generation has completed_at and media, a failed one an error.';
comment on column app.generations.input is 'The input for the provider, a JSON object.';
comment on column app.generations.error is 'Why it failed; null otherwise.';
comment on index app.generations_by_board_and_user is 'The generations of a board, and who generated on which board.';
comment on index app.generations_unfinished is 'Generations that wait, run or have failed; the audit reads few rows instead of all.';
comment on index app.generations_contradictory is 'Generations whose status and completed_at contradict each other. Normally empty.';

-- product/tables/media.sql

create table app.media (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  generation_id uuid not null,
  storage_url text not null constraint media_storage_url_length check (char_length(storage_url) between 1 and 2048),
  content_type text constraint media_content_type_length check (char_length(content_type) <= 255),
  size_bytes bigint constraint media_size_not_negative check (size_bytes >= 0),
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  constraint media_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id) on delete cascade
);

create index media_by_generation on app.media (tenant_id, generation_id);
create index media_named_otherwise on app.media (tenant_id) where position(tenant_id::text in storage_url) = 0;

select app.isolate('app.media');

comment on table app.media is 'The files of a generation. The bytes are stored elsewhere.';
comment on column app.media.storage_url is 'The URL of the bytes, 1 to 2048 characters. A URL that contains a tenant id contains the id of its own tenant.';
comment on column app.media.content_type is 'The media type of the bytes (RFC 6838).';
comment on column app.media.size_bytes is 'Bytes; null where unknown.';
comment on index app.media_named_otherwise is 'Media whose URL does not contain the id of their tenant; the audit reads these alone.';

-- product/tables/provider_configs.sql

create table app.provider_configs (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  provider_name text not null constraint provider_configs_name_length check (char_length(provider_name) between 1 and 255),
  config jsonb not null default '{}' constraint provider_configs_config_is_object check (jsonb_typeof(config) = 'object')
    constraint provider_configs_config_size check (octet_length(config::text) <= 1048576),
  is_enabled boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now() constraint provider_configs_times_in_order check (updated_at >= created_at),
  primary key (tenant_id, id),
  constraint provider_configs_name_key unique (tenant_id, provider_name)
);

select app.isolate('app.provider_configs');

comment on table app.provider_configs is 'How a tenant reaches the providers that generate for it.';
comment on column app.provider_configs.provider_name is 'One configuration for each provider and tenant.';
comment on column app.provider_configs.config is 'A JSON object. It may hold secrets: no function of the service and no finding of the audit returns it.';
comment on column app.provider_configs.is_enabled is 'Whether generations of the tenant may use it.';

-- product/tables/credit_transactions.sql

create table app.credit_transactions (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  user_id uuid not null,
  generation_id uuid,
  type text not null constraint credit_transactions_type_length check (char_length(type) between 1 and 50),
  amount bigint not null,
  balance_after bigint not null,
  description text constraint credit_transactions_description_length check (char_length(description) <= 10000),
  -- Not now(): the order of a ledger is (created_at, id), so two rows of one transaction need two times.
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, id),
  constraint credit_transactions_user foreign key (tenant_id, user_id) references app.users (tenant_id, id),
  constraint credit_transactions_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id)
);

-- Includes the sums: a ledger is read, and audited, from the index alone.
create index credit_transactions_ledger on app.credit_transactions (tenant_id, user_id, created_at, id) include (amount, balance_after);
create index credit_transactions_by_generation on app.credit_transactions (tenant_id, generation_id);

select app.isolate('app.credit_transactions');

comment on table app.credit_transactions is
  'A credit ledger for each user. balance_after is the balance before the row plus amount, in the order (created_at, id).';
comment on column app.credit_transactions.user_id is 'The owner of the ledger.';
comment on column app.credit_transactions.generation_id is 'The generation that was paid for; null for a grant.';
comment on column app.credit_transactions.type is 'The reason: grant, usage, refund, …';
comment on column app.credit_transactions.amount is 'Credits; spent credits are negative.';
comment on column app.credit_transactions.balance_after is 'Credits: the balance before this row plus its amount.';

do $$
begin
  if current_setting('app.sample_product', true) = 'off' then
    drop table app.credit_transactions, app.provider_configs, app.media, app.generations, app.board_members, app.boards;
  end if;
end
$$;
