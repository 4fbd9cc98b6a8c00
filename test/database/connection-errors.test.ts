/** Error texts for an unreachable database. Errors that a real server can raise are in the tests of the commands. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type postgres from "postgres";
import { explainDatabase } from "../../src/database/connection-errors.ts";
import { isUnreachable } from "../../src/errors/network.ts";
import { StartupError } from "../../src/errors/startup-error.ts";
import { takeLock } from "../../src/migrate/lock.ts";

const ROOT = "postgres://postgres:secret@db:5432/postgres";
const OWNER = "postgres://tms_owner:secret@db:5432/tms";
const SERVICE = "postgres://tms_service:secret@db:5432/tms";

test("each connection error is one sentence with a remedy, and without a password", () => {
  const cases: [
    fault: { code?: string; routine?: string; message: string },
    url: string,
    variable: string,
    says: string,
  ][] = [
    [
      { code: "ENOTFOUND", message: "" },
      OWNER,
      "DATABASE_URL",
      "The database at db:5432 (DATABASE_URL) cannot be reached: ENOTFOUND",
    ],
    [
      { code: "CERT_HAS_EXPIRED", message: "certificate has expired" },
      OWNER,
      "DATABASE_URL",
      "The certificate of the database at db:5432 (DATABASE_URL) cannot be trusted: certificate has expired: renew it in the server, and reload its configuration (select pg_reload_conf();)",
    ],
    [
      { code: "EPIPE", message: "write EPIPE" },
      OWNER,
      "DATABASE_URL",
      "The database at db:5432 (DATABASE_URL) cannot be reached: write EPIPE",
    ],
    [
      { code: "28000", message: "no pg_hba.conf entry, no encryption" },
      OWNER,
      "DATABASE_URL",
      "The database at db:5432 refuses tms_owner's login (DATABASE_URL): no pg_hba.conf entry, no encryption: add ?sslmode=verify-full to the address",
    ],
    [
      { code: "3D000", message: "gone" },
      SERVICE,
      "SERVICE_DATABASE_URL",
      "The database tms (SERVICE_DATABASE_URL) does not exist at db:5432: npm run migrate makes it",
    ],
    [
      { code: "3D000", message: "gone" },
      OWNER,
      "DATABASE_URL",
      "The database tms (DATABASE_URL) does not exist at db:5432: create it with owner tms_owner, or set ROOT_DATABASE_URL",
    ],
    [
      { code: "42501", routine: "CheckMyDatabase", message: "keine Berechtigung für Datenbank »tms«" },
      SERVICE,
      "SERVICE_DATABASE_URL",
      "The database at db:5432 (SERVICE_DATABASE_URL) refused: keine Berechtigung für Datenbank »tms«: grant connect on database tms to tms_service;",
    ],
    [
      { message: "received invalid response: 4a" },
      SERVICE,
      "SERVICE_DATABASE_URL",
      "The database at db:5432 (SERVICE_DATABASE_URL) cannot be reached: it does not answer as Postgres does",
    ],
    ...(
      [
        [ROOT, "ROOT_DATABASE_URL", "postgres", "postgres"],
        [SERVICE, "SERVICE_DATABASE_URL", "tms", "tms_service"],
      ] as const
    ).map(([url, variable, name, login]): (typeof cases)[number] => [
      { code: "25006", message: "cannot execute GRANT ROLE" },
      url,
      variable,
      `The database at db:5432 (${variable}) refused: cannot execute GRANT ROLE: the server is a standby, or its settings make transactions read only; default_transaction_read_only may be set on the database (alter database ${name} reset default_transaction_read_only;), on ${login} or in postgresql.conf`,
    ]),
    [
      { code: "42501", message: "permission denied for table x" },
      SERVICE,
      "SERVICE_DATABASE_URL",
      "The database at db:5432 (SERVICE_DATABASE_URL) refused: permission denied for table x",
    ],
    ...(
      [
        [
          "42501",
          'must be able to SET ROLE "tms_app"',
          "run db/roles.sql as an administrator, which gives tms_owner its roles",
        ],
        [
          "42501",
          'must be member of role "tms_app"',
          "run db/roles.sql as an administrator, which gives tms_owner its roles",
        ],
        [
          "42501",
          "permission denied for schema graphile_migrate",
          "the dump was probably restored without owners or privileges; see Backup and restore in docs/operations.md",
        ],
        [
          "25006",
          "cannot execute UPDATE",
          "the server is a standby, or its settings make transactions read only; default_transaction_read_only may be set on the database (alter database tms reset default_transaction_read_only;), on tms_owner or in postgresql.conf",
        ],
        [
          "55P03",
          "canceling statement due to lock timeout",
          "somebody holds the lock for longer than lock_timeout (of migrations: 60s, in .gmrc); try again when that transaction has ended",
        ],
        [
          "57014",
          "canceling statement due to statement timeout",
          "statement_timeout may be set on the database (alter database tms reset statement_timeout;), on tms_owner or in postgresql.conf",
        ],
        ["57014", "canceling statement due to user request", "an administrator cancelled it; run it again"],
      ] as const
    ).map(([code, message, hint]): (typeof cases)[number] => [
      { code, message },
      OWNER,
      "DATABASE_URL",
      `The database at db:5432 (DATABASE_URL) refused: ${message}: ${hint}`,
    ]),
  ];
  for (const [fault, url, variable, says] of cases) {
    const told = explainDatabase(fault, url, variable);
    assert.ok(told instanceof StartupError);
    assert.equal(told.message, says);
  }
  for (const ours of [new StartupError("said already"), new TypeError("a fault of ours")])
    assert.equal(explainDatabase(ours, OWNER, "DATABASE_URL"), ours);
});

test("a database is unreachable by error codes of the system, of the drivers and of the server", () => {
  const codes = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"];
  const drivers = ["CONNECT_TIMEOUT", "CONNECTION_CLOSED", "57P01", "57P02", "57P03", "53300"];
  for (const code of [...codes, ...drivers]) assert.ok(isUnreachable({ code }), code);
  const uncoded = ["timeout expired", "timeout exceeded when trying to connect", "Connection terminated"];
  for (const message of uncoded) assert.ok(isUnreachable({ message }), message);
  for (const code of ["28P01", "57014", "57P04", "42501", "ECANCELED"])
    assert.ok(!isUnreachable({ code }), code);
});

test("a lock that a pooler keeps is reported with its process; one that another process holds now is not", async () => {
  for (const [holder, said] of [
    [7, 1],
    [8, 0],
  ] as const) {
    const lines: string[] = [];
    const answers = [[{ mine: true, pid: 7 }], [{ mine: false }], [{ pid: holder, who: "tms_owner" }]];
    const sql = (async () => answers.shift()) as unknown as postgres.Sql;
    const log = (line: string) => void lines.push(line);
    await (await takeLock(sql, { key: 1, holder: "Another", log }))();
    assert.equal(lines.filter(line => line.includes("select pg_terminate_backend(7);")).length, said);
  }
});
