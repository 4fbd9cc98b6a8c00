-- What the acts of the proof come to: a line a claim, and the findings.
create or replace view audit.policy_shapes as
with named as materialized (
  select t.relid, t.relation, t.attname, t.type, c.relname
  from audit.tables t
  join pg_class c on c.oid = t.relid
  where t.relkind in ('r', 'p') and t.relrowsecurity and t.steps = 0
), texts as materialized (
  select n.relid, p.polpermissive, p.polcmd, p.polroles, w.which,
    -- Whole words only: a column named id is not the end of tenant_id.
    regexp_replace(regexp_replace(w.text, format('\m(%s\.)?%s\M', n.relname, n.attname), '<tenant>', 'g'),
      format('\m%s\M', n.relname), '<table>', 'g') as text
  from named n
  join pg_policy p on p.polrelid = n.relid
  cross join lateral (values
    ('using', pg_get_expr(p.polqual, p.polrelid)), ('check', pg_get_expr(p.polwithcheck, p.polrelid))) w (which, text)
)
select n.relid, n.relation, md5(concat_ws('|', n.type,
  (select string_agg(concat_ws(' ', x.polpermissive, x.polcmd, x.polroles::regrole[], x.which, x.text), ';'
      order by x.polpermissive, x.polcmd, x.polroles::text, x.which, x.text)
    from texts x where x.relid = n.relid),
  (select string_agg(concat_ws(' ', h.rolname, h.reads, h.writes), ';' order by h.rolname)
    from audit.reach h where h.relid = n.relid))) as shape
from named n;
comment on view audit.policy_shapes is
$$The policies of each table with row-level security as one hash, its own name and its tenant column put aside, with who may read and write.
What was proved of a table holds for others of its shape. How many shapes there are:
  select shape, count(*), min(relation) from audit.policy_shapes group by shape;$$;

create or replace function audit.proof_lines()
returns table (relid oid, relation text, claim text, result text, principals bigint, first text, tenant text, detail text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
begin
  return query
    with lines as (
      select distinct on (c.relid, c.claim) c.relid, c.claim, c.result, count(distinct c.principal) as principals,
        -- Somebody with a tenant says more of a fault than nobody.
        (array_agg(c.principal order by c.tenant is null, c.principal))[1] as first,
        (array_agg(c.tenant order by c.tenant is null, c.principal))[1] as tenant,
        (array_agg(c.detail order by c.tenant is null, c.principal))[1] as detail
      from pg_temp.proof_claims c
      group by c.relid, c.claim, c.result
      -- The worst that a principal showed is what a claim is worth.
      order by c.relid, c.claim, array_position('{fault,undecided,proved}', c.result)
    ), whole as (
      select l.relid, t.relation, s.shape
      from lines l
      join pg_temp.proof_tables t on t.relid = l.relid
      join audit.policy_shapes s on s.relid = l.relid
      group by l.relid, t.relation, s.shape
      having bool_and(l.result = 'proved')
    )
    select l.relid, t.relation, l.claim, case when like_it.relation is null then l.result else 'proved' end, l.principals, l.first,
      l.tenant, coalesce('has no rows; its policies have the shape of ' || like_it.relation, l.detail)
    from lines l
    left join pg_temp.proof_tables t on t.relid = l.relid
    left join audit.policy_shapes s on s.relid = l.relid and l.claim = 'it has rows'
    left join lateral (select min(w.relation) as relation from whole w where w.shape = s.shape) like_it on true
    order by t.relation, l.result, l.claim;
end
$$;
comment on function audit.proof_lines() is
$$What the acts since audit.prepare_proof() showed: a line for each table and claim, by the worst that a principal did. A table without rows
is proved if all was proved of one whose policies have the same shape.$$;

create or replace function audit.prove(
  p_relation regclass default null, p_sample int default 5, p_writes boolean default true, p_as_superuser boolean default false)
returns table (relation text, claim text, result text, principals bigint, detail text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
begin
  perform audit.prepare_proof(p_as_superuser);
  if not p_writes then
    perform set_config('transaction_read_only', 'on', true); -- temporary tables may still be written
  end if;
  perform audit.prove_table(t.relid, p_sample, p_writes) from pg_temp.proof_tables t where p_relation is null or t.relid = p_relation;
  -- Others of its shape may have rows.
  if p_relation is not null and exists (select from pg_temp.proof_claims c where c.claim = 'it has rows') then
    perform audit.prove_table(t.relid, p_sample, p_writes) from pg_temp.proof_tables t where t.relid <> p_relation;
  end if;
  return query
    select l.relation, l.claim, case l.result when 'undecided' then 'not proved' else l.result end, l.principals,
      case when l.result <> 'proved' then concat_ws(' ', l.first, l.detail) when l.claim = 'it has rows' then l.detail end
    from audit.proof_lines() l
    where p_relation is null or l.relid = p_relation or l.relid is null;
end
$$;
comment on function audit.prove(regclass, int, boolean, boolean) is
$$Proves by acting that tenants are isolated, in one relation or in all: a line for each claim. Nothing is kept.
  begin isolation level repeatable read; select * from audit.prove('app.invoices'); rollback;
In another isolation level it does not tell whether somebody sees too few rows. p_writes: false tries no write,
and makes the transaction read only.$$;

create or replace function audit.proof_findings()
returns table ("check" text, severity text, tenant_id text, relation text, "row" jsonb, detail text, remedy text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  v_rows constant boolean := exists (
    select from pg_temp.proof_tables t
    where not exists (select from pg_temp.proof_claims c where c.relid = t.relid and c.claim = 'it has rows'));
  v_acted constant boolean := exists (
    select from pg_temp.proof_claims c where c.claim = 'a principal has rows in it' and c.result = 'proved')
    -- Where policies also narrow, a principal that sees nothing at all may be no principal.
    and (not (select sees_less from audit.profile) or exists (
      select from pg_temp.proof_claims c where c.claim = 'a principal sees rows'));
begin
  return query
    with lines as (
      select l.relid, l.relation, l.claim, l.result, l.principals, l.first, l.tenant, l.detail
      from audit.proof_lines() l
      where l.result <> 'proved' and (v_acted or l.relid is null or l.result = 'fault')
      union all
      -- A proof that acted as nobody is no proof; of what has no rows there is none.
      select null, null, 'it acts', 'undecided', 1, null, null,
        case when v_rows then 'nothing was proved: it acted as no principal that has rows' else 'nothing was proved: no table has rows' end
      where not v_acted
    ), f as (
      select l.relid, l.relation, l.result, min(l.first) as principal, max(l.principals) as principals, min(l.tenant) as tenant,
        string_agg(l.detail, '; ' order by l.claim) as detail,
        bool_and(l.claim = 'each sees all rows of its tenants') as less,
        bool_or(l.claim = 'it has rows') as empty
      from lines l
      group by l.relid, l.relation, l.result
    )
    select case when f.result = 'undecided' then 'not_proved' when f.less then 'sees_less' else 'not_isolated' end,
      case when f.result = 'fault' or f.relid is null and v_rows and not v_acted then 'error'
        when f.empty or not v_acted then 'info' else 'warning' end,
      f.tenant, f.relation,
      case when f.principal is null then '{}' else jsonb_build_object('principal', f.principal) end,
      concat_ws(' ', f.principal, f.detail, case when f.principals > 1 then format('(and %s more)', f.principals - 1) end),
      case
        when f.relid is null and not v_rows then '-- give it rows, or let the command make some that are undone: --seed'
        when f.relid is null then '-- a login that may SET ROLE to the request roles proves it; db/roles.sql says how'
        when c.relkind = 'v' then format('-- let its reader''s policies decide: alter view %s set (security_invoker = true);', f.relation)
        when c.relkind = 'm' then format('-- it holds what its owner saw, for all: revoke all on %s from the request roles', f.relation)
        when f.result = 'fault' and p.isolate is not null then format(p.isolate, f.relation)
        else format('select * from pg_policies where format(''%%I.%%I'', schemaname, tablename) = %L;', f.relation) end
    from f
    cross join audit.profile p
    left join pg_class c on c.oid = f.relid
    -- One fault, one finding: what is at fault is not also called undecided.
    where f.result = 'fault' or not exists (select from f x where x.relid = f.relid and x.result = 'fault');
end
$$;
comment on function audit.proof_findings() is
$$The proof's findings, one for each relation: not_isolated, sees_less, not_proved. A proof that acted as no principal with rows is one
error; an info where no table has rows, as in a new database.$$;
