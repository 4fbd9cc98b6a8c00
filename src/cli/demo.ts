import { randomBytes } from "node:crypto";
import type { CommandModule } from "yargs";
import { runAudit } from "../audit/run.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { DEMO_DATA_DIR } from "../config/paths.ts";
import { TABLE } from "../config/variables.ts";
import { onConnection } from "../database/command-connection.ts";
import { DefaultSlugTaken, StartupError } from "../errors/startup-error.ts";
import type { Links } from "../http/routes/console.ts";
import { hasSampleProduct } from "../migrate/product.ts";
import { flagOf } from "../values/flag.ts";
import { commandsIn } from "../values/installed.ts";
import { PortTaken, type Running, runService, untilSignal } from "./start.ts";
import { signToken } from "./token.ts";

/** The variables that the demo reads. Any other could make the printed commands wrong. */
const OBEYED = [
  "SERVICE_HOST",
  "SERVICE_PORT",
  "SERVICE_DATA_DIR",
  "SERVICE_EMBEDDED_PORT",
  "SERVICE_SAMPLE_PRODUCT",
  "SERVICE_LOG_LEVEL",
  "SERVICE_DEBUG",
];
const HALF_A_DAY = 43_200;

const MEMBERS = [
  { variable: "ALICE", sub: "alice", slug: "acme", organization: "Acme" },
  { variable: "BOB", sub: "bob", slug: "globex", organization: "Globex" },
] as const;

interface Newcomer {
  sub: string;
  slug: string;
  organization: string;
  admin_name?: string;
  use_case?: string;
  organization_size?: string;
}

const NEWCOMER: Newcomer = {
  sub: "dana",
  slug: "vandelay",
  organization: "Vandelay Industries",
  admin_name: "Dana Vandelay",
  use_case: "Pictures of what we import, and of what we export",
  organization_size: "small",
};

function demoConfig(): Config {
  const env = Object.fromEntries(
    OBEYED.flatMap(name => (process.env[name] ? [[name, process.env[name]]] : [])),
  );
  const { config } = loadConfig({
    SERVICE_DATA_DIR: DEMO_DATA_DIR,
    SERVICE_MULTI_TENANT_MODE: "true",
    SERVICE_TENANT_PRECEDENCE: "header",
    SERVICE_TENANT_REGISTRATION_REQUIRES_APPROVAL: "true",
    ...(flagOf(env.SERVICE_DEBUG ?? "") ? {} : { SERVICE_LOG_LEVEL: "warn" }),
    ...env,
  });
  const unread = Object.keys(TABLE).filter(name => process.env[name] && !OBEYED.includes(name));
  if (unread.length > 0)
    console.log(`The demo has settings of its own: it does not read ${unread.join(", ")}.`);
  return config;
}

async function runOnSomePort(config: Config, signal: AbortSignal, links: Links): Promise<Running> {
  try {
    return await runService(config, () => {}, signal, links);
  } catch (error) {
    // An operator may delete the default tenant and give its slug to another.
    if (error instanceof DefaultSlugTaken)
      return runOnSomePort(
        { ...config, defaultTenant: { ...config.defaultTenant, slug: `demo-${Date.now()}` } },
        signal,
        links,
      );
    if (!(error instanceof PortTaken)) throw error;
    console.log(`Port ${config.port} is taken by another program, so the demo listens on another one.`);
    return runService({ ...config, port: 0 }, () => {}, signal, links);
  }
}

interface Asked {
  method?: "PATCH" | "POST";
  body?: object;
  /** X-Tenant */
  tenant?: string;
}

type Ask = <T>(path: string, asked?: Asked) => Promise<{ ok: boolean; body: T & { detail?: string } }>;

/** Requests with one token. */
const asker =
  (address: string, token: string): Ask =>
  async <T>(path: string, { method, body, tenant }: Asked = {}) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body && { "content-type": "application/json" }),
      ...(tenant !== undefined && { "x-tenant": tenant }),
    };
    const sent = body && { body: JSON.stringify(body) };
    const answer = await fetch(`${address}/api/${path}`, {
      method: method ?? (body ? "POST" : "GET"),
      headers,
      ...sent,
    });
    return { ok: answer.ok, body: (await answer.json()) as T & { detail?: string } };
  };

/** Fails with the service's own words. */
async function must(what: string, asked: ReturnType<Ask>): Promise<void> {
  const { ok, body } = await asked;
  if (!ok) throw new StartupError(`The demo could not ${what}: ${body.detail}`);
}

/** Registers an organization. It waits for an operator's approval. */
const register = (ask: Ask, { slug, organization, sub, ...more }: Newcomer) =>
  must(
    `register ${organization}`,
    ask("tenants/register", {
      tenant: slug,
      body: {
        organization_name: organization,
        organization_slug: slug,
        admin_email: `${sub}@${slug}.example`,
        ...more,
      },
    }),
  );

interface Found {
  tenant_id: string;
  status: "pending" | "active" | "suspended" | "deleted";
}

async function find(operator: Ask, slug: string): Promise<Found | undefined> {
  for (const status of ["", "&status=deleted"]) {
    const { body } = await operator<{ tenants?: Found[] }>(`setup/tenants?slug=${slug}${status}`);
    if (!body.tenants) throw new StartupError(`The demo could not look for ${slug}: ${body.detail}`);
    if (body.tenants[0]) return body.tenants[0];
  }
  return undefined;
}

const databaseOf = (url: string) => Object.assign(new URL(url), { pathname: "/tms" }).href;

/** What makes a tenant active, by its status. */
const REPAIRS = [
  ["deleted", "restore", "restored"],
  ["suspended", "resume", "resumed"],
  ["pending", "approve", "approved"],
] as const;

/** Whoever plays for a day has registered too often for an hour: each demo begins with all its requests. */
const forgetLimits = ({ urls }: Running) =>
  onConnection(databaseOf(urls!.root), sql => sql`delete from control.rate_limits`);

/** Registers the member's organization and approves it. What an earlier demo left otherwise is put right, and told. */
async function ensureTenant(operator: Ask, ask: Ask, { sub, slug, organization }: (typeof MEMBERS)[number]) {
  const was = await find(operator, slug);
  if (!was) await register(ask, { sub, slug, organization });
  for (const [status, repair, repaired] of REPAIRS) {
    const found = (await find(operator, slug))!;
    if (found.status !== status) continue;
    await must(
      `${repair} ${slug}`,
      operator(`setup/tenant/${found.tenant_id}/${repair}`, { method: "POST" }),
    );
    if (was) console.log(`The tenant ${slug} was ${status}; the demo ${repaired} it.`);
  }
  const { ok, body } = await ask<{ membership?: { user_id: string; role: string } }>("tenants/current", {
    tenant: slug,
  });
  if (ok && body.membership?.role === "owner") return;
  const members = `setup/tenant/${(await find(operator, slug))!.tenant_id}/members`;
  const asked = body.membership
    ? operator(`${members}/${body.membership.user_id}`, { method: "PATCH", body: { role: "owner" } })
    : operator(members, { body: { auth_subject: sub, role: "owner" } });
  await must(`make ${sub} an owner of ${slug}`, asked);
  console.log(
    `${sub} was ${body.membership ? `${body.membership.role} of` : "not in"} ${slug}, and is an owner again.`,
  );
}

/** So that there is something to approve. Returns whether it waits. */
async function ensureNewcomer(operator: Ask, ask: Ask): Promise<boolean> {
  if (!(await find(operator, NEWCOMER.slug))) await register(ask, NEWCOMER);
  return (await find(operator, NEWCOMER.slug))?.status === "pending";
}

/** So that the console has a result to show. Silent: it goes on while the printed commands are tried. */
async function ensureAudit({ urls }: Running) {
  const url = databaseOf(urls!.owner);
  const [last] = await onConnection(
    url,
    sql => sql`select from audit.runs where finished_at is not null limit 1`,
  );
  if (!last) await runAudit(url, "DATABASE_URL", { sample: 10 });
}

/** The commands to paste. They work as printed, in this order. */
async function guide(
  { address, urls, config }: Running,
  tokens: { operator: string; members: string[]; carol: string },
  codes: { operator: string; alice: string },
  waits: boolean,
) {
  const database = databaseOf(urls!.root);
  const { acme, product } = await onConnection(database, async sql => {
    const [tenant] = await sql<{ id: string }[]>`select id from app.tenants where slug = ${MEMBERS[0].slug}`;
    return { acme: tenant!.id, product: await hasSampleProduct(sql) };
  });
  const table = product ? "app.boards" : "app.users";
  return `Open the console
  as the operator of the deployment:  ${address}/demo/${codes.operator}
  as Alice, who owns acme:            ${address}/demo/${codes.alice}

The tenant management service is at ${address} (try the API at ${address}/docs). Ctrl-C stops it.
Multi-tenant mode is on. The tenants acme and globex ${product ? "have sample data" : "are there"}${waits ? `; ${NEWCOMER.organization} waits for approval` : ""}.
Its files are in ${config.dataDir}: with SERVICE_DATA_DIR set to that folder, npm run audit and the other commands work on them.

Paste into another terminal. First, who you are, for the next 12 hours:

[ -z "$ZSH_VERSION" ] || setopt interactivecomments
OPERATOR=${tokens.operator}
${MEMBERS.map(({ variable }, i) => `${variable}=${tokens.members[i]}`).join("\n")}
CAROL=${tokens.carol}
URL=${address}
API=${address}/api
JSON='Content-Type: application/json'

# The operator creates a tenant, lists all, then reads, updates and deletes the new one
curl -sSw '\\n' $API/setup/tenant -H "Authorization: Bearer $OPERATOR" -H "$JSON" -d '{"name":"Initech","slug":"initech"}'
curl -sSw '\\n' $API/setup/tenants -H "Authorization: Bearer $OPERATOR"
ID=$(curl -sS "$API/setup/tenants?search=initech" -H "Authorization: Bearer $OPERATOR" | grep -oE '[0-9a-f-]{36}')
curl -sSw '\\n' $API/setup/tenant/$ID -H "Authorization: Bearer $OPERATOR"
curl -sSw '\\n' -X PUT $API/setup/tenant/$ID -H "Authorization: Bearer $OPERATOR" -H "$JSON" -d '{"name":"Initrode"}'
curl -sSw '\\n' -X DELETE $API/setup/tenant/$ID -H "Authorization: Bearer $OPERATOR"

# Carol belongs nowhere yet and registers an organization of her own, which waits for the operator
curl -sSw '\\n' $API/tenants/register -H "Authorization: Bearer $CAROL" -H "$JSON" \\
  -d '{"organization_name":"Hooli","admin_email":"carol@hooli.example"}'

# Alice owns acme and Bob owns globex, so each is refused at the other
curl -sSw '\\n' $API/tenants/current -H "Authorization: Bearer $ALICE" -H "X-Tenant: acme"
curl -sSw '\\n' $API/tenants/current -H "Authorization: Bearer $ALICE" -H "X-Tenant: globex"
curl -sSw '\\n' $API/tenants/current -H "Authorization: Bearer $BOB" -H "X-Tenant: globex"

# The database itself keeps tenants apart: as a DBA, be the application inside acme, then inside no tenant
DATABASE='${database}'
psql "$DATABASE" <<'SQL'
begin; set local role tms_app; set local app.tenant_id = '${acme}'; table ${table}; commit;
begin; set local role tms_app; table ${table}; commit;
SQL`;
}

export const demo: CommandModule = {
  command: "demo",
  describe: "Run the service with two tenants of sample data, and print how to try it",
  handler: async () => {
    const config = demoConfig();
    const links = new Map<string, () => string>();
    const { running: started, signal } = untilSignal(signal => runOnSomePort(config, signal, links));
    const running = await started;
    const { address } = running;
    try {
      const sign = (options: { sub: string; email?: string; operator?: boolean; tenant?: string }) =>
        signToken(running.config, running.config.jwt.secret!, { ...options, expiresIn: HALF_A_DAY });
      // Every request names a tenant: the operator's token names the default one, Carol's the one she will register.
      const theOperator = { sub: "operator", operator: true, tenant: config.defaultTenant.slug };
      const operator = sign(theOperator);
      const carol = sign({ sub: "carol", tenant: "hooli" });
      // A name of its own, so that its requests count against nobody's limit.
      const asOperator = asker(
        address,
        sign({ sub: "demo", operator: true, tenant: config.defaultTenant.slug }),
      );
      await forgetLimits(running);
      const members: string[] = [];
      for (const member of MEMBERS) {
        const token = sign({ sub: member.sub });
        await ensureTenant(asOperator, asker(address, token), member);
        members.push(token);
      }
      const waits = await ensureNewcomer(asOperator, asker(address, sign({ sub: NEWCOMER.sub })));
      const link = (who: string, token: () => string) => {
        const code = `${who}-${randomBytes(5).toString("hex")}`;
        links.set(code, token);
        return code;
      };
      const codes = {
        operator: link("operator", () => sign(theOperator)),
        alice: link("alice", () => sign({ sub: "alice" })),
      };
      console.log(commandsIn(await guide(running, { operator, members, carol }, codes, waits)));
      ensureAudit(running).catch(() => {}); // the service is stopping
    } catch (error) {
      if (signal.aborted) return; // the request failed because the service is stopping
      await running.stop();
      if (!(error instanceof StartupError)) throw error;
      throw new StartupError(`${error.message}. To begin anew, remove the demo's folder ${config.dataDir}`);
    }
  },
};
