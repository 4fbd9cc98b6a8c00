/** A database in use, as adopt reads it. */

/** How the rows of a table belong to tenants. */
type Class =
  | "tenants"
  | "direct"
  /** It has the tenant's column, which may be null. */
  | "nullable"
  | "parent"
  | "people"
  /** It refers to people, and to no table of tenants. */
  | "of people"
  /** It refers to a tenant's table, by a key that may be null. */
  | "optional parent"
  | "migrations"
  | "shared"
  | "unknown";

export interface Table {
  relation: string;
  schema: string;
  name: string;
  owner: string;
  /** The server's estimate; -1: the table was never analyzed. */
  rows: number;
  bytes: number;
  class: Class;
  /** The tenant's column; null: none, as where a parent has it. */
  column: string | null;
  /** The same after the plan. */
  tenantColumn: string;
  /** The tenant's column may be null. */
  nullable: boolean;
  /** The number of rows in which it is null. */
  homeless: number;
  /** The foreign key by which its rows belong to a tenant, where the table has no tenant's column. */
  parent: { relation: string; columns: string[]; parents: string[] } | null;
  /** The tables by which it was classed, for the question. */
  via: string | null;
  columns: string[];
  /** The columns that are NOT NULL. */
  required: string[];
  /** adopt's own trigger fills the tenant's column. */
  filled: boolean;
  partitioned: boolean;
  enabled: boolean;
  forced: boolean;
  policies: { name: string; roles: string[] }[];
  /** The roles with privileges on it, except the owner; "" is PUBLIC. */
  granted: string[];
  /** Those of them that may write to it. */
  writers: string[];
  /** Those of them that may insert and may not read the parent, as the trigger does that fills the tenant's column. */
  blind: string[];
  /** The sequences of serial columns. */
  sequences: string[];
  indexes: Index[];
  /** The INVALID indexes that a failed CREATE INDEX CONCURRENTLY left. */
  invalid: string[];
  checks: { name: string; clause: string; valid: boolean }[];
  /** Its foreign keys. */
  keys: Key[];
}

export interface Index {
  /** As SQL writes it, with its schema. */
  name: string;
  relname: string;
  method: string;
  /** What its definition has behind the method: columns in parentheses, and what comes after them. */
  keys: string;
  /** The constraint that uses it. */
  constraint: string | null;
  columns: (string | null)[];
  unique: boolean;
  primary: boolean;
  /** A foreign key may refer to it. */
  referable: boolean;
  partial: boolean;
  /** A value in it can be guessed. */
  guessable: boolean;
}

export interface Key {
  name: string;
  parent: string;
  columns: string[];
  parents: string[];
  onDelete: string;
  onUpdate: string;
  /** MATCH FULL. */
  full: boolean;
  /** The columns that ON DELETE SET overwrites; empty: all. */
  sets: string[];
  deferrable: string;
  valid: boolean;
  /** A tenant does not see all rows of the parent. */
  hidden: boolean;
}

export interface Living {
  database: string;
  today: string;
  /** The service is installed in it. */
  installed: boolean;
  /** Roles with open sessions, except superusers. */
  busy: string[];
  role: string;
  roleExists: boolean;
  /** It is a member of tms_app, and so may enter tenants. */
  enters: boolean;
  /** The schemas on which it has USAGE. */
  usable: string[];
  /** The roles that may use app.tenant_id() in a policy. */
  policyMakers: string[];
  /** The number of tenants that app.tenants lacks; null: not known yet. */
  uncopied: number | null;
  /**
   * `relation`: the catalog's name. `id`: the column that becomes app.tenants.id. `others`: tables that could be the tenants' table, too.
   */
  tenants: {
    relation: string;
    key: string;
    keyType: string;
    id: string;
    columns: string[];
    others: string[];
  };
  /** The table that says which person belongs to which tenant. */
  membership: { relation: string; tenant: string; person: string; people: string; key: string } | null;
  tables: Table[];
  /** Views that read tenants' rows with the rights of their owner. */
  views: string[];
  /** Roles that policies do not bind: superusers and BYPASSRLS. */
  unbound: string[];
  /** Of the owners that the given profile trusts, and the logins with bridges, those that exist. */
  roles: string[];
  /** Of the relations in the given profile's per_table, those that this database does not have. */
  gone: string[];
  /** The service's own tables. */
  own: string[];
}
