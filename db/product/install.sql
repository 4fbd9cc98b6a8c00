-- The functions and checks of the sample product. The installer leaves this file out of a database without the product. By hand, remove
-- its line from db/install.sql there.
do $$
begin
  if to_regclass('app.boards') is null then
    raise exception using errcode = 'object_not_in_prerequisite_state',
      message = 'This database has no sample product: leave out the line \ir product/install.sql of db/install.sql';
  end if;
end
$$;
\ir functions/app/sample_product.sql
\ir functions/app/board_json.sql
\ir functions/app/create_sample_data.sql
\ir functions/api/list_boards.sql

\ir checks/board_owner_as_member.sql
\ir checks/board_owner_outside_tenant.sql
\ir checks/board_role_unknown.sql
\ir checks/completed_without_media.sql
\ir checks/content_not_an_object.sql
\ir checks/content_times_out_of_order.sql
\ir checks/content_value_unknown.sql
\ir checks/credit_balance.sql
\ir checks/generation_state.sql
\ir checks/provider_twice_in_tenant.sql
\ir checks/removed_member_on_board.sql
\ir checks/storage_of_other_tenant.sql
\ir checks/time_in_future.sql
