/** What somebody else does meanwhile: to the reader's own power, to what the page shows, to the service. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { seedTenant, seedUser } from "../harness.ts";
import { until } from "../until.ts";
import { skip, type Visitor } from "./browser.ts";
import { createSite, OPERATOR, type Site } from "./site.ts";

let site: Site;
let operator: Visitor;
let owner: Visitor;
const ids: Record<string, string> = {};

before(async () => {
  if (skip) return;
  site = await createSite();
  const { sql } = site;
  for (const slug of ["acme", "globex"]) {
    ids[slug] = await seedTenant(sql, { slug, name: slug.replace(/^./, one => one.toUpperCase()) });
    await seedUser(sql, ids[slug]!, { subject: "ada", role: "owner" });
  }
  await seedUser(sql, ids.acme!, { subject: "ben" });
  operator = await site.arrive("op", OPERATOR);
  owner = await site.arrive("ada");
});
after(() => site?.end());

const role = (is: string) =>
  site.sql`update app.users set role = ${is} where tenant_id = ${ids.acme!} and auth_subject = 'ada'`;
const status = (slug: string, is: string) =>
  site.sql`update app.tenants set status = ${is} where id = ${ids[slug]!}`;

test("an open page notices that the reader has lost a role, a membership or the organization", {
  skip,
}, async () => {
  const { sql } = site;
  await seedUser(sql, ids.acme!, { subject: "olaf", role: "owner" });
  await owner.open("#/org/acme/members", "Members");
  await role("member");
  await owner.press("Add a member");
  await owner.dialog().getByLabel("Subject").fill("carl");
  await owner.press("Add", owner.dialog());
  await owner.sees("You are a member of Acme now");
  await owner.sees("member of acme", owner.page.locator(".who"));
  await owner.button("Add a member").waitFor({ state: "detached" });
  assert.equal(await owner.dialog().count(), 0);
  assert.equal(await owner.page.getByRole("link", { name: "API keys" }).count(), 0);
  await role("owner");
  await owner.page.reload();
  await owner.button("Add a member").waitFor();
  await status("acme", "suspended");
  await owner.page.getByRole("link", { name: "Invitations" }).click();
  await owner.sees(/It is suspended: everybody is refused/);
  await owner.check();
  await status("acme", "active");
  await owner.press("Look again");
  await owner.sees("No invitation is open.");
  await sql`update app.users set removed_at = now() where tenant_id = ${ids.acme!} and auth_subject = 'ada'`;
  await owner.page.getByRole("link", { name: "Members", exact: true }).click();
  await owner.heading("You do not belong to this organization");
  await sql`update app.users set removed_at = null where tenant_id = ${ids.acme!} and auth_subject = 'ada'`;
  owner.assertFine();
});

test("when another reader acted first, the page says so and the list shows it", { skip }, async () => {
  const { sql } = site;
  await operator.open(`#/tenant/${ids.acme}/members`, "Acme");
  const ben = operator.page.locator("tbody tr", { hasText: "ben" });
  const removed = (at: Date | null) => sql`
    update app.users set removed_at = ${at} where tenant_id = ${ids.acme!} and auth_subject = 'ben'`;
  for (const act of ["Remove… ben", /change the role of ben/]) {
    await removed(null);
    await operator.page.reload();
    await ben.waitFor();
    await removed(new Date());
    await operator.press(act);
    const dialog = operator.dialog();
    if (act instanceof RegExp) await dialog.getByRole("radio", { name: /^admin/ }).check();
    await dialog.locator("button[type=submit]").click();
    await operator.sees("This does not exist, or no longer.", dialog);
    await ben.waitFor({ state: "detached" });
    await operator.press("Cancel", dialog);
  }
  for (const act of ["Approve", "Reject…"]) {
    ids.hooli = await seedTenant(sql, { slug: "hooli", name: "Hooli", status: "pending" });
    await operator.open("#/waiting", "Waiting for approval");
    await operator.page.reload();
    const waits = operator.page.getByRole("article", { name: "Hooli" });
    await waits.waitFor();
    await sql`update app.tenants set slug = ${`was-${act.slice(0, 3).toLowerCase()}`}, status = 'active' where id = ${ids.hooli}`;
    await operator.press(act, waits);
    if (act !== "Approve") await operator.press("Reject and delete", operator.dialog());
    await operator.sees("Hooli was approved in the meantime");
    await waits.waitFor({ state: "detached" });
    assert.equal(await operator.dialog().count(), 0);
  }
  operator.assertFine();
});

test("when two owners rename at once, the second sees the other's name before they overwrite it", {
  skip,
}, async () => {
  await owner.open("#/org/globex", "Globex");
  const { page } = owner;
  await page.getByRole("textbox", { name: "Name" }).fill("Globex Mine");
  await site.sql`update app.tenants set name = 'Globex Theirs', updated_at = now() where id = ${ids.globex!}`;
  await owner.press("Save name");
  await owner.sees(/The organization has changed since it was read/);
  await owner.sees("Meanwhile somebody else saved:");
  await owner.heading("Globex Theirs");
  await owner.check();
  await owner.press("Save mine over it");
  await owner.heading("Globex Mine");
  await page.getByText("Meanwhile somebody else saved:").waitFor({ state: "detached" });
  await owner.sees("ada changed the name of the organization", page.locator(".events"));
  owner.assertFine();
});

test("after the reader drops their changes and leaves, the page still shows what somebody else saved", {
  skip,
}, async () => {
  await operator.open(`#/tenant/${ids.acme}/settings`, "Acme");
  const area = operator.page.getByLabel("Settings as JSON");
  await area.fill('{"mine": 1}');
  await operator.press("Review the change");
  await site.sql`update app.tenants set settings = '{"theirs": 1}' where id = ${ids.acme!}`;
  await operator.press("Save");
  await operator.press("Drop mine");
  const parts = operator.page.locator(".tabs");
  await parts.getByRole("link", { name: "Members" }).click();
  await operator.button("Add a member").waitFor();
  await parts.getByRole("link", { name: "Settings" }).click();
  assert.match(await area.inputValue(), /"theirs": 1/);
  operator.assertFine();
});

test("each part of a tenant shows what was changed meanwhile, and how many members it has", {
  skip,
}, async () => {
  const { sql } = site;
  await operator.open("#/tenants", "Tenants");
  await operator.open(`#/tenant/${ids.acme}`, "Acme");
  await owner.open("#/org/acme", "Acme");
  const settings = (value: string) =>
    sql`update app.tenants set settings = ${sql.json({ value })}, updated_at = now() where id = ${ids.acme!}`;
  await settings("first");
  await owner.page.getByRole("link", { name: "Settings" }).click();
  await owner.sees(/"value": "first"/);
  await operator.page.locator(".tabs").getByRole("link", { name: "Settings" }).click();
  const area = operator.page.getByLabel("Settings as JSON");
  await until("the settings are new", async () => /first/.test(await area.inputValue()));
  const members = async () =>
    Number((await operator.page.locator(".meta").innerText()).match(/(\d+) member/)![1]);
  const before = await members();
  await seedUser(sql, ids.acme!, { subject: "nick" });
  await operator.page.locator(".tabs").getByRole("link", { name: "Members" }).click();
  await until("nick counts", async () => (await members()) === before + 1);
  await operator.press("Add a member");
  await operator.dialog().getByLabel("Subject").fill("nora");
  await operator.press("Add", operator.dialog());
  await until("nora counts", async () => (await members()) === before + 2);
  await operator.press("Remove… nora");
  await operator.press("Remove", operator.dialog());
  await until("nora counts no more", async () => (await members()) === before + 1);
  operator.assertFine();
  owner.assertFine();
});

test("a reader who comes back to the tab sees the organization and the role that they were given", {
  skip,
}, async () => {
  const { sql } = site;
  const nina = await site.arrive("nina");
  const comesBack = (one: Visitor) =>
    one.page.evaluate("document.dispatchEvent(new Event('visibilitychange')) && 0");
  await nina.heading("You belong to no organization yet");
  await seedUser(sql, ids.acme!, { subject: "nina" });
  await comesBack(nina);
  await nina.heading("Acme");
  await sql`update app.users set role = 'admin' where tenant_id = ${ids.acme!} and auth_subject = 'nina'`;
  await nina.page.getByRole("link", { name: "Members", exact: true }).click();
  await nina.sees("You are an admin of Acme now");
  await nina.button("Add a member").waitFor();
  nina.assertFine();
  await nina.leave();
  await operator.open("#/waiting", "Waiting for approval");
  await operator.sees("Nobody waits for approval.");
  await seedTenant(sql, { slug: "late", name: "Late", status: "pending" });
  await comesBack(operator);
  await operator.page.getByRole("article", { name: "Late" }).waitFor();
  await operator.page.getByRole("link", { name: "Waiting 1 waiting" }).waitFor();
  operator.assertFine();
});

test("nobody is offered to join a deleted tenant", { skip }, async () => {
  const id = await seedTenant(site.sql, { slug: "gone", name: "Gone", status: "deleted" });
  await operator.open(`#/tenant/${id}`, "Gone");
  await operator.sees("It is deleted.");
  await operator.sees("Last events");
  for (const part of ["Members", "Invitations"]) {
    assert.equal(await operator.page.getByText("Invite its first owner").count(), 0);
    await operator.page.locator(".tabs").getByRole("link", { name: part }).click();
    await operator.sees(part === "Members" ? "Nobody belongs here yet." : "No invitation is open.");
    for (const act of ["Add a member", "Invite somebody"])
      assert.equal(await operator.button(act).count(), 0, `${act} in ${part}`);
  }
  await operator.sees("nobody can be invited until it is restored");
  operator.assertFine();
});

test("the chooser of organizations works by arrow keys, says which are out of reach, and shows the current one", {
  skip,
}, async () => {
  const chooser = owner.page.getByRole("combobox", { name: "Organization" });
  await owner.open("#/org/acme", "Acme");
  await chooser.focus();
  await owner.page.keyboard.press("ArrowDown");
  await owner.heading("Globex Mine");
  await owner.page.keyboard.press("ArrowUp");
  await owner.heading("Acme");
  const bound = await site.arrive("ada", { tenant: "globex" });
  await bound.heading("Globex Mine");
  const options = await bound.page.getByRole("combobox", { name: "Organization" }).innerText();
  assert.match(options, /Acme \(not with this sign-in\)/);
  assert.doesNotMatch(options, /Globex Mine \(not/);
  await bound.leave();
  owner.assertFine();
});

test("neither another organization nor signing out takes unsaved settings along unasked", {
  skip,
}, async () => {
  // An operator who belongs to two organizations.
  const { sql } = site;
  for (const slug of ["acme", "globex"]) await seedUser(sql, ids[slug]!, { subject: "oscar", role: "owner" });
  const oscar = await site.arrive("oscar", OPERATOR);
  await oscar.open(`#/tenant/${ids.acme}/settings`, "Acme");
  const area = oscar.page.getByLabel("Settings as JSON");
  await area.fill('{"typed": 1}');
  const chooser = oscar.page.getByRole("combobox", { name: "Organization" });
  const before = await chooser.inputValue();
  await chooser.selectOption(before === "acme" ? "globex" : "acme");
  await oscar.press("Stay here", oscar.dialog());
  assert.equal(await chooser.inputValue(), before);
  await oscar.press("Sign out");
  await oscar.press("Stay here", oscar.dialog());
  assert.equal(await area.inputValue(), '{"typed": 1}');
  await oscar.press("Sign out");
  await oscar.press("Leave, and lose it", oscar.dialog());
  await oscar.heading("Sign in");
  assert.equal(await oscar.stored(), "[{},{}]");
  oscar.assertFine();
  await oscar.leave();
});

test("after an outage “Try now” repeats every request that waits, not only the last one", {
  skip,
}, async () => {
  const { page } = operator;
  let away = true;
  let listed = 0;
  const busy = { status: 503, headers: { "retry-after": "25" }, json: { error: "Busy", detail: "Busy" } };
  await page.route("**/api/**", route => (away ? route.fulfill(busy) : route.continue()));
  await page.reload();
  await operator.sees(/Busy \(503\)/);
  away = false;
  // The reader is known again: now the page and the menu's count wait.
  await page.unroute("**/api/**");
  away = true;
  await page.route("**/api/setup/**", route => {
    if (route.request().url().includes("limit=100")) listed++;
    return away ? route.fulfill(busy) : route.continue();
  });
  await operator.press("Try now");
  await operator.sees(/Busy \(503\)/);
  await page.evaluate("location.hash = '#/tenants'");
  await until("the list was asked for", () => listed > 0);
  away = false;
  await operator.press("Try now");
  await operator.page.locator("tbody tr", { hasText: "Acme" }).waitFor({ timeout: 10_000 });
  await until("the banner goes", async () => (await page.locator(".banner").count()) === 0);
  await page.unroute("**/api/setup/**");
  operator.assertFine();
});
