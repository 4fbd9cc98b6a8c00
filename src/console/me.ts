/** Who is signed in, and what they may see. */

import type { MyTenant } from "../client/api.ts";
import { call, Refused } from "./api.ts";
import { session } from "./session.ts";

export interface Me {
  operator: boolean;
  tenants: MyTenant[];
  /** A word for the person: what the token says, unverified. */
  name: string;
}

export async function readMe(signal: AbortSignal): Promise<Me> {
  const [operator, tenants] = await Promise.all([isOperator(signal), myTenants(signal)]);
  const { claims } = session.get()!;
  const name = [claims.name, claims.email, claims.sub].find(one => typeof one === "string") as
    | string
    | undefined;
  return { operator, tenants, name: name ?? "API key" };
}

async function isOperator(signal: AbortSignal): Promise<boolean> {
  try {
    await call("getSetupStatus", undefined, { signal });
    return true;
  } catch (error) {
    if (error instanceof Refused && error.status === 403) return false;
    throw error;
  }
}

async function myTenants(signal: AbortSignal): Promise<MyTenant[]> {
  try {
    return (await call("listMyTenants", undefined, { signal })).body.tenants;
  } catch (error) {
    if (error instanceof Refused && error.status === 403) return [];
    throw error;
  }
}
