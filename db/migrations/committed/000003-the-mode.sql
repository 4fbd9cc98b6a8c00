--! Previous: sha1:c53c5fccb1b29d3ea1ab73a7320eab3419ff206b
--! Hash: sha1:cec7372af2aa63ae575b4889e190fb8796e8935d
--! Message: the mode

-- Whether the deployment is in multi-tenant mode: the database refuses a null slug there.
alter table control.deployment alter column default_tenant_made_at drop not null;
alter table control.deployment add column if not exists multi_tenant boolean;
grant update on table control.deployment to tms_registrar;
comment on table control.deployment is 'One row: what holds for the whole deployment.';
comment on column control.deployment.default_tenant_made_at is
  'When the service made the default tenant. It does so only once, so a deliberate deletion stays a deletion.';
comment on column control.deployment.multi_tenant is
  'SERVICE_MULTI_TENANT_MODE, from tenancy migrate or the last start of the service. True: a null slug enters no tenant. Null: nobody said.';
select control.gate();
