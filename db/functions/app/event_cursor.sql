create or replace function app.event_cursor(p_epoch int, p_xid xid8, p_n bigint)
returns text
language sql
immutable
parallel safe
return app.to_base64url(p_epoch || ' ' || p_xid::text || ' ' || p_n);
comment on function app.event_cursor(int, xid8, bigint) is 'The place of an event: opaque, URL-safe.';
revoke all on function app.event_cursor(int, xid8, bigint) from public;
grant execute on function app.event_cursor(int, xid8, bigint) to tms_registrar;
