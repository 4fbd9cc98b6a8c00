import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import pg from "pg";
import { BY_SQLSTATE, BY_STATUS, Problem, toProblem } from "../../src/errors/errors.ts";
import { type Example, PROBLEMS, TOKEN_REASONS } from "../../src/errors/problems.ts";

const root = path.resolve(import.meta.dirname, "../..");
const page = readFileSync(path.join(root, "docs/reference/errors.md"), "utf8");

/** The rows of the table under a heading of docs/reference/errors.md, cell by cell. */
function table(heading: string): string[][] {
  const section = page.split(/^## /m).find(text => text.startsWith(heading));
  assert.ok(section, `docs/reference/errors.md has no section "${heading}"`);
  const rows = section.split("\n").filter(line => line.startsWith("| "));
  return rows.slice(2).map(line =>
    line
      .slice(2, -2)
      .split(" | ")
      .map(cell =>
        cell
          .trim()
          .replaceAll("\\", "")
          .replace(/^`(.*)`$/, "$1"),
      ),
  );
}

/** The rows without their last cell, which must say when the error happens. */
const told = (rows: string[][]) => {
  for (const row of rows) assert.ok(row.at(-1)!.length > 5, `${row[0]} does not say when`);
  return rows.map(row => row.slice(0, -1));
};

test("docs/reference/errors.md lists every refusal, in the words of the code", () => {
  const expected = Object.entries<Example>(PROBLEMS).map(([reason, [status, error, detail, extra = {}]]) => [
    reason,
    String(status),
    error,
    detail,
    Object.keys(extra).join(", "),
  ]);
  assert.deepEqual(told(table("What a request can be refused with")), expected);
});

test("docs/reference/errors.md lists every refusal of a token, of HTTP itself, and every SQLSTATE", () => {
  assert.deepEqual(table("Why a token is refused"), Object.entries(TOKEN_REASONS));
  assert.deepEqual(
    told(table("What HTTP itself")),
    Object.values(BY_STATUS).map(([status, ...rest]) => [String(status), ...rest]),
  );
  // An object puts keys that look like numbers first, so sort the rows of both by code.
  const byCode = (rows: string[][]) => rows.sort(([a], [b]) => a!.localeCompare(b!));
  const expected = Object.entries(BY_SQLSTATE).map(([code, [status, ...rest]]) => [
    code,
    String(status),
    ...rest,
  ]);
  assert.deepEqual(byCode(told(table("From SQLSTATE"))), byCode(expected));
});

test("every refusal that a SQL function raises is on the page, with its status, error and detail", () => {
  const sources = ["db/functions", "db/product/functions"].flatMap(folder =>
    readdirSync(path.join(root, folder), { recursive: true, encoding: "utf8" })
      .filter(name => name.endsWith(".sql"))
      .map(name => path.join(root, folder, name)),
  );
  const calls = sources.flatMap(name => [
    ...readFileSync(name, "utf8").matchAll(
      /perform app\.refuse\((\d+), '([^']+)',\s+(?:format\()?'((?:[^']|'')+)'[^;]*?,\s+'(\w+)'(?:,|\))/g,
    ),
  ]);
  const count = sources.flatMap(name => [
    ...readFileSync(name, "utf8").matchAll(/perform app\.refuse\(/g),
  ]).length;
  assert.ok(count > 15);
  assert.equal(calls.length, count, "a call of app.refuse() is written in a way this test cannot read");
  for (const [, status, error, format, name] of calls) {
    const problem = (PROBLEMS as Record<string, Example>)[name!];
    assert.ok(problem, `src/errors/problems.ts does not know ${name}`);
    assert.deepEqual([String(problem[0]), problem[1]], [status, error], name);
    const pattern = format!
      .replaceAll("''", "'")
      .replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
      .replaceAll("%s", ".+");
    assert.match(problem[2], new RegExp(`^${pattern}$`), name);
  }
});

const raised = (code: string, fields: object = {}) =>
  Object.assign(new pg.DatabaseError("Connection terminated by secret_table", 9, "error"), {
    code,
    ...fields,
  });

test("an error of Postgres maps by its SQLSTATE, never by its message, and the message is not sent", () => {
  for (const [prefix, [status, error, detail]] of Object.entries(BY_SQLSTATE)) {
    const found = toProblem(raised(prefix.padEnd(5, "0")));
    assert.deepEqual([found?.status, found?.error, found?.message], [status, error, detail], prefix);
  }
  for (const code of ["42P01", "42501", "XX000", "P0001", "0A000", "54001"])
    assert.equal(toProblem(raised(code)), undefined, code);
  const own = toProblem(
    raised("TM404", {
      message: "Tenant with ID ECONNRESET not found",
      hint: "Tenant not found",
      detail: '{"a":1}',
    }),
  );
  assert.deepEqual(
    [own?.status, own?.error, own?.message, own?.extra],
    [404, "Tenant not found", "Tenant with ID ECONNRESET not found", { a: 1 }],
  );
});

test("a TMnnn error raised without app.refuse() keeps its status and needs no JSON; other statuses than 4xx and 5xx are 500", () => {
  const own = (code: string, detail?: string) =>
    toProblem(raised(code, { message: "No seat is left", detail }));
  for (const detail of [undefined, "", "Key (email)=(a@b.c) is there", "null", '"text"', "[1]", "7"]) {
    const found = own("TM409", detail);
    assert.deepEqual([found?.status, found?.message, found?.extra], [409, "No seat is left", {}], detail);
  }
  for (const code of ["TM200", "TM304", "TM600", "TM999"]) assert.equal(own(code), undefined, code);
});

test("a constraint violated in a race answers like the check before it", () => {
  assert.equal(
    toProblem(raised("23505", { constraint: "tenants_slug_key" }))?.message,
    "A tenant with this slug already exists",
  );
  assert.equal(
    toProblem(raised("23505", { constraint: "users_tenant_identity_key" }))?.message,
    "This identity is already a member of the tenant",
  );
});

test("a constraint that Citus names only in the message answers alike, and no other text counts as one", () => {
  const message = (name: string) =>
    `insert or update on table "users_102027" violates foreign key constraint "${name}"`;
  assert.equal(toProblem(raised("23503", { message: message("users_tenant_id_fkey_102027") }))?.status, 403);
  assert.equal(
    toProblem(raised("23503", { message: message("my_users_tenant_id_fkey_102027") }))?.status,
    422,
  );
  const named = { constraint: "mine", message: message("users_tenant_id_fkey_102027") };
  assert.equal(toProblem(raised("23503", named))?.status, 422);
  assert.equal(toProblem(raised("XX000", { message: message("users_tenant_id_fkey_102027") })), undefined);
});

test("an error of the framework keeps a 4xx status; any other is 500", () => {
  const framework = (statusCode: number) => toProblem(Object.assign(new Error("secret"), { statusCode }));
  const [, error, detail] = BY_STATUS[400]!;
  assert.deepEqual(framework(418), new Problem(418, error, detail));
  for (const status of [500, 502]) assert.equal(framework(status), undefined);
});

test("a connection that is lost without an SQLSTATE is 503", () => {
  for (const code of [
    "ECONNREFUSED",
    "ECONNRESET",
    "EPIPE",
    "ENOTFOUND",
    "ETIMEDOUT",
    "EHOSTUNREACH",
    "EADDRNOTAVAIL", // no port is left to connect from
    "EMFILE",
    "EAI_AGAIN",
    "CERT_HAS_EXPIRED", // and what else a server's certificate can lack
    "ERR_TLS_CERT_ALTNAME_INVALID",
    "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
    "DEPTH_ZERO_SELF_SIGNED_CERT",
    "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION",
  ])
    assert.equal(toProblem(Object.assign(new Error("x"), { code }))?.status, 503, code);
  for (const message of [
    "timeout exceeded when trying to connect",
    "Connection terminated unexpectedly",
    "Query read timeout",
    "Client has encountered a connection error and is not queryable",
    "Cannot use a pool after calling end on the pool",
    "The server does not support SSL connections",
    "There was an error establishing an SSL connection",
    "received invalid response: 48",
  ])
    assert.equal(toProblem(new Error(message))?.status, 503, message);
  assert.equal(toProblem(new TypeError("x is not a function")), undefined);
  assert.equal(toProblem("a string"), undefined);
});
