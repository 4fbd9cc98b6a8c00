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
