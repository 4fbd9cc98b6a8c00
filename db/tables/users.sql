create table app.users (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  auth_provider text collate "C" not null constraint users_provider_length check (char_length(auth_provider) between 1 and 255),
  auth_subject text collate "C" not null constraint users_subject_length check (char_length(auth_subject) between 1 and 255),
  email text constraint users_email_length check (char_length(email) <= 320),
  display_name text constraint users_display_name_length check (char_length(display_name) <= 255)
    constraint users_display_name_not_blank check (display_name ~
      '[^\u0001-\u0020\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f'
      '\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd'
      '\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'),
  role text not null default 'member' constraint users_role_known check (role in ('owner', 'admin', 'member')),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now() constraint users_times_in_order check (updated_at >= created_at),
  removed_at timestamptz,
  primary key (tenant_id, id),
  constraint users_tenant_identity_key unique (tenant_id, auth_provider, auth_subject)
);

-- Not unique: one person in two tenants has two rows.
create index users_identity on app.users (auth_provider, auth_subject);
create index users_newest_first on app.users (tenant_id, created_at desc, id) where removed_at is null;
create index users_owners on app.users (tenant_id, id) where role = 'owner' and removed_at is null;

select app.isolate('app.users');
create policy registrar on app.users for all to tms_registrar using (true) with check (true);
grant select, insert, update, delete on table app.users to tms_registrar;

comment on table app.users is 'The members of each tenant. An identity is the pair (auth_provider, auth_subject).';
comment on column app.users.tenant_id is 'The tenant that owns the row, as in every other table.';
comment on column app.users.auth_provider is 'The issuer of the token, or jwt when the token names none.';
comment on column app.users.auth_subject is 'The sub claim of the token.';
comment on column app.users.email is 'The address from the token, or from the admin who added the member. The service identifies nobody by it.';
comment on column app.users.role is 'owner, admin or member of the tenant. Only an owner grants or revokes the role owner.';
comment on column app.users.removed_at is 'When the membership ended. The row stays, because rows that the member made refer to it.';
comment on index app.users_newest_first is 'Serves the list of members.';
comment on index app.users_owners is 'The owners of a tenant; removing one locks them all.';
