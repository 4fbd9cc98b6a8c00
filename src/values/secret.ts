import { createHash } from "node:crypto";

/** A secret is made and hashed here, so the database never receives it: no log of statements, no replica and no backup can have it. */
export const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex");
