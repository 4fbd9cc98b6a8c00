/** HTTP as bytes on a socket, for requests that no client library sends. */
import { connect } from "node:net";
import { seedTenant, seedUser } from "../harness.ts";
import { person, type World } from "./world.ts";

interface Answer {
  status: number;
  headers: Record<string, string>;
  body: string;
}

/** Sends raw bytes; resolves with the first answer when it is whole, or when the server ends the connection. */
function exchange(port: number, pieces: (string | Buffer)[]): Promise<Answer> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => {
      for (const piece of pieces) socket.write(piece);
    });
    const finish = () => {
      socket.destroy();
      const [head, ...rest] = text.split("\r\n\r\n");
      const [first, ...lines] = head!.split("\r\n");
      const headers = Object.fromEntries(
        lines.map(line => [
          line.slice(0, line.indexOf(":")).toLowerCase(),
          line.slice(line.indexOf(":") + 2),
        ]),
      );
      resolve({ status: Number(first!.split(" ")[1]), headers, body: rest.join("\r\n\r\n") });
    };
    socket.setTimeout(60_000, () =>
      reject(new Error(`no answer to ${JSON.stringify(pieces[0]?.toString().slice(0, 80))}: ${text}`)),
    );
    socket.on("data", bytes => {
      text += bytes.toString("latin1");
      const length = /content-length: (\d+)/i.exec(text)?.[1];
      const at = text.indexOf("\r\n\r\n");
      if (length && at > 0 && text.length >= at + 4 + Number(length)) finish();
    });
    socket.on("close", finish);
    socket.on("error", () => {});
  });
}

/** Lets the service listen, with the member ann in the tenant acme; `get` and `post` write her requests. */
export async function listen({ database, service }: World) {
  await seedUser(database.sql, await seedTenant(database.sql, { slug: "acme" }), { subject: "ann" });
  const authorization = `authorization: Bearer ${await person("ann")}`;
  const port = Number(new URL(await service.app.listen({ host: "127.0.0.1", port: 0 })).port);
  const send = (...pieces: (string | Buffer)[]) => exchange(port, pieces);
  const get = (...lines: string[]) =>
    ["GET /api/tenants/current HTTP/1.1", "host: x", authorization, ...lines, "", ""].join("\r\n");
  const post = (...lines: string[]) =>
    [
      "POST /api/tenants/register HTTP/1.1",
      "host: x",
      authorization,
      "x-tenant: new-here",
      "content-type: application/json",
      ...lines,
      "",
    ].join("\r\n");
  return { port, authorization, send, get, post };
}
