/** What an operator does in the console: every button and form once, in a real browser. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { seedTenant, token } from "../harness.ts";
import { createWorld, type World } from "../http/world.ts";
import { listen, skip, startBrowser, Visitor } from "./browser.ts";

let world: World;
let browser: Browser;
let operator: Visitor;

before(async () => {
  if (skip) return;
  world = await createWorld();
  const { sql } = world.database;
  await seedTenant(sql, { slug: "acme", name: "Acme" });
  await seedTenant(sql, { slug: "hooli", name: "Hooli", status: "pending" });
  await seedTenant(sql, { slug: "initech", name: "Initech", status: "pending" });
  const url = await listen(world.service);
  browser = await startBrowser();
  operator = await Visitor.arrive(browser, url);
});
after(async () => {
  await browser?.close();
  await world?.end();
});

test("a link with a token signs in on this machine, and leaves the address at once", { skip }, async () => {
  await operator.signIn(await token({ sub: "op", name: "Olga", roles: ["tenant-operator"] }));
  assert.equal(new URL(operator.page.url()).hash, "#/");
  assert.ok(
    !(await operator.page.evaluate<string>("JSON.stringify(history.state) + location.href")).includes("ey"),
  );
  await operator.sees("Olga");
  operator.assertFine();
});

test("a registration is approved, another one rejected", { skip }, async () => {
  await operator.heading("Waiting for approval");
  await operator.check();
  const of = (name: string) => operator.page.getByRole("article", { name });
  await operator.press("Approve", of("Hooli"));
  await of("Hooli").waitFor({ state: "detached" });
  await operator.press("Reject…", of("Initech"));
  await operator.dialog().getByLabel("Reason").fill("unknown");
  await operator.check();
  await operator.press("Reject and delete", operator.dialog());
  await operator.sees("Nobody waits for approval.");
  const rows = await world.database
    .sql`select slug, status from app.tenants where slug in ('hooli', 'initech')`;
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
  await operator.sees("vandelay is created");
  operator.assertFine();
});
