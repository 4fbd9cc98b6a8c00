--! Previous: sha1:624239c0730c390ec6fe988838d9a8145a42fed2
--! Hash: sha1:a3047f371751be5bfe1dcc607575657289db04d1
--! Message: text sizes

-- Texts and JSON that tenants write have a size.
alter table app.tenants
  add constraint tenants_settings_size check (octet_length(settings::text) <= 1048576),
  add constraint tenants_registration_size check (octet_length(registration::text) <= 1048576);
alter table app.users
  add constraint users_email_length check (char_length(email) <= 320),
  add constraint users_display_name_length check (char_length(display_name) <= 255);
alter table app.boards
  add constraint boards_description_length check (char_length(description) <= 10000),
  add constraint boards_settings_size check (octet_length(settings::text) <= 1048576);
alter table app.generations
  add constraint generations_error_length check (char_length(error) <= 10000),
  add constraint generations_input_size check (octet_length(input::text) <= 1048576);
alter table app.media
  add constraint media_content_type_length check (char_length(content_type) <= 255);
alter table app.provider_configs
  add constraint provider_configs_config_size check (octet_length(config::text) <= 1048576);
alter table app.credit_transactions
  add constraint credit_transactions_description_length check (char_length(description) <= 10000);


select control.gate();
