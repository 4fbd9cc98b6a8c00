import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import net, { type AddressInfo } from "node:net";
import { test } from "node:test";
import { type Connection, Connections } from "../../src/admission/connections.ts";
import { until } from "../until.ts";

/** A server that answers nothing, with at most so many connections; `ask` opens one, and `left` lists what was told to have left. */
async function served(t: import("node:test").TestContext, most?: number) {
  const server = createServer(() => {});
  const left: string[] = [];
  const connections = new Connections<string>(server, entry => void left.push(entry), most);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const clients: net.Socket[] = [];
  t.after(() => {
    for (const client of clients) client.destroy();
    server.close();
  });
  const ask = async (): Promise<{ client: net.Socket; connection: Connection<string> }> => {
    const before = connections.accepted;
    const client = net.connect(port, "127.0.0.1").on("error", () => {});
    clients.push(client);
    await until("it is accepted", () => connections.accepted > before);
    return {
      client,
      connection: connections.all.find(({ socket }) => socket.remotePort === client.localPort)!,
    };
  };
  return { server, connections, left, ask };
}

test("a connection that closes gives back its place, and tells of each request without an answer once", async t => {
  const { connections, left, ask } = await served(t);
  const [one, two, three] = [await ask(), await ask(), await ask()];
  assert.deepEqual(
    connections.all.map(({ at }) => at),
    [0, 1, 2],
  );
  one!.connection.unanswered.push("first", "second");
  one!.client.destroy();
  await until("it has gone", () => connections.all.length === 2);
  assert.deepEqual(left, ["first", "second"]);
  assert.deepEqual(connections.all, [three!.connection, two!.connection]);
  assert.deepEqual(
    connections.all.map(({ at }) => at),
    [0, 1],
  );
  assert.equal(connections.of(two!.connection.socket), two!.connection);
});

test("beyond the most one ends that has no valid token and waits for no answer", async t => {
  const { connections, ask } = await served(t, 3);
  const [known, busy, idle] = [await ask(), await ask(), await ask()];
  known!.connection.known = true;
  busy!.connection.unanswered.push("a request");
  const next = await ask();
  await until("one has ended", () => connections.all.length === 3);
  assert.ok(idle!.connection.socket.destroyed);
  for (const one of [known!, busy!, next]) assert.ok(!one.connection.socket.destroyed);
});

test("a time-out ends a connection without a request, and one whose client does not read, but no other", async t => {
  const { server, ask } = await served(t);
  const [idle, busy, unread] = [await ask(), await ask(), await ask()];
  busy!.connection.unanswered.push("a request");
  unread!.connection.unanswered.push("a request");
  Object.defineProperty(unread!.connection.socket, "writableLength", { value: 1 });
  for (const { connection } of [idle!, busy!, unread!]) server.emit("timeout", connection.socket);
  assert.deepEqual(
    [idle!, busy!, unread!].map(({ connection }) => connection.socket.destroyed),
    [true, false, true],
  );
});
