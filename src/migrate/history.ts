/** Which migrations this build has, and which the database. */
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import type postgres from "postgres";
import { PACKAGE_ROOT } from "../config/paths.ts";
import { StartupError } from "../errors/startup-error.ts";

export const COMMITTED = path.join(PACKAGE_ROOT, "db", "migrations", "committed");
/** The next migration, while it is written. */
export const CURRENT = path.join(PACKAGE_ROOT, "db", "migrations", "current.sql");

/** The lines of a migration that are no comments; graphile-migrate's own, such as includes, are none. */
export const statementsOf = (text: string): string[] =>
  text.split("\n").filter(line => !/^\s*(--(?!!).*)?$/.test(line));

export interface Migration {
  /** As Postgres records it: `000001.sql`. */
  filename: string;
  /** The name of the file in db/migrations/committed, with the slug. */
  file: string;
  hash: string;
}

const files = readdirSync(COMMITTED)
  .filter(name => /^\d{6}.*\.sql$/.test(name))
  .sort();
const recordOf = (file: string) => `${file.slice(0, 6)}.sql`;

export async function committedMigrations(): Promise<Migration[]> {
  return Promise.all(
    files.map(async file => {
      const hash = /^--! Hash: *(\S+)/m.exec(await readFile(path.join(COMMITTED, file), "utf8"))?.[1];
      if (hash === undefined)
        throw new StartupError(
          `db/migrations/committed/${file} is no migration: it has no hash, as a commit leaves it that is killed while it writes. Remove that file, and commit again`,
        );
      return { filename: recordOf(file), file, hash };
    }),
  );
}

/** The migration's text without graphile-migrate's own header. */
export async function bodyOf({ file }: Migration): Promise<string> {
  const text = await readFile(path.join(COMMITTED, file), "utf8");
  return text.replace(/^(--! (Previous|Hash|Message):.*\n)+\n?/, "");
}

export async function appliedMigrations(sql: postgres.Sql): Promise<{ filename: string; hash: string }[]> {
  const [table] = await sql`select to_regclass('graphile_migrate.migrations') as name`;
  if (!table!.name) return [];
  return sql<
    { filename: string; hash: string }[]
  >`select filename, hash from graphile_migrate.migrations order by filename`;
}

/** Where the migration was one of a branch that is gone. */
const AGAIN = "; a database of development is recreated by npm run gm -- reset --erase";

export function checkHistory(build: Migration[], applied: { filename: string; hash: string }[]) {
  const newer = applied.slice(build.length).map(migration => migration.filename);
  if (newer.length > 0) {
    throw new StartupError(
      `The database is newer than this build, which does not know ${newer.join(", ")}: deploy the newer build${AGAIN}`,
    );
  }
  const changed = applied.findIndex((migration, i) => migration.hash !== build[i]!.hash);
  if (changed >= 0) {
    throw new StartupError(
      `db/migrations/committed/${build[changed]!.file} is not the migration that was applied to this database under its name${AGAIN}`,
    );
  }
}
