import { once } from "node:events";
import { createWriteStream, linkSync, lstatSync, openSync, renameSync, rmSync } from "node:fs";
import { finished } from "node:stream/promises";
import type { CommandModule } from "yargs";
import { StartupError } from "../errors/startup-error.ts";
import { exportTenant } from "../transfer/export.ts";
import { nameOption } from "./options.ts";
import { asOwner } from "./owner.ts";

interface Arguments {
  tenant: string;
  output: string | undefined;
}

const unwritten = (output: string | undefined, error: unknown) => {
  const { code } = error as NodeJS.ErrnoException;
  return new StartupError(
    `${output ?? "Standard output"} ${code === "EEXIST" ? "exists already" : "cannot be written"} (${code})`,
  );
};

/** False as well if the folder cannot be read: the write that follows reports why. */
function exists(file: string): boolean {
  try {
    return lstatSync(file) !== undefined;
  } catch {
    return false;
  }
}

/** Writes to `output`.part; `publish` gives the complete file its name, so a file of that name is never partial. */
function create(output: string) {
  const part = `${output}.part`;
  if (exists(output)) throw unwritten(output, { code: "EEXIST" });
  if (exists(part))
    throw new StartupError(`${part} exists already: an export is writing it, or was killed; remove it then`);
  const remove = () => rmSync(part, { force: true });
  try {
    const file = createWriteStream(part, { fd: openSync(part, "wx", 0o600), flush: true });
    process.once("exit", remove);
    return { file, publish };
  } catch (error) {
    throw unwritten(output, error);
  }
  function publish() {
    try {
      // Unlike a rename, a link replaces nothing.
      linkSync(part, output);
      remove();
    } catch (error) {
      if (exists(output)) throw unwritten(output, error);
      // The file system has no hard links.
      renameSync(part, output);
    }
    process.off("exit", remove);
  }
}

export const exportCommand: CommandModule<object, Arguments> = {
  command: "export",
  describe: "Write one tenant and all its rows as JSON lines",
  builder: yargs =>
    yargs
      .option("tenant", { ...nameOption("tenant", "Slug of the tenant"), demandOption: true })
      .option("output", nameOption("output", "File; without it, standard output"))
      .epilogue(
        "One snapshot, a few rows at a time. DATABASE_URL is tms_owner's login; without it the embedded " +
          "Postgres is read. `tenancy import` reads the file.",
      ),
  handler: ({ tenant, output }) =>
    asOwner(async sql => {
      const { file, publish } = output === undefined ? { file: process.stdout } : create(output);
      const failed = new Promise<never>((_resolve, reject) =>
        file.once("error", error => reject(unwritten(output, error))),
      );
      failed.catch(() => {});
      let size = 0;
      let lineEnd = "";
      for await (const line of exportTenant(sql, tenant)) {
        size += Buffer.byteLength(line);
        // The newline goes with the next line: after a partial write on a full disk, Node reports the error at the next write.
        if (!file.write(lineEnd + line.slice(0, -1))) await Promise.race([once(file, "drain"), failed]);
        lineEnd = "\n";
      }
      await new Promise<void>((resolve, reject) =>
        file.write(lineEnd, error => (error ? reject(unwritten(output, error)) : resolve())),
      );
      if (!publish) return;
      file.end();
      await Promise.race([finished(file), failed]);
      publish();
      console.error(`Wrote ${tenant} to ${output}, ${size} bytes`);
    }),
};
