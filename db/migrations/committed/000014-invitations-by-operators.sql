--! Previous: sha1:78e462e97eb68c374856c26eab60f32a9a258043
--! Hash: sha1:935af75d7e03161a56f7879649a1f0e265acc098
--! Message: invitations by operators

-- Operators invite, too: they are members of no tenant.
alter table app.invitations alter column invited_by drop not null;
comment on column app.invitations.invited_by is
  'The member who made the invitation: it counts only while that member could still make it. Null: an operator made it.';
-- No gate: that of the release before wants a member behind each invitation. The installer runs its own next.
