create or replace function control.proof_required()
returns boolean
language sql
stable
parallel safe
return true;

comment on function control.proof_required() is 'What app.requires_proof() is while a secret is stored.';
revoke all on function control.proof_required() from public;
