create table audit.found (
  run_id bigint not null references audit.runs on delete cascade,
  check_name text not null,
  n int not null,
  severity text not null constraint found_severity_known check (severity in ('error', 'warning', 'info')),
  tenant_id uuid,
  relation text,
  "row" jsonb not null,
  detail text not null,
  remedy text not null,
  primary key (run_id, check_name, n)
);
revoke all on table audit.found from public;
grant select on table audit.found to tms_auditor;

comment on table audit.found is
$$The thousand worst findings of each check, kept for the last hundred runs and while a finding of the run is open. Key columns
only, no payload.$$;
comment on column audit.found.tenant_id is 'The tenant of the row; null for a finding about the catalog.';
comment on column audit.found."row" is 'The key columns of the row, or the name of the object; {} where the relation says it all.';
