import { Type } from "typebox";
import { Nullable, Timestamp } from "./common.ts";

const Check = Type.String({ description: "`ok`, or what is wrong", examples: ["ok"] });

export const Readiness = Type.Object(
  {
    status: Type.Unsafe<string>({ enum: ["ready", "not ready"] }),
    checks: Type.Object({ database: Check, migrations: Check, isolation: Check }),
    last_audit: Nullable(
      Type.Object({
        finished_at: Timestamp,
        age_seconds: Type.Number(),
        errors: Type.Integer(),
        warnings: Type.Integer(),
      }),
    ),
  },
  { $id: "Readiness" },
);
