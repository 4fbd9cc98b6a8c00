/** A command's connection to the database, and what goes wrong with it in one sentence. */
import { once } from "node:events";
import net from "node:net";
import { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import postgres from "postgres";
import { KINDS } from "./kinds.ts";
import { StartupError } from "./startup-error.ts";

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

const CLOSED = "it closed the connection";
const fault = (code: string, message: string) => Object.assign(new Error(message), { code });

const FOREIGN = "it does not answer as Postgres does";

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

function parseUrl(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}
export const userOf = (url: string) => decodeURIComponent(parseUrl(url)?.username ?? "");
export const databaseOf = (url: string) => decodeURIComponent(parseUrl(url)?.pathname.slice(1) ?? "");

/** @throws StartupError when the variable holds no address of a database */
export function requireAddress(text: string, variable: string): string {
  const { expects, parse } = KINDS.database;
  const address = parse(text);
  if (address === undefined) throw new StartupError(`${variable}: expected ${expects}`);
  return address;
}

/** The server is away, or the way to it; it may be back in a moment. */
export function isUnreachable(error: unknown): boolean {
  const { code = "", message = "" } = error as { code?: string; message?: string };
  return (
    /^(ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|CONNECT_TIMEOUT|CONNECTION_|57P0[123]|53300)/.test(
      code,
    ) || /^(timeout e|Connection terminated)/.test(message) // the driver gives these no code
  );
}

/** What a person is told of a server that is away. */
export class Unreachable extends StartupError {}

/** A fault of connecting becomes one sentence that names the variable to look at; a password never appears in it. */
export function explainDatabase(error: unknown, url: string, variable: string): unknown {
  if (error instanceof StartupError) return error;
  const { code = "", message, routine } = error as { code?: string; message: string; routine?: string };
  const { host = "?" } = parseUrl(url) ?? {};
  if (/does not support SSL|before secure TLS connection/.test(message)) {
    return new StartupError(
      `The database at ${host} (${variable}) offers no TLS: switch ssl on in the server, or leave sslmode out of the address`,
    );
  }
  if (/^(SELF_SIGNED_CERT|DEPTH_ZERO_|UNABLE_TO_|CERT_|ERR_TLS_|ERR_SSL_|HOSTNAME_MISMATCH)/.test(code)) {
    return new StartupError(
      `The certificate of the database at ${host} (${variable}) cannot be trusted: ${message}: ` +
        "address the host by the name in its certificate, and name a private CA's file in NODE_EXTRA_CA_CERTS",
    );
  }
  if (message.startsWith("unsupported startup parameter")) {
    return new StartupError(
      `The database at ${host} (${variable}) is behind a pooler (${message}): name the server's own address, which migrations and commands need`,
    );
  }
  const isForeign = message.startsWith("received invalid response"); // to node-postgres
  if (isForeign || isUnreachable(error)) {
    const fault = isForeign ? FOREIGN : code === "CONNECTION_CLOSED" ? CLOSED : message || code;
    return new Unreachable(`The database at ${host} (${variable}) cannot be reached: ${fault}`);
  }
  if (code === "28P01" || code === "28000") {
    return new StartupError(
      `The database at ${host} refuses ${userOf(url)}'s login (${variable}): ${message}${
        message.endsWith("no encryption") ? ": add ?sslmode=verify-full to the address" : ""
      }`,
    );
  }
  if (code === "3D000" && databaseOf(url) === "") return new StartupError(noDatabase(variable));
  if (code === "3D000") {
    return new StartupError(
      `The database ${databaseOf(url)} (${variable}) does not exist at ${host}: ${
        variable === "SERVICE_DATABASE_URL"
          ? "npm run migrate makes it"
          : "create it with owner tms_owner, or set ROOT_DATABASE_URL"
      }`,
    );
  }
  if (/^[0-9A-Z]{5}$/.test(code)) {
    const hint =
      userOf(url) === "tms_owner" ? ownerHint({ code, message }, url) : connectHint(routine, url, variable);
    return new StartupError(`The database at ${host} (${variable}) refused: ${message}${hint}`);
  }
  return error;
}

const noDatabase = (variable: string) => `${variable} names no database: expected ${KINDS.database.expects}`;

/**
 * The first migration writes the database's name without quotes, where `TMS` would be another database.
 * What is a word of SQL, the server must say.
 */
const PLAIN_NAME = /^[a-z_][a-z0-9_]{0,62}$/;
const notPlain = (variable: string) =>
  new StartupError(
    `${variable}: the database's name must be of lowercase letters, digits and _, begin with no digit, and be no word of SQL`,
  );

/** @throws StartupError where the address leaves the database to the driver's guess, or migrations could not name it */
export function requireDatabase(url: string, variable: string): void {
  if (databaseOf(url) === "") throw new StartupError(noDatabase(variable));
  if (!PLAIN_NAME.test(databaseOf(url))) throw notPlain(variable);
}

/** @throws StartupError where the server takes the database's name for a word of SQL */
export async function refuseKeyword(sql: postgres.Sql, url: string, variable: string): Promise<void> {
  const found = await sql`
    select from pg_catalog.pg_get_keywords()
    where word operator(pg_catalog.=) ${databaseOf(url)} and catcode operator(pg_catalog.<>) 'U'`;
  if (found.length > 0) throw notPlain(variable);
}

/** The server's part that refuses a login the right to connect: its words are of its language. */
export const NO_CONNECT = "CheckMyDatabase";

const connectHint = (routine: string | undefined, url: string, variable: string) =>
  routine === NO_CONNECT
    ? `: ${variable === "ROOT_DATABASE_URL" ? "name another database there, such as postgres, or " : ""}` +
      `grant connect on database ${databaseOf(url)} to ${userOf(url)};`
    : "";

/** What helps tms_owner where it may not do its work; "" where the words do not tell. */
export function ownerHint({ code, message }: { code?: string; message: string }, url: string): string {
  if (/^permission denied (for database|to set role "pg_database_owner")/.test(message)) {
    return (
      ": the database must be tms_owner's; its owner, or a superuser, gives it away: grant tms_owner to current_user; " +
      `alter database ${databaseOf(url)} owner to tms_owner; revoke tms_owner from current_user;`
    );
  }
  if (/^permission denied for schema (app|api|audit|control|graphile_migrate)$/.test(message))
    return ": as after a restore without owners or rights; the audit with a superuser's address tells, or restore again as docs/operations.md does";
  if (/^extension \S+ is not allow-listed/.test(message))
    return ": add PG_TRGM to the server's parameter azure.extensions, in the portal";
  if (/^(permission denied to set role|must be able to SET ROLE|must be member of role)/.test(message))
    return ": run db/roles.sql as an administrator, which gives tms_owner its roles";
  const reset = (setting: string) =>
    `${setting} may be set on the database (alter database ${databaseOf(url)} reset ${setting};), on tms_owner or in postgresql.conf`;
  if (code === "25006")
    return `: the server is a standby, or its settings make transactions read only; ${reset("default_transaction_read_only")}`;
  if (code === "55P03")
    return ": somebody holds the lock for longer than lock_timeout (of migrations: 60s, in .gmrc); try again when that transaction has ended";
  if (code === "57014" && message.includes("statement timeout")) return `: ${reset("statement_timeout")}`;
  if (code === "57014") return ": an administrator cancelled it; run it again";
  return "";
}
