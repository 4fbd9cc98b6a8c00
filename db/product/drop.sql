-- Takes the sample product out of a database, for good: tenancy migrate --drop-sample-product. It drops nothing that is built on it.
drop view audit.board_owner_as_member, audit.board_owner_outside_tenant, audit.board_role_unknown, audit.completed_without_media,
  audit.content_not_an_object, audit.content_times_out_of_order, audit.content_value_unknown, audit.credit_balance,
  audit.generation_state, audit.provider_twice_in_tenant, audit.removed_member_on_board, audit.storage_of_other_tenant,
  audit.time_in_future;
drop function api.list_boards(app.caller, int, text), app.board_json(uuid, text, text, uuid, text, text),
  app.create_sample_data(uuid, uuid), app.sample_product();
drop table app.credit_transactions, app.provider_configs, app.media, app.generations, app.board_members, app.boards;
