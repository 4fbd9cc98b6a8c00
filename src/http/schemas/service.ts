import { Type } from "typebox";
import { Nullable, Text, Timestamp } from "./common.ts";

const Check = Type.String({
  description: "`ok`, the fault, or `unknown` while the database cannot be reached",
  examples: ["ok"],
});

const found = {
  checks: Type.Object({ database: Check, migrations: Check, isolation: Check, clock: Check }),
  last_audit: Nullable(
    Type.Object(
      {
        finished_at: Timestamp,
        age_seconds: Type.Number(),
        errors: Type.Integer(),
        warnings: Type.Integer(),
        not_run: Type.Integer({
          description: "Checks that could not run: unless 0, the audit proves nothing",
        }),
      },
      { title: "LastAudit" },
    ),
  ),
};

export const Readiness = Type.Object({ status: Type.Literal("ready"), ...found }, { title: "Readiness" });

/** An error with the results of the checks. */
export const NotReady = Type.Object(
  {
    error: Text("Service unavailable"),
    detail: Text("database: it cannot be reached"),
    request_id: Type.String(),
    status: Type.Literal("not ready"),
    ...found,
  },
  { title: "NotReady" },
);
