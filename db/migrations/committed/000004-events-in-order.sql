--! Previous: sha1:a3047f371751be5bfe1dcc607575657289db04d1
--! Hash: sha1:e3c7c107dd889392a63cf85a5a457b41c88504bb
--! Message: events in order

-- Events of members, invitations and keys, in an order that a reader can follow without missing one.
alter table control.tenant_events
  drop constraint if exists tenant_events_known,
  add column if not exists epoch int not null default 0,
  add column if not exists xid xid8 not null default '0',
  add column if not exists origin text collate "C" not null default '',
  add column if not exists n bigint not null default 0,
  add column if not exists target_id uuid,
  add column if not exists reason text constraint tenant_events_reason_length check (char_length(reason) between 1 and 500),
  add column if not exists request_id text constraint tenant_events_request_id_length check (char_length(request_id) between 1 and 64);
-- Until the installer has run, the trigger of the release before writes names without a prefix.
update control.tenant_events set event = 'tenant.' || event, n = id where event not like '%.%';
alter table control.tenant_events
  alter column epoch set default 1,
  alter column xid set default pg_current_xact_id(),
  alter column origin set default (pg_control_system()).system_identifier || '/'
    || greatest((pg_control_checkpoint()).timeline_id, (pg_control_recovery()).min_recovery_end_timeline),
  alter column n set default (extract(epoch from clock_timestamp()) * 1000000)::bigint,
  add constraint tenant_events_known check (event in (
    'tenant.created', 'tenant.registered', 'tenant.imported', 'tenant.replaced', 'tenant.approved', 'tenant.rejected',
    'tenant.suspended', 'tenant.resumed', 'tenant.updated', 'tenant.deletion_scheduled', 'tenant.restored', 'tenant.deleted',
    'member.added', 'member.joined', 'member.role_changed', 'member.removed', 'member.left',
    'invitation.created', 'invitation.accepted', 'invitation.revoked', 'key.created', 'key.revoked',
    'created', 'registered', 'imported', 'approved', 'rejected', 'suspended', 'resumed', 'updated', 'deleted'));
create unique index if not exists tenant_events_in_order on control.tenant_events (epoch, xid, n);
drop index if exists control.tenant_events_by_tenant;
create index tenant_events_by_tenant on control.tenant_events (tenant_id, epoch, xid, n);
grant select, insert on table control.tenant_events to tms_registrar;

comment on table control.tenant_events is
$$What happened to tenants, their members, invitations and keys, and who did it, in the order of (epoch, xid, n). Kept after the tenant is
gone. No tenant data but ids, slug and name.$$;
comment on column control.tenant_events.epoch is
  'Raised by control.event_place() when the server is another one than the last event''s: its transaction ids begin elsewhere.';
comment on column control.tenant_events.xid is 'The transaction. Events of smaller ids than those still open are complete.';
comment on column control.tenant_events.origin is 'The server and its timeline: see control.event_origin().';
comment on column control.tenant_events.n is
  'The place in its transaction. Not the id, which would tell readers of one tenant how many events the others have.';
comment on column control.tenant_events.target_id is 'The user, invitation or key that the event is about.';
comment on column control.tenant_events.reason is 'Why, in the words of the actor.';
comment on column control.tenant_events.request_id is 'The X-Request-Id of the request.';
select control.gate();
