/** The audit's own SQL, as a client sends it: into pg_temp, where nothing that the database has stored can take its place. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_ROOT } from "../config/paths.ts";

const FOLDER = path.join(PACKAGE_ROOT, "db", "audit");

export const installedText = (file: string) => readFileSync(path.join(FOLDER, file), "utf8");

/** `audit.` names the schema of every object in these files, and nothing else. */
export const temporaryText = (file: string) => installedText(file).replaceAll(/\baudit\./g, "pg_temp.");

export const SERVICE_CHECKS = "service";
export const PRODUCT_CHECKS = "../product/checks";

export const checksIn = (folder: string): string[] =>
  readdirSync(path.join(FOLDER, folder))
    .filter(name => name.endsWith(".sql"))
    .map(name => path.basename(name, ".sql"))
    .sort();

const inFolder = (folder: string) => checksIn(folder).map(check => `${folder}/${check}.sql`);

export const BEFORE_CHECKS = [
  "../tables/profile.sql",
  "profile.sql",
  "propose.sql",
  "../tables/vouched.sql",
  "vouched.sql",
  "support.sql",
  "citus.sql",
];
export const AFTER_CHECKS = [
  "data.sql",
  "proof.sql",
  "proof-writes.sql",
  "proof-verdict.sql",
  "who_reads.sql",
  "seed.sql",
  "run.sql",
  "report.sql",
];

/** `own`: folders of checks of rows: this service's, its sample product's. */
export function auditText(own: readonly string[]): string {
  const files = [...BEFORE_CHECKS, ...inFolder("checks"), ...AFTER_CHECKS, ...own.flatMap(inFolder)];
  return files.map(temporaryText).join("\n");
}

export const serviceProfile = (): string => temporaryText("service-profile.sql");
