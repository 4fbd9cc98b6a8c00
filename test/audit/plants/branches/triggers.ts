/** Triggers: whose rights they work with, and whom they tell. */
import { PARTITIONED } from "../keys.ts";
import { type Branch, CRM, ORDERS } from "./branch.ts";

export const triggerBranches: Branch[] = [
  [
    "trigger_rights",
    `${PARTITIONED} ${CRM} create function crm.f() returns trigger language plpgsql as $$ begin perform 1; return old; end $$; create function crm.g() returns trigger language plpgsql security definer as $$ begin perform 1; return old; end $$;
     create trigger f before delete on app.events for each row execute function crm.f(); create trigger f after delete on app.tenants for each row execute function crm.f();
     create trigger g before delete on app.boards for each row execute function crm.g(); create trigger f before update on app.users for each row execute function crm.f();
     create trigger f before update on app.media for each row execute function crm.f(); alter table app.media add note_id uuid, add foreign key (tenant_id, note_id) references app.boards (tenant_id, id) on delete set null (note_id);
     create trigger f before update on app.generations for each row execute function crm.f(); alter table app.generations add note_id uuid, add foreign key (tenant_id, note_id) references app.boards (tenant_id, id) on delete set default (note_id);
     create function crm.h() returns trigger language plpgsql as $$ begin /* delete */ new.note_id := 'update'; return new; end $$; create trigger h before delete on app.provider_configs for each row execute function crm.h();
     create function crm.c() returns trigger language internal as 'suppress_redundant_updates_trigger'; create trigger c before update on app.media for each row execute function crm.c();
     create trigger same before update on app.media for each row execute function suppress_redundant_updates_trigger(); create table crm.models (id int primary key);
     alter table app.board_members add model int references crm.models on update set null; create trigger f before update on app.board_members for each row execute function crm.f();
     alter table app.credit_transactions add model int references crm.models on update set default; create trigger f before update on app.credit_transactions for each row execute function crm.f()`,
    "error app.board_members f",
    "error app.credit_transactions f",
    "error app.events f",
    "error app.generations f",
    "error app.media c",
    "error app.media f",
  ],
  [
    "trigger_rights",
    `${CRM} create function crm.plain(text) returns text language sql immutable as $$ select string_agg(x, '') from unnest(array[$1]) x -- not of boards
     $$; create function crm.own(text) returns text language plpgsql immutable security definer as $$ begin return (select title from app.boards limit 1); end $$; create function crm.reads(text) returns text language plpgsql immutable as $$ begin return (select title from app.boards limit 1); end $$;
     create function crm.tests(text) returns boolean language sql return $1 is null or exists (select from app.boards where title = $1); create domain crm.checked as text check (crm.tests(value));
     alter table app.media add board_id uuid, add a text default crm.plain('x'), add b text default crm.own('x'), add c crm.checked, add foreign key (tenant_id, board_id) references app.boards on delete set null (board_id); create index on app.generations (tenant_id, crm.reads(status));
     create index on app.media (tenant_id, crm.reads(storage_url)); create table crm.a (id int primary key); create table crm.b (id int references crm.a on delete cascade); grant insert, update on crm.a to tms_app;
     create function crm.t() returns trigger language plpgsql as $$ begin perform 1; return old; end $$; create trigger t before delete on crm.b for each row execute function crm.t()`,
    "warning app.media crm.reads(text)",
    "warning app.media crm.tests(text)",
  ],
  [
    "trigger_rights",
    `${ORDERS} create function shop.soft() returns trigger language plpgsql as $$ begin return null; end $$; create function shop.plain() returns trigger language plpgsql as $$ begin return old; end $$;
     create function shop.known() returns trigger language plpgsql as $$ begin return null; end $$; alter function shop.known() owner to tms_owner; select audit.accept('shop.known()');
     create trigger soft before delete on shop.orders for each row execute function shop.soft(); create trigger later after delete on shop.orders for each row execute function shop.soft();
     create trigger written before insert on shop.orders for each row execute function shop.soft(); create trigger whole before delete on shop.orders execute function shop.soft();
     create trigger plain before delete on shop.orders for each row execute function shop.plain(); create trigger known before delete on shop.orders for each row execute function shop.known()`,
    "warning shop.orders soft",
  ],
  [
    // Of the row's own item only, and yet of every tenant's stock; after the row nothing is reached, and who vouched has read it.
    "trigger_rights",
    `${ORDERS} create table shop.items (tenant_id uuid not null, id uuid, order_id uuid, primary key (tenant_id, id), foreign key (tenant_id, order_id) references shop.orders on delete cascade); create index on shop.items (tenant_id, order_id);
     alter table shop.items owner to tms_owner; select app.isolate('shop.items'); create function shop.clear() returns trigger language plpgsql as $$ begin delete from shop.stock where item_id = old.id; return old; end $$;
     create function shop.known() returns trigger language plpgsql as $$ begin delete from shop.stock where tenant_id = old.tenant_id and item_id = old.id; return old; end $$; alter function shop.known() owner to tms_owner; select audit.accept('shop.known()');
     create trigger clear before delete on shop.items for each row execute function shop.clear(); create trigger later after delete on shop.items for each row execute function shop.clear();
     create trigger known before delete on shop.items for each row execute function shop.known()`,
    "error shop.items clear",
    "warning shop.items known",
    "warning shop.items later",
  ],
  [
    "trigger_rights", // what a key's action, which no policy asks, may do with the row's tenant
    `${ORDERS} alter table shop.orders add board_id uuid, add org_id uuid, add note text, add foreign key (tenant_id, board_id) references app.boards on delete set null (board_id);
     create table shop.plain (tenant_id uuid not null, id uuid, primary key (tenant_id, id)); alter table shop.plain owner to tms_owner; select app.isolate('shop.plain');
     ${[
       "new.tenant_id := coalesce(new.org_id, new.tenant_id); return new",
       "if old.note is null then new . tenant_id = new.org_id; end if; return new",
       "new := jsonb_populate_record(new, new.note::jsonb); return new",
       "select o.* into new from shop.orders o limit 1; return new",
       "new.tenant_id := coalesce(new.tenant_id, app.tenant_id()); if new.tenant_id = new.org_id then new.note := 'x'; end if; return new",
       "new.tenant_id := old.tenant_id; new.tenant_id := (select app.tenant_id()); new.tenant_id := current_setting('app.tenant_id')::uuid; return new",
       "-- new.tenant_id := new.org_id;\n new.note := 'new := 1; new.tenant_id := x'; return new",
     ]
       .map(
         (body, i) =>
           `create function shop.t${i}() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$ begin ${body}; end $$; create trigger t${i} before update on shop.orders for each row execute function shop.t${i}();`,
       )
       .join("")}
     create function shop.known() returns trigger language plpgsql as $$ begin new.tenant_id := new.org_id; return new; end $$; alter function shop.known() owner to tms_owner; revoke all on function shop.known() from public; select audit.accept('shop.known()');
     create trigger known before update on shop.orders for each row execute function shop.known(); create trigger later after update on shop.orders for each row execute function shop.t0();
     create trigger made before insert on shop.orders for each row execute function shop.t0(); create trigger plain before update on shop.plain for each row execute function shop.t0()`,
    "warning shop.orders t0",
    "warning shop.orders t1",
    "warning shop.orders t2",
    "warning shop.orders t3",
  ],
  [
    "trigger_rights", // and what it asks first
    `${ORDERS} alter table shop.orders add board_id uuid, add note text, add foreign key (tenant_id, board_id) references app.boards on delete set null (board_id);
     create function shop.reads(text) returns boolean language plpgsql stable as $$ begin return exists (select from shop.orders where note = $1); end $$; create function shop.tests(text) returns boolean language plpgsql as $$ begin return $1 is null; end $$;
     create function shop.t() returns trigger language plpgsql as $$ begin return new; end $$; create function shop.d() returns trigger language plpgsql as $$ begin return old; end $$;
     create function shop.gone(text) returns boolean language sql return exists (select from shop.orders where note = $1);
     create trigger t before update on shop.orders for each row when (shop.reads(new.note)) execute function shop.t(); create trigger u before update on shop.orders for each row when (shop.tests(new.note)) execute function shop.t();
     create trigger d after delete on shop.orders for each row when (shop.gone(old.note)) execute function shop.d()`,
    "warning shop.orders shop.gone(text)",
    "warning shop.orders shop.reads(text)",
  ],
  [
    "trigger_notifies", // and what is no trigger
    `${ORDERS} alter table shop.orders add note text; ${[
      "perform pg_notify('x', (select row_to_json(o)::text from shop.orders o where id = p))",
      "perform pg_notify('x', note) from shop.orders where id = p",
      "perform pg_notify('x', o.note) from shop.orders o",
      "perform pg_notify('x', o.id::text) from shop.orders o where note is null",
      "perform pg_notify('orders', p::text); perform note from shop.orders",
    ]
      .map(
        (body, i) =>
          `create function shop.f${i}(p uuid) returns void language plpgsql as $$ begin ${body}; end $$;`,
      )
      .join(
        "",
      )} create function shop.s(p uuid) returns void language sql begin atomic select pg_notify('x', orders.note) from shop.orders where id = p; end;
     create domain shop.told as text check (pg_notify('x', value) is null); create domain shop.unused as text check (pg_notify('x', value) is null); alter table shop.orders add told shop.told`,
    "warning shop.f0(uuid) ",
    "warning shop.f1(uuid) ",
    "warning shop.f2(uuid) ",
    "warning shop.s(uuid) ",
    "warning shop.told constraint told_check",
  ],
  [
    "trigger_notifies",
    `${CRM} ${[
      "perform pg_notify('x', new.id::text); return new",
      "perform pg_notify('x', json_build_object('id', new.id, 'op', tg_op)::text); return new",
      "if tg_op = 'DELETE' then v := old; else v := new; end if; perform pg_notify('x', v.id::text); return v",
      "if new is distinct from old then perform pg_notify('x', ''); end if; return new",
      "insert into crm.log select new.*; perform pg_notify('x', new.id::text); return new",
      "v := new; raise notice 'notify %', to_json(v); return new",
    ]
      .map(
        (body, i) =>
          `create function crm.t${i}() returns trigger language plpgsql as $$ declare v record; begin ${body}; end $$; create trigger t${i} after update on app.boards for each row execute function crm.t${i}();`,
      )
      .join("")}`,
  ],
  [
    "trigger_notifies",
    `${CRM} ${[
      "perform pg_notify('x', old::text); return new",
      "v := hstore(new); perform pg_notify('x', v); return new",
      "select row_to_json(new) into v; perform pg_notify('x', v); return new",
      "execute 'notify x, ' || quote_literal(new::text); return new",
    ]
      .map(
        (body, i) =>
          `create function crm.t${i}() returns trigger language plpgsql as $$ declare v text; begin ${body}; end $$; create trigger t${i} after update on app.boards for each row execute function crm.t${i}();`,
      )
      .join("")}`,
    "warning app.boards t0",
    "warning app.boards t1",
    "warning app.boards t2",
    "warning app.boards t3",
  ],
  [
    "trigger_notifies",
    `${CRM} alter table app.boards add state text check (state in ('open', 'shut'));
     create function crm.a() returns trigger language plpgsql as $$ declare r record; begin for r in select id from fresh loop perform pg_notify('x', r.id::text); end loop; perform pg_notify('x', json_agg(f.id)::text) from fresh f; perform pg_notify('x', 'title'); return null; end $$;
     create trigger a after insert on app.boards referencing new table as fresh for each statement execute function crm.a();
     create function crm.b() returns trigger language plpgsql as $$ begin perform pg_notify('x', json_build_object('id', new.id, 'state', new.state, 'at', new.created_at)::text); return new; end $$;
     create trigger b after insert on app.boards for each row execute function crm.b()`,
  ],
  [
    "trigger_notifies",
    `${CRM} create function crm.a() returns trigger language plpgsql as $$ begin perform pg_notify('x', json_agg(gone)::text) from gone; return null; end $$;
     create trigger a after delete on app.boards referencing old table as gone for each statement execute function crm.a();
     create function crm.b() returns trigger language plpgsql as $$ declare v text; begin v := new."settings"; perform pg_notify('x', v); return new; end $$; create trigger b after insert on app.boards for each row execute function crm.b()`,
    "warning app.boards a",
    "warning app.boards b",
  ],
  [
    "trigger_notifies",
    `${ORDERS} alter table shop.orders add note text, add "odd (name" text; create schema "odd (schema"; create function "odd (schema".enter(p uuid) returns void language plpgsql as $$ begin perform app.set_tenant(p); end $$; create function shop.tell(text) returns void language plpgsql as $$ begin perform pg_notify('x', $1); end $$; ${[
      "perform pg_notify('x', b.title) from app.boards b",
      "perform pg_notify('x', boards.title) from app.boards",
      "for v in select b.* from app.boards b loop perform pg_notify('x', v.title); end loop",
      "perform shop.tell(new.note)",
      "perform shop.tell(new.id::text)",
      "perform pg_notify('x', b.id::text) from app.boards b where b.id = new.id",
      "select b.title into v from app.boards b; perform pg_notify('x', new.id::text)",
    ]
      .map(
        (body, i) =>
          `create function shop.t${i}() returns trigger language plpgsql as $$ declare v record; begin ${body}; return new; end $$; create trigger t${i} after insert on shop.orders for each row execute function shop.t${i}();`,
      )
      .join("")}`,
    "warning shop.orders t0",
    "warning shop.orders t1",
    "warning shop.orders t2",
    "warning shop.orders t3",
  ],
  [
    "trigger_notifies",
    `${ORDERS} ${CRM} alter table shop.orders add note text, add tags text[], add kind text, add check (kind in ('a', 'b')), add "c++" text; create function crm.tell(text) returns void language plpgsql as $$ begin perform pg_notify('x', $1); end $$;
     create function shop.tell(text) returns void language sql as 'select'; create function shop.notify(p text) returns void language sql as 'select'; create function shop.queue(p jsonb) returns void language plpgsql as $$ declare v int; begin perform pg_notify('x', v::text); end $$; ${[
       "execute 'select pg_notify($1, $2)' using 'x', new.note",
       "perform pg_notify('x', new.tags::text)",
       "perform pg_notify('x', new.kind)",
       "perform shop.tell(new.note), shop.notify(new.note), shop.queue(to_jsonb(new))",
       "perform pg_notify('x', new.id::text) where new.note is distinct from old.note",
       `perform pg_notify('x', new."c++")`,
     ]
       .map(
         (body, i) =>
           `create function shop.t${i}() returns trigger language plpgsql as $$ begin ${body}; return new; end $$; create trigger t${i} after update on shop.orders for each row execute function shop.t${i}();`,
       )
       .join("")}`,
    "warning shop.orders t0",
    "warning shop.orders t1",
  ],
  [
    "trigger_notifies",
    `${ORDERS} create function shop.tell(p text) returns text language plpgsql as $$ begin perform pg_notify('x', p); return null; end $$; alter table shop.orders add note text, add constraint telling check (shop.tell(note) is null), add constraint plain check (note <> 'x');
     create view shop.notes with (security_invoker) as select tenant_id, id, note from shop.orders; create function shop.t0() returns trigger language plpgsql as $$ begin perform pg_notify('x', new.note); return new; end $$;
     create trigger t0 instead of insert on shop.notes for each row execute function shop.t0(); create function shop.t1() returns trigger language plpgsql as $$ declare r record; begin for r in select n.note from added n loop perform pg_notify('x', r.note); end loop; return null; end $$;
     create trigger t1 after insert on shop.orders referencing new table as added for each statement execute function shop.t1(); create function shop.t2() returns trigger language plpgsql as $$ declare r record; begin for r in select n.id from added n loop perform pg_notify('x', r.id::text); end loop; return null; end $$;
     create trigger t2 after insert on shop.orders referencing new table as added for each statement execute function shop.t2(); create function shop.t3() returns trigger language plpgsql as $$ begin return new; end $$;
     create trigger t3 before insert on shop.orders for each row when (shop.tell(new.note) is null) execute function shop.t3()`,
    "warning shop.notes t0",
    "warning shop.orders constraint telling on table shop.orders",
    "warning shop.orders t1",
    "warning shop.orders trigger t3 on table shop.orders",
  ],
  [
    // By a function that it calls.
    "trigger_rights",
    `${ORDERS} create function shop.total() returns bigint language sql as 'select count(*) from shop.orders'; create function shop.own() returns bigint language sql security definer as 'select count(*) from shop.orders'; create function shop.one() returns int language sql return 1;
     ${["total", "own", "one"].map(name => `create function shop.by_${name}() returns trigger language plpgsql as $$ declare n bigint; begin n := shop.${name}(); return old; end $$; create trigger by_${name} before delete on shop.orders for each row execute function shop.by_${name}();`).join(" ")}`,
    "error shop.orders by_total",
  ],
  [
    "trigger_notifies",
    `${ORDERS} alter table shop.orders add note text; create function shop.t() returns trigger language plpgsql as $$ begin perform pg_notify('x', (select '' where true) || new.note); return new; end $$; create trigger t after insert on shop.orders for each row execute function shop.t()`,
    "warning shop.orders t",
  ],
];
