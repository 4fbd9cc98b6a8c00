/** The service as it is, as a child process of the benchmark: configured by the environment. */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { loadConfig } from "../src/config/config.ts";
import { startServer } from "../src/http/server.ts";
import { sampleProduct } from "../src/product/product.ts";

const { address } = await startServer(loadConfig(process.env).config, sampleProduct);
const delay = monitorEventLoopDelay({ resolution: 10 });
process.on("message", message => {
  if (message !== "delay") return process.send!({ cpu: process.cpuUsage() });
  // From the first question on: the monitor costs what others measure.
  process.send!({ delayMs: delay.max / 1e6 });
  delay.reset();
  delay.enable();
});
process.send!({ address });
