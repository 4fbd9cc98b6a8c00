/**
 * An operator creates a tenant, reads it, changes it and deletes it; a member looks around.
 * Paste the variables that `npm run demo` prints, then:
 *   export URL OPERATOR ALICE; node --import tsx examples/typescript/tenants.ts
 */
import { createClient } from "../../src/client/client.ts";

const { URL: url = "http://127.0.0.1:3000", OPERATOR = "", ALICE = "" } = process.env;

const operator = createClient({ url, token: OPERATOR });
const created = await operator("createTenant", {
  headers: { "Idempotency-Key": "example-vandelay" },
  body: { name: "Vandelay", slug: "vandelay", settings: { plan: "team" } },
});
if (created.status !== 201 && created.status !== 200) throw new Error(created.body.detail);
const { tenant_id } = created.body;
console.log(created.body.message);

const read = await operator("getTenant", { params: { tenant_id } });
const changed = await operator("updateTenant", {
  params: { tenant_id },
  headers: { "If-Match": read.headers.get("etag")! },
  body: { name: "Vandelay Industries" },
});
if (changed.status !== 200) throw new Error(changed.body.detail);
console.log(`${changed.body.slug} is now called ${changed.body.name}`);

const preview = await operator("deleteTenant", { params: { tenant_id }, query: { dry_run: true } });
if (preview.status !== 200) throw new Error(preview.body.detail);
if ("rows" in preview.body) console.log(`Its deletion would delete ${preview.body.total_rows} row(s)`);
const deleted = await operator("deleteTenant", { params: { tenant_id }, query: { reason: "Only a trial" } });
if (deleted.status !== 200) throw new Error(deleted.body.detail);
if ("message" in deleted.body) console.log(deleted.body.message);

const alice = createClient({ url, token: ALICE, tenant: "acme" });
const current = await alice("getCurrentTenant");
if (current.status !== 200) throw new Error(`GET /api/tenants/current answered ${current.status}`);
console.log(`Alice is ${current.body.membership.role} of ${current.body.tenant.name}`);

const boards = await alice("listBoards", { query: { limit: 10 } });
if (boards.status === 200) for (const { title } of boards.body.boards) console.log(`- ${title}`);

const elsewhere = await createClient({ url, token: ALICE, tenant: "globex" })("listBoards");
console.log(`globex answers ${elsewhere.status}`);
