import { startBenchServer } from "./database.ts";
import { deletionBench } from "./deletion.ts";
import { growthBench } from "./growth.ts";
import { httpBench } from "./http.ts";
import { rlsBench } from "./rls.ts";

const GROUPS = { http: httpBench, rls: rlsBench, growth: growthBench, deletion: deletionBench };
const quick = process.argv.includes("--quick");
const only = process.argv.find(one => one.startsWith("--only="))?.slice(7).split(",");
const server = await startBenchServer();
try {
  for (const [name, bench] of Object.entries(GROUPS)) {
    if (only && !only.includes(name)) continue;
    const start = Date.now();
    console.table(await bench(server, { quick }));
    console.log(name, (Date.now() - start) / 1000, "s");
  }
} finally {
  await server.stop();
}
