-- No foreign key: an event outlives its tenant.
create table control.tenant_events (
  id bigint generated always as identity primary key,
  at timestamptz not null default clock_timestamp(),
  event text not null constraint tenant_events_known check (event in (
    'tenant.created', 'tenant.registered', 'tenant.imported', 'tenant.replaced', 'tenant.approved', 'tenant.rejected',
    'tenant.suspended', 'tenant.resumed', 'tenant.updated', 'tenant.deletion_scheduled', 'tenant.restored', 'tenant.deleted',
    'member.added', 'member.joined', 'member.role_changed', 'member.removed', 'member.left',
    'invitation.created', 'invitation.accepted', 'invitation.revoked', 'key.created', 'key.revoked',
    -- As the trigger of release 1 wrote them, until the next release was installed.
    'created', 'registered', 'imported', 'approved', 'rejected', 'suspended', 'resumed', 'updated', 'deleted')),
  tenant_id uuid not null,
  slug text collate "C" not null,
  name text not null,
  changed text[],
  actor_provider text collate "C",
  actor_subject text collate "C",
  login name not null default session_user,
  epoch int not null default 1,
  xid xid8 not null default pg_current_xact_id(),
  origin text collate "C" not null default (pg_control_system()).system_identifier || '/'
    || greatest((pg_control_checkpoint()).timeline_id, (pg_control_recovery()).min_recovery_end_timeline),
  n bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint,
  target_id uuid,
  reason text constraint tenant_events_reason_length check (char_length(reason) between 1 and 500),
  request_id text constraint tenant_events_request_id_length check (char_length(request_id) between 1 and 64),
  by_operator boolean not null default false,
  role text constraint tenant_events_role_known check (role in ('owner', 'admin', 'member')),
  role_before text constraint tenant_events_role_before_known check (role_before in ('owner', 'admin', 'member'))
);
create index tenant_events_by_slug on control.tenant_events (slug, id);
create unique index tenant_events_in_order on control.tenant_events (epoch, xid, n);
create index tenant_events_by_tenant on control.tenant_events (tenant_id, epoch, xid, n);
revoke all on table control.tenant_events from public;
grant select, insert on table control.tenant_events to tms_registrar;
alter table control.tenant_events enable row level security;
create policy registrar on control.tenant_events for all to tms_registrar using (true) with check (true);

comment on table control.tenant_events is
$$What happened to tenants, their members, invitations and keys, and who did it, in the order of (epoch, xid, n). Kept after the tenant is
gone. No tenant data but ids, slug and name.$$;
comment on column control.tenant_events.changed is 'The changed fields of an update.';
comment on column control.tenant_events.actor_subject is 'The caller over HTTP; null for a change in SQL, which login names.';
comment on column control.tenant_events.login is 'The database login that made the change.';
comment on column control.tenant_events.epoch is
  'Raised by control.event_place() when the server is another one than the last event''s: its transaction ids begin elsewhere.';
comment on column control.tenant_events.xid is 'The transaction. Events of smaller ids than those still open are complete.';
comment on column control.tenant_events.origin is 'The server and its timeline: see control.event_origin().';
comment on column control.tenant_events.n is
  'The place in its transaction. Not the id, which would tell readers of one tenant how many events the others have.';
comment on column control.tenant_events.target_id is 'The user, invitation or key that the event is about.';
comment on column control.tenant_events.reason is 'Why, in the words of the actor.';
comment on column control.tenant_events.by_operator is 'Whether the actor acted as an operator, whom the tenant''s own people do not see.';
comment on column control.tenant_events.role is 'The role that the member, invitation or key has from then on.';
comment on column control.tenant_events.role_before is 'The role that the member had until then, where it changed or ended.';
comment on column control.tenant_events.request_id is 'The X-Request-Id of the request.';
