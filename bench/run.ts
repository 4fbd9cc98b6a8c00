import { startBenchServer } from "./database.ts";
import { httpBench } from "./http.ts";

const quick = process.argv.includes("--quick");
const server = await startBenchServer();
try {
  console.table(await httpBench(server, { quick }));
} finally {
  await server.stop();
}
