/** The people and the tenants of the demo. Each start puts right what an earlier one left. */
import { runAudit } from "../audit/run.ts";
import type { Register } from "../client/api.ts";
import { type Client, Refused } from "../client/client.ts";
import { onConnection } from "../database/command-connection.ts";
import { StartupError } from "../errors/startup-error.ts";
import { tenantWith } from "./api-client.ts";
import type { Running } from "./start.ts";

export const MEMBERS = [
  { variable: "ALICE", sub: "alice", slug: "acme", organization: "Acme" },
  { variable: "BOB", sub: "bob", slug: "globex", organization: "Globex" },
] as const;

interface Person extends Omit<Partial<Register>, "organization_name" | "organization_slug" | "admin_email"> {
  sub: string;
  slug: string;
  organization: string;
}

export const NEWCOMER: Person = {
  sub: "dana",
  slug: "vandelay",
  organization: "Vandelay Industries",
  admin_name: "Dana Vandelay",
  use_case: "Pictures of what we import, and of what we export",
  organization_size: "small",
};

/** Fails with the service's own words. */
const must = <T>(what: string, asked: Promise<T>): Promise<T> =>
  asked.catch((error: unknown) => {
    throw error instanceof Refused ? new StartupError(`The demo could not ${what}: ${error.message}`) : error;
  });

const find = (operator: Client, slug: string) => must(`look for ${slug}`, tenantWith(operator, slug));

/** Registers a person's organization. It waits for an operator's approval. */
const register = (person: Client, { slug, organization, sub, ...more }: Person) =>
  must(
    `register ${organization}`,
    person.call("registerTenant", {
      body: {
        organization_name: organization,
        organization_slug: slug,
        admin_email: `${sub}@${slug}.example`,
        ...more,
      },
    }),
  );

/** What makes a tenant active, by its status. */
const REPAIRS = [
  ["deleted", "restore"],
  ["suspended", "resume"],
  ["pending", "approve"],
] as const;

/** Registers the member's organization and approves it, or puts an earlier demo's right and prints what it did. */
export async function ensureTenant(operator: Client, member: Client, { sub, slug, organization }: Person) {
  const was = await find(operator, slug);
  let { tenant_id, status } = was ?? (await register(member, { sub, slug, organization }));
  const params = { tenant_id };
  for (const [from, repair] of REPAIRS) {
    if (status !== from) continue;
    const asked = operator.call(`${repair}Tenant` as const, { params });
    ({ status } = await must(`${repair} ${slug}`, asked));
    if (was) console.log(`The tenant ${slug} was ${from}; the demo ${repair}d it.`);
  }
  const current = await member("getCurrentTenant");
  const membership = current.status === 200 ? current.body.membership : undefined;
  if (membership?.role === "owner") return;
  const body = { role: "owner" } as const;
  const asked = membership
    ? operator.call("changeTenantMember", { params: { ...params, user_id: membership.user_id }, body })
    : operator.call("addTenantMember", { params, body: { auth_subject: sub, ...body } });
  await must(`make ${sub} an owner of ${slug}`, asked);
  console.log(
    `${sub} was ${membership ? `${membership.role} of` : "not in"} ${slug}, and is an owner again.`,
  );
}

/** So that there is something to approve. Returns whether it waits. */
export async function ensureNewcomer(operator: Client, newcomer: Client): Promise<boolean> {
  const { status } = (await find(operator, NEWCOMER.slug)) ?? (await register(newcomer, NEWCOMER));
  return status === "pending";
}

export const databaseOf = (url: string) => Object.assign(new URL(url), { pathname: "/tms" }).href;

/** Each demo may make all requests of an hour again: earlier ones may have used them up. */
export const forgetLimits = ({ urls }: Running) =>
  onConnection(databaseOf(urls!.root), sql => sql`delete from control.rate_limits`);

/** So that the console has a result to show. Silent: it goes on while the printed commands are tried. */
export async function ensureAudit({ urls }: Running) {
  const url = databaseOf(urls!.owner);
  const [last] = await onConnection(
    url,
    sql => sql`select from audit.runs where finished_at is not null limit 1`,
  );
  if (!last) await runAudit(url, "DATABASE_URL", { sample: 10 });
}
