create or replace view audit.completed_without_media as
select 'warning' as severity, g.tenant_id::text as tenant_id, 'app.generations' as relation,
  k.key as row, 'the generation is completed and has no media' as detail,
  format('-- if they are lost: update app.generations set status = ''failed'' where tenant_id = %L and id = %L',
    g.tenant_id, g.id) as remedy
from app.generations g
cross join lateral jsonb_build_object('tenant_id', g.tenant_id, 'id', g.id) k (key)
where g.status = 'completed' and not exists (select from app.media m where m.tenant_id = g.tenant_id and m.generation_id = g.id);
comment on view audit.completed_without_media is
$$warning: A generation is completed and has no media.
Why: It was paid for and shows nothing.
Fix: Mark it failed, or restore the media.$$;
