/** What one tenant's owner, or nobody's, keeps up: health checks and another tenant's member are answered all the same. */
import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { ask, attacksOf, begin, SETTINGS } from "../../bench/attacks.ts";
import { freePort } from "../../src/embedded/server.ts";
import { built, makeFolder, tenancy } from "../cli/command.ts";
import { createDatabase, seedTenant, seedUser, TEST_SECRET, token } from "../harness.ts";
import { until } from "../until.ts";

const HEALTH_MS = 300;
const TIMES = 5;
/** Below this no person tells a difference, and a scheduler's tick is most of it. */
const NOTHING_MS = 20;
/** A machine that does something else meanwhile may spoil one. */
const ROUNDS = 3;

const database = await createDatabase();
const attacks = attacksOf(1_000, `authorization: Bearer ${await token({ sub: "owner", tenant: "globex" })}`);
for (const slug of ["acme", "globex"]) {
  const tenant = await seedTenant(database.sql, { slug });
  // One a round: each has a rate limit of its own.
  for (let i = 0; slug === "acme" && i <= attacks.length * ROUNDS; i++)
    await seedUser(database.sql, tenant, { subject: `member-${i}` });
  const owner = await seedUser(database.sql, tenant, { subject: "owner", role: "owner" });
  await database.sql`
    insert into app.boards (tenant_id, owner_id, title)
    select ${tenant}, ${owner}, 'Board ' || n from generate_series(1, 20) n`;
}
const folder = makeFolder();
const schema = path.join(folder, "settings.json");
writeFileSync(schema, JSON.stringify(SETTINGS));
const port = await freePort();
const service = tenancy(["start"], {
  SERVICE_PORT: String(port),
  SERVICE_DATABASE_URL: database.urls.service,
  SERVICE_JWT_SECRET: TEST_SECRET,
  SERVICE_MULTI_TENANT_MODE: "true",
  SERVICE_LOG_LEVEL: "fatal",
  SERVICE_TENANT_SETTINGS_SCHEMA: schema,
});
after(async () => {
  service.child.kill("SIGTERM");
  await service.ended;
  await database.drop();
  rmSync(folder, { recursive: true });
});
let members = 0;
const member = async () =>
  `authorization: Bearer ${await token({ sub: `member-${members++}`, tenant: "acme" })}`;
const address = new URL(`http://127.0.0.1:${port}`);
await until("the service is ready", async () => {
  const answer = await fetch(new URL("/ready", address)).catch(() => undefined);
  return answer?.status === 200;
});
await ask(address, await member(), 2); // warms plans, caches and the compiler

for (const attack of attacks)
  test(attack.name, async () => {
    for (let round = 1; ; round++) {
      const asking = await member();
      const quiet = await ask(address, asking, 2);
      const end = await begin(attack, path.join(built, "bench/attack.js"), address);
      const { p95, healthMs, requests, refused } = await ask(address, asking, 2);
      await end();
      assert.ok(requests > 0);
      const most = TIMES * Math.max(quiet.p95, NOTHING_MS);
      if (refused === 0 && p95 <= most && healthMs <= HEALTH_MS) break;
      assert.ok(
        round < ROUNDS,
        `${refused} refused, p95 ${p95.toFixed()} ms of ${most.toFixed()}, health ${healthMs.toFixed()} ms`,
      );
    }
  });
