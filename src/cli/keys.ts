import type { CommandModule } from "yargs";
import { choices, type KeyRole } from "../client/api.ts";
import { openTenant } from "./api-client.ts";
import { MEMBER_EPILOGUE, revokeCommand } from "./invitations.ts";
import { choiceOption, flagOption, nameOption, numberFrom } from "./options.ts";
import { printLine } from "./output.ts";
import { fields, printRows, second } from "./table.ts";
import { jsonOption, limitOption, slugArgument } from "./tenants.ts";
import { parseDuration } from "./token.ts";

const list: CommandModule<object, { tenant: string; limit: string; json: boolean }> = {
  command: "list <tenant>",
  describe: "List the API keys of a tenant, newest first",
  builder: yargs => slugArgument(yargs).option("limit", limitOption).option("json", jsonOption),
  handler: async ({ tenant, limit, json }) => {
    const most = numberFrom(limit, "limit", "a number of keys");
    const page = await (await openTenant(tenant)).list("listKeys", {}, most, ({ keys }) => keys);
    await printRows(page, json, ["name", "role", "created", "expires", "last used", "key_id"], one => [
      one.name,
      one.role,
      second(one.created_at),
      second(one.expires_at),
      second(one.last_used_at),
      one.key_id,
    ]);
  },
};

const create: CommandModule<
  object,
  { tenant: string; name: string; role: KeyRole; expires: string | undefined; json: boolean }
> = {
  command: "create <tenant> <name>",
  describe: "Create an API key; prints the key, which is shown only once",
  builder: yargs =>
    slugArgument(yargs)
      .positional("name", { type: "string", demandOption: true, describe: "What the key is for" })
      .option("role", {
        ...choiceOption(choices.KeyRole, "Role in the tenant"),
        default: "member" as const,
      })
      .option("expires", nameOption("expires", "Lifetime, such as 90d; without it the key does not expire"))
      .option("json", flagOption("As JSON")),
  handler: async ({ tenant, name, role, expires, json }) => {
    const body = {
      name,
      role,
      expires_at:
        expires === undefined
          ? undefined
          : new Date(Date.now() + parseDuration(expires) * 1000).toISOString(),
    };
    const made = await (await openTenant(tenant)).call("createKey", { body });
    await printLine(json ? JSON.stringify(made) : fields(made));
  },
};

const revoke = revokeCommand("Revoke an API key; its next request is refused", "key_id", (api, key_id) =>
  api.call("revokeKey", { params: { key_id } }),
);

export const keys: CommandModule = {
  command: "keys <action>",
  describe: "List, create or revoke API keys of a tenant",
  builder: yargs =>
    yargs.command(list).command(create).command(revoke).demandCommand(1).epilogue(MEMBER_EPILOGUE),
  handler: () => {},
};
