import { once } from "node:events";
import { createWriteStream, rmSync, type WriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import type { CommandModule } from "yargs";
import { StartupError } from "../startup-error.ts";
import { exportTenant } from "../transfer/export.ts";
import { asOwner } from "./owner.ts";

interface Arguments {
  tenant: string;
  output: string | undefined;
}

const unwritten = (output: string | undefined, { code }: NodeJS.ErrnoException) =>
  new StartupError(
    `${output ?? "Standard output"} ${code === "EEXIST" ? "exists already" : "cannot be written"} (${code})`,
  );

async function create(output: string): Promise<WriteStream> {
  const file = createWriteStream(output, { mode: 0o600, flags: "wx" });
  await once(file, "open").catch(error => {
    throw unwritten(output, error as Error);
  });
  return file;
}

export const exportCommand: CommandModule<object, Arguments> = {
  command: "export",
  describe: "Write one tenant, with every row of it, as JSON lines",
  builder: yargs =>
    yargs
      .option("tenant", {
        type: "string",
        demandOption: true,
        requiresArg: true,
        describe: "Slug of the tenant",
      })
      .option("output", { type: "string", requiresArg: true, describe: "File; without it, standard output" })
      .epilogue(
        "One snapshot, a few rows at a time. DATABASE_URL is tms_owner's login; without it the embedded\n" +
          "Postgres is read. `tenancy import` reads the file.",
      ),
  handler: ({ tenant, output }) =>
    asOwner(async sql => {
      // Before the work: what is removed below is a file that was made here.
      const file = output === undefined ? process.stdout : await create(output);
      const failed = new Promise<never>((_resolve, reject) =>
        file.once("error", error => reject(unwritten(output, error))),
      );
      failed.catch(() => {});
      let size = 0;
      try {
        for await (const lines of exportTenant(sql, tenant)) {
          size += Buffer.byteLength(lines);
          if (!file.write(lines)) await Promise.race([once(file, "drain"), failed]);
        }
        if (file === process.stdout) return;
        file.end();
        await Promise.race([finished(file), failed]);
        console.error(`Wrote ${tenant} to ${output}, ${size} bytes`);
      } catch (error) {
        // A half file must not be taken for a whole one.
        if (output !== undefined) rmSync(output, { force: true });
        throw error;
      }
    }),
};
