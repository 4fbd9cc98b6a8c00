/** Names that try to disfigure what stands beside them: in every list, on a phone and on two screens. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { seedTenant, seedUser, settled } from "../harness.ts";
import { skip, type Visitor } from "./browser.ts";
import { createSite, OPERATOR, type Site } from "./site.ts";

const WIDE = "W".repeat(255);
const MARKS = `a${"\u0301".repeat(60)}`;
const HIDDEN = "\u202eemcA";
const NAMES = [WIDE, MARKS, HIDDEN];

let site: Site;
let operator: Visitor;
let owner: Visitor;
let acme: string;

before(async () => {
  if (skip) return;
  site = await createSite();
  const { sql } = site;
  acme = await seedTenant(sql, { slug: "acme", name: WIDE });
  await seedUser(sql, acme, { subject: MARKS, role: "owner" });
  for (const [i, name] of NAMES.entries()) {
    const id = await seedTenant(sql, { slug: `t${i}-${"w".repeat(200)}`, name });
    await seedUser(sql, id, { subject: MARKS });
    await sql`update app.tenants set status = 'suspended' where id = ${id}`;
    const waits = await seedTenant(sql, { slug: `waits-${i}`, name, status: "pending" });
    await sql`update app.tenants set registration = ${sql.json({ admin_name: name, use_case: name })} where id = ${waits}`;
    const member = await seedUser(sql, acme, {
      subject: `${name.slice(0, 250)}${i}`,
      email: `x@${"w".repeat(60)}.example`,
    });
    await sql`update app.users set display_name = ${name} where id = ${member}`;
    await sql`
      insert into app.invitations (tenant_id, token_hash, email, role)
      values (${acme}, sha256(${String(i)}::bytea), ${`${name.slice(0, 60)}@x.example`}, 'admin')`;
  }
  operator = await site.arrive(`op${MARKS}`, OPERATOR);
  owner = await site.arrive(MARKS, { name: WIDE });
});
after(() => site?.end());

/** Texts whose marks would be drawn outside their own row, and rows that are too high. */
const MESS = `(() => {
  const found = [];
  const of = one => one.outerHTML.slice(0, 80);
  const clips = one => getComputedStyle(one).overflowY !== "visible" && getComputedStyle(one).display !== "inline";
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode;
    if (data.includes("\\u202e")) found.push("hidden: " + of(parentElement));
    if (!data.includes("\\u0301".repeat(9))) continue;
    const row = parentElement.closest("tr, li, dd, h1, h2, .note, .meta, .who, nav, select, form, article");
    let one = parentElement;
    while (one !== row && !clips(one)) one = one.parentElement;
    if (!clips(one)) found.push("not clipped: " + of(parentElement));
  }
  for (const one of document.querySelectorAll("[title], [aria-label]"))
    if ((one.title + one.ariaLabel).includes("\\u202e")) found.push("hidden: " + of(one));
  for (const one of document.querySelectorAll("main tbody tr, main li, .who b, nav h2, dialog h2, .find li"))
    if (one.offsetHeight > (innerWidth < 700 ? 240 : 130)) found.push(one.offsetHeight + " px: " + of(one));
  return found;
})()`;

async function assertTidy(one: Visitor, what: string) {
  assert.deepEqual(await one.page.evaluate(MESS), [], what);
  await one.fits();
}

for (const width of [375, 1280, 1440])
  test(`at ${width} px no name disfigures another row of any list`, { skip }, async () => {
    const pages: [Visitor, string, RegExp, string][] = [
      [operator, "#/waiting", /^Waiting/, "article"],
      [operator, "#/tenants", /^Tenants$/, "tbody tr"],
      [operator, `#/tenant/${acme}`, /^W/, ".events li"],
      [operator, `#/tenant/${acme}/members`, /^W/, "tbody tr"],
      [operator, `#/tenant/${acme}/invitations`, /^W/, "tbody tr"],
      [operator, `#/tenant/${acme}/activity`, /^W/, ".events li"],
      [operator, "#/activity", /^Activity$/, ".events li"],
      [owner, "#/org/acme", /^W/, ".few li"],
      [owner, "#/org/acme/members", /^Members$/, "tbody tr"],
      [owner, "#/org/acme/invitations", /^Invitations$/, "tbody tr"],
      [owner, "#/org/acme/keys", /^API keys$/, "tbody tr"],
      [owner, "#/org/acme/activity", /^Activity$/, ".events li"],
    ];
    for (const one of [operator, owner]) await one.page.setViewportSize({ width, height: 900 });
    if (width === 375) {
      for (const name of NAMES) {
        await owner.open("#/org/acme/keys", "API keys");
        await owner.press("Make a key");
        await owner.dialog().getByLabel("Name").fill(name);
        await owner.press("Make the key", owner.dialog());
        await owner.dialog().waitFor({ state: "detached" });
        await owner.press("I have it");
      }
      await settled(site.sql);
    }
    for (const [one, hash, heading, row] of pages) {
      await one.open(hash, heading);
      await one.page.locator(row).first().waitFor();
      await assertTidy(one, hash);
    }
    await owner.open("#/org/acme/members", "Members");
    for (const act of ["change the role of", "Remove…"]) {
      const buttons = owner.button(new RegExp(act));
      for (let i = 0; i < NAMES.length; i++) {
        await buttons.nth(i).click();
        await assertTidy(owner, act);
        await owner.press("Cancel", owner.dialog());
      }
    }
    for (const name of NAMES) {
      await operator.open(`#/why?${new URLSearchParams({ tenant: "acme", subject: name })}`, "Why refused?");
      await operator.page.locator(".flow").waitFor();
      await assertTidy(operator, "why");
    }
    await operator.page.keyboard.press("Control+k");
    await operator.page.keyboard.type("waits");
    await operator.dialog().getByRole("link").nth(2).waitFor();
    await assertTidy(operator, "find");
    await operator.page.keyboard.press("Escape");
    await owner.page.keyboard.press("Control+k");
    await owner.dialog().getByRole("link").first().waitFor();
    await assertTidy(owner, "find");
    await owner.page.keyboard.press("Escape");
    operator.assertFine();
    owner.assertFine();
  });
