/** A database of one's own on the Citus cluster of TEST_CITUS_URLS, made as docs/guides/scale.md describes. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import path from "node:path";
import { promisify } from "node:util";
import postgres from "postgres";
import { migrate } from "../../src/migrate/migrate.ts";
import { addressWith, type Database } from "../harness.ts";

/** Superusers' addresses of a coordinator and its workers. All roles of the cluster have this password. */
const nodes = (process.env.TEST_CITUS_URLS ?? "").split(" ").filter(url => url !== "");

export const missing =
  nodes.length === 0 && "TEST_CITUS_URLS names no Citus cluster: deploy/citus/cluster.sh starts one";

const DISTRIBUTE = path.resolve(import.meta.dirname, "../../db/citus/distribute.sql");

export interface Cluster {
  database: Database;
  /** As superuser on each worker. */
  workers: postgres.Sql[];
  /** Installs the release again, on the coordinator. */
  reinstall(): Promise<unknown>;
  /** Runs db/citus/distribute.sql in psql: what it warns of. */
  distribute(): Promise<string>;
}

/** Not distributed yet. */
export async function createCluster(): Promise<Cluster> {
  const name = `tms_citus_${randomBytes(4).toString("hex")}`;
  const at = (url: string, user?: string) =>
    Object.assign(new URL(url), { pathname: `/${name}`, ...(user && { username: user }) }).href;
  const [coordinator, ...others] = nodes as [string, ...string[]];
  const options = { idle_timeout: 10, onnotice: () => {} };
  const each = async (urls: string[], work: (sql: postgres.Sql) => Promise<unknown>) => {
    for (const url of urls) {
      const sql = postgres(url, { ...options, max: 1 });
      await work(sql).finally(() => sql.end());
    }
  };

  const urls = {
    root: at(coordinator),
    owner: at(coordinator, "tms_owner"),
    service: addressWith(at(coordinator, "tms_service"), { lock_timeout: "10s" }),
  };
  await each(others, sql => sql`create database ${sql(name)}`);
  const install = (reinstall: boolean) =>
    migrate({
      ownerUrl: urls.owner,
      serviceUrl: at(coordinator, "tms_service"),
      rootUrl: coordinator,
      reinstall,
    });
  await install(false);
  await each(
    nodes.map(url => at(url)),
    sql => sql`create extension citus`,
  );
  const sql = postgres(urls.root, { ...options, max: 4 });
  const { hostname, port, password } = new URL(coordinator);
  await sql`select citus_set_coordinator_host(${hostname}, ${Number(port)})`;
  for (const { hostname, port } of others.map(url => new URL(url)))
    await sql`select citus_add_node(${hostname}, ${Number(port)})`;
  for (const role of ["tms_owner", "tms_app", "tms_registrar", "tms_auditor"])
    await sql.unsafe(`alter role ${role} password '${password}'`);

  const workers = others.map(url => postgres(at(url), { ...options, max: 2 }));
  const distribute = async () => {
    const args = ["-Xq", "-v", "ON_ERROR_STOP=1", "-f", DISTRIBUTE, "-d", urls.root];
    const { stderr } = await promisify(execFile)("psql", args);
    return stderr
      .split("\n")
      .filter(line => line.includes("WARNING"))
      .join("\n");
  };
  const drop = async () => {
    await Promise.all([sql, ...workers].map(one => one.end({ timeout: 5 })));
    await each(nodes, root => root`drop database ${root(name)} with (force)`);
  };
  return { database: { name, urls, sql, drop }, workers, reinstall: () => install(true), distribute };
}
