create table control.deployment (
  singleton boolean primary key default true check (singleton),
  default_tenant_made_at timestamptz not null default now()
);
revoke all on table control.deployment from public;
grant select, insert on table control.deployment to tms_registrar;

comment on table control.deployment is
  'One row once the default tenant was created. The service creates it only once, so a deliberate deletion stays a deletion.';
