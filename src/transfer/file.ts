/** The export file of a tenant, as JSON lines: a header, one line for each row, a trailer with counts and a checksum. */
import { createHash } from "node:crypto";
import { Ajv } from "ajv";
import { StartupError } from "../errors/startup-error.ts";
import type { Table } from "./tables.ts";

export const FORMAT = "tenant-export";
/** Version 2 stores values as text, as Postgres prints them. Version 1, still readable, stored JSON, which lost precision. */
export const VERSION = 2;

export interface Header {
  format: typeof FORMAT;
  version: number;
  exported_at: string;
  schema_version: string | null;
  tenant: { id: string; slug: string; name: string };
  tables: Table[];
}

export interface Trailer {
  end: true;
  counts: Record<string, number>;
  sha256: string;
}

/** A json column may contain line breaks between tokens, where a space is equivalent; inside strings they are escaped. */
export const oneLine = (json: string) => json.replace(/[\r\n]+/g, " ");

export const CUT_OFF = "The file is cut off: its last line is missing";
export const GOES_ON = "The file has lines after its trailer";
export const CHANGED = "The file was changed since it was exported: its checksum does not match";

/** The line of a row: the table's name as JSON, and the row's text unchanged. */
export const ROW = /^\{"table":("(?:[^"\\]|\\.)*"),"row":(.*)\}$/s;

const text = { type: "string" } as const;
const object = (properties: Record<string, object>) => ({
  type: "object",
  required: Object.keys(properties),
  properties,
});
const list = (items: object) => ({ type: "array", items });
const ajv = new Ajv({ allowUnionTypes: true });
const isOfVersion = ajv.compile<{ version: number }>(
  object({ format: { const: FORMAT }, version: { type: "integer" } }),
);
const isHeader = ajv.compile<Header>(
  object({
    exported_at: text,
    schema_version: { type: ["string", "null"] },
    tenant: object({ id: text, slug: text, name: text }),
    tables: list(object({ name: text, columns: list(text) })),
  }),
);
const isTrailer = ajv.compile<Trailer>(
  object({
    end: { const: true },
    counts: { type: "object", additionalProperties: { type: "integer" } },
    sha256: text,
  }),
);

export function headerFrom(line: string): Header {
  const header = parsed(line);
  if (!isOfVersion(header)) throw new StartupError("The file is not a tenant's export");
  const { version } = header;
  if (version !== 1 && version !== VERSION)
    throw new StartupError(
      `The file is of version ${version}, and this release reads versions 1 and ${VERSION}`,
    );
  if (!isHeader(header)) throw new StartupError("The file is damaged: its header is incomplete");
  return header;
}

export function trailerFrom(line: string): Trailer {
  const trailer = parsed(line);
  if (!isTrailer(trailer))
    throw new StartupError("The file is damaged: a line is neither a row nor the trailer");
  return trailer;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    throw new StartupError("The file is not a tenant's export, or it is damaged: a line is not JSON");
  }
}

/** What a file says of itself, once each row was read. Throws StartupError unless it is whole. */
export async function summaryOf(
  lines: AsyncIterable<string>,
  each: (table: string, row: string) => void,
): Promise<{ header: Header; trailer: Trailer }> {
  const sum = createHash("sha256");
  let header: Header | undefined;
  let trailer: Trailer | undefined;
  for await (const text of lines) {
    if (trailer && text !== "") throw new StartupError(GOES_ON);
    const [, table, row] = ROW.exec(text) ?? [];
    if (!header) header = headerFrom(text);
    else if (table !== undefined) each(JSON.parse(table) as string, row!);
    else if (!trailer) trailer = trailerFrom(text);
    if (!trailer) sum.update(`${text}\n`);
  }
  if (!header || !trailer) throw new StartupError(CUT_OFF);
  if (sum.digest("hex") !== trailer.sha256) throw new StartupError(CHANGED);
  return { header, trailer };
}

/** The lines of a stream. node:readline would also split at U+2028, inside JSON strings. */
export async function* linesOf(input: AsyncIterable<Buffer | string>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (bytes: Uint8Array, stream: boolean, fault: string) => {
    try {
      return decoder.decode(bytes, { stream });
    } catch {
      throw new StartupError(fault);
    }
  };
  let rest = "";
  for await (const chunk of input) {
    const text = decode(
      Buffer.from(chunk),
      true,
      "The file is not a tenant's export, or damaged: it is not UTF-8",
    );
    const lines = text.split("\n");
    lines[0] = rest + lines[0]!;
    rest = lines.pop()!;
    yield* lines;
  }
  rest += decode(new Uint8Array(), false, CUT_OFF);
  if (rest !== "") yield rest;
}
