/** Forms: what the service refuses stands at its field, in the form's words; nothing is rounded; what is typed is not lost. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Locator, Request } from "playwright-core";
import { seedTenant, seedUser } from "../harness.ts";
import { skip, type Visitor } from "./browser.ts";
import { createSite, OPERATOR, type Site } from "./site.ts";

const SCHEMA = {
  type: "object",
  properties: {
    plan: { title: "Plan", enum: ["free", "team", "gold"] },
    theme: { title: "Theme", type: "string", pattern: "^[a-z]{1,20}$" },
    limits: {
      title: "Limits",
      type: "object",
      properties: { boards: { title: "Boards", type: "number" }, name: { type: "string", pattern: "^x" } },
    },
    sizes: { title: "Sizes", type: "array", items: { type: "number" } },
    beta: { title: "Beta features", type: "boolean" },
  },
};

let site: Site;
let operator: Visitor;
let owner: Visitor;
let acme: string;

before(async () => {
  if (skip) return;
  site = await createSite({}, SCHEMA);
  const { sql } = site;
  acme = await seedTenant(sql, { slug: "acme", name: "Acme" });
  await seedUser(sql, acme, { subject: "ada", role: "owner" });
  operator = await site.arrive("op", OPERATOR);
  owner = await site.arrive("ada");
});
after(() => site?.end());

/** Sends a form with a field that the service refuses, reads why at the field, and corrects it. */
async function assertRefusedAt(
  one: Visitor,
  label: string,
  wrong: string,
  send: string,
  within: Locator = one.page.locator("main"),
) {
  const field = within.getByRole("textbox", { name: label, exact: true });
  await field.fill(wrong);
  await one.press(send, within);
  const said = within.locator(".wrong");
  await said.waitFor();
  assert.match(await said.innerText(), /^It [a-z].*\.$/, label);
  await one.becomes("document.activeElement.getAttribute('aria-invalid') === 'true'");
  const id = await field.getAttribute("id");
  assert.equal(await one.page.evaluate("document.activeElement.id"), id, label);
  const described = (await field.getAttribute("aria-describedby"))!.split(" ");
  assert.ok(described.includes((await said.getAttribute("id"))!), label);
  assert.doesNotMatch(await within.innerText(), /[a-z]_[a-z]|settings\./, "no name of the API");
  await field.press("End");
  await field.press("x");
  await said.waitFor({ state: "detached" });
  assert.equal(await field.getAttribute("aria-invalid"), null, label);
}

test("every form says at the field what the service refuses, until it is corrected", { skip }, async () => {
  await owner.open("#/org/acme", "Acme");
  await assertRefusedAt(owner, "Name", "   ", "Save name");
  await owner.open("#/org/acme/invitations", "Invitations");
  await owner.press("Invite somebody");
  await assertRefusedAt(owner, "E-mail", "a@b", "Make the link", owner.dialog());
  await owner.press("Cancel", owner.dialog());
  await owner.open("#/org/acme/keys", "API keys");
  await owner.press("Make a key");
  await assertRefusedAt(owner, "Name", "   ", "Make the key", owner.dialog());
  await owner.press("Cancel", owner.dialog());
  await operator.open(`#/tenant/${acme}`, "Acme");
  await operator.choose("Rename…");
  await assertRefusedAt(operator, "Slug", "No slug!", "Save names", operator.dialog());
  await operator.press("Cancel", operator.dialog());
  await operator.open("#/tenants/new", "New tenant");
  await operator.page.getByLabel("Name").fill("New");
  await assertRefusedAt(operator, "Slug", "No slug!", "Create tenant");
  await operator.open("#/why", "Why refused?");
  await operator.page.getByLabel("Tenant").fill("acme");
  await assertRefusedAt(operator, "Person", "x".repeat(300), "Explain");
  for (const one of [operator, owner]) one.assertFine();
});

test("no arrow key at a select or a choice sends anything that changes something", { skip }, async () => {
  const sent: string[] = [];
  const note = (request: Request) => request.method() !== "GET" && sent.push(request.url());
  const dialogs = [
    [owner, "#/org/acme/members", "Members", "Add a member"],
    [owner, "#/org/acme/members", "Members", /change the role of ada/],
    [owner, "#/org/acme/invitations", "Invitations", "Invite somebody"],
    [owner, "#/org/acme/keys", "API keys", "Make a key"],
    [operator, `#/tenant/${acme}/settings`, "Acme", null],
    [operator, "#/tenants", "Tenants", null],
    [operator, "#/activity", "Activity", null],
  ] as const;
  for (const one of [operator, owner]) one.page.on("request", note);
  for (const [one, hash, heading, opens] of dialogs) {
    await one.open(hash, heading);
    if (opens) await one.press(opens);
    const within = opens ? one.dialog() : one.page.locator("main");
    const controls = within.locator("select, input[type=radio]:checked");
    await controls.first().waitFor();
    for (const control of await controls.all()) {
      await control.focus();
      for (const key of ["ArrowDown", "ArrowDown", "ArrowUp"]) await one.page.keyboard.press(key);
    }
    if (opens) await one.press("Cancel", one.dialog());
    else if (hash.endsWith("settings")) {
      await one.press("Undo");
      await one.sees("Nothing is changed yet.");
    }
  }
  for (const one of [operator, owner]) {
    one.page.off("request", note);
    one.assertFine();
  }
  assert.deepEqual(sent, []);
});

/** As the form shows them, not as the API calls them. */
test("settings that the schema refuses say why at their own controls, inside a group too", {
  skip,
}, async () => {
  await operator.open(`#/tenant/${acme}/settings`, "Acme");
  const { page } = operator;
  await operator.sees("Beta features");
  assert.equal(await page.getByText("As JSON, such as").count(), 1, "only the list of numbers is JSON");
  const theme = page.getByLabel("Theme");
  await theme.fill("NIGHT");
  await page.getByLabel("name").fill("y");
  await operator.press("Review the change");
  await operator.press("Save");
  await page.locator(".wrong").nth(1).waitFor();
  await operator.becomes("document.activeElement.getAttribute('aria-invalid') === 'true'");
  assert.equal(await theme.getAttribute("aria-invalid"), "true");
  assert.doesNotMatch(await page.locator("main").innerText(), /settings\./);
  await operator.check();
  await theme.fill("night");
  await page.locator(".wrong").nth(1).waitFor({ state: "detached" });
  await page.getByLabel("name").fill("xy");
  await page.locator(".wrong").waitFor({ state: "detached" });
  await operator.press("Review the change");
  await operator.press("Save");
  await operator.sees("Nothing is changed yet.");
  operator.assertFine();
});

test("no control of a form rounds a number, halves an object or drops what follows it", {
  skip,
}, async () => {
  const { page } = operator;
  await page.getByLabel("Theme").fill("dusk");
  const boards = page.getByLabel("Boards");
  for (const wrong of ["12345678901234567890", "0.1000000000000000055511151231257827"]) {
    await boards.fill(wrong);
    await operator.sees(/which cannot be kept exactly\.$/);
    assert.equal(await boards.inputValue(), wrong);
    await operator.press("Review the change");
    assert.equal(await operator.button("Save").count(), 0);
  }
  await boards.fill("1.50");
  await page.getByText(/cannot be kept/).waitFor({ state: "detached" });
  const sizes = page.getByLabel("Sizes");
  for (const [wrong, said] of [
    ["[12345678901234567890]", /cannot be kept exactly/],
    ['[{"a": {"b": 1, "b": 2}}]', /contains the field 0\.a\.b twice/],
    ['[1], "plan": "gold"', /This is no JSON/],
  ] as const) {
    await sizes.fill(wrong);
    await sizes.blur();
    await operator.sees(said);
  }
  await sizes.fill("[1]");
  await operator.press("Review the change");
  assert.match(await page.getByRole("region", { name: "What changes" }).innerText(), /"boards": 1.5/);
  await operator.press("Save");
  await operator.sees("Nothing is changed yet.");
  await operator.open("#/why", "Why refused?");
  await operator.press("By a token's claims");
  for (const [claims, said] of [
    ['{"sub": "a", "x": {"y": [1, 12345678901234567890]}}', /cannot be kept exactly/],
    ['{"sub": "a", "x": {"y": 1, "y": 2}}', /contains the field x\.y twice/],
  ] as const) {
    await page.getByLabel("Claims or token").fill(claims);
    await operator.press("Explain");
    await operator.sees(said);
  }
  operator.assertFine();
});
