/** What adopt.json answers, beside the audit's profile that it holds. Null: a question that is open. */
import { Ajv } from "ajv";
import { StartupError } from "../errors/startup-error.ts";

export const TABLE_ANSWERS = {
  required: "its rows without a tenant are a fault: the column becomes NOT NULL",
  shared: "every tenant reads all of it, and none writes it",
  people: "a tenant reads the rows of its own members",
  closed: "requests of tenants have no right on it",
} as const;
export type TableAnswer = keyof typeof TABLE_ANSWERS;

export const KEY_ANSWERS = {
  tenant: "two tenants may have the same value: a unique key that begins with the tenant is added",
  world: "one tenant has a value in the whole system, and others may learn that it is taken",
} as const;
export type KeyAnswer = keyof typeof KEY_ANSWERS;

export interface Answers {
  /** The role that requests of tenants act as. */
  role?: string;
  /** SQL over a row t of the tenants' table: what app.tenants has of it. */
  name?: string;
  slug?: string;
  tables?: Record<string, TableAnswer | null>;
  keys?: Record<string, KeyAnswer | null>;
  /** Logins of the old application that go on seeing every row, and the last day on which they may. */
  bridges?: Record<string, string>;
}

const text = { type: "string", minLength: 1 } as const;
const answers = (of: object) => ({
  type: "object",
  additionalProperties: { enum: [...Object.keys(of), null] },
});
const validate = new Ajv({ allErrors: true, allowUnionTypes: true }).compile<Answers>({
  type: "object",
  additionalProperties: false,
  properties: {
    role: text,
    name: text,
    slug: text,
    tables: answers(TABLE_ANSWERS),
    keys: answers(KEY_ANSWERS),
    bridges: { type: "object", additionalProperties: { type: "string", pattern: "^\\d{4}-\\d\\d-\\d\\d$" } },
  },
});

/** @throws StartupError with all that is wrong with them */
export function answersIn(file: string, given: unknown): Answers {
  if (validate(given)) return given;
  const faults = validate.errors!.map(({ instancePath, message, params }) => {
    const allowed = (params as { allowedValues?: unknown[] }).allowedValues;
    return `adopt${instancePath} ${allowed ? `is one of ${allowed.map(value => JSON.stringify(value)).join(", ")}` : message}`;
  });
  throw new StartupError(`${file}: ${faults.join("; ")}`);
}
