--! Previous: sha1:aba21db9415371885ac8fd8459982f569994f399
--! Hash: sha1:624239c0730c390ec6fe988838d9a8145a42fed2
--! Message: accepted reasons

-- Why something was accepted. audit.accept() takes unique keys, too.
alter table audit.accepted add column if not exists reason text;
comment on table audit.accepted is
$$Functions and triggers of a product, event triggers, functions outside the service's schemas, and unique keys over all tenants,
as audit.accept() found them. The audit reports every difference from then on.$$;
comment on column audit.accepted.reason is 'Why it is accepted, in the words of the person who did.';
select control.gate();
