--! Previous: sha1:6ec4cb863dfac376dc3b05a845407e884270105a
--! Hash: sha1:fd19ca6706e27e0b0be66077c299b2f25c081e37
--! Message: roles in events

-- An event of a member, an invitation or a key tells which role it gives, and which one it takes.
alter table control.tenant_events
  add column if not exists role text constraint tenant_events_role_known check (role in ('owner', 'admin', 'member')),
  add column if not exists role_before text
    constraint tenant_events_role_before_known check (role_before in ('owner', 'admin', 'member'));
comment on column control.tenant_events.role is 'The role that the member, invitation or key has from then on.';
comment on column control.tenant_events.role_before is 'The role that the member had until then, where it changed or ended.';
select control.gate();
