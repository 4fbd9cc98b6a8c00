import { onConnection } from "../database/command-connection.ts";
import { hasSampleProduct } from "../migrate/product.ts";
import { databaseOf, MEMBERS, NEWCOMER } from "./demo-tenants.ts";
import type { Running } from "./start.ts";

/** The commands to paste. They work as printed, in this order. */
export async function guide(
  { address, urls, config }: Running,
  tokens: { operator: string; members: string[]; carol: string },
  codes: { operator: string; alice: string },
  waits: boolean,
) {
  const database = databaseOf(urls!.root);
  const { acme, product } = await onConnection(database, async sql => {
    const [tenant] = await sql<{ id: string }[]>`select id from app.tenants where slug = ${MEMBERS[0].slug}`;
    return { acme: tenant!.id, product: await hasSampleProduct(sql) };
  });
  const table = product ? "app.boards" : "app.users";
  return `Open the console
  as the operator of the deployment:  ${address}/demo/${codes.operator}
  as Alice, who owns acme:            ${address}/demo/${codes.alice}

The tenant management service is at ${address} (try the API at ${address}/docs). Ctrl-C stops it.
Multi-tenant mode is on. The tenants acme and globex ${product ? "have sample data" : "are there"}${waits ? `; ${NEWCOMER.organization} waits for approval` : ""}.
Its files are in ${config.dataDir}: with SERVICE_DATA_DIR set to that folder, npm run audit and the other commands work on them.

Paste into another terminal. First, who you are, for the next 12 hours:

[ -z "$ZSH_VERSION" ] || setopt interactivecomments
OPERATOR=${tokens.operator}
${MEMBERS.map(({ variable }, i) => `${variable}=${tokens.members[i]}`).join("\n")}
CAROL=${tokens.carol}
URL=${address}
API=${address}/api
JSON='Content-Type: application/json'

# The operator creates a tenant, lists all, then reads, updates and deletes the new one
curl -sSw '\\n' $API/setup/tenant -H "Authorization: Bearer $OPERATOR" -H "$JSON" -d '{"name":"Initech","slug":"initech"}'
curl -sSw '\\n' $API/setup/tenants -H "Authorization: Bearer $OPERATOR"
ID=$(curl -sS "$API/setup/tenants?search=initech" -H "Authorization: Bearer $OPERATOR" | grep -oE '[0-9a-f-]{36}')
curl -sSw '\\n' $API/setup/tenant/$ID -H "Authorization: Bearer $OPERATOR"
curl -sSw '\\n' -X PUT $API/setup/tenant/$ID -H "Authorization: Bearer $OPERATOR" -H "$JSON" -d '{"name":"Initrode"}'
curl -sSw '\\n' -X DELETE $API/setup/tenant/$ID -H "Authorization: Bearer $OPERATOR"

# Carol belongs nowhere yet and registers an organization of her own, which waits for the operator
curl -sSw '\\n' $API/tenants/register -H "Authorization: Bearer $CAROL" -H "$JSON" \\
  -d '{"organization_name":"Hooli","admin_email":"carol@hooli.example"}'

# Alice owns acme and Bob owns globex, so each is refused at the other
curl -sSw '\\n' $API/tenants/current -H "Authorization: Bearer $ALICE" -H "X-Tenant: acme"
curl -sSw '\\n' $API/tenants/current -H "Authorization: Bearer $ALICE" -H "X-Tenant: globex"
curl -sSw '\\n' $API/tenants/current -H "Authorization: Bearer $BOB" -H "X-Tenant: globex"

# The database itself keeps tenants apart: as a DBA, be the application inside acme, then inside no tenant
DATABASE='${database}'
psql "$DATABASE" <<'SQL'
begin; set local role tms_app; set local app.tenant_id = '${acme}'; table ${table}; commit;
begin; set local role tms_app; table ${table}; commit;
SQL`;
}
