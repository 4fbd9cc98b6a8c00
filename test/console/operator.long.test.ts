/** What an operator does in the console: every button and form once, in a real browser. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runAudit } from "../../src/audit/run.ts";
import { seedTenant, seedUser, settled, token } from "../harness.ts";
import { skip, type Visitor } from "./browser.ts";
import { createSite, OPERATOR, type Site } from "./site.ts";

let site: Site;
let operator: Visitor;
let acme: string;

before(async () => {
  if (skip) return;
  site = await createSite({ SERVICE_TENANT_DELETION_GRACE: "7" });
  const { sql } = site;
  acme = await seedTenant(sql, { slug: "acme", name: "Acme" });
  await seedUser(sql, acme, { subject: "ada", email: "ada@acme.example", role: "owner" });
  const hooli = await seedTenant(sql, { slug: "hooli", name: "Hooli", status: "pending" });
  await sql`update app.tenants set registration = ${sql.json({ admin_name: "Hugo", use_case: "Boards", metadata: { a: 1 } })} where id = ${hooli}`;
  await seedTenant(sql, { slug: "initech", name: "Initech", status: "pending" });
  operator = await site.visit();
});
after(() => site?.end());

test("a link with a token signs in on this machine, and leaves the address at once", { skip }, async () => {
  await operator.signIn(await token({ sub: "op", name: "Olga", ...OPERATOR }));
  assert.equal(new URL(operator.page.url()).hash, "#/");
  assert.ok(
    !(await operator.page.evaluate<string>("JSON.stringify(history.state) + location.href")).includes("ey"),
  );
  await operator.sees("Olga");
  operator.assertFine();
});

test("a registration is approved, another one rejected", { skip }, async () => {
  await operator.heading("Waiting for approval");
  await operator.sees("Hugo");
  await operator.check();
  const of = (name: string) => operator.page.getByRole("article", { name });
  await operator.press("Approve", of("Hooli"));
  await of("Hooli").waitFor({ state: "detached" });
  await operator.press("Reject…", of("Initech"));
  await operator.dialog().getByLabel("Reason").fill("unknown");
  await operator.check();
  await operator.press("Reject and delete", operator.dialog());
  await operator.sees("Nobody waits for approval.");
  const rows = await site.sql`select slug, status from app.tenants where slug in ('hooli', 'initech')`;
  assert.deepEqual([...rows], [{ slug: "hooli", status: "active" }]);
  operator.assertFine();
});

test("tenants are searched, filtered and created", { skip }, async () => {
  await operator.open("#/tenants", "Tenants");
  await operator.sees("3 tenants");
  await operator.check();
  await operator.page.getByLabel("Search").fill("acm");
  await operator.sees("1 tenant");
  await operator.page.getByLabel("Status").selectOption("suspended");
  await operator.sees("No tenant matches.");
  await operator.page.getByRole("link", { name: "New tenant" }).click();
  await operator.page.getByLabel("Name").fill("Vandelay");
  await operator.check();
  await operator.press("Create tenant");
  await operator.sees("Vandelay is created");
  await operator.page.getByRole("link", { name: "add somebody" }).click();
  await operator.sees("Nobody belongs here yet.");
  await operator.check();
  await operator.open("#/tenants", "Tenants");
  await operator.page.getByRole("link", { name: "New tenant" }).click();
  await operator.page.getByLabel("Name").fill("Soylent");
  await operator.page.getByLabel("First owner").fill("carol");
  await operator.press("Create tenant");
  await operator.sees("Soylent is created");
  await operator.page.getByRole("link", { name: "Members" }).click();
  await operator.sees("carol");
  await operator.open("#/tenants", "Tenants");
  await operator.page.getByLabel("Order").selectOption("name");
  await operator.page.locator("tbody tr", { hasText: "Acme" }).first().waitFor();
  operator.assertFine();
});

const statusOf = async (id: string) =>
  (await site.sql<{ status: string }[]>`select status from app.tenants where id = ${id}`)[0]?.status;

test("a tenant is renamed, suspended with a reason, and resumed", { skip }, async () => {
  await operator.open(`#/tenant/${acme}`, "Acme");
  await operator.check();
  await operator.choose("Rename…");
  await operator.dialog().getByLabel("Name", { exact: true }).fill("Acme Inc.");
  await operator.check();
  await operator.press("Save names", operator.dialog());
  await operator.heading("Acme Inc.");
  await operator.choose("Suspend…");
  await operator.dialog().getByLabel("Reason").fill("Invoice 4711");
  await operator.check();
  await operator.press("Suspend", operator.dialog());
  await operator.sees("It is suspended");
  await operator.sees(/By op, just now: “Invoice 4711”/);
  await operator.check();
  assert.equal(await statusOf(acme), "suspended");
  await operator.press("Resume");
  await operator.page.getByText("It is suspended").waitFor({ state: "detached" });
  assert.equal(await statusOf(acme), "active");
  operator.assertFine();
});

test("a dialog closes by Escape, and the focus returns", { skip }, async () => {
  await operator.choose("Suspend…");
  await operator.dialog().waitFor();
  await operator.page.keyboard.press("Escape");
  await operator.dialog().waitFor({ state: "detached" });
  assert.equal(await operator.page.evaluate("document.activeElement.title"), "Acts on this tenant");
  assert.equal(await statusOf(acme), "active");
});

test("settings are edited as JSON; the change is shown first, and what is no JSON is told", {
  skip,
}, async () => {
  await operator.open(`#/tenant/${acme}/settings`, "Acme Inc.");
  const area = operator.page.getByLabel("Settings as JSON");
  await area.fill("[1]");
  await operator.sees("Settings are one object");
  await area.fill('{"plan": "team", "seats": 5}');
  await operator.press("Review the change");
  await operator.check();
  const shown = operator.page.getByRole("region", { name: "What changes" });
  assert.match(await shown.innerText(), /\+ {3}"plan": "team"/);
  await operator.press("Save");
  await operator.sees("The settings are saved");
  operator.assertFine();
});

test("settings that somebody else changed meanwhile: both versions, and one change on top of the other", {
  skip,
}, async () => {
  const { sql } = site;
  await operator.page.getByLabel("Settings as JSON").fill('{"plan": "team", "seats": 50}');
  await operator.press("Review the change");
  await sql`update app.tenants set settings = '{"plan": "free", "seats": 5}' where id = ${acme}`;
  await operator.press("Save");
  await operator.sees("Somebody else changed the settings in the meantime");
  const theirs = operator.page.getByRole("region", { name: "What they changed" });
  assert.match(await theirs.innerText(), /\+ {3}"plan": "free"/);
  await operator.check();
  await operator.press("Put my changes on theirs");
  await operator.press("Save");
  await operator.sees("Nothing is changed yet.");
  const [row] = await sql`select settings from app.tenants where id = ${acme}`;
  assert.deepEqual(row!.settings, { plan: "free", seats: 50 });
  operator.assertFine();
});

test("deletion shows what would go, asks for the slug, and can be undone while the window is open", {
  skip,
}, async () => {
  await operator.open(`#/tenant/${acme}`, "Acme Inc.");
  await operator.choose("Delete…");
  await operator.sees(/You can restore it for 7 days, until/);
  await operator.check();
  await operator.press("Count what would be deleted");
  await operator.sees("app.users");
  await operator.check();
  assert.equal(await operator.button("Delete").isEnabled(), false);
  await operator.page.getByLabel("Type the slug").fill("acme");
  await operator.page.getByLabel("Reason").fill("a trial that ended");
  await operator.sees("It is in access logs");
  await operator.press("Delete");
  await operator.sees("It can be restored until");
  assert.equal(await statusOf(acme), "deleted");
  await settled(site.sql);
  await operator.open("#/tenants", "Tenants");
  await operator.page.getByLabel("Status").selectOption("deleted");
  await operator.page.getByRole("link", { name: "Acme Inc." }).click();
  await operator.sees("It is deleted");
  await operator.sees(/By op, just now: “a trial that ended”/);
  await operator.check();
  await operator.open(`#/tenant/${acme}/settings`, "Acme Inc.");
  await operator.sees("it cannot be restored afterwards");
  await operator.press("Restore");
  await operator.page.getByText("It is deleted.", { exact: true }).waitFor({ state: "detached" });
  assert.equal(await statusOf(acme), "active");
  operator.assertFine();
});

test("an operator adds a tenant's member, changes the role, removes", { skip }, async () => {
  await operator.open(`#/tenant/${acme}/members`, "Acme Inc.");
  await operator.press("Add a member");
  await operator.dialog().getByLabel("Subject").fill("bea");
  await operator
    .dialog()
    .getByRole("radio", { name: /^owner/ })
    .check();
  await operator.press("Add", operator.dialog());
  await operator.press(/change the role of bea/);
  await operator
    .dialog()
    .getByRole("radio", { name: /^member/ })
    .check();
  await operator.press("Make them a member", operator.dialog());
  await operator.sees("bea is a member now");
  await operator.check();
  await operator.press("Remove… bea");
  await operator.press("Remove", operator.dialog());
  await operator.sees("bea is removed");
  operator.assertFine();
});

test("activity: what was done above, with reasons, filtered by tenant and kind", { skip }, async () => {
  await operator.open("#/activity", "Activity");
  await operator.sees("Invoice 4711");
  await operator.check();
  await operator.page.getByLabel("What").selectOption("tenant.suspended");
  await operator.page.locator(".events li").nth(1).waitFor({ state: "detached" });
  await operator.page.getByLabel("Tenant").fill("nobody");
  await operator.sees("No tenant has the slug");
  await operator.page.getByLabel("Tenant").fill("acme");
  await operator.sees("Invoice 4711");
  await operator.page.locator(".events summary").first().click();
  await operator.press("Copy request id");
  await operator.sees("request id copied");
  await operator.open(`#/tenant/${acme}/activity`, "Acme Inc.");
  await operator.sees(/op restored the organization/);
  operator.assertFine();
});

test("isolation: never audited, then the last run with its findings and remedies", { skip }, async () => {
  await operator.open("#/isolation", "Isolation");
  await operator.sees("The isolation was never audited.");
  await operator.check();
  const { sql, urls } = site;
  await sql`create table app.leaky (id int)`;
  await sql`grant select on app.leaky to tms_app`;
  await runAudit(urls.owner, "DATABASE_URL", { only: "schema", sample: 1 });
  await sql`drop table app.leaky`;
  // By itself: somebody else ran it.
  await operator.sees("Open findings");
  await operator.sees("app.leaky");
  await operator.check();
  await operator.page.getByText("Remedy").first().click();
  await operator.press("Copy remedy");
  await operator.sees("remedy copied");
  await operator.check();
  await runAudit(urls.owner, "DATABASE_URL", { only: "schema", sample: 1 });
  await operator.page.reload();
  await operator.sees(/^\d+ errors? and \d+ warnings? in the last one\./);
  await operator.check();
  operator.assertFine();
});

test("why: an identity, then claims; a refusal is told in words", { skip }, async () => {
  await operator.open("#/why", "Why refused?");
  await operator.check();
  await operator.page.getByLabel("Tenant").fill("acme");
  await operator.page.getByLabel("Person").fill("ada@acme.example");
  await operator.press("Explain");
  await operator.sees("Let in.");
  await operator.sees("app.boards");
  await operator.check();
  await operator.press("By a token's claims");
  await operator.page.getByLabel("Claims or token").fill('{"sub": "eve", "org": "acme"}');
  await operator.press("Explain");
  await operator.sees("Refused.");
  await operator.page.getByLabel("Claims or token").fill("{");
  await operator.press("Explain");
  await operator.sees("The claims are no JSON");
  operator.assertFine();
});

test("setup: recommendations, the deployment, its health", { skip }, async () => {
  await operator.open("#/setup", "Setup");
  await operator.sees("set SERVICE_JWT_ISSUER");
  await operator.sees("It keeps tenants apart");
  await operator.check();
  await operator.press("Check again");
  operator.assertFine();
});

test("an unknown tenant and an unknown page are told in words", { skip }, async () => {
  await operator.page.evaluate("location.hash = '#/tenant/00000000-0000-4000-8000-000000000000'");
  await operator.sees("This does not exist, or no longer.");
  await operator.open("#/nowhere", "There is no such page");
  await operator.check();
  operator.assertFine();
});
