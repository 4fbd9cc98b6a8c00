/** Foreign keys and rows at random: the audit finds a broken reference exactly where Postgres, validating the key, finds one. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type postgres from "postgres";
import { createDatabase, rolledBack } from "../harness.ts";
import { passForLarge, seedTenants } from "./world.ts";

const ROUNDS = Number(process.env.ROUNDS ?? 60);
const SEED = Number(process.env.SEED ?? 1);

const database = await createDatabase();
const { sql } = database;
await seedTenants(sql, 3);
await sql.unsafe(
  "create schema extra; create extension citext schema extra; grant usage on schema extra to public",
);
const tenants = (await sql<{ id: string }[]>`select id from app.tenants`).map(row => row.id);
after(() => database.drop());

/** Types of a parent's column and of its child's that Postgres compares, and the i-th value of these. */
const TYPES: { pairs: [parent: string, child: string][]; value: (i: number) => string }[] = [
  {
    pairs: [
      ["int", "int"],
      ["bigint", "int"],
      ["int", "bigint"],
      ["smallint", "bigint"],
    ],
    value: i => `${i}`,
  },
  {
    pairs: [
      ["numeric", "int"],
      ["float8", "float4"],
    ],
    value: i => `${i}`,
  },
  { pairs: [["uuid", "uuid"]], value: i => `'00000000-0000-4000-8000-00000000000${i}'` },
  {
    pairs: [
      ["timestamptz", "date"],
      ["date", "date"],
    ],
    value: i => `'2026-01-0${i + 1}'`,
  },
  {
    pairs: [
      ["text", "varchar(20)"],
      ["text", "char(5)"],
      ['text collate "C"', 'text collate "POSIX"'],
      ["extra.citext", "extra.citext"],
    ],
    value: i => `'${pick(["a", "A"])}${i}'`,
  },
];

let state = SEED;
const below = (n: number) => {
  state = (state * 1103515245 + 12345) % 2 ** 31;
  return Math.floor((state / 2 ** 31) * n);
};
const pick = <T>(list: T[]): T => list[below(list.length)]!;
const times = <T>(n: number, make: (i: number) => T) => Array.from({ length: n }, (_, i) => make(i));

/** Two tables, a key between them, in this table or partition, and rows that no key was asked about. */
function world() {
  const columns = times(1 + below(3), i => {
    const { pairs, value } = pick(TYPES);
    const [parent, child] = pick(pairs);
    return { i, parent, child, value };
  });
  const order = times(columns.length, i => i).sort(() => below(3) - 1);
  const names = (prefix: string) => order.map(i => `"${prefix} ${i}"`).join(", ");
  const kind = pick(["plain", "partition", "child"] as const);
  const table = { plain: "shop.item", partition: "shop.item_0", child: "shop.far_item" }[kind];
  const key = `constraint k foreign key (tenant_id, ${names("%c")}) references shop.kind (tenant_id, ${names("p")}) ${pick(["", "", "match full"])}`;
  const may = pick(["", "not null"]);
  const rows = (into: string, count: number, nulls: boolean) =>
    times(count, () => {
      const values = columns.map(column => (nulls && below(6) === 0 ? "null" : column.value(below(3))));
      return `begin insert into ${into} values ('${pick(tenants)}', default, ${values.join(", ")}); exception when unique_violation or not_null_violation then null; end;`;
    }).join("\n");
  return {
    table,
    key,
    sql: `
      create schema shop authorization tms_owner; grant usage on schema shop to tms_app, tms_auditor;
      create table shop.kind (tenant_id uuid not null, id serial, ${columns.map(({ i, parent }) => `"p ${i}" ${parent} ${may}`).join(", ")},
        primary key (tenant_id, id), unique (tenant_id, ${names("p")}));
      create table shop.item (tenant_id uuid not null, id serial, ${columns.map(({ i, child }) => `"%c ${i}" ${child} ${pick(["", "", "not null"])}`).join(", ")},
        primary key (tenant_id, id)) ${kind === "partition" ? "partition by hash (tenant_id)" : ""};
      ${kind === "partition" ? "create table shop.item_0 partition of shop.item for values with (modulus 1, remainder 0);" : ""}
      ${kind === "child" ? "create table shop.far_item (primary key (tenant_id, id)) inherits (shop.item);" : ""}
      ${["shop.kind", "shop.item", table].map(name => `alter table ${name} owner to tms_owner;`).join(" ")}
      select app.isolate('shop.kind'), app.isolate('shop.item');
      alter table ${table} add ${key};
      set local session_replication_role = replica;
      do $$ begin
      ${rows("shop.kind", 1 + below(12), may === "")}
      ${rows(kind === "child" ? table : "shop.item", below(5), true)}
      end $$;
      set local session_replication_role = origin;
      ${pick(["", passForLarge(`oid = '${table}'::regclass`)])}`,
  };
}

test(`the audit and Postgres agree on ${ROUNDS} keys at random (SEED=${SEED})`, async () => {
  let broken = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { sql: plant, table, key } = world();
    await rolledBack(sql, async transaction => {
      await transaction.unsafe(plant);
      const found = await transaction<{ detail: string }[]>`
        select detail from audit.run_family('data') where relation like 'shop.%' and severity = 'error'`;
      const again = `alter table ${table} drop constraint k; alter table ${table} add ${key}`;
      const fault = await transaction
        .savepoint(inner => inner.unsafe(again))
        .then(
          () => "",
          (error: postgres.PostgresError) => `${error.code} ${error.message}`,
        );
      assert.match(fault, /^(?:23503 |$)/);
      const said = found.map(one => one.detail);
      assert.doesNotMatch(said.join(), /could not run/, plant);
      assert.equal(said.length > 0, fault !== "", `${fault}\n${said.join("\n")}\n${plant}`);
      broken += said.length > 0 ? 1 : 0;
    });
  }
  assert.ok(broken > ROUNDS / 4 && broken < ROUNDS, `${broken} of ${ROUNDS} were broken`);
});
