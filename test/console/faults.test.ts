/** Where strangers stumbled: each step once, in a real browser. What is pure is in pure.test.ts. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { long, seedTenant, seedUser, token } from "../harness.ts";
import { until } from "../until.ts";
import { skip, type Visitor } from "./browser.ts";
import { createSite, OPERATOR, type Site } from "./site.ts";

let site: Site;
let operator: Visitor;
let owner: Visitor;
const ids: Record<string, string> = {};

before(async () => {
  if (skip) return;
  site = await createSite({ SERVICE_TENANT_REGISTRATION_REQUIRES_APPROVAL: "true" });
  const { sql } = site;
  for (const slug of ["acme", "globex"])
    ids[slug] = await seedTenant(sql, { slug, name: slug.replace(/^./, one => one.toUpperCase()) });
  await seedUser(sql, ids.acme!, { subject: "ada", email: "ada@acme.example", role: "owner" });
  await seedUser(sql, ids.acme!, { subject: "a\u202eb\u200bc", role: "member" });
  ids.hooli = await seedTenant(sql, { slug: "hooli", name: "Hooli", status: "pending" });
  await sql`update app.tenants set registration = ${sql.json({ use_case: "One\nTwo\tTabs" })} where id = ${ids.hooli!}`;
  await sql`update app.tenants set name = ${"W".repeat(255)} where id = ${ids.globex!}`;
  operator = await site.arrive("op", OPERATOR);
  owner = await site.arrive("ada");
});
after(() => site?.end());

test("signing in sends no request that is refused, and the menu shows how many registrations wait", {
  skip,
}, async () => {
  const refused: string[] = [];
  const one = await site.visit();
  one.page.on("response", answer => answer.status() >= 400 && refused.push(answer.url()));
  await one.signIn(await token({ sub: "ada" }));
  await one.heading("Acme");
  assert.deepEqual(refused, []);
  await one.leave();
  await operator.page.getByRole("link", { name: "Waiting 1 waiting" }).waitFor();
  operator.assertFine();
});

test("what a newcomer wrote keeps its lines, and a subject shows what is hidden in it", {
  skip,
}, async () => {
  const { page } = operator;
  const written = page.locator(".written");
  await written.waitFor();
  assert.equal(await written.textContent(), "One\nTwo\tTabs");
  assert.ok((await written.boundingBox())!.height > 40, "on two lines");
  await operator.open(`#/tenant/${ids.acme}/members`, "Acme");
  await operator.sees("a⟨202E⟩b⟨200B⟩c");
  operator.assertFine();
});

test("one tenant's name takes one line of the list, and moves no other column", { skip }, async () => {
  await operator.open("#/tenants", "Tenants");
  const rows = operator.page.locator("tbody tr");
  await rows.nth(2).waitFor();
  const heights = await operator.page.evaluate<number[]>(
    "[...document.querySelectorAll('tbody tr')].map(row => row.offsetHeight)",
  );
  assert.ok(Math.max(...heights) < 60, `rows of ${heights.join(", ")} px`);
  await operator.check();
  operator.assertFine();
});

test("a refused field says why in the form's own words, and has the focus, until the reader corrects it", {
  skip,
}, async () => {
  await owner.open("#/org/acme/members", "Members");
  await owner.press("Add a member");
  const subject = owner.dialog().getByLabel("Subject");
  await subject.fill("   ");
  await owner.press("Add", owner.dialog());
  await owner.sees("It is required.", owner.dialog());
  assert.equal(await owner.dialog().getByText("auth_subject").count(), 0);
  assert.equal(await subject.getAttribute("aria-invalid"), "true");
  await owner.becomes("document.activeElement.name === 'auth_subject'");
  await owner.check();
  await subject.fill("x");
  await owner.dialog().getByText("It is required.").waitFor({ state: "detached" });
  await owner.press("Cancel", owner.dialog());
  owner.assertFine();
});

test("every copy button says “copied” only when it has copied; else it selects the text", {
  skip,
}, async () => {
  await owner.open("#/org/acme/keys", "API keys");
  await owner.press("Make a key");
  await owner.dialog().getByLabel("Name").fill("To copy");
  await owner.press("Make the key", owner.dialog());
  await owner.sees("Keep this key now");
  const pages = [
    [owner, "#/org/acme/keys", "API keys"],
    [owner, "#/org/acme", "Acme"],
    [operator, "#/waiting", "Waiting for approval"],
    [operator, "#/tenants", "Tenants"],
    [operator, `#/tenant/${ids.acme}`, "Acme"],
    [operator, `#/tenant/${ids.acme}/members`, "Acme"],
    [operator, "#/setup", "Setup"],
  ] as const;
  for (const one of [operator, owner])
    await one.page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('no'))");
  for (const [one, hash, heading] of pages) {
    await one.open(hash, heading);
    const buttons = one.page.getByRole("button", { name: /^Copy / });
    await buttons.first().waitFor();
    for (const button of (await buttons.all()).slice(0, 3)) {
      await button.click();
      const code = await button.locator("xpath=preceding-sibling::code").innerText();
      await one.becomes(`getSelection().toString() === ${JSON.stringify(code)}`);
      await one.sees(/does not let the page copy/);
    }
    if (hash.endsWith("keys")) await one.press("I have it");
  }
  // As on plain http. The focus stays where it was.
  await owner.page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined }) && 0");
  await owner.press("Copy slug");
  await owner.sees("slug copied");
  assert.equal(await owner.page.evaluate("document.activeElement.title"), "Copy slug");
  for (const one of [operator, owner]) {
    await one.page.reload();
    one.assertFine();
  }
});

test("a double click approves one registration, and sends one write", { skip }, async () => {
  const { sql } = site;
  const { page } = operator;
  for (const slug of ["initech", "initrode", "initrust"])
    await seedTenant(sql, { slug, name: slug, status: "pending" });
  await operator.open("#/waiting", "Waiting for approval");
  await operator.press("Refresh");
  const first = page.locator("article").first();
  // With a banner above the cards: another approval moves nothing but the cards.
  await operator.press("Approve", page.getByRole("article", { name: "initrust" }));
  await operator.sees(/initrust is approved. Its people/);
  await page.getByRole("link", { name: "Waiting 3 waiting" }).waitFor();
  const { x, y } = (await operator.button("Approve", first).boundingBox())!;
  await page.mouse.move(x + 20, y + 10);
  for (const clickCount of [1, 2]) {
    if (clickCount === 2) await page.locator("article").nth(2).waitFor({ state: "detached" });
    await page.mouse.down({ clickCount });
    await page.mouse.up({ clickCount });
  }
  await page.waitForTimeout(200);
  const [left] = await sql`select count(*)::int from app.tenants where status = 'pending'`;
  assert.equal(left!.count, 2);
  // Two at once: neither brings the other's card back.
  await page.evaluate("document.querySelectorAll('article .primary').forEach(button => button.click())");
  await operator.sees("Nobody waits for approval.");
  await page.getByRole("link", { name: "Waiting", exact: true }).waitFor();
  await owner.open("#/org/acme", "Acme");
  await owner.page.getByRole("textbox", { name: "Name" }).fill("Acme Twice");
  const sent: string[] = [];
  owner.page.on("request", one => one.method() === "PATCH" && sent.push(one.url()));
  await owner.page.evaluate(
    "(button => { button.click(); button.click(); })([...document.querySelectorAll('button')].find(b => b.innerText === 'Save name'))",
  );
  await owner.heading("Acme Twice");
  assert.equal(sent.length, 1);
  for (const one of [operator, owner]) one.assertFine();
});

test("settings that were typed wait through a reload, and are forgotten once their tenant is deleted", {
  skip,
}, async () => {
  const id = await seedTenant(site.sql, { slug: "brief", name: "Brief" });
  await operator.open(`#/tenant/${id}`, "Brief");
  // Typed the moment they appear.
  await operator.page.evaluate(`new MutationObserver((_, observer) => {
    const area = document.querySelector("textarea.code");
    if (!area) return;
    observer.disconnect();
    area.value = '{"n": 0}';
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }).observe(document, { subtree: true, childList: true }) && 0`);
  await operator.open(`#/tenant/${id}/settings`, "Brief");
  await operator.press("Review the change");
  await operator.sees('"n": 0');
  await operator.press("Edit again");
  await operator.page.getByLabel("Settings as JSON").fill('{"n": 1}');
  await operator.page.reload();
  await operator.sees("You had typed this and not saved it.");
  await operator.press("Count what would be deleted");
  await operator.page.getByLabel("Type the slug").fill("brief");
  await operator.press("Delete");
  await operator.sees("Brief is deleted for good");
  await operator.heading("Tenants");
  assert.equal(await operator.dialog().count(), 0);
  operator.assertFine();
});

test("settings are never rounded or halved before the service is asked, and not lost by a click", {
  skip,
}, async () => {
  await operator.open(`#/tenant/${ids.acme}/settings`, "Acme");
  const area = operator.page.getByLabel("Settings as JSON");
  await area.fill('{"n": 12345678901234567890}');
  await operator.sees(
    /contains the number 12345678901234567890, which cannot be kept exactly\. Write it as text, in quotes\./,
  );
  assert.equal(await operator.button("Review the change").isEnabled(), false);
  await area.fill('{"n": 1, "n": 2}');
  await operator.sees("contains the field n twice");
  await area.fill('{"n": 1}');
  await operator.page.getByRole("link", { name: "Members" }).click();
  await operator.sees("Leave without saving?");
  await operator.check();
  await operator.press("Stay here", operator.dialog());
  assert.equal(await area.inputValue(), '{"n": 1}');
  await operator.page.getByRole("link", { name: "Members" }).click();
  await operator.press("Leave, and lose it", operator.dialog());
  await operator.button("Add a member").waitFor();
  operator.assertFine();
});

long(
  "deletion says beforehand that it is for good, and a refused act reads the tenant again",
  {
    skip,
  },
  async () => {
    await operator.open(`#/tenant/${ids.acme}/settings`, "Acme");
    await operator.sees("This is for good: this deployment keeps nothing of deleted tenants.");
    await operator.open(`#/tenant/${ids.acme}`, "Acme");
    await site.sql`update app.tenants set status = 'suspended' where id = ${ids.acme!}`;
    await operator.choose("Suspend…");
    await operator.press("Suspend", operator.dialog());
    await operator.sees("It is suspended.");
    await operator.press("Cancel", operator.dialog());
    await operator.press("Resume");
    await operator.page.getByText("It is suspended.").waitFor({ state: "detached" });
    operator.assertFine();
  },
);

test("when two operators rename at once, the second sees the other's names before they overwrite them", {
  skip,
}, async () => {
  await operator.choose("Rename…");
  await operator.dialog().getByLabel("Name").fill("Acme Mine");
  await site.sql`update app.tenants set name = 'Acme Theirs', updated_at = now() where id = ${ids.acme!}`;
  await operator.press("Save names", operator.dialog());
  await operator.sees("Meanwhile somebody else saved:", operator.dialog());
  await operator.sees("Acme Theirs", operator.dialog());
  await operator.check();
  await operator.press("Save mine over it", operator.dialog());
  await operator.heading("Acme Mine");
  operator.assertFine();
});

test("leaving a key or link that is shown once asks first, and revoking it takes it off the page", {
  skip,
}, async () => {
  await owner.page.reload();
  await owner.open("#/org/acme/invitations", "Invitations");
  await owner.press("Invite somebody");
  await owner.press("Make the link", owner.dialog());
  await owner.sees("Send this link");
  await owner.sees("in 7 days");
  const away = owner.page.getByRole("link", { name: "Members", exact: true });
  await away.click();
  await owner.sees("You have not saved the new link, which is shown only once.", owner.dialog());
  await owner.press("Stay here", owner.dialog());
  await owner.press("Invite somebody");
  await owner.sees("You have not saved the new link, which is shown only once.", owner.dialog());
  await owner.press("Stay here", owner.dialog());
  await owner.press(/^Revoke…/);
  await owner.press("Revoke", owner.dialog());
  await owner.page.getByText("Send this link").waitFor({ state: "detached" });
  await owner.open("#/org/acme/keys", "API keys");
  await owner.press("Make a key");
  await owner
    .dialog()
    .getByRole("radio", { name: /^admin .*but no keys/ })
    .waitFor();
  await owner.dialog().getByLabel("Name").fill("Once");
  await owner.press("Make the key", owner.dialog());
  await owner.sees("Keep this key now");
  await away.click();
  await owner.sees("You have not saved the new key, which is shown only once.", owner.dialog());
  await owner.press("Stay here", owner.dialog());
  await owner.press("Make a key");
  await owner.press("Leave, and lose it", owner.dialog());
  await owner.page.getByText("Keep this key now").waitFor({ state: "detached" });
  await owner.dialog().getByLabel("Name").fill("Twice");
  await owner.press("Make the key", owner.dialog());
  await owner.press("Revoke… Twice");
  await owner.press("Revoke", owner.dialog());
  await owner.page.getByText("Keep this key now").waitFor({ state: "detached" });
  owner.assertFine();
});

test("the page calls no mistake of the reader its own fault, and takes no broken link for an invitation", {
  skip,
}, async () => {
  await operator.open("#/why", "Why refused?");
  await operator.press("By a token's claims");
  await operator.page.getByLabel("Claims or token").fill("{");
  await operator.press("Explain");
  await operator.sees("The claims are no JSON");
  assert.equal(await operator.page.getByText("The page has a fault").count(), 0);
  await operator.open(`#/tenant/${ids.acme}/nonsense`, "There is no such page");
  await owner.open("#/org/acme/nonsense", "There is no such page");
  await owner.page.evaluate("location.hash = '#/invitation/xyz'");
  await owner.heading("There is no invitation here");
  await owner.sees("The link is incomplete");
  const made = `tmi_${ids.acme}_${"x".repeat(43)}`;
  await owner.page.evaluate(`location.hash = "#/invitation/${made}"`);
  await owner.heading("You are invited");
  await owner.press("Accept the invitation");
  await owner.sees(/It was used already, was revoked, has ended, or is for another e-mail address/);
  await owner.press("Not now");
  owner.assertFine();
  operator.assertFine();
});

test("owners without settings of their own read who changes them, and who deletes the organization", {
  skip,
}, async () => {
  await owner.open("#/org/acme/members", "Members");
  await owner.press("Add a member");
  await owner.sees(/any settings that are left to the organization$/, owner.dialog());
  await owner.press("Close", owner.dialog());
  await owner.open("#/org/acme/settings", "Settings");
  await owner.sees(/An operator of this deployment changes the settings: none is left to the organization/);
  await owner.sees(/To have the organization deleted, ask an operator/);
  await owner.sees("No setting has a value.");
  await owner.check();
  owner.assertFine();
});

test("from a member's row to why they are refused, and from there to the tenant", { skip }, async () => {
  await operator.open(`#/tenant/${ids.acme}/members`, "Acme Mine");
  await operator.page.getByRole("link", { name: "Why? ada@acme.example" }).click();
  await operator.sees("Let in.");
  const rows = operator.page.getByRole("table", { name: "What they would see" });
  await rows.waitFor();
  await operator.page.getByLabel("Tenant").fill("nowhere");
  await operator.press("Explain");
  await operator.sees("Refused.");
  assert.equal(await rows.count(), 0);
  await operator.page.getByLabel("Tenant").fill("acme");
  // By an e-mail address, too; somebody who was invited has not come yet.
  await site.sql`
    insert into app.invitations (tenant_id, token_hash, email, role)
    values (${ids.acme!}, sha256('x'), 'bob@acme.example', 'admin')`;
  await operator.page.getByLabel("Person").fill("Bob@acme.example");
  await operator.press("Explain");
  await operator.sees("No member of the tenant has the e-mail address Bob@acme.example.");
  await operator.sees(/They were invited as admin, just now, and have not accepted yet/);
  await operator.sees("What they see");
  await operator.check();
  await operator.page.getByRole("link", { name: "Open Acme Mine" }).click();
  await operator.heading("Acme Mine");
  operator.assertFine();
});

long(
  "after an outage the reader can try again at once, and a write without an answer says so once",
  { skip },
  async () => {
    const { page } = owner;
    let away = true;
    await page.route("**/api/tenants/**", route => (away ? route.abort() : route.continue()));
    await page.evaluate("location.hash = '#/org/acme/members'");
    await owner.sees("The service cannot be reached.");
    await owner.sees(/Trying again in \d s\./);
    away = false;
    await owner.press("Try now");
    await owner.sees("ada@acme.example");
    await until("the banner goes", async () => (await page.locator(".banner").count()) === 0);
    away = true;
    await owner.press("Add a member");
    await owner.dialog().getByLabel("Subject").fill("carl");
    await owner.press("Add", owner.dialog());
    await owner.sees("No answer. The service cannot be reached.", owner.dialog());
    await page.unroute("**/api/tenants/**");
    owner.faults.splice(0); // net::ERR_FAILED
  },
);

test("on a small laptop every name of a member and a key is in sight, and no word is broken", {
  skip,
}, async () => {
  await owner.open("#/org/acme/keys", "API keys");
  await owner.press("Make a key");
  await owner.dialog().getByLabel("Name").fill("Nightly");
  await owner.press("Make the key", owner.dialog());
  await owner.press("I have it");
  /** How wide the narrowest element is, of those that a selector finds. */
  const narrowest = (one: Visitor, selector: string) =>
    one.page.evaluate<number>(
      `Math.min(...[...document.querySelectorAll(${JSON.stringify(selector)})].map(one => one.clientWidth))`,
    );
  for (const width of [1024, 900]) {
    for (const one of [operator, owner]) await one.page.setViewportSize({ width, height: 768 });
    const pages: [Visitor, string, string | RegExp, string, number][] = [
      [operator, `#/tenant/${ids.acme}/members`, /^Acme/, "tbody td:first-child", 150],
      [owner, "#/org/acme/keys", "API keys", "tbody td:first-child", 150],
      [operator, `#/tenant/${ids.acme}`, /^Acme/, ".events li > p", 250],
      [owner, "#/org/acme", /^Acme/, ".events li > p", 250],
    ];
    for (const [one, hash, heading, selector, least] of pages) {
      await one.open(hash, heading);
      await one.page.locator(selector).first().waitFor();
      const found = await narrowest(one, selector);
      assert.ok(found >= least, `${hash} at ${width} px: ${found} px`);
      await one.fits();
    }
  }
  for (const one of [operator, owner]) {
    await one.page.setViewportSize({ width: 1280, height: 900 });
    one.assertFine();
  }
});
