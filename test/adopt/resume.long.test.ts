/** A plan that stops after any of its statements: the next plan begins there, and the last one has nothing left. */
import assert from "node:assert/strict";
import { after } from "node:test";
import { adopt } from "../../src/adopt/adopt.ts";
import { toSql } from "../../src/adopt/text.ts";
import { long } from "../harness.ts";
import { carryOut, createLiving, statementsOf } from "./living.ts";

const living = await createLiving(
  (owner, app) => `
set role ${owner};
create table teams (id int primary key, name text);
create table orders (id int primary key, team_id int not null references teams);
create table lines (id int primary key, order_id int not null references orders);
insert into teams select i, 'Team ' || i from generate_series(1, 2) i;
insert into orders select i, i from generate_series(1, 2) i;
insert into lines select i, i from generate_series(1, 2) i;
grant select, insert, update, delete on all tables in schema public to ${app};
reset role`,
);
after(() => living.drop());

const changes = (statement: string) => !/^(set|reset|begin|commit)\b/.test(statement);

/** Up to the first statement that no earlier plan ran, or to the end of its transaction. */
function untilNew(statements: string[], ran: Set<string>): string[] {
  const at = statements.findIndex(statement => changes(statement) && !ran.has(statement));
  assert.notEqual(at, -1, `each of these ran before: ${statements.join("\n")}`);
  const isOpen =
    statements.slice(0, at).lastIndexOf("begin;") > statements.slice(0, at).lastIndexOf("commit;");
  return statements.slice(0, (isOpen ? statements.indexOf("commit;", at) : at) + 1);
}

long("after each statement of a plan the next plan begins where this one stopped", async t => {
  const ran = new Set<string>();
  for (let plans = 1; ; plans++) {
    const request = { profile: {}, answers: {}, vouched: [], only: null, rehearse: "never" as const };
    const plan = toSql(await adopt(living.urls.root, "the database", request));
    const statements = statementsOf(plan);
    if (statements.length === 0) {
      assert.match(plan, /Nothing is left to do/);
      t.diagnostic(`${plans} plans`);
      break;
    }
    const next = untilNew(statements, ran);
    await carryOut(living.sql, next.join("\n"));
    for (const statement of next.filter(changes)) ran.add(statement);
  }
  const { stdout, code } = await living.plan();
  assert.equal(code, 0, stdout);
  const [row] = await living.sql`select (select count(*) from lines where team_id is null) as homeless,
    (select count(*) from pg_constraint where contype = 'c' and conrelid in ('teams'::regclass, 'lines'::regclass)) as checks,
    (select column_default from information_schema.columns where table_name = 'teams' and column_name = 'tenancy_id') as filled`;
  assert.deepEqual({ ...row }, { homeless: "0", checks: "0", filled: "gen_random_uuid()" });
});
