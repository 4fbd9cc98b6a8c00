create or replace function app.require_version(p_text text, p_if_match text[])
returns void
language plpgsql
stable
set search_path = pg_catalog, pg_temp
as $$
begin
  -- The second part of an ETag is what else the answer shows. Its changes overwrite nothing: a member who joins does not refuse a new name.
  if p_if_match is not null and not '*' = any (p_if_match)
    and not exists (select from unnest(p_if_match) m (tag) where split_part(rtrim(m.tag, '"'), '-', 1) = '"' || app.version_of(p_text))
  then
    perform app.refuse(412, 'Precondition failed', 'The tenant has changed since it was read', 'stale_etag');
  end if;
end
$$;
comment on function app.require_version(text, text[]) is
$$Raises TM412 `Precondition failed` unless p_if_match contains * or an ETag of this text of a tenant. Null skips the test.$$;
revoke all on function app.require_version(text, text[]) from public;
grant execute on function app.require_version(text, text[]) to tms_registrar;
