/** Drizzle: a transaction in the caller's tenant. With SERVICE_TENANT_CONTEXT_SECRET the statements carry a proof. */
import { sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { pgSchema, text } from "drizzle-orm/pg-core";
import pg from "pg";
import { entryStatements, refuseNested } from "tenant-management-service";

const users = pgSchema("app").table("users", {
  subject: text("auth_subject"),
  displayName: text("display_name"),
});

export const connect = url => drizzle({ client: new pg.Pool({ connectionString: url, max: 4 }) });
export const end = db => db.$client.end();

/** Drizzle's statements are pieces of text with values between them. */
const toSql = ({ text, values }) =>
  sql.join(
    text.split(/\$\d+/).flatMap((piece, i) => (i ? [sql`${values[i - 1]}`] : []).concat(sql.raw(piece))),
  );

export const inTenant = (db, caller, work) =>
  refuseNested(() =>
    db.transaction(async tx => {
      for (const statement of entryStatements(caller)) await tx.execute(toSql(statement));
      return work(tx);
    }),
  );

export const members = async tx =>
  (await tx.select({ subject: users.subject }).from(users)).map(row => row.subject);

/** A slow call stands between two short transactions: no connection waits for it, and the second one asks for the membership again. */
export async function renameSlowly(db, caller, slow) {
  const before = await inTenant(db, caller, members);
  const displayName = await slow(before);
  await inTenant(db, caller, tx => tx.update(users).set({ displayName }));
}
