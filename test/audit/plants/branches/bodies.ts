/** What functions do, by their text. */
import { type Branch, CRM, ORDERS } from "./branch.ts";

/** A trigger on a tenants' table, for each of these: when, on what, and what it does. */
const entering = (...triggers: [when: string, table: string, body: string][]) =>
  `${ORDERS} alter table shop.orders add partner uuid; ${triggers
    .map(
      ([when, table, body], i) =>
        `create function shop.f${i}() returns trigger language plpgsql as $$ declare v uuid; begin ${body}; return new; end $$;
         create trigger f${i} ${when} on ${table} for each row execute function shop.f${i}();`,
    )
    .join("")}`;

export const bodyBranches: Branch[] = [
  [
    "function_body",
    `${CRM} grant usage on schema crm to tms_app; create table crm.countries (code text); create table crm.boards (code text);
     create function crm.a() returns bigint language sql immutable as $$ select count(*) from crm.countries join crm.boards using (code) $$; create function crm.b(text) returns text language sql immutable return 'from boards ' || $1;
     create function crm.h(text[]) returns text language sql immutable as $$ with boards (x) as (select unnest($1)), media as materialized (table boards) select string_agg(x, ' ') from boards join media using (x) $$; create function crm.c() returns text language sql stable as $$ select name from app.tenants $$; create function crm.d(uuid) returns boolean language plpgsql immutable as $$ begin return $1 = '00000000-0000-0000-0000-000000000001'; /* from app.boards */ end $$;
     create function crm.e() returns void language plpgsql as $$ declare temp int; begin create temp table t on commit drop as table app.boards; select count(*) into temp from t; end $$;
     create function crm.f() returns void language plpgsql as $$ begin drop table if exists t; create temporary table t as table app.boards; end $$; create function crm.g() returns void language plpgsql as $$ declare c cursor for table app.boards; begin null; end $$`,
  ],
  [
    "function_body",
    `${CRM} create function crm.a() returns text language plpgsql immutable as $$ begin return title from only "app"."boards" limit 1; end $$; create function crm.b() returns uuid language sql immutable return app.tenant_id();
     create function crm.c() returns bigint language sql immutable begin atomic select count(*) from generate_series(1, 3) join app.users on true; end; grant usage on schema crm to tms_app; revoke all on function crm.c() from public;
     create function crm.d() returns void language sql as $$ create local temporary table t as table app.boards $$`,
    "error crm.a() ",
    "error crm.b() ",
    "warning crm.c() ",
    "warning crm.d() ",
  ],
  ...[
    "set local role tms_owner",
    "set session authorization tms_owner",
    'set local "session_authorization" to tms_owner',
    "set row_security to off",
    "perform set_config('app.maintenance', 'on', true)",
    "execute 'set local app.maintenance = on'",
  ].map((statement): [string, string, string] => [
    "function_body",
    `create function app.f() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$ begin ${statement}; end $$`,
    "error app.f() ",
  ]),
  [
    "function_body",
    "create function app.f() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$ begin perform set_config('app.note', 'x', false), set_config('app.note', new.title, true); end $$",
  ],
  [
    "function_body",
    `${CRM} create domain crm.d as text default set_config('app.maintenance', 'on', true) check (set_config('app.tenant_id', value, true) is not null); create table crm.door (a int); create rule r as on insert to crm.door do instead select app.set_tenant(null);
     create policy p on crm.door using (set_config('row_security', 'off', true) is not null); create function crm.f(text default set_config('role', 'none', false)) returns int language sql return 1;
     create trigger t after update on crm.door for each row when (set_config('session_replication_role', 'replica', true) is null) execute function suppress_redundant_updates_trigger();
     create policy q on app.boards using (set_config('role', 'none', true) is null); create view crm.v as select current_setting('app.tenant_id', true), 'set_config'`,
    "error crm.d constraint d_check",
    "error crm.d type crm.d",
    "error crm.door policy p on table crm.door",
    "error crm.door rule r on table crm.door",
    "error crm.door trigger t on table crm.door",
    "error crm.f(text) function crm.f(text)",
  ],
  [
    "function_body",
    entering(
      ["after insert", "shop.orders", "perform app.set_tenant(new.partner)"],
      [
        "after insert",
        "shop.orders",
        "perform set_config('app.tenant_id', coalesce(new.partner, old.tenant_id)::text, true)",
      ],
      ["after insert", "shop.orders", "v := new.partner; perform app.set_tenant(v)"],
      ["after insert", "shop.orders", "select new.partner into v; perform app.set_tenant(p_tenant_id => v)"],
      ["after insert", "shop.orders", "perform app.set_tenant((to_jsonb(new) ->> 'partner')::uuid)"],
      ["after insert", "shop.orders", "execute format('set local app.tenant_id = %L', new.partner)"],
      ["before insert", "shop.orders", "perform app.set_tenant(new.tenant_id)"],
      ["after insert", "shop.orders", "perform app.set_tenant(new.id)"],
      ["before delete", "shop.orders", "perform app.set_tenant((old).partner)"],
    ),
    ...Array.from({ length: 9 }, (_, i) => `error shop.f${i}() `),
  ],
  [
    "function_body",
    entering(
      ["after insert", "shop.orders", "perform app.set_tenant(new.tenant_id)"],
      ["before update", "shop.orders", "perform app.set_tenant(old.tenant_id)"],
      ["after insert", "app.tenants", "perform app.set_tenant(new.id)"],
      ["after delete", "app.tenants", "perform set_config('app.tenant_id', old.id::text, true)"],
      [
        "after insert",
        "shop.orders",
        "if new.partner = app.tenant_id() then perform app.set_tenant(old.tenant_id); end if",
      ],
    ),
  ],
  // The setting's name put into a text.
  [
    "function_body",
    `${entering(
      ["after insert", "shop.orders", "execute format('set local %s = %L', 'app.tenant_id', new.partner)"],
      ["after insert", "shop.orders", "execute format('set local %1$I to %L', 'app.tenant_id', new.partner)"],
      ["after insert", "shop.orders", "execute format('set local %s = %L', 'shop.note', new.partner)"],
    )} ${[
      "execute format('set %I = %L', 'app.tenant_id', p)",
      "execute format('set session %s to %L', 'app.tenant_id', p)",
      "execute format('set local %I = %L', 'app.tenant_id', p)",
      "perform set_config('app.tenant_id', p, current_setting('shop.here', true) is not null)",
      "perform set_config('app.tenant_id', coalesce(p, ''), true)",
    ]
      .map(
        (body, i) =>
          `create function shop.g${i}(p text) returns void language plpgsql as $$ begin ${body}; end $$; alter function shop.g${i}(text) owner to tms_owner; grant execute on function shop.g${i}(text) to tms_app;`,
      )
      .join("")}`,
    "error shop.f0() ",
    "error shop.f1() ",
    "error shop.g0(text) ",
    "error shop.g1(text) ",
    "error shop.g3(text) ",
  ],
  // As other languages keep and set things; by a language of their names.
  [
    "function_body",
    `${ORDERS} create language pltcl handler plpgsql_call_handler; create language plperl handler plpgsql_call_handler; ${(
      [
        ["pltcl", "global last; set last $1"],
        ["pltcl", "upvar #0 kept k; set k $1"],
        ["pltcl", "set ::last $1"],
        ["pltcl", "return $::last"],
        ["pltcl", "spi_exec {set session app.tenant_id to 'x'}"],
        ["pltcl", "if {$1 ne {}} {set role $1}; spi_exec -count 1 {select 1}"],
        ["pltcl", 'spi_exec "select $1::text"; return [set x 1]'],
        ["plperl", "our $last; $last = shift;"],
        ["plperl", "my $x = shift; return $x;"],
      ] as const
    )
      .map(
        ([language, body], i) =>
          `create function shop.l${i}(text) returns text language ${language} as $body$ ${body} $body$;`,
      )
      .join("")}`,
    "error shop.l4(text) ",
    ...[0, 1, 2, 3, 7].map(i => `warning shop.l${i}(text) `),
  ],
  [
    "function_body",
    `${CRM} create function crm.f() returns trigger language plpgsql as $$ begin perform app.set_tenant(new.partner); return new; end $$;
     create function crm.g() returns void language plpgsql as $$ declare old uuid := app.tenant_id(); begin perform app.set_tenant(null); perform app.set_tenant(old); end $$`,
    "warning crm.f() ",
  ],
  [
    // By way of others: a function that enters what it is given, and what enters a tenant in a request.
    "function_body",
    `${entering(
      ["after insert", "shop.orders", "perform shop.enter(new.partner)"],
      ["after insert", "shop.orders", "perform via(new.partner)"],
      ["after insert", "shop.orders", "perform app.enter_tenant('x', 'jwt', new.partner::text, null, null)"],
      ["after insert", "shop.orders", "execute 'set local app.tenant_id = ''' || new.partner || ''''"],
      ["after insert", "shop.orders", `perform "set_config"(E'app.tenant_id', new.partner::text, true)`],
      [
        "after insert",
        "shop.orders",
        "perform shop.own(new.partner); perform other.enter(new.partner); perform abs(1); perform get_status(), theirs(new.partner)",
      ],
      [
        "after insert",
        "shop.orders",
        "set local app.tenant_id = ''; execute 'set local app.tenant_id = '''''; set local app.tenant_id to default",
      ],
    )} create schema other; create schema "odd (schema";
    create function "odd (schema".enter(p uuid) returns void language plpgsql as $$ begin perform app.set_tenant(p); end $$;
    create function shop.enter(p uuid) returns uuid language plpgsql as $$ begin perform app.set_tenant(p); return p; end $$;
    create function shop.via(p uuid) returns uuid language plpgsql as $$ begin return shop.enter(p); end $$;
    create function shop.own(p uuid) returns uuid language plpgsql as $$ begin perform app.set_tenant(app.tenant_id()); return p; end $$;
    create function shop.abs(p uuid) returns uuid language plpgsql as $$ begin perform app.set_tenant(p); return p; end $$;
    create function other.enter(p uuid) returns uuid language sql as 'select p';
    create function other.theirs(p uuid) returns uuid language plpgsql as $$ begin perform app.set_tenant(p); return p; end $$`,
    ...Array.from({ length: 5 }, (_, i) => `error shop.f${i}() `),
  ],
  [
    "function_body",
    `${ORDERS} create function shop.enter(p uuid) returns uuid language plpgsql as $$ begin perform app.set_tenant(p); return p; end $$;
     create function shop.via(p uuid) returns boolean language sql as 'select shop.enter(p) is not null'; create function shop.fixed(p uuid) returns uuid language plpgsql immutable as $$ begin return shop.enter(p); end $$;
     create function shop.other(p uuid) returns boolean language sql as 'select p is null';
     alter table shop.orders add partner uuid default shop.enter(null), add constraint known check (shop.via(partner)), add constraint plain check (shop.other(partner));
     create view shop.partners with (security_invoker) as select shop.enter(partner) as partner from shop.orders; create index fixed on shop.orders (tenant_id, shop.fixed(partner));
     create function shop.f() returns trigger language plpgsql as $$ begin return new; end $$; create trigger f after insert on shop.orders for each row when (shop.via(new.partner)) execute function shop.f()`,
    "error shop.orders constraint known on table shop.orders",
    "error shop.orders default value for column partner of table shop.orders",
    "error shop.orders index shop.fixed",
    "error shop.orders trigger f on table shop.orders",
    "error shop.partners rule _RETURN on view shop.partners",
  ],
  [
    // What outlives the request, by name or by text.
    "function_body",
    `${ORDERS} ${[
      "perform pg_advisory_lock(1)",
      "perform pg_try_advisory_lock_shared(1, 2)",
      "execute 'prepare p as select 1'",
      "listen orders",
      "execute format('set shop.last = %L', tg_name)",
      "perform pg_advisory_lock(1); perform pg_advisory_unlock(1)",
      "perform pg_advisory_xact_lock(1)",
      "set shop.last = 'x'; execute format('set local shop.last = %L', tg_name); raise notice 'prepare to listen'",
    ]
      .map(
        (body, i) =>
          `create function shop.f${i}() returns trigger language plpgsql as $$ begin ${body}; return null; end $$;`,
      )
      .join(" ")}`,
    ...Array.from({ length: 5 }, (_, i) => `warning shop.f${i}() `),
  ],
  [
    // Names in quotes, strings that escape, tables by their names.
    "function_body",
    `${ORDERS} create function shop.a(p uuid) returns void language plpgsql as $$ begin perform "set_config"('app.tenant_id', p::text, false); end $$;
     create function shop.b() returns text language sql immutable as $$ select "current_setting"(E'app.tenant_id', true) $$;
     create function shop.c() returns text language plpgsql immutable as $x$ begin return current_setting($$app.tenant_id$$, true); end $x$;
     create function shop.d() returns xml language sql immutable as $$ select table_to_xml('app.boards', true, true, '') $$;
     create function shop.e() returns bigint language plpgsql immutable as $$ declare n bigint; begin execute format('select count(*) from %s', 'app.boards'::regclass) into n; return n; end $$;
     create function shop.f() returns void language plpgsql as $$ begin execute 'do $x$ begin set app.tenant_id to default; end $x$'; end $$;
     create function shop.g() returns text language sql immutable as $$ select format('%s', 'shop.nothing') $$`,
    "error shop.a(uuid) ",
    "error shop.b() ",
    "error shop.c() ",
    "error shop.d() ",
    "error shop.e() ",
    "error shop.f() ",
  ],
  [
    // As a row may name what is set, by a name that a variable has, by other spellings of it, and by records of its own columns.
    "function_body",
    `${entering(
      [
        "after insert",
        "shop.orders",
        "perform set_config(s.key, s.value, true) from jsonb_each_text(to_jsonb(new)) s",
      ],
      ["after insert", "shop.orders", "perform set_config(new.name, new.partner::text, true)"],
      ["after insert", "shop.orders", "execute 'select ' || new.name"],
      ["after insert", "shop.orders", "v := 'app.tenant_id'; perform set_config(v, new.partner::text, true)"],
      ["after insert", "shop.orders", "perform shop.standard(new.partner)"],
      ["after insert", "shop.orders", "perform set_config($q$app.tenant_id$q$, new.partner::text, true)"],
      [
        "after insert",
        "shop.orders",
        "declare r record; begin select new.partner as tenant_id into r; perform app.set_tenant(r.tenant_id); end",
      ],
      ["after insert", "shop.orders", `perform "Shop".enter(new.partner)`],
      ["after insert", "shop.orders", "perform shop.enter_all(x) from (values (new.partner)) y (x)"],
      ["after insert", "shop.orders", "perform new.partner operator(shop.@>>) 1"],
      ["after insert", "shop.orders", "raise debug $m$ 5 $ -- net $m$; perform app.set_tenant(new.partner)"],
      ["after insert", "shop.orders", "perform shop.first(new.partner, new.tenant_id)"],
    )} alter table shop.orders add name text; create schema "Shop";
    create function shop.standard(p uuid) returns text language sql begin atomic select set_config('app.tenant_id', p::text, true); end;
    create function "Shop".enter(p uuid) returns uuid language plpgsql as $$ begin perform app.set_tenant(p); return p; end $$;
    create function shop.state(s int, p uuid) returns int language plpgsql as $$ begin perform "Shop".enter(p); return s; end $$; create aggregate shop.enter_all (uuid) (sfunc = shop.state, stype = int, initcond = '0');
    create function shop.sign(p uuid, n int) returns boolean language plpgsql as $$ begin perform app.set_tenant(p); return true; end $$; create operator shop.@>> (leftarg = uuid, rightarg = int, function = shop.sign);
    create function shop.first(p uuid, q uuid) returns void language plpgsql as $$ begin perform app.set_tenant(p); end $$`,
    ...Array.from({ length: 12 }, (_, i) => `error shop.f${i}() `),
  ],
  [
    // Its own tenant, by whatever helper, and what is only said, or means something else.
    "function_body",
    `${entering(
      ["after delete", "shop.orders", "perform shop.log_entry(old.tenant_id, 'x')"],
      ["after insert", "shop.orders", "perform shop.log_entry(p_tenant => new.tenant_id, p_text => 'x')"],
      [
        "after insert",
        "shop.orders",
        "insert into shop.log_entry (tenant_id, t) values (new.tenant_id, 'x')",
      ],
      [
        "after insert",
        "shop.orders",
        "if new.id is null then raise exception 'use api.add_member() instead'; end if",
      ],
      [
        "after insert",
        "shop.orders",
        "if new.id is null then raise exception 'first: SET LOCAL app.tenant_id = …' using hint = 'set role tms_app first'; end if",
      ],
      ["after insert", "shop.orders", "perform add_member(1), get_tenant()"],
      [
        "after insert",
        "shop.orders",
        "with list_members (a) as (select 1) insert into shop.log_entry (t) select a::text from list_members",
      ],
      ["before update", "shop.orders", "execute format('set local app.tenant_id = %L', old.tenant_id)"],
      [
        "after update",
        "shop.orders",
        "declare v_before text := coalesce(current_setting('app.tenant_id', true), ''); begin perform set_config('app.tenant_id', v_before, true); end",
      ],
      [
        "after update",
        "shop.orders",
        "perform app.set_tenant(case when tg_op = 'DELETE' then old.tenant_id else new.tenant_id end)",
      ],
      [
        "after update",
        "shop.orders",
        "execute format('update shop.orders '\n'set role = %L where id = %L', 'x', new.id); perform set_config('shop.role', 'x', true)",
      ],
      [
        "after update",
        "shop.orders",
        "execute format('insert into %I values ($1.*)', tg_table_name) using new",
      ],
      [
        "after update",
        "shop.orders",
        "declare n int; listen boolean := false; begin execute concat_ws(' ', 'update shop.orders', format('set addr.city = %L', 'x')); end",
      ],
    )} create table shop.log_entry (tenant_id uuid, t text); alter table shop.orders add role text;
    create function shop.log_entry(p_tenant uuid, p_text text) returns void language plpgsql as $$ begin perform app.set_tenant(p_tenant); end $$;
    create function shop.add_member(int) returns void language sql as 'select'; create function shop.get_tenant() returns uuid language sql return app.tenant_id();
    create view shop.mine with (security_invoker) as select * from shop.orders where tenant_id = shop.get_tenant()`,
  ],
  [
    "function_body",
    `${ORDERS} create domain shop.ref as uuid; create function shop.to_ref(text) returns shop.ref language plpgsql as $$ begin perform app.set_tenant($1::uuid); return $1; end $$; create type shop.key as (id uuid);
     create function shop.of_key(shop.key) returns uuid language plpgsql as $$ begin perform app.set_tenant(($1).id); return ($1).id; end $$; create cast (shop.key as uuid) with function shop.of_key(shop.key);
     create table shop.texts (t text check (set_config(t, 'x', true) <> ''))`,
    "error cast (shop.key as uuid) cast from shop.key to uuid",
    "error shop.texts constraint texts_t_check on table shop.texts",
  ],
  [
    // Its answer is kept: of a function that asks for the tenant, by a variable's name; and no part of a text, nor a name that is only compared.
    "function_body",
    `${ORDERS} create table shop.period (tenant_id uuid not null, id int, primary key (tenant_id, id)); alter table shop.period owner to tms_owner; select app.isolate('shop.period');
     create function shop.tenant() returns uuid language sql stable as 'select app.tenant_id()'; create function shop.prefix() returns text language sql immutable as 'select shop.tenant()::text';
     create function shop.named() returns text language plpgsql immutable as $$ declare c constant text := 'app.tenant_id'; begin return current_setting(c, true); end $$;
     create function shop.known(p text) returns boolean language sql immutable as $$ select p in ('app.boards', 'app.media') and p = any (array['shop.orders', 'shop.orders.read']) $$;
     create function shop.day(period date) returns numeric language sql immutable as 'select extract(day from period)'; create function shop.trimmed(orders text) returns text language sql immutable as $$ select trim(leading '0' from orders) $$;
     create function shop.differs(old text, media text) returns boolean language sql immutable as 'select old is distinct from media'`,
    "error shop.named() ",
    "error shop.prefix() ",
  ],
  [
    "function_body",
    `${ORDERS} create function shop.open() returns void language plpgsql as $$ declare c constant text := 'app.maintenance'; begin perform set_config(c, 'on', true); end $$;
     create function shop.put(p text, p_local boolean default false) returns void language plpgsql as $$ begin perform set_config('shop.customer', p, p_local); end $$;
     create function shop.claims(p json) returns void language plpgsql as $$ begin perform set_config('request.claims', json_build_object('role', 'x')::text, true); end $$`,
    "error shop.open() ",
    "warning shop.put(text,boolean) ",
  ],
  [
    // Nothing harmless beside it, and no other way to say it, hides what is not.
    "function_body",
    `${entering(
      [
        "before update",
        "shop.orders",
        "execute format('set local app.tenant_id = %L', old.tenant_id); execute format('set local app.tenant_id = %L', new.partner)",
      ],
      [
        "after update",
        "shop.orders",
        "v_sql := format('set local app.tenant_id = %L', new.partner); execute v_sql",
      ],
      [
        "after update",
        "shop.orders",
        "declare w uuid := app.tenant_id(); begin for w in select new.partner loop perform app.set_tenant(w); end loop; end",
      ],
      [
        "after update",
        "shop.orders",
        "declare n int; w uuid := app.tenant_id(); begin select 1, new.partner into n, w; perform app.set_tenant(w); end",
      ],
      ["after update", "shop.orders", "set role tms_owner; listen orders"],
      ["after update", "shop.orders", "set app.tenant_id to default; listen orders"],
      ["after update", "shop.orders", "message := 'set role tms_owner'; execute message"],
      ["after update", "shop.orders", "if tg_op like 'update %' then set role tms_owner; end if"],
      [
        "after update",
        "shop.orders",
        "perform set_config(setting_name => 'role', new_value => 'tms_owner', is_local => true)",
      ],
      [
        "after update",
        "shop.orders",
        "perform set_config(case when new.id is null then 'x' else 'role' end, 'tms_owner', true)",
      ],
      ["after update", "shop.orders", "execute 'reset role'"],
    )
      .replaceAll("declare v uuid; begin", "declare v uuid; v_sql text; message text; begin")
      .replace(
        "create function shop.f0",
        "create function shop.quiet() returns void language plpgsql as $q$ begin execute 'reset app.maintenance'; execute 'reset app.tenant_id'; end $q$; create function shop.f0",
      )}`,
    ...Array.from({ length: 11 }, (_, i) => `error shop.f${i}() `),
  ],
];
