/** What the browser loads of the console. `npm run build` writes it beside the compiled service; from source it is made at need. */
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { argv } from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

export interface Bundle {
  page: string;
  script: string;
  style: string;
  icon: string;
}

const FILES = { page: "index.html", script: "main.js", style: "main.css", icon: "icon.svg" };
/** src/console, or dist/console. */
const folder = fileURLToPath(new URL("../console", import.meta.url));

let made: Promise<Bundle> | undefined;

export function readBundle(): Promise<Bundle> {
  made ??= (existsSync(path.join(folder, FILES.script)) ? readBuilt() : makeBundle()).catch(error => {
    made = undefined;
    throw error;
  });
  return made;
}

async function readBuilt(): Promise<Bundle> {
  const read = async ([kind, name]: [string, string]) => [
    kind,
    await readFile(path.join(folder, name), "utf8"),
  ];
  return Object.fromEntries(await Promise.all(Object.entries(FILES).map(read)));
}

async function makeBundle(): Promise<Bundle> {
  // A development dependency, which installations without it do not need.
  const { build } = await import("esbuild");
  const { outputFiles } = await build({
    entryPoints: [path.join(folder, "main.tsx"), path.join(folder, "main.css")],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    outdir: folder,
    logLevel: "silent",
  });
  const built = (name: string) => outputFiles.find(file => path.basename(file.path) === name)!.text;
  const read = (name: string) => readFile(path.join(folder, name), "utf8");
  const [page, icon] = await Promise.all([read(FILES.page), read(FILES.icon)]);
  return { page, icon, script: built(FILES.script), style: built(FILES.style) };
}

/** Makes `console` in the folder of the compiled service. */
export async function writeBundle(dist: string): Promise<void> {
  const target = path.join(dist, "console");
  const bundle = await makeBundle();
  await mkdir(target, { recursive: true });
  for (const [kind, name] of Object.entries(FILES))
    await writeFile(path.join(target, name), bundle[kind as keyof Bundle]);
}

if (import.meta.url === pathToFileURL(argv[1] ?? "").href) await writeBundle("dist");
