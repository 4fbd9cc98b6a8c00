import { open } from "node:fs/promises";
import type { CommandModule } from "yargs";
import { StartupError } from "../startup-error.ts";
import { linesOf } from "../transfer/file.ts";
import { importTenant } from "../transfer/import.ts";
import { asOwner } from "./owner.ts";

interface Arguments {
  file: string;
  slug: string | undefined;
  json: boolean;
}

async function openInput(file: string) {
  // yargs makes an empty text of a lone hyphen.
  if (file === "-" || (file === "" && process.argv.includes("-"))) return process.stdin;
  try {
    return (await open(file)).createReadStream();
  } catch (error) {
    throw new StartupError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

export const importCommand: CommandModule<object, Arguments> = {
  command: "import <file>",
  describe: "Make a tenant of a file that export wrote, all or nothing",
  builder: yargs =>
    yargs
      .positional("file", { type: "string", demandOption: true, describe: "The file; - is standard input" })
      .option("slug", {
        type: "string",
        requiresArg: true,
        describe: "Another slug than the file's; then with a new id",
      })
      .option("json", { type: "boolean", default: false, describe: "Say what was written as JSON" })
      .epilogue("DATABASE_URL is tms_owner's login; without it the embedded Postgres is written."),
  handler: ({ file, slug, json }) =>
    asOwner(async sql => {
      if (slug !== undefined && !/^[a-z0-9-]{1,255}$/.test(slug))
        throw new StartupError("--slug takes 1 to 255 lowercase letters, digits and hyphens");
      const input = await openInput(file);
      const done = await importTenant(sql, linesOf(input), slug);
      if (json) return console.log(JSON.stringify(done));
      const rows = Object.values(done.counts).reduce((sum, count) => sum + count, 0);
      console.log(
        `Imported ${done.slug} (${done.tenant_id}): ${rows} rows in ${Object.keys(done.counts).length} tables`,
      );
    }),
};
