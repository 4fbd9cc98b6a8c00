/** Where the objects of a database are defined in a folder of SQL files. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";

interface Place {
  /** Below the folder, with slashes. */
  file: string;
  line: number;
}

const NAME = String.raw`(?:"(?:[^"]|"")+"|[A-Za-z_][\w$]*)`;
const QUALIFIED = `${NAME}(?:\\s*\\.\\s*${NAME})?`;
const KINDS =
  "table|foreign\\s+table|view|materialized\\s+view|function|procedure|sequence|type|domain|schema|policy|trigger|index|publication|rule";
const CREATE = new RegExp(
  `\\bcreate\\s+(?:or\\s+replace\\s+|unlogged\\s+|constraint\\s+|unique\\s+|recursive\\s+)*(${KINDS})\\s+` +
    `(?:concurrently\\s+)?(?:if\\s+not\\s+exists\\s+)?(${QUALIFIED})(?:[^;]{0,200}?\\bon\\s+(?:only\\s+)?(${QUALIFIED}))?`,
  "gi",
);
const OF_TABLE = new Set(["policy", "trigger", "index", "rule"]);
const SKIPPED = /^(node_modules|dist|coverage|\..*)$/;
/** Dumps of data are no definitions. */
const LARGEST = 2_000_000;

/** `Public.T` and `public."T"` are two tables; without a schema it is one of public. */
export function normalName(name: string): string {
  const parts = name.match(new RegExp(NAME, "g")) ?? [name];
  const plain = parts.map(part =>
    part.startsWith('"') ? part.slice(1, -1).replaceAll('""', '"') : part.toLowerCase(),
  );
  return plain.length === 1 ? `public.${plain[0]}` : plain.join(".");
}

const without = (arguments_: string) => arguments_.split("(")[0]!;

export class Definitions {
  readonly #places = new Map<string, Place>();

  /** An object may be defined several times: a file that is no migration wins, else the newest migration. */
  constructor(folder: string) {
    const files = sqlFiles(folder).sort();
    const isMigration = (file: string) => /migration|alteration/i.test(path.dirname(file));
    for (const file of [...files.filter(isMigration), ...files.filter(one => !isMigration(one))])
      this.#add(folder, file);
  }

  #add(folder: string, file: string) {
    const text = readFileSync(path.join(folder, file), "utf8");
    const [lines, at] = [[0], { line: 0 }];
    for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) lines.push(i + 1);
    for (const found of text.matchAll(CREATE)) {
      while ((lines[at.line + 1] ?? Number.POSITIVE_INFINITY) <= found.index) at.line++;
      const place = { file: file.split(path.sep).join("/"), line: at.line + 1 };
      const [, kind, name, table] = found;
      const sort = kind!.toLowerCase().split(/\s+/).at(-1)!;
      if (!OF_TABLE.has(sort)) this.#places.set(keyOf(sort, normalName(name!)), place);
      else if (table) this.#places.set(keyOf(sort, `${bare(name!)} on ${normalName(table)}`), place);
    }
  }

  /** Where the finding's policy, trigger or function is defined, else its relation. */
  find({ relation, row }: { relation: string | null; row: Record<string, unknown> }): Place | undefined {
    const named = Object.entries(row).flatMap(([kind, name]) => {
      if (typeof name !== "string") return [];
      const sort = SAME[kind] ?? kind;
      const [object, table] = name.split(/ on (?=[^ ]+$)/);
      if (OF_TABLE.has(sort)) {
        const of = table ?? relation;
        return of ? [keyOf(sort, `${bare(object!)} on ${normalName(of)}`)] : [];
      }
      return [keyOf(sort, normalName(without(name)))];
    });
    const ofRelation = relation
      ? ["table", "view", "function", "sequence"].map(sort => keyOf(sort, normalName(without(relation))))
      : [];
    for (const key of [...named, ...ofRelation]) {
      const place = this.#places.get(key);
      if (place) return place;
    }
    return undefined;
  }
}

const SAME: Record<string, string> = { definer: "function", "unique index": "index", procedure: "function" };
const keyOf = (sort: string, name: string) => `${SAME[sort] ?? sort} ${name}`;
const bare = (name: string) => normalName(name).replace(/^public\./, "");

function sqlFiles(folder: string, below = ""): string[] {
  return readdirSync(path.join(folder, below), { withFileTypes: true }).flatMap(entry => {
    const name = path.join(below, entry.name);
    if (entry.isDirectory()) return SKIPPED.test(entry.name) ? [] : sqlFiles(folder, name);
    const isSql = entry.isFile() && entry.name.endsWith(".sql");
    return isSql && statSync(path.join(folder, name)).size <= LARGEST ? [name] : [];
  });
}
