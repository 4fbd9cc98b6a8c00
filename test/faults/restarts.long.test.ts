/**
 * Two instances behind PgBouncer under load, one of them restarted again and again. Short here;
 * `RESTART_SECONDS=60 RESTART_EVERY=10 npm test -- test/faults/restarts.long.test.ts` is the whole minute.
 */
import assert from "node:assert/strict";
import http from "node:http";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../src/embedded/server.ts";
import { type Command, tenancy } from "../cli/command.ts";
import { createDatabase, type Database, seedTenant, seedUser, TEST_SECRET, token } from "../harness.ts";
import { until } from "../until.ts";
import { type Pooler, startPgbouncer, withoutPgbouncer } from "./pgbouncer.ts";

const skip = withoutPgbouncer;
const SECONDS = Number(process.env.RESTART_SECONDS ?? 12);
const EVERY = Number(process.env.RESTART_EVERY ?? 4);
const CLIENTS = 16;
const TENANTS = ["acme", "globex", "initech"];

let database: Database;
let pooler: Pooler;
const tokens: string[] = [];
before(async () => {
  if (skip) return;
  database = await createDatabase();
  pooler = await startPgbouncer(database.urls.service, { default_pool_size: 6 });
  for (const slug of TENANTS) {
    const tenant = await seedTenant(database.sql, { slug });
    const user = await seedUser(database.sql, tenant, { subject: "owner", role: "owner" });
    await database.sql`insert into app.boards (tenant_id, owner_id, title) values (${tenant}, ${user}, ${slug})`;
    tokens.push(await token({ sub: "owner", tenant: slug }));
  }
});
after(async () => {
  await pooler?.stop();
  await database?.drop();
});

class Instance {
  command!: Command;
  readonly agent = new http.Agent({ keepAlive: true });
  constructor(readonly port: number) {}

  async start() {
    this.command = tenancy(["start"], {
      SERVICE_PORT: String(this.port),
      SERVICE_DATABASE_URL: pooler.url,
      SERVICE_DATABASE_PREPARED: "false",
      SERVICE_JWT_SECRET: TEST_SECRET,
      SERVICE_MULTI_TENANT_MODE: "true",
      SERVICE_LOG_LEVEL: "warn",
    });
    await until("the instance is ready", async () => {
      assert.equal(this.command.child.exitCode, null, this.command.stderr);
      const answer = await this.ask("GET", "/ready").catch(() => undefined);
      return answer?.status === 200;
    });
  }

  /** Milliseconds until the process was gone. */
  async stop() {
    const from = performance.now();
    this.command.child.kill("SIGTERM");
    assert.equal(await this.command.ended, 0, this.command.stderr);
    return performance.now() - from;
  }

  ask(method: string, path: string, authorization?: string, body?: object) {
    const text = body && JSON.stringify(body);
    const headers = {
      ...(authorization && { authorization: `Bearer ${authorization}` }),
      ...(text && { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
    };
    return new Promise<{ status: number; retryAfter: string | undefined; body: string }>(
      (resolve, reject) => {
        const request = http.request(
          { host: "127.0.0.1", port: this.port, method, path, headers, agent: this.agent },
          response => {
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
          },
        );
        request
          .on("error", error => reject(Object.assign(error, { fresh: !request.reusedSocket })))
          .end(text);
      },
    );
  }
}

test(`two instances behind PgBouncer, one restarted every ${EVERY} s for ${SECONDS} s: nothing accepted is lost`, {
  skip,
}, async context => {
  const instances = [new Instance(await freePort()), new Instance(await freePort())];
  await Promise.all(instances.map(instance => instance.start()));
  const count = { answered: 0, written: 0, refused503: 0, notAccepted: 0 };
  const wrong: string[] = [];
  const written = new Set<string>();
  let running = true;
  // The test is about restarts, and writes more than a caller may in a minute.
  const unlimited = setInterval(() => void database.sql`truncate control.rate_limits`.catch(() => {}), 100);
  context.after(() => clearInterval(unlimited));

  /** As a load balancer: a request that one instance does not accept goes to the other. */
  async function send(client: number, i: number): Promise<void> {
    const which = (client + i) % TENANTS.length;
    const subject = `${client}-${i}`;
    const writes = i % 4 === 0;
    for (let turn = client + i; ; turn++) {
      const instance = instances[turn % 2]!;
      try {
        const answer = writes
          ? await instance.ask("POST", "/api/tenants/members", tokens[which], {
              auth_subject: subject,
              role: "member",
            })
          : await instance.ask("GET", "/api/boards", tokens[which]);
        if (answer.status === 503 && answer.retryAfter !== undefined) {
          count.refused503++;
          await sleep(5);
          continue;
        }
        count.answered++;
        const good = writes
          ? answer.status === 201
          : answer.status === 200 && JSON.parse(answer.body).boards[0].title === TENANTS[which];
        if (!good) wrong.push(`${answer.status} ${answer.body}`);
        else if (writes) written.add(`${TENANTS[which]}/${subject}`);
        return;
      } catch (error) {
        // The kernel resets a connection that was not accepted before listening ended. If the service had accepted it, the
        // second try of a write would be a conflict.
        if (!(error as { fresh?: boolean }).fresh) {
          wrong.push(`lost: ${(error as Error).message}`);
          return;
        }
        count.notAccepted++;
        await sleep(5);
      }
    }
  }
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let i = 0; running; i++) await send(client, i);
  });

  const stops: number[] = [];
  const end = Date.now() + SECONDS * 1000;
  for (let turn = 0; Date.now() + EVERY * 1000 <= end; turn++) {
    const next = Date.now() + EVERY * 1000;
    const instance = instances[turn % 2]!;
    stops.push(await instance.stop());
    await instance.start();
    await sleep(Math.max(0, next - Date.now()));
  }
  running = false;
  await Promise.all(clients);
  for (const instance of instances) {
    stops.push(await instance.stop());
    instance.agent.destroy();
  }

  const found = await database.sql`
    select t.slug || '/' || u.auth_subject as who from app.users u join app.tenants t on t.id = u.tenant_id where u.role = 'member'`;
  count.written = written.size;
  context.diagnostic(`${JSON.stringify(count)}; stopped within ${Math.ceil(Math.max(...stops))} ms`);
  assert.deepEqual(wrong.slice(0, 5), []);
  assert.deepEqual(
    new Set(found.map(row => row.who as string)),
    written,
    "what was answered is what was written",
  );
  assert.ok(count.answered > 100 && stops.length > 2);
});
