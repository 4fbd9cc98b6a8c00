create or replace function app.read_cursor(p_cursor text, out at timestamptz, out id uuid)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_part text[];
begin
  if p_cursor is null then
    -- What sorts before every row: one shape of query serves the first page and the others, and the index serves both.
    at := 'infinity';
    id := '00000000-0000-0000-0000-000000000000';
    return;
  end if;
  begin
    v_part := string_to_array(convert_from(decode(
      translate(p_cursor, '-_', '+/') || repeat('=', -length(p_cursor) & 3), 'base64'), 'UTF8'), ' ');
    -- As a text: a product with an interval is of floating point, and misses microseconds of other centuries.
    at := timestamptz 'epoch' + (v_part[1] || ' us')::interval;
    id := v_part[2]::uuid;
  exception when data_exception then
    null;
  end;
  if app.cursor_of(at, id) is distinct from p_cursor then
    perform app.refuse(422, 'Validation failed', 'The cursor was not made by this service', 'bad_cursor',
      '{"errors": [{"field": "cursor", "message": "was not made by this service"}]}');
  end if;
end
$$;
comment on function app.read_cursor(text) is 'The sort key in a cursor, the one before every row for a null cursor; raises TM422 for anything that app.cursor_of did not make.';
revoke all on function app.read_cursor(text) from public;
grant execute on function app.read_cursor(text) to tms_app, tms_registrar;
