create table audit.profile (
  one boolean primary key default true check (one),
  tenants regclass,
  tenant_key name,
  tenant_columns name[] not null default '{}',
  per_table jsonb not null default '{}' check (jsonb_typeof(per_table) = 'object'),
  bookkeeping name[] not null default '{}',
  request_roles name[] not null,
  principals text not null,
  sees_all name[] not null default '{}',
  trusted_owners name[] not null default '{}',
  sees_less boolean not null default false,
  isolate text,
  extra_checks name[] not null default '{}',
  check ((tenants is null) = (tenant_key is null))
);
comment on table audit.profile is
  'What the audit must be told of this database, in one row. audit.propose() reads a proposal from the catalog.';
comment on column audit.profile.tenants is 'The tenants'' table: one row a tenant. Null: there is none.';
comment on column audit.profile.tenant_key is 'The column of the tenants'' table that names a tenant, and that other tables refer to.';
comment on column audit.profile.tenant_columns is
  'A column of one of these names says whose a row is. Where a table has several, the first of this list counts.';
comment on column audit.profile.per_table is
$$Tables that differ: {"crm.orders": "org"}, this column says whose a row is; {"crm.countries": null}, its rows are no tenant's.
Tables are named with their schema, quoted where SQL quotes them.$$;
comment on column audit.profile.bookkeeping is
  'Schemas whose rows are about tenants and are no tenant''s: an event log, the audit''s results. Requests have no business there.';
comment on column audit.profile.request_roles is 'The roles that requests of tenants act as, the login of the application too.';
comment on column audit.profile.principals is
$$A query of three columns: principal text, a name for messages; enter text[], the statements that make a session be this principal;
tenants text[], the keys of the tenants that it is entitled to. Entitled to '{}' is: nothing. The proof becomes each of a sample of them.
Name tables in it with their schema.$$;
comment on column audit.profile.sees_all is 'Roles that may see every tenant, by intention.';
comment on column audit.profile.trusted_owners is
  'Owners of tables, and of functions that are believed. Empty: any that is no request role.';
comment on column audit.profile.sees_less is
  'Whether policies also narrow within a tenant, by member or by role. Then a principal that sees fewer rows is no finding.';
comment on column audit.profile.isolate is
  'What isolates a table here, a format string with %L for its name; null: alter table and policies.';
comment on column audit.profile.extra_checks is 'Schemas with checks of one''s own: views of the same columns as the audit''s checks.';
