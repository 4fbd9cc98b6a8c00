set local role tms_registrar;
create or replace function app.prove_caller(p_caller app.caller, p_operator boolean default false)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  if app.requires_proof() then
    perform app.sign_proved_tenant(case when p_operator then array['operator'] else array['caller', 'operator'] end,
      app.proved_values(p_caller), null::uuid);
  end if;
end
$$;
comment on function app.prove_caller(app.caller, boolean) is
$$Raises TM503 unless the setting app.proof proves the caller; p_operator: as an operator. Does nothing while no secret is stored. For
functions of api that do not begin with app.enter_tenant() or another function that asks for the proof.$$;
revoke all on function app.prove_caller(app.caller, boolean) from public;
grant execute on function app.prove_caller(app.caller, boolean) to tms_app;
reset role;
