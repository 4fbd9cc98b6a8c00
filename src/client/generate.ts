/** TypeScript types from the service's own document: node --import tsx src/client/generate.ts http://127.0.0.1:3000 > api.ts */
import { argv, stdout } from "node:process";
import { pathToFileURL } from "node:url";

interface Schema {
  $ref?: string;
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  anyOf?: Schema[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  description?: string;
}
interface Parameter {
  $ref?: string;
  in: string;
  name: string;
  required?: boolean;
  schema: Schema;
}
interface Operation {
  operationId: string;
  summary: string;
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, { schema: Schema }> };
  responses: Record<string, { $ref?: string; content?: Record<string, { schema: Schema }> }>;
}
export interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema> };
}

const PLAIN: Record<string, string> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
  null: "null",
};

function type(schema: Schema): string {
  if (schema.$ref) return schema.$ref.split("/").at(-1)!;
  if ("const" in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map(value => JSON.stringify(value)).join(" | ");
  if (schema.anyOf) return schema.anyOf.map(type).join(" | ");
  if (schema.type === "array") return `Array<${type(schema.items ?? {})}>`;
  if (schema.type === "object") return object(schema);
  const names = [schema.type ?? []].flat().map(name => PLAIN[name] ?? "unknown");
  return names.join(" | ") || "unknown";
}

function object({ properties = {}, required = [], additionalProperties }: Schema): string {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const comment = schema.description ? `/** ${schema.description} */ ` : "";
    const key = /^\w+$/.test(name) ? name : JSON.stringify(name);
    return `${comment}${key}${required.includes(name) ? "" : "?"}: ${type(schema)};`;
  });
  if (fields.length === 0 && additionalProperties !== false) return "Record<string, unknown>";
  return fields.length < 3
    ? `{ ${fields.join(" ")} }`
    : `{\n  ${fields.join("\n").replaceAll("\n", "\n  ")}\n}`;
}

/** The source of a module: a type for every schema, `Operations` with what each takes and answers, and their addresses. */
export function generate(document: Document): string {
  const resolve = <T extends { $ref?: string }>(value: T): T =>
    value.$ref
      ? (value.$ref
          .slice(2)
          .split("/")
          .reduce<never>((at, key) => at[key] as never, document as never) as T)
      : value;
  const all = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method: method.toUpperCase(),
      ...operation,
    })),
  );

  const types = Object.entries(document.components.schemas).map(
    ([name, schema]) => `export type ${name} = ${type(schema)};`,
  );
  const operations = all.map(({ operationId, summary, parameters = [], requestBody, responses }) => {
    const given = parameters.map(resolve);
    const group = (place: string) => {
      const inside = given.filter(parameter => parameter.in === place);
      const required = inside.filter(parameter => parameter.required).map(({ name }) => name);
      const properties = Object.fromEntries(inside.map(({ name, schema }) => [name, schema]));
      if (inside.length === 0) return [];
      const key = { path: "params", query: "query", header: "headers" }[place];
      return `${key}${required.length > 0 ? "" : "?"}: ${object({ properties, required, additionalProperties: false })};`;
    };
    const body = requestBody && Object.values(requestBody.content)[0];
    const takes = [
      ...["path", "query", "header"].flatMap(group),
      ...(body ? [`body${requestBody!.required ? "" : "?"}: ${type(body.schema)};`] : []),
    ];
    const byType = new Map<string, string[]>();
    for (const [status, response] of Object.entries(responses)) {
      const [media, content] = Object.entries(resolve(response).content ?? {})[0] ?? [];
      const body = content ? (media === "application/json" ? type(content.schema) : "string") : "undefined";
      byType.set(body, [...(byType.get(body) ?? []), status]);
    }
    const answers = [...byType].map(([body, statuses]) => `Record<${statuses.join(" | ")}, ${body}>`);
    return `  /** ${summary} */
  ${operationId}: {
    takes: { ${takes.join(" ")} };
    answers: ${answers.join(" & ")};
  };`;
  });
  const choices = [
    ...Object.entries(document.components.schemas).flatMap(([name, schema]) =>
      schema.enum ? [`  ${name}: ${JSON.stringify(schema.enum)},`] : [],
    ),
    ...all.flatMap(({ operationId, parameters = [] }) => {
      const values = parameters
        .map(resolve)
        .flatMap(({ name, schema }) => (schema.enum ? [`${name}: ${JSON.stringify(schema.enum)}`] : []));
      return values.length > 0 ? [`  ${operationId}: { ${values.join(", ")} },`] : [];
    }),
  ].map(line => line.replaceAll('","', '", "'));
  const addresses = all.map(({ operationId, method, path, requestBody }) => {
    const [media] = Object.keys(requestBody?.content ?? {});
    const address = [method, path, ...(media && media !== "application/json" ? [media] : [])];
    return `  ${operationId}: ${JSON.stringify(address).replaceAll('","', '", "')},`;
  });
  return `// Generated from /openapi.json by generate.ts; not edited by hand.

${types.join("\n\n")}

export interface Operations {
${operations.join("\n")}
}

/** Where the API takes one of a few values: those of a type, and of an operation's parameters. */
export const choices = {
${choices.join("\n")}
} as const;

export const addresses = {
${addresses.join("\n")}
} as const;
`;
}

if (import.meta.url === pathToFileURL(argv[1] ?? "").href) {
  const answer = await fetch(new URL("/openapi.json", argv[2] ?? "http://127.0.0.1:3000"));
  stdout.write(generate((await answer.json()) as Document));
}
