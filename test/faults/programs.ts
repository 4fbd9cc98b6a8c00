/** Shared by the tests of poolers and replicas: programs beside the service, run as a user that they accept. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, chownSync, mkdtempSync, statSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { until } from "../until.ts";

interface Account {
  uid: number;
  gid: number;
}

/** The owner of a file, since Postgres and PgBouncer refuse to run as root. */
export function ownerOf(file: string): Account {
  const { uid, gid } = statSync(file);
  return { uid, gid };
}

export function accountOf(name: string): Account {
  const id = (flag: string) => Number(execFileSync("id", [flag, name], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

export function temporaryFolder(name: string, account?: Account): string {
  const folder = mkdtempSync(path.join(tmpdir(), `tms-${name}-`));
  chmodSync(folder, 0o700);
  if (account) chownSync(folder, account.uid, account.gid);
  return folder;
}

export interface Program {
  child: ChildProcess;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Resolves when the port answers; rejects with the output of a program that ends before. */
export async function startProgram(
  file: string,
  args: string[],
  port: number,
  account: Account | undefined,
): Promise<Program> {
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], ...account });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", text => (said += text));
  const ended = new Promise<void>(resolve => child.on("close", () => resolve()));
  const stop = async (signal: NodeJS.Signals = "SIGINT") => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await ended;
  };
  try {
    await until(`${path.basename(file)} listens on ${port}`, () => {
      if (child.exitCode !== null) throw new Error(`${path.basename(file)} ended`);
      return answers(port);
    });
  } catch (error) {
    await stop("SIGKILL");
    throw new Error(`${(error as Error).message}: ${said}`);
  }
  return { child, stop };
}

function answers(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const socket = net.connect(port, "127.0.0.1");
    const done = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once("connect", () => done(true)).once("error", () => done(false));
  });
}
