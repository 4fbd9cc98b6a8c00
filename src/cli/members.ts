import type { Argv, CommandModule } from "yargs";
import { choices, type MemberRole } from "../client/api.ts";
import { API_EPILOGUE, findTenant, openApi } from "./api-client.ts";
import { choiceOption, flagOption, nameOption, numberFrom } from "./options.ts";
import { printLine } from "./output.ts";
import { fields, printRows, second } from "./table.ts";
import { jsonOption, limitOption, slugArgument } from "./tenants.ts";

const userArgument = <T>(yargs: Argv<T>) =>
  yargs.positional("user", { type: "string", demandOption: true, describe: "user_id of the member" });

/** An operator's client, and the tenant with this slug as a parameter of its operations. */
async function inTenant(slug: string) {
  const api = await openApi();
  const { tenant_id } = await findTenant(api, slug);
  return { api, params: { tenant_id } };
}

const list: CommandModule<object, { tenant: string; limit: string; json: boolean }> = {
  command: "list <tenant>",
  describe: "List the members of a tenant, newest first",
  builder: yargs => slugArgument(yargs).option("limit", limitOption).option("json", jsonOption),
  handler: async ({ tenant, limit, json }) => {
    const most = numberFrom(limit, "limit", "a number of members");
    const { api, params } = await inTenant(tenant);
    const page = await api.list("listTenantMembers", { params }, most, ({ members }) => members);
    await printRows(page, json, ["subject", "provider", "role", "email", "joined", "user_id"], one => [
      one.auth_subject,
      one.auth_provider,
      one.role,
      one.email,
      second(one.joined_at),
      one.user_id,
    ]);
  },
};

const add: CommandModule<
  object,
  {
    tenant: string;
    subject: string;
    provider: string | undefined;
    email: string | undefined;
    name: string | undefined;
    role: MemberRole;
    json: boolean;
  }
> = {
  command: "add <tenant> <subject>",
  describe: "Add a member, before the first sign-in",
  builder: yargs =>
    slugArgument(yargs)
      .positional("subject", { type: "string", demandOption: true, describe: "Subject of the token" })
      .option("provider", nameOption("provider", "Issuer of the token; the caller's own by default"))
      .option("email", nameOption("email", "E-mail address"))
      .option("name", nameOption("name", "Name of the person"))
      .option("role", {
        ...choiceOption(choices.MemberRole, "Role in the tenant"),
        default: "member" as const,
      })
      .option("json", flagOption("As JSON")),
  handler: async ({ tenant, subject, provider, email, name, role, json }) => {
    const { api, params } = await inTenant(tenant);
    const body = { auth_subject: subject, auth_provider: provider, email, display_name: name, role };
    const added = await api.call("addTenantMember", { params, body });
    await printLine(json ? JSON.stringify(added) : fields({ ...added }));
  },
};

const role: CommandModule<object, { tenant: string; user: string; role: MemberRole; json: boolean }> = {
  command: "role <tenant> <user> <role>",
  describe: "Change the role of a member",
  builder: yargs =>
    userArgument(slugArgument(yargs))
      .positional("role", { choices: choices.MemberRole, demandOption: true, describe: "The new role" })
      .option("json", flagOption("As JSON")),
  handler: async ({ tenant, user, role, json }) => {
    const { api, params } = await inTenant(tenant);
    const changed = await api.call("changeTenantMember", {
      params: { ...params, user_id: user },
      body: { role },
    });
    await printLine(json ? JSON.stringify(changed) : fields({ ...changed }));
  },
};

const remove: CommandModule<object, { tenant: string; user: string; json: boolean }> = {
  command: "remove <tenant> <user>",
  describe: "End a membership at once; the member's boards stay",
  builder: yargs => userArgument(slugArgument(yargs)).option("json", flagOption("As JSON")),
  handler: async ({ tenant, user, json }) => {
    const { api, params } = await inTenant(tenant);
    const removed = await api.call("removeTenantMember", { params: { ...params, user_id: user } });
    await printLine(json ? JSON.stringify(removed) : removed.message);
  },
};

export const members: CommandModule = {
  command: "members <action>",
  describe: "List, add or remove members of a tenant, or change their roles",
  builder: yargs =>
    yargs.command(list).command(add).command(role).command(remove).demandCommand(1).epilogue(API_EPILOGUE),
  handler: () => {},
};
