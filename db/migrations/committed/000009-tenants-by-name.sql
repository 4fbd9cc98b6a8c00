--! Previous: sha1:2be0d1c8f9f0872a0e864133c0c62ff58269bc3e
--! Hash: sha1:4da171287d0284c669b0cfc72a07a8030ae3129f
--! Message: tenants by name

-- The list of tenants by name.
create index if not exists tenants_by_name on app.tenants (name, id);
comment on index app.tenants_by_name is 'Serves the list of tenants by name.';
comment on column app.tenants.settings is
  'A JSON object that operators write, and the tenant''s owners and admins where the settings schema lets them. The service reads nothing in it.';

select control.gate();
