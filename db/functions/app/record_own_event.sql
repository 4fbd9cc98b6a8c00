set local role tms_registrar;
create or replace function app.record_own_event(
  p_event text, p_tenant_id uuid, p_target_id uuid, p_changed text[], p_reason text, p_role text, p_role_before text
)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  -- The triggers of app.tenants write tenant events.
  if p_tenant_id is distinct from app.tenant_id() or p_event !~ '^(member|invitation|key)\.' then
    raise exception using errcode = 'insufficient_privilege', message = 'Only an event within the tenant of the transaction can be written';
  end if;
  perform app.record_event(p_event, p_tenant_id, p_target_id, p_changed, p_reason, p_role, p_role_before);
end
$$;
comment on function app.record_own_event(text, uuid, uuid, text[], text, text, text) is
$$app.record_event(), for tms_app: only for the tenant of the transaction, and no event that the triggers of app.tenants write. Raises
42501.$$;
revoke all on function app.record_own_event(text, uuid, uuid, text[], text, text, text) from public;
grant execute on function app.record_own_event(text, uuid, uuid, text[], text, text, text) to tms_app;
reset role;
