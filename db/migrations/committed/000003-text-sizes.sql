--! Previous: sha1:624239c0730c390ec6fe988838d9a8145a42fed2
--! Hash: sha1:f6e21768de2d60e157e588ba8cc2a69f2872c545
--! Message: text sizes

-- Texts and JSON that tenants write have a size.
alter table app.tenants
  add constraint tenants_settings_size check (octet_length(settings::text) <= 1048576) not valid,
  add constraint tenants_registration_size check (octet_length(registration::text) <= 1048576) not valid;
alter table app.users
  add constraint users_email_length check (char_length(email) <= 320) not valid,
  add constraint users_display_name_length check (char_length(display_name) <= 255) not valid;
alter table app.boards
  add constraint boards_description_length check (char_length(description) <= 10000) not valid,
  add constraint boards_settings_size check (octet_length(settings::text) <= 1048576) not valid;
alter table app.generations
  add constraint generations_error_length check (char_length(error) <= 10000) not valid,
  add constraint generations_input_size check (octet_length(input::text) <= 1048576) not valid;
alter table app.media
  add constraint media_content_type_length check (char_length(content_type) <= 255) not valid;
alter table app.provider_configs
  add constraint provider_configs_config_size check (octet_length(config::text) <= 1048576) not valid;
alter table app.credit_transactions
  add constraint credit_transactions_description_length check (char_length(description) <= 10000) not valid;

alter table app.tenants validate constraint tenants_settings_size, validate constraint tenants_registration_size;
alter table app.users validate constraint users_email_length, validate constraint users_display_name_length;
alter table app.boards validate constraint boards_description_length, validate constraint boards_settings_size;
alter table app.generations validate constraint generations_error_length, validate constraint generations_input_size;
alter table app.media validate constraint media_content_type_length;
alter table app.provider_configs validate constraint provider_configs_config_size;
alter table app.credit_transactions validate constraint credit_transactions_description_length;

select control.gate();
