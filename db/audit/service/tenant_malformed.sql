create or replace view audit.tenant_malformed as
select 'error' as severity, id::text as tenant_id, 'app.tenants' as relation, jsonb_build_object('id', id) as row,
  case when slug ~ '^[a-z0-9-]{1,255}$' then 'the name is blank or longer than 255 characters'
    else format('no request can name the slug %s', coalesce(quote_literal(left(slug, 300)), 'null')) end as detail,
  format('-- name it: update app.tenants set name = …, slug = … where id = %L', id) as remedy
from app.tenants
where slug is null or slug !~ '^[a-z0-9-]{1,255}$' or name is null or char_length(name) > 255
  -- Of no character that shows: as the constraint tenants_name_not_blank has it.
  or name !~ '[^\u0001-\u0020\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680'
    '\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164'
    '\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd'
    '\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]';
comment on view audit.tenant_malformed is
$$error: A tenant's slug cannot be written in a request, or its name is blank or too long.
Why: Nobody gets into it, and slugs that look alike mislead.
Fix: Rename it.$$;
