create or replace function app.sample_product()
returns text
language sql
immutable
set search_path = pg_catalog, pg_temp
return 'boards, generations and media, provider configurations, credits';
comment on function app.sample_product() is
$$What the sample product has. A database with this function has the sample product: migrate, the service and the audit look for it by its name.$$;
revoke all on function app.sample_product() from public;
