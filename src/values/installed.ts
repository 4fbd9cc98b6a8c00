import path from "node:path";

/** npm installed the package into somebody's project; this is no clone. */
export const IS_INSTALLED = import.meta.dirname.split(path.sep).includes("node_modules");

/** Commands as they are typed here: npm scripts in a clone, `npx tenancy` where the package is installed. */
export function commandsIn(text: string): string {
  if (!IS_INSTALLED) return text;
  return text
    .replaceAll(
      /\bnpm run (?:-s |--silent )?(?:tenancy -- )?(audit|demo|migrate|token)\b(?: --(?= ))?/g,
      "npx tenancy $1",
    )
    .replaceAll(/\bnpm start\b/g, "npx tenancy start");
}
