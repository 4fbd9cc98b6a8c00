/** No runner of GitHub's is here: the workflows are held against the project. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { parse } from "yaml";

const root = path.resolve(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(path.join(root, file), "utf8");
interface Workflow {
  on: Record<string, unknown>;
  permissions: Record<string, string>;
  jobs: Record<
    string,
    {
      needs?: string;
      permissions?: Record<string, string>;
      steps: { run?: string; uses?: string; with?: Record<string, unknown> }[];
    }
  >;
}
const workflow = (name: string) =>
  parse(read(`.github/workflows/${name}.yml`), { strict: true, uniqueKeys: true }) as Workflow;
const runs = ({ jobs }: Workflow) =>
  Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));

test("both workflows run .ci/run, and read only unless a job says otherwise", () => {
  assert.ok(existsSync(path.join(root, ".ci/run")));
  for (const name of ["ci", "release"]) {
    const one = workflow(name);
    assert.ok(runs(one).includes(".ci/run"), name);
    assert.deepEqual(one.permissions, { contents: "read" });
  }
});

test("a release packs and builds after the tests, attests both, and needs a tag and a date", () => {
  const { on, jobs } = workflow("release");
  assert.deepEqual(on, { push: { tags: ["v*"] } });
  const steps = jobs.release!.steps.map(({ run, uses }) => run ?? uses!.replace(/@.*/, ""));
  // The job of the tests runs everybody's code, and holds no right to write.
  assert.equal(jobs.release!.needs, "test");
  assert.equal(jobs.test!.permissions, undefined);
  assert.ok(jobs.test!.steps.some(({ run }) => run === ".ci/run"));
  assert.equal(jobs.test!.steps[0]!.with!["persist-credentials"], false);
  assert.ok(!steps.includes(".ci/run"));
  const order = ["npm pack", "actions/attest-build-provenance", "docker/build-push-action"];
  const places = order.map(step => steps.indexOf(step));
  assert.ok(!places.includes(-1), String(places));
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
  );
  assert.equal(steps.filter(step => step === "actions/attest-build-provenance").length, 2);
  // The heading that the release asks for is the one that CHANGELOG.md has, but for the date.
  const { version } = JSON.parse(read("package.json")) as { version: string };
  assert.match(read("CHANGELOG.md"), new RegExp(`^## ${version} – (unreleased|\\d{4}-\\d{2}-\\d{2})$`, "m"));
  assert.ok(
    runs(workflow("release")).some(run =>
      run.includes('grep -E "^## $version – [0-9]{4}-[0-9]{2}-[0-9]{2}$"'),
    ),
  );
});
