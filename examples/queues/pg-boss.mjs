/** pg-boss: the payload names the tenant, and the job enters it. */
import PgBoss from "pg-boss";
import { asQueue, grantQueue, inJob } from "./in-job.mjs";

const executeOn = queryable => ({ executeSql: (text, values) => queryable.query(text, values) });

/** `owner`: a pool of tms_owner; `role`: the login of the queue. Each queue is a table of its own. */
export async function install(owner, role, names) {
  const boss = new PgBoss({ db: executeOn(owner), supervise: false, schedule: false });
  await boss.start();
  for (const name of names) await boss.createQueue(name);
  await boss.stop({ graceful: false });
  await grantQueue(owner, "pgboss", role);
}

/** `queue`: a pool of the queue's login. */
export const connect = queue => new PgBoss({ db: executeOn(queue), migrate: false }).start();

/** Inside inTenant(). */
export const send = (boss, client, role, { tenantId }, name, payload) =>
  asQueue(client, role, () => boss.send(name, { ...payload, tenantId }, { db: executeOn(client) }));

/** `pool`: of a login that works in tenants. A task gets a transaction in the tenant, and the payload. */
export async function work(boss, pool, tasks) {
  for (const [name, task] of Object.entries(tasks))
    await boss.work(name, { pollingIntervalSeconds: 0.5 }, async ([{ data }]) =>
      inJob(pool, data, client => task(client, data)),
    );
  return () => boss.stop({ graceful: false });
}
