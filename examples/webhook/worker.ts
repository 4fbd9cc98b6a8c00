/**
 * Sends each event to a URL, signed as https://www.standardwebhooks.com says. Every event arrives at least once and in order: a receiver
 * that does not answer 2xx gets the same event again. The only state is the cursor in a file.
 *
 *   SERVICE_URL=http://localhost:3000 SERVICE_TOKEN=… WEBHOOK_URL=https://example.com/hook WEBHOOK_SECRET=whsec_… \
 *     node --import tsx examples/webhook/worker.ts
 */
import { createHmac } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Event, EventPage } from "../../src/client/api.ts";
import { createClient } from "../../src/client/client.ts";

const {
  SERVICE_URL = "http://localhost:3000",
  // Of an operator; a tenant's own owner or admin, or a key of theirs, uses SERVICE_FEED=/api/tenants/events.
  SERVICE_TOKEN = "",
  SERVICE_FEED = "/api/setup/events",
  SERVICE_TENANT = "",
  WEBHOOK_URL = "",
  WEBHOOK_SECRET = "",
  CURSOR_FILE = "webhook-cursor",
} = process.env;
const key = Buffer.from(WEBHOOK_SECRET.replace(/^whsec_/, ""), "base64");
if (WEBHOOK_URL === "" || key.length < 24)
  throw new Error("Set WEBHOOK_URL, and WEBHOOK_SECRET to whsec_ and 24 bytes or more as base64");

const service = createClient({
  url: SERVICE_URL,
  token: SERVICE_TOKEN,
  tenant: SERVICE_TENANT || undefined,
  timeoutMs: 15_000,
});
const feeds: Partial<Record<string, "listEvents" | "listTenantEvents">> = {
  "/api/setup/events": "listEvents",
  "/api/tenants/events": "listTenantEvents",
};
const feed = feeds[SERVICE_FEED];
if (!feed) throw new Error(`SERVICE_FEED is one of ${Object.keys(feeds).join(", ")}`);
let cursor = existsSync(CURSOR_FILE) ? readFileSync(CURSOR_FILE, "utf8") : "";
for (;;) {
  const { events, cursor: next } = await retried("The feed", read);
  for (const event of events) {
    await retried(`Delivery of ${event.type} ${event.cursor}`, () => deliver(event));
    keep(event.cursor);
  }
  keep(next);
  if (events.length === 0) await sleep(1_000);
}

function read(): Promise<EventPage> {
  return service.call(feed!, { query: { after: cursor } });
}

async function deliver(event: Event): Promise<void> {
  const body = JSON.stringify({ type: event.type, timestamp: event.at, data: event });
  const timestamp = Math.floor(Date.now() / 1_000);
  const signature = createHmac("sha256", key).update(`${event.cursor}.${timestamp}.${body}`).digest("base64");
  const answer = await fetch(WEBHOOK_URL, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "webhook-id": event.cursor, // The same at each try, so that a receiver can tell a repetition.
      "webhook-timestamp": String(timestamp),
      "webhook-signature": `v1,${signature}`,
    },
    body,
    redirect: "manual",
    signal: AbortSignal.timeout(15_000),
  });
  await answer.body?.cancel();
  if (!answer.ok) throw new Error(`The receiver answered ${answer.status}`);
}

/** Waits longer after each failure, at most about five minutes. */
async function retried<T>(what: string, work: () => Promise<T>): Promise<T> {
  for (let wait = 500; ; wait = Math.min(2 * wait, 300_000)) {
    try {
      return await work();
    } catch (error) {
      console.error(`${what} failed, again in about ${wait / 1_000} s: ${(error as Error).message}`);
      await sleep(wait * (0.75 + Math.random() / 2));
    }
  }
}

/** A file of the same name takes its place at once: a crash leaves the old cursor or the new one. */
function keep(place: string): void {
  if (place === cursor) return;
  writeFileSync(`${CURSOR_FILE}.new`, place);
  renameSync(`${CURSOR_FILE}.new`, CURSOR_FILE);
  cursor = place;
}
