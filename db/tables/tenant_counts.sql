-- An exact total that stays cheap at a million tenants. Up to 64 rows, and each backend adds to its own, so that parallel
-- registrations do not wait for one counter.
create table control.tenant_counts (
  shard int primary key check (shard between 0 and 63),
  pending bigint not null default 0,
  active bigint not null default 0,
  suspended bigint not null default 0,
  deleted bigint not null default 0
) with (fillfactor = 50);
revoke all on table control.tenant_counts from public;
grant select, insert, update on table control.tenant_counts to tms_registrar;
alter table control.tenant_counts enable row level security;
create policy registrar on control.tenant_counts for all to tms_registrar using (true) with check (true);

comment on table control.tenant_counts is 'Numbers of tenants by status, spread over rows. Only the sums have a meaning.';
comment on column control.tenant_counts.shard is 'The process id of the backend modulo 64; has no meaning.';
