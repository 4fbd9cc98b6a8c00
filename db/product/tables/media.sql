create table app.media (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  generation_id uuid not null,
  storage_url text not null constraint media_storage_url_length check (char_length(storage_url) between 1 and 2048),
  content_type text constraint media_content_type_length check (char_length(content_type) <= 255),
  size_bytes bigint constraint media_size_not_negative check (size_bytes >= 0),
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  constraint media_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id) on delete cascade
);

create index media_by_generation on app.media (tenant_id, generation_id);
create index media_named_otherwise on app.media (tenant_id) where position(tenant_id::text in storage_url) = 0;

select app.isolate('app.media');

comment on table app.media is 'The files of a generation. The bytes are stored elsewhere.';
comment on column app.media.storage_url is 'The URL of the bytes, 1 to 2048 characters. A URL that contains a tenant id contains the id of its own tenant.';
comment on column app.media.content_type is 'The media type of the bytes (RFC 6838).';
comment on column app.media.size_bytes is 'Bytes; null where unknown.';
comment on index app.media_named_otherwise is 'Media whose URL does not contain the id of their tenant; the audit reads these alone.';
