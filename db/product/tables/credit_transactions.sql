create table app.credit_transactions (
  tenant_id uuid not null,
  id uuid not null default gen_random_uuid(),
  user_id uuid not null,
  generation_id uuid,
  type text not null constraint credit_transactions_type_length check (char_length(type) between 1 and 50),
  amount bigint not null,
  balance_after bigint not null,
  description text constraint credit_transactions_description_length check (char_length(description) <= 10000),
  -- Not now(): the order of a ledger is (created_at, id), so two rows of one transaction need two times.
  created_at timestamptz not null default clock_timestamp(),
  primary key (tenant_id, id),
  constraint credit_transactions_user foreign key (tenant_id, user_id) references app.users (tenant_id, id),
  constraint credit_transactions_generation foreign key (tenant_id, generation_id) references app.generations (tenant_id, id)
);

-- Includes the sums: a ledger is read, and audited, from the index alone.
create index credit_transactions_ledger on app.credit_transactions (tenant_id, user_id, created_at, id) include (amount, balance_after);
create index credit_transactions_by_generation on app.credit_transactions (tenant_id, generation_id);

select app.isolate('app.credit_transactions');

comment on table app.credit_transactions is
  'A credit ledger for each user. balance_after is the balance before the row plus amount, in the order (created_at, id).';
comment on column app.credit_transactions.user_id is 'The owner of the ledger.';
comment on column app.credit_transactions.generation_id is 'The generation that was paid for; null for a grant.';
comment on column app.credit_transactions.type is 'The reason: grant, usage, refund, …';
comment on column app.credit_transactions.amount is 'Credits; spent credits are negative.';
comment on column app.credit_transactions.balance_after is 'Credits: the balance before this row plus its amount.';
