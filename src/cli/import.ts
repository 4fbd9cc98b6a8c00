import type { CommandModule } from "yargs";
import { KINDS } from "../config/kinds.ts";
import { StartupError } from "../errors/startup-error.ts";
import { importTenant } from "../transfer/import.ts";
import { findReplaced, withHeader } from "../transfer/replace.ts";
import { ask } from "./ask.ts";
import { isStandardInput, linesFrom } from "./file-argument.ts";
import { flagOption, textOption } from "./options.ts";
import { printLine } from "./output.ts";
import { asOwner } from "./owner.ts";

interface Arguments {
  file: string;
  slug: string | undefined;
  replace: boolean;
  "delete-unknown": boolean;
  yes: boolean;
  json: boolean;
}

export const importCommand: CommandModule<object, Arguments> = {
  command: "import <file>",
  describe: "Create a tenant from a file that export wrote, or replace its rows, in one transaction",
  builder: yargs =>
    yargs
      .positional("file", { type: "string", demandOption: true, describe: "The file; - is standard input" })
      .option("slug", textOption("A slug other than the file's; the tenant then gets a new id"))
      .option(
        "replace",
        flagOption("Replace the rows of the tenant that the file was exported from; it keeps its id"),
      )
      .option(
        "delete-unknown",
        flagOption("With --replace: also delete the tenant's rows in tables that the file does not know"),
      )
      .option("yes", flagOption("Do not ask before rows are replaced"))
      .option("json", flagOption("Report what was written as JSON"))
      .epilogue("DATABASE_URL is tms_owner's login; without it the embedded Postgres is written."),
  handler: async ({ file, slug, replace, "delete-unknown": deletesUnknown, yes, json }) => {
    if (slug !== undefined && KINDS.slug.parse(slug) === undefined)
      throw new StartupError(`--slug takes ${KINDS.slug.expects}`);
    if (replace && slug !== undefined)
      throw new StartupError("--slug cannot go with --replace: a replaced tenant gets the slug of the file");
    if (yes && !replace) throw new StartupError("--yes goes with --replace: nothing else asks");
    if (deletesUnknown && !replace) throw new StartupError("--delete-unknown goes with --replace");
    const content = linesFrom(file);
    await asOwner(async sql => {
      const opened = replace ? await withHeader(content) : undefined;
      const replaced = opened && (await findReplaced(sql, opened.header));
      if (replaced && !yes) {
        if (isStandardInput(file) || !process.stdin.isTTY)
          throw new StartupError(
            "--replace asks before it deletes rows, and there is no terminal to ask on: --yes answers",
          );
        const { id, slug, rows } = replaced;
        const answer = await ask(
          `${rows} rows of ${slug} (${id}) will be replaced by those of its export of ${opened!.header.exported_at}.\n` +
            "tenancy diff shows which tables differ. Type the slug to replace them: ",
        );
        if (answer !== slug) throw new StartupError("Nothing was replaced");
      }
      const done = await importTenant(sql, opened?.all ?? content, slug, {
        replaces: replace,
        deletesUnknown,
      });
      const rows = Object.values(done.counts).reduce((sum, count) => sum + count, 0);
      const media = done.media_of_former_tenant;
      const lines = json
        ? [JSON.stringify(done)]
        : [
            `${replaced ? "Replaced" : "Imported"} ${done.slug} (${done.tenant_id}): ${rows} rows in ${Object.keys(done.counts).length} tables${
              done.replaced ? `, instead of ${done.replaced.rows}` : ""
            }`,
            done.replaced &&
              `API keys that stay: ${done.replaced.keys_kept}. Open invitations that ended: ${done.replaced.invitations_ended}`,
            media > 0 &&
              `${media} media still name${media === 1 ? "s" : ""} the files of the tenant they were exported from: see docs/guides/export-import.md`,
          ];
      await printLine(lines.filter(line => typeof line === "string").join("\n")).catch(
        (fault: StartupError) => {
          throw new StartupError(
            `${done.slug} is ${replaced ? "replaced" : "imported"}, but: ${fault.message}`,
          );
        },
      );
    });
  },
};
