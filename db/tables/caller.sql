-- What every call of the schema api carries: who asks, and for which tenant. A proof of the caller covers all fields but the last.
create type app.caller as (
  slug text,
  provider text,
  subject text,
  email text,
  name text,
  missing_role text
);
comment on type app.caller is
'The caller of a request: the pair (provider, subject), and the slug of the tenant that the request names. The service has verified all of it.';
comment on column app.caller.slug is 'Null in single-tenant mode: the default tenant. Empty for an API key: the tenant of the key.';
comment on column app.caller.provider is 'The issuer of the token, jwt without one, key for an API key.';
comment on column app.caller.subject is 'The subject of the token; of an API key what control.enter_key() takes.';
comment on column app.caller.missing_role is 'The role that the caller would need to be an operator. Null: an operator.';
