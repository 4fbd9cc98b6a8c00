/** Tasks of operators and of people who come for the first time, whole, in a real browser. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { long, seedTenant, seedUser, token } from "../harness.ts";
import { until } from "../until.ts";
import { skip, type Visitor } from "./browser.ts";
import { createSite, OPERATOR, type Site } from "./site.ts";

let site: Site;
let operator: Visitor;
let acme: string;

before(async () => {
  if (skip) return;
  site = await createSite({ SERVICE_TENANT_REGISTRATION_REQUIRES_APPROVAL: "true" });
  const { sql } = site;
  acme = await seedTenant(sql, { slug: "acme", name: "Acme" });
  await seedUser(sql, acme, { subject: "ada", email: "ada@acme.example", role: "owner" });
  await seedUser(sql, acme, { subject: "mia", role: "member" });
  operator = await site.arrive("op", OPERATOR);
});
after(() => site?.end());

test("a person whose registration was rejected reads so, not that there is no such page", {
  skip,
}, async () => {
  const dave = await site.arrive("dave");
  await dave.page.getByLabel("Name of the organization").fill("Dave's");
  await dave.page.getByLabel("Slug").fill("No slug!");
  await dave.page.getByLabel("Your e-mail").fill("dave@dave.example");
  await dave.press("Register");
  await dave.page.locator(".wrong").waitFor();
  await dave.check();
  await dave.page.getByLabel("Slug").fill("dave");
  await dave.press("Register");
  await dave.sees("It waits for an operator's approval.");
  await operator.open("#/waiting", "Waiting for approval");
  await operator.press("Refresh");
  await operator.press("Reject…", operator.page.getByRole("article", { name: "Dave's" }));
  await operator.press("Reject and delete", operator.dialog());
  await operator.dialog().waitFor({ state: "detached" });
  await dave.press("Look again");
  await dave.heading("You do not belong to this organization");
  await dave.sees(/The registration of Dave's was not approved/);
  await dave.check();
  dave.assertFine();
  await dave.leave();
});

test("an operator invites the first owner by a link, which says what it is before the person signs in", {
  skip,
}, async () => {
  const { page } = operator;
  const id = await seedTenant(site.sql, { slug: "empty", name: "Empty" });
  await operator.open(`#/tenant/${id}`, "Empty");
  await page.getByRole("link", { name: "Invite its first owner" }).click();
  assert.ok(
    await operator
      .dialog()
      .getByRole("radio", { name: /^owner/ })
      .isChecked(),
  );
  await operator.press("Make the link", operator.dialog());
  await operator.sees("from an operator");
  // The address names the page again: loaded once more, it opens no dialog.
  assert.equal(new URL(page.url()).hash, `#/tenant/${id}/invitations`);
  await operator.check();
  const link = await page.locator(".note.good code").innerText();
  await operator.press("I have it");
  const dora = await site.visit();
  await dora.page.goto(link.trim());
  await dora.sees("The operator of this service invites you to Empty as owner.");
  await dora.page.setViewportSize({ width: 390, height: 800 });
  const lower = await dora.page.evaluate<number>(`(() => {
    const says = [...document.querySelectorAll("p")].find(one => one.textContent.startsWith("The link says"));
    return says.querySelector("bdi").getClientRects()[0].top - says.getBoundingClientRect().top;
  })()`);
  assert.ok(lower < 10, `the quotation goes on in its line on a phone, not ${lower} px lower`);
  await dora.check();
  await dora.page.getByLabel("Token").fill(await token({ sub: "dora" }));
  await dora.press("Sign in with this token");
  await dora.press("Accept the invitation");
  await dora.heading("Empty");
  await dora.open("#/org/empty/activity", "Activity");
  await dora.sees("operator invited somebody");
  dora.assertFine();
  await dora.leave();
  operator.assertFine();
});

test("an approved registration leads to its tenant, and the keyboard goes on in the page", {
  skip,
}, async () => {
  await seedTenant(site.sql, { slug: "fay", name: "Fay's", status: "pending" });
  const { page } = operator;
  const focus = () => page.evaluate<string>("document.activeElement.localName");
  await operator.open("#/waiting", "Waiting for approval");
  await operator.press("Refresh");
  await operator.press("Approve", page.getByRole("article", { name: "Fay's" }));
  await operator.sees(/Fay's is approved. Its people get in/);
  await until("the focus is in the page", async () => (await focus()) === "h1");
  await operator.check();
  await page.getByRole("link", { name: "Open it" }).click();
  await operator.heading("Fay's");
  await page.getByTitle("Acts on this tenant").click();
  await operator.press("Suspend…");
  await operator.press("Suspend", operator.dialog());
  await operator.press("Resume");
  await operator.page.getByText("active", { exact: true }).waitFor();
  await until("the focus is in the page", async () => (await focus()) === "h1");
  operator.assertFine();
});

test("after an act the keyboard goes on where it was, not at the top of the document", { skip }, async () => {
  const { sql } = site;
  await sql`insert into app.tenants (slug, name) select 'many-' || i, 'Many ' || i from generate_series(1, 301) i`;
  const { page } = operator;
  const focus = (what: string) =>
    until(`the focus is at ${what}`, async () =>
      (
        await page.evaluate<string>(
          "document.activeElement.localName + ' ' + (document.activeElement.ariaLabel ?? document.activeElement.textContent)",
        )
      ).startsWith(what),
    );
  const press = async (name: string, then: string) => {
    await operator.button(name).focus();
    await page.keyboard.press("Enter");
    await focus(then);
  };
  await operator.open("#/tenants?search=many-", "Tenants");
  for (const then of ["button Show more", "button Show more", "div 301 tenants"])
    await press("Show more", then);
  const row = page.locator("a.row").nth(250);
  const name = await row.innerText();
  await row.click();
  await operator.heading(name);
  await page.goBack();
  await operator.sees("301 tenants");
  await focus(`a ${name}`);
  const [top, high] = await page.evaluate<[number, number]>(
    "[document.activeElement.getBoundingClientRect().top, innerHeight]",
  );
  assert.ok(top > 0 && top < high, `the row is in sight, not at ${top} of ${high} px`);
  await page.getByRole("link", { name: "Tenants", exact: true }).click();
  const id = await seedTenant(sql, { slug: "keys", name: "Keys" });
  await operator.open(`#/tenant/${id}/settings`, "Keys");
  await page.getByLabel("Settings as JSON").fill('{"a": 1}');
  await press("Review the change", "section Settings");
  await press("Edit again", "section Settings");
  await press("Undo", "section Settings");
  await press("Count what would be deleted", "section Delete");
  await press("Do not delete", "section Delete");
  await operator.open(`#/tenant/${id}`, "Keys");
  await page.getByRole("link", { name: "Invite its first owner" }).click();
  await operator.dialog().waitFor();
  await page.goBack();
  await operator.dialog().waitFor({ state: "detached" });
  await focus("h1");
  await operator.open(`#/tenant/${id}/invitations`, "Keys");
  await operator.press("Invite somebody");
  await operator.press("Make the link", operator.dialog());
  await press("I have it", "h1");
  operator.assertFine();
});

test("activity says from which role to which one", { skip }, async () => {
  await operator.open(`#/tenant/${acme}/members`, "Acme");
  await operator.press(/^member.*change the role of mia/);
  await operator
    .dialog()
    .getByRole("radio", { name: /^admin/ })
    .check();
  await operator.press("Make them an admin", operator.dialog());
  await operator.dialog().waitFor({ state: "detached" });
  await operator.page.getByRole("link", { name: "Activity" }).last().click();
  await operator.sees(/changed the role of .* from member to admin/);
  operator.assertFine();
});

test("a sign-in that ends takes nothing along that was typed", { skip }, async () => {
  const one = await site.visit();
  const claims = { sub: "op 3", ...OPERATOR };
  await one.signIn(await token(claims));
  await one.open(`#/tenant/${acme}/settings`, "Acme");
  await one.page.getByLabel("Settings as JSON").fill('{"typed": true}');
  // Another application of the same origin keeps its own.
  await one.page.evaluate("sessionStorage.setItem('other', 'theirs')");
  await one.page.route("**/api/setup/**", route =>
    route.fulfill({ status: 401, json: { error: "Unauthorized", detail: "The token has expired" } }),
  );
  await one.press("Review the change");
  await one.press("Save");
  await one.sees("The service refuses the token");
  await one.page.unroute("**/api/setup/**");
  await site.sql`update app.tenants set settings = '{"theirs": 1}' where id = ${acme}`;
  await one.page.getByLabel("Token").fill(await token(claims));
  await one.press("Sign in with this token");
  await one.sees("You had typed this and not saved it.");
  assert.match(await one.page.getByLabel("Settings as JSON").inputValue(), /"typed": true/);
  await one.check();
  await one.press("Review the change");
  await one.press("Save");
  await one.sees("Somebody else changed the settings in the meantime");
  await one.page.evaluate("location.hash = '#/tenants'");
  await one.press("Leave, and lose it");
  await one.open(`#/tenant/${acme}/settings`, "Acme");
  await one.sees("Nothing is changed yet.");
  await one.press("Sign out");
  await one.heading("Sign in");
  assert.equal(await one.stored(), '[{"other":"theirs"},{}]');
  one.assertFine();
  await one.leave();
});

test("a warning above the page takes no button of the menu out of sight", { skip }, async () => {
  const one = await site.arrive("op 4", { ...OPERATOR, exp: Math.floor(Date.now() / 1000) + 50 });
  await one.sees(/^Your sign-in ends in/);
  const [bottom, high] = await one.page.evaluate<[number, number]>(
    "[document.querySelector('.who').getBoundingClientRect().bottom, innerHeight]",
  );
  assert.ok(bottom <= high, `${bottom} of ${high} px`);
  await one.leave();
});

test("signing out removes what the reader typed in other tabs, and keeps what somebody else typed", {
  skip,
}, async () => {
  const one = await site.visit();
  const claims = { sub: "op 4", ...OPERATOR };
  await one.signIn(await token(claims));
  await one.open(`#/tenant/${acme}/settings`, "Acme");
  await one.page.getByLabel("Settings as JSON").fill('{"typed": "here"}');
  await one.page.route("**/api/setup/**", route =>
    route.fulfill({ status: 401, json: { error: "Unauthorized", detail: "The token has expired" } }),
  );
  await one.press("Review the change");
  await one.press("Save");
  await one.heading("Sign in");
  assert.match(await one.stored(), /here/);
  const other = await one.duplicate();
  await other.signIn(await token({ ...claims, sub: "op 5" }));
  await other.press("Sign out");
  await other.heading("Sign in");
  assert.match(await one.stored(), /here/);
  await other.signIn(await token(claims));
  await other.press("Sign out");
  await until("the draft is gone", async () => !(await one.stored()).includes("here"));
  one.assertFine();
  other.assertFine();
  await one.leave();
});

long(
  "an event of a large tenant names its person when it is opened; no bright scroll bar is beside a dialog",
  {
    skip,
  },
  async () => {
    const { sql } = site;
    const many = await seedTenant(sql, { slug: "many", name: "Many" });
    await seedUser(sql, many, { subject: "boss", role: "owner" });
    await sql`insert into app.users (tenant_id, auth_provider, auth_subject, created_at)
    select ${many}, 'jwt', 'one-of-' || i, now() - interval '1 day' from generate_series(1, 120) i`;
    await operator.open(`#/tenant/${many}/members?q=one-of-77`, "Many");
    await operator.press(/^member.*change the role of one-of-77/);
    await operator
      .dialog()
      .getByRole("radio", { name: /^admin/ })
      .check();
    // The scroll bar lies above the dark layer.
    const bar = () =>
      operator.page.evaluate<string>("getComputedStyle(document.documentElement).scrollbarColor");
    assert.notEqual(await bar(), "auto");
    await operator.press("Make them an admin", operator.dialog());
    await operator.dialog().waitFor({ state: "detached" });
    await operator.open(`#/tenant/${many}/activity`, "Many");
    await operator.sees(/changed the role of a member in the organization from member to admin/);
    await operator.page.locator(".events summary").first().click();
    await operator.sees("one-of-77", operator.page.locator(".events"));
    operator.assertFine();
  },
);

test("why somebody is refused, by the tenant's name: since when, by whom and why it is suspended", {
  skip,
}, async () => {
  const { page } = operator;
  const id = await seedTenant(site.sql, { slug: "soylent", name: "Soylent Corp" });
  await seedUser(site.sql, id, { subject: "sol", email: "sol@soylent.example" });
  await operator.open(`#/tenant/${id}`, "Soylent Corp");
  await operator.choose("Suspend…");
  await operator.dialog().getByLabel("Reason").fill("It is people");
  await operator.press("Suspend", operator.dialog());
  // Without a reload.
  await operator.sees(/op suspended the organization: “It is people”/);
  await operator.choose("Why is somebody refused?");
  await operator.heading("Why refused?");
  assert.equal(await page.getByLabel("Tenant").inputValue(), "soylent");
  await page.getByLabel("Tenant").fill("soylent CORP");
  await page.getByLabel("Person").fill("sol@soylent.example");
  await operator.press("Explain");
  await operator.sees("The tenant is suspended.");
  await operator.sees(/By op, just now: “It is people”/);
  await operator.check();
  await page.getByLabel("Tenant").fill("No Such");
  await operator.press("Explain");
  await operator.sees("No tenant has the name No Such.");
  await page.getByLabel("Tenant").fill(`No Such ${"x".repeat(255)}`);
  await operator.press("Explain");
  await operator.sees(/^No tenant has the name No Such x+\.$/);
  // Longer than a subject may be.
  await page.getByLabel("Tenant").fill("soylent");
  await page.getByLabel("Person").fill(`${"x".repeat(270)}@soylent.example`);
  await operator.press("Explain");
  await operator.sees("Refused.");
  operator.assertFine();
});

test("on a phone, a search for an unknown e-mail address leads to an answer in sight", {
  skip,
}, async () => {
  const { page } = operator;
  await page.setViewportSize({ width: 375, height: 667 });
  await operator.open("#/tenants", "Tenants");
  await page.getByLabel("Search").fill("nobody@acme.example");
  await operator.sees("No tenant matches.");
  await page.getByRole("link", { name: "Why is nobody@acme.example refused?" }).waitFor();
  await operator.check();
  await page.keyboard.press("Control+k");
  await page.keyboard.type("nobody@acme.example");
  await operator.dialog().getByRole("link", { name: "Why is nobody@acme.example refused?" }).click();
  await operator.heading("Why refused?");
  assert.equal(await page.getByLabel("Person").inputValue(), "nobody@acme.example");
  await page.getByLabel("Tenant").fill("acme");
  await operator.press("Explain");
  await operator.sees("Refused.");
  await operator.becomes(`(() => {
    const { top } = document.querySelector(".answer .note").getBoundingClientRect();
    return top >= 0 && top < innerHeight - 50 && document.activeElement.ariaLabel === "Answer";
  })()`);
  await operator.check();
  await page.setViewportSize({ width: 1280, height: 900 });
  operator.assertFine();
});

test("on a phone the tabs of a tenant take one line, and the current one is in sight", { skip }, async () => {
  const { page } = operator;
  await seedTenant(site.sql, { slug: "wide-open-spaces", name: "Wide Open Spaces Limited" });
  await page.setViewportSize({ width: 375, height: 800 });
  await operator.open(`#/tenant/${acme}/settings`, "Acme");
  const tab = page.locator(".tabs [aria-current]");
  const [place, bar] = [await tab.boundingBox(), await page.locator(".tabs").boundingBox()];
  assert.ok(bar!.height < 50, `${bar!.height} px high`);
  assert.ok(place!.x >= 0 && place!.x + place!.width <= 375, "Settings, the last one, is in sight");
  await operator.check();
  await operator.open("#/waiting", "Waiting for approval");
  await operator.sees("Nobody waits for approval.");
  await operator.check();
  await page.keyboard.press("Control+k");
  await operator.dialog().getByLabel("A page or a tenant").fill("wide");
  await operator
    .dialog()
    .getByRole("link", { name: /Wide Open Spaces/ })
    .waitFor();
  await operator.check();
  await page.keyboard.press("Escape");
  await operator.dialog().waitFor({ state: "detached" });
  await page.setViewportSize({ width: 1280, height: 900 });
  operator.assertFine();
});

test("Ctrl K finds tenants and pages by the keyboard alone", { skip }, async () => {
  const { page } = operator;
  await page.keyboard.press("Control+k");
  await operator.dialog().waitFor();
  await page.keyboard.type("none such");
  await operator.sees("Nothing has this name.");
  await page.keyboard.press("Escape");
  await operator.dialog().waitFor({ state: "detached" });
  await page.keyboard.press("Control+k");
  await site.sql`update control.rate_limits set hits = 100 where bucket = 'setup_read'`;
  await page.keyboard.type("acm");
  await operator.sees(/Trying again in/, operator.dialog());
  await site.sql`delete from control.rate_limits`;
  await operator.press("Try now", operator.dialog());
  await operator.dialog().getByRole("link", { name: /Acme/ }).waitFor();
  await operator.check();
  await page.getByLabel("A page or a tenant").focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await operator.heading("Acme");
  operator.assertFine();
});
