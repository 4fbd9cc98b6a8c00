import type postgres from "postgres";
import type { CommandModule } from "yargs";
import { hasState } from "../errors/sqlstates.ts";
import { plain } from "../values/printable.ts";
import { flagOption } from "./options.ts";
import { printLine } from "./output.ts";
import { asOwner } from "./owner.ts";

interface Arguments {
  "dry-run": boolean;
  json: boolean;
}

interface Due {
  tenant_id: string;
  slug: string;
  name: string;
  deleted_at: string;
  purge_at: string;
}

/** The tenants whose restore window has passed, the longest overdue first. */
const dueTenants = (sql: postgres.Sql) =>
  sql.begin(async tx => {
    await tx`set local app.maintenance = on`;
    return tx<Due[]>`
      select id as tenant_id, slug, name, app.iso_time(deleted_at) as deleted_at, app.iso_time(purge_at) as purge_at
      from app.tenants t where purge_at <= now() order by t.purge_at, id`;
  });

/** False for a tenant that was restored or deleted meanwhile. One transaction for each: a busy tenant does not keep the others. */
const remove = (sql: postgres.Sql, { tenant_id }: Due) =>
  sql.begin(async tx => {
    await tx`set local lock_timeout = '10s'`;
    const [row] = await tx<{ purged: boolean }[]>`select app.purge_tenant(${tenant_id}) as purged`;
    return row!.purged;
  });

async function rowsOf(sql: postgres.Sql, { tenant_id }: Due): Promise<number> {
  const [row] = await sql<{ rows: string }[]>`
    select coalesce(sum(rows), 0) as rows from app.deletion_counts(${tenant_id})`;
  return Number(row!.rows);
}

export const purge: CommandModule<object, Arguments> = {
  command: "purge",
  describe: "Remove the deleted tenants whose restore window has passed: a daily job",
  builder: yargs =>
    yargs
      .option("dry-run", flagOption("Only list them, with their numbers of rows"))
      .option("json", flagOption("As JSON"))
      .epilogue(
        "SERVICE_TENANT_DELETION_GRACE sets the window. Status 1: others wrote to a tenant, which is kept until the next run. " +
          "DATABASE_URL is tms_owner's login; without it the embedded Postgres is purged.",
      ),
  handler: ({ "dry-run": dryRun, json }) =>
    asOwner(async sql => {
      const purged: (Due & { total_rows?: number })[] = [];
      const busy: Due[] = [];
      for (const due of await dueTenants(sql)) {
        if (dryRun) {
          purged.push({ ...due, total_rows: await rowsOf(sql, due) });
          continue;
        }
        try {
          if (await remove(sql, due)) purged.push(due);
        } catch (error) {
          if (!hasState(error, "lock_not_available", "deadlock_detected", "serialization_failure"))
            throw error;
          busy.push(due);
        }
      }
      if (busy.length > 0) process.exitCode = 1;
      const named = ({ slug, tenant_id, purge_at }: Due) => `${slug} (${tenant_id}), due since ${purge_at}`;
      const lines = [
        ...purged.map(one =>
          one.total_rows === undefined
            ? `Removed ${named(one)}`
            : `Would remove ${named(one)}: ${one.total_rows} rows`,
        ),
        ...busy.map(one => `Kept ${named(one)}: others write to it`),
      ];
      if (lines.length === 0) lines.push("No deleted tenant is past its date");
      await printLine(json ? JSON.stringify({ dry_run: dryRun, purged, busy }) : lines.map(plain).join("\n"));
    }),
};
