#!/usr/bin/env node
/** `tenancy <command>`: a command is one file in cli/ and one line here. */
import { createRequire } from "node:module";
import { hideBin } from "yargs/helpers";
import { audit } from "./cli/audit.ts";
import { demo } from "./cli/demo.ts";
import { events } from "./cli/events.ts";
import { explain } from "./cli/explain.ts";
import { exportCommand } from "./cli/export.ts";
import { importCommand, NO_FILE } from "./cli/import.ts";
import { migrate } from "./cli/migrate.ts";
import { refuseFlagValues } from "./cli/options.ts";
import { start } from "./cli/start.ts";
import { token } from "./cli/token.ts";
import { VERSION } from "./config/version.ts";
import { StartupError, tell } from "./errors/startup-error.ts";

/** As a module of the old kind: as one of the new it breaks lines of help in the middle of words. */
const yargs = createRequire(import.meta.url)("yargs") as typeof import("yargs").default;

/** Every fault is words on stderr and a status that is not zero. */
function fail(fault: unknown): never {
  tell(fault);
  process.exit(fault instanceof StartupError ? fault.status : 1);
}

/** The parser makes a list of an option that is given twice, which only `--claim` is. */
function refuseRepeats(given: Record<string, unknown>): true {
  const repeated = Object.keys(given).find(
    name => Array.isArray(given[name]) && name !== "_" && name !== "claim",
  );
  if (repeated !== undefined) throw new Error(`--${repeated} is given more than once`);
  refuseFlagValues(given);
  return true;
}

await yargs(hideBin(process.argv))
  .scriptName("tenancy")
  .parserConfiguration({ "camel-case-expansion": false }) // a wrong option would be told under two names
  .locale("en") // the parser would speak the terminal's language, beside our English
  .usage(
    "$0 <command>\n\nMulti-tenant isolation in one Postgres database. docs/ describes the environment variables.",
  )
  .command(start)
  .command(demo)
  .command(migrate)
  .command(audit)
  .command(token)
  .command(explain)
  .command(events)
  .command(exportCommand)
  .command(importCommand)
  .completion(
    "completion",
    "Print a script for bash or zsh that completes what follows tenancy, if that is on the PATH",
  )
  .demandCommand(1, "Name a command; tenancy --help lists them")
  .strict()
  .check(refuseRepeats)
  .version(VERSION)
  .wrap(Math.min(100, process.stdout.columns || 100))
  // The parser would only count what is missing, and nothing else takes a word without a name.
  .fail((message, error) => fail(error ?? message.replace(/^Not enough non-option arguments.*/, NO_FILE)))
  .parseAsync();
