/** Signing in at a real provider, in a real browser: code and PKCE, silent renewal, the end of the session, signing out. */
import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { long, seedTenant, seedUser, token } from "../harness.ts";
import { until } from "../until.ts";
import { skip, type Visitor } from "./browser.ts";
import { AUDIENCE, CLIENT, createProvider, type Provider } from "./provider.ts";
import { createSite, OPERATOR, type Site } from "./site.ts";

let provider: Provider;
let site: Site;
let plain: Site;
let visitor: Visitor;

before(async () => {
  if (skip) return;
  provider = await createProvider({ ...OPERATOR, tenant: "operations" }, 4);
  site = await createSite({
    SERVICE_JWT_SECRET: "",
    SERVICE_JWT_JWKS_URL: `${provider.issuer}/jwks`,
    SERVICE_JWT_ISSUER: provider.issuer,
    SERVICE_JWT_AUDIENCE: AUDIENCE,
    SERVICE_CONSOLE_CLIENT_ID: CLIENT,
  });
  plain = await createSite();
  await provider.serve(`${site.url}/console/`);
  visitor = await site.visit({ others: [provider.issuer] });
});
after(async () => {
  await site?.end();
  await plain?.end();
  await provider?.close();
});

const stored = (one: Visitor) => one.stored();

async function throughProvider({ page }: Visitor) {
  await page.locator('input[name="login"]').fill("olga");
  await page.locator('input[name="password"]').fill("any will do");
  await page.locator('button[type="submit"]').click();
  await page.getByRole("button", { name: "Continue" }).click();
}

test("the provider's code becomes a session, on the page where the reader was", { skip }, async () => {
  await visitor.page.goto(`${visitor.url}/console/#/tenants`);
  await visitor.heading("Sign in");
  await visitor.check();
  await visitor.page.route(`${provider.issuer}/**`, route => route.abort());
  await visitor.press(/^Sign in at 127/);
  await visitor.sees("No answer. The provider of your sign-in cannot be reached.");
  await visitor.page.unroute(`${provider.issuer}/**`);
  visitor.faults.splice(0); // net::ERR_FAILED
  const asked: URL[] = [];
  visitor.page.on("request", request => asked.push(new URL(request.url())));
  await visitor.press(/^Sign in at 127/);
  await throughProvider(visitor);
  await visitor.heading("Tenants");
  const authorization = asked.find(({ pathname }) => pathname === "/auth")!.searchParams;
  assert.equal(authorization.get("code_challenge_method"), "S256");
  assert.equal(authorization.get("scope"), "openid profile email");
  assert.equal(
    visitor.page.url(),
    `${visitor.url}/console/#/tenants`,
    "the code is not in the address any more",
  );
  assert.ok(
    asked.every(({ href }) => !href.includes("eyJ")),
    "a token was never in an address",
  );
  await visitor.sees("olga");
  visitor.assertFine();
});

long("the token is renewed silently", { skip }, async () => {
  const before = await stored(visitor);
  await until("two renewals", () => provider.renewals() >= 2);
  await until("another token is stored", async () => (await stored(visitor)) !== before);
  await visitor.open("#/waiting", "Waiting for approval");
  await visitor.page.reload();
  await visitor.heading("Waiting for approval");
  visitor.assertFine();
});

long(
  "a duplicated tab and its original both go on while the provider rotates the refresh token",
  {
    skip,
  },
  async () => {
    const copy = await visitor.duplicate();
    await copy.heading("Waiting for approval");
    // On a busy machine they hear of each other late.
    for (const { page } of [visitor, copy])
      await page.evaluate(`(() => {
        const { postMessage } = BroadcastChannel.prototype;
        BroadcastChannel.prototype.postMessage = function (note) {
          if (note.kind === "over") postMessage.call(this, note);
          else setTimeout(() => postMessage.call(this, note), 700);
        };
      })()`);
    const since = provider.renewals();
    await until("four renewals", () => provider.renewals() >= since + 4);
    for (const one of [visitor, copy]) {
      await one.open("#/tenants", "Tenants");
      await one.open("#/waiting", "Waiting for approval");
      one.assertFine();
    }
    await copy.press("Sign out");
    await visitor.heading("Sign in");
    await visitor.sees("You signed out in another tab.");
    await copy.page.getByRole("button", { name: "Yes, sign me out" }).click();
    await copy.heading("Sign in");
    await copy.page.close();
    await visitor.press(/^Sign in at 127/);
    await throughProvider(visitor);
    await visitor.heading("Waiting for approval");
  },
);

long(
  "a network that fails while the token is renewed ends no session, nor does a clock that is wrong by an hour",
  {
    skip,
  },
  async () => {
    const { page } = visitor;
    let failed = 0;
    await page.route(`${provider.issuer}/token`, route => {
      failed++;
      return route.abort("internetdisconnected");
    });
    await until("a token ends while the provider is away", () => failed >= 3);
    await page.unroute(`${provider.issuer}/token`);
    const since = provider.renewals();
    await until("it is renewed", () => provider.renewals() > since);
    await visitor.open("#/tenants", "Tenants");
    visitor.faults.splice(0); // net::ERR_INTERNET_DISCONNECTED
    for (const wrong of [-3_600_000, 3_600_000]) {
      await page.addInitScript(`{ const now = Date.now; Date.now = () => now() + ${wrong}; }`);
      await page.reload();
      await visitor.heading("Tenants");
      const before = provider.renewals();
      await until("it is renewed", () => provider.renewals() >= before + 2);
      await visitor.open("#/waiting", "Waiting for approval");
      await visitor.open("#/tenants", "Tenants");
    }
    // A computer that wakes up, or whose clock is put right meanwhile.
    for (const jump of [3_600_000, -7_200_000]) {
      await page.evaluate(
        `{ const now = Date.now; Date.now = () => now() + ${jump}; dispatchEvent(new Event("focus")); }`,
      );
      await visitor.open("#/waiting", "Waiting for approval");
      const before = provider.renewals();
      await until("it is renewed", () => provider.renewals() >= before + 2);
      await visitor.open("#/tenants", "Tenants");
    }
    visitor.assertFine();
  },
);

long(
  "an address that this tab did not ask for changes nothing: error, code, another's token",
  {
    skip,
  },
  async () => {
    const { page, url } = visitor;
    for (const query of ["?error=x", "?code=1&state=2", "?code=1"]) {
      await page.goto(`${url}/console/${query}`);
      await visitor.heading("Waiting for approval");
      await visitor.sees("olga");
      assert.equal(page.url(), `${url}/console/#/`);
    }
    await page.evaluate(`location.hash = "#token=${await token({ sub: "mallory", name: "Mallory" })}"`);
    await visitor.sees("A link brings a token of");
    await visitor.check();
    await visitor.press("Stay signed in", visitor.dialog());
    await visitor.sees("olga");
    visitor.assertFine();
  },
);

long(
  "when the provider renews it no more, the reader is told, and signs in again where they were",
  {
    skip,
  },
  async () => {
    await visitor.open("#/why", "Why refused?");
    provider.refuses(true);
    await visitor.heading("Sign in");
    await visitor.sees("Your sign-in has ended.");
    assert.equal(await stored(visitor), "[{},{}]");
    assert.equal(new URL(visitor.page.url()).hash, "#/why");
    await visitor.check();
    visitor.faults.splice(0); // the provider's 400
    visitor.assertFine();
  },
);

long(
  "signing out ends the session at the provider too, without a token in an address",
  {
    skip,
  },
  async () => {
    provider.refuses(false);
    const asked: string[] = [];
    visitor.page.on("request", request => asked.push(request.url()));
    await visitor.press(/^Sign in at 127/);
    // The provider knows the reader still.
    await visitor.heading("Why refused?");
    await visitor.press("Sign out");
    await visitor.page.getByRole("button", { name: "Yes, sign me out" }).click();
    await visitor.heading("Sign in");
    assert.ok(asked.some(url => url.startsWith(`${provider.issuer}/token/revocation`)));
    assert.ok(asked.every(url => !url.includes("eyJ")));
    assert.equal(await stored(visitor), "[{},{}]");
    visitor.assertFine();
  },
);

test("an answer that this tab did not ask for signs nobody in", { skip }, async () => {
  const other = await site.visit({ others: [provider.issuer] });
  await other.page.goto(`${other.url}/console/?code=stolen&state=x`);
  await other.sees("The sign-in failed: this tab did not ask for it.");
  assert.equal(other.page.url(), `${other.url}/console/#/`);
  await other.page.goto(`${other.url}/console/?error=access_denied&state=x`);
  await other.sees("The sign-in failed");
  other.assertFine();
  await other.leave();
});

test("a pasted token is refused in words, or signs in; signing out leaves nothing", { skip }, async () => {
  const { sql, url } = plain;
  const acme = await seedTenant(sql, { slug: "acme", name: "Acme" });
  await seedUser(sql, acme, { subject: "mia" });
  const mia = await plain.visit();
  await mia.page.goto(`${url}/`);
  await mia.heading("Sign in");
  assert.equal(await mia.button(/^Sign in at/).count(), 0, "no provider is configured");
  await mia.page.getByLabel("Token").fill("eyJ.eyJ.x");
  await mia.press("Sign in with this token");
  await mia.sees(/The service refuses the token: /);
  await mia.page.getByLabel("Token").fill(`Bearer ${await token({ sub: "mia" })}`);
  await mia.press("Sign in with this token");
  await mia.heading("Acme");
  assert.match(await stored(mia), /eyJ/);
  // The reader's clock is put right by a day: the service's counts.
  await mia.page.evaluate(
    "{ const now = Date.now; Date.now = () => now() + 86_400_000; dispatchEvent(new Event('focus')); }",
  );
  await mia.open("#/org/acme/members", "Members");
  await mia.sees("Who belongs, newest first.");
  await mia.press("Sign out");
  await mia.heading("Sign in");
  assert.equal(await stored(mia), "[{},{}]");
  assert.equal(mia.page.url(), `${url}/console/`);
  assert.deepEqual(await mia.page.context().cookies(), []);
  await mia.page.reload();
  await mia.heading("Sign in");
  mia.assertFine();
  await mia.leave();
});

long(
  "two people with one subject of two issuers share no page, and signing out clears what the API pages kept",
  {
    skip,
  },
  async () => {
    const { sql } = plain;
    for (const [slug, provider] of [
      ["first", "https://one.example"],
      ["second", "https://two.example"],
    ] as const)
      await seedUser(sql, await seedTenant(sql, { slug, name: `The ${slug}` }), { subject: "sam", provider });
    const sam = await plain.arrive("sam", { iss: "https://one.example" });
    await sam.heading("The first");
    await sam.page.evaluate(`localStorage.setItem("authorized", '{"token":{"value":"eyJ"}}')`);
    await sam.page.evaluate(`localStorage.setItem("another", "1")`);
    await sam.page.evaluate(
      `location.hash = "#token=${await token({ sub: "sam", iss: "https://two.example" })}"`,
    );
    await sam.press("Sign in with the link", sam.dialog());
    await sam.heading("The second");
    assert.equal(await sam.page.getByText("The first").count(), 0);
    await sam.press("Sign out");
    await sam.heading("Sign in");
    assert.equal(await stored(sam), '[{},{"another":"1"}]', "other applications of the origin keep theirs");
    sam.assertFine();
    await sam.leave();
  },
);

long("behind a proxy that takes a prefix away, the page finds its files and the API", { skip }, async () => {
  const { port } = new URL(plain.url);
  const proxy = createServer(({ url = "", method, headers }, response) => {
    const path = /^\/tenancy(\/.*)$/.exec(url)?.[1];
    if (!path) return void response.writeHead(404).end();
    const inner = request({ host: "127.0.0.1", port, path, method, headers }, answer => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    inner.end();
  });
  await new Promise<void>(resolve => proxy.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/tenancy`;
  const behind = await plain.visit({}, url);
  await behind.page.goto(`${url}/`);
  await behind.heading("Sign in");
  assert.equal(behind.page.url(), `${url}/console/`);
  await behind.signIn(await token({ sub: "op", ...OPERATOR }));
  await behind.open("#/tenants", "Tenants");
  await behind.sees("Acme");
  behind.assertFine();
  await behind.leave();
  proxy.closeAllConnections();
  await new Promise(resolve => proxy.close(resolve));
});

long("a token that ends is said to have ended", { skip }, async () => {
  const { url } = visitor;
  const other = await site.visit({ others: [provider.issuer] });
  await other.page.goto(
    `${url}/console/#token=${await token({ sub: "x", exp: Math.floor(Date.now() / 1000) - 60 })}`,
  );
  await other.sees("Your sign-in has ended.");
  assert.equal(await stored(other), "[{},{}]");
  await other.leave();
});
