import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ownerHint } from "../connection.ts";
import { PACKAGE_ROOT } from "../paths.ts";
import { StartupError } from "../startup-error.ts";

export const GRAPHILE_CLI = path.join(
  path.dirname(createRequire(import.meta.url).resolve("graphile-migrate/package.json")),
  "dist",
  "cli.js",
);

/** As a process of its own: the library would end ours when its pool loses a connection. */
export async function graphileMigrate(
  command: "migrate" | "current",
  ownerUrl: string,
  log: (line: string) => void,
) {
  for (let waited = 0; ; waited++) {
    const { code, output } = await new Promise<{ code: number | null; output: string }>((resolve, reject) => {
      const child = spawn(process.execPath, [GRAPHILE_CLI, command], {
        cwd: PACKAGE_ROOT,
        env: { ...process.env, DATABASE_URL: ownerUrl, NO_COLOR: "1", FORCE_COLOR: "0" },
        stdio: ["ignore", "pipe", "pipe"],
      });
      let output = "";
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding("utf8").on("data", text => (output += text));
      child.on("error", reject).on("close", code => resolve({ code, output }));
    });
    if (code === 0) return;
    // Somebody runs graphile-migrate by hand, past our lock.
    if (output.includes("Failed to get exclusive lock") && waited < 600) {
      if (waited === 0) log("graphile-migrate is at work on this database; waiting for it to end");
      await sleep(1000);
      continue;
    }
    if (code === null) throw new StartupError("The migrations were interrupted; run them again to finish");
    const at = /Error occurred at line (\d+), column \d+ of "(.+?)"/.exec(output);
    const running = /.*Running (?:migration ')?(.+?\.sql)/s.exec(output)?.[1];
    const message = /^\s*\w*[eE]rror: *(.+)$/m.exec(output)?.[1] ?? output.trim().split("\n").pop();
    const place = running ? `${running}${at ? ` (line ${at[1]} as compiled)` : ""}` : "The migrations";
    const were = running ? "was" : "were";
    // The gate looks when all is committed.
    const fate = message?.startsWith("Tenants are not isolated")
      ? `${were} applied, and then`
      : `failed and ${were} rolled back`;
    throw new StartupError(`${place} ${fate}: ${message}${ownerHint(message ?? "", ownerUrl)}`);
  }
}
