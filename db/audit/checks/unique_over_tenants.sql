create or replace view audit.unique_over_tenants as
select 'warning' as severity, t.relation, i.indexrelid::regclass::text as object,
  format('%s over all tenants: a refused insert tells one tenant that another has the value; %s', case when i.indisunique then 'is unique'
    else 'excludes' end, pg_get_indexdef(i.indexrelid)) as detail,
  E'-- per tenant: begin the key with the tenant''s column. Then two tenants may have the same value: not for a domain, a token, a slug.\n'
    '-- to keep it for all tenants: accept this finding, with the reason' as remedy
from audit.tables t
join pg_index i on i.indrelid = t.relid
cross join audit.profile p
join pg_attribute a on a.attrelid = t.relid and a.attnum = i.indkey[0]
where t.steps = 0 and t.relid is distinct from p.tenants and t.relrowsecurity and (i.indisunique or i.indisexclusion)
  and not exists (select from pg_inherits h where h.inhrelid = i.indexrelid)
  -- The tenant is among what is compared, by equality.
  and not exists (
    select from generate_series(0, i.indnkeyatts - 1) n
    where i.indkey[n] = t.attnum and (not i.indisexclusion or exists (
      select from pg_constraint k join pg_operator o on o.oid = k.conexclop[n + 1]
      where k.conindid = i.indexrelid and o.oprname = '=')))
  -- A key of its own, or what nobody can guess, tells nothing.
  and not (i.indisunique and i.indnkeyatts = 1 and (i.indisprimary or a.atttypid = 'uuid'::regtype or a.attidentity <> ''));
comment on view audit.unique_over_tenants is
$$warning: A unique key or an exclusion over all tenants; single primary keys, uuids and identities aside.
Why: A refused insert tells that somebody else has the value; and one tenant can take it from all others.
Fix: Begin it with the tenant; or accept it, with the reason, where the value belongs to one tenant in the whole system.$$;
