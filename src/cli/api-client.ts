/** The service's HTTP API, as the commands that need no database call it. */
import type { Tenant } from "../client/api.ts";
import {
  createClient,
  type Done,
  type Given,
  type Input,
  type Listed,
  type Name,
  Refused,
} from "../client/client.ts";
import { KINDS } from "../config/kinds.ts";
import { StartupError } from "../errors/startup-error.ts";
import { isSlug } from "../values/slug.ts";
import { readVariables } from "./owner.ts";
import { signingSecret, signToken } from "./token.ts";

export const API_EPILOGUE =
  "TENANCY_URL is the service's address (http://127.0.0.1:3000 by default), TENANCY_TOKEN the caller's token or API key.\n" +
  "Without both, the command signs an operator's token as the command token does: with SERVICE_JWT_SECRET, else with the secret in the " +
  "embedded database's data folder.";

export interface Api {
  /** @throws StartupError with the service's own words */
  call<O extends Name>(operation: O, ...input: Given<O>): Promise<Done<O>>;
  /** The entries of a list, page after page, until `limit`. `more` tells that the list goes on. */
  list<O extends Listed, T>(
    operation: O,
    input: Input<O>,
    limit: number,
    entries: (page: Done<O>) => readonly T[],
  ): Promise<{ found: T[]; more: boolean }>;
}

const LARGEST_PAGE = 1_000;

/** Operators may name any tenant, so they name the default one. For one's own tenant see openTenant(). */
export async function openApi(slug?: string): Promise<Api> {
  const { url, token, tenant, unauthorized } = await callerOf();
  const client = createClient({ url, token, tenant: slug ?? tenant });
  const told = (error: unknown): never => {
    throw error instanceof Refused ? new StartupError(wordsOf(error, url, unauthorized)) : error;
  };
  return {
    call: (operation, ...input) => client.call(operation, ...input).catch(told),
    async list<O extends Listed, T>(
      operation: O,
      input: Input<O>,
      limit: number,
      entries: (page: Done<O>) => readonly T[],
    ) {
      const found: T[] = [];
      const { query, ...rest } = input as { query?: object };
      for (let cursor: string | undefined; ; ) {
        const size = Math.min(limit - found.length, LARGEST_PAGE);
        const given = { ...rest, query: { ...query, limit: size, cursor } };
        const { body, next } = await client.page(operation, ...([given] as unknown as Given<O>)).catch(told);
        found.push(...entries(body));
        if (next === null || found.length >= limit) return { found, more: next !== null };
        cursor = next;
      }
    },
  };
}

/**
 * As a member of the tenant. A token's claim wins over the slug, and an API key has a tenant of its own: asks first which tenant answers.
 * @throws StartupError unless it is the one that is named
 */
export async function openTenant(slug: string): Promise<Api> {
  const api = await openApi(slug);
  const { tenant } = await api.call("getCurrentTenant");
  if (tenant.slug !== slug)
    throw new StartupError(`TENANCY_TOKEN is for the tenant ${tenant.slug}, not for ${slug}`);
  return api;
}

interface Caller {
  url: string;
  token: string;
  tenant: string;
  /** What a 401 means where the command signed the token itself. */
  unauthorized?: string;
}

async function callerOf(): Promise<Caller> {
  const { env } = process;
  const url = KINDS.webAddress.parse(env.TENANCY_URL || `http://127.0.0.1:${env.SERVICE_PORT || 3000}`);
  if (url === undefined) throw new StartupError(`TENANCY_URL: expected ${KINDS.webAddress.expects}`);
  // The service's addresses need not be here; its keys only where they sign.
  const tenant = readVariables(/^SERVICE_DEFAULT_TENANT_SLUG$/).defaultTenant.slug;
  if (env.TENANCY_TOKEN) return { url, token: env.TENANCY_TOKEN, tenant };
  if (env.TENANCY_URL)
    throw new StartupError("TENANCY_TOKEN, the caller's token, is missing, and TENANCY_URL is set");
  const config = readVariables(/^SERVICE_(JWT|OPERATOR)_|^SERVICE_DATA_DIR$/);
  const { secret, folder } = await signingSecret(config);
  const token = signToken(config, secret, { sub: "tenancy", operator: true, expiresIn: 60 });
  const unauthorized = folder
    ? `The service at ${url} was not started from ${folder}, whose secret signed the token: SERVICE_DATA_DIR names another folder, TENANCY_TOKEN a token`
    : `The service at ${url} refuses a token that SERVICE_JWT_SECRET signed: set its own SERVICE_JWT_* variables, or TENANCY_TOKEN`;
  return { url, token, tenant, unauthorized };
}

function wordsOf(refused: Refused, url: string, unauthorized?: string): string {
  const { status, problem, retryAfter, cause } = refused;
  if (status === 0) {
    const { message, cause: of } = cause as Error;
    const { code = message } = (of ?? {}) as { code?: string };
    return `${url} cannot be reached (${code}): TENANCY_URL is the service's address`;
  }
  if (status === 401 && unauthorized !== undefined) return unauthorized;
  const { error, detail, errors, request_id } = problem;
  const fields = errors?.map(({ field, message }) => `${field} ${message}`).join("; ");
  return [
    `${fields || detail} (${status} ${error})`,
    retryAfter && `try again in ${retryAfter} s`,
    request_id && `request ${request_id}`,
  ]
    .filter(Boolean)
    .join(", ");
}

/** For operators: a tenant, deleted or not. */
export async function tenantWith(api: Pick<Api, "call">, slug: string): Promise<Tenant | undefined> {
  for (const deleted of [{}, { status: "deleted" as const }]) {
    const { tenants } = await api.call("listTenants", { query: { slug, limit: 1, ...deleted } });
    if (tenants[0]) return tenants[0];
  }
  return undefined;
}

/** For operators. @throws StartupError if no tenant has the slug */
export async function findTenant(api: Api, slug: string): Promise<Tenant> {
  if (!isSlug(slug))
    throw new StartupError(`A slug has ${KINDS.slug.expects}, and ${JSON.stringify(slug)} is none`);
  const found = await tenantWith(api, slug);
  if (!found) throw new StartupError(`There is no tenant with the slug ${slug}`);
  return found;
}
