/**
 * The floor: the same HTTP work as a good engineer writes it by hand when there is one tenant to a token and nothing
 * checks it: no row level security, no membership, no limits. `rows` fetches rows and serializes them by schema;
 * `json` lets SQL make the JSON. Run as a child process by bench/http.ts.
 */
import jwt from "@fastify/jwt";
import Fastify, { type FastifyReply } from "fastify";
import pg from "pg";

declare module "@fastify/jwt" {
  interface FastifyJWT {
    payload: { sub: string; tenant_id: string };
    user: { sub: string; tenant_id: string };
  }
}

const [mode, databaseUrl, secret] = process.argv.slice(2) as ["rows" | "json", string, string];
const app = Fastify({ logger: { level: "warn" } });
const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 });
await app.register(jwt, { secret, verify: { algorithms: ["HS256"] } });
app.addHook("onRequest", request => request.jwtVerify());

const text = { type: "string" } as const;
const tenantShape = {
  type: "object",
  properties: {
    tenant_id: text,
    name: text,
    slug: text,
    status: text,
    settings: { type: "object", additionalProperties: true },
    created_at: text,
    updated_at: text,
  },
} as const;
const boardShape = {
  type: "object",
  properties: {
    board_id: text,
    title: text,
    description: text,
    owner_id: text,
    created_at: text,
    updated_at: text,
  },
} as const;
const respond = (shape: object) => ({ schema: { response: { 200: shape, 201: shape } } });

const TENANT = "id as tenant_id, name, slug, status, settings, created_at, updated_at";
const BOARD = "id as board_id, title, description, owner_id, created_at, updated_at";
const boardsByRow = `select ${BOARD} from floor.boards where tenant_id = $1 order by created_at desc, id limit $2`;
const tenantByRow = `select ${TENANT} from floor.tenants where id = $1`;

/** One query, prepared once a connection. */
async function rows(name: string, sql: string, values: unknown[]) {
  return (await pool.query({ name, text: sql, values })).rows;
}
async function json(reply: FastifyReply, name: string, sql: string, values: unknown[]) {
  const { rows: found } = await pool.query({ name, text: sql, values });
  return reply.type("application/json; charset=utf-8").send(found[0].body);
}

if (mode === "rows") {
  app.get(
    "/api/boards",
    respond({ type: "object", properties: { boards: { type: "array", items: boardShape } } }),
    async request => ({
      boards: await rows("boards", boardsByRow, [request.user.tenant_id, 20]),
    }),
  );
  const tenant = async (id: string) => (await rows("tenant", tenantByRow, [id]))[0];
  app.get("/api/tenants/current", respond(tenantShape), async request => tenant(request.user.tenant_id));
  app.get<{ Params: { id: string } }>("/api/setup/tenant/:id", respond(tenantShape), async request =>
    tenant(request.params.id),
  );
} else {
  const list = `select json_build_object('boards', coalesce(json_agg(b), '[]'))::text as body from (${boardsByRow}) b`;
  const one = `select row_to_json(t)::text as body from (${tenantByRow}) t`;
  app.get("/api/boards", async (request, reply) => json(reply, "boards", list, [request.user.tenant_id, 20]));
  app.get("/api/tenants/current", async (request, reply) =>
    json(reply, "tenant", one, [request.user.tenant_id]),
  );
  app.get<{ Params: { id: string } }>("/api/setup/tenant/:id", async (request, reply) =>
    json(reply, "tenant", one, [request.params.id]),
  );
}

const created = { type: "object", properties: { tenant_id: text, name: text, slug: text } };
const createBody = {
  type: "object",
  required: ["name", "slug"],
  properties: {
    name: { type: "string", minLength: 1, maxLength: 255 },
    slug: { type: "string", pattern: "^[a-z0-9-]+$" },
  },
};
app.post<{ Body: { name: string; slug: string } }>(
  "/api/setup/tenant",
  { schema: { body: createBody, response: { 201: created } } },
  async (request, reply) => {
    const { name, slug } = request.body;
    const [row] = await rows(
      "create",
      "insert into floor.tenants (name, slug) values ($1, $2) returning id as tenant_id, name, slug",
      [name, slug],
    );
    return reply.code(201).send(row);
  },
);

app.post<{ Body: { organization_name: string; organization_slug: string; admin_email: string } }>(
  "/api/tenants/register",
  {
    schema: {
      body: {
        type: "object",
        required: ["organization_name", "organization_slug", "admin_email"],
        properties: {
          organization_name: text,
          organization_slug: text,
          admin_email: { type: "string", format: "email" },
        },
      },
      response: { 201: created },
    },
  },
  async (request, reply) => {
    const { organization_name, organization_slug, admin_email } = request.body;
    const client = await pool.connect();
    try {
      await client.query("begin");
      const { rows: made } = await client.query({
        name: "register_tenant",
        text: "insert into floor.tenants (name, slug) values ($1, $2) returning id as tenant_id, name, slug",
        values: [organization_name, organization_slug],
      });
      await client.query({
        name: "register_user",
        text: "insert into floor.users (tenant_id, auth_provider, auth_subject, email, role) values ($1, 'jwt', $2, $3, 'owner')",
        values: [made[0].tenant_id, request.user.sub, admin_email],
      });
      await client.query("commit");
      return reply.code(201).send(made[0]);
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  },
);

const address = await app.listen({ host: "127.0.0.1", port: 0 });
process.on("message", () => process.send!({ cpu: process.cpuUsage() }));
process.send!({ address });
