/**
 * What a tenant sees does not depend on the others: property tests over histories of two tenants. test/functions/app/isolation.ts
 * asks the same of single statements. Not compared: times, what every registration tells (that a slug is taken), and the cursor of an
 * event, which holds the number of a transaction of the whole server. Nor how soon an event is shown: no transaction may be older.
 */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import fc from "fast-check";
import { long, rounds } from "../harness.ts";
import { createStage, difference, type History, histories, type Stage, story } from "./histories.ts";

const RUNS = rounds(4, 20);

const stages: Stage[] = [];
async function newStage() {
  const stage = await createStage();
  stages.push(stage);
  return stage;
}
after(() => Promise.all(stages.map(stage => stage.end())));

class Difference extends Error {}

/** The shortest history that fast-check finds in which B learns of A; undefined: it finds none. */
async function shortest(stage: Stage, of: fc.Arbitrary<History>, numRuns: number) {
  const property = fc.asyncProperty(of, async history => {
    const found = await difference(stage, history);
    if (found !== undefined) throw new Difference(found);
  });
  const { counterexample, seed, counterexamplePath, errorInstance } = await fc.check(property, { numRuns });
  if (!counterexample) return undefined;
  if (!(errorInstance instanceof Difference)) throw errorInstance; // a fault of the test
  const message = `B learns of A (seed ${seed}, path ${counterexamplePath}) in ${story(counterexample[0])}
${errorInstance.message}`;
  return { history: counterexample[0], message };
}

test(`B sees the same with a busy A and without one, in ${RUNS} histories`, async () => {
  const found = await shortest(await newStage(), histories(), RUNS);
  assert.equal(found, undefined, found?.message);
});

/** Leaks of three kinds, each planted in a database of its own. */
const LEAKS: [what: string, plant: string, learns: RegExp][] = [
  ["a policy that is gone", "drop policy tenant_only on app.boards", /B: every row of app\.boards/],
  [
    "a function that counts the boards of all tenants",
    `alter function api.get_current_tenant(app.caller) rename to get_mine;
     create function api.get_current_tenant(p_caller app.caller, out body json, out etag text) language sql security definer
     begin atomic
       select (m.body::jsonb || jsonb_build_object('counted', (select count(*) from app.boards)))::json, m.etag
       from api.get_mine(p_caller) m;
     end;
     grant execute on function api.get_current_tenant(app.caller) to tms_service`,
    /"counted": [1-9]/,
  ],
  [
    "a unique key over all tenants",
    "create unique index on app.provider_configs (provider_name)",
    /duplicate key|409/,
  ],
];

for (const [what, plant, learns] of LEAKS)
  long(`${what} is found, with a history of one or two acts`, async context => {
    const stage = await newStage();
    await stage.world.database.sql.unsafe(plant);
    const short = histories({
      kinds: ["insert", "register"],
      parallel: fc.constant(false),
      maxLength: 10,
    });
    const found = await shortest(stage, short, 300);
    assert.ok(found);
    context.diagnostic(story(found.history));
    assert.match(found.message, learns);
    assert.ok([1, 2].includes(found.history.acts.length), found.message);
  });
