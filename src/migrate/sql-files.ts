/** SQL files that include others by psql's `\ir`, so that a DBA can run the same files with psql. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_ROOT } from "../config/paths.ts";

interface SqlFile {
  /** Below the project's folder, such as `db/functions/app/isolate.sql`. */
  name: string;
  /** What is between two includes, or a whole included file. */
  text: string;
}

const INCLUDE = /^\\ir (\S+)\n?/m;

/** The file's own statements and those of the files that it includes, in the order in which psql would run them. */
export function readSqlFile(file: string): SqlFile[] {
  const [name, folder] = [path.relative(PACKAGE_ROOT, file), path.dirname(file)];
  const pieces = readFileSync(file, "utf8").split(INCLUDE);
  return pieces
    .flatMap((piece, i) => (i % 2 ? readSqlFile(path.join(folder, piece)) : [{ name, text: piece }]))
    .filter(({ text }) => text.trim() !== "");
}

export const hashOf = (files: SqlFile[]): string =>
  createHash("sha256")
    .update(JSON.stringify(files.map(({ name, text }) => [name, text])))
    .digest("hex");
