/** Kysely: a transaction in the caller's tenant. With SERVICE_TENANT_CONTEXT_SECRET the statements carry a proof. */
import { CompiledQuery, Kysely, PostgresDialect } from "kysely";
import pg from "pg";
import { entryStatements, refuseNested } from "tenant-management-service";

export const connect = url =>
  new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: url, max: 4 }) }) });
export const end = db => db.destroy();

export const inTenant = (db, caller, work) =>
  refuseNested(() =>
    db.transaction().execute(async tx => {
      for (const { text, values } of entryStatements(caller))
        await tx.executeQuery(CompiledQuery.raw(text, values));
      return work(tx);
    }),
  );

export const members = async tx =>
  (await tx.selectFrom("app.users").select("auth_subject").execute()).map(row => row.auth_subject);

/** A slow call stands between two short transactions: no connection waits for it, and the second one asks for the membership again. */
export async function renameSlowly(db, caller, slow) {
  const before = await inTenant(db, caller, members);
  const name = await slow(before);
  await inTenant(db, caller, tx => tx.updateTable("app.users").set({ display_name: name }).execute());
}
