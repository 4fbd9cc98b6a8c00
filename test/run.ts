/**
 * `npm test [-- files or folders]`: compiles the project once, then suite.ts runs the tests. `--all` runs the long ones too,
 * `--all=5` with five times the rounds. A long file that is named runs without it.
 */
import { spawn } from "node:child_process";
import { readdirSync, rmSync, statSync } from "node:fs";
import path from "node:path";
import { stop as stopEsbuild } from "esbuild";
import { build, compiled, root } from "./build.ts";

async function main(): Promise<number> {
  const words = process.argv.slice(2);
  const all = words.map(word => /^--all(?:=(\d+))?$/.exec(word)).find(Boolean);
  const names = words.filter(word => !word.startsWith("--all"));
  const chosen = names.length > 0 ? names.flatMap(named) : testsIn(path.join(root, "test"));
  const files = chosen.filter(file => all || names.includes(file) || !file.endsWith(".long.test.ts"));
  const folder = await build();
  await stopEsbuild();
  const at = (file: string) => path.join(folder, compiled(path.resolve(file)));
  // Inherited by the process of each file.
  const options = ["--enable-source-maps", "--import", at(path.join(root, "test/times.ts"))];
  const args = [...options, at(path.join(root, "test/suite.ts")), ...files.map(at)];
  const env = { ...process.env, ...(all && { TMS_TEST_ALL: all[1] ?? "1" }) };
  const child = spawn(process.execPath, args, { stdio: "inherit", env });
  // Ctrl-C reaches the suite through the terminal; we stay to clean up after it.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => child.kill(signal));
  const ended = new Promise<number>((resolve, reject) =>
    child.on("error", reject).on("close", code => resolve(code ?? 1)),
  );
  return ended.finally(() => rmSync(folder, { recursive: true }));
}

const named = (name: string) => (statSync(name).isDirectory() ? testsIn(name) : [name]);

const testsIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter(name => name.endsWith(".test.ts"))
    .map(name => path.join(folder, name));

main().then(
  code => {
    process.exitCode = code;
  },
  error => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
