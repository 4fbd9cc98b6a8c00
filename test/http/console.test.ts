/** How the console's files are served. test/console/ has what they do. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { gunzipSync } from "node:zlib";
import { withService } from "../harness.ts";
import { createWorld } from "./world.ts";

const world = await createWorld();
after(() => world.end());
const get = (url: string, headers = {}) => world.service.request({ url, headers, undocumented: true });

test("/ and /console lead to the page, relative to where a proxy has them", async () => {
  for (const url of ["/", "/console"]) {
    const { status, headers } = await get(url);
    assert.deepEqual([status, headers.location, headers["cache-control"]], [302, "console/", "no-cache"]);
  }
  await withService(world.database, { SERVICE_PUBLIC_URL: "https://api.example/tenancy" }, async service => {
    const { headers } = await service.request({ url: "/", undocumented: true });
    assert.equal(headers.location, "/tenancy/console/");
  });
});

test("the page allows scripts, styles and requests of this service only, none inline", async () => {
  const { status, headers, body } = await get("/console/");
  assert.deepEqual([status, headers["content-type"]], [200, "text/html; charset=utf-8"]);
  const policy = String(headers["content-security-policy"]);
  assert.match(
    policy,
    /^default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; /,
  );
  assert.doesNotMatch(policy, /unsafe|\*|https?:/);
  assert.doesNotMatch(body, /<script(?![^>]*src=)|style=|\bon\w+=/);
  assert.deepEqual(
    ["x-content-type-options", "referrer-policy", "cache-control"].map(name => headers[name]),
    ["nosniff", "no-referrer", "no-cache"],
  );
  assert.equal((await get("/console/", { "if-none-match": headers.etag })).status, 304);
});

test("with a provider the page may ask it too, and knows the client", async () => {
  const env = { SERVICE_CONSOLE_CLIENT_ID: 'a"&<b', SERVICE_JWT_ISSUER: "https://login.example/realms/one" };
  await withService(world.database, env, async service => {
    const { headers, body } = await service.request({ url: "/console/", undocumented: true });
    assert.match(String(headers["content-security-policy"]), /connect-src 'self' https:\/\/login\.example;/);
    const text = /name="console" content="([^"]+)"/
      .exec(body)![1]!
      .replace(/&#(\d+);/g, (_all, code) => String.fromCharCode(Number(code)));
    assert.deepEqual(JSON.parse(text).oidc, {
      issuer: "https://login.example/realms/one",
      clientId: 'a"&<b',
      scope: "openid profile email",
      audience: null,
    });
  });
});

test("its files are small, named by their content, and kept by browsers", async () => {
  const { body } = await get("/console/");
  const files = [...String(body).matchAll(/(?:href|src)="([^"./]+\.\w+)"/g)].map(([, name]) => name!);
  assert.equal(files.length, 3);
  let script = 0;
  for (const file of files) {
    const { raw } = await rawOf(`/console/${file}`);
    if (file.endsWith(".js")) script = raw.length;
    assert.ok(gunzipSync(raw).length > 0);
    const { headers } = await get(`/console/${file}`);
    assert.equal(headers["cache-control"], "public, max-age=31536000, immutable");
    assert.equal(headers["content-encoding"], undefined);
  }
  assert.ok(script < 60_000, `${script} bytes of script, compressed`);
  assert.equal((await get("/console/nothing.js")).status, 404);
  assert.equal((await get("/console/..%2fpackage.json")).status, 404);
});

async function rawOf(url: string) {
  const { rawPayload } = await world.service.app.inject({ url, headers: { "accept-encoding": "gzip, br" } });
  return { raw: rawPayload };
}
