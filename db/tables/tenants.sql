create table app.tenants (
  id uuid primary key default gen_random_uuid(),
  name text not null
    constraint tenants_name_length check (char_length(name) between 1 and 255)
    -- A character that shows: src/values/visible.ts says which do not.
    constraint tenants_name_not_blank check (name ~
      '[^\u0001-\u0020\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f'
      '\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd'
      '\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]'),
  slug text collate "C" not null
    constraint tenants_slug_format check (slug ~ '^[a-z0-9-]{1,255}$'),
  settings jsonb not null default '{}'
    constraint tenants_settings_is_object check (jsonb_typeof(settings) = 'object')
    constraint tenants_settings_size check (octet_length(settings::text) <= 1048576),
  status text not null default 'active'
    constraint tenants_status_known check (status in ('pending', 'active', 'suspended', 'deleted')),
  -- A flag and not the slug: a default tenant whose slug changes still cannot be deleted.
  is_default boolean not null default false,
  registration jsonb
    constraint tenants_registration_is_object check (jsonb_typeof(registration) = 'object')
    constraint tenants_registration_size check (octet_length(registration::text) <= 1048576),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
    constraint tenants_times_in_order check (updated_at >= created_at),
  deleted_at timestamptz,
  purge_at timestamptz constraint tenants_deletion_in_order check (purge_at >= deleted_at),
  status_before text constraint tenants_status_before_known check (status_before in ('pending', 'active', 'suspended')),
  constraint tenants_deletion_whole
    check (num_nonnulls(deleted_at, purge_at, status_before) = case when status = 'deleted' then 3 else 0 end)
);

-- A unique index, not a unique constraint: a foreign key may refer to a constraint's columns, and then a change of the slug
-- would wait for every writer of the tenant. The condition is always true; it keeps foreign keys off the index.
create unique index tenants_slug_key on app.tenants (slug) where slug is not null;
create unique index tenants_one_default on app.tenants (is_default) where is_default;
create index tenants_newest_first on app.tenants (created_at desc, id);
create index tenants_status on app.tenants (status, created_at desc, id);
create index tenants_purge on app.tenants (purge_at) where purge_at is not null;
create index tenants_by_name on app.tenants (name, id);
create index tenants_search on app.tenants using gin (name gin_trgm_ops, slug gin_trgm_ops);

select app.write_policies('app.tenants', 'id');
create policy registrar on app.tenants for all to tms_registrar using (true) with check (true);
revoke all on table app.tenants from public;
grant select on table app.tenants to tms_app, tms_auditor;
grant select, insert, update, delete on table app.tenants to tms_registrar;

comment on table app.tenants is 'The organizations. The only table with a key that is unique across tenants.';
comment on column app.tenants.name is '1 to 255 characters, one of which shows. The service stores it in Unicode form NFC.';
comment on column app.tenants.slug is 'The name of the tenant in tokens and in the X-Tenant header.';
comment on column app.tenants.settings is 'A JSON object that operators write, and the tenant''s owners and admins where the settings schema lets them. The service reads nothing in it.';
comment on column app.tenants.status is
  'pending: registered, waits for approval. active. suspended: every member is refused. deleted: the same, and the tenant goes at purge_at.';
comment on column app.tenants.is_default is 'The tenant that holds the data of a single-tenant past; at most one.';
comment on column app.tenants.registration is
  'The fields of a self-service registration: admin_email, admin_name, use_case, organization_size, metadata. Null for a tenant that an operator created.';
comment on column app.tenants.updated_at is 'When the service last changed the row. The changing statement sets it, no trigger.';
comment on column app.tenants.deleted_at is 'When an operator deleted the tenant; null unless its status is deleted.';
comment on column app.tenants.purge_at is 'From when tenancy purge may remove the tenant; until then it can be restored.';
comment on column app.tenants.status_before is 'The status that a restored tenant gets back.';
comment on index app.tenants_purge is 'Finds the tenants whose restore window has passed.';
comment on index app.tenants_by_name is 'Serves the list of tenants by name.';
comment on index app.tenants_slug_key is 'Slugs are unique. Not a constraint, so that a slug can change while others write to the tenant.';
