import type { CommandModule } from "yargs";
import { StartupError } from "../errors/startup-error.ts";
import { dropOldSecret, removeSecret, storeSecret } from "../migrate/tenant-context.ts";
import { flagOption } from "./options.ts";
import { asOwner, readVariables } from "./owner.ts";

interface Arguments {
  "drop-old": boolean;
  off: boolean;
}

const SAID = {
  stored: "The secret is stored: the database enters no tenant without a proof",
  replaced: "The secret is stored. The one before is accepted until: tenancy context-secret --drop-old",
  unchanged: "The database has this secret already",
};

/** Null: not set. */
export const contextSecret = () => readVariables(/^SERVICE_TENANT_CONTEXT_SECRET$/).tenantContextSecret;

export const contextSecretCommand: CommandModule<object, Arguments> = {
  command: "context-secret",
  describe: "Store the secret of the tenant context, so that the database asks for proofs of callers",
  builder: yargs =>
    yargs
      .option("drop-old", flagOption("Accept the secret before this one no longer"))
      .option("off", flagOption("Remove the secret: the database asks for no proofs"))
      .epilogue(
        "DATABASE_URL is tms_owner's login; without it the embedded Postgres is changed. The service must have the same " +
          "SERVICE_TENANT_CONTEXT_SECRET, or it does not start.",
      ),
  handler: async ({ "drop-old": dropOld, off }) => {
    if (dropOld && off) throw new StartupError("--drop-old and --off exclude each other");
    const secret = dropOld || off ? null : contextSecret();
    if (!dropOld && !off && secret === null)
      throw new StartupError("SERVICE_TENANT_CONTEXT_SECRET, 32 bytes or more, is missing");
    await asOwner(async sql => {
      if (off)
        console.log(
          (await removeSecret(sql))
            ? "The secret is removed: the database asks for no proofs"
            : "The database has no secret",
        );
      else if (dropOld)
        console.log(
          (await dropOldSecret(sql)) ? "The old secret is dropped" : "The database has no old secret",
        );
      else console.log(SAID[await storeSecret(sql, secret!)]);
    });
  },
};
