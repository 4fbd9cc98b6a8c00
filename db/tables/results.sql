create table audit.results (
  run_id bigint not null references audit.runs on delete cascade,
  check_name text not null,
  relation text not null default '',
  checked bigint not null,
  errors bigint not null,
  warnings bigint not null,
  infos bigint not null,
  failed boolean not null default false,
  primary key (run_id, check_name, relation)
);
revoke all on table audit.results from public;
grant select on table audit.results to tms_auditor;

comment on table audit.results is
  'What each check of a run examined and found, by relation. relation is empty for a check that is not about one relation.';
comment on column audit.results.checked is 'Rows of the relation, or objects of the catalog.';
comment on column audit.results.failed is 'Whether the check could not run; one of the errors is that.';
