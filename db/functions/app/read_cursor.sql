create or replace function app.read_cursor(p_cursor text, out at timestamptz, out id uuid)
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_part text[];
begin
  if p_cursor is null then
    -- This key sorts before every row, so that the first page needs no query of its own.
    at := 'infinity';
    id := '00000000-0000-0000-0000-000000000000';
    return;
  end if;
  begin
    v_part := string_to_array(app.from_base64url(p_cursor), ' ');
    -- Not `v_part[1] * interval '1 us'`: that is floating point, and loses microseconds of other centuries.
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
comment on function app.read_cursor(text) is
$$The sort key in a cursor. A null cursor gives a key before every row. Raises TM422 for a text that app.cursor_of() did not make.$$;
revoke all on function app.read_cursor(text) from public;
grant execute on function app.read_cursor(text) to tms_app, tms_registrar;
