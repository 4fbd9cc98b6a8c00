-- Types that only the audit's own functions pass to each other: a release may change them, and makes those functions again.
do $$
declare
  v_type regtype;
begin
  for v_type in
    select t.oid from pg_type t join pg_class c on c.oid = t.typrelid
    where t.typnamespace = 'audit'::regnamespace and c.relkind = 'c'
  loop
    execute format('drop type %s cascade', v_type);
  end loop;
end
$$;
