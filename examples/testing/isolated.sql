-- For pgTAP, in psql 15 or newer, with the auditor's login in AUDIT_URL. Proves one relation; without the first line, all that have
-- tenants' rows:
--   \setenv RELATION shop.invoices
--   \ir isolated.sql
-- These are three tests. The audit has a session of its own, so it sees committed rows only.
\set claims `${TENANCY:-npx tenancy} audit --database "$AUDIT_URL" --format tap --writes $AUDIT_OPTIONS ${RELATION:+--prove "$RELATION"}`
create temporary table isolated_claims as
  select line from regexp_split_to_table(:'claims', '\n') line where line ~ '^(not )?ok ';
select is_empty($$ select line from isolated_claims where line ~ '^not ok' $$, 'each caller sees and writes the rows of their own tenants only');
select is_empty($$ select line from isolated_claims where line ~ '# SKIP' $$, 'no claim is left unproved');
select isnt_empty('table isolated_claims', 'there is a relation of tenants to prove');
drop table isolated_claims;
