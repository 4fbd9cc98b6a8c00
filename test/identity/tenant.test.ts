import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Problem } from "../../src/errors/errors.ts";
import type { Claims } from "../../src/identity/auth.ts";
import { type Naming, resolveTenant, slugify } from "../../src/identity/tenant.ts";

const resolve = (
  claims: Claims,
  header?: string | string[],
  tenantClaim: string | null = null,
  tenantPrecedence: Naming["tenantPrecedence"] = "claims",
) => resolveTenant(claims, header, { jwt: { tenantClaim }, tenantPrecedence });

/** `source:slug`, or the status and title of the refusal. */
function outcome(...asked: Parameters<typeof resolve>): string {
  try {
    const { slug, source } = resolve(...asked);
    return `${source}:${slug}`;
  } catch (error) {
    assert.ok(error instanceof Problem);
    return `${error.status} ${error.error}`;
  }
}

const MISSING = "400 Missing X-Tenant header";
const MALFORMED = "400 Invalid X-Tenant header format";
const DENIED = "403 Access denied";

test("the header's format is checked first, whatever the token says", () => {
  const bad = [
    "",
    " ",
    "Acme",
    "a_b",
    "a b",
    "acme\n",
    "acme\0",
    "ümlaut",
    "a,b",
    "acme, acme",
    "x".repeat(256),
    "日本",
  ];
  for (const header of [...bad, ["acme", "acme"], ["acme"], []])
    for (const claims of [{}, { tenant: "acme" }, { tenant: "NOT A SLUG" }])
      assert.equal(outcome(claims, header), MALFORMED, JSON.stringify(header));
  for (const header of ["a", "-", "9", "acme-corp", "x".repeat(255)])
    assert.equal(outcome({}, header), `header:${header}`);
});

test("claims win in the order of docs/reference/api.md, each over the header", () => {
  const page = readFileSync(new URL("../../docs/reference/api.md", import.meta.url), "utf8");
  const [list] = page.match(/(^\d\. .*\n)+/m)!;
  const numbered = list!.match(/^\d\. [^:\n]*/gm)!.slice(1);
  const names = numbered.flatMap(line => [...line.matchAll(/`(\w+)`/g)].map(([, name]) => name!));
  assert.equal(names.at(-1), "email");
  const left = ["configured", ...names].map(name => [name, name === "email" ? "ann@of.acme.com" : name]);
  for (; left.length > 0; left.shift()) {
    const [name] = left[0]!;
    const wanted = name === "email" ? "acme" : slugify(name!);
    assert.equal(resolve(Object.fromEntries(left), "header", "configured").slug, wanted);
  }
  assert.equal(outcome({}, "header"), "header:header");
});

test("with SERVICE_TENANT_PRECEDENCE=header a header that is sent wins over every claim; without one the claims name the tenant", () => {
  const outcomeOf = (claims: Claims, header?: string) => outcome(claims, header, "custom", "header");
  for (const [claim, source] of SOURCES) {
    const claims = { [claim]: valueFor(claim) };
    assert.equal(outcomeOf(claims, "chosen"), "header:chosen", claim);
    assert.equal(outcomeOf(claims), `${source}:${slugFor(claim)}`, claim);
    assert.equal(outcomeOf(claims, "Not A Slug"), MALFORMED, claim);
    assert.equal(outcomeOf(claims, ""), MALFORMED, claim);
  }
  assert.equal(outcomeOf({ tenant: "NOT A SLUG" }, "chosen"), "header:chosen");
  assert.equal(outcomeOf({ tenant: "NOT A SLUG" }), DENIED);
  assert.equal(outcomeOf({}), MISSING);
});

test("a malformed header answers as the specification names it, with the received value", () => {
  const received: [string | string[], string][] = [
    ["Acme", "Acme"],
    ["", ""],
    [["a", "b"], "a, b"],
  ];
  for (const [header, provided_tenant] of received)
    assert.throws(
      () => resolve({}, header),
      (error: Problem) => {
        assert.deepEqual(error.extra, { provided_tenant });
        assert.match(error.message, /must contain only lowercase letters, numbers and hyphens/);
        return error.status === 400 && error.error === "Invalid X-Tenant header format";
      },
    );
});

/** Every source, the strongest first. */
const SOURCES: [claim: string, source: string][] = [
  ["custom", "configured_claim"],
  ["tenant", "tenant"],
  ["org", "organization"],
  ["organization", "organization"],
  ["org_slug", "organization"],
  ["org_name", "organization"],
  ["namespace", "namespace"],
  ["group", "namespace"],
  ["team", "namespace"],
  ["workspace", "namespace"],
  ["email", "email"],
];
const valueFor = (claim: string) =>
  claim === "email" ? "ann@from-email.com" : `from-${claim.replace("_", "-")}`;
const slugFor = (claim: string) => `from-${claim.replace("_", "-")}`;

test("of any two claims the one that comes first in the order wins, and every claim beats the header", () => {
  for (const [index, [first, source]] of SOURCES.entries()) {
    const expected = `${source}:${slugFor(first)}`;
    assert.equal(outcome({ [first]: valueFor(first) }, undefined, "custom"), expected);
    assert.equal(outcome({ [first]: valueFor(first) }, "other", "custom"), expected);
    for (const [second] of SOURCES.slice(index + 1)) {
      const claims = { [second]: valueFor(second), [first]: valueFor(first) };
      assert.equal(outcome(claims, "other", "custom"), expected, `${first} before ${second}`);
    }
  }
});

test("a claim that does not count is passed over for the next one and at last for the header", () => {
  const nothing = [
    null,
    undefined,
    "",
    5,
    0,
    true,
    [],
    ["acme"],
    [{ slug: "acme" }],
    {},
    { slug: "" },
    { slug: 5 },
    { id: 7 },
  ];
  for (const [claim] of SOURCES)
    for (const value of nothing) {
      const claims = { [claim]: value };
      assert.equal(outcome(claims, undefined, "custom"), MISSING, `${claim}: ${JSON.stringify(value)}`);
      assert.equal(outcome(claims, "acme", "custom"), "header:acme");
      assert.equal(outcome({ ...claims, email: "a@acme.io" }, "x", "custom"), "email:acme");
    }
});

test("an object counts by its slug, else its id, else its name", () => {
  const objects: [object, string][] = [
    [{ slug: "s", id: "i", name: "n" }, "s"],
    [{ id: "i", name: "n" }, "i"],
    [{ name: "n" }, "n"],
    [{ slug: "", id: "i" }, "i"],
    [{ slug: 5, id: ["x"], name: "n" }, "n"],
  ];
  for (const [value, slug] of objects) {
    assert.equal(outcome({ org: value }), `organization:${slug}`);
    assert.equal(outcome({ tenant: value }), `tenant:${slug}`);
    assert.equal(outcome({ custom: value }, undefined, "custom"), `configured_claim:${slug}`);
  }
  assert.equal(outcome({ email: { slug: "acme" } }), MISSING);
});

test("`tenant` must be a slug as it stands: nobody belongs to one that is not", () => {
  for (const value of [
    "Acme",
    "a b",
    " ",
    "acme\n",
    "x".repeat(256),
    "münchen",
    { slug: "A" },
    { name: "Acme Inc" },
  ])
    assert.equal(outcome({ tenant: value, org: "acme" }, "acme"), DENIED, JSON.stringify(value));
  assert.equal(outcome({ tenant: "-a--b-" }), "tenant:-a--b-");
  assert.throws(() => resolve({ tenant: "A" }), {
    status: 403,
    message: "User does not belong to tenant",
    extra: {},
  });
});

test("a configured claim is slugified, may be a dotted path, and is taken by its literal name first", () => {
  assert.equal(outcome({ company: "Acme & Co" }, undefined, "company"), "configured_claim:acme-co");
  assert.equal(outcome({ app: { org: { slug: "acme" } } }, undefined, "app.org"), "configured_claim:acme");
  assert.equal(outcome({ app: { org: "b" }, "app.org": "a" }, undefined, "app.org"), "configured_claim:a");
  assert.equal(outcome({ "https://x.io/t": "acme" }, undefined, "https://x.io/t"), "configured_claim:acme");
  assert.equal(outcome({ app: "text" }, "h", "app.length"), "header:h");
  assert.equal(outcome({ app: null }, "h", "app.org"), "header:h");
  assert.equal(outcome({ company: "!!!", org: "acme" }, undefined, "company"), "organization:acme");
  // Configured by its own name, `tenant` keeps its strictness.
  assert.equal(outcome({ tenant: "Acme" }, undefined, "tenant"), DENIED);
  assert.equal(outcome({ tenant: "acme" }, undefined, "tenant"), "configured_claim:acme");
});

test("what every object inherits is no claim", () => {
  for (const name of ["constructor", "constructor.name", "__proto__", "toString", "hasOwnProperty.name"])
    assert.equal(outcome({}, "acme", name), "header:acme", name);
  const poisoned = JSON.parse('{"__proto__": {"tenant": "evil", "org": "evil"}}') as Claims;
  assert.equal(outcome(poisoned), MISSING);
});

test("slugs are made by the rule", () => {
  const cases: Record<string, string> = {
    acme: "acme",
    "Acme Corp.": "acme-corp",
    "  Acme -- Corp  ": "acme-corp",
    "Müller & Söhne": "muller-sohne",
    "Crème Brûlée": "creme-brulee",
    "Straße 7": "stra-e-7",
    "ﬁne ＡＣＭＥ ①": "fine-acme-1",
    İstanbul: "istanbul",
    Łódź: "odz",
    Øre: "re",
    "acme 🚀 labs": "acme-labs",
    "acme\ud800corp": "acme-corp",
    "a\0b\nc": "a-b-c",
    "-_-a-_-": "a",
    日本語: "",
    "🚀": "",
    "!!!": "",
    "": "",
  };
  for (const [text, slug] of Object.entries(cases)) assert.equal(slugify(text), slug, text);
  assert.equal(slugify("x".repeat(300)), "x".repeat(255));
  assert.equal(slugify(`${"x".repeat(254)} yyy`), "x".repeat(254));
  for (const name of ["org", "team"]) assert.equal(outcome({ [name]: "日本語" }, "acme"), "header:acme");
});

test("an e-mail address names the label that its domain was registered under", () => {
  const cases: Record<string, string> = {
    "ann@acme.com": "acme",
    "ann@ACME.Com": "acme",
    "ann@mail.eu.acme.co.uk": "acme",
    "ann@acme.github.io": "acme",
    "ann@acme.uk.com": "acme",
    "ann@acme.internal": "acme",
    "ann@acme.com.": "acme",
    "ann@a-b.com": "a-b",
    "ann@müller.de": "muller",
    "ann@xn--mller-kva.de": "muller",
    "ann+tag@acme.com": "acme",
    "ann@github.com": "github",
    [`ann@${"x.".repeat(125)}com`]: "x",
  };
  for (const [email, slug] of Object.entries(cases)) assert.equal(outcome({ email }), `email:${slug}`, email);
});

test("an address of a public mailbox, of a suffix, of no domain or of two is passed over", () => {
  const addresses = [
    "a@gmail.com",
    "a@GMAIL.com",
    "a@gmail.com.",
    "a@mail.gmail.com",
    "a@yahoo.co.uk",
    "a@outlook.com",
    "a@proton.me",
    "a@fastmail.com",
    "a@tutanota.com",
    "a@acme.onmicrosoft.com",
    "a@kakao.com",
    "a@gmx.ch",
    "a@hotmail.se",
    "a@yandex.kz",
    "a@mail.ua",
    "a@volny.cz",
    "a@müll.email",
    "1+a@users.noreply.github.com",
    "a.b1c2@passmail.net",
    "a@github.io",
    "a@co.uk",
    "a@com",
    "a@localhost",
    "a@127.0.0.1",
    "a@0x7f.1",
    "a@[127.0.0.1]",
    "a@[::1]",
    "acme.com",
    "a@",
    "@",
    "@acme.com",
    "a@b@acme.com",
    "a@acme.com@",
    "a@acme.com/x",
    "a@acme.com:25",
    "a@acme%2ecom",
    "a@acme..com",
    "a@.acme.com",
    "a@ac me.com",
    "a@acme.com\n",
    "a@-acme.com",
    "a@a_b.com",
    "a@例え.jp",
    "a@xn--a.com",
    "a@mail.xn--acme.com",
    "a@xn--zzz-.com",
    "a@xn---omja.acme.com",
    `a@${"x".repeat(64)}.com`,
    `a@${"x.".repeat(126)}co`,
    `a@${"x.".repeat(200)}com`,
  ];
  for (const email of addresses) assert.equal(outcome({ email }, "given"), "header:given", email);
});

test("an e-mail address that is not verified is not used", () => {
  for (const email_verified of [false, "false", null, 0, 1, "", "no", "True", "yes", [], [true], {}])
    assert.equal(outcome({ email: "a@acme.com", email_verified }), MISSING, JSON.stringify(email_verified));
  for (const email_verified of [true, "true", undefined])
    assert.equal(outcome({ email: "a@acme.com", email_verified }), "email:acme");
  for (const claim of ["email", "company"])
    assert.equal(
      outcome({ [claim]: "acme", [`${claim}_verified`]: false }, "globex", claim),
      "header:globex",
    );
});

test("hostile strings are handled in time that grows with their length only", () => {
  const size = 200_000;
  const hostile = ["-", "a-", " ", "@", "\u0301", "a\u0301", "\ufdfa", "🚀", "a.", "x"].map(text =>
    text.repeat(size),
  );
  const started = process.cpuUsage();
  for (const text of hostile) {
    slugify(text);
    outcome({ org: text, email: text, tenant: undefined });
    outcome({ email: `a@${text}.com` }, text.slice(0, size));
    outcome({}, undefined, text);
  }
  // A quadratic pass over one of them alone would take minutes.
  assert.ok(process.cpuUsage(started).user < 20_000_000);
});
