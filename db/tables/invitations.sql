create table app.invitations (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  token_hash bytea not null constraint invitations_hash_length check (octet_length(token_hash) = 32),
  role text not null default 'member' constraint invitations_role_known check (role in ('owner', 'admin', 'member')),
  email text collate "C" constraint invitations_email_length check (char_length(email) <= 320),
  invited_by uuid,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '7 days'
    constraint invitations_lifetime check (expires_at > created_at and expires_at - created_at <= interval '30 days'),
  primary key (tenant_id, id),
  constraint invitations_token_key unique (tenant_id, token_hash),
  constraint invitations_inviter foreign key (tenant_id, invited_by) references app.users (tenant_id, id)
);

create index invitations_by_inviter on app.invitations (tenant_id, invited_by);
create index invitations_newest_first on app.invitations (tenant_id, created_at desc, id);

select app.isolate('app.invitations');

comment on table app.invitations is
  'Invitations that wait to be accepted. Accepting or revoking one deletes its row; the events remain.';
comment on column app.invitations.token_hash is
  'SHA-256 of the secret, the part of the token after the tenant''s id. The database never receives the secret.';
comment on column app.invitations.role is 'The role that the invited person gets.';
comment on column app.invitations.email is
  'Only a token with this address can accept; null: every token. The domain as DNS writes it, ASCII letters in lower case.';
comment on column app.invitations.invited_by is
  'The member who made the invitation: it counts only while that member could still make it. Null: an operator made it.';
comment on index app.invitations_newest_first is 'Serves the list of open invitations.';
