/** The service's HTTP API, as the commands that need no database call it. */
import { loadConfig } from "../config/config.ts";
import { KINDS } from "../config/kinds.ts";
import { embeddedJwtSecret } from "../embedded/embedded.ts";
import { StartupError } from "../errors/startup-error.ts";
import { isSlug } from "../values/slug.ts";
import { begunFolder } from "./owner.ts";
import { signToken } from "./token.ts";

export const API_EPILOGUE =
  "TENANCY_URL is the service's address (http://127.0.0.1:3000 by default), TENANCY_TOKEN the caller's token or API key.\n" +
  "Without both, the command signs an operator's token with the secret in the embedded database's data folder.";

type Json = Record<string, unknown>;

export interface Asked {
  method?: "GET" | "POST" | "PATCH" | "DELETE";
  body?: Json | undefined;
  query?: Record<string, string | undefined>;
}

export interface Api {
  /** @throws StartupError with the service's own words */
  call<T = Json>(path: string, asked?: Asked): Promise<T>;
  /** The entries of a list, page after page, until `limit`. `more` tells that the list goes on. */
  list<T>(
    path: string,
    field: string,
    limit: number,
    query?: Asked["query"],
  ): Promise<{ found: T[]; more: boolean }>;
}

/** Operators may name any tenant, so they name the default one. For one's own tenant see openTenant(). */
export async function openApi(slug?: string): Promise<Api> {
  const { url, token, tenant } = await callerOf(process.env);
  const headers = { authorization: `Bearer ${token}`, "x-tenant": slug ?? tenant };
  const send = async (address: string, { method = "GET", body }: Asked): Promise<Response> => {
    const content = body && {
      body: JSON.stringify(body),
      headers: { ...headers, "content-type": "application/json" },
    };
    const response = await fetch(address, { method, headers, ...content }).catch((error: Error) => {
      const { code = error.message } = (error.cause ?? {}) as { code?: string };
      throw new StartupError(`${url} cannot be reached (${code}): TENANCY_URL is the service's address`);
    });
    if (!response.ok) throw new StartupError(await refusalOf(response, url));
    return response;
  };
  const addressOf = (path: string, query: Asked["query"] = {}) => {
    const given = Object.entries(query).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    );
    return `${url}/api/${path}${given.length > 0 ? `?${new URLSearchParams(given as [string, string][]).toString()}` : ""}`;
  };
  return {
    async call<T>(path: string, asked: Asked = {}) {
      return (await (await send(addressOf(path, asked.query), asked)).json()) as T;
    },
    async list<T>(path: string, field: string, limit: number, query: Asked["query"] = {}) {
      const found: T[] = [];
      let next: string | undefined = addressOf(path, { ...query, limit: String(Math.min(limit, 1000)) });
      while (next !== undefined && found.length < limit) {
        const response: Response = await send(next, {});
        found.push(...((await response.json()) as Record<string, T[]>)[field]!);
        // Behind a proxy the link may name another address than ours: only its query counts.
        const link = /<([^>]*)>; rel="next"/.exec(response.headers.get("link") ?? "")?.[1];
        next = link && `${addressOf(path)}?${link.split("?")[1]}`;
      }
      return { found: found.slice(0, limit), more: next !== undefined || found.length > limit };
    },
  };
}

/**
 * As a member of the tenant. A token's claim wins over the slug, and an API key has a tenant of its own: asks first which tenant answers.
 * @throws StartupError unless it is the one that is named
 */
export async function openTenant(slug: string): Promise<Api> {
  const api = await openApi(slug);
  const { tenant } = await api.call<{ tenant: Tenant }>("tenants/current");
  if (tenant.slug !== slug)
    throw new StartupError(`TENANCY_TOKEN is for the tenant ${tenant.slug}, not for ${slug}`);
  return api;
}

async function callerOf(env: NodeJS.ProcessEnv): Promise<{ url: string; token: string; tenant: string }> {
  const url = KINDS.webAddress.parse(env.TENANCY_URL || `http://127.0.0.1:${env.SERVICE_PORT || 3000}`);
  if (url === undefined) throw new StartupError(`TENANCY_URL: expected ${KINDS.webAddress.expects}`);
  // The service's addresses and keys need not be here.
  const {
    SERVICE_DEFAULT_TENANT_SLUG,
    SERVICE_OPERATOR_CLAIM,
    SERVICE_OPERATOR_ROLE,
    SERVICE_JWT_TENANT_CLAIM,
  } = env;
  const resolution = {
    SERVICE_DEFAULT_TENANT_SLUG,
    SERVICE_OPERATOR_CLAIM,
    SERVICE_OPERATOR_ROLE,
    SERVICE_JWT_TENANT_CLAIM,
  };
  const { config } = loadConfig(resolution);
  const tenant = config.defaultTenant.slug;
  if (env.TENANCY_TOKEN) return { url, token: env.TENANCY_TOKEN, tenant };
  if (env.TENANCY_URL)
    throw new StartupError("TENANCY_TOKEN, the caller's token, is missing, and TENANCY_URL is set");
  const secret = await embeddedJwtSecret(begunFolder(console.error));
  return { url, tenant, token: signToken(config, secret, { sub: "tenancy", operator: true, expiresIn: 60 }) };
}

async function refusalOf(response: Response, url: string): Promise<string> {
  const body = await response.json().catch(() => undefined);
  const { error, detail, errors, request_id } = (body ?? {}) as {
    error?: string;
    detail?: string;
    errors?: { field: string; message: string }[];
    request_id?: string;
  };
  if (error === undefined) return `${url} answered ${response.status}, and not as this service does`;
  const fields = errors?.map(({ field, message }) => `${field} ${message}`).join("; ");
  const wait = response.headers.get("retry-after");
  return [
    `${fields || detail} (${response.status} ${error})`,
    wait && `try again in ${wait} s`,
    request_id && `request ${request_id}`,
  ]
    .filter(Boolean)
    .join(", ");
}

export interface Tenant {
  tenant_id: string;
  name: string;
  slug: string;
  status: string;
  settings: Json;
  registration?: Json | null;
  members_count?: number;
  purge_at?: string;
  created_at: string;
  updated_at: string;
}

/** For operators. @throws StartupError if no tenant has the slug */
export async function findTenant(api: Api, slug: string): Promise<Tenant> {
  if (!isSlug(slug))
    throw new StartupError(`A slug has ${KINDS.slug.expects}, and ${JSON.stringify(slug)} is none`);
  for (const status of [undefined, "deleted"]) {
    const { found } = await api.list<Tenant>("setup/tenants", "tenants", 1, { slug, status });
    if (found[0]) return found[0];
  }
  throw new StartupError(`There is no tenant with the slug ${slug}`);
}

export const tenantPath = ({ tenant_id }: Tenant) => `setup/tenant/${tenant_id}`;
