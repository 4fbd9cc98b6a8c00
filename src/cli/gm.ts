/** `npm run gm -- <command>`: graphile-migrate with the environment's three databases, else the embedded Postgres's. */
import { spawn } from "node:child_process";
import { loadConfig } from "../config.ts";
import { openEmbedded } from "../embedded.ts";
import { GRAPHILE_CLI } from "../migrate/graphile.ts";
import { PACKAGE_ROOT } from "../paths.ts";
import { StartupError } from "../startup-error.ts";

async function main() {
  const { DATABASE_URL, ROOT_DATABASE_URL, SHADOW_DATABASE_URL } = process.env;
  if (DATABASE_URL ?? ROOT_DATABASE_URL ?? SHADOW_DATABASE_URL) {
    if (!SHADOW_DATABASE_URL && needsShadow(process.argv.slice(2))) {
      throw new StartupError(
        "SHADOW_DATABASE_URL is missing: tms_owner's login on an empty database that may be wiped",
      );
    }
    return run({});
  }
  const { urls, stop } = await openEmbedded({
    dataDir: loadConfig(process.env).config.dataDir,
    log: console.error,
  });
  try {
    return await run({
      DATABASE_URL: urls.owner,
      ROOT_DATABASE_URL: urls.root,
      SHADOW_DATABASE_URL: urls.shadow,
    });
  } finally {
    await stop();
  }
}

/** The first two replay every migration there and status insists on its address; others go there when told to. */
const needsShadow = (args: string[]) =>
  !args.includes("--help") && args.some(arg => /^(commit|uncommit|status|--shadow(=true)?)$/.test(arg));

function run(databases: Record<string, string>): Promise<number> {
  const child = spawn(process.execPath, [GRAPHILE_CLI, ...process.argv.slice(2)], {
    cwd: PACKAGE_ROOT,
    env: { ...process.env, ...databases },
    stdio: "inherit",
  });
  // Ctrl-C reaches graphile-migrate through the terminal; we stay for Postgres.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  return new Promise((resolve, reject) => child.on("error", reject).on("close", code => resolve(code ?? 1)));
}

main().then(
  code => {
    process.exitCode = code;
  },
  error => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
