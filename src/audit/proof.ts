/** The proof alone, and who reads a tenant's rows. */
import { loadProfile, seed } from "./prepare.ts";
import { DEFAULTS, type Request, refuseSuperuser } from "./request.ts";
import { inSession } from "./session.ts";

export interface Claim {
  relation: string | null;
  claim: string;
  result: string;
  detail: string | null;
}

export interface Reader {
  role: string;
  login: boolean;
  reads: string;
  path: string;
}

/** Every role that can read rows of a tenant, and by which path. */
export function whoReads(
  url: string,
  what: string,
  tenant: string,
  { profile }: Pick<Request, "profile">,
): Promise<Reader[]> {
  return inSession(url, what, async (tx, { ours }) => {
    await loadProfile(tx, profile, ours);
    return [...(await tx<Reader[]>`select role, login, reads, path from pg_temp.who_reads(${tenant}::text)`)];
  });
}

/** The proof alone, a line a claim: of one table, or of all. */
export function prove(
  url: string,
  what: string,
  relation: string | null,
  asked: Partial<Request>,
): Promise<Claim[]> {
  const request = { ...DEFAULTS, ...asked };
  return inSession(url, what, async (tx, { ours, superuser }) => {
    refuseSuperuser(superuser, request);
    await loadProfile(tx, request.profile, ours);
    if (request.seed) await seed(tx);
    const claims = await tx<Claim[]>`
      select relation, claim, result, detail from pg_temp.prove(${relation}::text::regclass, ${request.sample}::int, ${request.writes}::boolean,
        ${request.asSuperuser}::boolean)`;
    return [...claims];
  });
}
