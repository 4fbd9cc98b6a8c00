create table app.provider_configs (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  provider_name text not null constraint provider_configs_name_length check (char_length(provider_name) between 1 and 255),
  config jsonb not null default '{}' constraint provider_configs_config_is_object check (jsonb_typeof(config) = 'object')
    constraint provider_configs_config_size check (octet_length(config::text) <= 1048576),
  is_enabled boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now() constraint provider_configs_times_in_order check (updated_at >= created_at),
  primary key (tenant_id, id),
  constraint provider_configs_name_key unique (tenant_id, provider_name)
);

select app.isolate('app.provider_configs');

comment on table app.provider_configs is 'How a tenant reaches the providers that generate for it.';
comment on column app.provider_configs.provider_name is 'One configuration for each provider and tenant.';
comment on column app.provider_configs.config is 'A JSON object. It may hold secrets: no function of the service and no finding of the audit returns it.';
comment on column app.provider_configs.is_enabled is 'Whether generations of the tenant may use it.';
