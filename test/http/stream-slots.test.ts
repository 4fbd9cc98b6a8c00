/** A stream's place is free again however its client, or the service, goes. */
import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { after, test } from "node:test";
import { lockWaiters, until } from "../until.ts";
import { createWorld, operator } from "./world.ts";

const world = await createWorld();
const { sql } = world.database;
const { app } = world.service;
await app.listen({ port: 0, host: "127.0.0.1" });
const { port } = app.server.address() as { port: number };
after(() => world.end());

/** Asks for a stream; `text` is what came so far. */
function ask(token: string): { socket: Socket; text: () => string } {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.on("data", bytes => {
    text += bytes.toString("latin1");
  });
  socket.on("error", () => {});
  socket.write(
    `GET /api/setup/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${token}\r\n\r\n`,
  );
  return { socket, text: () => text };
}

test("a client that leaves before its stream begins keeps no place", async () => {
  const boss = await operator();
  await sql.begin(async gate => {
    await gate`lock table control.tenant_events`;
    const clients = Array.from({ length: 5 }, () => ask(boss));
    await lockWaiters(sql, 1); // short reads share a connection
    await until("all five are asked", () => app.inFlight.length === 5);
    for (const { socket } of clients) socket.destroy();
    const left = () => world.service.logs.filter(({ msg }) => msg === "client left").length;
    await until("the service knows", () => left() === 5);
  });
  await until("all looks have ended", () => app.inFlight.length === 0);
  assert.equal(app.streams, 0);
  const again = ask(boss);
  await until("another stream begins", () => again.text().includes("event-stream"));
  again.socket.destroy();
  await until("its place is free", () => app.streams === 0);
});

test("a stream that would begin while the service stops is refused, and the service ends", async () => {
  const boss = await operator();
  let closed: Promise<void> | undefined;
  const client = await sql.begin(async gate => {
    await gate`lock table control.tenant_events`;
    const waiting = ask(boss);
    await lockWaiters(sql, 1);
    closed = world.service.close();
    await until("it stops", () => !app.server.listening);
    return waiting;
  });
  await closed;
  await until("its connection has ended", () => client.socket.closed);
  assert.match(client.text(), /^HTTP\/1\.1 503 /);
  assert.equal(app.streams, 0);
});
