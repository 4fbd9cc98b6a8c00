import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { after, test } from "node:test";
import { jwtVerify } from "jose";
import { some } from "../harness.ts";
import { copyProject, makeFolder, outcome, tenancy } from "./command.ts";

const folder = makeFolder();
after(() => rmSync(folder, { recursive: true, force: true }));

const SECRET = "a secret of at least thirty-two bytes for these tests";
const claimsOf = async (token: string, secret = SECRET) =>
  (await jwtVerify(token, new TextEncoder().encode(secret), { typ: "JWT" })).payload as Record<
    string,
    unknown
  >;

const inHours = (exp: unknown) => Math.round((exp as number) / 3600 - Date.now() / 3_600_000);

test("token prints one signed token and nothing else, with the given claims", async () => {
  const args =
    "token --sub alice --email a@acme.example --operator --tenant acme --claim n=1 --claim list=[2] --claim https://a.b/c=x=y";
  const { code, stdout, stderr } = await outcome(
    tenancy([...args.split(" "), "--expires", "15m"], { SERVICE_JWT_SECRET: SECRET }),
  );
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  assert.match(stdout, /^[\w-]+\.[\w-]+\.[\w-]+$/);
  const { exp, ...claims } = await claimsOf(stdout);
  assert.ok(Math.abs((exp as number) - Date.now() / 1000 - 900) < 60);
  assert.deepEqual(claims, {
    sub: "alice",
    email: "a@acme.example",
    tenant: "acme",
    roles: ["tenant-operator"],
    n: 1,
    list: [2],
    "https://a.b/c": "x=y",
  });
});

test("token follows the configuration, so that the service accepts what it prints", async () => {
  const env = {
    SERVICE_JWT_SECRET: SECRET,
    SERVICE_JWT_ISSUER: "https://issuer.example",
    SERVICE_JWT_AUDIENCE: "tenants,other",
    SERVICE_JWT_ALGORITHMS: "HS384",
    SERVICE_JWT_TENANT_CLAIM: "company",
    SERVICE_OPERATOR_CLAIM: "scope",
    SERVICE_OPERATOR_ROLE: "ops",
  };
  const args = "token --sub 42 --operator --tenant acme --claim scope=read --claim sub=of-claim --expires 2d";
  const { stdout } = await outcome(tenancy(args.split(" "), env));
  const { exp, ...claims } = await claimsOf(stdout);
  assert.equal(inHours(exp), 48);
  assert.deepEqual(claims, {
    sub: "of-claim",
    iss: "https://issuer.example",
    aud: "tenants",
    company: "acme",
    scope: ["read", "ops"],
  });
  assert.equal(JSON.parse(Buffer.from(stdout.split(".")[0]!, "base64url").toString()).alg, "HS384");
});

test("token makes an operator of an address that is verified, and keeps every claim as it is given", async () => {
  const env = {
    SERVICE_JWT_SECRET: SECRET,
    SERVICE_OPERATOR_CLAIM: "email",
    SERVICE_OPERATOR_ROLE: "ada@acme.example",
  };
  const given = "--claim iat=0 --claim exp=0 --claim nbf=0.5 --claim n=ü";
  const { stdout } = await outcome(
    tenancy(["token", "--sub", "ada", "--operator", ...given.split(" ")], env),
  );
  const [, payload] = stdout.split(".");
  assert.deepEqual(JSON.parse(Buffer.from(payload!, "base64url").toString()), {
    sub: "ada",
    exp: 0,
    iat: 0,
    nbf: 0.5,
    n: "ü",
    email: "ada@acme.example",
    email_verified: true,
  });
});

test("token without a configured secret signs with the data folder's, and makes that once", async () => {
  const dataDir = path.join(folder, "data");
  const ask = (...more: string[]) =>
    outcome(tenancy(["token", "--sub", "alice", ...more], { SERVICE_DATA_DIR: dataDir }));
  const [first, second] = [await ask(), await ask("--expires", "3600s")];
  const file = path.join(dataDir, "secrets.json");
  const { jwt } = JSON.parse(readFileSync(file, "utf8")) as { jwt: string };
  assert.equal(statSync(file).mode & 0o777, 0o600);
  for (const { stdout } of [first, second]) {
    const { sub, exp } = await claimsOf(stdout, jwt);
    assert.deepEqual([sub, inHours(exp)], ["alice", 1]);
  }
});

test("token says in one sentence why it cannot", async () => {
  const pem = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }).toString();
  const cases: [string[], Record<string, string>, RegExp][] = [
    [
      ["--sub", "a"],
      { SERVICE_JWT_PUBLIC_KEY: pem },
      /^This service verifies tokens with a public key.*sign them$/,
    ],
    [
      ["--sub", "a"],
      { SERVICE_JWT_JWKS_URL: "https://login.example/keys" },
      /^This service verifies tokens with a public key/,
    ],
    ...["soon", "0d", "1h30m", "1000000d"].map((time): [string[], Record<string, string>, RegExp] => [
      ["--sub", "a", "--expires", time],
      { SERVICE_JWT_SECRET: SECRET },
      new RegExp(`^--expires takes a time like .* not "${time}"$`),
    ]),
    [
      ["--sub", "a", "--claim", "=novalue"],
      { SERVICE_JWT_SECRET: SECRET },
      /^--claim takes name=value, not "=novalue"$/,
    ],
    [
      ["--sub", "a", "--claim", "novalue"],
      { SERVICE_JWT_SECRET: SECRET },
      /^--claim takes name=value, not "novalue"$/,
    ],
    ...["n=1e400", "n=-1e400", 'n={"ids":[12345678901234567890]}'].map(
      (claim): [string[], Record<string, string>, RegExp] => [
        ["--sub", "a", "--claim", claim],
        { SERVICE_JWT_SECRET: SECRET },
        claim.includes("e400")
          ? /^--claim n is a number out of range$/
          : /^--claim n contains the number \d+, which cannot be kept exactly: write it in quotes, as a text$/,
      ],
    ),
    [
      ["--sub", "a", "--claim", 'n={"id":1,"id":2}'],
      { SERVICE_JWT_SECRET: SECRET },
      /^--claim n contains the field id twice$/,
    ],
    [
      ["--sub", "a", "--claim", "n=1", "--claim", "m=1", "--claim", "n=2"],
      { SERVICE_JWT_SECRET: SECRET },
      /^--claim n is given more than once$/,
    ],
    [
      ["--sub", "a", "--tenant", "acme", "--claim", "org=other"],
      { SERVICE_JWT_TENANT_CLAIM: "org" },
      /^--claim org is given beside --tenant$/,
    ],
    [
      ["--sub", "a", "--email", "a@acme.example", "--claim", "email=b@acme.example"],
      {},
      /^--claim email is given beside --email$/,
    ],
    [["--sub", "a", "--sub", "b"], { SERVICE_JWT_SECRET: SECRET }, /^--sub is given more than once$/],
    [["--sub", "x".repeat(256)], { SERVICE_JWT_SECRET: SECRET }, /^--sub takes one subject/],
    [["--sub="], { SERVICE_JWT_SECRET: SECRET }, /^--sub takes one subject/],
    [["--sub", "a", "--tenant"], {}, /^Not enough arguments following: tenant$/],
    [["--sub", "a", "--claim"], {}, /^Not enough arguments following: claim$/],
    [[], { LC_ALL: "de_DE.UTF-8" }, /^Missing required argument: sub$/],
    [["--sub", "a", "--frob-x"], {}, /^Unknown argument: frob-x$/],
    [["--sub", "a"], { SERVICE_JWT_SECRET: "short" }, /SERVICE_JWT_SECRET: expected a secret of 32 bytes/],
  ];
  for (const [args, env, sentence] of some(cases)) {
    const { code, stdout, stderr } = await outcome(tenancy(["token", ...args], env));
    assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
    assert.match(stderr, sentence);
  }
});

test("token signs for the demo, and says so, until another service was started", async () => {
  const root = copyProject();
  after(() => rmSync(root, { recursive: true, force: true }));
  const begin = (data: string, jwt: string) => {
    mkdirSync(path.join(root, data), { recursive: true });
    writeFileSync(path.join(root, data, "secrets.json"), JSON.stringify({ jwt }));
  };
  const token = (env = {}) => outcome(tenancy(["token", "--sub", "s"], env, root));
  assert.equal((await token()).stderr, "");
  rmSync(path.join(root, ".data"), { recursive: true });
  begin(".data/demo", SECRET);
  assert.equal((await token({ SERVICE_DATA_DIR: path.join(root, "own") })).stderr, "");
  const ofDemo = await token();
  assert.match(ofDemo.stderr, /^Nothing was started in \S+\.data yet: this is about the demo, in \S+demo$/);
  assert.equal((await claimsOf(ofDemo.stdout)).sub, "s");
  begin(".data", SECRET.toUpperCase());
  const ofService = await token();
  assert.equal(ofService.stderr, "");
  assert.equal((await claimsOf(ofService.stdout, SECRET.toUpperCase())).sub, "s");
});
