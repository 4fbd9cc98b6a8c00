import type { CommandModule } from "yargs";
import { requireAddress } from "../database/url.ts";
import { StartupError } from "../errors/startup-error.ts";
import { applyRoles } from "../migrate/administrator.ts";
import { countSampleProduct, dropSampleProduct } from "../migrate/drop-product.ts";
import { dryRun, isUpToDate, migrationStatus, type Status } from "../migrate/dry-run.ts";
import { migrate as migrateDatabase } from "../migrate/migrate.ts";
import { isRelease } from "../migrate/release.ts";
import { inWords } from "../migrate/released.ts";
import { contextSecret } from "./context-secret.ts";
import { Interrupted, onInterruption } from "./interruption.ts";
import { flagOption } from "./options.ts";
import { environmentFolder, environmentProduct, onOwnerDatabase, readVariables } from "./owner.ts";

interface Arguments {
  "only-roles": boolean;
  "drop-sample-product": boolean;
  yes: boolean;
  status: boolean;
  "dry-run": boolean;
  reinstall: boolean;
}

export const migrate: CommandModule<object, Arguments> = {
  command: "migrate",
  describe: "Apply the committed migrations, install the release, check isolation",
  builder: yargs =>
    yargs
      .option("status", flagOption("Print what is applied and what is pending, and change nothing"))
      .option("dry-run", flagOption("Run everything in one transaction, print the verdict, roll back"))
      .option("reinstall", flagOption("Install the release again, also where the database has it"))
      .option("only-roles", flagOption("Only apply db/roles.sql, with ROOT_DATABASE_URL"))
      .option(
        "drop-sample-product",
        flagOption(
          "Drop the sample product: deletes boards and what belongs to them, tables and every row, for good. Alone it counts the " +
            "rows and refuses; with --dry-run it tries and rolls back",
        ),
      )
      .option("yes", flagOption("With --drop-sample-product: delete those rows"))
      .epilogue(
        "DATABASE_URL is the login of tms_owner; without it the embedded Postgres is migrated. " +
          "With ROOT_DATABASE_URL, the login of an administrator, migrate first creates the roles and the " +
          "database, and sets the passwords of tms_owner and tms_service (SERVICE_DATABASE_URL) where the " +
          "server refuses them, unless another database there relies on them. SERVICE_MULTI_TENANT_MODE, where it is " +
          "set, is stored: with true the database refuses a null slug. Several may run at once: one " +
          "works, the others wait. --dry-run takes the locks of a real run until it rolls back. " +
          "Exit status of --status and --dry-run: 0 nothing to do, 2 something is pending or was changed, " +
          "1 it would fail, or nothing could be said.",
      ),
  handler: async args => {
    if (args["drop-sample-product"]) return dropProduct(args);
    const given = (["status", "dry-run", "reinstall", "only-roles"] as const).filter(name => args[name]);
    if (args.yes) throw new StartupError("--yes goes with --drop-sample-product");
    if (given.length > 1) throw new StartupError(`--${given[0]} and --${given[1]} exclude each other`);
    if (args["only-roles"]) return onlyRoles();
    if (args.status) return onOwnerDatabase(console.error, {}, printStatus);
    if (args["dry-run"]) return onOwnerDatabase(console.error, {}, printDryRun);
    return run(args.reinstall);
  },
};

/** Null: not set. */
const multiTenantMode = () =>
  process.env.SERVICE_MULTI_TENANT_MODE?.trim()
    ? readVariables(/^SERVICE_MULTI_TENANT_MODE$/).multiTenantMode
    : null;

async function onlyRoles() {
  const rootUrl = process.env.ROOT_DATABASE_URL;
  if (!rootUrl) throw new StartupError("ROOT_DATABASE_URL, an administrator's login, is missing");
  await applyRoles(requireAddress(rootUrl, "ROOT_DATABASE_URL"));
}

/** The first line says what is lost. */
async function dropProduct(args: Arguments) {
  const other = (["status", "reinstall", "only-roles"] as const).find(name => args[name]);
  if (other) throw new StartupError(`--drop-sample-product and --${other} exclude each other`);
  if (args.yes && args["dry-run"]) throw new StartupError("--yes and --dry-run exclude each other");
  const only = !args.yes && !args["dry-run"];
  const lost = await onOwnerDatabase(console.error, {}, ({ url }) =>
    only ? countSampleProduct(url) : dropSampleProduct(url, { confirmed: args.yes, log: console.error }),
  );
  const all = lost.reduce((sum, { rows }) => sum + rows, 0);
  const tables = lost.map(({ table, rows }) => `${table} ${rows}`).join(", ");
  console.log(`${all} rows ${args.yes ? "are deleted" : "would be deleted"}, for good: ${tables}`);
  if (args.yes)
    console.log(
      "The sample product is dropped, and the gate found no error. Restart the services: until then requests for boards fail",
    );
  else if (only) throw new StartupError("Nothing was changed: take a backup, then add --yes");
  else console.log("The gate passes. Nothing was changed");
}

async function printStatus({ url }: { url: string }) {
  printPlan(await migrationStatus(url));
}

async function printDryRun({ url }: { url: string }) {
  const { fault, ...status } = await dryRun(url, environmentProduct());
  printPlan(status);
  if (fault) throw new StartupError(`Would fail, and was rolled back: ${fault}`);
  console.log("The gate passes. Nothing was changed");
}

function printPlan(status: Status) {
  const { applied, pending, installed, build, product } = status;
  for (const file of applied) console.log(`applied  ${file}`);
  for (const file of pending) console.log(`pending  ${file}`);
  const other = installed?.number === build.number ? "other files of it" : `release ${installed?.number}`;
  if (isRelease(installed, build)) console.log(`installed  release ${build.number}`);
  else console.log(`pending  release ${build.number} (the database has ${installed ? other : "no release"})`);
  console.log(productLine(product ?? environmentProduct() !== false, product === undefined));
  for (const one of status.changed) console.log(`changed  ${inWords(one)}`);
  process.exitCode = isUpToDate(status) ? 0 : 2;
}

const productLine = (has: boolean, isNew: boolean) =>
  `${has ? (isNew ? "pending" : "installed") : "left out"}  the sample product: boards and what belongs to them`;

async function run(reinstall: boolean) {
  const interruption = new AbortController();
  const { signal } = interruption;
  onInterruption(name => interruption.abort(name));
  const { ROOT_DATABASE_URL: rootUrl, SERVICE_DATABASE_URL: serviceUrl } = process.env;
  try {
    const { applied, installed, version, release, serverVersion } = await onOwnerDatabase(
      console.log,
      { folder: environmentFolder },
      ({ url }) =>
        migrateDatabase({
          ownerUrl: url,
          rootUrl,
          serviceUrl,
          contextSecret: contextSecret(),
          multiTenantMode: multiTenantMode(),
          sampleProduct: environmentProduct(),
          reinstall,
          log: console.log,
          signal,
        }),
    );
    for (const file of applied) console.log(`Applied ${file}`);
    if (installed) console.log(`Installed release ${release}`);
    const state = applied.length > 0 || installed ? "now" : "up to date";
    console.log(`The schema is ${state} at ${version}, release ${release} (Postgres ${serverVersion})`);
    console.log("Isolation is checked: the gate found no error");
  } catch (fault) {
    if (!signal.aborted) throw fault;
    throw new Interrupted(signal.reason as NodeJS.Signals, (fault as Error).message);
  }
}
