/**
 * `npm run bench [-- --quick] [-- --only=http,fairness,rls,growth,deletion,audit,context]`: starts what it needs, prints figures and the
 * ratios that the project is held to, and after a full run of all groups keeps them in docs/.
 */
import { auditBench } from "./audit.ts";
import { contextBench } from "./context.ts";
import { startBenchServer } from "./database.ts";
import { deletionBench } from "./deletion.ts";
import { fairSharesBench } from "./fair-shares.ts";
import { fairnessBench } from "./fairness.ts";
import { growthBench } from "./growth.ts";
import { httpBench } from "./http.ts";
import { ratiosOf } from "./ratios.ts";
import { type Figure, report } from "./report.ts";
import { rlsBench } from "./rls.ts";

const GROUPS = {
  http: httpBench,
  rls: rlsBench,
  growth: growthBench,
  deletion: deletionBench,
  audit: auditBench,
  context: contextBench,
  fairness: async (...args: Parameters<typeof fairnessBench>) => [
    ...(await fairnessBench(...args)),
    ...(await fairSharesBench(...args)),
  ],
};
const options = process.argv.slice(2);
const quick = options.includes("--quick");
const only = options
  .find(one => one.startsWith("--only="))
  ?.slice("--only=".length)
  .split(",");
const unknown = [
  ...options.filter(one => !/^--(quick$|only=)/.test(one)),
  ...(only ?? []).filter(name => !(name in GROUPS)),
];
if (unknown.length > 0) {
  console.error(
    `Unknown: ${unknown.join(" ")}. There are --quick and --only=${Object.keys(GROUPS).join(",")}`,
  );
  process.exit(2);
}

const start = Date.now();
const server = await startBenchServer();
try {
  const figures: Figure[] = [];
  for (const [name, bench] of Object.entries(GROUPS)) {
    if (only && !only.includes(name)) continue;
    console.error(`${name} …`);
    const began = Date.now();
    figures.push(...(await bench(server, { quick })));
    console.error(`  ${Math.round((Date.now() - began) / 1000)} s`);
  }
  report(figures, ratiosOf(figures), {
    run: quick ? "quick" : only ? "partial" : "full",
    seconds: (Date.now() - start) / 1000,
  });
} finally {
  await server.stop();
}
