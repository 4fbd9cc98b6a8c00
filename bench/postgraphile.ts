/**
 * PostGraphile 4 over the same tables and policies, role and tenant by its pgSettings. It is brought by npm
 * for the benchmark alone, and is no dependency. Run as a child process by bench/http.ts.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import path from "node:path";

type Settings = Record<string, string>;
interface Modules {
  pg: { Pool: new (options: { connectionString: string; max: number }) => object };
  postgraphile: {
    postgraphile(
      pool: object,
      schema: string,
      options: Record<string, unknown> & { pgSettings(request: IncomingMessage): Promise<Settings> },
    ): RequestListener;
  };
}

const [folder, connectionString, secret] = process.argv.slice(2) as [string, string, string];
const require = createRequire(path.join(folder, "package.json"));
const load = <Name extends keyof Modules>(name: Name) => require(name) as Modules[Name];
const { Pool } = load("pg");

/** By hand: jsonwebtoken, which PostGraphile brings, takes a third of a millisecond a token; that would be its price and not PostGraphile's. */
function tenantOf(token: string): string {
  const [header, payload, signature] = token.split(".") as [string, string, string];
  const expected = createHmac("sha256", secret).update(`${header}.${payload}`).digest();
  if (!timingSafeEqual(expected, Buffer.from(signature, "base64url"))) throw new Error("a forged token");
  return JSON.parse(Buffer.from(payload, "base64url").toString()).tenant_id;
}

const handler = load("postgraphile").postgraphile(new Pool({ connectionString, max: 10 }), "app", {
  graphiql: false,
  ignoreRBAC: true, // the schema is made of what the superuser sees, and asked as tms_app
  disableQueryLog: true,
  pgSettings: async request => {
    const token = (request.headers.authorization ?? "").slice("Bearer ".length);
    return { role: "tms_app", "app.tenant_id": tenantOf(token) };
  },
});
const server = createServer(handler).listen(0, "127.0.0.1", () => {
  process.send!({ address: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on("message", () => process.send!({ cpu: process.cpuUsage() }));
