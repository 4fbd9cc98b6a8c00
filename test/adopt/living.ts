/** A database in use, with the service installed in it; makes plans and carries them out. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import postgres from "postgres";
import type { Answers } from "../../src/adopt/answers.ts";
import { outcome, tenancy } from "../cli/command.ts";
import { temporaryFolder } from "../folder.ts";
import { createDatabase, type Database } from "../harness.ts";

export interface LivingDatabase extends Database {
  owner: string;
  app: string;
  /** The role that requests of tenants act as. */
  role: string;
  /** `work` as a login of the old application. */
  asApp<T>(work: (tx: postgres.TransactionSql) => Promise<T>): Promise<T>;
  /** `work` as the moved backend, in a tenant; null: in none. */
  inTenant<T>(tenantId: string | null, work: (tx: postgres.TransactionSql) => Promise<T>): Promise<T>;
  plan(...args: string[]): Promise<Planned>;
  /** Writes adopt.json with these answers; returns its path. */
  answer(answers: Answers, profile?: Record<string, unknown>): string;
}

export interface Planned {
  code: number | null;
  stdout: string;
  stderr: string;
}

export async function createLiving(schema: (owner: string, app: string) => string): Promise<LivingDatabase> {
  const database = await createDatabase();
  const suffix = randomBytes(4).toString("hex");
  const [owner, app] = [`prod_owner_${suffix}`, `prod_app_${suffix}`];
  const role = `${database.name}_tenant`;
  // A rehearsal may take longer than the harness keeps an idle connection, and the driver may lose a query as it ends one.
  const sql = postgres(database.urls.root, { max: 4, idle_timeout: 60, onnotice: () => {} });
  await sql.unsafe(`create role ${owner} login; create role ${app} login;
    grant connect on database ${database.name} to ${owner}, ${app};
    grant usage, create on schema public to ${owner}; grant usage on schema public to ${app}`);
  await sql.unsafe(schema(owner, app));
  const folder = temporaryFolder("adopt");
  const file = path.join(folder, "adopt.json");
  return {
    ...database,
    sql,
    owner,
    app,
    role,
    asApp: work =>
      sql.begin(async tx => {
        await tx.unsafe(`set local role ${app}`);
        return work(tx);
      }) as never,
    inTenant: (tenantId, work) =>
      sql.begin(async tx => {
        await tx.unsafe(`set local role ${role}`);
        if (tenantId) await tx.unsafe(`set local app.tenant_id = '${tenantId}'`);
        return work(tx);
      }) as never,
    plan: (...args) => outcome(tenancy(["adopt", "--plan", "--database", database.urls.root, ...args])),
    answer: (answers, profile) => {
      writeFileSync(file, JSON.stringify({ profile, adopt: answers }));
      return file;
    },
    drop: async () => {
      await sql.unsafe(`drop owned by ${owner}, ${app} cascade`);
      await sql.end();
      await database.drop();
      const rest = await createDatabase();
      await rest.sql.unsafe(`drop role if exists ${role}, ${owner}, ${app}`);
      await rest.drop();
    },
  };
}

/** Carries a plan out, as psql does: one statement after the other. */
export async function carryOut(sql: postgres.Sql, plan: string): Promise<void> {
  const session = await sql.reserve();
  try {
    for (const statement of statementsOf(plan)) await session.unsafe(statement).simple();
  } finally {
    // A statement that failed may have left a transaction and a role.
    await session.unsafe("rollback; reset role; reset lock_timeout").simple();
    session.release();
  }
}

/** Cut as psql does: a semicolon ends a statement unless a text or a name has it, and comments are left out. */
export function statementsOf(plan: string): string[] {
  const tokens = plan.matchAll(/'[^']*'|"[^"]*"|--[^\n]*|^\\[^\n]*|;|[^'"\-;\\]+|[\s\S]/gm);
  const found: string[] = [];
  let current = "";
  for (const [token] of tokens) {
    if (token.startsWith("--") || (token.startsWith("\\") && current.trim() === "")) continue;
    current += token;
    if (token !== ";") continue;
    found.push(current.trim());
    current = "";
  }
  assert.equal(current.trim(), "", "an end without a semicolon");
  return found;
}

/** The statements under *Later, by hand*. */
export const laterOf = (plan: string): string[] =>
  plan
    .slice(plan.indexOf("-- Later, by hand"))
    .split("\n")
    .filter(line => /^-- {3}(alter table|drop index)/.test(line))
    .map(line => line.slice(5));

export const readAnswers = (file: string) =>
  JSON.parse(readFileSync(file, "utf8")) as { profile: Record<string, unknown>; adopt: Required<Answers> };

interface Told {
  check: string;
  severity: string;
  relation: string;
  detail: string;
}

/** The audit's findings with the profile in this file. It tries writes, too. */
export async function auditedBy(file: string, url: string): Promise<Told[]> {
  const { stdout } = await outcome(
    tenancy([
      "audit",
      "--database",
      url,
      "--as-superuser",
      "--writes",
      "--baseline",
      file,
      "--format",
      "json",
    ]),
  );
  return (JSON.parse(stdout) as { findings: Told[] }).findings;
}
