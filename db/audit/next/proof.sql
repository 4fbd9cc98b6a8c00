-- The proof acts: it becomes each of a sample of principals, looks, and tries to write. Each act is a subtransaction that is undone.
-- A principal's own statements may set the search_path, so whatever is executed as one names the schema of each operator and function.
-- What it notes is in temporary tables of the session, which audit.prepare_proof() makes.
create function audit.as_principal(
  p_enter text[], p_statement text,
  out answer text[], out entered boolean, out state text, out message text, out stopped_by oid, out named text)
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set row_security = on -- where it is off, a filtered query is an error of privilege and would pass for a refusal
set lock_timeout = '2s'
as $$
declare
  v_enter text;
  v_schema text;
  v_table text;
  v_constraint text;
  v_column text;
begin
  entered := false;
  begin
    foreach v_enter in array p_enter loop
      execute v_enter;
    end loop;
    entered := true;
    execute p_statement into answer;
    raise exception using errcode = 'UNDO1';
  exception
    when sqlstate 'UNDO1' then
      null;
    when others then
      get stacked diagnostics state = returned_sqlstate, message = message_text, v_schema = schema_name, v_table = table_name,
        v_constraint = constraint_name, v_column = column_name;
      named := coalesce(nullif(v_constraint, ''), nullif(v_column, ''));
      stopped_by := (
        select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = v_schema and c.relname = v_table);
  end;
end
$$;
comment on function audit.as_principal(text[], text) is
$$Becomes a principal, executes one statement that returns an array of texts, and takes everything back: role, settings, writes. entered is
false where already the statements that should make the session be the principal failed. stopped_by, named: the table and the constraint of
an error.$$;

create type audit.written as (reached bigint, outcome text, message text);
comment on type audit.written is
$$What became of a write. reached: so many rows. refused: by a policy or a privilege. no tenant: by a setting that is not
set. stopped: by a constraint of the table only, which is asked after the policies. undecided: by anything else.$$;

create function audit.try_write(
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

create function audit.prepare_proof(p_as_superuser boolean default false, p_tenants text[] default null)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
set client_min_messages = warning
as $$
begin
  if current_setting('is_superuser') = 'on' and not p_as_superuser then
    raise exception using errcode = 'insufficient_privilege',
      message = 'The proof does not run as a superuser: a function that a policy calls could use its rights',
      hint = 'Use a login with BYPASSRLS and pg_read_all_data that may SET ROLE to the request roles; or say as_superuser => true.';
  end if;
  drop table if exists pg_temp.proof_tables, pg_temp.proof_principals, pg_temp.proof_entitled, pg_temp.proof_claims;
  create temp table proof_tables as
    select t.relid, t.relation, t as held, exists (
      select from audit.reach r where r.relid = t.relid and (r.reads or r.writes)) as reached
    from audit.tables t;
  create unique index on pg_temp.proof_tables (relid);
  create temp table proof_principals (principal text, enter text[], tenants text[], role name);
  create temp table proof_claims (relid oid, claim text, result text, principal text, tenant text, detail text);
  execute format('insert into pg_temp.proof_principals (principal, enter, tenants) %s', (select principals from audit.profile));
  delete from pg_temp.proof_principals where tenants <> '{}' and not tenants && p_tenants;
  create temp table proof_entitled as select p.principal, x as tenant from pg_temp.proof_principals p cross join unnest(p.tenants) x;
  -- A setting is null in a session until it is set for the first time, and empty ever after. So the proof acts first
  -- as a principal without a tenant, while settings are still null.
  perform audit.prove_reading(t.held,
    row(p.principal, p.enter, p.tenants, r.role, 'false', 0, null, null, null, null, null, false)::audit.actor)
  from (select * from pg_temp.proof_principals where tenants = '{}' order by cardinality(enter), principal limit 1) p
  cross join lateral (select (audit.as_principal(p.enter, 'select array[current_user::pg_catalog.text]')).answer[1] as role) r
  join pg_temp.proof_tables t on has_schema_privilege(r.role, (t.held).relnamespace, 'usage')
  where r.role is not null;
end
$$;
comment on function audit.prepare_proof(boolean, text[]) is
$$Reads tables and principals once, for audit.prove_table(). p_tenants: of the principals, only those of these tenants, and those that are
entitled to nothing. Raises 42501 for a superuser, unless told.$$;

create type audit.actor as (
  principal text, enter text[], tenants text[], role name,
  own text, own_rows bigint, mine text, theirs text, their_tenant text, insertable name[], updatable name[], counts boolean
);
comment on type audit.actor is
$$A principal before one table. own: the condition of its tenants' rows t; own_rows: how many there are, at most 1001; mine, theirs:
one of them, and one of another tenant, as texts; insertable, updatable: columns, by its privileges; counts: whether rows can be counted
exactly.$$;

create function audit.actor_in(t audit.tables, p_principal text, p_enter text[], p_tenants text[], p_role name, p_writes boolean)
returns audit.actor
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  a audit.actor;
begin
  a.principal := p_principal;
  a.enter := p_enter;
  a.tenants := p_tenants;
  a.role := p_role;
  a.own := format('%s operator(pg_catalog.=) any (%L::%s[])', t.tenant, p_tenants, t.type);
  if not p_writes then
    return a;
  end if;
  execute format('select count(*), min(x) from (select case when pg_column_size(t.*) < 100000 then concat(t.*) end as x from %s t '
    'where %s limit 1001) y', t.relation, a.own) into a.own_rows, a.mine;
  execute format('select concat(t.*), (%1$s)::text from %2$s t where (%3$s) is not true and %1$s is not null '
    'and pg_column_size(t.*) < 100000 limit 1', t.tenant, t.relation, a.own) into a.theirs, a.their_tenant;
  select array_agg(attname order by attnum) filter (where has_column_privilege(p_role, t.relid, attnum, 'insert')),
    array_agg(attname order by attnum) filter (where has_column_privilege(p_role, t.relid, attnum, 'update') and attidentity <> 'a')
  into a.insertable, a.updatable
  from pg_attribute
  where attrelid = t.relid and attnum > 0 and not attisdropped and attgenerated = '';
  -- In read committed somebody may add a row between two statements.
  a.counts := p_tenants <> '{}' and a.own_rows <= 1000
    and current_setting('transaction_isolation') in ('repeatable read', 'serializable');
  return a;
end
$$;
comment on function audit.actor_in(audit.tables, text, text[], text[], name, boolean) is
  'What a principal and a table have to do with each other; what only writes need is null where none is tried.';

create function audit.claim(t audit.tables, a audit.actor, p_claim text, p_result text, p_detail text)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
begin
  insert into pg_temp.proof_claims
  values (t.relid, p_claim, p_result, a.principal, case when cardinality(a.tenants) = 1 then a.tenants[1] end,
    case when p_result <> 'proved' then p_detail end);
end
$$;
comment on function audit.claim(audit.tables, audit.actor, text, text, text) is
  'Notes what a principal''s act showed of a claim: proved, fault or undecided.';

create function audit.claim_write(t audit.tables, a audit.actor, p_claim text, w audit.written, p_act text)
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

create function audit.prove_reading(t audit.tables, a audit.actor)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
as $$
declare
  -- A view may show what it likes of a tenant's rows. And counts are of one moment only in a transaction with one snapshot.
  v_compares constant boolean := t.relkind in ('r', 'p') and a.tenants <> '{}' and not (select sees_less from audit.profile)
    and current_setting('transaction_isolation') in ('repeatable read', 'serializable');
  v_expected bigint;
  v_seen record;
  v_rows bigint;
  v_others bigint;
begin
  if not has_any_column_privilege(a.role, t.relid, 'select') then
    perform audit.claim(t, a, 'no principal sees a row of another tenant', 'proved', 'has no privilege to read it');
    return;
  end if;
  v_seen := audit.as_principal(a.enter, format(
    'select array[pg_catalog.count(*)::pg_catalog.text, (pg_catalog.count(*) filter (where (%s) is not true))::pg_catalog.text] from %s t',
    a.own, t.relation));
  if v_seen.state = '42501' then -- It may not read whose the rows are. Then their number alone must do.
    v_seen := audit.as_principal(a.enter, format('select array[pg_catalog.count(*)::pg_catalog.text, null] from %s t', t.relation));
  end if;
  v_rows := v_seen.answer[1];
  if v_compares or v_rows > 0 and v_seen.answer[2] is null then
    execute format('select count(*) from %s t where %s', t.relation, a.own) into v_expected;
  end if;
  v_others := coalesce(v_seen.answer[2]::bigint, greatest(v_rows - v_expected, 0));
  if v_rows is null then
    -- To somebody who is entitled to nothing, a policy shows nothing that takes an empty setting for a uuid, or knows no such setting.
    perform audit.claim(t, a, 'no principal sees a row of another tenant',
      case when v_seen.entered and v_seen.state in ('22P02', '42704') and a.tenants = '{}' then 'proved' else 'undecided' end,
      'cannot read it: ' || v_seen.message);
    return;
  end if;
  perform audit.claim(t, a, 'no principal sees a row of another tenant', case when v_others > 0 then 'fault' else 'proved' end,
    format('sees %s rows that are not its tenants''', v_others));
  if v_compares and v_others = 0 then
    perform audit.claim(t, a, 'each sees all rows of its tenants', case when v_rows < v_expected then 'fault' else 'proved' end,
      format('sees %s of its %s rows', v_rows, v_expected));
  end if;
end
$$;
comment on function audit.prove_reading(audit.tables, audit.actor) is
  'As one principal: a relation shows its tenants'' rows, all of them, and no other.';

create function audit.has_row_trigger(p_relation oid, p_event int)
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

create function audit.copy_of(t audit.tables, p_row text, p_columns name[], p_fresh boolean)
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

create function audit.prove_insert(t audit.tables, a audit.actor)
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

create function audit.prove_update(t audit.tables, a audit.actor)
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

create function audit.prove_delete(t audit.tables, a audit.actor)
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

create function audit.prove_table(p_relation oid, p_sample int default 5, p_writes boolean default false)
returns void
language plpgsql
volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  t audit.tables;
  a audit.actor;
  v_present text[];
  v_rows boolean;
  v_principal record;
  v_entered record;
  v_acted boolean := false;
begin
  select (p.held).* into strict t from pg_temp.proof_tables p where p.relid = p_relation;
  perform audit.require_unfiltered(t.relid);
  execute format('select coalesce(array_agg(distinct w.x) filter (where w.x is not null), ''{}''), count(*) > 0 '
    'from (select (%s)::text as x from %s t limit 10000) w', t.tenant, t.relation) into v_present, v_rows;
  if not v_rows then
    perform audit.claim(t, a, 'it has rows', case when p.reached then 'undecided' else 'proved' end,
      'has no rows: nothing was proved in it')
    from pg_temp.proof_tables p where p.relid = t.relid;
    return;
  end if;

  -- Of those with rows here, of those without, and everybody who is entitled to nothing.
  for v_principal in
    with present as materialized (
      select distinct e.principal from pg_temp.proof_entitled e join unnest(v_present) x (tenant) on x.tenant = e.tenant
    )
    (select p.*, true as has_rows from pg_temp.proof_principals p join present on present.principal = p.principal
      order by random() limit p_sample)
    union all
    (select p.*, false from pg_temp.proof_principals p
      where p.tenants <> '{}' and p.principal not in (select principal from present) order by random() limit 1)
    union all
    (select p.*, false from pg_temp.proof_principals p where p.tenants = '{}')
  loop
    if v_principal.role is null then
      v_entered := audit.as_principal(v_principal.enter, 'select array[current_user::pg_catalog.text]');
      if v_entered.answer is null then
        insert into pg_temp.proof_claims
        values (null, 'each principal can be entered', 'undecided', v_principal.principal, null, v_entered.message);
        continue;
      end if;
      v_principal.role := v_entered.answer[1];
      update pg_temp.proof_principals set role = v_principal.role where principal = v_principal.principal;
    end if;
    a := audit.actor_in(t, v_principal.principal, v_principal.enter, v_principal.tenants, v_principal.role, p_writes);
    v_acted := v_acted or v_principal.has_rows;
    if has_schema_privilege(a.role, t.relnamespace, 'usage') then
      perform audit.prove_reading(t, a);
      if p_writes and a.theirs is not null then
        perform audit.prove_insert(t, a);
        perform audit.prove_update(t, a);
        perform audit.prove_delete(t, a);
      end if;
    else
      perform audit.claim(t, a, 'no principal sees a row of another tenant', 'proved', 'has no privilege on its schema');
    end if;
  end loop;
  perform audit.claim(t, null, 'a principal has rows in it', case when v_acted then 'proved' else 'undecided' end,
    'none of the principals is entitled to a tenant that has rows in it');
end
$$;
comment on function audit.prove_table(oid, int, boolean) is
$$Acts as p_sample principals that have rows in a table, as one that has none, and as all that are entitled to nothing. Needs
audit.prepare_proof(). p_writes: tries to write, too; each attempt fires the table's BEFORE triggers, and is undone.$$;

create view audit.policy_shapes as
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

create function audit.proof_lines()
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

create function audit.prove(
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

create function audit.proof_findings()
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
    select from pg_temp.proof_claims c where c.claim = 'a principal has rows in it' and c.result = 'proved');
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
        when f.relid is null and not v_rows then '-- rows for the proof, undone: select * from audit.seed(), or --seed'
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
