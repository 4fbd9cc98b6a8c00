/** graphile-worker: the payload names the tenant, and the job enters it. */
import { run, runMigrations } from "graphile-worker";
import { asQueue, grantQueue, inJob } from "./in-job.mjs";

/** `owner`: a pool of tms_owner; `role`: the login of the queue. */
export async function install(owner, role) {
  await runMigrations({ pgPool: owner });
  await grantQueue(owner, "graphile_worker", role);
}

/** Inside inTenant(). */
export const send = (client, role, { tenantId }, task, payload) =>
  asQueue(client, role, () =>
    client.query("select graphile_worker.add_job($1, payload => $2)", [task, { ...payload, tenantId }]),
  );

/** `queue`: a pool of the queue's login; `pool`: of one that works in tenants. A task gets a transaction in the tenant, and the payload. */
export async function work(queue, pool, tasks) {
  const taskList = Object.fromEntries(
    Object.entries(tasks).map(([name, task]) => [
      name,
      payload => inJob(pool, payload, client => task(client, payload)),
    ]),
  );
  const runner = await run({ pgPool: queue, taskList, noHandleSignals: true });
  return () => runner.stop();
}
