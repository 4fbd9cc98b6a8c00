/** Names that SQL must quote: a plan takes each of them for a name, wherever it stands. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ident, literal } from "../../src/values/sql-names.ts";
import { carryOut, createLiving, laterOf } from "./living.ts";

const BREAKS_OUT = "$$; drop table canary; --";
const q = (name: string) => ident(name);
const [schema, teams, team] = ["s.'h\"op", `t ${BREAKS_OUT}`, `team.id'"${BREAKS_OUT}`] as const;
const [things, thing, part] = [
  `x ON y USING btree (a) ${BREAKS_OUT}`,
  `thing index concurrently\n; drop table canary; --`,
  `part not valid validate foreign key 'q'`,
] as const;
const at = (name: string) => `${q(schema)}.${q(name)}`;

const living = await createLiving(
  (owner, app) => `
create schema ${q(schema)} authorization ${owner};
set role ${owner};
create table ${at("canary")} (id int primary key);
create table ${at(teams)} (${q("i.d")} text primary key, name text);
create table ${at(things)} (${q(thing)} int primary key, ${q(team)} text not null references ${at(teams)} on delete cascade,
  ${q("co de")} text not null, ${q("be fore")} int references ${at(things)});
create unique index ${q("key USING btree (x)")} on ${at(things)} (lower(${q("co de")}) desc) include (${q("be fore")}) where ${q("co de")} > 'USING btree (';
create table ${at(part)} (${q("i d")} int primary key, ${q(thing)} int not null references ${at(things)} deferrable initially deferred, note text);
create table ${at("user.s")} (${q("id.u")} int primary key);
create table ${at("member.s")} (${q(team)} text not null references ${at(teams)}, ${q("user.id")} int not null references ${at("user.s")},
  primary key (${q(team)}, ${q("user.id")}));
create table ${at("pointer")} (id int primary key, ${q(team)} text references ${at(teams)});
create table ${at("codes")} (a int, b int, ${q(team)} text not null references ${at(teams)}, primary key (a, b), unique (${q(team)}, a, b));
create table ${at("coded")} (id int primary key, ${q(team)} text not null references ${at(teams)}, a int, b int,
  constraint coded_own foreign key (${q(team)}, a, b) references ${at("codes")} (${q(team)}, a, b) on delete cascade,
  constraint coded_key foreign key (a, b) references ${at("codes")} match full on delete set null (b) on update cascade deferrable);
insert into ${at(teams)} select 't' || i, 'Team ' || i from generate_series(1, 2) i;
insert into ${at(things)} select i, 't' || i, 'zz' || i, null from generate_series(1, 2) i;
insert into ${at(part)} select i, i, 'a note' from generate_series(1, 2) i;
insert into ${at("user.s")} select i from generate_series(1, 2) i;
insert into ${at("member.s")} select 't' || i, i from generate_series(1, 2) i;
insert into ${at("pointer")} select i, 't' || i from generate_series(1, 2) i;
grant usage on schema ${q(schema)} to ${app};
grant select, insert, update, delete on all tables in schema ${q(schema)} to ${app};
reset role`,
);
const { sql } = living;
after(() => living.drop());

const keyNamed = async (name: string) => {
  const [key] = await sql<{ clauses: string }[]>`
    select pg_get_constraintdef(oid) as clauses from pg_constraint where conname = ${name}`;
  return key!.clauses;
};

test("a name with dollars, quotes, dots, lines or words of SQL is one name in the whole plan", async () => {
  // The profile's spelling of the tenants' table is not the catalog's.
  const file = living.answer(
    {
      tables: { [at("canary")]: "shared", [at("pointer")]: "required" },
      keys: { [at("key USING btree (x)")]: "tenant", [at("codes_pkey")]: "world" },
    },
    { tenants: `${q(schema)} . "${teams}"`, tenant_key: "i.d" },
  );
  const planned = await living.plan("--answers", file);
  assert.equal(planned.code, 0, planned.stdout + planned.stderr);
  await carryOut(sql, planned.stdout);
  assert.equal((await sql.unsafe(`select from ${at("canary")}`)).length, 0);
  const [index] = await sql<{ definition: string }[]>`
    select pg_get_indexdef(indexrelid) as definition from pg_index
    where indrelid = ${at(things)}::text::regclass and pg_get_indexdef(indexrelid) like '%DESC%' and indnkeyatts = 2`;
  assert.ok(
    index!.definition.endsWith(
      ` USING btree (${q(team)}, lower("co de") DESC) INCLUDE ("be fore") WHERE ("co de" > 'USING btree ('::text)`,
    ),
    index!.definition,
  );
  const [, ...members] = /"user\.s" +(each tenant sees its members)/.exec(planned.stdout) ?? [];
  assert.equal(members.length, 1, planned.stdout);
  const [first] = await sql.unsafe<[{ id: string }]>(
    `select tenancy_id as id from ${at(teams)} where name = 'Team 1'`,
  );
  await living.inTenant(first.id, async tx => {
    await tx.unsafe(`insert into ${at(part)} (${q("i d")}, ${q(thing)}, ${q(team)}) values (3, 1, 't1')`);
    assert.equal((await tx.unsafe(`select from ${at(part)}`)).length, 2);
  });
  await living.asApp(async tx => {
    await tx.unsafe(`insert into ${at(part)} (${q("i d")}, ${q(thing)}) values (4, 2)`);
    const rows = await tx.unsafe(`select from ${at(part)} where ${q(team)} = ${literal("t2")}`);
    assert.equal(rows.length, 2);
  });
  const again = await living.plan("--answers", file, "--no-rehearse");
  assert.match(again.stdout, /Nothing is left to do/);
});

test("a key that carries the tenant keeps the clauses of the old one beside one with others, and a check keeps MATCH FULL", async () => {
  const clauses = "ON UPDATE CASCADE ON DELETE SET NULL (b) DEFERRABLE";
  assert.equal(
    await keyNamed("coded_key_tenant"),
    `FOREIGN KEY (${q(team)}, a, b) REFERENCES ${at("codes")}(${q(team)}, a, b) ${clauses}`,
  );
  const { stdout } = await living.plan("--no-rehearse");
  const drop = laterOf(stdout).find(statement => statement.includes("drop constraint coded_key,"));
  await sql.unsafe(drop!);
  const insert = (values: string) =>
    sql.unsafe(`insert into ${at("coded")} (id, ${q(team)}, a, b) ${values}`);
  await assert.rejects(insert("values (1, 't1', 1, null)"), { code: "23514" });
  await insert("values (1, 't1', null, null)");
});

test("--tables takes a name with a comma, and a name that cannot be printed is refused", async () => {
  const tables = (list: string) => living.plan("--no-rehearse", "--tables", list);
  const { stderr } = await tables(`${at("a, b")}, ${at("c")}`);
  assert.ok(
    stderr.startsWith(`--tables names ${at("a, b")}, ${at("c")}, which cannot be adopted now.`),
    stderr,
  );
  await sql.unsafe(
    `create table ${at("tab\tname")} (id int, ${q(team)} text not null references ${at(teams)})`,
  );
  const refused = await living.plan("--no-rehearse");
  assert.deepEqual([refused.code, refused.stdout], [2, ""]);
  assert.match(
    refused.stderr,
    /has a character that cannot be printed\. Rename it first: .*"tab\\u0009name"/,
  );
});
