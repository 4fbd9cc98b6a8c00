create or replace function app.page_bytes()
returns int
language sql
immutable
parallel safe
return 2097152;
comment on function app.page_bytes() is 'The size of a page of a list, at most, unless its first row is larger: 2 MiB.';
revoke all on function app.page_bytes() from public;
grant execute on function app.page_bytes() to tms_app, tms_registrar;
