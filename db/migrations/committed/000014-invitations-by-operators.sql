--! Previous: sha1:78e462e97eb68c374856c26eab60f32a9a258043
--! Hash: sha1:6ec4cb863dfac376dc3b05a845407e884270105a
--! Message: invitations by operators

-- Operators invite, too: they are members of no tenant.
alter table app.invitations alter column invited_by drop not null;
comment on column app.invitations.invited_by is
  'The member who made the invitation: it counts only while that member could still make it. Null: an operator made it.';
select control.gate();
