/** The audit's own SQL, as a client sends it: into pg_temp, where nothing that the database has stored can take its place. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_ROOT } from "../config/paths.ts";

const FOLDER = path.join(PACKAGE_ROOT, "db", "audit");

/** `audit.` names the schema of every object in these files, and nothing else. */
const temporary = (text: string) => text.replaceAll(/\baudit\./g, "pg_temp.");

const text = (name: string) => temporary(readFileSync(path.join(FOLDER, name), "utf8"));

const inFolder = (folder: string): string[] =>
  readdirSync(path.join(FOLDER, folder))
    .filter(name => name.endsWith(".sql"))
    .sort()
    .map(name => `${folder}/${name}`);

const BEFORE_CHECKS = [
  "../tables/profile.sql",
  "profile.sql",
  "propose.sql",
  "../tables/vouched.sql",
  "vouched.sql",
  "support.sql",
  "citus.sql",
];
const AFTER_CHECKS = ["data.sql", "proof.sql", "who_reads.sql", "seed.sql", "run.sql"];

/** `ours`: with the checks of this service's own rows, and its profile. */
export function auditText(ours: boolean): string {
  const files = [
    ...BEFORE_CHECKS,
    ...inFolder("checks"),
    ...AFTER_CHECKS,
    ...(ours ? inFolder("product") : []),
  ];
  return files.map(text).join("\n");
}

export const serviceProfile = (): string => text("service-profile.sql");
