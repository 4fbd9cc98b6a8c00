/** Names that try to harm, and lists that are long. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { seedTenant, seedUser, token } from "../harness.ts";
import { until } from "../until.ts";
import { skip, type Visitor } from "./browser.ts";
import { createSite, OPERATOR, type Site } from "./site.ts";

const NAMES = [
  '<img src=x onerror="document.title=1">',
  "</script><script>document.title=1</script>",
  "{{constructor.constructor('document.title=1')()}}",
  "\u202eemcA\u202c",
  "שלום עולם ‏(עברית)",
  "A\u200bcme\u2060\u00ad",
  "𒐫".repeat(255),
  "W".repeat(255),
  "👩‍👩‍👧‍👦 ❤️ family",
  "a\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301\u0301",
];

let site: Site;
let operator: Visitor;
let big: string;

before(async () => {
  if (skip) return;
  site = await createSite();
  const { sql } = site;
  for (const [i, name] of NAMES.entries()) {
    const id = await seedTenant(sql, { slug: `hostile-${i}`, name });
    await seedUser(sql, id, { subject: name, email: null });
    await sql`update app.users set display_name = ${name} where tenant_id = ${id}`;
    await sql`update app.tenants set settings = ${sql.json({ [name]: name })} where id = ${id}`;
  }
  await seedTenant(sql, { slug: "w".repeat(255), name: "A long slug" });
  await sql`
    insert into app.tenants (slug, name, status, created_at)
    select 'many-' || i, 'Many ' || i, 'active', now() - interval '1 day' - i * interval '1 second'
    from generate_series(1, 10000) i`;
  big = await seedTenant(sql, { slug: "big", name: "Big" });
  await sql`
    insert into app.users (tenant_id, auth_provider, auth_subject, role, created_at)
    select ${big}, 'jwt', 'person-' || i, 'member', now() - i * interval '1 second' from generate_series(1, 10000) i`;
  await sql`analyze app.tenants, app.users`;
  operator = await site.arrive("op", OPERATOR);
});
after(() => site?.end());

test("hostile names are shown as text, in every list and on their own pages, on a phone too", {
  skip,
}, async () => {
  const { page } = operator;
  for (const width of [1280, 375]) {
    await page.setViewportSize({ width, height: 800 });
    await operator.open("#/tenants?search=hostile", "Tenants");
    await operator.sees(NAMES[0]!);
    await operator.check();
    assert.equal(await page.locator("main img, main script").count(), 0);
    for (const [i, shown] of [
      [0, NAMES[0]!],
      [3, "⟨202E⟩emcA⟨202C⟩"],
      [5, "A⟨200B⟩cme⟨2060⟩⟨00AD⟩"],
      [7, NAMES[7]!],
      [8, NAMES[8]!],
    ] as const) {
      const [row] = await site.sql<
        { id: string }[]
      >`select id from app.tenants where slug = ${`hostile-${i}`}`;
      await operator.open(`#/tenant/${row!.id}`, shown);
      await operator.fits();
      await operator.open(`#/tenant/${row!.id}/members`, shown);
      await operator.button(/^Remove…/).waitFor();
      await operator.fits();
    }
    await operator.open("#/tenants?search=wwww", "Tenants");
    await operator.sees("A long slug");
    await operator.fits();
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  operator.assertFine();
});

/** Milliseconds from an answer to its rows on the screen. */
async function drawn(path: string, rows: number): Promise<number> {
  const { page } = operator;
  await page
    .locator("tbody tr")
    .nth(rows - 1)
    .waitFor();
  // Chromium lists a request a little later than its rows appear.
  return until<number>("the request is listed", () =>
    page.evaluate<number>(`(() => {
      const read = performance.getEntriesByType("resource").filter(
        ({ name, responseEnd }) => name.includes(${JSON.stringify(path)}) && responseEnd < window.drawnAt).at(-1);
      return read && window.drawnAt - read.responseEnd;
    })()`),
  );
}

test("10,000 tenants and 10,000 members: first rows soon after the answer, further pages at a press", {
  skip,
}, async t => {
  // Another one: the first has used up much of the limit of reads.
  await operator.signIn(await token({ sub: "op 2", ...OPERATOR }));
  const { page } = operator;
  await page.reload();
  await operator.heading("Waiting for approval");
  // Notes when rows come into the page.
  await page.evaluate(`new MutationObserver(() => {
    const rows = document.querySelectorAll("tbody tr").length;
    if (rows !== window.rowsDrawn) { window.rowsDrawn = rows; requestAnimationFrame(() => { window.drawnAt = performance.now(); }); }
  }).observe(document.body, { subtree: true, childList: true }) && 0`);
  for (const [hash, heading, path] of [
    ["#/tenants?search=many", "Tenants", "/api/setup/tenants"],
    [`#/tenant/${big}/members`, "Big", "/members"],
  ] as const) {
    await page.evaluate("performance.clearResourceTimings()");
    await operator.open(hash, heading);
    const first = await drawn(path, 100);
    t.diagnostic(`${heading}: rows ${Math.round(first)} ms after the answer`);
    // 300 ms is the goal; machines that run tests are busy.
    assert.ok(first < 3_000, `${Math.round(first)} ms after the answer`);
    for (let rows = 200; rows <= 500; rows += 100) {
      await operator.press("Show more");
      await page
        .locator("tbody tr")
        .nth(rows - 1)
        .waitFor();
    }
  }
  await operator.open("#/tenants?search=many-9999", "Tenants");
  await operator.sees("1 tenant");
  operator.assertFine();
});

test("one of 10,000 members is found by a part of a name", { skip }, async () => {
  await operator.open(`#/tenant/${big}/members`, "Big");
  await operator.page.getByLabel("Search").fill("SON-9876");
  await operator.sees("1 member");
  await operator.sees("person-9876");
  await operator.check();
  await operator.page.getByLabel("Search").fill("nobody at all");
  await operator.sees("No member matches.");
  operator.assertFine();
});

test("“Show more” at 5,000 rows draws the new ones only", { skip }, async t => {
  // Their reads have no limit by the minute.
  await operator.signIn(await token({ sub: "person-1" }));
  const { page } = operator;
  // The way to 5,000 rows in large steps: 50 small ones take a minute.
  const large = (url: URL) => url.searchParams.get("limit") === "100";
  await page.route(large, route =>
    route.continue({ url: route.request().url().replace("limit=100", "limit=1000") }),
  );
  await operator.open("#/org/big/members", "Members");
  for (const rows of [1_000, 2_000, 3_000, 4_000, 5_000]) {
    if (rows > 1_000) await operator.press("Show more");
    await page
      .locator("tbody tr")
      .nth(rows - 1)
      .waitFor();
  }
  await page.unroute(large);
  await page.evaluate("performance.clearResourceTimings()");
  await page.evaluate("window.rowsBefore = document.querySelector('tbody tr'); 0");
  await operator.press("Show more");
  const more = await drawn("/members", 5_100);
  t.diagnostic(`Show more at 5,000 rows: ${Math.round(more)} ms after the answer`);
  assert.ok(more < 3_000, `${Math.round(more)} ms after the answer`);
  assert.ok(await page.evaluate("document.querySelector('tbody tr') === window.rowsBefore"), "the same rows");
  operator.assertFine();
});
