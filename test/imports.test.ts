/** The layers of src/: a file imports from its own folder and from those below, types included, and no imports go in a circle. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";

/** From the bottom up. Folders of one line do not import each other. */
const LAYERS = [
  ["values", "client"],
  ["console"],
  ["errors"],
  ["admission"],
  ["config"],
  ["observability"],
  ["database"],
  ["identity", "migrate"],
  ["audit", "embedded", "transfer"],
  ["http", "library", "adopt"],
  ["product"],
  ["cli"],
  ["cli.ts"],
];

type Imports = ReadonlyMap<string, readonly string[]>;

const source = path.resolve(import.meta.dirname, "../src");

/** Of each file those of the project that it imports, by paths below src/; `import type` and `import()` too. */
function importsOf(read: (file: string) => string, files: readonly string[]): Imports {
  return new Map(
    files.map(file => [
      file,
      [...read(file).matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)].map(([, to]) =>
        path.posix.join(path.posix.dirname(file), to!),
      ),
    ]),
  );
}

const layerOf = (file: string) => LAYERS.findIndex(folders => folders.includes(file.split("/")[0]!));

function upward(imports: Imports): string[] {
  return [...imports].flatMap(([file, targets]) =>
    targets
      .filter(
        to =>
          to.startsWith("..") || (file.split("/")[0] !== to.split("/")[0] && layerOf(to) >= layerOf(file)),
      )
      .map(to => `${file} imports ${to}`),
  );
}

/** The first circle that is found, as the files on its way. */
function circle(imports: Imports): string[] {
  const done = new Set<string>();
  const visit = (file: string, way: string[]): string[] => {
    if (way.includes(file)) return [...way.slice(way.indexOf(file)), file];
    if (done.has(file)) return [];
    for (const to of imports.get(file) ?? []) {
      const found = visit(to, [...way, file]);
      if (found.length > 0) return found;
    }
    done.add(file);
    return [];
  };
  for (const file of imports.keys()) {
    const found = visit(file, []);
    if (found.length > 0) return found;
  }
  return [];
}

const files = readdirSync(source, { recursive: true, encoding: "utf8" })
  .filter(name => /\.tsx?$/.test(name))
  .map(name => name.replaceAll(path.sep, "/"));
const imports = importsOf(file => readFileSync(path.join(source, file), "utf8"), files);

test("every folder of src/ has a layer", () => {
  assert.deepEqual(
    files.filter(file => layerOf(file) < 0),
    [],
    "name its folder in LAYERS",
  );
});

test("no file of src/ imports from a layer above its own, or from outside src/", () => {
  assert.deepEqual(upward(imports), []);
});

test("no imports of src/ go in a circle", () => {
  assert.deepEqual(circle(imports), []);
});

test("an upward import and a circle are found, also where they are of types alone or are loaded late", () => {
  const texts: Record<string, string> = {
    "values/a.ts": 'import type { B } from "../errors/b.ts";\n',
    "errors/b.ts": 'const { c } = await import("../errors/c.ts");\n',
    "errors/c.ts": 'import {\n  a,\n} from "../values/a.ts";\nexport * from "./d.ts";\n',
    "errors/d.ts": 'import "node:fs";\nimport "../../examples/e.ts";\n',
  };
  const planted = importsOf(file => texts[file]!, Object.keys(texts));
  assert.deepEqual(upward(planted), [
    "values/a.ts imports errors/b.ts",
    "errors/d.ts imports ../examples/e.ts",
  ]);
  assert.deepEqual(circle(planted), ["values/a.ts", "errors/b.ts", "errors/c.ts", "values/a.ts"]);
});
