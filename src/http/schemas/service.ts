import { Type } from "typebox";
import { Nullable, Text, Timestamp } from "./common.ts";

const Check = Type.String({
  description: "`ok`, what is wrong, or `unknown` while the database cannot be asked",
  examples: ["ok"],
});

const found = {
  checks: Type.Object({ database: Check, migrations: Check, isolation: Check }),
  last_audit: Nullable(
    Type.Object(
      {
        finished_at: Timestamp,
        age_seconds: Type.Number(),
        errors: Type.Integer(),
        warnings: Type.Integer(),
        not_run: Type.Integer({
          description: "Checks that could not run: with one of them the audit proves nothing",
        }),
      },
      { title: "LastAudit" },
    ),
  ),
};

export const Readiness = Type.Object({ status: Type.Literal("ready"), ...found }, { title: "Readiness" });

/** An error like any other, with what was checked. */
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
