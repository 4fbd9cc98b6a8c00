/** Four ways in which others build tenancy, small: what the audit must read from the catalog alone. `role` makes a name of this run's own. */
import { randomBytes } from "node:crypto";

const run = randomBytes(3).toString("hex");
export const role = (name: string) => `${name}_${run}`;

interface Style {
  schema: string;
  /** What audit.propose() must say. */
  proposed: Record<string, unknown>;
  /** A fault, the relation that the proof must name, and what it must say of it. */
  faults: [what: string, sql: string, relation: string, says: RegExp][];
}

const app = role("app");
const authenticated = role("authenticated");
const anon = role("anon");
const group = role("tenants");
const kiosk = role("kiosk");

/** A setting with a uuid, one policy for all. */
const setting: Style = {
  schema: `
    create role ${app} nologin; create schema shop; grant usage on schema shop to ${app};
    create table shop.companies (id uuid primary key default gen_random_uuid(), name text);
    create table shop.orders (company_id uuid not null references shop.companies, id int generated always as identity, note text, primary key (company_id, id));
    create table shop.lines (company_id uuid not null, order_id int not null, n int not null, price numeric check (price > 0),
      primary key (company_id, order_id, n), foreign key (company_id, order_id) references shop.orders on delete cascade);
    create table shop.countries (code text primary key);
    insert into shop.companies (name) select 'c' || i from generate_series(1, 4) i;
    insert into shop.orders (company_id, note) select id, 'n' || i from shop.companies, generate_series(1, 3) i;
    insert into shop.lines select company_id, id, 1, 9.5 from shop.orders;
    insert into shop.countries values ('de');
    do $$ declare t record; begin for t in values ('companies', 'id'), ('orders', 'company_id'), ('lines', 'company_id') loop
      execute format('alter table shop.%1$I enable row level security; alter table shop.%1$I force row level security;
        create policy own on shop.%1$I to ${app} using (%2$I = (select nullif(current_setting(''shop.company'', true), '''')::uuid))', t.column1, t.column2);
    end loop; end $$;
    grant select, insert, update, delete on shop.orders, shop.lines to ${app}; grant select on shop.companies, shop.countries to ${app};`,
  proposed: {
    tenants: "shop.companies",
    tenant_key: "id",
    tenant_columns: ["company_id"],
    request_roles: [app],
    sees_less: false,
  },
  faults: [
    [
      "a policy that is true",
      "alter policy own on shop.lines using (true)",
      "shop.lines",
      /sees 9 rows that are not/,
    ],
    [
      "a check that is true",
      "alter policy own on shop.orders with check (true)",
      "shop.orders",
      /may give its rows.*may insert a row/,
    ],
    [
      "a policy more",
      `create policy more on shop.orders for delete to ${app} using (note like 'n%')`,
      "shop.orders",
      /may delete rows/,
    ],
    [
      "rows that show without a tenant",
      "alter policy own on shop.orders using (company_id = (select nullif(current_setting('shop.company', true), '')::uuid) or current_setting('shop.company', true) is null)",
      "shop.orders",
      /nobody.* sees 12 rows/,
    ],
    [
      "a view of its owner",
      `create view shop.recent as select * from shop.orders; grant select on shop.recent to ${app}`,
      "shop.recent",
      /sees 9 rows/,
    ],
    [
      "a materialized view",
      `create materialized view shop.totals as select company_id, count(*) from shop.orders group by 1; grant select on shop.totals to ${app}`,
      "shop.totals",
      /sees 3 rows/,
    ],
    [
      "a view that may be written",
      `create view shop.inbox as select * from shop.orders where company_id is null; create view shop.all_orders as select * from shop.orders; grant insert, select on shop.all_orders to ${app}`,
      "shop.all_orders",
      /may insert a row of another tenant/,
    ],
    [
      "policies that show nothing",
      "alter policy own on shop.orders using (false)",
      "shop.orders",
      /sees 0 of its 3 rows/,
    ],
    [
      "row-level security that is off",
      "alter table shop.lines disable row level security",
      "shop.lines",
      /sees 9 rows/,
    ],
    ["a role that is a superuser's", `alter role ${app} bypassrls`, "shop.lines", /sees 9 rows/],
  ],
};

/** Claims of a token, and a membership; a person may belong to several teams. */
const claims: Style = {
  schema: `
    create role ${authenticated} nologin; create role ${anon} nologin; create schema auth;
    create function auth.uid() returns uuid language sql stable as $$ select (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid $$;
    create table public.users (id uuid primary key default gen_random_uuid());
    create table public.teams (id uuid primary key default gen_random_uuid(), name text);
    create table public.users_on_team (user_id uuid not null references public.users, team_id uuid not null references public.teams, primary key (user_id, team_id));
    create table public.invoices (id uuid primary key default gen_random_uuid(), team_id uuid not null references public.teams, amount int);
    create table public.bank_accounts (id uuid primary key default gen_random_uuid(), team_id uuid not null references public.teams, name text);
    create function auth.teams() returns setof uuid language sql stable security definer set search_path = '' as $$ select team_id from public.users_on_team where user_id = auth.uid() $$;
    insert into public.users select from generate_series(1, 4); insert into public.teams (name) select 't' || i from generate_series(1, 3) i;
    insert into public.users_on_team select u.id, t.id from (select id, row_number() over (order by id) as n from public.users) u join (select id, row_number() over (order by id) as n from public.teams) t on t.n in (u.n, u.n - 1);
    insert into public.invoices (team_id, amount) select id, i from public.teams, generate_series(1, 2) i;
    insert into public.bank_accounts (team_id, name) select id, 'giro' from public.teams;
    do $$ declare t text; begin foreach t in array '{teams,users_on_team,invoices,bank_accounts}'::text[] loop
      execute format('alter table public.%1$I enable row level security; create policy own on public.%1$I to ${authenticated} using (%2$I in (select auth.teams()))', t, case t when 'teams' then 'id' else 'team_id' end);
    end loop; end $$;
    grant usage on schema public, auth to ${authenticated}, ${anon};
    grant select, insert, update, delete on public.invoices, public.bank_accounts, public.users_on_team to ${authenticated};
    grant select on public.teams to ${authenticated}; grant select on public.invoices to ${anon};`,
  proposed: {
    tenants: "public.teams",
    tenant_key: "id",
    tenant_columns: ["team_id"],
    request_roles: [anon, authenticated],
    sees_less: false,
  },
  faults: [
    [
      "whoever signed in",
      "alter policy own on public.invoices using (auth.uid() is not null)",
      "public.invoices",
      /sees \d rows that are not/,
    ],
    [
      "a team that anybody may join",
      `create policy joins on public.users_on_team for insert to ${authenticated} with check (true)`,
      "public.users_on_team",
      /may insert a row of another tenant/,
    ],
    [
      "rows that may be moved to any team",
      "alter policy own on public.bank_accounts with check (auth.uid() is not null)",
      "public.bank_accounts",
      /may give its rows to another tenant/,
    ],
    [
      "what is shown to the public",
      `create policy read on public.invoices for select to ${anon} using (amount > 1)`,
      "public.invoices",
      /nobody, as anon.* sees 3 rows/,
    ],
    [
      "a table without policies",
      "alter table public.bank_accounts disable row level security",
      "public.bank_accounts",
      /sees \d rows/,
    ],
  ],
};

/** A role for each tenant, as logto does. */
const roles: Style = {
  schema: `
    create role ${group} nologin; create schema logto;
    create table logto.tenants (id varchar(21) primary key, db_user varchar(128));
    create table logto.hooks (tenant_id varchar(21) not null references logto.tenants, id varchar(21) primary key, name text);
    create table logto.sign_in_experiences (tenant_id varchar(21) not null references logto.tenants, id varchar(21) not null, primary key (tenant_id, id));
    insert into logto.tenants select 'x' || i, '${role("tenant")}_' || i from generate_series(1, 3) i;
    insert into logto.hooks select id, 'h' || id, 'a hook' from logto.tenants; insert into logto.sign_in_experiences select id, 'default' from logto.tenants;
    do $$ declare t text; begin
      for i in 1 .. 3 loop execute format('create role ${role("tenant")}_%s login in role ${group}', i); end loop;
      foreach t in array '{hooks,sign_in_experiences}'::text[] loop
        execute format('alter table logto.%1$I enable row level security; create policy restricted on logto.%1$I as restrictive using (tenant_id = (select id from logto.tenants where db_user = current_user));
          create policy modifies on logto.%1$I using (true)', t);
      end loop; end $$;
    alter table logto.tenants enable row level security; create policy own on logto.tenants using (db_user = current_user);
    grant usage on schema logto to ${group}; grant select on logto.tenants to ${group}; grant select, insert, update, delete on logto.hooks, logto.sign_in_experiences to ${group};`,
  proposed: {
    tenants: "logto.tenants",
    tenant_key: "id",
    tenant_columns: ["tenant_id"],
    request_roles: [...[1, 2, 3].map(i => `${role("tenant")}_${i}`), group],
    sees_less: true, // The tenants' own policy looks at the column that names the role.
  },
  faults: [
    [
      "a policy that is true",
      "alter policy restricted on logto.hooks using (true)",
      "logto.hooks",
      /sees 2 rows that are not/,
    ],
    [
      "a check that is true",
      "alter policy restricted on logto.hooks with check (true)",
      "logto.hooks",
      /may insert a row of another tenant/,
    ],
    [
      "a permissive policy in the place of a restrictive one",
      "drop policy restricted on logto.sign_in_experiences",
      "logto.sign_in_experiences",
      /may delete rows of another tenant/,
    ],
  ],
};

/** Prisma's: text ids, quoted names, children without a tenant column, and a setting. */
const prisma: Style = {
  schema: `
    create role ${kiosk} nologin; create schema if not exists public;
    create table public."Team" (id text primary key, name text not null);
    create table public."Site" (id text primary key, "teamId" text not null references public."Team" on delete cascade, slug text not null unique);
    create table public."Page" (id text primary key, "siteId" text not null references public."Site" on delete cascade, title text);
    create table public."Visit" (id serial primary key, "pageId" text not null references public."Page");
    insert into public."Team" select 'team' || i, 'T' from generate_series(1, 3) i;
    insert into public."Site" select 's' || id, id, 'slug-' || id from public."Team";
    insert into public."Page" select id || '-' || i, id, 'p' from public."Site", generate_series(1, 2) i;
    insert into public."Visit" ("pageId") select id from public."Page";
    do $$ declare t record; begin for t in values ('Team', '"id" = x'), ('Site', '"teamId" = x'), ('Page', 'exists (select from public."Site" s where s.id = "siteId" and s."teamId" = x)'),
      ('Visit', 'exists (select from public."Page" p join public."Site" s on s.id = p."siteId" where p.id = "pageId" and s."teamId" = x)') loop
      execute format('alter table public.%I enable row level security; create policy own on public.%1$I using (%s)', t.column1, regexp_replace(t.column2, 'x(?=\\)|$)', 'current_setting(''app.current_team'', true)'));
    end loop; end $$;
    grant usage on schema public to ${kiosk}; grant select, insert, update, delete on all tables in schema public to ${kiosk}; grant usage on all sequences in schema public to ${kiosk};
    revoke insert, update, delete on public."Team" from ${kiosk};`,
  proposed: {
    tenants: 'public."Team"',
    tenant_key: "id",
    tenant_columns: ["teamId"],
    request_roles: [kiosk],
    sees_less: true, // Children without the column are found by their parents'.
  },
  faults: [
    [
      "a child that shows every row",
      'alter policy own on public."Page" using (true)',
      'public."Page"',
      /sees 4 rows/,
    ],
    [
      "a grandchild that anybody may change",
      `create policy more on public."Visit" for update to ${kiosk} using (true)`,
      'public."Visit"',
      /may update rows of another tenant/,
    ],
    [
      "a page that may be moved to any site",
      'alter policy own on public."Page" with check (true)',
      'public."Page"',
      /may give its rows to another tenant; may insert/,
    ],
    [
      "a site that may be moved",
      'alter policy own on public."Site" with check ("teamId" is not null)',
      'public."Site"',
      /may give its rows to another tenant/,
    ],
  ],
};

export const STYLES = { setting, claims, roles, prisma };
