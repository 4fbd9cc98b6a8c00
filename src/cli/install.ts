/** graphile-migrate's hook (.gmrc): installs the release in the database that it works on. */

import { connect } from "../database/command-connection.ts";
import { explainDatabase } from "../database/connection-errors.ts";
import { tell } from "../errors/startup-error.ts";
import { install } from "../migrate/installer.ts";
import { INSTALLER_SESSION } from "../migrate/session.ts";

const url = process.env.GM_DBURL!;
const sql = connect(url, { connection: INSTALLER_SESSION });
try {
  if (await install(sql)) console.log("Installed the release");
} catch (error) {
  const { sqlFile } = error as { sqlFile?: string };
  if (sqlFile) console.error(`In ${sqlFile}:`);
  tell(explainDatabase(error, url, "DATABASE_URL"));
  process.exitCode = 1;
} finally {
  await sql.end({ timeout: 5 });
}
