import assert from "node:assert/strict";
import { test } from "node:test";
import { isKey, Keys, newSecret } from "../../src/identity/keys.ts";

const TENANT = "5c6f1a52-9d3e-4b1f-8a37-0d6a2f6f8f10";
const show =
  (key: string) =>
  (keys: Keys, network = "192.0.2.1") =>
    keys.identify(key, network)!;

test("every secret is another one, and a key contains its tenant", () => {
  const made = Array.from({ length: 100 }, () => newSecret());
  assert.equal(new Set(made.map(({ hash }) => hash)).size, 100);
  const key = made[0]!.keyIn(TENANT);
  assert.match(key, new RegExp(`^tms_${TENANT}_[0-9a-f]{64}$`));
  assert.ok(isKey(key) && !isKey("eyJhbGciOiJIUzI1NiJ9.e30.x"));
  const { key: shown } = show(key)(new Keys());
  assert.equal(shown!.credential, `${TENANT}:${made[0]!.hash}`);
  assert.ok(!JSON.stringify(shown).includes(key.slice(-64)), "the secret is kept");
});

test("what is not exactly a key is none", () => {
  const key = newSecret().keyIn(TENANT);
  for (const text of [
    "",
    "tms_",
    key.slice(0, -1),
    `${key}0`,
    ` ${key}`,
    `${key}\n`,
    key.toUpperCase(),
    key.replace("-", ""),
  ])
    assert.equal(new Keys().identify(text, "192.0.2.1"), undefined, text);
});

test("a key counts for its address until the database has admitted it, and again once it has refused it", () => {
  const keys = new Keys();
  const [one, other] = [newSecret(), newSecret()].map(({ keyIn }) => show(keyIn(TENANT))) as [
    ReturnType<typeof show>,
    ReturnType<typeof show>,
  ];
  const names = () => [one(keys), other(keys), one(keys, "192.0.2.2")].map(({ subject }) => subject);
  assert.deepEqual(names(), ["at 192.0.2.1", "at 192.0.2.1", "at 192.0.2.2"]);
  assert.equal(one(keys).key!.tenant, null);

  one(keys).key!.admitted("id-of-one", "acme");
  assert.deepEqual(names(), ["id-of-one", "at 192.0.2.1", "id-of-one"]);
  const known = one(keys);
  assert.equal(known.key!.tenant, "acme");
  assert.equal(one(keys), known, "requests with one key share its identity");
  known.key!.admitted("id-of-one", "renamed");
  assert.equal(one(keys).key!.tenant, "renamed");

  known.key!.refused();
  assert.deepEqual(names(), ["at 192.0.2.1", "at 192.0.2.1", "at 192.0.2.2"]);
  for (const { operator, email, claims } of [known, one(keys)])
    assert.deepEqual([operator, email, claims], [false, null, {}]);
});

test("the oldest of ten thousand admitted keys is forgotten first, and each after ten minutes", t => {
  const keys = new Keys();
  const identities = Array.from({ length: 10_001 }, (_, i) => {
    const key = show(`tms_${TENANT}_${i.toString(16).padStart(64, "0")}`);
    key(keys).key!.admitted(`id-${i}`, "acme");
    return key;
  });
  const names = [0, 1, 10_000].map(i => identities[i]!(keys).subject);
  assert.deepEqual(names, ["at 192.0.2.1", "id-1", "id-10000"]);
  const now = performance.now();
  t.mock.method(performance, "now", () => now + 601_000);
  assert.equal(identities[1]!(keys).subject, "at 192.0.2.1");
});
