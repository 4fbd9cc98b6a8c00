-- On Citus rows are in shards, on nodes of their own; each has policies and privileges of its own, which no catalog of the coordinator has.
-- So each node is asked what protects its shards, by a query that is sent as text.
create or replace function audit.protection_query(p_places text)
returns text
language sql
stable
return (select replace(replace($q$
  select l.relation, l.place::text as place, array(
    select 'row-level security' where c.relrowsecurity
    union all select 'row-level security by force' where c.relforcerowsecurity
    union all select 'the owner ' || c.relowner::regrole
    union all select concat(a.privilege_type, ' for ', case a.grantee when 0 then 'public' else a.grantee::regrole::text end)
      from aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
    union all select concat(a.privilege_type, ' (', quote_ident(t.attname), ') for ', case a.grantee when 0 then 'public'
        else a.grantee::regrole::text end)
      from pg_attribute t cross join aclexplode(t.attacl) a where t.attrelid = c.oid
    union all select concat('the ', case when p.polpermissive then 'permissive' else 'restrictive' end, ' policy ', p.polname, ' for ',
        case p.polcmd when '*' then 'all' when 'r' then 'select' when 'a' then 'insert' when 'w' then 'update' else 'delete' end, ' to ',
        (select string_agg(case r when 0 then 'public' else r::regrole::text end, ', ' order by r) from unnest(p.polroles) r),
        ' using ', coalesce(pg_get_expr(p.polqual, p.polrelid), 'nothing'),
        ' with check ', coalesce(pg_get_expr(p.polwithcheck, p.polrelid), 'nothing'))
      from pg_policy p where p.polrelid = c.oid
    union all select regexp_replace(pg_get_indexdef(i.indexrelid), '^CREATE UNIQUE INDEX .*? USING', 'a unique index')
      from pg_index i where i.indrelid = c.oid and i.indisunique and i.indisvalid
    -- Without the parent's name: a shard's key names a shard.
    union all select regexp_replace(pg_get_constraintdef(k.oid), 'REFERENCES [^(]*', 'REFERENCES ')
      from pg_constraint k where k.conrelid = c.oid and k.contype in ('c', 'f')) as protection
  from ({places}) l (relation, place)
  join pg_class c on c.oid = l.place
  union all
  select '', 'the node', array(
    select distinct concat('this ', f.oid::regprocedure, ': ', regexp_replace(pg_get_functiondef(f.oid), '\s+', ' ', 'g'))
      from pg_depend d join pg_proc f on f.oid = d.refobjid and f.oid >= 16384
      where d.classid = 'pg_policy'::regclass and d.refclassid = 'pg_proc'::regclass
    union all select concat('a role ', rolname, ' that no policy holds')
      from pg_roles where rolname = any ({roles}) and (rolsuper or rolbypassrls))$q$,
  '{places}', p_places), '{roles}', format('%L::name[]', p.request_roles)) from audit.profile p);
comment on function audit.protection_query(text) is
  'A query of what protects each place of a list of (relation, place), and the node itself: in words, as an array.';

create or replace function audit.nodes()
returns table (node text, relation text, place text, protection text[])
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tables constant text := (
    select string_agg(quote_literal(t.relation), ', ') from audit.tables t where t.relkind in ('r', 'p'));
  v_here constant text := (
    select string_agg(format('(%L, %L::regclass)', t.relation, t.relation), ', ') from audit.tables t where t.relkind in ('r', 'p'));
  -- Every node knows all tables by name, and which shards are its own.
  v_places constant text := format($q$
    select t.name, p.place
    from (select d.logicalrelid as relid, format('%%I.%%I', n.nspname, c.relname) as name
      from pg_dist_partition d join pg_class c on c.oid = d.logicalrelid join pg_namespace n on n.oid = c.relnamespace) t
    cross join lateral (select t.relid::regclass union all
      select shard_name(s.logicalrelid, s.shardid)::regclass from pg_dist_shard s join pg_dist_placement o using (shardid)
      where s.logicalrelid = t.relid and o.groupid = {group}) p (place)
    where t.name in (%s)$q$, v_tables);
  v_answer record;
  v_expected bigint;
begin
  if to_regclass('pg_dist_partition') is null then
    return;
  end if;
  return query execute format('select ''here'', q.* from (%s) q', audit.protection_query('values ' || v_here));
  for v_answer in execute format($q$
    select n.nodename || ':' || n.nodeport as node, n.groupid, a.success, a.result
    from run_command_on_all_nodes(%L) a join pg_dist_node n using (nodeid)$q$, format('select jsonb_agg(q) from (%s) q',
      audit.protection_query(replace(v_places, '{group}', '(select groupid from pg_dist_local_group)'))))
  loop
    execute format('select count(*) from (%s) p', replace(v_places, '{group}', v_answer.groupid::text)) into v_expected;
    if not v_answer.success then
      raise exception '%: %', v_answer.node, v_answer.result;
    elsif v_expected <> (select count(*) from jsonb_to_recordset(v_answer.result::jsonb) t (relation text) where t.relation <> '') then
      raise exception '%: it does not tell of every table and shard that it should have', v_answer.node;
    end if;
    return query select v_answer.node, t.relation, t.place, t.protection
      from jsonb_to_recordset(v_answer.result::jsonb) t (relation text, place text, protection text[]);
  end loop;
end
$$;
comment on function audit.nodes() is
  'What protects each tenants'' table here, and each of its shards on each node of Citus. No rows: this is no Citus.';
