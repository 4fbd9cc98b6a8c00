/** A command's connection to the database. */
import { once } from "node:events";
import net from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import postgres from "postgres";
import { CLOSED, FOREIGN } from "./connection-errors.ts";
import { databaseOf, parseUrl } from "./url.ts";

// A shell has them for other tools: with them the drivers refuse every address, or ask for a stream of changes.
for (const name of ["PGTARGETSESSIONATTRS", "PGSSLNEGOTIATION", "PGREPLICATION"]) delete process.env[name];

/** By this driver as by node-postgres, which reads addresses otherwise in four things. */
export function connect(url: string, options: postgres.Options<Record<string, never>> = {}): postgres.Sql {
  const { hostname = "", port = "", searchParams } = parseUrl(url) ?? {};
  const mode = searchParams?.get("sslmode");
  // Whatever else is said of TLS is verified.
  const tls = !!mode && mode !== "disable" && { rejectUnauthorized: mode !== "no-verify" };
  return postgres(url, {
    max: 1,
    onnotice: () => {},
    connect_timeout: 10,
    fetch_types: false,
    database: databaseOf(url),
    ssl: false, // ours, below
    // Its types know no lists; it would cut a host that is none at the first colon.
    ...(hostname.startsWith("[") &&
      ({ host: [hostname.slice(1, -1)], port: [Number(port || 5432)] } as object)),
    ...({ socket: (at: Address) => openSocket(at, tls) } as object),
    ...options,
    // It would leave out 0 and false.
    connection: Object.fromEntries(
      Object.entries(options.connection ?? {}).map(([name, value]) => [name, String(value)]),
    ),
  });
}

interface Address {
  path: string | false;
  host: string[];
  port: number[];
}

/**
 * The driver must hear of a connection's end as of a fault: of one that is not a session yet, as by a tunnel that leads nowhere, it
 * would ask again without end, and to one that was lost in a transaction it would write, and end the process. Its own TLS would
 * not listen.
 */
async function openSocket(
  { path, host, port }: Address,
  tls: false | { rejectUnauthorized: boolean },
): Promise<net.Socket> {
  const at = host[0]!;
  const plain = path ? net.connect(path) : net.connect(port[0]!, at);
  const endsInFault = (socket: net.Socket) =>
    socket.once("end", () => socket.destroy(fault("ECONNRESET", CLOSED))).on("error", () => {});
  try {
    endsInFault(plain);
    await firstOf(plain, "connect");
    const socket = tls
      ? // Of an address that is no name no server name is sent, and Node would verify the certificate as localhost's.
        endsInFault(
          connectTls({ ...tls, socket: await offered(plain), host: at, servername: net.isIP(at) ? "" : at }),
        )
      : plain;
    let heard = false;
    const emit = (event: string, ...rest: unknown[]) => {
      const foreign = event === "data" && !heard && foreignWords(rest[0] as Buffer);
      if (foreign) return socket.destroy(fault("CONNECTION_FOREIGN", foreign));
      heard ||= event === "data";
      // A close that tells of a fault, too, it takes for told, and what was asked in between would wait for ever.
      return net.Socket.prototype.emit.apply(socket, [
        event,
        ...(event === "close" ? [false] : rest),
      ] as never);
    };
    return Object.assign(socket, { emit, host: at, port: port[0]! }); // by these it tells of faults
  } catch (error) {
    plain.destroy();
    // One that is thrown would leave it waiting. Not before it writes: what it had still to write would go ahead of its next first message.
    const write = (_chunk: unknown, _encoding: unknown, done: (error: Error) => void) => done(error as Error);
    return new Duplex({ read() {}, write }) as net.Socket;
  }
}

const fault = (code: string, message: string) => Object.assign(new Error(message), { code });

/** What is wrong with a server's first words, of which the driver would wait for more, or end the process. */
function foreignWords(chunk: Buffer): string | undefined {
  const [type, length] = [String.fromCharCode(chunk[0]!), chunk.length < 5 ? 4 : chunk.readUInt32BE(1)];
  if (!"REN".includes(type) || length < 4 || length > 30_000) return FOREIGN;
  const asked = type === "R" && chunk.length >= 9 ? chunk.readUInt32BE(5) : 0;
  return [0, 3, 5, 10].includes(asked) ? undefined : "it asks for another login than one by password";
}

async function firstOf(socket: net.Socket, event: "connect" | "data"): Promise<unknown> {
  const signal = AbortSignal.timeout(10_000);
  const [first] = (await once(socket, event, { signal }).catch(error => {
    throw signal.aborted ? fault("CONNECT_TIMEOUT", "no answer in ten seconds") : error;
  })) as unknown[];
  return first;
}

/** The socket, when the server has said that it goes on with TLS. */
async function offered(socket: net.Socket): Promise<net.Socket> {
  socket.write(Buffer.from("0000000804d2162f", "hex"));
  if (String(await firstOf(socket, "data")) !== "S")
    throw new Error("The server does not support SSL connections");
  return socket;
}

/** What `work` gives, on a connection that ends with it. */
export async function onConnection<T>(
  url: string,
  work: (sql: postgres.Sql) => Promise<T>,
  options?: Parameters<typeof connect>[1],
): Promise<T> {
  const sql = connect(url, options);
  try {
    return await work(sql);
  } finally {
    await sql.end({ timeout: 5 });
  }
}
