/**
 * A thread that validates settings: the operator's schema decides how much work a tenant's settings make, and the event loop must not
 * do it. `vm` ends what takes too long, a regular expression too; the thread goes on.
 */
import { Script } from "node:vm";
import { parentPort, workerData } from "node:worker_threads";
import { compileSettings, TOO_MUCH } from "./settings-validator.ts";

const { schema, limitMs } = workerData as { schema: object; limitMs: number };
const settingsOf = compileSettings(schema);

const call = new Script("work()");
/** Undefined: it took too long, or a recursive schema was too deep for the stack. */
function limited<T>(work: () => T): T | undefined {
  Object.assign(globalThis, { work });
  try {
    return call.runInThisContext({ timeout: limitMs }) as T;
  } catch {
    return undefined;
  }
}

parentPort!.postMessage("ready");
parentPort!.on("message", (text: string) => {
  const settings: unknown = JSON.parse(text);
  const valid = limited(() => settingsOf.isValid(settings));
  // The list of all faults may take longer than the answer whether there is one.
  const found =
    valid === false ? (limited(() => settingsOf.faults(settings)) ?? settingsOf.firstFaults()) : [];
  parentPort!.postMessage(valid === undefined ? TOO_MUCH : found);
});
