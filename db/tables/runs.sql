create table audit.runs (
  id bigint generated always as identity primary key,
  started_at timestamptz not null default clock_timestamp(),
  finished_at timestamptz,
  tenant text,
  tenant_id uuid,
  family text constraint runs_family_known check (family in ('data', 'schema')),
  sample int constraint runs_sample_positive check (sample > 0),
  run_by name not null default session_user,
  server_version text not null default current_setting('server_version'),
  schema_version text,
  checks int not null default 0,
  rows_checked bigint not null default 0,
  errors bigint not null default 0,
  warnings bigint not null default 0,
  infos bigint not null default 0,
  not_run int not null default 0
);
revoke all on table audit.runs from public;
grant select on table audit.runs to tms_auditor;

comment on table audit.runs is
  'One row for each run of the audit. finished_at is null while a run goes on, and stays null when it was cancelled.';
comment on column audit.runs.tenant is 'The slug of the one tenant whose rows were examined; null: all tenants.';
comment on column audit.runs.family is 'data, schema, or null for both.';
comment on column audit.runs.sample is 'The number of tenants in which the proof acted; null: all.';
comment on column audit.runs.schema_version is 'The last applied migration, as its file name.';
comment on column audit.runs.rows_checked is
  'Rows, and objects of the catalog, that the checks examined. A row that three checks examine counts three times.';
comment on column audit.runs.not_run is 'Checks that could not run. Each is an error too: a run with one of them proves nothing.';
