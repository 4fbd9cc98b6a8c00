-- The functions of the sample product. The installer leaves this file out of a database without the product. By hand, remove its line from
-- db/install.sql there.
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
