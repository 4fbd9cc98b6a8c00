/** Who is signed in, and what they may see. */
import type { MyTenant, MyTenants } from "../client/api.ts";
import { call, Refused } from "./api.ts";
import { session } from "./session.ts";

export interface Me {
  operator: boolean;
  tenants: MyTenant[];
  /** The one tenant that their token lets them work in, where its claims win over the chooser. */
  only: MyTenants["token_tenant"];
  /** A word for the person: what the token says, unverified. */
  name: string;
}

export async function readMe(signal: AbortSignal): Promise<Me> {
  const { operator, tenants, token_tenant: only } = await read(signal);
  const { claims } = session.get()!;
  const name = [claims.name, claims.email, claims.sub].find(one => typeof one === "string") as
    | string
    | undefined;
  return { operator, tenants, only, name: name ?? "API key" };
}

async function read(signal: AbortSignal): Promise<MyTenants> {
  try {
    return (await call("listMyTenants", undefined, { signal })).body;
  } catch (error) {
    // A claim that no tenant can have as its slug: no request with this token gets in anywhere.
    if (!(error instanceof Refused) || error.status !== 403) throw error;
    const { tenant } = session.get()!.claims;
    const only = typeof tenant === "string" ? ({ slug: tenant, source: "tenant" } as const) : null;
    return { operator: false, tenants: [], total_count: 0, token_tenant: only };
  }
}

/** A role with its article: "You are a member". */
export const aRole = (role: string): string => `${role === "member" ? "a" : "an"} ${role}`;

const CLAIMS: Record<string, string> = {
  configured_claim: "a claim of it",
  tenant: "its claim “tenant”",
  organization: "its organization",
  namespace: "its group",
  email: "the domain of its e-mail address",
};

/** What names the tenant in somebody's sign-in, in words. */
export const namedBy = (source: string): string => CLAIMS[source] ?? "a claim of it";
