--! Previous: sha1:4da171287d0284c669b0cfc72a07a8030ae3129f
--! Hash: sha1:dc24ebb838ca5eb31a39621992d41bfe42baee56
--! Message: operators unnamed in a tenant's feed

-- A tenant's own people read that an operator acted, and not which one.
alter table control.tenant_events add column if not exists by_operator boolean not null default false;
comment on column control.tenant_events.by_operator is 'Whether the actor acted as an operator, whom the tenant''s own people do not see.';
select control.gate();
