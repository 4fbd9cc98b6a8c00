import type { CommandModule } from "yargs";
import { requireAddress } from "../database/url.ts";
import { StartupError } from "../errors/startup-error.ts";
import { applyRoles } from "../migrate/administrator.ts";
import { migrate as migrateDatabase } from "../migrate/migrate.ts";
import { Interrupted, onInterruption } from "./interruption.ts";
import { flagOption } from "./options.ts";
import { environmentFolder, onOwnerDatabase } from "./owner.ts";

export const migrate: CommandModule<object, { "only-roles": boolean }> = {
  command: "migrate",
  describe: "Apply the committed migrations, then check isolation",
  builder: yargs =>
    yargs
      .option("only-roles", flagOption("Only apply db/roles.sql, with ROOT_DATABASE_URL"))
      .epilogue(
        "DATABASE_URL is tms_owner's login; without it the embedded Postgres is migrated. " +
          "With ROOT_DATABASE_URL, an administrator's login, the roles and the database are made " +
          "first, and tms_owner and tms_service (SERVICE_DATABASE_URL) get the passwords of their " +
          "URLs where the server refuses them, unless another database there relies on theirs. Several " +
          "may run at once: one works, the others wait.",
      ),
  handler: async args => {
    if (args["only-roles"]) {
      const rootUrl = process.env.ROOT_DATABASE_URL;
      if (!rootUrl) throw new StartupError("ROOT_DATABASE_URL, an administrator's login, is missing");
      await applyRoles(requireAddress(rootUrl, "ROOT_DATABASE_URL"));
      return;
    }
    const interruption = new AbortController();
    const { signal } = interruption;
    onInterruption(name => interruption.abort(name));
    const { ROOT_DATABASE_URL: rootUrl, SERVICE_DATABASE_URL: serviceUrl } = process.env;
    try {
      const { applied, version, serverVersion } = await onOwnerDatabase(
        console.log,
        { folder: environmentFolder },
        ({ url }) => migrateDatabase({ ownerUrl: url, rootUrl, serviceUrl, log: console.log, signal }),
      );
      for (const file of applied) console.log(`Applied ${file}`);
      const state = applied.length > 0 ? "now" : "up to date";
      console.log(`The schema is ${state} at ${version} (Postgres ${serverVersion})`);
      console.log("Isolation is checked: the audit's schema checks found no error");
    } catch (fault) {
      if (!signal.aborted) throw fault;
      throw new Interrupted(signal.reason as NodeJS.Signals, (fault as Error).message);
    }
  },
};
