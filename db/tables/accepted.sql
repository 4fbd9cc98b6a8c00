-- Not part of a release: what the owner of the database accepted outlives releases.
create table audit.accepted (
  kind text not null,
  name text not null,
  owner text not null,
  granted text not null,
  body text not null,
  accepted_at timestamptz not null default now(),
  accepted_by name not null default session_user,
  reason text,
  primary key (kind, name)
);
revoke all on table audit.accepted from public;
grant select on table audit.accepted to tms_auditor;

comment on table audit.accepted is
$$Functions and triggers of a product, event triggers, functions outside the service's schemas, and unique keys over all tenants,
as audit.accept() found them. The audit reports every difference from then on.$$;
comment on column audit.accepted.reason is 'Why it is accepted, in the words of the person who did.';
