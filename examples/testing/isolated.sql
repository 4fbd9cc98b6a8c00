-- For pgTAP, in psql 15 or newer, with the auditor's login in AUDIT_URL. One relation, or without the first line all with tenants' rows:
--   \setenv RELATION shop.invoices
--   \ir isolated.sql
-- The audit has a session of its own, so it sees committed rows. Three tests; the last fails where nothing was proved.
\set claims `${TENANCY:-npx tenancy} audit --database "$AUDIT_URL" --format tap --writes $AUDIT_OPTIONS ${RELATION:+--prove "$RELATION"}`
create temporary table isolated_claims as
  select line from regexp_split_to_table(:'claims', '\n') line where line ~ '^(not )?ok ';
select is_empty($$ select line from isolated_claims where line ~ '^not ok' $$, 'tenants are isolated');
select is_empty($$ select line from isolated_claims where line ~ '# SKIP' $$, 'every claim was proved');
select isnt_empty('table isolated_claims', 'something was proved');
drop table isolated_claims;
