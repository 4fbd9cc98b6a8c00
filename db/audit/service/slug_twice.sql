create or replace view audit.slug_twice as
select 'error' as severity, max(id::text) as tenant_id, 'app.tenants' as relation, jsonb_build_object('id', max(id::text)) as row,
  format('%s tenants have the slug %L: %s', count(*), lower(slug), string_agg(id::text, ', ' order by created_at, id)) as detail,
  E'-- give one of the tenants another slug, then restore the index:\n'
    '-- create unique index tenants_slug_key on app.tenants (slug) where slug is not null' as remedy
from app.tenants
group by lower(slug)
having count(*) > 1;
comment on view audit.slug_twice is
$$error: Two tenants have one slug.
Why: A request that names the slug may be let into either.
Fix: Rename one, then restore the unique index.$$;
