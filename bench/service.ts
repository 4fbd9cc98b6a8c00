/** The service as it is, as a child process of the benchmark: configured by the environment. */
import { loadConfig } from "../src/config/config.ts";
import { startServer } from "../src/http/server.ts";

const { address } = await startServer(loadConfig(process.env).config);
process.on("message", () => process.send!({ cpu: process.cpuUsage() }));
process.send!({ address });
