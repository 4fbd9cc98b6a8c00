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
