/** `tenancy purge`: what a job prints and removes. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createDatabase, seedTenant, seedUser } from "../harness.ts";
import { outcome, tenancy } from "./command.ts";

const database = await createDatabase();
const { sql } = database;
after(() => database.drop());
const run = (...args: string[]) =>
  outcome(tenancy(["purge", ...args], { DATABASE_URL: database.urls.owner }));
const slugs = async () =>
  (await sql<{ slug: string }[]>`select slug from app.tenants order by slug`).map(({ slug }) => slug);

test("purge removes what is past its date, and says so; a dry run only counts; a busy tenant is kept", async () => {
  assert.deepEqual(await run(), { code: 0, stdout: "No deleted tenant is past its date", stderr: "" });
  const ids: Record<string, string> = {};
  for (const slug of ["live", "early", "late", "later"]) {
    ids[slug] = await seedTenant(sql, { slug, status: slug === "live" ? "active" : "deleted" });
    await seedUser(sql, ids[slug], { subject: "ann" });
  }
  await sql`
    update app.tenants set deleted_at = now() - interval '31 days', purge_at = now() - interval '1 day' where slug like 'late%'`;
  const rehearsed = await run("--dry-run");
  assert.equal(rehearsed.code, 0, rehearsed.stderr);
  assert.equal(rehearsed.stdout.split("\n").length, 2);
  assert.match(
    rehearsed.stdout,
    new RegExp(`^Would remove late \\(${ids.late}\\), due since .*Z: 2 rows$`, "m"),
  );
  assert.deepEqual(await slugs(), ["early", "late", "later", "live"]);

  const done = await sql.begin(async writer => {
    await writer`insert into app.boards (tenant_id, owner_id, title) select tenant_id, id, 'x' from app.users where tenant_id = ${ids.late!}`;
    return run("--json");
  });
  assert.equal(done.code, 1);
  const { dry_run, purged, busy } = JSON.parse(done.stdout);
  assert.deepEqual(
    [dry_run, ...[purged, busy].map(list => list.map(({ slug }: { slug: string }) => slug))],
    [false, ["later"], ["late"]],
  );
  assert.deepEqual(Object.keys(purged[0]), ["tenant_id", "slug", "name", "deleted_at", "purge_at"]);
  assert.deepEqual(await slugs(), ["early", "late", "live"]);
  const last = await run();
  assert.deepEqual([last.code, last.stdout.startsWith(`Removed late (${ids.late}), due since `)], [0, true]);
  assert.deepEqual(await slugs(), ["early", "live"]);
  const [event] = await sql`
    select event, actor_subject, login from control.tenant_events where tenant_id = ${ids.late!} order by event desc limit 1`;
  assert.deepEqual({ ...event }, { event: "tenant.deleted", actor_subject: null, login: "tms_owner" });
});
