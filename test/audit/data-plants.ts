/** Rows that break what the data checks look at; a and b are the ids of one row of each table in two tenants. */

export type Ids = Record<string, string>;
interface DataPlant {
  check: string;
  severity?: string;
  how: string;
  sql: (a: Ids, b: Ids) => string;
  relation: string;
  row: (a: Ids) => Record<string, unknown>;
  tenant?: null;
}

export const REPLICA = "set local session_replication_role = replica;";
const key = (name: string) => (a: Ids) => ({ tenant_id: a.tenant, id: a[name] });
const membership = (a: Ids) => ({ tenant_id: a.tenant, board_id: a.board, user_id: a.member });
const tenant = (a: Ids) => ({ id: a.tenant });

/** A column of somebody's own: whom to call. */
const CONTACT =
  "alter table app.tenants add contact_id uuid, add foreign key (id, contact_id) references app.users (tenant_id, id); create index on app.tenants (id, contact_id);";

/** A medium of a's at an address, an SQL expression, that names b. */
const misplaced = (how: string, address: (b: Ids) => string): DataPlant => ({
  check: "storage_of_other_tenant",
  how,
  sql: (a, b) => `update app.media set storage_url = ${address(b)} where id = '${a.medium}'`,
  relation: "app.media",
  row: key("medium"),
});

export const data: DataPlant[] = [
  {
    check: "parent_in_other_tenant",
    how: "a load with triggers off",
    sql: (a, b) =>
      `${REPLICA} update app.generations set user_id = '${b.owner}' where id = '${a.generation}'`,
    relation: "app.generations",
    row: key("generation"),
  },
  {
    check: "parent_in_other_tenant",
    how: "a contact of the tenant that a load brought",
    sql: (a, b) =>
      `${CONTACT} ${REPLICA} update app.tenants set contact_id = '${b.owner}' where id = '${a.tenant}'`,
    relation: "app.tenants",
    row: tenant,
  },
  {
    check: "parent_in_other_tenant",
    how: "a foreign key of the past, on id alone",
    sql: (a, b) =>
      `alter table app.media drop constraint media_generation; create unique index on app.generations (id);
       alter table app.media add foreign key (generation_id) references app.generations (id);
       update app.media set generation_id = '${b.generation}' where id = '${a.medium}'`,
    relation: "app.media",
    row: key("medium"),
  },
  {
    check: "parent_in_other_tenant",
    how: "a row moved between tenants with triggers off",
    sql: (a, b) =>
      `${REPLICA} update app.generations set board_id = '${b.board}' where id = '${a.generation}'`,
    relation: "app.generations",
    row: key("generation"),
  },
  misplaced("an upload to the wrong folder", b => `'s3://media/${b.tenant}/x.png'`),
  misplaced(
    "a folder below one that is nobody's",
    b => `'s3://' || gen_random_uuid() || '/' || '${b.tenant}' || '/x.png'`,
  ),
  misplaced("a store that writes ids in capitals", b => `upper('s3://media/${b.tenant}/x.png')`),
  misplaced(
    "a store that writes ids without hyphens",
    b => `'s3://media/${b.tenant!.replaceAll("-", "")}/x.png'`,
  ),
  misplaced(
    "a store that writes a path as one name",
    b => `'https://store.example/o/media%2F${b.tenant!.replaceAll("-", "")}%2Fx.png'`,
  ),
  {
    check: "tenant_missing",
    how: "a tenant deleted with triggers off",
    sql: a => `${REPLICA} delete from app.tenants where id = '${a.tenant}'`,
    relation: "app.boards",
    row: key("board"),
  },
  {
    check: "parent_missing",
    how: "a generation deleted with triggers off",
    sql: a => `${REPLICA} delete from app.generations where id = '${a.generation}'`,
    relation: "app.media",
    row: key("medium"),
  },
  {
    check: "parent_missing",
    how: "a NOT VALID foreign key over rows that it never saw",
    sql: a =>
      `alter table app.credit_transactions drop constraint credit_transactions_generation;
       update app.credit_transactions set generation_id = gen_random_uuid() where id = '${a.credit}';
       alter table app.credit_transactions add constraint credit_transactions_generation
         foreign key (tenant_id, generation_id) references app.generations (tenant_id, id) not valid`,
    relation: "app.credit_transactions",
    row: key("credit"),
  },
  {
    check: "tenant_missing",
    how: "a tenant that another named, deleted with triggers off",
    sql: a =>
      `alter table app.tenants add reseller uuid references app.tenants on delete set null, add agent uuid references app.tenants on delete set null;
       update app.tenants set agent = id where id = '${a.tenant}'; ${REPLICA} update app.tenants set reseller = gen_random_uuid() where id = '${a.tenant}'`,
    relation: "app.tenants",
    row: tenant,
  },
  {
    check: "parent_missing",
    how: "a row of which each tenant has one, deleted with triggers off",
    sql: a =>
      `create table app.plans (tenant_id uuid primary key, seats int);
       create table app.seats (tenant_id uuid not null, seat int, member text, primary key (tenant_id, seat) include (member),
         foreign key (tenant_id) references app.plans (tenant_id));
       alter table app.plans owner to tms_owner; alter table app.seats owner to tms_owner; select app.isolate('app.plans'), app.isolate('app.seats');
       insert into app.plans select id from app.tenants; insert into app.seats select id, 1, 'Ann' from app.tenants;
       ${REPLICA} delete from app.plans where tenant_id = '${a.tenant}'`,
    relation: "app.seats",
    row: a => ({ tenant_id: a.tenant, seat: 1 }),
  },
  {
    check: "board_owner_outside_tenant",
    how: "a dropped foreign key",
    sql: (a, b) =>
      `alter table app.boards drop constraint boards_owner; update app.boards set owner_id = '${b.owner}' where id = '${a.board}'`,
    relation: "app.boards",
    row: key("board"),
  },
  {
    check: "parent_in_other_tenant",
    how: "an invitation by hand",
    sql: (a, b) =>
      `${REPLICA} insert into app.board_members (tenant_id, board_id, user_id) values ('${a.tenant}', '${a.board}', '${b.member}')`,
    relation: "app.board_members",
    row: a => ({ ...membership(a), user_id: "of b" }),
  },
  {
    check: "parent_missing",
    how: "a board deleted with triggers off",
    sql: a => `${REPLICA} delete from app.boards where id = '${a.board}'`,
    relation: "app.board_members",
    row: membership,
  },
  {
    check: "parent_in_other_tenant",
    how: "a superuser's hand",
    sql: (a, b) =>
      `${REPLICA} update app.board_members set invited_by = '${b.owner}' where board_id = '${a.board}'`,
    relation: "app.board_members",
    row: membership,
  },
  {
    check: "removed_member_on_board",
    how: "an update past api.remove_member",
    sql: a => `update app.users set removed_at = now() where id = '${a.member}'`,
    relation: "app.board_members",
    row: membership,
  },
  {
    check: "board_role_unknown",
    how: "a dropped check",
    sql: a =>
      `alter table app.board_members drop constraint board_members_role_known; update app.board_members set role = 'god' where board_id = '${a.board}'`,
    relation: "app.board_members",
    row: membership,
  },
  {
    check: "board_owner_as_member",
    severity: "info",
    how: "an owner who invited themselves",
    sql: a => `update app.board_members set user_id = '${a.owner}' where board_id = '${a.board}'`,
    relation: "app.board_members",
    row: a => ({ ...membership(a), user_id: a.owner }),
  },
  {
    check: "identity_twice_in_tenant",
    how: "a dropped unique constraint",
    sql: a =>
      `alter table app.users drop constraint users_tenant_identity_key;
       insert into app.users (tenant_id, id, auth_provider, auth_subject) values ('${a.tenant}', 'ffffffff-ffff-4fff-bfff-ffffffffffff', 'jwt', 'alice')`,
    relation: "app.users",
    row: a => ({ tenant_id: a.tenant, id: "ffffffff-ffff-4fff-bfff-ffffffffffff" }),
  },
  {
    check: "provider_twice_in_tenant",
    how: "a dropped unique constraint",
    sql: a =>
      `alter table app.provider_configs drop constraint provider_configs_name_key;
       insert into app.provider_configs (tenant_id, id, provider_name) values ('${a.tenant}', 'ffffffff-ffff-4fff-bfff-ffffffffffff', 'sample-provider')`,
    relation: "app.provider_configs",
    row: a => ({ tenant_id: a.tenant, id: "ffffffff-ffff-4fff-bfff-ffffffffffff" }),
  },
  {
    check: "slug_twice",
    how: "a dropped unique constraint",
    sql: a =>
      `drop index app.tenants_slug_key; update app.tenants set id = id, slug = (select slug from app.tenants where id = '${a.tenant}') where slug = 't9'`,
    relation: "app.tenants",
    row: () => ({ id: "the later of both" }),
  },
  {
    check: "default_tenant_twice",
    how: "a dropped index",
    sql: a =>
      `drop index app.tenants_one_default; update app.tenants set is_default = true, created_at = created_at + interval '1 s', updated_at = updated_at + interval '1 s' where id = '${a.tenant}'`,
    relation: "app.tenants",
    row: tenant,
  },
  {
    check: "tenant_malformed",
    how: "a dropped check",
    sql: a =>
      `alter table app.tenants drop constraint tenants_slug_format; update app.tenants set slug = 'Böse Slug' where id = '${a.tenant}'`,
    relation: "app.tenants",
    row: tenant,
  },
  {
    check: "tenant_count_wrong",
    how: "a tenant inserted with triggers off",
    sql: () => `${REPLICA} insert into app.tenants (slug, name) values ('smuggled', 'Smuggled')`,
    relation: "app.tenants",
    row: () => ({ status: "active" }),
    tenant: null,
  },
  {
    check: "tenant_without_owner",
    severity: "warning",
    how: "an update past the api",
    sql: a => `update app.users set role = 'member' where tenant_id = '${a.tenant}'`,
    relation: "app.tenants",
    row: tenant,
  },
  {
    check: "credit_balance",
    how: "an amount corrected by hand",
    sql: a => `update app.credit_transactions set amount = amount - 5 where id = '${a.credit}'`,
    relation: "app.credit_transactions",
    row: key("credit"),
  },
  {
    check: "credit_balance",
    how: "an amount beside which no balance fits into a bigint",
    sql: a =>
      `update app.credit_transactions set amount = -9223372036854775808, balance_after = 9223372036854775807 where id = '${a.credit}'`,
    relation: "app.credit_transactions",
    row: key("credit"),
  },
  {
    check: "credit_balance",
    how: "an entry without an amount",
    sql: a =>
      `alter table app.credit_transactions alter amount drop not null; update app.credit_transactions set amount = null where id = '${a.credit}'`,
    relation: "app.credit_transactions",
    row: key("credit"),
  },
  {
    check: "generation_state",
    how: "a worker that died between two updates",
    sql: a => `update app.generations set completed_at = null where id = '${a.generation}'`,
    relation: "app.generations",
    row: key("generation"),
  },
  {
    check: "completed_without_media",
    severity: "warning",
    how: "media swept by hand",
    sql: a => `delete from app.media where id = '${a.medium}'`,
    relation: "app.generations",
    row: key("generation"),
  },
  {
    check: "value_unknown",
    how: "a dropped check",
    sql: a =>
      `alter table app.users drop constraint users_role_known; update app.users set role = 'root' where id = '${a.member}'`,
    relation: "app.users",
    row: key("member"),
  },
  {
    check: "content_value_unknown",
    how: "a dropped check",
    sql: a =>
      `alter table app.generations drop constraint generations_status_known; ${REPLICA} update app.generations set status = 'lost' where id = '${a.generation}'`,
    relation: "app.generations",
    row: key("generation"),
  },
  {
    check: "times_out_of_order",
    how: "a dropped check",
    sql: a =>
      `alter table app.users drop constraint users_times_in_order; update app.users set updated_at = '2001-01-01' where id = '${a.member}'`,
    relation: "app.users",
    row: key("member"),
  },
  {
    check: "not_an_object",
    how: "a dropped check",
    sql: a =>
      `alter table app.tenants drop constraint tenants_settings_is_object; update app.tenants set settings = '[]' where id = '${a.tenant}'`,
    relation: "app.tenants",
    row: tenant,
  },
  {
    check: "content_times_out_of_order",
    how: "a dropped check",
    sql: a =>
      `alter table app.boards drop constraint boards_times_in_order; update app.boards set updated_at = '2001-01-01' where id = '${a.board}'`,
    relation: "app.boards",
    row: key("board"),
  },
  {
    check: "time_in_future",
    severity: "warning",
    how: "a clock that is wrong",
    sql: a =>
      `update app.credit_transactions set created_at = now() + interval '2 days' where id = '${a.credit}'`,
    relation: "app.credit_transactions",
    row: key("credit"),
  },
  {
    check: "content_not_an_object",
    how: "a dropped check",
    sql: a =>
      `alter table app.boards drop constraint boards_settings_is_object; update app.boards set settings = '[]' where id = '${a.board}'`,
    relation: "app.boards",
    row: key("board"),
  },
];
