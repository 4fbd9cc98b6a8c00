/**
 * Histories of two tenants, as data: A is busy, B watches. A history runs twice, once with A and once in a deployment that
 * never had an A. Whatever B sees must be the same.
 */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import type { JWTPayload } from "jose";
import pg from "pg";
import { insert, makeRow, type Row, type Table, tenantTables } from "../functions/rows.ts";
import { seedTenant, seedUser, type TestRequest, token } from "../harness.ts";
import { createWorld, type World } from "../http/world.ts";
import { until } from "../until.ts";

type Who = "A" | "B";

/** Plain data, so that fast-check can shrink it and print it. */
interface Act {
  by: Who;
  does: string;
  with: Record<string, unknown>;
}

export interface History {
  /** true: B does not wait until A's acts have ended. */
  parallel: boolean;
  acts: Act[];
}

interface Sight {
  act: string;
  saw: string;
}

/** A tenant and its owner. */
interface Side {
  who: Who;
  slug: string;
  id: string;
  user: string;
  subject: string;
}

/** Where histories run. */
export interface Stage {
  world: World;
  tables: Table[];
  /** A superuser's connections, which become tms_app: node-postgres tells the results of each statement. */
  pool: pg.Pool;
  end(): Promise<void>;
}

/** One run of a history. */
interface Run extends Stage {
  sides: Record<Who, Side>;
  suffix: string;
  /** Acts of A that may not have ended. */
  working: Promise<unknown>[];
}

interface Kind {
  with: fc.Arbitrary<Record<string, unknown>>;
  run(run: Run, side: Side, given: never): Promise<unknown>;
}

const kind = <With extends Record<string, unknown>>(
  given: fc.Arbitrary<With>,
  run: (run: Run, side: Side, given: With) => Promise<unknown>,
): Kind => ({ with: given, run });

const few = fc.nat({ max: 2 });
const other = ({ sides }: Run, { who }: Side) => sides[who === "A" ? "B" : "A"];

/** Both tenants use these ids: a key over all tenants would let one notice the other. */
const POOL = "00000000-0000-4000-8000-000000000000";
const poolId = (n: number) => `${POOL.slice(0, 35)}${n + 1}`;

/** Headers that differ from one request, or one second, to the next; a length differs with the digits of a time. */
const PASSING = ["date", "x-request-id", "x-ratelimit-reset", "content-length"];

async function ask(run: Run, request: TestRequest, claims: JWTPayload) {
  const answer = await run.world.service.request({
    ...request,
    token: await token(claims),
    undocumented: true, // other tests compare answers with the document
  });
  const headers = Object.entries(answer.headers).filter(([name]) => !PASSING.includes(name));
  return { status: answer.status, headers: Object.fromEntries(headers), body: answer.body };
}

/** As the side's owner. */
const asOwner = (run: Run, { slug, subject }: Side, request: TestRequest) =>
  ask(run, request, { sub: subject, tenant: slug });

/** As the side's owner, with a token that names no tenant. */
const naming = (run: Run, { subject }: Side, tenant: string, request: TestRequest) =>
  ask(run, { ...request, tenant }, { sub: subject });

/** The answers of every page. */
async function everyPage(run: Run, side: Side, path: string) {
  const pages = [];
  for (let url: string | undefined = path; url; ) {
    const page = await asOwner(run, side, { url });
    pages.push(page);
    url = /<[^>]*?(\/api\/[^>]*)>; rel="next"/.exec(String(page.headers.link))?.[1];
  }
  return pages;
}

/** Once no transaction in the server is older than the side's events: until then the feed withholds them. */
async function readEvents(run: Run, side: Side, limit: number) {
  await Promise.all(run.working);
  await until("every event may be shown", async () => {
    const { rows } = await run.pool.query(
      "select from control.tenant_events where tenant_id = $1 and xid >= pg_snapshot_xmin(pg_current_snapshot()) limit 1",
      [side.id],
    );
    return rows.length === 0;
  });
  return [
    await asOwner(run, side, { url: "/api/tenants/events" }),
    ...(await everyPage(run, side, `/api/tenants/events?order=-at&limit=${limit}`)),
  ];
}

/** What one statement returns to tms_app inside the side's tenant: its rows and their number, or its SQLSTATE and message. */
async function inSql({ pool }: Run, { id }: Side, statement: string) {
  try {
    const text = `set local role tms_app; set local app.tenant_id = '${id}'; ${statement}`;
    const results = (await pool.query(text)) as unknown as pg.QueryResult[];
    const { rowCount, rows } = results.at(-1)!;
    return { rowCount, rows: rows.map(row => JSON.stringify(row)) };
  } catch (error) {
    const { code, message } = error as pg.DatabaseError;
    return { code, message };
  }
}

/** Row n of a table, in the side's tenant; its parents are the rows m. */
function rowOf({ tables }: Run, side: Side, table: Table, n: number, m: number): Row {
  const parents: Record<string, Row> = Object.fromEntries(
    tables.map(({ name }) => [
      name,
      { tenant_id: side.id, id: poolId(m), user_id: side.user, board_id: poolId(m) },
    ]),
  );
  parents["app.users"] = { tenant_id: side.id, id: side.user };
  parents["app.tenants"] = { id: side.id };
  return { ...makeRow(table, n, POOL, parents, `word-${n}`), tenant_id: side.id };
}

const tableOf = ({ tables }: Run, n: number) =>
  tables.filter(({ tenant }) => tenant === "tenant_id")[n % (tables.length - 1)]!;
const keyOf = ({ columns }: Table) => columns.find(({ name }) => name === "id")?.name ?? columns[1]!.name;
const someTable = fc.nat({ max: 60 });

const DOCUMENTS = [
  "{ tenant { tenant_id slug status name updated_at } membership { role user_id } boards { board_id title owner_id } }",
  "{ boards(limit: 1) { title } all: boards(limit: 3) { title } }",
  "{ nonsense }",
];

/** What the two tenants do. A capability's operations belong here as soon as it has any. */
const KINDS: Record<string, Kind> = {
  // HTTP.
  "list boards": kind(fc.record({ limit: fc.nat({ max: 3 }) }), (run, side, { limit }) =>
    everyPage(run, side, `/api/boards?limit=${limit}`),
  ),
  "list members": kind(fc.record({ limit: fc.nat({ max: 3 }) }), (run, side, { limit }) =>
    everyPage(run, side, `/api/tenants/members?limit=${limit}`),
  ),
  "add a member": kind(
    fc.record({ n: few, role: fc.constantFrom("member", "admin", "owner") }),
    (run, side, { n, role }) =>
      asOwner(run, side, {
        method: "POST",
        url: "/api/tenants/members",
        body: { auth_subject: `word-${n}`, role },
      }),
  ),
  "remove a member": kind(fc.record({ n: few }), (run, side, { n }) =>
    asOwner(run, side, { method: "DELETE", url: `/api/tenants/members/${poolId(n)}` }),
  ),
  "read events": kind(fc.record({ limit: few }), (run, side, { limit }) => readEvents(run, side, limit + 1)),
  "change a member": kind(
    fc.record({ n: few, role: fc.constantFrom("member", "owner") }),
    (run, side, { n, role }) =>
      asOwner(run, side, { method: "PATCH", url: `/api/tenants/members/${poolId(n)}`, body: { role } }),
  ),
  invite: kind(fc.record({ role: fc.constantFrom("member", "owner") }), (run, side, { role }) =>
    asOwner(run, side, { method: "POST", url: "/api/tenants/invitations", body: { role } }),
  ),
  "revoke an invitation": kind(fc.record({ n: few }), (run, side, { n }) =>
    asOwner(run, side, { method: "DELETE", url: `/api/tenants/invitations/${poolId(n)}` }),
  ),
  "list invitations": kind(fc.record({ limit: few }), (run, side, { limit }) =>
    everyPage(run, side, `/api/tenants/invitations?limit=${limit + 1}`),
  ),
  "create a key": kind(fc.record({ role: fc.constantFrom("member", "owner") }), (run, side, { role }) =>
    asOwner(run, side, { method: "POST", url: "/api/tenants/keys", body: { name: "CI", role } }),
  ),
  "revoke a key": kind(fc.record({ n: few }), (run, side, { n }) =>
    asOwner(run, side, { method: "DELETE", url: `/api/tenants/keys/${poolId(n)}` }),
  ),
  "list keys": kind(fc.record({ limit: few }), (run, side, { limit }) =>
    everyPage(run, side, `/api/tenants/keys?limit=${limit + 1}`),
  ),
  "change the tenant": kind(fc.record({ n: few }), (run, side, { n }) =>
    asOwner(run, side, {
      method: "PATCH",
      url: "/api/tenants/current",
      headers: { "content-type": "application/merge-patch+json" },
      body: { name: `Name ${n}` },
    }),
  ),
  "remove the other's owner": kind(fc.constant({}), (run, side) =>
    asOwner(run, side, { method: "DELETE", url: `/api/tenants/members/${other(run, side).user}` }),
  ),
  ask: kind(
    fc.record({
      path: fc.constantFrom(
        "tenants/current",
        "tenants/mine",
        "tenants/registration/status",
        "setup/status",
        "setup/tenants",
        "setup/events",
      ),
    }),
    (run, side, { path }) => asOwner(run, side, { url: `/api/${path}` }),
  ),
  "name a tenant": kind(
    fc.record({
      tenant: fc.constantFrom("mine", "the other", "one of the other's", "unknown"),
      path: fc.constantFrom("boards", "tenants/current", "tenants/registration/status", "tenants/mine"),
    }),
    (run, side, { tenant, path }) => {
      // A registration may name a free slug, and no other: whether a slug is free is what a registration has to tell.
      const lobby = path.endsWith("status") && tenant !== "mine";
      const slugs = {
        mine: side.slug,
        "the other": other(run, side).slug,
        "one of the other's": `new-${other(run, side).slug}-0`,
        unknown: `unknown-${run.suffix}`,
      };
      return naming(run, side, slugs[lobby ? "unknown" : (tenant as keyof typeof slugs)], {
        url: `/api/${path}`,
      });
    },
  ),
  "read the other's tenant": kind(fc.constant({}), (run, side) =>
    asOwner(run, side, { url: `/api/setup/tenant/${other(run, side).id}` }),
  ),
  register: kind(fc.record({ n: few, sample: fc.boolean() }), (run, side, { n, sample }) =>
    naming(run, side, `unknown-${run.suffix}`, {
      method: "POST",
      url: "/api/tenants/register",
      body: {
        organization_name: "Another",
        organization_slug: `new-${side.slug}-${n}`,
        admin_email: "owner@example.com",
        include_sample_data: sample,
      },
    }),
  ),
  // GraphQL.
  query: kind(fc.record({ document: few }), (run, side, { document }) =>
    asOwner(run, side, { method: "POST", url: "/graphql", body: { query: DOCUMENTS[document] } }),
  ),
  // SQL, as a product's backend inside the tenant.
  insert: kind(fc.record({ table: someTable, n: few, parent: few }), (run, side, { table, n, parent }) => {
    const into = tableOf(run, table);
    return inSql(run, side, insert(into.name, rowOf(run, side, into, n, parent), "returning *"));
  }),
  "insert for the other": kind(fc.record({ table: someTable, n: few }), (run, side, { table, n }) => {
    const into = tableOf(run, table);
    const row = { ...rowOf(run, side, into, n, n), tenant_id: other(run, side).id };
    return inSql(run, side, insert(into.name, row));
  }),
  touch: kind(
    fc.record({
      table: someTable,
      n: fc.option(few),
      how: fc.constantFrom("update", "delete", "lock", "read"),
    }),
    (run, side, { table, n, how }) => {
      const at = tableOf(run, table);
      const where = n === null ? "" : `where ${keyOf(at)} = '${poolId(n)}'`;
      const statements = {
        update: `update ${at.name} set ${keyOf(at)} = ${keyOf(at)} ${where}`,
        delete: `delete from ${at.name} ${where}`,
        lock: `select count(*) from (select from ${at.name} ${where} for update) t`,
        read: `select count(*) from ${at.name} ${where}`,
      };
      return inSql(run, side, statements[how as keyof typeof statements]);
    },
  ),
  // An operator, who may do everything with each tenant.
  "be administered": kind(
    fc.record({ how: fc.constantFrom("suspend", "resume", "rename", "delete") }),
    (run, { id }, { how }) => {
      const url = `/api/setup/tenant/${id}`;
      const operator = { sub: `operator-${id}`, tenant: "operations", roles: ["tenant-operator"] };
      if (how === "delete") return ask(run, { method: "DELETE", url }, operator);
      if (how === "rename") return ask(run, { method: "PUT", url, body: { name: "Renamed" } }, operator);
      return ask(run, { method: "POST", url: `${url}/${how}` }, operator);
    },
  ),
};

export const histories = ({ kinds = Object.keys(KINDS), parallel = fc.boolean(), maxLength = 16 } = {}) =>
  fc.record<History>({
    parallel,
    acts: fc.array(
      fc.oneof(
        ...kinds.map(does =>
          fc.record({
            by: fc.constantFrom<Who>("A", "A", "B"),
            does: fc.constant(does),
            with: KINDS[does]!.with,
          }),
        ),
      ),
      { maxLength, size: "max" },
    ),
  });

/** After every history B looks at everything that it has. */
const LAST: Act[] = [
  ...["list boards", "list members"].map(does => ({ does, with: { limit: 1 } })),
  ...["current", "mine", "registration/status"].map(path => ({
    does: "ask",
    with: { path: `tenants/${path}` },
  })),
  { does: "query", with: { document: 0 } },
  { does: "read events", with: { limit: 1 } },
].map(act => ({ by: "B", ...act }));

export async function createStage(): Promise<Stage> {
  const world = await createWorld({ SERVICE_LOG_LEVEL: "silent" });
  const pool = new pg.Pool({ connectionString: world.database.urls.root, max: 4 });
  const tables = await world.database.sql.begin(tx => tenantTables(tx));
  const end = async () => {
    await pool.end();
    await world.end();
  };
  return { world, tables, pool, end };
}

const told = (act: Act) => `${act.by}: ${act.does} ${JSON.stringify(act.with)}`;

async function runOnce(stage: Stage, { parallel, acts }: History, withA: boolean): Promise<Sight[]> {
  const { sql } = stage.world.database;
  const suffix = randomBytes(3).toString("hex");
  const sides = {} as Record<Who, Side>;
  for (const [who, word] of [
    ["A", "acme"],
    ["B", "beta"],
  ] as const) {
    const [slug, subject] = [`${word}-${suffix}`, `owner-${word}-${suffix}`];
    // Without A its ids are those of nobody.
    const exists = withA || who === "B";
    const id = exists ? await seedTenant(sql, { slug }) : crypto.randomUUID();
    const user = exists ? await seedUser(sql, id, { subject, role: "owner" }) : crypto.randomUUID();
    sides[who] = { who, slug, id, user, subject };
  }
  const working: Promise<unknown>[] = [];
  const run = { ...stage, sides, suffix, working };
  const sights: Sight[] = [];
  const act = (one: Act) => KINDS[one.does]!.run(run, sides[one.by], one.with as never);
  for (const one of [...acts, ...LAST]) {
    if (one.by === "B") sights.push({ act: told(one), saw: normalized(await act(one), run) });
    else if (withA && parallel) working.push(act(one));
    else if (withA) await act(one);
  }
  for (const { name, tenant } of stage.tables) {
    const rows = await inSql(run, sides.B, `select to_jsonb(t.*) as row from ${name} t`);
    // The order of a table without ORDER BY is the server's business.
    if (rows.rows) rows.rows = rows.rows.map(row => normalized(row, run)).sort();
    sights.push({ act: `B: every row of ${name} (${tenant})`, saw: normalized(rows, run) });
  }
  sights.push({
    act: "B: every sequence",
    saw: normalized(await inSql(run, sides.B, "select * from pg_sequences"), run),
  });
  await Promise.all(working);
  // Both runs begin in the same deployment.
  await sql`delete from app.tenants`;
  return sights;
}

/** Text without what two runs of the same history never share: names, ids, times, and what is made from them. */
function normalized(saw: unknown, { sides, suffix }: Run): string {
  let text = typeof saw === "string" ? saw : JSON.stringify(saw, null, 1);
  // A place among the events is one of a transaction: see `Not compared`.
  text = text.replace(/(after=|"cursor": ")[\w-]+/g, "$1<place>");
  text = text.replace(/(cursor=)([\w-]{60,})/g, (_all, name, cursor) => {
    const [time, id] = Buffer.from(cursor, "base64url").toString().split(" ");
    return `${name}<${/^\d{16}$/.test(time!) ? "time" : time} ${id}>`;
  });
  for (const { who, id, user } of Object.values(sides))
    text = text.replaceAll(id, `<tenant ${who}>`).replaceAll(user, `<owner ${who}>`);
  return text
    .replace(/_([\w-]{43}|[0-9a-f]{64})(?=")/g, "_<secret>")
    .replace(/\\x[0-9a-f]{64}/g, "<hash>")
    .replaceAll(suffix, "<run>")
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g, id =>
      id.startsWith(POOL.slice(0, 35)) ? id : "<id>",
    )
    .replace(/\\"[0-9a-f]{32}(-[0-9a-f]+)?\\"/g, "<etag>")
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d(:\d\d)?)?/g, "<time>");
}

/** The first difference between what B sees with A and without; undefined: there is none. */
export async function difference(stage: Stage, history: History): Promise<string | undefined> {
  const minute = () => Math.floor(Date.now() / 60_000);
  for (;;) {
    const begun = minute();
    const alone = await runOnce(stage, history, false);
    const watched = await runOnce(stage, history, true);
    if (minute() !== begun) continue; // a window of the rate limits ended in one of them
    const at = alone.findIndex(({ saw }, i) => saw !== watched[i]!.saw);
    if (at < 0) return undefined;
    const { act, saw } = alone[at]!;
    return `${act}\nwithout A: ${saw}\nwith A:    ${watched[at]!.saw}`;
  }
}

/** As a reader wants it: one act a line. */
export const story = ({ parallel, acts }: History) =>
  [`${acts.length} acts, ${parallel ? "A in parallel" : "one after another"}`, ...acts.map(told)].join(
    "\n  ",
  );
