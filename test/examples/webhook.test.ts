import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { createHmac, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { temporaryFolder } from "../folder.ts";
import { seedTenant, settled } from "../harness.ts";
import { createWorld, operator } from "../http/world.ts";

const world = await createWorld();
const { sql } = world.database;
const address = await world.service.app.listen({ host: "127.0.0.1", port: 0 });
const folder = temporaryFolder("webhook");
const key = randomBytes(32);
/** What arrived, and whether the receiver took it. */
const got: { id: string; type: string; slug: string; taken: boolean }[] = [];
let refuses = 0;
const receiver = createServer(async (request, response) => {
  let body = "";
  for await (const chunk of request) body += chunk;
  const { "webhook-id": id, "webhook-timestamp": at, "webhook-signature": signature } = request.headers;
  assert.equal(
    signature,
    `v1,${createHmac("sha256", key).update([id, at, body].join(".")).digest("base64")}`,
  );
  assert.ok(Math.abs(Date.now() / 1_000 - Number(at)) < 300);
  const { type, timestamp, data } = JSON.parse(body);
  assert.deepEqual([type, timestamp, id], [data.type, data.at, data.cursor]);
  const taken = refuses-- <= 0;
  got.push({ id: String(id), type, slug: data.tenant_slug, taken });
  response.writeHead(taken ? 204 : 503).end();
});
await new Promise<void>(resolve => receiver.listen(0, "127.0.0.1", resolve));
let worker: ChildProcess | undefined;
after(async () => {
  worker?.kill("SIGKILL");
  receiver.closeAllConnections();
  receiver.close();
  await world.end();
});

const start = async () => {
  worker = spawn(process.execPath, ["--import", "tsx", "examples/webhook/worker.ts"], {
    env: {
      ...process.env,
      SERVICE_URL: address,
      SERVICE_TOKEN: await operator(),
      WEBHOOK_URL: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`,
      WEBHOOK_SECRET: `whsec_${key.toString("base64")}`,
      CURSOR_FILE: path.join(folder, "cursor"),
    },
    stdio: ["ignore", "ignore", "pipe"],
  });
  return worker;
};
const until = async (condition: () => boolean) => {
  while (!condition()) await sleep(20);
};
const has = (slug: string) => got.some(one => one.slug === slug && one.taken);

test("the worker sends every event, signed, in order, again after a refusal, and goes on where it was killed", async () => {
  refuses = 2;
  await seedTenant(sql, { slug: "first" });
  const one = await start();
  await until(() => has("first"));
  assert.ok(got.length > 2);
  assert.deepEqual(
    new Set(got.slice(0, 3).map(({ id }) => id)).size,
    1,
    "the same event, under the same id, until it is taken",
  );
  one.kill("SIGKILL");
  await once(one, "exit");
  for (let n = 1; n <= 5; n++) await seedTenant(sql, { slug: `meanwhile-${n}` });
  await start();
  await until(() => has("meanwhile-5"));
  await seedTenant(sql, { slug: "last" });
  await until(() => has("last"));
  await settled(sql);
  const { body } = await world.service.request({
    url: "/api/setup/events?limit=1000",
    token: await operator(),
  });
  const ids = got.filter(({ taken }) => taken).map(({ id }) => id);
  assert.deepEqual(
    [...new Set(ids)],
    body.events.map((event: { cursor: string }) => event.cursor),
  );
  // Killed between a delivery and its cursor, the worker sends one event twice.
  assert.ok(ids.length <= body.events.length + 1);
});
