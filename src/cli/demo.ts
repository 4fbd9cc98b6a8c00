import type { CommandModule } from "yargs";
import { runAudit } from "../audit/run.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { DEMO_DATA_DIR } from "../config/paths.ts";
import { TABLE } from "../config/variables.ts";
import { onConnection } from "../database/command-connection.ts";
import { StartupError } from "../errors/startup-error.ts";
import { flagOf } from "../values/flag.ts";
import { PortTaken, type Running, runService, untilSignal } from "./start.ts";
import { signToken } from "./token.ts";

/** The variables that the demo reads. Any other could make the printed commands wrong. */
const OBEYED = [
  "SERVICE_HOST",
  "SERVICE_PORT",
  "SERVICE_DATA_DIR",
  "SERVICE_EMBEDDED_PORT",
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

async function runOnSomePort(config: Config, signal: AbortSignal): Promise<Running> {
  try {
    return await runService(config, () => {}, signal);
  } catch (error) {
    if (!(error instanceof PortTaken)) throw error;
    console.log(`Port ${config.port} is taken by another program, so the demo listens on another one.`);
    return runService({ ...config, port: 0 }, () => {}, signal);
  }
}

/** A GET; with a body, a POST. */
async function ask(address: string, token: string, path: string, body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const post = body && { method: "POST", body: JSON.stringify(body) };
  return fetch(`${address}/api/${path}`, { headers, ...post });
}

/** Registers an organization over HTTP. It waits for an operator's approval. */
async function register(address: string, token: string, { slug, organization, sub, ...more }: Newcomer) {
  const answer = await ask(address, token, "tenants/register", {
    organization_name: organization,
    organization_slug: slug,
    admin_email: `${sub}@${slug}.example`,
    ...more,
  });
  if (answer.ok) return;
  const { detail } = (await answer.json()) as { detail?: string };
  throw new StartupError(
    `The demo could not register ${organization}: ${detail} (to start again, remove ${process.env.SERVICE_DATA_DIR ?? DEMO_DATA_DIR})`,
  );
}

const LETS_IN: Record<string, string> = { pending: "approve", suspended: "resume", deleted: "restore" };

/** Registers the member's organization, and lets them in whatever was done to it in an earlier demo. */
async function ensureTenant(
  address: string,
  { token, operator }: { token: string; operator: string },
  { sub, slug, organization }: (typeof MEMBERS)[number],
) {
  const isIn = async () => (await ask(address, token, "tenants/current")).ok;
  const found = async (status = "") => {
    const answer = await ask(address, operator, `setup/tenants?slug=${slug}${status}`);
    return ((await answer.json()) as { tenants?: { tenant_id: string; status: string }[] }).tenants?.[0];
  };
  if (await isIn()) return;
  if (!(await found()) && !(await found("&status=deleted")))
    await register(address, token, { sub, slug, organization });
  // A tenant that was suspended, then deleted, is restored, then resumed.
  for (let tries = 0; tries < 2; tries++) {
    const { tenant_id, status } = (await found()) ?? (await found("&status=deleted"))!;
    const way = LETS_IN[status];
    if (way) await ask(address, operator, `setup/tenant/${tenant_id}/${way}`, {});
    else if (!(await isIn()))
      await ask(address, operator, `setup/tenant/${tenant_id}/members`, { auth_subject: sub, role: "owner" });
  }
}

/** So that there is something to approve. */
async function ensureNewcomer(address: string, token: string) {
  const mine = await ask(address, token, "tenants/mine");
  const { tenants } = (await mine.json()) as { tenants: unknown[] };
  if (tenants.length > 0) return;
  // Refused where an earlier demo's visitor gave the slug away: then there is nothing to approve.
  await register(address, token, NEWCOMER).catch(() => {});
}

/** So that the console has a result to show. Silent: it goes on while the printed commands are tried. */
async function ensureAudit({ urls }: Running) {
  const url = Object.assign(new URL(urls!.owner), { pathname: "/tms" }).href;
  const [last] = await onConnection(url, sql => sql`select from audit.runs limit 1`);
  if (!last) await runAudit(url, { sample: 10 });
}

/** The commands to paste. They work as printed, in this order. */
async function guide(
  { address, urls, config }: Running,
  tokens: { operator: string; members: string[]; carol: string },
) {
  const database = Object.assign(new URL(urls!.root), { pathname: "/tms" }).href;
  const [acme] = await onConnection(
    database,
    async sql => sql<{ id: string }[]>`select id from app.tenants where slug = ${MEMBERS[0].slug}`,
  );
  const consoleFor = (token: string) => `${address}/console/#token=${token}`;
  return `Open the console as the operator of the deployment:
${consoleFor(tokens.operator)}
or as Alice, who owns acme:
${consoleFor(tokens.members[0]!)}

The tenant management service is at ${address} (try the API at ${address}/docs).
Multi-tenant mode is on; the tenants acme and globex have sample data, Vandelay Industries waits for approval. Ctrl-C stops it.
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
begin; set local role tms_app; set local app.tenant_id = '${acme!.id}'; table app.boards; commit;
begin; set local role tms_app; table app.boards; commit;
SQL`;
}

export const demo: CommandModule = {
  command: "demo",
  describe: "Run the service with two tenants of sample data, and print how to try it",
  handler: async () => {
    const config = demoConfig();
    const { running: started, signal } = untilSignal(signal => runOnSomePort(config, signal));
    const running = await started;
    const { address } = running;
    try {
      const sign = (options: { sub: string; email?: string; operator?: boolean; tenant?: string }) =>
        signToken(running.config, running.config.jwt.secret!, { ...options, expiresIn: HALF_A_DAY });
      // Every request names a tenant: the operator's token names the default one, Carol's the one she will register.
      const operator = sign({ sub: "operator", operator: true, tenant: config.defaultTenant.slug });
      const carol = sign({ sub: "carol", tenant: "hooli" });
      const members: string[] = [];
      for (const member of MEMBERS) {
        const { sub, slug } = member;
        await ensureTenant(address, { token: sign({ sub, tenant: slug }), operator }, member);
        // Without a tenant claim X-Tenant decides, which shows the refusal.
        members.push(sign({ sub }));
      }
      await ensureNewcomer(address, sign({ sub: "dana", tenant: "vandelay" }));
      console.log(await guide(running, { operator, members, carol }));
      ensureAudit(running).catch(() => {}); // the service is stopping
    } catch (error) {
      if (signal.aborted) return; // the request failed because the service is stopping
      await running.stop();
      throw error;
    }
  },
};
