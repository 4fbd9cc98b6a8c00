/** A database at 000034, from before functions were installed: its 34 migrations become the first one. The next release deletes this. */
import { readFileSync } from "node:fs";
import path from "node:path";
import type postgres from "postgres";
import { PACKAGE_ROOT } from "../config/paths.ts";
import { bodyOf, type Migration } from "./history.ts";

const LAST = "sha1:2fc71942056898f1ec9ae9f8d51849332ae40e42";
const read = (name: string) => readFileSync(path.join(PACKAGE_ROOT, "db", name), "utf8");

/** Adds what the first migration has and 000034 has not. Returns whether there was such a database; its rows stay as they are. */
export async function takeOver(sql: postgres.Sql, first: Migration): Promise<boolean> {
  const [table] = await sql`select to_regclass('graphile_migrate.migrations') as name`;
  if (!table!.name) return false;
  const comments = (await bodyOf(first)).match(
    /^comment on (?:table|column|index|type|schema) [\s\S]*?(?:'|\$\$);$/gm,
  )!;
  return sql.begin(async tx => {
    const found = await tx`
      delete from graphile_migrate.migrations
      where (select count(*) = 34 and bool_or(hash = ${LAST}) from graphile_migrate.migrations)`;
    if (found.count === 0) return false;
    for (const name of ["tables/release.sql", "functions/control/gate.sql"])
      await tx.unsafe(read(name)).simple();
    await tx.unsafe(comments.join("\n")).simple();
    await tx`insert into graphile_migrate.migrations (hash, filename) values (${first.hash}, ${first.filename})`;
    return true;
  });
}
