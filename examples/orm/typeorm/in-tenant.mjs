/** TypeORM: a transaction in the caller's tenant. With SERVICE_TENANT_CONTEXT_SECRET the statements carry a proof. */
import "reflect-metadata";
import { entryStatements, refuseNested } from "tenant-management-service";
import { DataSource, EntitySchema } from "typeorm";

const User = new EntitySchema({
  name: "User",
  schema: "app",
  tableName: "users",
  columns: {
    tenantId: { name: "tenant_id", type: "uuid", primary: true },
    id: { type: "uuid", primary: true },
    subject: { name: "auth_subject", type: "text" },
    displayName: { name: "display_name", type: "text" },
  },
});

export const connect = url =>
  new DataSource({ type: "postgres", url, entities: [User], extra: { max: 4 } }).initialize();
export const end = db => db.destroy();

export const inTenant = (db, caller, work) =>
  refuseNested(() =>
    db.transaction(async tx => {
      for (const { text, values } of entryStatements(caller)) await tx.query(text, values);
      return work(tx);
    }),
  );

export const members = async tx => (await tx.find(User)).map(user => user.subject);

/** A slow call stands between two short transactions: no connection waits for it, and the second one asks for the membership again. */
export async function renameSlowly(db, caller, slow) {
  const displayName = await slow(await inTenant(db, caller, members));
  await inTenant(db, caller, tx => tx.createQueryBuilder().update(User).set({ displayName }).execute());
}
