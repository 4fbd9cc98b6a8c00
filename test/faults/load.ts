/** Clients of several tenants that write and read without a pause, and a ledger of what they were told. */
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type postgres from "postgres";
import { token } from "../harness.ts";
import { until } from "../until.ts";

const TENANTS = ["acme", "globex", "initech", "umbrella"];
const CLIENTS = 16;
/** Each makes 100 changes in a minute at most, so there are many. */
const ADMINS = 60;
const CHANGES = 90;

/** What clients saw while a fault was tried. */
export interface Tally {
  acknowledged: number;
  /** 503 with Retry-After. */
  refused: number;
  /** The connection ended first: the write may be there or not. */
  unanswered: number;
  /** Answers that show another tenant's rows. */
  foreign: number;
  /** Every other answer, which no fault excuses. */
  wrong: string[];
  /** Acknowledged, but not in the database; known at the end. */
  lost: number;
  /** The longest time without an acknowledged write, in milliseconds. */
  pause: number;
}

const newTally = (): Tally => ({
  acknowledged: 0,
  refused: 0,
  unanswered: 0,
  foreign: 0,
  wrong: [],
  lost: 0,
  pause: 0,
});

interface Answer {
  status: number;
  retryAfter: string | undefined;
  body: string;
}

export class Load {
  /** Of the fault that is tried now. */
  tally = newTally();
  #last = performance.now();
  #ended = false;
  #changes = 0;
  /** Acknowledged rows, and the tally of each. */
  readonly #ledger = new Map<string, Tally>();
  readonly #agent = new http.Agent({ keepAlive: true });
  readonly #clients: Promise<void>[];

  private constructor(
    readonly address: string,
    readonly sql: postgres.Sql,
    readonly tokens: string[][],
  ) {
    this.#clients = Array.from({ length: CLIENTS }, (_, i) => this.#work(i));
  }

  static async start(address: string, sql: postgres.Sql): Promise<Load> {
    // A token outlives the hour by which a fault moves the clock.
    const exp = Math.floor(Date.now() / 1000) + 86_400;
    for (const slug of TENANTS) {
      await sql`
        with t as (insert into app.tenants (slug, name) values (${slug}, ${slug}) returning id),
          u as (
            insert into app.users (tenant_id, auth_provider, auth_subject, role)
            select t.id, 'jwt', ${slug} || '-admin-' || n, 'admin' from t, generate_series(0, ${ADMINS - 1}) n
            returning tenant_id, id, auth_subject)
        insert into app.boards (tenant_id, owner_id, title)
        select tenant_id, id, ${slug} from u where auth_subject = ${`${slug}-admin-0`}`;
    }
    const tokens = TENANTS.map(tenant =>
      Promise.all(
        Array.from({ length: ADMINS }, (_, n) => token({ sub: `${tenant}-admin-${n}`, tenant, exp })),
      ),
    );
    return new Load(address, sql, await Promise.all(tokens));
  }

  /** The next fault gets a tally of its own. */
  begin(): Tally {
    this.#last = performance.now();
    this.tally = newTally();
    return this.tally;
  }

  /** Until so many writes more are acknowledged: the service works. */
  async acknowledges(more: number) {
    const { tally } = this;
    const goal = tally.acknowledged + more;
    await until(`${more} writes more are acknowledged`, () => tally.acknowledged >= goal);
  }

  /** Ends the clients. */
  async end() {
    this.#ended = true;
    await Promise.all(this.#clients);
    this.#agent.destroy();
  }

  /** Looks for every acknowledged row in the database. */
  async settle() {
    const rows = await this.sql<{ row: string; times: number }[]>`
      select t.slug || ' ' || u.auth_subject as row, count(*)::int as times
      from app.users u join app.tenants t on t.id = u.tenant_id where u.role = 'member' group by 1`;
    const found = new Set(rows.map(({ row }) => row));
    for (const [row, tally] of this.#ledger) if (!found.has(row)) tally.lost += 1;
    // A row of another tenant's client, or a second one.
    for (const { row, times } of rows) {
      const [slug, subject] = row.split(" ");
      if (!subject!.startsWith(`${slug}-`)) this.tally.foreign += 1;
      if (times > 1) this.tally.wrong.push(`twice: ${row}`);
    }
  }

  async #work(client: number) {
    for (let i = 0; !this.#ended; i++) {
      const which = (client + i) % TENANTS.length;
      const { tally } = this;
      try {
        const answer =
          i % 2 === 0 ? await this.#write(which, `${client}-${i}`, tally) : await this.#read(which, i, tally);
        if (answer.status === 503 && answer.retryAfter !== undefined) {
          tally.refused += 1;
          await sleep(20);
        } else if (answer.status !== 200 && answer.status !== 201)
          tally.wrong.push(`${answer.status} ${answer.body}`);
      } catch {
        tally.unanswered += 1;
        await sleep(20);
      }
    }
  }

  async #write(which: number, name: string, tally: Tally): Promise<Answer> {
    const slug = TENANTS[which]!;
    const admin = Math.floor(this.#changes++ / TENANTS.length / CHANGES) % ADMINS;
    const subject = `${slug}-${name}`;
    const body = { auth_subject: subject, role: "member" };
    const answer = await this.#ask("POST", "/api/tenants/members", this.tokens[which]![admin]!, body);
    if (answer.status !== 201) return answer;
    this.#ledger.set(`${slug} ${subject}`, tally);
    tally.acknowledged += 1;
    if (!answer.body.includes(`"${subject}"`)) tally.foreign += 1;
    const now = performance.now();
    tally.pause = Math.max(tally.pause, now - this.#last);
    this.#last = now;
    return answer;
  }

  /** Every name in an answer begins with its tenant. */
  async #read(which: number, i: number, tally: Tally): Promise<Answer> {
    const paths = ["boards", "tenants/members?limit=20", "tenants/current", "tenants/mine"];
    const path = paths[(i >> 1) % paths.length]!;
    const answer = await this.#ask("GET", `/api/${path}`, this.tokens[which]![0]!);
    if (answer.status !== 200) return answer;
    const others = TENANTS.filter((_, n) => n !== which);
    if (!answer.body.includes(`"${TENANTS[which]}`) || others.some(other => answer.body.includes(other)))
      tally.foreign += 1;
    return answer;
  }

  #ask(method: string, path: string, authorization: string, body?: object): Promise<Answer> {
    const text = body && JSON.stringify(body);
    const headers = {
      authorization: `Bearer ${authorization}`,
      ...(text && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
    };
    return new Promise((resolve, reject) => {
      http
        .request(new URL(path, this.address), { method, headers, agent: this.#agent }, response => {
          let all = "";
          response
            .setEncoding("utf8")
            .on("data", chunk => (all += chunk))
            .on("error", reject)
            .on("end", () =>
              resolve({
                status: response.statusCode!,
                retryAfter: response.headers["retry-after"],
                body: all,
              }),
            );
        })
        .on("error", reject)
        .end(text);
    });
  }
}
