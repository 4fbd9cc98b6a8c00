import assert from "node:assert/strict";
import { after, test } from "node:test";
import { loadConfig } from "../../src/config/config.ts";
import { isOperator, operatorClaims } from "../../src/identity/operator.ts";
import { token } from "../harness.ts";
import { createWorld } from "../http/world.ts";

const ADA = "ada@acme.com";
const world = await createWorld({ SERVICE_OPERATOR_CLAIM: "email", SERVICE_OPERATOR_ROLE: ADA });
after(() => world.end());

const is = (claims: object, claim: string, role = ADA) =>
  isOperator(JSON.parse(JSON.stringify(claims)) as Record<string, unknown>, { claim, role });

test("an address makes an operator of its owner only: of a token that says it is verified", async () => {
  const status = async (claims: object) => {
    const bearer = await token({ sub: "eve", tenant: "operations", ...claims });
    return (await world.service.request({ url: "/api/setup/tenants", token: bearer })).status;
  };
  for (const email_verified of [true, "true"])
    assert.equal(await status({ email: ADA, email_verified }), 200);
  for (const email_verified of [false, "false", undefined, null, 1, "yes", [true]])
    assert.equal(await status({ email: ADA, email_verified }), 403, JSON.stringify(email_verified));
  for (const email of [`eve ${ADA}`, `${ADA} eve@evil.com`, [ADA], { [ADA]: true }, ADA.toUpperCase()])
    assert.equal(await status({ email, email_verified: true }), 403, JSON.stringify(email));
});

test("telephone numbers and addresses in custom claims must be verified, too", () => {
  for (const claim of ["phone_number", "email", "user.email", "https://acme.com/email", "urn:acme:email"]) {
    assert.equal(is({ [claim]: ADA, [`${claim}_verified`]: true }, claim), true, claim);
    for (const verified of [false, "false", undefined, null, "maybe"])
      assert.equal(is({ [claim]: ADA, [`${claim}_verified`]: verified }, claim), false, claim);
  }
  assert.equal(is({ user: { email: ADA, email_verified: true } }, "user.email"), true);
  assert.equal(is({ user: { email: ADA }, email_verified: true }, "user.email"), false);
});

test("an address under any other name makes an operator only when the token says that this claim is verified", () => {
  for (const claim of [
    "mail",
    "Email",
    "e_mail",
    "emails",
    "upn",
    "preferred_username",
    "user.mail",
    "contact",
    "https://a.b/mobile",
  ]) {
    for (const held of [ADA, [ADA], ["eve@evil.com", ADA]]) {
      assert.equal(is({ [claim]: held, email: ADA, email_verified: true }, claim), false, claim);
      for (const verified of [false, "false", null, "maybe", 1])
        assert.equal(is({ [claim]: held, [`${claim}_verified`]: verified }, claim), false, claim);
    }
  }
  for (const claim of ["mail", "Email", "contact"])
    assert.equal(is({ [claim]: ADA, [`${claim}_verified`]: true }, claim), true, claim);
  assert.equal(is({ emails: [ADA], emails_verified: "true" }, "emails"), true);
  const nested = { emails: [{ value: ADA, verified: false }], user: { mail: ADA }, email_verified: true };
  for (const claim of ["emails.0.value", "user.mail"]) assert.equal(is(nested, claim), false, claim);
  for (const claim of ["profile_number", "contact"])
    assert.equal(is({ [claim]: "+44 20 7946" }, claim, "+44 20 7946"), false, claim);
});

test("an address counts as it is in claims that only the provider writes", () => {
  for (const claim of ["roles", "groups", "cognito:groups", "sub"])
    assert.equal(is({ [claim]: ADA }, claim), true, claim);
});

test("any claim that the token calls unverified makes no operator", () => {
  for (const claim of ["roles", "groups"])
    for (const verified of [false, "false", null, 0, "no", {}])
      assert.equal(is({ [claim]: ADA, [`${claim}_verified`]: verified }, claim), false, claim);
});

test("a claim of one value is never read as words, nor is any claim where the role is an address", () => {
  const claims = [
    "sub",
    "name",
    "nickname",
    "preferred_username",
    "upn",
    "unique_name",
    "https://a.b/username",
  ];
  for (const claim of claims) {
    assert.equal(is({ [claim]: "ops" }, claim, "ops"), true, claim);
    for (const value of ["eve ops", "ops eve", ["ops"]])
      assert.equal(is({ [claim]: value }, claim, "ops"), false, claim);
  }
  assert.equal(is({ mail: `eve ${ADA}` }, "mail"), false);
  assert.equal(is({ groups: ["all@acme.com", ADA] }, "groups"), true);
  for (const claim of ["scope", "scp", "roles", "rename"])
    assert.equal(is({ [claim]: "read ops" }, claim, "ops"), true, claim);
});

test("the claims that make an operator do, beside those that a token has already", () => {
  for (const [claim, role] of [
    ["roles", "tenant-operator"],
    ["https://acme.com/roles", "tenant-operator"],
    ["email", ADA],
    ["https://acme.com/phone_number", "+44 20 7946 0000"],
    ["sub", "auth0|ada"],
    ["mail", ADA],
    ["emails", ADA],
  ] as const) {
    const env = { SERVICE_OPERATOR_CLAIM: claim, SERVICE_OPERATOR_ROLE: role };
    const { operator } = loadConfig(env).config;
    for (const held of [{}, { [claim]: "other" }])
      assert.equal(isOperator({ ...held, ...operatorClaims(held, operator) }, operator), true, claim);
  }
});
