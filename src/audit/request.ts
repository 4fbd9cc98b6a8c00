/** What a caller asks of the audit. */
import { StartupError } from "../errors/startup-error.ts";
import type { Baseline } from "./baseline.ts";

export interface Request {
  tenant?: string | undefined;
  only?: "data" | "schema" | undefined;
  /** The number of principals of each table as which the proof acts. */
  sample: number;
  /** The proof tries to write, too; triggers fire. */
  writes: boolean;
  /** A superuser runs the policies' functions as itself. */
  asSuperuser: boolean;
  /** Rows for the tables that have none, undone like everything else. */
  seed?: boolean;
  /** Null: this service's own, or what the catalog proposes. */
  profile: Record<string, unknown> | null;
  baseline: Baseline;
}

export const DEFAULTS: Request = {
  sample: 20,
  writes: false,
  asSuperuser: false,
  profile: null,
  baseline: { vouched: [], accepted: [] },
};

/** @throws StartupError */
export function refuseSuperuser(
  superuser: boolean,
  { asSuperuser, only }: Pick<Request, "asSuperuser" | "only">,
) {
  if (asSuperuser || only === "data" || !superuser) return;
  throw new StartupError(
    "This login is a superuser: the functions in the database's policies would run as one. Use a lesser login (docs/guides/any-postgres.md), or --as-superuser where you trust them",
  );
}
