/** What an owner, an admin and a member do in the console with their organization. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { long, seedTenant, seedUser, token } from "../harness.ts";
import { until } from "../until.ts";
import { skip, type Visitor } from "./browser.ts";
import { createSite, OPERATOR, type Site } from "./site.ts";

const SCHEMA = {
  type: "object",
  properties: {
    plan: { title: "Plan", enum: ["free", "team"] },
    seats: { title: "Seats", type: "integer", minimum: 1 },
    theme: { title: "Theme", type: "string", maxLength: 20, "x-tenant-writable": true },
    beta: { title: "Beta features", type: "boolean", "x-tenant-writable": true },
    limits: { title: "Limits", type: "object", properties: { boards: { type: "number" } } },
    tags: { title: "Tags", type: "array", items: { type: "string" } },
    sizes: { title: "Sizes", type: "array", items: { type: "number" } },
  },
};

let site: Site;
let owner: Visitor;
let acme: string;
let invitation: string;

before(async () => {
  if (skip) return;
  site = await createSite({}, SCHEMA);
  const { sql } = site;
  acme = await seedTenant(sql, { slug: "acme", name: "Acme" });
  await seedUser(sql, acme, { subject: "ada", email: "ada@acme.example", role: "owner" });
  await seedUser(sql, acme, { subject: "ben", role: "admin" });
  await seedUser(sql, acme, { subject: "mia", role: "member" });
  const globex = await seedTenant(sql, { slug: "globex", name: "Globex" });
  await seedUser(sql, globex, { subject: "ada", role: "member" });
});
after(() => site?.end());

test("an owner sees their organizations only, and chooses among them", { skip }, async () => {
  owner = await site.arrive("ada");
  await owner.heading("Acme");
  await owner.check();
  assert.equal(await owner.page.getByRole("link", { name: "Tenants", exact: true }).count(), 0);
  await owner.page.getByRole("combobox", { name: "Organization" }).selectOption("globex");
  await owner.heading("Globex");
  assert.equal(await owner.page.getByRole("link", { name: "API keys" }).count(), 0, "a member there");
  await owner.page.getByRole("combobox", { name: "Organization" }).selectOption("acme");
  await owner.heading("Acme");
  owner.assertFine();
});

test("an owner adds a member, changes a role, removes", { skip }, async () => {
  await owner.open("#/org/acme/members", "Members");
  await owner.check();
  await owner.press("Add a member");
  await owner.dialog().getByLabel("Subject").fill("carl");
  await owner.dialog().getByLabel("Name").fill("Carl");
  await owner
    .dialog()
    .getByRole("radio", { name: /^admin/ })
    .check();
  await owner.check();
  await owner.press("Add", owner.dialog());
  await owner.sees("Carl is an admin now");
  await giveRole(owner, "Carl", "member");
  await owner.sees("Carl is a member now");
  await owner.press("Add a member");
  await owner.dialog().getByLabel("Subject").fill("carl");
  await owner.press("Add", owner.dialog());
  await owner.sees("This cannot be done now.");
  await owner.check();
  await owner.press("Close", owner.dialog());
  await owner.press("Remove… Carl");
  await owner.press("Remove", owner.dialog());
  await owner.sees("Carl is removed");
  owner.assertFine();
});

const roleButton = (one: Visitor, name: string) =>
  one.page.getByRole("button", { name: `change the role of ${name}` });

async function giveRole(one: Visitor, name: string, role: string) {
  await roleButton(one, name).click();
  await one
    .dialog()
    .getByRole("radio", { name: new RegExp(`^${role}`) })
    .check();
  await one.check();
  await one.press(`Make them ${role === "member" ? "a" : "an"} ${role}`, one.dialog());
}

long(
  "a role is changed in a dialog that says what it may do, never by arrow keys; the focus returns",
  {
    skip,
  },
  async () => {
    const { page } = owner;
    let changes = 0;
    await page.route("**/api/tenants/members/*", route => {
      changes++;
      return route.continue();
    });
    await roleButton(owner, "ben").focus();
    await page.keyboard.press("Enter");
    await owner.sees("manages members, invitations", owner.dialog());
    for (const key of ["ArrowDown", "ArrowDown", "ArrowUp"]) await page.keyboard.press(key);
    await page.keyboard.press("Escape");
    await owner.dialog().waitFor({ state: "detached" });
    assert.equal(changes, 0);
    assert.match(await page.evaluate<string>("document.activeElement.textContent"), /^admin.*ben/);
    await roleButton(owner, "ben").click();
    await owner
      .dialog()
      .getByRole("radio", { name: /^member/ })
      .check();
    await owner.press("Make them a member", owner.dialog());
    await owner.sees("ben is a member now");
    await owner.becomes("/^member.*ben/.test(document.activeElement.textContent)");
    await giveRole(owner, "ben", "admin");
    await owner.sees("ben is an admin now");
    assert.equal(changes, 2);
    await page.unroute("**/api/tenants/members/*");
    owner.assertFine();
  },
);

long("whoever gives up their own role sees at once what is left to them", { skip }, async () => {
  const { sql } = site;
  await seedUser(sql, acme, { subject: "olaf", role: "owner" });
  const olaf = await site.arrive("olaf");
  await olaf.open("#/org/acme/members", "Members");
  await roleButton(olaf, "olaf").click();
  await olaf
    .dialog()
    .getByRole("radio", { name: /^member/ })
    .check();
  await olaf.sees("an owner has to give it back", olaf.dialog());
  await olaf.press("Make me a member", olaf.dialog());
  await olaf.sees("member of acme");
  await until("no role to give", async () => (await roleButton(olaf, "ben").count()) === 0);
  olaf.assertFine();
  await olaf.leave();
});

long("the last owner cannot leave, and is told so", { skip }, async () => {
  await owner.press(/^Leave…/);
  await owner.check();
  await owner.press("Leave", owner.dialog());
  await owner.sees(/Make somebody else an owner first/, owner.dialog());
  await owner.press("Close", owner.dialog());
  owner.assertFine();
});

long("an owner invites by a link, and revokes another", { skip }, async () => {
  await owner.open("#/org/acme/invitations", "Invitations");
  await owner.sees("No invitation is open.");
  await owner.press("Invite somebody");
  await owner.check();
  await owner.press("Make the link", owner.dialog());
  const link = owner.page.locator(".note code");
  await link.waitFor();
  invitation = await link.innerText();
  assert.ok(invitation.startsWith(`${site.url}/console/#/invitation/`));
  await owner.press("I have it");
  await owner.press("Invite somebody");
  await owner.dialog().getByLabel("E-mail").fill("erin@acme.example");
  await owner.press("Make the link", owner.dialog());
  await owner.sees("Send this link to erin@acme.example.");
  await owner.sees("erin@acme.example");
  await owner.check();
  await owner.press("Revoke… the invitation for erin@acme.example");
  await owner.check();
  await owner.press("Revoke", owner.dialog());
  await owner.sees("The invitation is revoked");
  owner.assertFine();
});

long("a stranger accepts the invitation after signing in, once", { skip }, async () => {
  const stranger = await site.visit();
  await stranger.page.goto(invitation);
  await stranger.heading("You are invited");
  await stranger.sees("ada invites you to Acme as member.");
  assert.ok(!stranger.page.url().includes(invitation.slice(-20)), "the token has left the address");
  await stranger.check();
  await stranger.page.getByLabel("Token").fill(await token({ sub: "nora" }));
  await stranger.press("Sign in with this token");
  await stranger.heading("You are invited");
  await stranger.check();
  await stranger.press("Accept the invitation");
  await stranger.heading("Acme");
  await stranger.page.goto(invitation);
  await stranger.press("Accept the invitation");
  await stranger.sees(/It was used already, was revoked, has ended, or is for another e-mail address/);
  stranger.assertFine();
  await stranger.leave();
});

long(
  "an invited person whose sign-in names another organization reads so before they accept, and after",
  {
    skip,
  },
  async () => {
    await owner.press("Invite somebody");
    await owner.press("Make the link", owner.dialog());
    await until(
      "another link",
      async () => (await owner.page.locator(".note code").innerText()) !== invitation,
    );
    const link = await owner.page.locator(".note code").innerText();
    await owner.press("I have it");
    const nora = await site.arrive("nora2", { email: "nora@contractor.example" });
    await nora.page.evaluate(`location.href = ${JSON.stringify(link)}`);
    await nora.heading("You are invited");
    await nora.sees("Your sign-in names the organization contractor by the domain of its e-mail address");
    await nora.check();
    await nora.press("Accept the invitation");
    await nora.heading("Your sign-in is for another organization");
    await nora.sees(/You are a member of Acme\..*names contractor/);
    await nora.check();
    nora.assertFine();
    await nora.leave();
    const odd = await site.arrive("odd", { tenant: "No slug!" });
    await odd.page.evaluate(`location.href = ${JSON.stringify(link)}`);
    await odd.sees(/Your sign-in names the organization No slug! by its claim “tenant”/);
    odd.assertFine();
    await odd.leave();
  },
);

test("the page quotes the words of an invitation's link as unchecked, and says after accepting which were wrong", {
  skip,
}, async () => {
  const answer = await fetch(`${site.url}/api/tenants/invitations`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${await token({ sub: "ada" })}`,
      "content-type": "application/json",
      "x-tenant": "acme",
    },
    body: '{"role":"member"}',
  });
  const { token: made } = (await answer.json()) as { token: string };
  const link = `${site.url}/console/#/invitation/${made}?to=Globex&by=bob%40globex.example&as=owner`;
  const tom = await site.visit();
  await tom.page.goto(link);
  const said = /^The link says: “bob@globex.example invites you to Globex as owner.”$/;
  await tom.sees(said);
  await tom.sees("Nobody has checked these words");
  await tom.check();
  await tom.page.getByLabel("Token").fill(await token({ sub: "tom" }));
  await tom.press("Sign in with this token");
  await tom.heading("You are invited");
  await tom.sees(said);
  await tom.sees("Nobody has checked these words");
  await tom.page.getByText("It is for somebody else, or for").click();
  await tom.sees(link);
  await tom.press("Accept the invitation");
  await tom.heading("Acme");
  await tom.sees(/The link said “Globex” and the role “owner”\. That is not so: you joined Acme as member/);
  await tom.check();
  tom.assertFine();
  await tom.leave();
});

test("a refused invitation shows how to use another account, and the organization that the reader is in", {
  skip,
}, async () => {
  const ben = await site.arrive("ben");
  const made = `tmi_${acme}_${"x".repeat(43)}`;
  await ben.open(`#/invitation/${made}?to=Globex`, "You are invited");
  await ben.press("Accept the invitation");
  await ben.sees(/Sign in with the account that was invited/);
  await ben.sees(/You belong to Acme already/);
  await ben.button("Sign in as somebody else").waitFor();
  assert.equal(await ben.button("Accept the invitation").count(), 0);
  await ben.check();
  await ben.page.getByRole("link", { name: "open it" }).click();
  await ben.heading("Acme");
  ben.assertFine();
  await ben.page.goto(`${site.url}/console/#/invitation/xyz`);
  await ben.press("Sign out");
  // The next person at this tab has not come with it.
  await ben.heading("Sign in");
  await ben.page.goto(`${site.url}/console/#/invitation/xyz`);
  await ben.heading("There is no invitation here");
  await ben.sees("The link is incomplete");
  await ben.check();
  ben.assertFine();
  await ben.leave();
});

test("an owner makes a key, which is shown once, and revokes it", { skip }, async () => {
  await owner.open("#/org/acme/keys", "API keys");
  await owner.sees("There is no key.");
  await owner.press("Make a key");
  await owner.dialog().getByLabel("Name").fill("Nightly export");
  await owner.dialog().getByLabel("Ends").fill("2099-01-01T00:00");
  await owner.check();
  await owner.press("Make the key", owner.dialog());
  const shown = owner.page.locator(".note code");
  await shown.waitFor();
  await owner.check();
  const key = await shown.innerText();
  const program = await site.visit();
  await program.signIn(key);
  await program.heading("Acme");
  program.assertFine();
  await program.leave();
  await owner.press("I have it");
  await shown.waitFor({ state: "detached" });
  await owner.press("Revoke… Nightly export");
  await owner.check();
  await owner.press("Revoke", owner.dialog());
  await owner.sees("There is no key.");
  owner.assertFine();
});

long("an owner renames the organization, and changes the settings that are theirs", { skip }, async () => {
  const { page } = owner;
  await owner.open("#/org/acme", "Acme");
  await page.getByRole("textbox", { name: "Name" }).fill("Acme Inc.");
  await owner.press("Save name");
  await owner.heading("Acme Inc.");
  await owner.open("#/org/acme/settings", "Settings");
  await owner.check();
  assert.ok(await page.getByLabel("Plan").isDisabled(), "an operator's");
  await page.getByLabel("Theme").fill("night");
  await page.getByLabel("Beta features").check();
  await owner.press("Review the change");
  await owner.check();
  await owner.press("Edit again");
  await owner.press("Review the change");
  await owner.press("Save");
  await owner.sees("The settings are saved");
  const [row] = await site.sql`select settings from app.tenants where slug = 'acme'`;
  assert.deepEqual(row!.settings, { theme: "night", beta: true });
  await page.getByLabel("Theme").fill("day");
  await owner.press("Undo");
  assert.equal(await page.getByLabel("Theme").inputValue(), "night");
  owner.assertFine();
});

long(
  "an operator has all of the settings in the form, and what breaks the schema is told",
  {
    skip,
  },
  async () => {
    const operator = await site.arrive("op", OPERATOR);
    await operator.open(`#/tenant/${acme}/settings`, "Acme Inc.");
    await operator.page.getByLabel("Plan").selectOption("team");
    await operator.page.getByLabel("Seats").fill("5");
    await operator.page.getByLabel("boards").fill("2.5");
    await operator.page.getByLabel("Tags").fill("a\nb");
    const sizes = operator.page.getByLabel("Sizes");
    await operator.sees('As JSON, such as [1, 2] or {"a": true}.');
    await sizes.fill("[1,");
    await sizes.blur();
    await operator.page.locator(".wrong").waitFor();
    await operator.check();
    await sizes.fill("[1]");
    await operator.page.locator(".wrong").waitFor({ state: "detached" });
    await operator.check();
    await operator.press("Review the change");
    await operator.press("Save");
    await operator.sees("The settings are saved");
    await operator.press("As JSON");
    await operator.page.getByLabel("Settings as JSON").fill('{"plan": "gold"}');
    await operator.press("Review the change");
    await operator.press("Save");
    await operator.sees("Something in it is not right.");
    await operator.check();
    operator.assertFine();
    await operator.leave();
  },
);

long("activity is shown, and goes on by itself", { skip }, async () => {
  await owner.open("#/org/acme/activity", "Activity");
  await owner.sees("Live: new events appear by themselves.");
  await owner.sees(/nora accepted an invitation to the organization/);
  await owner.check();
  const admin = await site.arrive("ben");
  await admin.open("#/org/acme/members", "Members");
  assert.equal(await roleButton(admin, "ada@acme.example").count(), 0, "an owner, to an admin");
  await admin.press("Remove… nora");
  await admin.press("Remove", admin.dialog());
  await owner.sees(/ben removed (nora|a former member) \(member\) from the organization/);
  admin.assertFine();
  owner.assertFine();
  await admin.leave();
});

long("a member sees who belongs, and leaves", { skip }, async () => {
  const member = await site.arrive("mia");
  await member.heading("Acme");
  await member.check();
  await member.open("#/org/acme/members", "Members");
  await member.sees("ben");
  assert.equal(await member.button("Add a member").count(), 0);
  await member.check();
  await member.page.evaluate("location.hash = '#/org/acme/keys'");
  await member.sees("Owners and admins of the organization see this.");
  await member.open("#/org/acme/members", "Members");
  await member.press(/^Leave…/);
  await member.press("Leave", member.dialog());
  await member.heading("You belong to no organization yet");
  await member.check();
  member.assertFine();
  await member.leave();
});

long("somebody who belongs nowhere registers an organization", { skip }, async () => {
  const newcomer = await site.arrive("nick");
  await newcomer.heading("You belong to no organization yet");
  await newcomer.page.getByLabel("Name of the organization").fill("Nick & Co");
  await newcomer.page.getByLabel("Your e-mail").fill("nick@nick.example");
  await newcomer.press("Register");
  await newcomer.heading("Nick & Co");
  newcomer.assertFine();
  await newcomer.leave();
});

long("a token that names one organization is for that alone, and the page says so", { skip }, async () => {
  const { sql } = site;
  const [globex] = await sql<{ id: string }[]>`select id from app.tenants where slug = 'globex'`;
  await seedUser(sql, globex!.id, { subject: "ben" });
  const admin = await site.arrive("ben", { tenant: "globex" });
  await admin.open("#/org/acme", "Your sign-in is for another organization");
  await admin.page.getByRole("link", { name: "Go to Globex" }).click();
  await admin.heading("Globex");
  admin.assertFine();
  await admin.leave();
});

long("a busy service is asked again by itself, and the page says so", { skip }, async () => {
  const { page } = owner;
  let refused = 0;
  await page.route("**/api/tenants/members*", route =>
    refused++ === 0
      ? route.fulfill({
          status: 503,
          headers: { "content-type": "application/json", "retry-after": "20" },
          body: '{"error":"Service unavailable","detail":"The database cannot be reached"}',
        })
      : route.continue(),
  );
  await owner.open("#/org/acme/members", "Members");
  await owner.sees("The database cannot be reached (503).");
  await owner.press("Try now");
  await owner.sees("ben");
  await until("the banner goes", async () => (await page.locator(".banner").count()) === 0);
  await page.unroute("**/api/tenants/members*");
  owner.assertFine();
});
