create or replace function app.context_faults(p_proof text)
returns setof text
language plpgsql
stable
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_keys control.tenant_context;
  v_ahead numeric;
begin
  select * into v_keys from control.tenant_context;
  if not found then
    if p_proof is not null then
      return next 'SERVICE_TENANT_CONTEXT_SECRET is set, and the database has no secret: npm run tenancy -- context-secret stores it';
    end if;
    return;
  end if;
  if p_proof is null then
    return next 'The database asks for a proof of each caller: set SERVICE_TENANT_CONTEXT_SECRET';
    return;
  end if;
  if not app.requires_proof() then
    return next 'The database has a tenant context secret, and its functions do not ask for proofs: run npm run migrate -- --reinstall';
  end if;
  if (split_part(p_proof, '.', 1) = 'start' and right(p_proof, 64) in (
      app.hmac(v_keys.inner_key, v_keys.outer_key, convert_to(left(p_proof, -65), 'UTF8')),
      app.hmac(v_keys.previous_inner_key, v_keys.previous_outer_key, convert_to(left(p_proof, -65), 'UTF8')))) is not true
  then
    return next 'The database has another secret than SERVICE_TENANT_CONTEXT_SECRET';
    return;
  end if;
  v_ahead := round(split_part(p_proof, '.', 2)::numeric - 30 - extract(epoch from clock_timestamp()));
  if abs(v_ahead) > 25 then
    return next format('The clock of the service is %s s %s that of the database: proofs of callers are refused from 30 s on', abs(v_ahead),
      case when v_ahead > 0 then 'ahead of' else 'behind' end);
  end if;
end
$$;
comment on function app.context_faults(text) is
$$Why the database would refuse the service's proofs of callers, one sentence a row. p_proof: a proof of the kind `start`; null: the service
has no secret.$$;
revoke all on function app.context_faults(text) from public;
grant execute on function app.context_faults(text) to tms_registrar;
