/** A database that lives, as adopt reads it. */

/** What a table is to the tenants. */
export type Class =
  | "tenants"
  | "direct"
  /** It has the column, and a row may be without a tenant. */
  | "nullable"
  | "parent"
  | "people"
  /** It refers to people, and to nothing of a tenant. */
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
  /** As the server estimates; -1: it was never analyzed. */
  rows: number;
  bytes: number;
  class: Class;
  /** Says whose a row is; null: its parent does, or nothing. */
  column: string | null;
  /** The column may hold null. */
  nullable: boolean;
  /** Rows in which it does. */
  homeless: number;
  /** The key through which its rows are a tenant's, where it has no column of its own. */
  parent: { relation: string; columns: string[]; parents: string[] } | null;
  /** Tables that say what it could be. */
  via: string | null;
  columns: string[];
  /** Those that are NOT NULL. */
  required: string[];
  /** adopt's own trigger fills the tenant's column. */
  filled: boolean;
  partitioned: boolean;
  enabled: boolean;
  forced: boolean;
  policies: { name: string; roles: string[] }[];
  /** Who has privileges on it, the owner aside; "" is PUBLIC. */
  granted: string[];
  /** What serial columns draw from. */
  sequences: string[];
  indexes: Index[];
  /** What CREATE INDEX CONCURRENTLY left where it failed. */
  invalid: string[];
  checks: { name: string; valid: boolean }[];
}

export interface Index {
  /** As SQL writes it, with its schema. */
  name: string;
  relname: string;
  method: string;
  /** What its definition has behind the method: columns in parentheses, and what comes after them. */
  keys: string;
  /** The constraint that it belongs to. */
  constraint: string | null;
  columns: (string | null)[];
  unique: boolean;
  /** Whether a foreign key may refer to it. */
  referable: boolean;
  partial: boolean;
  /** Whether a value in it can be guessed. */
  guessable: boolean;
}

export interface Key {
  name: string;
  child: string;
  parent: string;
  columns: string[];
  parents: string[];
  onDelete: string;
  onUpdate: string;
  /** MATCH FULL. */
  full: boolean;
  /** The columns that ON DELETE sets; empty: all. */
  sets: string[];
  deferrable: string;
  valid: boolean;
}

export interface Living {
  database: string;
  today: string;
  /** Whether `tenancy migrate` was here. */
  installed: boolean;
  /** Roles with sessions at work in it, superusers aside. */
  busy: string[];
  role: string;
  roleExists: boolean;
  /** Whether it is a member of tms_app, and so may enter tenants. */
  enters: boolean;
  /** The schemas on which it has USAGE. */
  usable: string[];
  /** Who may name app.tenant_id() in a policy. */
  policyMakers: string[];
  /** The tenants that app.tenants lacks; null: it is not known yet. */
  uncopied: number | null;
  /** `relation` is the catalog's name of it. `others`: what the tenants' table could be, too. */
  tenants: { relation: string; key: string; keyType: string; columns: string[]; others: string[] };
  /** The table that says which person belongs to which tenant. */
  membership: { relation: string; tenant: string; person: string; people: string; key: string } | null;
  tables: Table[];
  keys: Key[];
  /** Views that read tenants' rows as their owner. */
  views: string[];
  /** Logins and roles that can see nothing of policies. */
  unbound: string[];
  /** Of the owners that the given profile trusts, those that exist. */
  roles: string[];
  /** The service's own tables. */
  own: string[];
}
