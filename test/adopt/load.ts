/** A product of 40 tables, and a backend of it that works without a pause. */
import pg from "pg";
import { inTenant } from "../../src/library/index.ts";

const DIRECT = Array.from({ length: 22 }, (_, i) => `Thing${i}`);
const CHILDREN = Array.from({ length: 12 }, (_, i) => `Part${i}`);
/** The parent of each child; the last four are grandchildren. */
const parentOf = (i: number) => (i < 8 ? `Thing${i}` : `Part${i - 8}`);
export const TEAMS = ["t1", "t2", "t3"];

/** Team, User, Membership, Session, Country, _prisma_migrations, 22 tables with teamId, 12 through a parent: 40. */
export const bigProduct = (owner: string, apps: string[]) => `
set role ${owner};
create table "Team" (id text primary key, name text not null);
create table "User" (id text primary key, email text not null unique, name text);
create table "Session" (id text primary key, "userId" text not null references "User" on delete cascade);
create table "Membership" (id text primary key, "teamId" text not null references "Team" on delete cascade,
  "userId" text not null references "User" on delete cascade, unique ("teamId", "userId"));
create table "Country" (code text primary key);
create table "_prisma_migrations" (id text primary key);
insert into "Team" select 't' || i, 'Team ' || i from generate_series(1, 3) i;
insert into "User" select 'u' || i, 'u' || i || '@example.com' from generate_series(1, 6) i;
insert into "Membership" select 'm' || t || u, 't' || t, 'u' || u from generate_series(1, 3) t, generate_series(1, 6) u where (t + u) % 3 > 0;
insert into "Country" values ('de');
${DIRECT.map(
  (
    name,
    i,
  ) => `create table "${name}" (id text primary key, "teamId" text not null references "Team" on delete cascade on update cascade,
  ${i > 0 ? `"beforeId" text references "Thing${i - 1}" on delete set null on update cascade,` : ""}
  "ownerId" text references "User" on delete set null, name text not null, n int not null default 0);
insert into "${name}" (id, "teamId", name) select 'seed' || t || '-' || i, 't' || t, 'x' from generate_series(1, 3) t, generate_series(1, 40) i;`,
).join("\n")}
${CHILDREN.map(
  (
    name,
    i,
  ) => `create table "${name}" (id text primary key, "parentId" text not null references "${parentOf(i)}" on delete cascade on update cascade, name text);
insert into "${name}" select id, id, 'x' from "${parentOf(i)}";`,
).join("\n")}
grant select, insert, update, delete on all tables in schema public to ${apps.join(", ")};
reset role;
`;

/** A client's work for one team: the same statements before and after it is moved. */
type Work = (client: pg.PoolClient, team: string, n: number) => Promise<void>;

const work: Work = async (client, team, n) => {
  const i = n % DIRECT.length;
  const id = `${team}-${n}`;
  await client.query(`insert into "${DIRECT[i]}" (id, "teamId", name) values ($1, $2, 'load')`, [id, team]);
  await client.query(`update "${DIRECT[i]}" set n = n + 1 where id = $1`, [id]);
  const child = CHILDREN[i % CHILDREN.length]!;
  const parent = parentOf(i % CHILDREN.length);
  const { rows } = await client.query<{ id: string }>(
    `select id from "${parent}" where id like $1 order by id desc limit 1`,
    [`seed${team.slice(1)}-%`],
  );
  await client.query(`insert into "${child}" (id, "parentId", name) values ($1, $2, 'load')`, [
    `${team}-p${n}`,
    rows[0]!.id,
  ]);
  await client.query(`select count(*) from "${child}" c join "${parent}" p on p.id = c."parentId"`);
};

export class Client {
  done: string[] = [];
  failed: string[] = [];
  #ended = false;
  #pool: pg.Pool;
  #tenants: Record<string, string> | null = null;
  readonly #running: Promise<void>;

  /** @param role What it acts as in a tenant, once it is moved */
  constructor(
    readonly name: string,
    url: string,
    readonly role: string,
  ) {
    this.#pool = new pg.Pool({ connectionString: url, max: 2 });
    this.#running = this.#run();
  }

  /** From here on it enters a tenant, by another login. */
  async move(url: string, tenants: Record<string, string>) {
    const before = this.#pool;
    this.#pool = new pg.Pool({ connectionString: url, max: 2 });
    this.#tenants = tenants;
    await before.end();
  }

  async end() {
    this.#ended = true;
    await this.#running;
    await this.#pool.end();
  }

  async #run() {
    for (let n = 0; !this.#ended; n++) {
      const team = TEAMS[n % TEAMS.length]!;
      const [pool, tenants] = [this.#pool, this.#tenants];
      const unique = Number(`${this.name === "web" ? 1 : 2}${n}`);
      try {
        if (tenants)
          await inTenant(pool, { tenantId: tenants[team]! }, client => work(client, team, unique), {
            as: this.role,
          });
        else await transaction(pool, client => work(client, team, unique));
        this.done.push(`${team}-${unique}`);
      } catch (error) {
        this.failed.push(`${this.name} ${tenants ? "moved" : "old"} ${(error as Error).message}`);
      }
      await new Promise(resolve => setTimeout(resolve, 5));
    }
  }
}

async function transaction(pool: pg.Pool, of: (client: pg.PoolClient) => Promise<void>) {
  const client = await pool.connect();
  try {
    await client.query("begin");
    await of(client);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback");
    throw error;
  } finally {
    client.release();
  }
}

/** The rows that the product had, without columns that are added. */
export const seedRows = (tables: { name: string; columns: string[] }[]) =>
  tables
    .map(
      ({ name, columns }) =>
        `select '${name}' as name, md5(string_agg(concat_ws('|', ${columns.map(column => `"${column}"`).join(", ")}), ',' order by id)) as rows
         from "${name}" where id !~ '^t\\d-'`,
    )
    .join(" union all ")
    .concat(" order by name");
