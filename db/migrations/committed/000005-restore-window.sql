--! Previous: sha1:e3c7c107dd889392a63cf85a5a457b41c88504bb
--! Hash: sha1:c2872c06c030d9122fc7816e5131503a61e0c1c0
--! Message: restore window

-- A deleted tenant stays for the days of SERVICE_TENANT_DELETION_GRACE, and can be restored until then.
alter table app.tenants add column if not exists deleted_at timestamptz;
alter table app.tenants add column if not exists purge_at timestamptz;
alter table app.tenants add column if not exists status_before text;
alter table app.tenants drop constraint tenants_status_known;
alter table app.tenants add constraint tenants_status_known check (status in ('pending', 'active', 'suspended', 'deleted'));
alter table app.tenants add constraint tenants_status_before_known check (status_before in ('pending', 'active', 'suspended'));
alter table app.tenants add constraint tenants_deletion_whole
  check (num_nonnulls(deleted_at, purge_at, status_before) = case when status = 'deleted' then 3 else 0 end);
alter table app.tenants add constraint tenants_deletion_in_order check (purge_at >= deleted_at);
create index if not exists tenants_purge on app.tenants (purge_at) where purge_at is not null;
alter table control.tenant_counts add column if not exists deleted bigint not null default 0;

comment on column app.tenants.status is
  'pending: registered, waits for approval. active. suspended: every member is refused. deleted: the same, and the tenant goes at purge_at.';
comment on column app.tenants.deleted_at is 'When an operator deleted the tenant; null unless its status is deleted.';
comment on column app.tenants.purge_at is 'From when tenancy purge may remove the tenant; until then it can be restored.';
comment on column app.tenants.status_before is 'The status that a restored tenant gets back.';
comment on index app.tenants_purge is 'Finds the tenants whose restore window has passed.';
select control.gate();
