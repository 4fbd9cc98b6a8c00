-- The caller enters the tenant first; row-level security admits only its rows. p_tenant_id is an argument because Citus uses it to
-- send the call to the tenant's worker. Ids are made beforehand because Citus refuses an INSERT that takes rows from another statement.
set local role tms_app;
create or replace function app.create_sample_data(p_tenant_id uuid, p_user_id uuid)
returns void
language plpgsql
volatile
security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_board_id constant uuid := gen_random_uuid();
  v_image_id constant uuid := gen_random_uuid();
  v_text_id constant uuid := gen_random_uuid();
  v_audio_id constant uuid := gen_random_uuid();
begin
  insert into app.boards (tenant_id, id, owner_id, title, description)
  values (p_tenant_id, v_board_id, p_user_id, 'Welcome board', 'Sample content; delete it when you are done looking.');

  insert into app.generations (tenant_id, id, board_id, user_id, artifact_type, status, input, completed_at)
  values
    (p_tenant_id, v_image_id, v_board_id, p_user_id, 'image', 'completed', '{"prompt": "A lighthouse at dusk"}', clock_timestamp()),
    (p_tenant_id, v_text_id, v_board_id, p_user_id, 'text', 'completed', '{"prompt": "Three names for a lighthouse"}', clock_timestamp()),
    (p_tenant_id, v_audio_id, v_board_id, p_user_id, 'audio', 'completed', '{"prompt": "Waves under a lighthouse"}', clock_timestamp());

  insert into app.media (tenant_id, generation_id, storage_url, content_type, size_bytes)
  values
    (p_tenant_id, v_image_id, format('sample://%s/image', p_tenant_id), 'image/png', 1024),
    (p_tenant_id, v_text_id, format('sample://%s/text', p_tenant_id), 'text/plain', 1024),
    (p_tenant_id, v_audio_id, format('sample://%s/audio', p_tenant_id), 'audio/ogg', 1024);

  insert into app.credit_transactions (tenant_id, user_id, generation_id, type, amount, balance_after, description, created_at)
  values
    (p_tenant_id, p_user_id, null, 'grant', 100, 100, 'Welcome credits', now()),
    (p_tenant_id, p_user_id, v_image_id, 'usage', -10, 90, 'Sample generation', now() + interval '1 microsecond');

  insert into app.provider_configs (tenant_id, provider_name, config, is_enabled)
  values (p_tenant_id, 'sample-provider', '{"endpoint": "https://provider.example"}', false);
end
$$;
comment on function app.create_sample_data(uuid, uuid) is
$$Adds sample rows, owned by a user, to the tenant of the transaction: one board, three generations with media, a credit grant and its
use, one disabled provider configuration.$$;
revoke all on function app.create_sample_data(uuid, uuid) from public;
grant execute on function app.create_sample_data(uuid, uuid) to tms_registrar;
reset role;
