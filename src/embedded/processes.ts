import { spawnSync } from "node:child_process";
import { readFileIfThere } from "./files.ts";

/** When a process started, in whatever unit the system has; "" when there is none. */
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

const ps = (pid: number, field: string) =>
  spawnSync("ps", ["-o", field, "-p", String(pid)], { encoding: "utf8" }).stdout.trim();
