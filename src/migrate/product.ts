/** The sample product: boards and what belongs to them. A database has it or not; the installed function is what says so. */

/** An SQL condition that a login without rights can ask. */
export const SAMPLE_PRODUCT = `exists (
  select from pg_catalog.pg_proc p join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  where n.nspname = 'app' and p.proname = 'sample_product' and p.pronargs = 0)`;
