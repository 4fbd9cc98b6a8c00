import { chmodSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import postgres from "postgres";
import { onConnection } from "../src/database/command-connection.ts";
import { startEmbedded } from "../src/embedded/embedded.ts";
import { migrate } from "../src/migrate/migrate.ts";

export interface BenchServer {
  /** A database of this name with all that another holds, or with the schema alone, db/migrations/current.sql included; its logins' addresses. */
  database(name: string, copyOf?: string): Promise<BenchDatabase>;
  /** Processor time of all backends so far, in microseconds; null where /proc does not tell. */
  cpu(): number | null;
  stop(): Promise<void>;
}

const EMPTY = "bench_empty";

export interface BenchDatabase {
  urls: { root: string; owner: string; service: string };
  /** As superuser. */
  sql: postgres.Sql;
  drop(): Promise<void>;
}

/** A Postgres of the benchmark's own. Commits wait for no disk: on a shared machine the disk would be all one measured. */
export async function startBenchServer(): Promise<BenchServer> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "tms-bench-"));
  chmodSync(dataDir, 0o711);
  const embedded = await startEmbedded({
    dataDir,
    settings: {
      synchronous_commit: "off",
      fsync: "off",
      shared_buffers: "4GB", // more than the largest load: what is measured is no disk and no cache of the system's
      maintenance_work_mem: "1GB",
      max_wal_size: "8GB",
      max_connections: "200",
      autovacuum: "off", // vacuumed by hand after each load, so that it does not run into one case and not the other
    },
  });
  const at = (url: string, name: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href;
  const asRoot = <T>(work: (root: postgres.Sql) => Promise<T>) => onConnection(embedded.urls.root, work);
  const [file] = await asRoot(
    async root => root<{ pid: string }[]>`select pg_read_file('postmaster.pid') as pid`,
  );
  const postmaster = Number.parseInt(file!.pid, 10);
  const server: BenchServer = {
    cpu: () => clusterCpu(postmaster),
    stop: embedded.remove,
    async database(name, copyOf = EMPTY) {
      const urls = {
        root: at(embedded.urls.root, name),
        owner: at(embedded.urls.owner, name),
        service: at(embedded.urls.service, name),
      };
      if (name !== EMPTY) {
        await asRoot(async root => {
          await root`create database ${root(name)} owner tms_owner template ${root(copyOf)} strategy file_copy`;
          await root`revoke temporary on database ${root(name)} from public`;
        });
      }
      await migrate({
        ownerUrl: urls.owner,
        serviceUrl: urls.service,
        rootUrl: embedded.urls.root,
        current: true,
      });
      const sql = postgres(urls.root, { max: 4, onnotice: () => {} });
      return {
        urls,
        sql,
        async drop() {
          await sql.end({ timeout: 5 });
          await asRoot(async root => root`drop database ${root(name)} with (force)`);
        },
      };
    },
  };
  // Copied, and not migrated each time, which takes three times as long.
  const empty = await server.database(EMPTY);
  await empty.sql.end();
  return server;
}

/** The postmaster's living and dead children; Linux counts in hundredths of a second. */
function clusterCpu(postmaster: number): number | null {
  try {
    let ticks = 0;
    for (const pid of readdirSync("/proc").filter(name => /^\d+$/.test(name))) {
      const stat = readStat(pid);
      if (!stat) continue;
      if (Number(pid) === postmaster)
        ticks += stat.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
      else if (Number(stat[1]) === postmaster) ticks += Number(stat[11]) + Number(stat[12]);
    }
    return ticks * 10_000;
  } catch {
    return null;
  }
}

/** The fields after the command's name, which may hold spaces itself. */
function readStat(pid: string): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, "latin1")
      .replace(/^.*\) /s, "")
      .split(" ");
  } catch {
    return undefined; // it ended in between
  }
}

/**
 * `tenants` tenants with an owner (`user-<n>`) and `boards` boards each, slugs `t-<n>`, ids computed from n, and beside
 * them the schema `floor`: the same rows in plain tables, without row level security, triggers or composite keys.
 */
export async function seed(sql: postgres.Sql, tenants: number, boards: number): Promise<void> {
  await sql.unsafe(`
    drop index app.tenants_search;
    insert into app.tenants (id, name, slug, created_at, updated_at)
    select md5('t' || n)::uuid, 'Tenant ' || n, 't-' || n, at, at
    from generate_series(1, ${tenants}) n, lateral (select now() - n * interval '1 second' as at) as made;
    create index tenants_search on app.tenants using gin (name control.gin_trgm_ops, slug control.gin_trgm_ops);
    insert into app.users (tenant_id, id, auth_provider, auth_subject, email, role)
    select md5('t' || n)::uuid, md5('u' || n)::uuid, 'jwt', 'user-' || n, 'user-' || n || '@t-' || n || '.example', 'owner'
    from generate_series(1, ${tenants}) n;
    insert into app.boards (tenant_id, id, owner_id, title, description, created_at, updated_at)
    select md5('t' || n)::uuid, md5('b' || n || '/' || b)::uuid, md5('u' || n)::uuid, 'Board ' || b, 'What board ' || b || ' is for', at, at
    from generate_series(1, ${tenants}) n, generate_series(1, ${boards}) b, lateral (select now() - b * interval '1 minute' as at) as made;
    create schema floor;
    create table floor.tenants as select id, name, slug, status, settings, created_at, updated_at from app.tenants;
    alter table floor.tenants add primary key (id), add unique (slug), alter id set default gen_random_uuid(),
      alter settings set default '{}', alter status set default 'active', alter created_at set default now(), alter updated_at set default now();
    create table floor.users as select * from app.users;
    alter table floor.users add primary key (id), add foreign key (tenant_id) references floor.tenants on delete cascade,
      alter id set default gen_random_uuid(), alter created_at set default now(), alter updated_at set default now();
    create index on floor.users (tenant_id);
    create table floor.boards as select * from app.boards;
    alter table floor.boards add primary key (id);
    create index on floor.boards (tenant_id, created_at desc, id);
  `);
  await vacuum(sql);
}

/**
 * Until the commits around it are on disk, vacuum calls no page visible to all, and what an index alone could answer reads
 * the table as well.
 */
export async function vacuum(sql: postgres.Sql): Promise<void> {
  const session = await sql.reserve();
  try {
    await session`set synchronous_commit = on`;
    await session`checkpoint`;
    await session`vacuum (analyze)`;
    await session`reset synchronous_commit`;
  } finally {
    session.release();
  }
}
