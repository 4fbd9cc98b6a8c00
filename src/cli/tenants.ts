import type { Argv, CommandModule } from "yargs";
import { choices, type TenantStatus } from "../client/api.ts";
import type { Input } from "../client/client.ts";
import { StartupError } from "../errors/startup-error.ts";
import { plain } from "../values/printable.ts";
import { API_EPILOGUE, findTenant, openApi } from "./api-client.ts";
import { ask } from "./ask.ts";
import { choiceOption, flagOption, nameOption, numberFrom, textOption } from "./options.ts";
import { printLine } from "./output.ts";
import { fields, printRows, second, table } from "./table.ts";

const { order: ORDERS } = choices.listTenants;

export const slugArgument = <T>(yargs: Argv<T>) =>
  yargs.positional("tenant", { type: "string", demandOption: true, describe: "Slug of the tenant" });

export const jsonOption = flagOption("As JSON, one object a line");
export const limitOption = { ...textOption("Number of entries, at most"), default: "100" } as const;

const list: CommandModule<
  object,
  {
    status: TenantStatus | undefined;
    search: string | undefined;
    order: (typeof ORDERS)[number];
    limit: string;
    json: boolean;
  }
> = {
  command: "list",
  describe: "List tenants; those that are deleted only with --status deleted",
  builder: yargs =>
    yargs
      .option("status", choiceOption(choices.TenantStatus, "Only tenants with this status"))
      .option("search", textOption("The name or slug contains this text"))
      .option("order", { ...choiceOption(ORDERS, "Order; a hyphen turns it round"), default: ORDERS[0] })
      .option("limit", limitOption)
      .option("json", jsonOption),
  handler: async ({ status, search, order, limit, json }) => {
    const api = await openApi();
    const most = numberFrom(limit, "limit", "a number of tenants");
    const page = await api.list(
      "listTenants",
      { query: { status, search, order } },
      most,
      ({ tenants }) => tenants,
    );
    await printRows(page, json, ["slug", "name", "status", "created", "tenant_id"], tenant => [
      tenant.slug,
      tenant.name,
      tenant.status,
      second(tenant.created_at),
      tenant.tenant_id,
    ]);
  },
};

const show: CommandModule<object, { tenant: string; json: boolean }> = {
  command: "show <tenant>",
  describe: "Show one tenant: status, members, settings, what its registration says, why it is suspended",
  builder: yargs => slugArgument(yargs).option("json", flagOption("As JSON")),
  handler: async ({ tenant, json }) => {
    const api = await openApi();
    const { tenant_id } = await findTenant(api, tenant);
    const found = await api.call("getTenant", { params: { tenant_id } });
    await printLine(json ? JSON.stringify(found) : fields({ ...found }));
  },
};

const create: CommandModule<
  object,
  {
    tenant: string;
    name: string;
    owner: string | undefined;
    provider: string | undefined;
    email: string | undefined;
    "sample-data": boolean;
    json: boolean;
  }
> = {
  command: "create <tenant>",
  describe: "Create a tenant, with its first owner",
  builder: yargs =>
    slugArgument(yargs)
      .option("name", { ...nameOption("name", "Name of the tenant"), demandOption: true })
      .option("owner", nameOption("owner", "Subject of the first owner's token"))
      .option("provider", nameOption("provider", "Issuer of that token; the caller's own by default"))
      .option("email", nameOption("email", "The owner's e-mail address"))
      .option("sample-data", flagOption("Adds sample data"))
      .option("json", flagOption("As JSON"))
      .implies("provider", "owner")
      .implies("email", "owner"),
  handler: async ({ tenant, name, owner, provider, email, "sample-data": sampleData, json }) => {
    const api = await openApi();
    const created = await api.call("createTenant", {
      body: {
        slug: tenant,
        name,
        include_sample_data: sampleData,
        owner: owner === undefined ? undefined : { auth_subject: owner, auth_provider: provider, email },
      },
    });
    await printLine(json ? JSON.stringify(created) : plain(`${created.message}: ${created.tenant_id}`));
  },
};

/** `delete` and `purge`. Only who does not answer beforehand waits for the rows to be counted. */
const deletion = (
  name: string,
  describe: string,
  question: string,
  query: { purge?: true },
): CommandModule<
  object,
  { tenant: string; "dry-run": boolean; reason: string | undefined; yes: boolean; json: boolean }
> => ({
  command: `${name} <tenant>`,
  describe,
  builder: yargs =>
    slugArgument(yargs)
      .option("dry-run", flagOption("Only count the rows that would be deleted"))
      .option("reason", nameOption("reason", "Why; it stands in the event, for operators only"))
      .option("yes", flagOption("Delete without asking"))
      .option("json", flagOption("As JSON")),
  handler: async ({ tenant, "dry-run": dryRun, reason, yes, json }) => {
    const api = await openApi();
    const { slug, tenant_id } = await findTenant(api, tenant);
    const params = { tenant_id };
    if (dryRun || !yes) {
      const counted = await api.call("deleteTenant", { params, query: { ...query, dry_run: true } });
      if (!("rows" in counted)) throw new StartupError("The service did not count the rows");
      const rows = counted.rows.map(({ relation, rows }) => [relation, rows]);
      const text = `${table(["relation", "rows"], rows)}\n${counted.total_rows} rows in all`;
      await printLine(json ? JSON.stringify(counted) : text);
    }
    if (dryRun) return;
    if (!yes && !process.stdin.isTTY)
      throw new StartupError("Nothing was deleted: --yes deletes without asking");
    if (!yes && (await ask(`${question} ${slug} and these rows? Type its slug: `)) !== slug)
      throw new StartupError("Nothing was deleted");
    const deleted = await api.call("deleteTenant", {
      params,
      query: { ...query, reason },
    });
    const text = "message" in deleted ? `${deleted.message}. ${deleted.warning}` : "";
    await printLine(json ? JSON.stringify(deleted) : plain(text));
  },
});

const remove = deletion("delete", "Delete a tenant and all its rows", "Delete", {});
const purge = deletion(
  "purge",
  "Delete a deleted tenant for good, before its restore window has passed",
  "Delete for good",
  { purge: true },
);

export const tenants: CommandModule = {
  command: "tenants <action>",
  describe: "List, show, create, delete or purge tenants",
  builder: yargs =>
    yargs
      .command(list)
      .command(show)
      .command(create)
      .command(remove)
      .command(purge)
      .demandCommand(1)
      .epilogue(API_EPILOGUE),
  handler: () => {},
};

/** `tenancy approve <tenant>` and the others that change the status of a tenant. */
const move = (
  name: string,
  describe: string,
  operation: "approveTenant" | "rejectTenant" | "suspendTenant" | "resumeTenant" | "restoreTenant",
): CommandModule<object, { tenant: string; reason?: string | undefined; json: boolean }> => ({
  command: `${name} <tenant>`,
  describe,
  builder: yargs => {
    const shared = slugArgument(yargs).option("json", flagOption("As JSON")).epilogue(API_EPILOGUE);
    return operation === "rejectTenant" || operation === "suspendTenant"
      ? shared.option("reason", nameOption("reason", "Why; it stands in the event, for operators only"))
      : shared;
  },
  handler: async ({ tenant, reason, json }) => {
    const api = await openApi();
    const { slug, tenant_id } = await findTenant(api, tenant);
    const body = reason === undefined ? undefined : { reason };
    const input: Input<"suspendTenant"> = { params: { tenant_id }, body };
    const moved = await api.call(operation, input);
    const text = "message" in moved ? moved.message : `${slug} is ${moved.status} now`;
    await printLine(json ? JSON.stringify(moved) : plain(text));
  },
});

export const moves = [
  move("approve", "Approve a pending registration", "approveTenant"),
  move("reject", "Reject a pending registration: deletes the tenant", "rejectTenant"),
  move("suspend", "Refuse all members of a tenant until it is resumed", "suspendTenant"),
  move("resume", "Let the members of a suspended tenant in again", "resumeTenant"),
  move("restore", "Bring a deleted tenant back while its restore window is open", "restoreTenant"),
];
