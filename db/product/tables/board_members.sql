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
