-- The tables of the sample product. Like those of any product they refer to app.tenants and app.users, and app.isolate() does the rest.
\ir tables/boards.sql
\ir tables/board_members.sql
\ir tables/generations.sql
\ir tables/media.sql
\ir tables/provider_configs.sql
\ir tables/credit_transactions.sql
