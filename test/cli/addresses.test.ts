import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import path from "node:path";
import { after, test } from "node:test";
import { createSecureContext, TLSSocket } from "node:tls";
import { runAudit } from "../../src/audit/run.ts";
import { KINDS } from "../../src/config/kinds.ts";
import { connect as open } from "../../src/database/command-connection.ts";
import { explainDatabase } from "../../src/database/connection-errors.ts";
import { migrate } from "../../src/migrate/migrate.ts";
import { createDatabase, long } from "../harness.ts";
import { makeFolder, tenancy } from "./command.ts";

const database = await createDatabase();
after(() => database.drop());

const at = (url: string, pathname: string) => Object.assign(new URL(url), { pathname }).href;
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

async function listening(server: Server, host: string): Promise<number> {
  await new Promise<void>((resolve, reject) => server.on("error", reject).listen(0, host, resolve));
  return (server.address() as AddressInfo).port;
}

test("a database's name that the first migration could not write is refused before anything is made", async () => {
  const { owner, root } = database.urls;
  const sentence = /^DATABASE_URL: the database's name must be of lowercase letters, digits and _, /;
  for (const name of ["TMSX", "tms-prod", "tms.prod", "tms%2Dprod", "1st", "select"])
    await assert.rejects(migrate({ ownerUrl: at(owner, name), rootUrl: root }), { message: sentence }, name);
  await database.sql`create database "between" owner tms_owner`;
  try {
    await assert.rejects(migrate({ ownerUrl: at(owner, "between") }), { message: sentence });
  } finally {
    await database.sql`drop database "between" with (force)`;
  }
  const made = await database.sql`
    select datname from pg_database where datname in ('TMSX', 'tmsx', 'tms-prod', 'tms.prod', '1st', 'select')`;
  assert.deepEqual([...made], []);
});

test("a database that is not in UTF8 is refused", async () => {
  const name = `${database.name}_ascii`;
  await database.sql.unsafe(
    `create database ${name} owner tms_owner template template0 encoding 'SQL_ASCII' locale 'C'`,
  );
  try {
    await assert.rejects(migrate({ ownerUrl: at(database.urls.owner, name) }), {
      message:
        "The database must be encoded in UTF8, and this one is SQL_ASCII: see *Install the service in your database* in docs/guides/adopt.md",
    });
  } finally {
    await database.sql.unsafe(`drop database ${name} with (force)`);
  }
});

test("what is percent-encoded in the name of a database is decoded", async () => {
  const sql = open(at(database.urls.owner, database.name.replace("t", "%74")));
  const [row] = await sql`select current_database() as name`;
  await sql.end();
  assert.equal(row!.name, database.name);
});

test("an IPv6 address is one", async t => {
  const { hostname, port } = new URL(database.urls.owner);
  const sockets = new Set<Socket>();
  const proxy = createServer(client => {
    const server = connect(Number(port), hostname);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const)
      sockets.add(one.on("error", () => other.destroy()));
    client.pipe(server).pipe(client);
  });
  const ours = await listening(proxy, "::1").catch(() => undefined);
  if (ours === undefined) return t.skip("no IPv6 here");
  const url = database.urls.owner.replace(/@[^/]+/, `@[::1]:${ours}`);
  try {
    assert.deepEqual((await migrate({ ownerUrl: url })).applied, []);
  } finally {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  }
});

test("an address may say of TLS what both drivers understand alike, and nothing else", () => {
  const parse = (query: string) => KINDS.database.parse(`postgres://a:b@c/d${query}`) !== undefined;
  for (const query of ["", "?sslmode=verify-full", "?sslmode=no-verify", "?sslmode=disable"])
    assert.ok(parse(query), query);
  assert.equal(
    KINDS.database.parse("postgres://a:b@c/d?sslmode=require&application_name=x"),
    "postgres://a:b@c/d?sslmode=verify-full&application_name=x",
  );
  for (const query of [
    "?sslmode=prefer",
    "?sslmode=verify-full1", // node-postgres would use no TLS
    "?sslmode=xverify-full",
    "?sslmode=verify-full&sslmode=disable",
    "?ssl=true",
    "?sslrootcert=ca.pem",
    "?channel_binding=require",
    "?sslmode=no-verify&channel_binding=require",
    "?uselibpqcompat=true&sslmode=verify-full",
  ])
    assert.ok(!parse(query), query);
});

test("an address has one host: of several neither driver finds the primary, and commands would wait for ever", () => {
  for (const address of ["c,d/e", "c,d:5432/e", "c:5432,d:5432/e", "c/e?target_session_attrs=read-write"])
    assert.equal(KINDS.database.parse(`postgres://a:b@${address}`), undefined, address);
});

test("channel_binding, which neither driver has, is left out of an address whose server is verified", () => {
  for (const [query, left] of [
    ["?sslmode=require&channel_binding=require", "?sslmode=verify-full"],
    ["?channel_binding=require&sslmode=verify-full", "?sslmode=verify-full"],
    ["?sslmode=require&channel_binding=prefer&options=-c%20a=b", "?sslmode=verify-full&options=-c%20a=b"],
  ])
    assert.equal(KINDS.database.parse(`postgres://a:b@c/d${query}`), `postgres://a:b@c/d${left}`);
});

/** A server that ends the first connection as `end` does, and resets the others, which ends what would ask for ever. */
async function assertAskedOnce(
  end: (socket: Socket) => void,
  query: string,
  ask: (url: string) => unknown,
  fault = "it closed the connection",
) {
  let asked = 0;
  const server = createServer(socket => {
    socket.on("error", () => {});
    if (asked++ === 0) end(socket);
    else socket.resetAndDestroy();
  });
  const port = await listening(server, "127.0.0.1");
  const url = `postgres://tms_owner:x@127.0.0.1:${port}/tms${query}`;
  try {
    const error = await Promise.resolve(ask(url)).then(
      () => assert.fail("connected"),
      error => explainDatabase(error, url, "DATABASE_URL") as Error,
    );
    assert.deepEqual(
      [error.message, asked],
      [`The database at 127.0.0.1:${port} (DATABASE_URL) cannot be reached: ${fault}`, 1],
    );
  } finally {
    server.close();
  }
}

const ask = (url: string) => open(url)`select`;
/** Nobody need log in, and the server is ready. */
const SESSION = "R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
const afterStart = (socket: Socket) => socket.once("data", () => socket.end());
const inSession = (socket: Socket) => socket.once("data", () => afterStart(socket).write(SESSION));

test("a server that accepts and closes connections is tried once, and gives an error of one sentence", async () => {
  const atOnce = (socket: Socket) => socket.end();
  await assertAskedOnce(atOnce, "", ask);
  await assertAskedOnce(atOnce, "?sslmode=verify-full", ask);
  await assertAskedOnce(atOnce, "", url => runAudit(url, "DATABASE_URL", { sample: 1 }));
  for (const end of [afterStart, inSession]) await assertAskedOnce(end, "", ask);
});

test("a server that is no Postgres, or asks for no password, is one sentence at once", async () => {
  const foreign = "it does not answer as Postgres does";
  for (const [words, fault] of [
    ["J\0\0\0\n8.0.34\0", foreign], // MySQL
    ["HTTP/1.1 400 Bad Request\r\n\r\n", foreign],
    ["SSH-2.0-OpenSSH_9.2p1\r\n", foreign],
    ["R\0\0\0\0", foreign],
    ["R\0\0\0\x03\0\0\0\0", foreign],
    ["Eunsupported frontend protocol 3.0\n\0", foreign],
    ["R\0\0\0\x08\0\0\0\x07", "it asks for another login than one by password"], // GSSAPI
  ] as const)
    await assertAskedOnce(socket => void socket.write(words), "", ask, fault);
  const wrongProof = Buffer.from("R\0\0\0\x0e\0\0\0\x0bgarb\0\0", "latin1");
  const server = createServer(socket => {
    socket.once("data", () => {
      socket.write("R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0");
      socket.once("data", () => socket.write(wrongProof));
    });
    socket.on("error", () => {});
  });
  const port = await listening(server, "127.0.0.1");
  const audit = tenancy(["audit"], { DATABASE_URL: `postgres://tms_owner:x@127.0.0.1:${port}/tms` });
  assert.equal(await audit.ended, 2);
  server.close();
});

long(
  "a server that says nothing is given up after ten seconds, also where TLS is asked for",
  {
    timeout: 60_000,
  },
  async () => {
    const server = createServer(socket => socket.on("error", () => {}));
    const url = `postgres://tms_owner:x@127.0.0.1:${await listening(server, "127.0.0.1")}/tms`;
    const began = performance.now();
    const silent = ["", "?sslmode=no-verify"].map(query =>
      assert.rejects(async () => ask(url + query), { code: "CONNECT_TIMEOUT" }),
    );
    await Promise.all(silent);
    server.close();
    const seconds = (performance.now() - began) / 1000;
    assert.ok(seconds > 9 && seconds < 40, String(seconds));
  },
);

test("an address to which the system knows no way at once is a fault like one that takes longer", async () => {
  await assert.rejects(async () => ask("postgres://a:b@255.255.255.255:5/tms"), /^Error: connect E[A-Z]+ /);
});

/** A certificate for localhost that nobody trusts. */
function selfSigned() {
  const folder = makeFolder();
  const { context } = certificate(folder, "DNS:localhost");
  rmSync(folder, { recursive: true });
  return context;
}

function certificate(folder: string, subject: string) {
  const [key, cert] = ["key.pem", "cert.pem"].map(name => path.join(folder, name)) as [string, string];
  const words = [
    "-subj",
    "/CN=a",
    "-addext",
    `subjectAltName=${subject}`,
    "-days",
    "2",
    "-keyout",
    key,
    "-out",
    cert,
  ];
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", ...words], { stdio: "ignore" });
  return { cert, context: createSecureContext({ key: readFileSync(key), cert: readFileSync(cert) }) };
}

test("and so is one that closes them behind TLS", {
  skip: !hasOpenssl && "openssl is missing here",
}, async () => {
  const secureContext = selfSigned();
  const behindTls = (end: (socket: Socket) => void) => (socket: Socket) =>
    socket.once("data", () => {
      socket.write("S");
      end(new TLSSocket(socket, { isServer: true, secureContext }).on("error", () => {}));
    });
  const shaken = (socket: Socket) => socket.once("secure", () => socket.end());
  for (const end of [shaken, afterStart, inSession])
    await assertAskedOnce(behindTls(end), "?sslmode=no-verify", ask);
});

test("a server addressed by its number must have a certificate for that number", {
  skip: !hasOpenssl && "openssl is missing here",
}, async () => {
  for (const [subject, heard, sentence] of [
    [
      "IP:127.0.0.1",
      1,
      /^The database at 127\.0\.0\.1:\d+ \(DATABASE_URL\) cannot be reached: it closed the connection$/m,
    ],
    [
      "DNS:localhost",
      0,
      /^The certificate of the database at 127\.0\.0\.1:\d+ \(DATABASE_URL\) cannot be trusted: /m,
    ],
  ] as const) {
    const folder = makeFolder();
    const { cert, context: secureContext } = certificate(folder, subject);
    let secured = 0;
    const server = createServer(socket =>
      socket
        .on("error", () => {})
        .once("data", () => {
          socket.write("S");
          const tls = new TLSSocket(socket, { isServer: true, secureContext });
          tls.on("error", () => {}).on("data", () => tls.end(void secured++));
        }),
    );
    const port = await listening(server, "127.0.0.1");
    const command = tenancy(["events"], {
      DATABASE_URL: `postgres://tms_owner:x@127.0.0.1:${port}/tms?sslmode=verify-full`,
      NODE_EXTRA_CA_CERTS: cert,
    });
    assert.equal(await command.ended, 1);
    server.close();
    rmSync(folder, { recursive: true });
    assert.equal(secured, heard, subject);
    assert.match(command.stderr, sentence);
  }
});

test("a certificate that is not trusted, and a server without TLS, are one sentence with a remedy", {
  skip: !hasOpenssl && "openssl is missing here",
}, async () => {
  const secureContext = selfSigned();
  const words = "SFATAL\0C28000\0Mnot you\0\0";
  const refusal = Buffer.from(`E\0\0\0${String.fromCharCode(words.length + 4)}${words}`, "latin1");
  let refused = false;
  const secured: unknown[] = [];
  const server = createServer(socket => {
    socket
      .on("error", () => {})
      .once("data", () => {
        socket.write(refused ? "N" : "S");
        if (refused) {
          socket.on("data", () => socket.destroy());
          return;
        }
        const tls = new TLSSocket(socket, { isServer: true, secureContext });
        tls
          .on("error", () => {})
          .on("data", () => {
            secured.push((tls as { servername?: unknown }).servername);
            tls.end(refusal);
          });
      });
  });
  const port = await listening(server, "127.0.0.1");
  const fault = async (mode: string) => {
    const ownerUrl = `postgres://tms_owner:x@localhost:${port}/tms?sslmode=${mode}`;
    const error = await migrate({ ownerUrl }).then(
      () => assert.fail("connected"),
      error => error as Error,
    );
    return (explainDatabase(error, ownerUrl, "DATABASE_URL") as Error).message;
  };
  try {
    assert.match(
      await fault("verify-full"),
      /^The certificate of the database at localhost:\d+ \(DATABASE_URL\) cannot be trusted: .*self-signed certificate.*: address .*NODE_EXTRA_CA_CERTS$/,
    );
    assert.match(await fault("require"), /^The certificate of the database at /);
    assert.deepEqual(secured, [], "nothing was said to a server that is not trusted");
    assert.match(await fault("no-verify"), /refuses tms_owner's login .*: not you$/);
    assert.equal(secured[0], "localhost");
    refused = true;
    assert.match(
      await fault("verify-full"),
      /^The database at localhost:\d+ \(DATABASE_URL\) offers no TLS: /,
    );
  } finally {
    server.close();
  }
});
