create or replace view audit.shard_differs as
with nodes as materialized (
  select * from audit.nodes()
)
select 'error' as severity, nullif(t.relation, '') as relation, format('%s on %s', t.place, t.node) as object,
  format('%s on %s ', t.place, t.node) || concat_ws(', and ', 'lacks ' || d.lacks, 'has besides ' || d.besides) as detail,
  case when t.relation = '' then E'-- for a function: db/citus/distribute.sql, on the coordinator\n'
      '-- for a role, on the node: alter role … nosuperuser nobypassrls'
    else concat_ws(E'\n', case when d.lacks is not null
        then '-- on the coordinator, which tells every shard: ' || coalesce(format(p.isolate, t.relation), 'write the policies again') end,
      case when d.besides is not null then
        format('-- on %s, where %s still has more: drop policy …, revoke …', t.node, t.place) end) end as remedy
from nodes t
join nodes h on h.node = 'here' and h.relation = t.relation
cross join audit.profile p
cross join lateral (
  select (select string_agg(w, ', ' order by w) from (select unnest(h.protection) except select unnest(t.protection)) x (w)) as lacks,
    (select string_agg(w, ', ' order by w) from (select unnest(t.protection) except select unnest(h.protection)) x (w)) as besides) d
where t.node <> 'here' and (d.lacks is not null or d.besides is not null);
comment on view audit.shard_differs is
$$error: On Citus, a shard, or a node's copy of a table, does not have the policies, privileges or keys of its table; or a node has another
function in its policies, or request roles that no policy holds.
Why: Rows are in the shards, and each has policies, privileges and keys of its own.
Fix: Write the policies again on the coordinator; then look at the node.$$;
