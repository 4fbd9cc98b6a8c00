-- No foreign key: an event outlives its tenant.
create table control.tenant_events (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  event text not null constraint tenant_events_known check (event in (
    'created', 'registered', 'imported', 'approved', 'rejected', 'suspended', 'resumed', 'updated', 'deleted')),
  tenant_id uuid not null,
  slug text collate "C" not null,
  name text not null,
  changed text[],
  actor_provider text collate "C",
  actor_subject text collate "C",
  login name not null default session_user
);
create index tenant_events_by_slug on control.tenant_events (slug, id);
create index tenant_events_by_tenant on control.tenant_events (tenant_id, id);
revoke all on table control.tenant_events from public;

comment on table control.tenant_events is
  'What happened to tenants and who did it, in the order of id. Kept after the tenant is gone. No tenant data but id, slug and name.';
comment on column control.tenant_events.changed is 'The changed fields of an update.';
comment on column control.tenant_events.actor_subject is 'The caller over HTTP; null for a change in SQL, which login names.';
comment on column control.tenant_events.login is 'The database login that made the change.';
