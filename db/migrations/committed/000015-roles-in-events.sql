--! Previous: sha1:935af75d7e03161a56f7879649a1f0e265acc098
--! Hash: sha1:1bb754b7d65c8cb3ef62c5bcb44dbe06d03829d4
--! Message: roles in events

-- An event of a member, an invitation or a key tells which role it gives, and which one it takes.
alter table control.tenant_events
  add column if not exists role text constraint tenant_events_role_known check (role in ('owner', 'admin', 'member')),
  add column if not exists role_before text
    constraint tenant_events_role_before_known check (role_before in ('owner', 'admin', 'member'));
comment on column control.tenant_events.role is 'The role that the member, invitation or key has from then on.';
comment on column control.tenant_events.role_before is 'The role that the member had until then, where it changed or ended.';
-- No gate: see 000014.
