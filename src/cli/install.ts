/**
 * graphile-migrate's hook (.gmrc): installs the release in the database that it works on. `--before-current` says that current.sql
 * has not been applied: what it adds is not there yet, and the release's manifest may have it already.
 */
import { readFileSync } from "node:fs";
import { connect } from "../database/command-connection.ts";
import { explainDatabase } from "../database/connection-errors.ts";
import { tell } from "../errors/startup-error.ts";
import { CURRENT, statementsOf } from "../migrate/history.ts";
import { install } from "../migrate/installer.ts";
import { INSTALLER_SESSION } from "../migrate/session.ts";

const isPartial =
  process.argv.includes("--before-current") && statementsOf(readFileSync(CURRENT, "utf8")).length > 0;
const url = process.env.GM_DBURL!;
const sql = connect(url, { connection: INSTALLER_SESSION });
try {
  if (await install(sql, { isPartial })) console.log("Installed the release");
} catch (error) {
  const { sqlFile } = error as { sqlFile?: string };
  if (sqlFile) console.error(`In ${sqlFile}:`);
  tell(explainDatabase(error, url, "DATABASE_URL"));
  process.exitCode = 1;
} finally {
  await sql.end({ timeout: 5 });
}
