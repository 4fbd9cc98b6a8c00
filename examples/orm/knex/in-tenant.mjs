/** Knex: a transaction in the caller's tenant. With SERVICE_TENANT_CONTEXT_SECRET the statements carry a proof. */
import Knex from "knex";
import { entryStatements, refuseNested } from "tenant-management-service";

export const connect = url => Knex({ client: "pg", connection: url, pool: { min: 0, max: 4 } });
export const end = db => db.destroy();

export const inTenant = (db, caller, work) =>
  refuseNested(() =>
    db.transaction(async tx => {
      // Knex writes a value as ?
      for (const { text, values } of entryStatements(caller))
        await tx.raw(text.replaceAll(/\$\d+/g, "?"), values);
      return work(tx);
    }),
  );

export const members = tx => tx("app.users").pluck("auth_subject");

/** A slow call stands between two short transactions: no connection waits for it, and the second one asks for the membership again. */
export async function renameSlowly(db, caller, slow) {
  const before = await inTenant(db, caller, members);
  const name = await slow(before);
  await inTenant(db, caller, tx => tx("app.users").update({ display_name: name }));
}
