/** The SQLSTATEs that this code compares with, by the names of Postgres (appendix A of its manual). */
export const SQLSTATE = {
  feature_not_supported: "0A000",
  invalid_parameter_value: "22023",
  unique_violation: "23505",
  read_only_sql_transaction: "25006",
  idle_in_transaction_session_timeout: "25P03",
  transaction_timeout: "25P04",
  invalid_sql_statement_name: "26000",
  invalid_authorization_specification: "28000",
  invalid_password: "28P01",
  dependent_objects_still_exist: "2BP01",
  invalid_catalog_name: "3D000",
  invalid_schema_name: "3F000",
  serialization_failure: "40001",
  deadlock_detected: "40P01",
  insufficient_privilege: "42501",
  undefined_function: "42883",
  undefined_table: "42P01",
  duplicate_database: "42P04",
  duplicate_prepared_statement: "42P05",
  object_not_in_prerequisite_state: "55000",
  lock_not_available: "55P03",
  query_canceled: "57014",
  no_data_found: "P0002",
} as const;

/** Whether an error has one of these SQLSTATEs. */
export const hasState = (error: unknown, ...names: (keyof typeof SQLSTATE)[]): boolean =>
  names.some(name => SQLSTATE[name] === (error as { code?: unknown } | null | undefined)?.code);
