-- The sort key of a page's last row.
create or replace function app.cursor_of(p_at timestamptz, p_id uuid)
returns text
language sql
stable
parallel safe
return app.to_base64url((extract(epoch from p_at) * 1000000)::bigint || ' ' || p_id);
comment on function app.cursor_of(timestamptz, uuid) is 'The cursor of the page that begins after this row: opaque, URL-safe.';
revoke all on function app.cursor_of(timestamptz, uuid) from public;
grant execute on function app.cursor_of(timestamptz, uuid) to tms_app, tms_registrar;
