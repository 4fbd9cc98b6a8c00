/** The project compiled once for a run: commands and tests start without tsx. `src` becomes `dist`, as in the image. */
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build as esbuild, type Plugin } from "esbuild";
import { writeBundle } from "../src/http/console-bundle.ts";

export const root = path.resolve(import.meta.dirname, "..");
const SOURCE = /\.ts$/;
/** One file in place of the package's 400, which each process with a service would load. */
const TYPEBOX = "dist/typebox.js";
const OPTIONS = {
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  logLevel: "warning",
} as const;

/** Where a file of the project is in the compiled folder. */
export const compiled = (file: string) =>
  path
    .relative(root, file)
    .replace(/^src\b/, "dist")
    .replace(SOURCE, ".js");

/** Each file stays a file of its own, and imports the others by their new names. */
const separateFiles: Plugin = {
  name: "separate-files",
  setup(build) {
    const beside = (importer: string, target: string) => {
      const relative = path.relative(path.dirname(compiled(importer)), target);
      return { path: relative.startsWith(".") ? relative : `./${relative}`, external: true };
    };
    build.onResolve({ filter: /^\.{1,2}\/.*\.ts$/ }, ({ kind, path: target, importer }) =>
      kind === "entry-point" ? undefined : beside(importer, compiled(path.resolve(importer, "..", target))),
    );
    build.onResolve({ filter: /^typebox$/ }, ({ importer }) => beside(importer, TYPEBOX));
  },
};

const filesOf = (folder: string) =>
  readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => path.join(entry.parentPath, entry.name));

/** The compiled folder. What is not compiled is a link into the project, so that tests read and write the project's own. */
export async function build(): Promise<string> {
  // Resolved, as node resolves the files it loads.
  const folder = realpathSync(mkdtempSync(path.join(tmpdir(), "tms-test-build-")));
  const inTree = ["test", "examples", "bench"].flatMap(filesOf);
  const server = filesOf("src").filter(
    // Of the console its plain modules, for their unit tests; the rest is in the bundle.
    file => !path.relative(root, file).startsWith(path.join("src", "console", "main")),
  );
  await esbuild({ ...OPTIONS, entryPoints: ["typebox"], outfile: path.join(folder, TYPEBOX) });
  await esbuild({
    ...OPTIONS,
    entryPoints: [...inTree, ...server]
      .filter(file => SOURCE.test(file))
      .map(file => ({ in: file, out: compiled(file).replace(/\.js$/, "") })),
    outdir: folder,
    packages: "external",
    plugins: [separateFiles],
    sourcemap: true,
    sourcesContent: false,
  });
  const linked = readdirSync(root).filter(
    name => !["test", "examples", "bench", "dist", ".git"].includes(name),
  );
  for (const file of [...linked.map(name => path.join(root, name)), ...inTree]) {
    const link = path.join(folder, path.relative(root, file));
    mkdirSync(path.dirname(link), { recursive: true });
    symlinkSync(file, link);
  }
  await writeBundle(path.join(folder, "dist"));
  return folder;
}
