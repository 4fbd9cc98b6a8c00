import { spawn } from "node:child_process";
import type { CommandModule } from "yargs";
import { StartupError } from "../errors/startup-error.ts";
import { plain } from "../values/printable.ts";
import { Interrupted, onInterruption, statusOf } from "./interruption.ts";
import { asOwner } from "./owner.ts";
import { pgOptions } from "./pg-options.ts";

/** Behind `--` stands another program's command line, which the parser would read as ours. */
export const beforeDashes = (words: string[]) =>
  words[0] === "each" && words.includes("--") ? words.slice(0, words.indexOf("--")) : words;

interface Tenant {
  id: string;
  slug: string;
}

const activeTenants = () =>
  asOwner(sql =>
    sql.begin(async tx => {
      await tx`set local app.maintenance = on`;
      const [{ proofs }] = await tx<[{ proofs: boolean }]>`select app.requires_proof() as proofs`;
      const tenants = await tx<
        Tenant[]
      >`select id, slug from app.tenants t where status = 'active' order by t.slug`;
      return { tenants, proofs };
    }),
  );

/** libpq reads PGOPTIONS: sessions begin as tms_app in the tenant. Where the database asks for proofs, a setting enters none. */
function environmentOf({ id, slug }: Tenant, proofs: boolean): NodeJS.ProcessEnv {
  const entered = proofs ? {} : { role: "tms_app", "app.tenant_id": id };
  const options = pgOptions({ "app.require_tenant": "on", ...entered });
  return { ...process.env, TENANT_ID: id, TENANT_SLUG: slug, PGOPTIONS: options };
}

export const each: CommandModule = {
  command: "each",
  describe: 'Run a command once for each active tenant: tenancy each -- psql "$JOB_URL" -f job.sql',
  builder: yargs =>
    yargs
      .usage("tenancy each -- <command> [arguments]")
      .epilogue(
        "One after the other. The command finds TENANT_ID and TENANT_SLUG in its environment, and PGOPTIONS, with which psql and " +
          "other programs of libpq begin in the tenant, as tms_app: the login must be a member of tms_app, and connect " +
          "directly. With a tenant context secret it enters the tenant itself. A tenant whose command fails is " +
          "named, and the others go on. Exit status: 0 if all succeeded, 1 if one failed. " +
          "DATABASE_URL is tms_owner's login, which reads the list of tenants.",
      ),
  handler: async () => {
    const words = process.argv;
    const [program, ...args] = words.includes("--") ? words.slice(words.indexOf("--") + 1) : [];
    if (!program) throw new StartupError("Name the command behind --: tenancy each -- psql …");
    const { tenants, proofs } = await activeTenants();
    const interruption = new AbortController();
    onInterruption(name => interruption.abort(name));
    const { signal } = interruption;
    const run = (tenant: Tenant) =>
      new Promise<number>((resolve, reject) => {
        const child = spawn(program, args, { env: environmentOf(tenant, proofs), stdio: "inherit" });
        const stop = () => child.kill(signal.reason as NodeJS.Signals);
        signal.addEventListener("abort", stop);
        child.on("error", ({ message }) => reject(new StartupError(`${program} does not start: ${message}`)));
        child.on("close", (code, by) => {
          signal.removeEventListener("abort", stop);
          resolve(code ?? statusOf(by!));
        });
      });
    const failed: string[] = [];
    for (const tenant of tenants) {
      console.error(`tenant ${tenant.slug}`);
      const status = await run(tenant);
      if (signal.aborted) throw new Interrupted(signal.reason as NodeJS.Signals);
      if (status !== 0) failed.push(plain(`${tenant.slug} (status ${status})`));
    }
    if (failed.length > 0)
      throw new StartupError(`Failed in ${failed.length} of ${tenants.length} tenants: ${failed.join(", ")}`);
    console.error(`Done in ${tenants.length} tenants`);
  },
};
