create or replace function app.read_event_cursor(p_cursor text, out epoch int, out xid xid8, out n bigint)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_part text[];
begin
  begin
    v_part := string_to_array(app.from_base64url(p_cursor), ' ');
    epoch := v_part[1]::int;
    xid := v_part[2]::xid8;
    n := v_part[3]::bigint;
  exception when data_exception then
    null;
  end;
  if app.event_cursor(epoch, xid, n) is distinct from p_cursor then
    perform app.refuse(422, 'Validation failed', 'The cursor was not made by this service', 'bad_cursor',
      '{"errors": [{"field": "after", "message": "was not made by this service"}]}');
  end if;
end
$$;
comment on function app.read_event_cursor(text) is
  'The place in a cursor; null for a null cursor. Raises TM422 for a text that app.event_cursor() did not make.';
revoke all on function app.read_event_cursor(text) from public;
grant execute on function app.read_event_cursor(text) to tms_registrar;
