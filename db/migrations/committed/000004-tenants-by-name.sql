--! Previous: sha1:a3047f371751be5bfe1dcc607575657289db04d1
--! Hash: sha1:03ee3b0ba0f8858e26883de0d015db87bfacbdc9
--! Message: tenants by name

-- The list of tenants by name.
create index if not exists tenants_by_name on app.tenants (name, id);
comment on index app.tenants_by_name is 'Serves the list of tenants by name.';
comment on column app.tenants.settings is
  'A JSON object that operators write, and the tenant''s owners and admins where the settings schema lets them. The service reads nothing in it.';

select control.gate();
