/** Every policy of this service's tables, changed in every way that opens a table: the proof finds it by acting, or a check names it. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createDatabase } from "../harness.ts";
import { audited, type Finding, proved, read } from "./session.ts";
import { seedTenants } from "./tenants.ts";

const database = await createDatabase();
await seedTenants(database.sql, 4);
after(() => database.drop());

interface Policy {
  relation: string;
  name: string;
  using: string;
  check: string | null;
  permissive: boolean;
}

const policies = await database.sql<Policy[]>`
  select format('%I.%I', schemaname, tablename) as relation, policyname as name, qual as using, with_check as check,
    permissive = 'PERMISSIVE' as permissive
  from pg_policies where schemaname = 'app' and 'tms_app' = any (roles) order by 1, 2`;

const alter = ({ relation, name }: Policy, clause: string) =>
  `alter policy ${name} on ${relation} ${clause};`;
const either = (p: Policy, more: string) =>
  alter(p, `using (${p.using} or ${more})`) + (p.check ? alter(p, `with check (${p.check} or ${more})`) : "");

/** What is done to a policy, and whether the proof can see it by acting; else the check that names it. */
const MUTANTS: Record<string, [mutate: (p: Policy) => string, by?: string]> = {
  "is dropped": [p => `drop policy ${p.name} on ${p.relation};`],
  "shows every row": [p => alter(p, "using (true)")],
  "checks nothing": [p => alter(p, "with check (true)")],
  "shows every row and checks nothing": [p => alter(p, "using (true) with check (true)")],
  "shows no row": [p => alter(p, "using (false)")],
  "shows every row without a tenant": [p => either(p, "app.tenant_id() is null")],
  "shows every row inside a tenant": [p => either(p, "app.tenant_id() is not null")],
  "shows the login every row": [p => either(p, "session_user = 'tms_service'"), "policy_depends"],
  "looks at another setting, too": [
    p => either(p, "current_setting('app.support', true) = 'on'"),
    "policy_depends",
  ],
  "opens at a time of day": [p => either(p, "extract(hour from now()) > 24"), "policy_depends"],
  "is one of many": [
    p =>
      `create policy more on ${p.relation} to tms_app using (true); alter policy tenant_only on ${p.relation} using (true);`,
  ],
};

/** Why a mutant changes nothing that a request can do. */
function harmless(kind: string, { relation, name, permissive }: Policy): string | undefined {
  if (permissive && kind.startsWith("shows") && kind !== "shows no row")
    return "it admits every row as it is";
  if (permissive && (kind.startsWith("checks") || kind.includes("too") || kind.startsWith("opens")))
    return "it admits every row as it is, and the restrictive one beside it decides";
  if (relation === "app.tenants" && kind === "checks nothing") return "nobody who is under it may write";
  if (name === "tenant_rows" && kind === "is one of many") return "the same as of tenant_only";
  return undefined;
}

// One mutant a table at a time, all tables at once.
const relations = [...new Set(policies.map(({ relation }) => relation))];
for (const name of new Set(policies.map(one => one.name)))
  for (const [kind, [mutate, by]] of Object.entries(MUTANTS)) {
    const mutants = policies.filter(one => one.name === name && !harmless(kind, one));
    if (mutants.length === 0) continue;
    test(`a policy ${name} that ${kind} is found on each of ${mutants.length} tables`, async () => {
      const found = await audited(
        database.urls.root,
        { plant: mutants.map(mutate).join("\n"), texts: by ? [read(`checks/${by}.sql`)] : [] },
        async sql =>
          by
            ? await sql<
                Finding[]
              >`select relation, severity from ${sql(`pg_temp.${by}`)} where severity = 'error'`
            : await proved(sql),
      );
      const errors = new Set(found.filter(one => one.severity === "error").map(one => one.relation));
      assert.deepEqual(
        mutants.map(one => one.relation).filter(relation => !errors.has(relation)),
        [],
      );
      assert.deepEqual(
        [...errors].filter(relation => !mutants.some(one => one.relation === relation)),
        [],
      );
    });
  }

test("a mutant that is named harmless changes nothing that acting can show", async () => {
  for (const [kind, [mutate]] of Object.entries(MUTANTS)) {
    const mutants = policies.filter(one => harmless(kind, one));
    if (mutants.length === 0 || kind === "is one of many") continue;
    const found = await audited(database.urls.root, { plant: mutants.map(mutate).join("\n") }, sql =>
      proved(sql),
    );
    assert.deepEqual(found, [], kind);
  }
});

test("as they are, the policies of all tables are proved", async () => {
  assert.deepEqual(await audited(database.urls.root, {}, sql => proved(sql)), []);
  assert.ok(relations.length >= 10);
});
