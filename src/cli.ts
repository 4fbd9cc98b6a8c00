#!/usr/bin/env node
/** `tenancy <command>`: a command is one file in cli/ and one line here. */
import { createRequire } from "node:module";
import { hideBin } from "yargs/helpers";
import { adopt } from "./cli/adopt.ts";
import { audit } from "./cli/audit.ts";
import { contextSecretCommand } from "./cli/context-secret.ts";
import { demo } from "./cli/demo.ts";
import { diff } from "./cli/diff.ts";
import { beforeDashes, each } from "./cli/each.ts";
import { events } from "./cli/events.ts";
import { explain } from "./cli/explain.ts";
import { exportCommand } from "./cli/export.ts";
import { NO_FILE } from "./cli/file-argument.ts";
import { importCommand } from "./cli/import.ts";
import { invitations } from "./cli/invitations.ts";
import { keys } from "./cli/keys.ts";
import { members } from "./cli/members.ts";
import { migrate } from "./cli/migrate.ts";
import { refuseFlagValues } from "./cli/options.ts";
import { purge } from "./cli/purge.ts";
import { start } from "./cli/start.ts";
import { moves, tenants } from "./cli/tenants.ts";
import { token } from "./cli/token.ts";
import { VERSION } from "./config/version.ts";
import { StartupError, tell } from "./errors/startup-error.ts";

/** The CommonJS build: the ES module build breaks help lines in the middle of words. */
const yargs = createRequire(import.meta.url)("yargs") as typeof import("yargs").default;

/** Reports an error on stderr, with a non-zero exit status. */
function fail(fault: unknown): never {
  tell(fault);
  process.exit(fault instanceof StartupError ? fault.status : 1);
}

/** The parser turns a repeated option into an array; only `--claim` may be repeated. */
function refuseRepeats(given: Record<string, unknown>): true {
  const repeated = Object.keys(given).find(
    name => Array.isArray(given[name]) && name !== "_" && name !== "claim",
  );
  if (repeated !== undefined) throw new Error(`--${repeated} is given more than once`);
  refuseFlagValues(given);
  return true;
}

function missing(): string {
  const [command = "", action = ""] = hideBin(process.argv).filter(word => /^[a-z]/.test(word));
  if (command === "import" || command === "diff") return NO_FILE;
  const name =
    /^(tenants|members|invitations|keys)$/.test(command) && action ? `${command} ${action}` : command;
  return `An argument is missing: tenancy ${name} --help shows all`;
}

await yargs(beforeDashes(hideBin(process.argv)))
  .scriptName("tenancy")
  .parserConfiguration({ "camel-case-expansion": false }) // else an unknown option is reported under two names
  .locale("en") // else the parser's messages follow the terminal's language
  .usage(
    "$0 <command>\n\nMulti-tenant isolation in one Postgres database. docs/ describes the environment variables.",
  )
  .command(start)
  .command(demo)
  .command(migrate)
  .command(audit)
  .command(adopt)
  .command(contextSecretCommand)
  .command(token)
  .command(explain)
  .command(events)
  .command(exportCommand)
  .command(importCommand)
  .command(diff)
  .command(purge)
  .command(each)
  .command(tenants)
  .command(moves)
  .command(members)
  .command(invitations)
  .command(keys)
  .completion(
    "completion",
    "Print a completion script for bash or zsh. It needs the command tenancy on the PATH",
  )
  .demandCommand(1, "Name a command; tenancy --help lists them")
  .strict()
  .check(refuseRepeats)
  .version(VERSION)
  .wrap(Math.min(100, process.stdout.columns || 100))
  // The parser only counts missing arguments.
  .fail((message, error) => fail(error ?? message.replace(/^Not enough non-option arguments.*/, missing())))
  .parseAsync();
