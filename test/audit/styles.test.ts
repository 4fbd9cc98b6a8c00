/** Any Postgres: what the catalog proposes, and what acting by it finds, in four styles of tenancy. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { createDatabase } from "../harness.ts";
import { audited, type Finding, lines, proved } from "./session.ts";
import { STYLES } from "./styles.ts";

const database = await createDatabase();
await database.sql.unsafe(
  "drop schema if exists app, api, control, audit, graphile_migrate, public cascade; create schema public",
);
after(() => database.drop());

const PROPOSED = "select audit.load_profile(audit.propose());".replaceAll("audit.", "pg_temp.");

for (const [name, { schema, proposed, faults }] of Object.entries(STYLES))
  void describe(`a database of the style: ${name}`, () => {
    // As it was before the fault, and a person read it.
    const proposal = audited(database.urls.root, { plant: schema, profile: PROPOSED }, async sql => {
      const [row] = await sql<
        { profile: Record<string, unknown> }[]
      >`select to_jsonb(p) - 'one' as profile from pg_temp.profile p`;
      return row!.profile;
    });
    const by = async <T>(plant: string, work: Parameters<typeof audited<T>>[2]) => {
      const profile = `select pg_temp.load_profile($json$${JSON.stringify(await proposal)}$json$)`;
      return audited(database.urls.root, { plant: schema + plant, profile }, work);
    };

    it("has a profile that the catalog proposes", async () => {
      const profile = await proposal;
      assert.deepEqual(Object.fromEntries(Object.keys(proposed).map(key => [key, profile[key]])), proposed);
    });

    it("is clean as it was built, and every claim is proved", async () => {
      await by("", async sql => {
        const found = await sql<
          Finding[]
        >`select * from pg_temp.run_once(p_writes => true, p_as_superuser => true)`;
        assert.deepEqual(lines([...found].filter(one => one.check)), []);
        assert.equal(found.at(-1)!.severity, "PASSED");
        const claims =
          await sql`select result, count(distinct relid)::int as relations from pg_temp.proof_lines() group by 1`;
        assert.deepEqual(
          [...claims].map(({ result }) => result),
          ["proved"],
        );
      });
    });

    for (const [what, sql, relation, says] of faults)
      it(`finds ${what}`, async () => {
        const found = (await by(sql, transaction => proved(transaction))).filter(
          one => one.severity === "error",
        );
        const one = found.find(finding => finding.relation === relation);
        assert.ok(one, `nothing of ${relation}: ${lines(found).join("\n")}`);
        assert.match(one.detail, says);
      });
  });
