/** The JSON Schema of tenants' settings (SERVICE_TENANT_SETTINGS_SCHEMA). */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { Shares } from "../admission/shares.ts";
import type { Row } from "../database/database.ts";
import { BY_SQLSTATE, Problem } from "../errors/errors.ts";
import { SQLSTATE } from "../errors/sqlstates.ts";
import { StartupError } from "../errors/startup-error.ts";
import type { FieldError } from "../values/field-errors.ts";
import { invalid } from "./json-body.ts";
import { compileSettings, keysOf, TOO_MUCH, WRITABLE } from "./settings-validator.ts";

export interface SettingsSchema {
  /** As the file has it; null without one. */
  readonly schema: object | null;
  /** Top-level keys that a tenant's owners and admins may change. */
  readonly writable: string[];
  /**
   * `settings` as JSON. Tenants take turns, one after the other each.
   * @throws Problem 422 for settings that break the schema
   */
  check(tenant: string, settings: string): Promise<void>;
  /** One change of a tenant's settings after the other: each validates what the one before has left. */
  inTurn<T>(tenant: string, change: () => Promise<T>): Promise<T>;
  /** Starts the thread that validates. */
  open(): Promise<void>;
  close(): Promise<void>;
}

const VARIABLE = "SERVICE_TENANT_SETTINGS_SCHEMA";

/** A validation ends after so long. A megabyte of settings takes a usual schema a tenth of it. */
const LIMIT_MS = 300;
const MOST_MEGABYTES = 128;
const NONE: SettingsSchema = {
  schema: null,
  writable: [],
  check: async () => {},
  inTurn: (_tenant, change) => change(),
  open: async () => {},
  close: async () => {},
};

/** @throws StartupError one sentence that names the file and its fault */
export function loadSettingsSchema(path: string | null): SettingsSchema {
  if (path === null) return NONE;
  const fault = (said: string) => new StartupError(`${VARIABLE}: ${path} ${said}`);
  const schema = parse(path, fault);
  try {
    compileSettings(schema);
  } catch (error) {
    throw fault(`is not a JSON Schema 2020-12: ${(error as Error).message.replaceAll("\n", " ")}`);
  }
  if ("$async" in schema) throw fault("must not be asynchronous ($async)");
  const properties = Object.entries((schema as { properties?: Record<string, unknown> }).properties ?? {});
  const writable = properties.flatMap(([name, one]) =>
    (one as Record<string, unknown> | null)?.[WRITABLE] === true ? [name] : [],
  );
  if (
    keysOf(schema).filter(key => key === WRITABLE).length >
    properties.filter(([, one]) => isMarked(one)).length
  )
    throw fault(`has ${WRITABLE} elsewhere than in a property of the settings, where it has no effect`);
  const thread = new ValidationThread(schema);
  const changes = new Shares(Number.MAX_SAFE_INTEGER);
  return {
    schema,
    writable,
    async check(tenant, settings) {
      const found = await thread.faultsOf(tenant, settings);
      if (found.length > 0) throw invalid(found);
    },
    inTurn: (tenant, change) => changes.run(tenant, 1, 1, change),
    open: () => thread.open(),
    close: () => thread.close(),
  };
}

const isMarked = (value: unknown) => typeof value === "object" && value !== null && WRITABLE in value;

function parse(path: string, fault: (said: string) => Error): object {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    throw fault(`cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    throw fault(`is not valid JSON: ${(error as Error).message}`);
  }
  if (typeof schema !== "object" || schema === null || Array.isArray(schema))
    throw fault("must hold a JSON object");
  return schema;
}

/** Node 20 does not run a thread's TypeScript by the loader of the process. */
function threadFile(): URL {
  if (!import.meta.url.endsWith(".ts")) return new URL("./settings-worker.js", import.meta.url);
  const [tsx, file] = ["tsx/esm/api", "./settings-worker.ts"].map(name =>
    JSON.stringify(import.meta.resolve(name)),
  );
  const code = `import { register } from ${tsx}; register(); await import(${file});`;
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}

interface Asked {
  resolve(found: FieldError[]): void;
  reject(error: Error): void;
}

class ValidationThread {
  readonly #turns = new Shares(1);
  #worker: Worker | null = null;
  /** One at a time, so that each message answers it. */
  #asked: Asked | null = null;

  constructor(readonly schema: object) {}

  faultsOf(tenant: string, settings: string): Promise<FieldError[]> {
    return this.#turns.run(tenant, 1, 1, async () => {
      if (!this.#worker) await this.open(); // it ended for want of memory
      const worker = this.#worker!;
      worker.ref();
      const found = new Promise<FieldError[]>((resolve, reject) => {
        this.#asked = { resolve, reject };
        worker.postMessage(settings);
      });
      // `vm` ends the validation; this ends a thread that hangs before or after it.
      const late = setTimeout(() => void worker.terminate(), 20 * LIMIT_MS);
      return found.finally(() => {
        clearTimeout(late);
        worker.unref();
      });
    });
  }

  async open(): Promise<void> {
    const worker = new Worker(threadFile(), {
      workerData: { schema: this.schema, limitMs: LIMIT_MS },
      resourceLimits: { maxOldGenerationSizeMb: MOST_MEGABYTES },
    });
    const ended = () => new Error("the thread that validates settings has ended");
    await Promise.race([
      once(worker, "message"),
      once(worker, "exit").then(() => {
        throw ended();
      }),
    ]);
    worker.on("message", (found: FieldError[]) => this.#asked?.resolve(found));
    worker.on("error", (error: NodeJS.ErrnoException) =>
      error.code === "ERR_WORKER_OUT_OF_MEMORY" ? this.#asked?.resolve(TOO_MUCH) : this.#asked?.reject(error),
    );
    worker.on("exit", () => {
      this.#worker = null;
      this.#asked?.reject(ended());
    });
    worker.unref(); // an idle thread keeps no process
    this.#worker = worker;
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }
}

/** A change between two of our looks comes from another instance, or from an operator beside the tenant's admin. */
const MOST_TRIES = 5;

/**
 * The database merges under the lock of the row, and this process validates the result. If another change comes between, the database
 * writes nothing and returns the new result.
 */
export async function writeValidated(
  schema: SettingsSchema,
  /** Known once the first write has resolved the request. */
  tenantOf: () => string,
  write: (validated: string | null) => Promise<Row>,
): Promise<Row> {
  // Outside of the turn: this shows whether the caller may change the tenant at all.
  let row = await write(null);
  if (row.status !== "unvalidated") return row;
  const tenant = tenantOf();
  return schema.inTurn(tenant, async () => {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const settings = row.body;
      await schema.check(tenant, settings);
      row = await write(settings);
      if (row.status !== "unvalidated") return row;
    }
    throw new Problem(...BY_SQLSTATE[SQLSTATE.lock_not_available]!);
  });
}
