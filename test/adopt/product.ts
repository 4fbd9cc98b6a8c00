/** A product in use, as Prisma makes one: text ids, quoted names, keys of one column, global users; a login that is not the owner. */
export const product = (owner: string, app: string) => `
set role ${owner};
create table "_prisma_migrations" (id text primary key, migration_name text not null);
create table "Team" (id text primary key, name text not null, slug text not null unique, "createdAt" timestamptz not null default now());
create table "User" (id text primary key, email text not null unique, name text, "passwordHash" text);
create table "Session" (id text primary key, "userId" text not null references "User" on delete cascade on update cascade);
create table "Membership" (id text primary key, "teamId" text not null references "Team" on delete cascade on update cascade,
  "userId" text not null references "User" on delete cascade on update cascade, role text not null default 'member');
create unique index "Membership_teamId_userId_key" on "Membership" ("teamId", "userId");
create table "Country" (code text primary key, name text not null);
create table "Customer" (id text primary key, "teamId" text not null references "Team" on delete cascade on update cascade,
  email text not null, "countryCode" text references "Country" on update cascade);
create unique index "Customer_teamId_email_key" on "Customer" ("teamId", email);
create table "Product" (id text primary key, "teamId" text not null references "Team" on delete cascade on update cascade,
  sku text not null, price int not null check (price >= 0));
create unique index "Product_sku_key" on "Product" (sku);
create table "Order" (id text primary key, "teamId" text not null references "Team" on delete cascade on update cascade,
  "customerId" text not null references "Customer" on update cascade, "ownerId" text references "User" on delete set null on update cascade,
  n serial, status text not null default 'open', "updatedAt" timestamptz not null default now());
create index "Order_teamId_idx" on "Order" ("teamId");
create table "OrderLine" (id text primary key, "orderId" text not null references "Order" on delete cascade on update cascade,
  "productId" text not null references "Product" on update cascade, quantity int not null);
create index "OrderLine_orderId_idx" on "OrderLine" ("orderId");
create table "LineNote" (id text primary key, "lineId" text not null references "OrderLine" on delete cascade on update cascade, body text);
create table "Folder" (id text primary key, "teamId" text not null references "Team" on delete cascade on update cascade, "parentId" text references "Folder" on delete set null);
create table "Document" (id text primary key, "teamId" text references "Team" on delete set null on update cascade,
  "folderId" text references "Folder" on delete set null on update cascade, title text not null);
create table "Feedback" (id text primary key, body text not null);
insert into "Country" values ('de', 'Germany'), ('fr', 'France');
insert into "Team" (id, name, slug) select 't' || i, 'Team ' || i, 'Team_' || i from generate_series(1, 3) i;
insert into "User" select 'u' || i, 'u' || i || '@example.com', 'User ' || i, 'hash' from generate_series(1, 5) i;
insert into "Session" select 's' || i, 'u' || i from generate_series(1, 5) i;
insert into "Membership" select 'm' || t || u, 't' || t, 'u' || u from generate_series(1, 3) t, generate_series(1, 5) u where (t + u) % 2 = 0;
insert into "Customer" select 'c' || t || i, 't' || t, 'c' || i || '@example.com', 'de' from generate_series(1, 3) t, generate_series(1, 4) i;
insert into "Product" select 'p' || t || i, 't' || t, 'sku-' || t || i, i from generate_series(1, 3) t, generate_series(1, 3) i;
insert into "Order" (id, "teamId", "customerId", "ownerId")
  select 'o' || t || i, 't' || t, 'c' || t || i, 'u1' from generate_series(1, 3) t, generate_series(1, 4) i;
insert into "OrderLine" select 'l' || t || i, 'o' || t || i, 'p' || t || '1', 2 from generate_series(1, 3) t, generate_series(1, 4) i;
insert into "LineNote" select 'n' || t, 'l' || t || '1', 'a note' from generate_series(1, 3) t;
insert into "Folder" select 'f' || t, 't' || t, null from generate_series(1, 3) t;
insert into "Document" select 'd' || t, 't' || t, 'f' || t, 'a document' from generate_series(1, 3) t;
grant select, insert, update, delete on all tables in schema public to ${app}; revoke all on "_prisma_migrations" from ${app};
grant usage on all sequences in schema public to ${app};
reset role;
`;

/** The same style with uuids, and small: keys that app.tenants can have as they are. */
export const uuidProduct = (owner: string, app: string) => `
create schema crm authorization ${owner};
set role ${owner};
create table crm.accounts (id uuid primary key default gen_random_uuid(), title text, handle text);
create table crm.contacts (id int generated always as identity primary key, account_id uuid not null references crm.accounts on delete cascade, email text);
create table crm.calls (id int generated always as identity primary key, contact_id int not null references crm.contacts on delete cascade, said text);
insert into crm.accounts (title) values ('Elm'), ('Fir');
insert into crm.contacts (account_id, email) select id, 'info@example.com' from crm.accounts;
grant usage on schema crm to ${app}; grant select, insert, update, delete on all tables in schema crm to ${app};
reset role;
`;
