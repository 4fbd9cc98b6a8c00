import path from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of package.json: two above this file, in src/ and in dist/. */
export const PACKAGE_ROOT = fileURLToPath(new URL("../..", import.meta.url));
export const ROLES_SQL = path.join(PACKAGE_ROOT, "db", "roles.sql");
export const LARGE_OBJECTS_SQL = path.join(PACKAGE_ROOT, "db", "large_objects.sql");
/** The embedded Postgres's, and the demo's, unless SERVICE_DATA_DIR names another. */
export const DATA_DIR = path.join(PACKAGE_ROOT, ".data");
export const DEMO_DATA_DIR = path.join(DATA_DIR, "demo");
