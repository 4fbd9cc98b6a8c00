create or replace function app.read_tenant_cursor(p_order text, p_cursor text)
returns app.tenants
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_text text;
  v_key text;
  v_after app.tenants;
begin
  if p_cursor is null then
    return null;
  elsif p_order = '-created_at' then
    select c.at, c.id into v_after.created_at, v_after.id from app.read_cursor(p_cursor) c;
    return v_after;
  end if;
  begin
    v_text := app.from_base64url(p_cursor);
    v_after.id := split_part(v_text, ' ', 2)::uuid;
    v_key := substr(v_text, length(p_order) + 39);
    if p_order = 'created_at' then
      v_after.created_at := timestamptz 'epoch' + (v_key || ' us')::interval;
    else
      v_after.name := v_key;
    end if;
  exception when data_exception then
    null;
  end;
  if app.tenant_cursor(p_order, v_after) is distinct from p_cursor then
    perform app.refuse(422, 'Validation failed', 'The cursor was not made by this service for this order', 'foreign_cursor',
      '{"errors": [{"field": "cursor", "message": "was not made by this service for this order"}]}');
  end if;
  return v_after;
end
$$;
comment on function app.read_tenant_cursor(text, text) is
$$The sort key in a cursor, as a tenant of which only it is set; null for a null cursor. Raises TM422 for a text that
app.tenant_cursor() did not make for this order.$$;
revoke all on function app.read_tenant_cursor(text, text) from public;
grant execute on function app.read_tenant_cursor(text, text) to tms_registrar;
