-- Write the next migration here: tables, columns, indexes, data. The last line rolls it back when it leaves a table open.

-- Why something was accepted; audit.accept() also takes unique keys now.
alter table audit.accepted add column if not exists reason text;
comment on table audit.accepted is
  'Functions and triggers of a product, event triggers, functions outside the service''s schemas, and unique keys over all tenants, as audit.accept()
found them. The audit reports every difference from then on.';

select control.gate();
