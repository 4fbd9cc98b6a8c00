import path from "node:path";
import { fileURLToPath } from "node:url";
import { IS_INSTALLED } from "../values/installed.ts";

/** The folder of package.json, two levels above this file both in src/ and in dist/. */
export const PACKAGE_ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const ROLES_SQL = path.join(PACKAGE_ROOT, "db", "roles.sql");
export const LARGE_OBJECTS_SQL = path.join(PACKAGE_ROOT, "db", "large_objects.sql");
/** Data folders of the embedded Postgres and of the demo, unless SERVICE_DATA_DIR is set. npm replaces what is below node_modules. */
export const DATA_DIR = path.resolve(IS_INSTALLED ? "." : PACKAGE_ROOT, ".data");
export const DEMO_DATA_DIR = path.join(DATA_DIR, "demo");
