import type { CommandModule } from "yargs";
import { StartupError } from "../errors/startup-error.ts";
import { diffTenant } from "../transfer/diff.ts";
import { plain } from "../values/printable.ts";
import { linesFrom } from "./file-argument.ts";
import { flagOption } from "./options.ts";
import { printLine } from "./output.ts";
import { asOwner } from "./owner.ts";

interface Arguments {
  file: string;
  json: boolean;
}

export const diff: CommandModule<object, Arguments> = {
  command: "diff <file>",
  describe: "Compare a file that export wrote with its tenant here: the tables whose rows differ",
  builder: yargs =>
    yargs
      .positional("file", { type: "string", demandOption: true, describe: "The file; - is standard input" })
      .option("json", flagOption("As JSON"))
      .epilogue(
        "Status 0: no row differs. 1: some do. 2: they could not be compared. DATABASE_URL is tms_owner's login; " +
          "without it the embedded Postgres is read.",
      ),
  handler: async ({ file, json }) => {
    try {
      const lines = linesFrom(file);
      await asOwner(async sql => {
        const found = await diffTenant(sql, lines);
        const { slug, tenant_id, exported_at, tables } = found;
        if (tables.length > 0) process.exitCode = 1;
        const width = Math.max(...tables.map(({ table }) => table.length), 5);
        const text = [
          `${slug} (${tenant_id}) and its export of ${exported_at}: ${
            tables.length === 0 ? "every table has the same rows" : ""
          }`.trimEnd(),
          ...(tables.length === 0
            ? []
            : [`${"table".padEnd(width)} ${"file".padStart(10)} ${"database".padStart(10)}`]),
          ...tables.map(
            ({ table, file, database }) =>
              `${table.padEnd(width)} ${String(file).padStart(10)} ${String(database).padStart(10)}${file === database ? "  other values" : ""}`,
          ),
        ];
        await printLine(json ? JSON.stringify(found) : text.map(plain).join("\n"));
      });
    } catch (error) {
      // As diff(1) has it: 1 is a difference.
      throw error instanceof StartupError && error.status === 1 ? new StartupError(error.message, 2) : error;
    }
  },
};
