/** Shared by tests of SQL functions: roles in a transaction, and calls as the service makes them. */
import assert from "node:assert/strict";
import type postgres from "postgres";
import { rounds } from "../harness.ts";

/** How often a test repeats a race. */
export const ROUNDS = rounds(8, 40);

export type Transaction = postgres.TransactionSql;

/** Runs as a role, in a savepoint: a failure rolls back to it, role and tenant included. */
export async function as<T>(tx: Transaction, role: string, fn: (sp: Transaction) => Promise<T>): Promise<T> {
  return (await tx.savepoint(async sp => {
    await sp.unsafe(`set local role ${role}`);
    const value = await fn(sp);
    await sp.unsafe("set local role none");
    return value;
  })) as T;
}

export interface Caller {
  /** null: single-tenant mode. */
  slug: string | null;
  provider?: string;
  subject?: string;
  operator?: boolean;
}

// biome-ignore lint/suspicious/noExplicitAny: rows of every function
type Answer = any;

const callerArguments = ({ slug, provider = "jwt", subject = "ann", operator = false }: Caller) => [
  slug,
  provider,
  subject,
  `${subject}@example.com`,
  null,
  operator ? null : "tenant-operator",
];

/** Of so many values; the first six are the fields of a caller. */
export const placesOf = (values: number, hasCaller = true): string => {
  const places = Array.from({ length: values }, (_, i) => `$${i + 1}`);
  return hasCaller
    ? [`row(${places.slice(0, 6).join(", ")})`, ...places.slice(6)].join(", ")
    : places.join(", ");
};

/** The one row of an `api` function, called by the service's role for a caller: `body` is its first column. */
export const call = (
  tx: Transaction,
  name: string,
  caller: Caller | readonly (string | null)[] | null,
  ...values: unknown[]
): Promise<Answer> =>
  as(tx, "tms_service", async sp => {
    const fields = caller && "slug" in caller ? callerArguments(caller) : (caller ?? []);
    const all = [...fields, ...values];
    const places = placesOf(all.length, caller !== null);
    const [row] = await sp.unsafe(`select * from api.${name}(${places}) as f (body)`, all as never[]);
    // Some functions return JSON as text.
    return typeof row?.body === "string" && row.body !== ""
      ? Object.assign(row, { body: JSON.parse(row.body) })
      : row;
  });

/** An operator, who names any tenant. */
export const operator = { slug: "nowhere", subject: "op", operator: true };

/** A tenant that this operator creates in multi-tenant mode. */
export const createTenant = (
  tx: Transaction,
  slug: string,
  { settings = null as object | null, sample = false, key = null as string | null } = {},
) => call(tx, "create_tenant", operator, `The ${slug}`, slug, settings, sample, false, key, null);

/** Fails unless the promise rejects with this status, error and detail. */
export async function refused(promise: Promise<unknown>, status: number, error: string, detail: string) {
  const outcome = await promise.then(
    value => ({ code: "nothing was raised", hint: JSON.stringify(value), message: "" }),
    ({ code, hint, message }) => ({ code, hint, message }),
  );
  assert.deepEqual(outcome, { code: `TM${status}`, hint: error, message: detail });
}

/** How many rows of a table `work` reads. */
export async function rowsRead(tx: Transaction, table: string, work: () => Promise<unknown>) {
  const soFar = async () => {
    const [row] = await tx<{ rows: number }[]>`
      select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relid = ${table}::regclass`;
    return row!.rows;
  };
  const before = await soFar();
  await work();
  return (await soFar()) - before;
}

/** The SQLSTATE that a statement ends with; "none" when it does not fail. */
export const sqlstate = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "none",
    error => error.code as string,
  );
