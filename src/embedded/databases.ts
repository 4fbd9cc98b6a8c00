import { onConnection } from "../database/command-connection.ts";
import { scramVerifier } from "../database/scram-verifier.ts";
import { closeLargeObjects, runRoles } from "../migrate/administrator.ts";
import type { Secrets } from "./secrets.ts";

/** Connection strings: logins tms_service, tms_owner, the superuser, and tms_owner on the shadow database. */
export interface DatabaseUrls {
  service: string;
  owner: string;
  root: string;
  shadow: string;
}

export function urlsOf(secrets: Secrets, port: number): DatabaseUrls {
  // Explicit, because node-postgres and psql otherwise follow PGSSLMODE, which a shell may have for another server.
  const url = (user: string, password: string, database: string) =>
    `postgres://${user}:${password}@127.0.0.1:${port}/${database}?sslmode=disable`;
  return {
    service: url("tms_service", secrets.service, "tms"),
    owner: url("tms_owner", secrets.owner, "tms"),
    root: url("postgres", secrets.superuser, "postgres"),
    shadow: url("tms_owner", secrets.owner, "tms_shadow"),
  };
}

/** Creates roles and databases that are missing, and sets the passwords. */
export const prepare = (urls: DatabaseUrls, secrets: Secrets) =>
  onConnection(urls.root, async sql => {
    await runRoles(sql);
    await sql.unsafe(`alter role tms_owner password '${scramVerifier(secrets.owner)}'`);
    await sql.unsafe(`alter role tms_service password '${scramVerifier(secrets.service)}'`);
    const present = new Set((await sql`select datname from pg_database`).map(row => row.datname as string));
    for (const name of ["tms", "tms_shadow"]) {
      if (!present.has(name)) await sql.unsafe(`create database ${name} owner tms_owner`);
    }
    // The cluster belongs to this service alone, so no other login loses its right to connect or to create temporary tables.
    for (const name of ["tms", "tms_shadow", "postgres", "template1"])
      await sql.unsafe(`revoke all on database ${name} from public`);
    await closeLargeObjects(urls.root, "tms");
  });
