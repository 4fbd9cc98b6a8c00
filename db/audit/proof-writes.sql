-- The half of the proof that tries to write: no row gets into another tenant, is changed there, or goes.
create type audit.written as (reached bigint, outcome text, message text);
comment on type audit.written is
$$What became of a write. reached: so many rows. refused: by a policy or a privilege. no tenant: by a setting that is not
set. stopped: by a constraint of the table only, which is asked after the policies. undecided: by anything else.$$;

create or replace function audit.try_write(
  p_enter text[], p_relation oid, p_write text, p_most bigint default 1, p_counted text default 'true')
returns audit.written
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_mark constant text := 'reached ' || gen_random_uuid() || ' ';
  v_done record;
  v_reached bigint;
begin
  -- What is read from the write is no number, so the statement ends in an error: after p_most rows at the latest, and before any AFTER
  -- trigger. It reads no column, unless p_counted does: then the SELECT policies would help to refuse.
  v_done := audit.as_principal(p_enter, format(
    'with w as (%s returning case when %s then 1 end as one) '
    'select array[pg_catalog.concat(%L, pg_catalog.count(x.one), %L)::pg_catalog.int4::pg_catalog.text] '
    'from (select w.one from w limit %s) x',
    p_write, p_counted, v_mark, ';', p_most));
  v_reached := substring(v_done.message from v_mark || '(\d+);');
  return row(v_reached, case
    when not v_done.entered then 'undecided'
    when v_reached is not null then 'reached'
    when v_done.state = '42501' then 'refused'
    when v_done.state in ('22P02', '42704') then 'no tenant' -- an empty setting is no uuid; one that was never set is not known
    -- Neither another table's constraint, which a trigger met, nor the partition that a row lacks: that has no name.
    when v_done.state in ('23502', '23503', '23505', '23514', '23P01') and v_done.named is not null and (
      v_done.stopped_by = p_relation or v_done.stopped_by in (select relid from pg_partition_tree(p_relation))
      or exists (select from pg_class where oid = p_relation and relkind = 'v')) then 'stopped'
    else 'undecided' end, v_done.message)::audit.written;
end
$$;
comment on function audit.try_write(text[], oid, text, bigint, text) is
  'As a principal: what becomes of an INSERT, UPDATE or DELETE, and how many of the rows that it reached, at most p_most, are p_counted.';

create or replace function audit.claim_write(t audit.tables, a audit.actor, p_claim text, w audit.written, p_act text)
returns void
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select audit.claim(t, a, p_claim,
    case
      when w.outcome = 'stopped' or w.reached > 0 then 'fault'
      when w.outcome in ('refused', 'reached') or w.outcome = 'no tenant' and a.tenants = '{}' then 'proved'
      else 'undecided' end,
    p_act || case
      when w.outcome = 'stopped' then ' but for a constraint: ' || w.message
      when w.outcome in ('undecided', 'no tenant') then ' or not: this came before any policy could refuse: ' || w.message
      else '' end)
$$;
comment on function audit.claim_write(audit.tables, audit.actor, text, audit.written, text) is
  'Notes what became of a write that may reach no row.';

create or replace function audit.has_row_trigger(p_relation oid, p_event int)
returns boolean
language sql
stable
set search_path = pg_catalog, pg_temp
as $$
  select exists (
    select from pg_trigger
    where tgrelid = p_relation and not tgisinternal and tgenabled <> 'D' and tgtype & 3 = 3 and tgtype & p_event <> 0)
$$;
comment on function audit.has_row_trigger(oid, int) is
  'Whether a trigger may change rows before they are written. p_event: 4 insert, 16 update.';

create or replace function audit.copy_of(t audit.tables, p_row text, p_columns name[], p_fresh boolean)
returns text
language sql
volatile
set search_path = pg_catalog, pg_temp
as $$
  select format('insert into %1$s as t (%2$s) overriding system value select %3$s from (select (%4$L::%1$s).*) r', t.relation,
    string_agg(quote_ident(a.attname), ', ' order by a.attnum),
    string_agg(case
      when not (p_fresh and u.in_key and a.attname <> all (t.tenant_by)) then format('r.%I', a.attname)
      when a.atttypid = 'uuid'::regtype then 'pg_catalog.gen_random_uuid()'
      when a.atttypid in ('text'::regtype, 'varchar'::regtype) then quote_literal(md5(random()::text))
      when a.atttypid in ('int4'::regtype, 'int8'::regtype) then (-1 - (random() * 2e9)::int)::text
      else format('r.%I', a.attname) end, ', ' order by a.attnum), p_row)
  from pg_attribute a
  cross join lateral (
    select exists (select from pg_index i where i.indrelid = t.relid and i.indisunique and a.attnum = any (i.indkey))
      and not exists (select from pg_constraint k where k.conrelid = t.relid and k.contype = 'f' and a.attnum = any (k.conkey)) as in_key) u
  where a.attrelid = t.relid and a.attname = any (p_columns)
$$;
comment on function audit.copy_of(audit.tables, text, name[], boolean) is
$$An INSERT of a copy of a row, which is given as text: each value is one that the table takes, and policies are asked before keys. p_fresh:
with new values in its own keys.$$;

create or replace function audit.prove_insert(t audit.tables, a audit.actor)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_done audit.written;
  v_own audit.written;
begin
  if not coalesce(t.tenant_by <@ a.insertable, false) or pg_relation_is_updatable(t.relid, false) & 8 = 0
    or t.relid = (select tenants from audit.profile) -- there it is a new tenant
  then
    return;
  end if;
  v_done := audit.try_write(a.enter, t.relid, audit.copy_of(t, a.theirs, a.insertable, false));
  if v_done.reached = 0 then
    v_done := row(null, 'undecided', 'a trigger or a rule took the row');
  elsif v_done.outcome in ('reached', 'stopped') and audit.has_row_trigger(t.relid, 4) then
    -- It may have put the row back into the principal's own tenant. A row that the principal may not read was not put back.
    v_own := audit.try_write(a.enter, t.relid, audit.copy_of(t, a.theirs, a.insertable, true), 1, format('(%s) is not true', a.own));
    if v_own.reached = 0 or v_own.outcome = 'undecided' then
      v_done := v_own;
    elsif v_own.outcome = 'stopped' and v_done.outcome = 'stopped' then
      v_done := row(null, 'undecided', 'a trigger may have put it back into its own tenant, and then: ' || v_own.message);
    end if;
  elsif v_done.outcome = 'refused' and a.mine is not null then
    -- Where a row of its own is refused, too, the refusal says nothing of tenants.
    v_own := audit.try_write(a.enter, t.relid, audit.copy_of(t, a.mine, a.insertable, false));
    if v_own.outcome in ('refused', 'undecided') then
      v_done := row(null, 'undecided', 'a row of its own is refused, too: ' || v_own.message);
    end if;
  end if;
  perform audit.claim_write(t, a, 'none inserts a row of another tenant', v_done, 'may insert a row of another tenant');
end
$$;
comment on function audit.prove_insert(audit.tables, audit.actor) is 'As one principal: no row of another tenant can be inserted.';

create or replace function audit.prove_update(t audit.tables, a audit.actor)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_update constant text := format('update %s t set ', t.relation);
  v_moves constant boolean := t.tenant_by <@ a.updatable;
  v_moved constant text := v_update || case
    when t.steps = 0 then format('%I = %L', t.attname, a.their_tenant)
    else (select string_agg(format('%1$I = (%2$L::%3$s).%1$I', x, a.theirs, t.relation), ', ') from unnest(t.tenant_by) x) end;
  v_done audit.written;
  v_own audit.written;
begin
  if a.updatable is null or pg_relation_is_updatable(t.relid, false) & 4 = 0 then
    return;
  end if;
  if a.tenants = '{}' then
    v_done := audit.try_write(a.enter, t.relid, case when v_moves then v_moved
      else v_update || format('%1$I = (%2$L::%3$s).%1$I', a.updatable[1], a.theirs, t.relation) end);
  else
    -- Its own rows as they are, whichever they are: no column is read, and the rows that are reached are counted.
    if a.counts and v_moves and t.steps = 0 and cardinality(a.tenants) = 1 then
      v_own := audit.try_write(a.enter, t.relid, v_update || format('%I = %L', t.attname, a.tenants[1]), a.own_rows + 1);
    end if;
    if v_own.outcome = 'stopped' or v_own.reached > a.own_rows then
      v_done := row(1, 'reached', null);
    else
      v_done := audit.try_write(a.enter, t.relid,
        v_update || format('%1$I = t.%1$I where (%2$s) is not true', a.updatable[1], a.own));
    end if;
  end if;
  perform audit.claim_write(t, a, 'none updates a row of another tenant', v_done, 'may update rows of another tenant');

  if a.tenants <> '{}' and v_moves and a.own_rows > 0 then
    v_done := audit.try_write(a.enter, t.relid, v_moved);
    if v_done.reached > 0 and audit.has_row_trigger(t.relid, 16) then
      v_done.reached := coalesce((audit.try_write(a.enter, t.relid, v_moved, 1, format('(%s) is not true', a.own))).reached, 1);
    elsif v_done.outcome = 'refused' and v_own.outcome in ('refused', 'undecided') then
      v_done := row(null, 'undecided', 'an update that changes nothing is refused, too: ' || v_own.message);
    end if;
    perform audit.claim_write(t, a, 'none gives a row of its own to another tenant', v_done, 'may give its rows to another tenant');
  end if;
end
$$;
comment on function audit.prove_update(audit.tables, audit.actor) is
  'As one principal: no row of another tenant can be updated, and no own one given to another tenant.';

create or replace function audit.prove_delete(t audit.tables, a audit.actor)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  v_delete constant text := format('delete from %s t', t.relation);
  v_done audit.written;
begin
  if not has_table_privilege(a.role, t.relid, 'delete') or pg_relation_is_updatable(t.relid, false) & 16 = 0 then
    return;
  end if;
  if a.tenants = '{}' then
    v_done := audit.try_write(a.enter, t.relid, v_delete);
  else
    if a.counts then
      v_done := audit.try_write(a.enter, t.relid, v_delete, a.own_rows + 1);
    end if;
    if v_done.reached > a.own_rows then
      v_done.reached := 1;
    else
      v_done := audit.try_write(a.enter, t.relid, v_delete || format(' where (%s) is not true', a.own));
    end if;
  end if;
  perform audit.claim_write(t, a, 'none deletes a row of another tenant', v_done, 'may delete rows of another tenant');
end
$$;
comment on function audit.prove_delete(audit.tables, audit.actor) is 'As one principal: no row of another tenant can be deleted.';
