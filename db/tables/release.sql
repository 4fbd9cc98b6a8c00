create table control.release (
  installed_at timestamptz primary key default clock_timestamp(),
  number int not null constraint release_number_positive check (number > 0),
  hash text not null,
  installed_by name not null default session_user
);
revoke all on table control.release from public;
alter table control.release enable row level security;

comment on table control.release is
  'The releases whose functions, views, triggers and checks were installed. The last row is the release that is in force.';
comment on column control.release.number is 'The number in db/release.json. The installer refuses a build with a smaller one.';
comment on column control.release.hash is 'SHA-256 over the installed files. The installer has nothing to do for the same hash.';
