import { createReadStream } from "node:fs";
import type { CommandModule } from "yargs";
import { KINDS } from "../config/kinds.ts";
import { StartupError } from "../errors/startup-error.ts";
import { linesOf } from "../transfer/file.ts";
import { importTenant } from "../transfer/import.ts";
import { flagOption, textOption } from "./options.ts";
import { printLine } from "./output.ts";
import { asOwner } from "./owner.ts";

interface Arguments {
  file: string;
  slug: string | undefined;
  json: boolean;
}

export const NO_FILE = "import takes a file that export wrote; - is standard input";

/** Names the file in read errors too: a folder can be opened, and a disk can fail half way. */
async function* contentOf(file: string): AsyncGenerator<Buffer, void> {
  try {
    yield* createReadStream(file) as AsyncIterable<Buffer>;
  } catch (error) {
    throw new StartupError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

// yargs turns a lone hyphen into an empty string.
const isStandardInput = (file: string) => file === "-" || (file === "" && process.argv.includes("-"));

export const importCommand: CommandModule<object, Arguments> = {
  command: "import <file>",
  describe: "Create a tenant from a file that export wrote, in one transaction",
  builder: yargs =>
    yargs
      .positional("file", { type: "string", demandOption: true, describe: "The file; - is standard input" })
      .option("slug", textOption("A slug other than the file's; the tenant then gets a new id"))
      .option("json", flagOption("Report what was written as JSON"))
      .epilogue("DATABASE_URL is tms_owner's login; without it the embedded Postgres is written."),
  handler: async ({ file, slug, json }) => {
    if (slug !== undefined && KINDS.slug.parse(slug) === undefined)
      throw new StartupError(`--slug takes ${KINDS.slug.expects}`);
    const standard = isStandardInput(file);
    if (file === "" && !standard) throw new StartupError(NO_FILE);
    await asOwner(async sql => {
      const input = standard ? process.stdin : contentOf(file);
      const done = await importTenant(sql, linesOf(input), slug);
      const rows = Object.values(done.counts).reduce((sum, count) => sum + count, 0);
      const media = done.media_of_former_tenant;
      const lines = json
        ? [JSON.stringify(done)]
        : [
            `Imported ${done.slug} (${done.tenant_id}): ${rows} rows in ${Object.keys(done.counts).length} tables`,
            media > 0 &&
              `${media} media still name${media === 1 ? "s" : ""} the files of the tenant they were exported from: see docs/guides/export-import.md`,
          ];
      await printLine(lines.filter(line => line !== false).join("\n")).catch((fault: StartupError) => {
        throw new StartupError(`${done.slug} is imported, but: ${fault.message}`);
      });
    });
  },
};
