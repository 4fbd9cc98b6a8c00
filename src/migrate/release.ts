/** The release of this build: what the installer installs, and its number. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_ROOT } from "../config/paths.ts";
import { hashOf, readSqlFile } from "./sql-files.ts";

export interface Release {
  /** Grows whenever the files change. */
  number: number;
  /** SHA-256 over the files of db/install.sql. */
  hash: string;
}

export const INSTALL_SQL = path.join(PACKAGE_ROOT, "db", "install.sql");
/** Of the files as they are; in a tree that was edited it is not the release's. */
export const releaseHash = () => hashOf(readSqlFile(INSTALL_SQL));

/** `npm run release` may number files that a tree being edited has installed under the number before. */
export const isRelease = (installed: Release | undefined, build: Release): boolean =>
  installed?.hash === build.hash && installed.number === build.number;

export const RELEASE_JSON = path.join(PACKAGE_ROOT, "db", "release.json");
export const RELEASE = JSON.parse(readFileSync(RELEASE_JSON, "utf8")) as Release;
