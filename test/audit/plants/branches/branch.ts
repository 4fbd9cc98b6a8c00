/** What one condition of a check decides: all that it then finds but infos, as severity, relation and the values of its row. */
export type Branch = [check: string, sql: string, ...found: string[]];

/** tms_owner's, and closed to requests. */
export const SHOP = "create schema shop authorization tms_owner;";

export const OPEN_SHOP = `${SHOP} grant usage on schema shop to tms_app, tms_auditor;`;

export const ORDERS = `${OPEN_SHOP} create table shop.orders (tenant_id uuid not null, id uuid, primary key (tenant_id, id));
  alter table shop.orders owner to tms_owner; select app.isolate('shop.orders');`;

export const onDatabase = (statement: string) =>
  `do $$ begin execute format('${statement}', current_database()); end $$`;

/** A provider's or another product's. */
export const CRM = "create schema crm;";
