import { AssertionError } from "node:assert";
import { prove } from "../audit/proof.ts";

export interface IsolationOptions {
  /** The address of the auditor's login (docs/guides/any-postgres.md), on the database that your tests use. */
  url: string;
  /** One relation, as SQL names it. Without it every relation with tenants' rows that the catalog has. */
  relation?: string;
  /** Who acts for whom, in a database that is not this service's. */
  profile?: Record<string, unknown>;
  /** The number of principals as which the proof acts on each relation. */
  sample?: number;
  /** Try writes too. They are undone, but triggers fire. */
  writes?: boolean;
  /** The login is a superuser, as in many test databases: functions that policies call run with its rights. */
  asSuperuser?: boolean;
}

/**
 * Fails unless the proof holds: each principal sees exactly the rows of its tenants, nothing without a tenant, and no write reaches
 * another's. Fails for a relation of which nothing was proved, such as a table without rows where no other has its policies. Returns
 * the number of claims that were proved.
 */
export async function assertIsolated({
  url,
  relation,
  profile,
  sample = 5,
  writes = true,
  asSuperuser = false,
}: IsolationOptions): Promise<number> {
  const claims = await prove(url, "assertIsolated()", relation ?? null, {
    sample,
    writes,
    asSuperuser,
    profile: profile ?? null,
  });
  const proved = claims.filter(({ result }) => result === "proved");
  const bad = claims.filter(({ result }) => result !== "proved");
  if (bad.length === 0 && proved.length > 0) return proved.length;
  const lines = bad.map(
    ({ relation, claim, result, detail }) =>
      `${[relation, claim].filter(Boolean).join(": ")}: ${[result, detail].filter(Boolean).join(", ")}`,
  );
  throw new AssertionError({
    message:
      lines.length > 0 ? lines.join("\n") : "Nothing was proved: the database has no relation of tenants",
    stackStartFn: assertIsolated,
  });
}
