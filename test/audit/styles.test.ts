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

void describe("what public schemas taught the proposal", () => {
  const proposalOf = async (plant: string) =>
    audited(database.urls.root, { plant, profile: "" }, async sql => {
      const [row] = await sql<[{ profile: string }]>`select pg_temp.propose()::text as profile`;
      return JSON.parse(row.profile) as { request_roles: string[]; principals: string | null };
    });

  it("takes the owner as whom requests act where nobody else may, and each role for every tenant", async () => {
    const owner = `app_${database.name}`;
    const { request_roles, principals } = await proposalOf(`
      create role ${owner} login; create table public.orgs (id uuid primary key);
      create table public.notes (org_id uuid not null references public.orgs, id int primary key);
      alter table public.orgs owner to ${owner}; alter table public.notes owner to ${owner}`);
    assert.deepEqual(request_roles, [owner]);
    assert.match(principals!, /set local role/);
  });
});
