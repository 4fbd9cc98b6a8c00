/** Runs `tenancy` as a person would: another process, with nothing of our environment but what is given. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** The compiled project. What is not compiled there is a link. */
export const built = path.resolve(import.meta.dirname, "..", "..");
export const projectRoot = path.dirname(realpathSync(path.join(built, "package.json")));

export interface Command {
  child: ChildProcess;
  /** What was printed so far. */
  stdout: string;
  stderr: string;
  /** Resolves with the exit status; null after a signal. */
  ended: Promise<number | null>;
  /** Resolves when standard output matches; rejects when the command ends before. */
  prints(pattern: RegExp): Promise<RegExpExecArray>;
}

type Environment = Record<string, string>;
const withOurs = (env: Environment) => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  TMPDIR: tmpdir(),
  ...env,
});

export function tenancy(
  args: string[],
  env: Environment = {},
  root = built,
  program = "dist/cli.js",
): Command {
  const child = spawn(process.execPath, [program, ...args], {
    cwd: root,
    env: withOurs(env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on("error", reject).on("close", resolve);
  });
  const command: Command = {
    child,
    stdout: "",
    stderr: "",
    ended,
    prints: pattern =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = pattern.exec(command.stdout);
          if (found) resolve(found);
        };
        child.stdout!.on("data", look);
        look();
        void ended.then(code =>
          reject(new Error(`ended with ${code} before ${pattern}: ${command.stdout}${command.stderr}`)),
        );
      }),
  };
  child.stdout!.setEncoding("utf8").on("data", text => {
    command.stdout += text;
  });
  child.stderr!.setEncoding("utf8").on("data", text => {
    command.stderr += text;
  });
  return command;
}

/** `tenancy` in a line of a shell, which begins with its arguments. */
export const inShell = (line: string, env: Environment) =>
  spawnSync("sh", ["-c", `"${process.execPath}" dist/cli.js ${line}`], {
    cwd: built,
    env: withOurs(env),
    encoding: "utf8",
  });

/** The command's end: status, and its words on standard error without the line end. */
export async function outcome(
  command: Command,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const code = await command.ended;
  return { code, stdout: command.stdout.trimEnd(), stderr: command.stderr.trimEnd() };
}

/** A folder of one's own that root's Postgres, another user, can pass through. */
export function makeFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "tms-cli-"));
  chmodSync(folder, 0o711);
  return folder;
}

/** The project in a folder of its own, with these migrations, 999990 and on, after its own. */
export function copyProject(...migrations: string[]): string {
  const folder = makeFolder();
  for (const name of ["dist", "db", ".gmrc", "package.json"])
    cpSync(path.join(built, name), path.join(folder, name), { recursive: true, dereference: true });
  symlinkSync(path.join(projectRoot, "node_modules"), path.join(folder, "node_modules"));
  const committed = path.join(folder, "db", "migrations", "committed");
  const last = readdirSync(committed).sort().at(-1)!;
  let previous = /^--! Hash: (\S+)/m.exec(readFileSync(path.join(committed, last), "utf8"))![1]!;
  for (const [i, text] of migrations.entries()) {
    const body = `${text.trim()}\n`;
    const hash = `sha1:${createHash("sha1").update(`${previous}\n${body}`).digest("hex")}`;
    const head = `--! Previous: ${previous}\n--! Hash: ${hash}\n--! Message: test\n\n`;
    writeFileSync(path.join(committed, `${999990 + i}-test.sql`), head + body);
    previous = hash;
  }
  return folder;
}
