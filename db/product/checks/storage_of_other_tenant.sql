create or replace view audit.storage_of_other_tenant as
select 'error' as severity, m.tenant_id::text as tenant_id, 'app.media' as relation,
  k.key as row,
  format('the address names the tenant %s', string_agg(distinct t.slug, ', ')) as detail,
  format('select * from app.media where tenant_id = %L and id = %L;', m.tenant_id, m.id) as remedy
from app.media m
cross join lateral jsonb_build_object('tenant_id', m.tenant_id, 'id', m.id) k (key)
cross join lateral regexp_matches(lower(m.storage_url), '(?:%2f)?([0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12})', 'g') u (ids)
join app.tenants t on t.id = u.ids[1]::uuid
-- The index media_named_otherwise has just these rows.
where position(m.tenant_id::text in m.storage_url) = 0
  and position(replace(m.tenant_id::text, '-', '') in replace(lower(m.storage_url), '-', '')) = 0
group by m.tenant_id, m.id, k.key;
comment on view audit.storage_of_other_tenant is
$$error: The storage address of a medium names another tenant's id and not its own tenant's.
Why: Policies end at the table: whoever is given the address reads the other tenant's file.
Fix: Find out whose file it is; correct tenant_id or storage_url.
Category: cross_tenant_access$$;
