-- For the view audit.events: tms_auditor may not use the schema control.
set local role tms_registrar;
create or replace function app.read_events()
returns table (at timestamptz, type text, tenant_id uuid, slug text, name text, target_id uuid, changed text[], role text, role_before text,
  actor_provider text, actor_subject text, login name, reason text, request_id text)
language sql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
  select at, event, tenant_id, slug, name, target_id, changed, role, role_before,
    actor_provider, actor_subject, login, reason, request_id
  from control.tenant_events
  order by epoch desc, xid desc, n desc
$$;
comment on function app.read_events() is 'The rows of audit.events.';
revoke all on function app.read_events() from public;
grant execute on function app.read_events() to tms_auditor;
reset role;
