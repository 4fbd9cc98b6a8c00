/** Prisma 7: an interactive transaction in the caller's tenant. `npx prisma generate` makes the client from schema.prisma. */
import { PrismaPg } from "@prisma/adapter-pg";
import { PrismaClient } from "@prisma/client";
import { entryStatements, refuseNested } from "tenant-management-service";

export const connect = url => new PrismaClient({ adapter: new PrismaPg({ connectionString: url, max: 4 }) });
export const end = db => db.$disconnect();

export const inTenant = (db, caller, work) =>
  refuseNested(() =>
    db.$transaction(async tx => {
      for (const { text, values } of entryStatements(caller)) await tx.$executeRawUnsafe(text, ...values);
      return work(tx);
    }),
  );

export const members = async tx => (await tx.user.findMany()).map(user => user.subject);

/** A slow call stands between two short transactions: no connection waits for it, and the second one asks for the membership again. */
export async function renameSlowly(db, caller, slow) {
  const before = await inTenant(db, caller, members);
  const displayName = await slow(before);
  await inTenant(db, caller, tx => tx.user.updateMany({ data: { displayName } }));
}
