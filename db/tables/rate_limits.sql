-- Unlogged: a crash empties it, which costs nobody more than a window.
create unlogged table control.rate_limits (
  bucket text collate "C" not null,
  identity text collate "C" not null,
  hits int not null,
  reset_at timestamptz not null,
  primary key (bucket, identity)
) with (fillfactor = 70);
create index rate_limits_expired on control.rate_limits (reset_at);
revoke all on table control.rate_limits from public;
grant select, insert, update, delete on table control.rate_limits to tms_registrar;
alter table control.rate_limits enable row level security;
create policy registrar on control.rate_limits for all to tms_registrar using (true) with check (true);

comment on table control.rate_limits is 'Requests of an identity in the current window of a bucket.';
comment on column control.rate_limits.identity is 'Provider and subject of the caller, as one text.';
comment on column control.rate_limits.reset_at is 'When the window ends; hits then starts again.';
