/** Loaded before each file of a run: notes how long its process ran. */
import { appendFileSync } from "node:fs";

export interface Time {
  file: string;
  seconds: number;
  cpu: number;
}

const file = process.argv[1];
const notes = process.env.TMS_TEST_TIMES;
if (file?.endsWith(".test.js") && notes)
  process.on("exit", () => {
    const { user, system } = process.cpuUsage();
    const time: Time = { file, seconds: process.uptime(), cpu: (user + system) / 1e6 };
    appendFileSync(notes, `${JSON.stringify(time)}\n`);
  });
