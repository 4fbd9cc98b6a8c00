set local role tms_registrar;
create or replace function app.change_tenant(p_tenant app.tenants, p_name text, p_slug text, p_settings jsonb)
returns app.tenants
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant app.tenants;
  -- A variable, because Citus refuses clock_timestamp() in an UPDATE: each node would read its own clock. Later than the last change even if
  -- the clock was set back, so that no ETag comes back.
  v_now constant timestamptz := greatest(clock_timestamp(), p_tenant.updated_at + interval '1 microsecond');
begin
  -- As text: numbers of jsonb that are equal may be written in another way.
  if (coalesce(p_name, p_tenant.name), coalesce(p_slug, p_tenant.slug), coalesce(p_settings, p_tenant.settings)::text)
    = (p_tenant.name, p_tenant.slug, p_tenant.settings::text)
  then
    return p_tenant;
  end if;
  update app.tenants
  set name = coalesce(p_name, name), slug = coalesce(p_slug, slug), settings = coalesce(p_settings, settings), updated_at = v_now
  where id = p_tenant.id
  returning * into v_tenant;
  return v_tenant;
exception when unique_violation then
  if exists (select from app.tenants where slug = p_slug and id <> p_tenant.id) then
    perform app.refuse_slug(p_slug, true);
  end if;
  raise; -- another unique index, such as a product's own
end
$$;
comment on function app.change_tenant(app.tenants, text, text, jsonb) is
  $$Replaces each field of a locked tenant that is not null, and returns the tenant. What changes nothing keeps updated_at. Raises TM409
`Conflict` if the slug is used.$$;
revoke all on function app.change_tenant(app.tenants, text, text, jsonb) from public;
reset role;
