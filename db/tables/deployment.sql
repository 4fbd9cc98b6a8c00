create table control.deployment (
  singleton boolean primary key default true check (singleton),
  default_tenant_made_at timestamptz default now(),
  multi_tenant boolean
);
revoke all on table control.deployment from public;
grant select, insert, update on table control.deployment to tms_registrar;
alter table control.deployment enable row level security;
create policy registrar on control.deployment for all to tms_registrar using (true) with check (true);

comment on table control.deployment is
  'One row: what holds for the whole deployment.';
comment on column control.deployment.default_tenant_made_at is
  'When the service made the default tenant. It does so only once, so a deliberate deletion stays a deletion.';
comment on column control.deployment.multi_tenant is
  'SERVICE_MULTI_TENANT_MODE, from tenancy migrate or the last start of the service. True: a null slug enters no tenant. Null: nobody said.';
