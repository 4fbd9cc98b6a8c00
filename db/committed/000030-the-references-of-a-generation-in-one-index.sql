--! Previous: sha1:d9c46532e785cc06ec42f2939c435b40133b50ad
--! Hash: sha1:8c92c74d3c04f9da6b2a3c2be676cbfdc287ac28
--! Message: the references of a generation in one index

-- The few pairs of a board and who generates on it, in the order of the boards: the audit follows both references of a generation
-- by one reading of it. It takes the place of generations_by_board, which the next migration drops: dropped here, behind the lock that
-- holds writers, it could wait for one who has read.
-- In a block, which Citus is shown statement by statement: it sends each to the shards as it is told it.
do $$
begin
  create index if not exists generations_by_board_and_user on app.generations (tenant_id, board_id, user_id);
  comment on index app.generations_by_board_and_user is 'Those of a board, and who generated on which board.';
end
$$;
