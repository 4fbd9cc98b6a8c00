import { spawnSync } from "node:child_process";
import { serverEnv } from "./cluster.ts";
import { readFileIfThere } from "./files.ts";

/** When a process started, in the system's own unit; "" if there is no such process. */
export function startOf(pid: number): string {
  // The 22nd field; the second one is the name in parentheses and may itself hold spaces.
  if (process.platform === "linux")
    return readFileIfThere(`/proc/${pid}/stat`)?.split(") ").pop()?.split(" ")[19] ?? "";
  return ps(pid, "lstart=");
}

export const commandOf = (pid: number): string =>
  process.platform === "linux"
    ? (readFileIfThere(`/proc/${pid}/cmdline`) ?? "").replaceAll("\0", " ")
    : ps(pid, "command=");

/** Every caller must get the same text: independent of time zone and locale, and with the whole command line. */
const ps = (pid: number, field: string) =>
  spawnSync("ps", ["-ww", "-o", field, "-p", String(pid)], {
    encoding: "utf8",
    env: serverEnv,
  }).stdout.trim();
