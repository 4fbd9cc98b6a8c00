import { connect, createServer, type Server, type Socket } from "node:net";

/** A wire between the service and Postgres that counts, cuts, freezes and refuses. */
export interface Wire {
  /** The given address, through the wire. */
  url: string;
  /** Round trips of the client since the last call: every Sync and every simple query. */
  trips(): number;
  /** Ends every connection, as a crash of the server or of the network does. */
  cut(): void;
  /** The same by a reset: each side reads an error instead of an end. */
  reset(): void;
  /** true: drops all bytes in both directions, silently. */
  freeze(frozen: boolean): void;
  /** true: refuses new connections. */
  refuse(refusing: boolean): void;
  /** New connections go to this address, as when DNS points to another server. */
  lead(address: string): void;
  close(): Promise<void>;
}

export async function startWire(address: string, at = 0): Promise<Wire> {
  let target = new URL(address);
  const sockets = new Set<Socket>();
  let trips = 0;
  let refusing = false;
  let frozen = false;

  const server: Server = createServer(client => {
    if (refusing) return void client.destroy();
    const upstream = connect(Number(target.port), target.hostname);
    const isPostgres = target.protocol.startsWith("postgres");
    const trip = () => {
      trips += 1;
    };
    const count = isPostgres ? countTrips(trip) : () => {};
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("data", bytes => {
        if (frozen) return;
        if (from === client) count(bytes);
        to.write(bytes);
      });
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>(resolve => server.listen(at, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: Object.assign(new URL(address), { hostname: "127.0.0.1", port: String(port) }).href,
    trips: () => {
      const counted = trips;
      trips = 0;
      return counted;
    },
    cut,
    reset: () => {
      for (const socket of sockets) socket.resetAndDestroy();
    },
    freeze: value => {
      frozen = value;
    },
    refuse: value => {
      refusing = value;
    },
    lead: address => {
      target = new URL(address);
    },
    close: () => {
      cut();
      return new Promise(resolve => server.close(() => resolve()));
    },
  };
}

/** Reads the frames that a Postgres client sends: a startup message, then a type byte and a length each. */
function countTrips(trip: () => void): (bytes: Buffer) => void {
  let buffer = Buffer.alloc(0);
  let started = false;
  return bytes => {
    buffer = Buffer.concat([buffer, bytes]);
    for (;;) {
      const header = started ? 1 : 0;
      if (buffer.length < header + 4) return;
      const length = header + buffer.readInt32BE(header);
      if (buffer.length < length) return;
      if (started && ["S", "Q"].includes(String.fromCharCode(buffer[0]!))) trip();
      started = true;
      buffer = buffer.subarray(length);
    }
  };
}
