/** A job's transaction in the tenant that its payload names. */
import { inTenant } from "tenant-management-service";

/** A job may wait for days: the tenant may have been suspended meanwhile. A deleted one has no row. */
export const inJob = (pool, { tenantId }, work) =>
  inTenant(pool, { tenantId }, async client => {
    const { rowCount } = await client.query(
      "select from app.tenants where id = app.tenant_id() and status = 'active'",
    );
    if (rowCount === 0) throw new Error(`the tenant ${tenantId} is not active`);
    return work(client);
  });

/** Inside a request's transaction, with a login that is a member of `role`: the job is sent if the request commits. */
export async function asQueue(client, role, work) {
  await client.query(`set local role ${role}`);
  const result = await work();
  await client.query("set local role tms_app");
  return result;
}

/**
 * Once, in your migrations, as tms_owner: a role of its own uses the queue's schema. It is no member of tms_app, and tms_app has no right
 * there, so no request reads other tenants' jobs: otherwise the gate fails.
 */
export const grantQueue = (client, schema, role) =>
  client.query(`do $$
    declare v_table regclass;
    begin
      grant usage on schema ${schema} to ${role};
      grant execute on all functions in schema ${schema} to ${role};
      grant usage on all sequences in schema ${schema} to ${role};
      for v_table in select oid from pg_class where relnamespace = '${schema}'::regnamespace and relkind in ('r', 'p', 'v') loop
        execute format('grant select, insert, update, delete on %s to ${role}', v_table);
        if (select relrowsecurity from pg_class where oid = v_table) then
          execute format('drop policy if exists queue on %s; create policy queue on %1$s to ${role} using (true)', v_table);
        end if;
      end loop;
    end $$`);
