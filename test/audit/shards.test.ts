/**
 * What protects a shard is compared with what protects its table. Citus is in no registry, so its catalog is stood in for:
 * one node, this server, that is asked in earnest about a shard. docs/guides/scale.md says what the check found on a real cluster.
 */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createDatabase } from "../harness.ts";
import { DAMAGE, SHARDED } from "./plants/shards.ts";
import { planted } from "./world.ts";

const database = await createDatabase();
after(() => database.drop());

void describe("shard_differs", () => {
  it("has nothing to ask where no table is distributed", async () => {
    assert.deepEqual(await planted(database.sql, "select", "shard_differs"), []);
  });

  it("finds nothing where a shard is protected as its table is", async () => {
    assert.deepEqual(await planted(database.sql, SHARDED, "shard_differs"), []);
  });

  for (const [what, [sql, detail]] of Object.entries(DAMAGE))
    it(`finds ${what}`, async () => {
      const [found, ...more] = await planted(database.sql, `${SHARDED} ${sql}`, "shard_differs");
      assert.deepEqual(more, []);
      assert.deepEqual(
        [found?.severity, found?.category, found?.relation, found?.row],
        ["error", "isolation_config", "app.users", { node: "worker:5432", place: "app.users_102009" }],
      );
      assert.match(found!.detail, detail);
      const of = (words: RegExp) => found!.remedy.match(words)?.length ?? 0;
      assert.equal(of(/which tells every shard/g), / lacks /.test(found!.detail) ? 1 : 0);
      assert.equal(of(/app\.write_policies/g), / lacks /.test(found!.detail) ? 1 : 0, found!.remedy);
      assert.equal(of(/still has more/g), / has besides /.test(found!.detail) ? 1 : 0);
    });

  /** What is so on the node alone. */
  const NODE: [what: string, harm: string, place: string, detail: RegExp, remedy: RegExp][] = [
    [
      "another app.tenant_id()",
      "alter function app.tenant_id() immutable",
      "the node",
      /^the node on worker:5432 lacks this app\.tenant_id\(\): .*STABLE.*has besides this app\.tenant_id\(\): .*IMMUTABLE/,
      /psql -f db\/citus\/distribute\.sql/,
    ],
    ...["superuser", "bypassrls"].map((mark): (typeof NODE)[number] => [
      `a ${mark} there`,
      `alter role tms_service ${mark}`,
      "the node",
      /has besides a role tms_service that no policy holds$/,
      /nosuperuser nobypassrls/,
    ]),
    [
      "the table itself, as the node has it",
      "alter table app.users disable row level security",
      "app.users",
      /^app\.users on worker:5432 lacks row-level security$/,
      /which tells every shard/,
    ],
  ];
  for (const [what, harm, place, detail, remedy] of NODE)
    it(`finds ${what}`, async () => {
      const plant = `${SHARDED}
        alter function pg_catalog.run_command_on_all_nodes(text) rename to run_command_there;
        -- What is done to this server is undone before it is asked again.
        create function pg_catalog.run_command_on_all_nodes(text) returns table (nodeid int, success boolean, result text)
        language plpgsql security definer as $$
        begin
          begin
            execute '${harm}';
            select * into nodeid, success, result from run_command_there($1);
            raise sqlstate 'TM000';
          exception when sqlstate 'TM000' then
            return next;
          end;
        end $$`;
      const [found, ...more] = await planted(database.sql, plant, "shard_differs");
      assert.deepEqual(more, []);
      assert.deepEqual(
        [found?.relation, found?.row],
        [place === "the node" ? null : place, { node: "worker:5432", place }],
      );
      assert.match(found!.detail, detail);
      assert.match(found!.remedy, remedy);
    });

  it("is no pass where a node does not answer, or not of every shard", async () => {
    for (const [sql, why] of [
      ["drop table app.users_102009", /could not run: worker:5432: relation .* does not exist/],
      ["update pg_dist_local_group set groupid = 8", /could not run: worker:5432: it does not tell of every/],
    ] as const) {
      const [found, ...more] = await planted(database.sql, `${SHARDED} ${sql}`, "shard_differs");
      assert.deepEqual(more, []);
      assert.equal(found?.severity, "error");
      assert.match(found.detail, why);
    }
  });
});
