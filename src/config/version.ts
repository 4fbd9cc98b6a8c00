import { readFileSync } from "node:fs";
import path from "node:path";
import { PACKAGE_ROOT } from "./paths.ts";

/** The version of this release. */
export const { version: VERSION } = JSON.parse(
  readFileSync(path.join(PACKAGE_ROOT, "package.json"), "utf8"),
) as { version: string };
