import { randomBytes } from "node:crypto";
import type { CommandModule } from "yargs";
import { createClient } from "../client/client.ts";
import { type Config, loadConfig } from "../config/config.ts";
import { DEMO_DATA_DIR } from "../config/paths.ts";
import { TABLE } from "../config/variables.ts";
import { DefaultSlugTaken, StartupError } from "../errors/startup-error.ts";
import type { Links } from "../http/routes/console.ts";
import { flagOf } from "../values/flag.ts";
import { commandsIn } from "../values/installed.ts";
import { guide } from "./demo-guide.ts";
import {
  ensureAudit,
  ensureNewcomer,
  ensureTenant,
  forgetLimits,
  MEMBERS,
  NEWCOMER,
} from "./demo-tenants.ts";
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

export const demo: CommandModule = {
  command: "demo",
  describe: "Run the service with two tenants of sample data, and print how to try it",
  handler: async () => {
    const config = demoConfig();
    const links = new Map<string, () => string>();
    const { running: started, signal } = untilSignal(signal => runOnSomePort(config, signal, links));
    const running = await started;
    const { address: url } = running;
    try {
      const sign = (options: { sub: string; email?: string; operator?: boolean; tenant?: string }) =>
        signToken(running.config, running.config.jwt.secret!, { ...options, expiresIn: HALF_A_DAY });
      // Every request names a tenant: the operator's token names the default one, Carol's the one she will register.
      const theOperator = { sub: "operator", operator: true, tenant: config.defaultTenant.slug };
      const operator = sign(theOperator);
      const carol = sign({ sub: "carol", tenant: "hooli" });
      // A name of its own, so that its requests count against nobody's limit.
      const asOperator = createClient({ url, token: sign({ ...theOperator, sub: "demo" }) });
      await forgetLimits(running);
      const members: string[] = [];
      for (const member of MEMBERS) {
        const token = sign({ sub: member.sub });
        await ensureTenant(asOperator, createClient({ url, token, tenant: member.slug }), member);
        members.push(token);
      }
      const { sub, slug: tenant } = NEWCOMER;
      const waits = await ensureNewcomer(asOperator, createClient({ url, token: sign({ sub }), tenant }));
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
