create table app.tenants (
  id uuid primary key default gen_random_uuid(),
  name text not null
    constraint tenants_name_length check (char_length(name) between 1 and 255)
    constraint tenants_name_not_blank check (name ~ '\S'),
  slug text collate "C" not null
    constraint tenants_slug_format check (slug ~ '^[a-z0-9-]{1,255}$'),
  settings jsonb not null default '{}'
    constraint tenants_settings_is_object check (jsonb_typeof(settings) = 'object')
    constraint tenants_settings_size check (octet_length(settings::text) <= 1048576),
  status text not null default 'active'
    constraint tenants_status_known check (status in ('pending', 'active', 'suspended')),
  -- A flag and not the slug: a default tenant whose slug changes still cannot be deleted.
  is_default boolean not null default false,
  registration jsonb
    constraint tenants_registration_is_object check (jsonb_typeof(registration) = 'object')
    constraint tenants_registration_size check (octet_length(registration::text) <= 1048576),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
    constraint tenants_times_in_order check (updated_at >= created_at)
);

-- A unique index, not a unique constraint: a foreign key may refer to a constraint's columns, and then a change of the slug
-- would wait for every writer of the tenant. The condition is always true; it keeps foreign keys off the index.
create unique index tenants_slug_key on app.tenants (slug) where slug is not null;
create unique index tenants_one_default on app.tenants (is_default) where is_default;
create index tenants_newest_first on app.tenants (created_at desc, id);
create index tenants_status on app.tenants (status, created_at desc, id);
create index tenants_search on app.tenants using gin (name gin_trgm_ops, slug gin_trgm_ops);

select app.write_policies('app.tenants', 'id');
create policy registrar on app.tenants for all to tms_registrar using (true) with check (true);
revoke all on table app.tenants from public;
grant select on table app.tenants to tms_app, tms_auditor;
grant select, insert, update, delete on table app.tenants to tms_registrar;

comment on table app.tenants is 'The organizations. The only table with a key that is unique across tenants.';
comment on column app.tenants.name is '1 to 255 characters, not only white space. The service stores it in Unicode form NFC.';
comment on column app.tenants.slug is 'The name of the tenant in tokens and in the X-Tenant header.';
comment on column app.tenants.settings is 'A JSON object that operators write. The service returns it unchanged and reads nothing in it.';
comment on column app.tenants.status is 'pending: registered, waits for approval. active. suspended: every member is refused.';
comment on column app.tenants.is_default is 'The tenant that holds the data of a single-tenant past; at most one.';
comment on column app.tenants.registration is
  'The fields of a self-service registration: admin_email, admin_name, use_case, organization_size, metadata. Null for a tenant that an operator created.';
comment on column app.tenants.updated_at is 'When the service last changed the row. The changing statement sets it, no trigger.';
comment on index app.tenants_slug_key is 'Slugs are unique. Not a constraint, so that a slug can change while others write to the tenant.';
