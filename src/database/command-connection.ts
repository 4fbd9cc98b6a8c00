/** A command's connection to the database. */
import { once } from "node:events";
import net from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import postgres from "postgres";
import { CLOSED, FOREIGN } from "./connection-errors.ts";
import { databaseOf, parseUrl } from "./url.ts";

// Set in a shell for other tools, they make the drivers refuse every address, or start a replication session.
for (const name of ["PGTARGETSESSIONATTRS", "PGSSLNEGOTIATION", "PGREPLICATION"]) delete process.env[name];

/** Undoes what a database or a login may set for requests, and what would change results. */
export const UNHURRIED = {
  statement_timeout: 0,
  lock_timeout: 0,
  idle_session_timeout: 0,
  idle_in_transaction_session_timeout: 0,
  row_security: true,
  quote_all_identifiers: false,
} as const;

/** postgres.js, made to read an address as node-postgres does; they differ in four things. */
export function connect(url: string, options: postgres.Options<Record<string, never>> = {}): postgres.Sql {
  const { hostname = "", port = "", searchParams } = parseUrl(url) ?? {};
  const mode = searchParams?.get("sslmode");
  // Every other sslmode verifies the certificate.
  const tls = !!mode && mode !== "disable" && { rejectUnauthorized: mode !== "no-verify" };
  return postgres(url, {
    max: 1,
    onnotice: () => {},
    connect_timeout: 10,
    fetch_types: false,
    database: databaseOf(url),
    ssl: false, // openSocket does TLS
    // As arrays, which the types do not know: the driver cuts a string at the first colon, in the middle of an IPv6 address.
    ...(hostname.startsWith("[") &&
      ({ host: [hostname.slice(1, -1)], port: [Number(port || 5432)] } as object)),
    ...({ socket: (at: Address) => openSocket(at, tls) } as object),
    ...options,
    // As strings: the driver leaves out 0 and false.
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
 * Opens the socket, with TLS, for the driver, and turns the end of a connection into an error. On a mere end the driver reconnects
 * without end if the session has not begun (a tunnel that leads nowhere), and in a transaction it writes to the closed socket,
 * which ends the process. The driver's own TLS (tried with 3.4.9) keeps these faults, so TLS is done here.
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
      ? // For an IP address no server name is sent; without `host` Node would verify the certificate for localhost.
        endsInFault(
          connectTls({ ...tls, socket: await offered(plain), host: at, servername: net.isIP(at) ? "" : at }),
        )
      : plain;
    let heard = false;
    const emit = (event: string, ...rest: unknown[]) => {
      const foreign = event === "data" && !heard && foreignWords(rest[0] as Buffer);
      if (foreign) return socket.destroy(fault("CONNECTION_FOREIGN", foreign));
      heard ||= event === "data";
      // On a close with an error the driver does not reject queries sent in the meantime, which would wait for ever.
      return net.Socket.prototype.emit.apply(socket, [
        event,
        ...(event === "close" ? [false] : rest),
      ] as never);
    };
    return Object.assign(socket, { emit, host: at, port: port[0]! }); // the driver's errors name them
  } catch (error) {
    plain.destroy();
    // If this function threw, the driver would wait for ever. The error comes at the first write: before it, the unsent startup
    // message would precede the one of the next connection.
    const write = (_chunk: unknown, _encoding: unknown, done: (error: Error) => void) => done(error as Error);
    return new Duplex({ read() {}, write }) as net.Socket;
  }
}

const fault = (code: string, message: string) => Object.assign(new Error(message), { code });

/** Why a server's first bytes are not Postgres's; on such bytes the driver would wait for more, or end the process. */
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

/** The socket, once the server has accepted TLS. */
async function offered(socket: net.Socket): Promise<net.Socket> {
  socket.write(Buffer.from("0000000804d2162f", "hex"));
  if (String(await firstOf(socket, "data")) !== "S")
    throw new Error("The server does not support SSL connections");
  return socket;
}

/** Runs `work` on a connection and closes it. */
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
