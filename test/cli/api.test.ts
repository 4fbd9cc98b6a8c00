/** The commands that call the API, as an operator and as a tenant's owner use them, against a service that listens. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import { freePort } from "../../src/embedded/server.ts";
import { createDatabase, createService, seedTenant, seedUser, TEST_SECRET, token } from "../harness.ts";
import { makeFolder, outcome, tenancy } from "./command.ts";

const database = await createDatabase();
const service = await createService(database, { SERVICE_TENANT_DELETION_GRACE: "7" });
await service.app.listen({ port: 0, host: "127.0.0.1" });
after(async () => {
  await service.close();
  await database.drop();
});
const { port } = service.app.server.address() as AddressInfo;
const acme = await seedTenant(database.sql, { slug: "acme", name: "Acme" });
await seedUser(database.sql, acme, { subject: "alice", role: "owner" });

const url = `http://127.0.0.1:${port}`;
const operator = { TENANCY_URL: url, TENANCY_TOKEN: await token({ sub: "op", roles: ["tenant-operator"] }) };
const alice = { TENANCY_URL: url, TENANCY_TOKEN: await token({ sub: "alice" }) };

/** Standard output of a command that must succeed. */
async function run(env: Record<string, string>, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await outcome(tenancy(args, env));
  assert.deepEqual([code, stderr], [0, ""], args.join(" "));
  return stdout;
}
/** Standard error of a command that must fail. */
async function refused(env: Record<string, string>, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await outcome(tenancy(args, env));
  assert.deepEqual([code, stdout], [1, ""], args.join(" "));
  return stderr;
}
const json = async (env: Record<string, string>, ...args: string[]) =>
  JSON.parse(await run(env, ...args, "--json"));

test("an operator creates, lists, shows, suspends, resumes, deletes and restores a tenant", async () => {
  assert.match(
    await run(operator, "tenants", "create", "hooli", "--name", "Hooli", "--owner", "carol"),
    /^Tenant 'Hooli' \(hooli\) created successfully: [0-9a-f-]{36}$/,
  );
  const [header, first, second] = (await run(operator, "tenants", "list", "--order", "name")).split("\n");
  assert.match(header!, /^slug +name +status +created +tenant_id$/);
  assert.match(first!, /^acme +Acme +active +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +[0-9a-f-]{36}$/);
  assert.match(second!, /^default /);
  const { slug, members_count } = await json(operator, "tenants", "show", "hooli");
  assert.deepEqual([slug, members_count], ["hooli", 1]);
  assert.equal(
    await run(operator, "suspend", "hooli", "--reason", "unpaid invoice"),
    "hooli is suspended now",
  );
  assert.match(await refused(operator, "suspend", "hooli"), /\(409 Conflict\)$/);
  const { suspension } = await json(operator, "tenants", "show", "hooli");
  assert.equal(suspension.reason, "unpaid invoice");
  assert.match(await run(operator, "tenants", "show", "hooli"), /suspension .*unpaid invoice/);
  assert.equal(await run(operator, "resume", "hooli"), "hooli is active now");
  assert.match(await run(operator, "tenants", "delete", "hooli", "--dry-run"), /\n\d+ rows in all$/);
  const unconfirmed = await outcome(tenancy(["tenants", "delete", "hooli"], operator));
  assert.deepEqual(
    [unconfirmed.code, unconfirmed.stderr],
    [1, "Nothing was deleted: --yes deletes without asking"],
  );
  assert.match(
    await run(operator, "tenants", "delete", "hooli", "--yes", "--reason", "closed"),
    /^Tenant 'Hooli' \(hooli\) deleted/,
  );
  assert.equal(
    (await json(operator, "tenants", "list", "--status", "deleted")).slug,
    "hooli",
    "one JSON object a line",
  );
  assert.match(await run(operator, "tenants", "delete", "hooli", "--yes"), /kept until/);
  assert.equal(await run(operator, "restore", "hooli"), "hooli is active now");
  assert.match(
    await refused(operator, "tenants", "purge", "hooli", "--yes"),
    /is active, not deleted \(409 /,
  );
  await run(operator, "tenants", "delete", "hooli", "--yes");
  assert.match(await run(operator, "tenants", "purge", "hooli", "--dry-run"), /\n\d+ rows in all$/);
  assert.match(await run(operator, "tenants", "purge", "hooli", "--yes"), /has been permanently deleted/);
  assert.equal(await refused(operator, "restore", "hooli"), "There is no tenant with the slug hooli");
});

test("an operator approves and rejects registrations", async () => {
  await seedTenant(database.sql, { slug: "waiting", status: "pending" });
  await seedTenant(database.sql, { slug: "spam", status: "pending" });
  assert.equal(await run(operator, "approve", "waiting"), "waiting is active now");
  assert.match(await run(operator, "reject", "spam", "--reason", "spam"), /^Tenant 'spam' \(spam\) deleted/);
  assert.equal(await refused(operator, "approve", "spam"), "There is no tenant with the slug spam");
});

test("an operator lists, adds and removes members, and changes their roles", async () => {
  const bob = await json(operator, "members", "add", "acme", "bob", "--email", "bob@acme.example");
  assert.deepEqual([bob.auth_subject, bob.role], ["bob", "member"]);
  assert.match(
    await run(operator, "members", "role", "acme", bob.user_id, "admin"),
    /^user_id .*\nrole +admin$/m,
  );
  assert.match(await run(operator, "members", "list", "acme"), /^bob +jwt +admin +bob@acme\.example/m);
  assert.equal(await run(operator, "members", "remove", "acme", bob.user_id), "Member removed");
});

test("an owner creates, lists and revokes invitations and keys, whose secrets are shown once", async () => {
  const { token: invitation, invitation_id } = await json(alice, "invitations", "create", "acme");
  assert.ok(invitation.startsWith(`tmi_${acme}`));
  assert.match(
    await run(alice, "invitations", "list", "acme"),
    new RegExp(`^member .* ${invitation_id}$`, "m"),
  );
  await run(alice, "invitations", "revoke", "acme", invitation_id);
  assert.equal((await run(alice, "invitations", "list", "acme")).split("\n").length, 1);
  const { key, key_id } = await json(alice, "keys", "create", "acme", "nightly job", "--expires", "90d");
  assert.match(key, new RegExp(`^tms_${acme}_`));
  assert.match(await run(alice, "keys", "list", "acme"), /^nightly job +member /m);
  await run(alice, "keys", "revoke", "acme", key_id);
  const claims = { ...alice, TENANCY_TOKEN: await token({ sub: "alice", tenant: "acme" }) };
  for (const command of ["keys", "invitations"])
    assert.equal(
      await refused(claims, command, "create", "globex", ...(command === "keys" ? ["ci"] : [])),
      "TENANCY_TOKEN is for the tenant acme, not for globex",
    );
});

test("a list asks for what it prints, and for no page more", async () => {
  const asked: (string | undefined)[] = [];
  const server = createServer((request, reply) => {
    asked.push(request.url);
    const tenants = Array.from({ length: 1_000 }, (_, i) => ({ slug: `t${i}`, name: "T", status: "active" }));
    reply.setHeader("link", '</api/setup/tenants?cursor=more>; rel="next"');
    reply.setHeader("content-type", "application/json").end(JSON.stringify({ tenants }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const env = { ...operator, TENANCY_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
  const { stderr } = await outcome(tenancy(["tenants", "list", "--limit", "2000"], env));
  server.close();
  assert.equal(stderr, "The list goes on: --limit takes a larger number");
  assert.deepEqual(
    asked.map(address => new URLSearchParams(address!.split("?")[1]).get("cursor")),
    [null, "more"],
  );
});

test("a list that goes on says so, and a name cannot write to the terminal", async () => {
  await seedTenant(database.sql, { slug: "hostile", name: "\u001b[31m\u202eevil" });
  const { code, stdout, stderr } = await outcome(tenancy(["tenants", "list", "--limit", "1"], operator));
  assert.deepEqual([code, stderr], [0, "The list goes on: --limit takes a larger number"]);
  assert.match(stdout, /^hostile +\\u001b\[31m\\u202eevil +active/m);
});

test("a missing argument or a refusal gives an error of one line", async () => {
  const away = `http://127.0.0.1:${await freePort()}`;
  assert.equal(await refused(alice, "tenants", "list"), "User does not belong to tenant (403 Access denied)");
  assert.match(await refused(operator, "keys", "list", "acme"), /\(403 Access denied\)$/);
  assert.equal(
    await refused({ TENANCY_URL: url }, "tenants", "list"),
    "TENANCY_TOKEN, the caller's token, is missing, and TENANCY_URL is set",
  );
  assert.equal(
    await refused({ TENANCY_URL: away, TENANCY_TOKEN: "x" }, "tenants", "list"),
    `${away} cannot be reached (ECONNREFUSED): TENANCY_URL is the service's address`,
  );
  assert.match(
    await refused(operator, "tenants", "create", "NO", "--name", "No"),
    /^slug .*\(422 Validation failed\)$/,
  );
  assert.equal(
    await refused(operator, "approve"),
    "An argument is missing: tenancy approve --help shows all",
  );
});

test("without an address SERVICE_JWT_SECRET signs an operator's token, before the embedded one", async () => {
  const folder = makeFolder();
  writeFileSync(`${folder}/secrets.json`, JSON.stringify({ jwt: "x".repeat(43) }), { mode: 0o600 });
  const env = { SERVICE_PORT: String(port), SERVICE_DATA_DIR: folder };
  const create = ["tenants", "create", "umbrella", "--name", "Umbrella"];
  assert.match(
    await run({ ...env, SERVICE_JWT_SECRET: TEST_SECRET }, ...create),
    /^Tenant 'Umbrella' \(umbrella\) created/,
  );
  assert.equal(
    await refused({ ...env, SERVICE_JWT_SECRET: "y".repeat(43) }, ...create),
    `The service at ${url} refuses a token that SERVICE_JWT_SECRET signed: set its own SERVICE_JWT_* variables, or TENANCY_TOKEN`,
  );
  assert.equal(
    await refused({ ...env, SERVICE_JWT_JWKS_URL: "https://issuer.example/jwks" }, ...create),
    "This service verifies tokens with a public key, and only the holder of the private key can sign them",
  );
  rmSync(folder, { recursive: true });
});

test("without an address the embedded secret signs an operator's token", async () => {
  // The service of this test uses the same secret.
  const folder = makeFolder();
  writeFileSync(`${folder}/secrets.json`, JSON.stringify({ jwt: TEST_SECRET }), { mode: 0o600 });
  assert.match(
    await run({ SERVICE_PORT: String(port), SERVICE_DATA_DIR: folder }, "tenants", "list"),
    /^acme /m,
  );
  writeFileSync(`${folder}/secrets.json`, JSON.stringify({ jwt: "x".repeat(43) }));
  assert.equal(
    await refused({ SERVICE_PORT: String(port), SERVICE_DATA_DIR: folder }, "tenants", "list"),
    `The service at ${url} was not started from ${folder}, whose secret signed the token: SERVICE_DATA_DIR names another folder, TENANCY_TOKEN a token`,
  );
  rmSync(folder, { recursive: true });
});
