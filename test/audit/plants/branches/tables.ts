/** Tables, views and publications. */
import { type Branch, ORDERS, SHOP } from "./branch.ts";

const TABLES = [
  "api_keys",
  "board_members",
  "boards",
  "credit_transactions",
  "generations",
  "invitations",
  "media",
  "provider_configs",
  "tenants",
  "users",
].map(name => `app.${name}`);

export const tableBranches: Branch[] = [
  [
    "view_leaks",
    `${SHOP} create function shop.totals() returns bigint language sql stable as $$ select count(*) from app.boards $$; create function shop.one() returns int language sql return 1;
     create function shop.whole() returns bigint language sql stable begin atomic select count(*) from app.media; end; create function shop.says() returns text language sql as $$ select 'boards from A to Z' $$;
     create materialized view shop.a as select * from shop.totals(); create materialized view shop.b as select shop.one(), shop.says(); create materialized view shop.c as select shop.whole(), shop.one()`,
    "warning shop.a ",
    "warning shop.c ",
  ],
  [
    "table_rules",
    "alter table app.tenants add constraint named exclude using btree (name with =)",
    "warning app.tenants app.named",
  ],
  ["table_rules", ORDERS],
  ["table_rules", "create schema partman; create table partman.template_app_boards (tenant_id uuid)"],
  ...["select", "delete"].map((right): [string, string, string, string] => [
    "table_rules",
    `create schema partman; create table partman.template_open (tenant_id uuid); grant ${right} on partman.template_open to tms_app`,
    "error partman.template_open ",
    "error partman.template_open ",
  ]),
  [
    "table_rules",
    `create schema partman; create table partman.template_full (tenant_id uuid); insert into partman.template_full values (null);
     create schema repack; create table repack.table_1 (tenant_id uuid)`, // no table has the number 1
    ...Array(2).fill("error partman.template_full "),
    ...Array(2).fill("error repack.table_1 "),
  ],
  [
    "table_rules",
    "create schema partman; create table partman.boards (tenant_id uuid)",
    ...Array(2).fill("error partman.boards "),
  ],
  ["table_rules", "alter table app.boards add exclude (owner_id with =)", "error app.boards "],
  [
    "table_rules",
    `create extension if not exists btree_gist; create table app.loud (tenant_id uuid not null, id uuid, primary key (tenant_id, id), exclude using gist (tenant_id with <>))`,
    "error app.loud ",
  ],
  // Nothing looks at a parent without the column in its child's place.
  [
    "table_rules",
    `${SHOP} create table shop.old (id int primary key); create table shop.new (tenant_id text) inherits (shop.old)`,
    ...Array(3).fill("error shop.new "),
  ],
  [
    "table_rules",
    `${ORDERS} create table shop.models (id int primary key); create table shop.twisted (tenant_id uuid not null, id uuid, primary key (tenant_id, id), unique (id, tenant_id));
     alter table shop.orders add a uuid, add b uuid, add model int references shop.models on delete set null on update set null, add foreign key (tenant_id, a) references app.boards on delete set null (a),
       add foreign key (tenant_id, b) references app.boards on delete set default (b), add partner uuid references app.tenants on delete set null, add owner uuid references app.tenants on delete cascade,
       drop constraint orders_tenant_id_fkey, add foreign key (tenant_id) references app.tenants;
     alter table shop.twisted add foreign key (tenant_id, id) references shop.twisted (id, tenant_id)`,
    "error shop.twisted ",
    "error shop.twisted ",
  ],
  [
    "table_rules",
    `${ORDERS} alter table shop.orders add a uuid, add foreign key (tenant_id, a) references app.boards on update set null, add foreign key (tenant_id, a) references app.boards on delete set default,
       add foreign key (tenant_id, a) references app.boards on delete set null (tenant_id)`,
    "error shop.orders ",
    "error shop.orders ",
    "error shop.orders ",
  ],
  [
    "table_rules",
    "create table app.loose (tenant_id uuid, id uuid); create table app.child () inherits (app.loose);",
    "error app.loose ",
    "error app.loose ",
  ],
  ["table_rules", "alter table app.boards alter owner_id set default '00000000-0000-0000-0000-000000000001'"],
  ["table_missing", "alter table app.boards add check (owner_id is not null) not valid"],
  ["table_missing", "drop table app.media", "error app.media "],
  [
    "table_without_tenant",
    `${SHOP} create table shop.a (org_id uuid not null references app.tenants) partition by list (org_id); create table shop.b (n int) partition by list (n);
     create table shop.countries (code text); create temporary table drafts (n int); create table app.countries (code text) partition by list (code)`,
    "error app.countries ",
    "error shop.a ",
  ],
  ["rls_disabled", "create temporary table drafts (tenant_id uuid)"],
  ["table_owner", "alter table control.deployment owner to pg_monitor", "error control.deployment "],
  ["table_owner", "alter table audit.found owner to pg_monitor", "error audit.found "],
  [
    "table_owner",
    "alter table graphile_migrate.migrations owner to pg_monitor",
    "error graphile_migrate.migrations ",
  ],
  ["table_owner", `${ORDERS} alter table shop.orders owner to pg_monitor`, "error shop.orders "],
  [
    "table_owner",
    "create view api.v as select 1 as one; alter view api.v owner to pg_monitor; create sequence app.n; create table app.p (n int) partition by list (n)",
    "error api.v ",
    "error app.n ",
    "error app.p ",
  ],
  ...["app", "api", "audit", "graphile_migrate"].map((name): [string, string, string] => [
    "table_owner",
    `alter schema ${name} owner to pg_monitor`,
    `error ${name} ${name}`,
  ]),
  ["view_leaks", `${SHOP} create view shop.v as table audit.found`, "error shop.v "],
  [
    "foreign_table",
    `${SHOP} create foreign data wrapper far; create server far foreign data wrapper far; create foreign table shop.far (tenant_id uuid) server far;
     create foreign table shop.other (id uuid) server far; create table shop.near (tenant_id uuid); create foreign table app.other (id uuid) server far`,
    "error app.other ",
    "error shop.far ",
  ],
  [
    "rewrite_rule",
    `${SHOP} create table shop.door (a int); create rule peek as on insert to shop.door do also select from control.tenant_events;
     create rule look as on insert to shop.door do also select from audit.found; create rule own as on insert to shop.door do also select from shop.door;
     create rule two as on insert to app.media do also select from app.boards`,
    "error app.media two",
    "error shop.door look",
    "error shop.door peek",
  ],
  [
    "rewrite_rule",
    `${SHOP} create table shop.door (a int); create rule peek as on insert to shop.door do also select id, title from app.boards`,
    "error shop.door peek",
  ],
  [
    "rewrite_rule",
    `${SHOP} create table shop.log (n int); create table shop.log_1 () inherits (shop.log); create table shop.far (n int); create table shop.other (n int); grant insert on shop.log to tms_app; grant select on shop.other to tms_app;
     create rule one as on insert to shop.log where n = 1 do instead insert into shop.log_1 values (new.*); create rule two as on insert to shop.log do also insert into shop.log_1 select new.n; create rule seen as on insert to shop.far do also select n from shop.other`,
  ],
  ["publication", `${ORDERS} create publication shop for tables in schema shop`, "warning shop.orders shop"],
  [
    "publication",
    "create publication every for all tables",
    ...TABLES.map(table => `warning ${table} every`),
  ],
  [
    "publication",
    `create subscription moved connection 'dbname=elsewhere' publication everything with (connect = false); create subscription idle connection 'dbname=elsewhere' publication everything with (connect = false);
     set local allow_system_table_mods = on; insert into pg_subscription_rel (srsubid, srrelid, srsubstate) select oid, 'app.boards'::regclass, 'r' from pg_subscription where subname = 'moved'`,
    "warning app.boards moved",
  ],
  [
    // Whose code requests run: a stranger's view, or table. An administrator's is none, nor what was lent to nobody of ours.
    "table_owner",
    `${ORDERS} create role joe; create role boss; grant tms_owner to boss; create schema joes authorization joe; grant usage on schema joes to tms_app, tms_registrar;
     create view joes.v with (security_invoker) as select 1 as one; create table joes.t (n int); create table joes.own (n int); create table joes.bosses (n int); create table shop.columns (n int, m int);
     alter view joes.v owner to joe; alter table joes.t owner to joe; alter table joes.own owner to joe; alter table joes.bosses owner to boss; alter table shop.columns owner to joe;
     grant select on joes.v, joes.bosses to tms_app; grant insert on joes.t to tms_registrar; grant select (m) on shop.columns to tms_app; grant select on joes.own to public; alter schema shop owner to joe`,
    "error joes.v ",
    "warning joes.t ",
    "warning shop shop",
    "warning shop.columns ",
  ],
  [
    "table_rules",
    `${ORDERS} create schema odd; create function odd.same(uuid, uuid) returns int language sql immutable as 'select 0'; create operator class odd.ops for type uuid using btree as operator 3 =, function 1 odd.same(uuid, uuid);
     create unique index taken on shop.orders (tenant_id odd.ops, id); create unique index within on shop.orders (tenant_id, id odd.ops); create index plain on shop.orders (tenant_id odd.ops)`,
    "error shop.orders ",
  ],
  [
    "table_rules",
    `alter table app.tenants add a uuid constraint a references app.tenants on delete cascade, add b uuid constraint b references app.tenants on delete set null, add c uuid constraint c references app.tenants,
       add d uuid constraint d references app.tenants on delete set null on update cascade, add e uuid, add f uuid, add unique (id, e);
     alter table app.boards add unique (id, tenant_id), add constraint only_id unique (id);
     alter table app.tenants add constraint e foreign key (id, e) references app.boards (tenant_id, id), add constraint f foreign key (f) references app.boards (id)`,
    "error app.boards ",
    "error app.boards ",
    "error app.tenants a",
    "error app.tenants f",
    "warning app.tenants c",
  ],
  [
    "publication",
    `create publication p for table control.tenant_counts, app.boards; create publication q for tables in schema audit`,
    "warning app.boards p",
    "warning audit.accepted q",
    "warning audit.found q",
    "warning audit.results q",
    "warning audit.runs q",
    "warning control.tenant_counts p",
  ],
  [
    "table_owner",
    `create table public.things (tenant_id uuid not null, id int, primary key (tenant_id, id)); alter table public.things owner to tms_owner; select app.isolate('public.things')`,
  ],
  [
    // What is below a shared table; TRIGGER on it; a schema with what is ours in it.
    "table_owner",
    `${ORDERS} create role joe; create schema joes authorization joe; create table shop.shared (id int, note text) partition by list (id); create table joes.p partition of shop.shared default;
     alter table shop.shared owner to tms_owner; alter table joes.p owner to joe; grant insert on shop.shared to tms_app; grant trigger on shop.shared to joe; create function joes.clean(text) returns text language sql as 'select $1'; alter function joes.clean(text) owner to tms_owner`,
    "error shop.shared joe TRIGGER",
    "warning joes joes",
    "warning joes.p ",
  ],
  [
    "table_rules",
    `${ORDERS} create table shop.plans (id int primary key); alter table app.tenants add plan int constraint plan references shop.plans on delete cascade, add other int constraint other references shop.plans on update cascade,
       add parent_id uuid not null default gen_random_uuid(), add constraint parent foreign key (parent_id) references app.tenants on delete set null not valid`,
    "error app.tenants plan",
    "warning app.tenants parent",
  ],
];
