create table control.deployment (
  singleton boolean primary key default true check (singleton),
  default_tenant_made_at timestamptz not null default now()
);
revoke all on table control.deployment from public;
grant select, insert on table control.deployment to tms_registrar;
alter table control.deployment enable row level security;
create policy registrar on control.deployment for all to tms_registrar using (true) with check (true);

comment on table control.deployment is
  'One row once the default tenant was created. The service creates it only once, so a deliberate deletion stays a deletion.';
