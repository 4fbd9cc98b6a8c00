create table app.api_keys (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  user_id uuid not null,
  name text not null
    constraint api_keys_name_length check (char_length(name) between 1 and 255)
    constraint api_keys_name_not_blank check (name ~
      '[^\u0001-\u0020\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f'
      '\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd'
      '\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'),
  secret_hash bytea not null constraint api_keys_secret_hash_length check (octet_length(secret_hash) = 32),
  created_by uuid not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz constraint api_keys_expires_after_creation check (expires_at > created_at),
  last_used_at timestamptz,
  revoked_at timestamptz,
  primary key (tenant_id, id),
  constraint api_keys_secret_hash_key unique (tenant_id, secret_hash),
  constraint api_keys_user foreign key (tenant_id, user_id) references app.users (tenant_id, id),
  constraint api_keys_maker foreign key (tenant_id, created_by) references app.users (tenant_id, id)
);

create unique index api_keys_by_user on app.api_keys (tenant_id, user_id);
create index api_keys_by_maker on app.api_keys (tenant_id, created_by);
create index api_keys_newest_first on app.api_keys (tenant_id, created_at desc, id) where revoked_at is null;

select app.isolate('app.api_keys');

comment on table app.api_keys is 'Keys with which programs call the API. Each acts as a user of its own, whose row has the key''s role.';
comment on column app.api_keys.user_id is 'The user that the key is: auth_provider key, auth_subject the id of the key.';
comment on column app.api_keys.secret_hash is 'SHA-256 of the secret, which is 32 random bytes: nobody guesses it from the hash.';
comment on column app.api_keys.created_by is 'The member who made the key. The key goes on after this member has left.';
comment on column app.api_keys.expires_at is 'When the key stops working; null: never.';
comment on column app.api_keys.last_used_at is 'When the key was last used. Written at most once a minute.';
comment on column app.api_keys.revoked_at is 'When the key was revoked. The row stays, as that of its user does.';
comment on index app.api_keys_newest_first is 'Serves the list of keys.';
