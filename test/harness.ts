/** What tests share: a database of one's own, one's role in it, the service on top, real tokens. */
import { randomBytes } from "node:crypto";
import { type TestFn, type TestOptions, test } from "node:test";
import type { FastifyInstance, InjectOptions } from "fastify";
import { type JWTPayload, SignJWT } from "jose";
import postgres from "postgres";

const server = JSON.parse(process.env.TMS_TEST_DATABASE ?? "null") as {
  root: string;
  owner: string;
  service: string;
  template: string;
} | null;
if (!server)
  throw new Error(
    "Run tests with `npm test`, or `npm test -- <file>` for one file: it starts their Postgres",
  );
const { root, owner, service, template } = server;

/** How often `npm run test:all` repeats its rounds; 0 in `npm test`. */
const TIMES = Number(process.env.TMS_TEST_ALL ?? 0);
export const ALL = TIMES > 0;

/** How often to repeat a race, or a random history: `few` times in `npm test`. */
export const rounds = (few: number, many: number) => (ALL ? many * TIMES : few);

let turns = 0;
/** In `npm test` every fourth, each time from another one on: in a loop each case has its turn. */
export function some<T>(cases: readonly T[]): readonly T[] {
  const turn = turns++;
  return ALL ? cases : cases.filter((_, i) => (i + turn) % 4 === 0);
}

/** A test that repeats a claim of a shorter test with more cases, more rounds or by the clock. */
export function long(name: string, ...given: [TestFn] | [TestOptions, TestFn]): void {
  const [options, work] = given.length === 1 ? [{}, ...given] : given;
  test(name, ALL ? options : { skip: "npm run test:all" }, work);
}

export interface Database {
  name: string;
  urls: { service: string; owner: string; root: string };
  /** As superuser: sees and writes everything. */
  sql: postgres.Sql;
  drop: () => Promise<void>;
}

/**
 * A database of one's own with the whole schema and no rows; about 50 ms. Drop it in `after`. Without the sample product it is migrated from
 * nothing, which takes seconds.
 */
export async function createDatabase({ sampleProduct = true } = {}): Promise<Database> {
  const name = `${template}_${randomBytes(4).toString("hex")}`;
  const at = (url: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href;
  // On a slow machine locks are held for longer than requests wait for them in production.
  const urls = {
    service: addressWith(at(service), { lock_timeout: "60s" }),
    owner: at(owner),
    root: at(root),
  };
  await asRoot(async sql => {
    if (!sampleProduct) return sql`create database ${sql(name)} owner tms_owner`;
    await sql`create database ${sql(name)} template ${sql(template)} owner tms_owner`;
    // A copy has the default rights of a database, not those of its template.
    await sql`revoke all on database ${sql(name)} from public`;
    const grants = await sql<{ role: string; right: string }[]>`
      select grantee::regrole::text as role, privilege_type as right
      from pg_database, aclexplode(datacl)
      where datname = ${template} and grantee <> 0 and grantee <> datdba`;
    for (const { role, right } of grants) await sql.unsafe(`grant ${right} on database ${name} to ${role}`);
  });
  if (!sampleProduct) {
    const { migrate } = await import("../src/migrate/migrate.ts");
    await migrate({ ownerUrl: urls.owner, sampleProduct });
  }
  // Idle connections end, so that a file whose `before` failed ends too.
  const sql = postgres(urls.root, { max: 4, idle_timeout: 10, onnotice: () => {} });
  const drop = async () => {
    await sql.end({ timeout: 5 });
    await asRoot(root => root`drop database ${root(name)} with (force)`);
  };
  return { name, urls, sql, drop };
}

/** `work` while sessions of the database begin with these settings (each value as SQL writes it). */
export async function withSettings<T>(
  { name, sql }: Database,
  settings: Record<string, string>,
  work: () => Promise<T>,
): Promise<T> {
  const session = await sql.reserve(); // a new one would begin with them too: with a time-out of a millisecond
  try {
    for (const [setting, value] of Object.entries(settings))
      await session.unsafe(`alter database ${name} set ${setting} = ${value}`);
    return await work();
  } finally {
    await session.unsafe(`alter database ${name} reset all`);
    session.release();
  }
}

/**
 * An address whose sessions begin with these settings, before those of their role. `alter role … in database` will not do:
 * db/roles.sql, which tests of other files run on the same server meanwhile, resets that in every database.
 */
export function addressWith(address: string, settings: Record<string, string>): string {
  const url = new URL(address);
  const options = Object.entries(settings).map(
    ([name, value]) => `-c ${name}=${value.replaceAll(" ", "\\ ")}`,
  );
  url.searchParams.set("options", options.join(" "));
  return url.href;
}

async function asRoot(work: (sql: postgres.Sql) => Promise<unknown>) {
  const sql = postgres(root, { max: 1, onnotice: () => {} });
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}

class Rollback {
  constructor(readonly value: unknown) {}
}

/** What `fn` gives, in a transaction that is rolled back. */
export async function rolledBack<T>(
  sql: postgres.Sql,
  fn: (sql: postgres.TransactionSql) => Promise<T>,
): Promise<T> {
  try {
    await sql.begin(async transaction => {
      throw new Rollback(await fn(transaction));
    });
  } catch (thrown) {
    if (thrown instanceof Rollback) return thrown.value as T;
    throw thrown;
  }
  throw new Error("unreachable: the transaction always throws");
}

/** Runs `fn` as a role, inside a tenant (null: inside none), and rolls back. */
export function withRole<T>(
  sql: postgres.Sql,
  role: string,
  tenantId: string | null,
  fn: (sql: postgres.TransactionSql) => Promise<T>,
): Promise<T> {
  return rolledBack(sql, async transaction => {
    await transaction.unsafe(`set local role ${role}`);
    if (tenantId !== null) await transaction.unsafe(`set local app.tenant_id = '${tenantId}'`);
    return fn(transaction);
  });
}

export const TEST_SECRET = "a test secret of more than thirty-two bytes, known to everybody";

/** A signed token; lives one hour unless `exp` is given. `{ exp: undefined }` leaves it out. */
export function token(claims: JWTPayload): Promise<string> {
  const payload = { exp: Math.floor(Date.now() / 1000) + 3600, ...claims };
  return new SignJWT(payload)
    .setProtectedHeader({ alg: "HS256", typ: "JWT" })
    .sign(new TextEncoder().encode(TEST_SECRET));
}

export interface TestRequest {
  method?: NonNullable<InjectOptions["method"]>;
  url: string;
  token?: string;
  /** The X-Tenant header. */
  tenant?: string;
  headers?: Record<string, string | string[]>;
  /** Sent as JSON, unless it is a string: then as it is. */
  body?: unknown;
  /** The answer is one that /openapi.json need not tell of. */
  undocumented?: boolean;
}

export interface TestResponse {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  /** Parsed JSON; the text itself where it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  body: any;
}

export interface Service {
  app: FastifyInstance;
  /** Log lines so far, parsed. */
  logs: Record<string, unknown>[];
  request(request: TestRequest): Promise<TestResponse>;
  /** From here on requests wait for a connection no longer than in production. */
  hurry(): void;
  close(): Promise<void>;
}

/** Requests wait for a connection for as long as a slow machine takes. Returns what undoes this. */
export function makePatient(app: FastifyInstance): () => void {
  const pools = Object.values(app.database.pools);
  const usual = pools.map(({ options }) => options.connectionTimeoutMillis!);
  for (const { options } of pools) options.connectionTimeoutMillis = 60_000;
  return () => {
    for (const [i, { options }] of pools.entries()) options.connectionTimeoutMillis = usual[i]!;
  };
}

export const CONTEXT_SECRET = "a tenant context secret of tests, known to everybody";

/** From here on the database asks for proofs of callers. */
export async function requireProofs({ urls }: Database): Promise<void> {
  const { storeSecret } = await import("../src/migrate/tenant-context.ts");
  const sql = postgres(urls.owner, { max: 1, onnotice: () => {} });
  await storeSecret(sql, CONTEXT_SECRET).finally(() => sql.end());
}

/** The service on a test database, not listening. Multi-tenant mode and debug logging are on unless `env` says otherwise. */
export async function createService(database: Database, env: Record<string, string> = {}): Promise<Service> {
  // Loaded here: most database tests need none of it.
  const [{ buildApp }, { sampleProduct }, { loadConfig }, { assertDocumented, mediaOf }] = await Promise.all([
    import("../src/http/app.ts"),
    import("../src/product/product.ts"),
    import("../src/config/config.ts"),
    import("./document.ts"),
  ]);
  // TMS_PROOFS=1 npm test -- test/http/members.test.ts: the same behaviour with proofs.
  if (process.env.TMS_PROOFS) await requireProofs(database);
  const { config } = loadConfig({
    SERVICE_DATABASE_URL: database.urls.service,
    ...(process.env.TMS_PROOFS && { SERVICE_TENANT_CONTEXT_SECRET: CONTEXT_SECRET }),
    SERVICE_JWT_SECRET: TEST_SECRET,
    SERVICE_MULTI_TENANT_MODE: "true",
    SERVICE_LOG_LEVEL: "debug",
    ...env,
  });
  const logs: Record<string, unknown>[] = [];
  const app = await buildApp(config, sampleProduct, { write: line => void logs.push(JSON.parse(line)) });
  await app.ready();
  const hurry = makePatient(app);
  return {
    app,
    logs,
    hurry,
    async request({ method = "GET", url, token, tenant, headers = {}, body, undocumented = false }) {
      const all: Record<string, string | string[]> = {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(tenant === undefined ? {} : { "x-tenant": tenant }),
        ...(body === undefined ? {} : { "content-type": mediaOf(app, method, url) }),
        ...headers,
      };
      const payload =
        body === undefined ? {} : { payload: typeof body === "string" ? body : JSON.stringify(body) };
      const answer = await app.inject({ method, url, headers: all, ...payload });
      const found = { status: answer.statusCode, headers: answer.headers, body: parsed(answer.body) };
      if (!undocumented) assertDocumented(app, { method, url, ...found });
      return found;
    },
    close: () => app.close(),
  };
}

/** `work` with a service of its own on the database, for as long as it takes. */
export async function withService<T>(
  database: Database,
  env: Record<string, string>,
  work: (service: Service) => Promise<T>,
): Promise<T> {
  const service = await createService(database, env);
  try {
    return await work(service);
  } finally {
    await service.close();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Resolves once the feeds show every event that was committed: other tests on the server may have older transactions open. */
export async function settled(sql: postgres.Sql): Promise<void> {
  const [{ xid }] = await sql<[{ xid: string }]>`select pg_current_xact_id()::text as xid`;
  for (;;) {
    const [{ done }] = await sql<[{ done: boolean }]>`
      select pg_snapshot_xmin(pg_current_snapshot()) > ${xid}::text::xid8 as done`;
    if (done) return;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

/** Inserts a tenant and returns its id. */
export async function seedTenant(
  sql: postgres.ISql,
  {
    slug,
    name = slug,
    status = "active",
    isDefault = false,
  }: { slug: string; name?: string; status?: string; isDefault?: boolean },
): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    insert into app.tenants (slug, name, status, is_default, deleted_at, purge_at, status_before)
    select ${slug}, ${name}, ${status}, ${isDefault}, d.at, d.at + interval '30 days', case when d.at is not null then 'active' end
    from (select case when ${status} = 'deleted' then now() end as at) d returning id`;
  return row!.id;
}

/** Inserts a member and returns its id; provider `jwt` is what a token without an issuer gives. */
export async function seedUser(
  sql: postgres.ISql,
  tenantId: string,
  {
    subject,
    provider = "jwt",
    email = null,
    role = "member",
  }: { subject: string; provider?: string; email?: string | null; role?: string },
): Promise<string> {
  const [row] = await sql<{ id: string }[]>`
    insert into app.users (tenant_id, auth_provider, auth_subject, email, role)
    values (${tenantId}, ${provider}, ${subject}, ${email}, ${role}) returning id`;
  return row!.id;
}
