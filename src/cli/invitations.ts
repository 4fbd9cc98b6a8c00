import type { CommandModule } from "yargs";
import { choices, type MemberRole } from "../client/api.ts";
import { type Api, openTenant } from "./api-client.ts";
import { choiceOption, flagOption, nameOption, numberFrom } from "./options.ts";
import { printLine } from "./output.ts";
import { fields, printRows, second } from "./table.ts";
import { jsonOption, limitOption, slugArgument } from "./tenants.ts";
import { parseDuration } from "./token.ts";

export const MEMBER_EPILOGUE =
  "TENANCY_URL is the service's address (http://127.0.0.1:3000 by default), TENANCY_TOKEN the token of an owner or admin of the tenant.";

const list: CommandModule<object, { tenant: string; limit: string; json: boolean }> = {
  command: "list <tenant>",
  describe: "List the open invitations, newest first",
  builder: yargs => slugArgument(yargs).option("limit", limitOption).option("json", jsonOption),
  handler: async ({ tenant, limit, json }) => {
    const most = numberFrom(limit, "limit", "a number of invitations");
    const page = await (await openTenant(tenant)).list(
      "listInvitations",
      {},
      most,
      ({ invitations }) => invitations,
    );
    await printRows(page, json, ["role", "email", "created", "expires", "invitation_id"], one => [
      one.role,
      one.email,
      second(one.created_at),
      second(one.expires_at),
      one.invitation_id,
    ]);
  },
};

const create: CommandModule<
  object,
  { tenant: string; role: MemberRole; email: string | undefined; expires: string; json: boolean }
> = {
  command: "create <tenant>",
  describe: "Invite somebody; prints the token, which is shown only once",
  builder: yargs =>
    slugArgument(yargs)
      .option("role", {
        ...choiceOption(choices.MemberRole, "Role in the tenant"),
        default: "member" as const,
      })
      .option("email", nameOption("email", "Only a token with this e-mail address may accept"))
      .option("expires", { ...nameOption("expires", "Lifetime: 90s, 15m, 1h, 7d"), default: "7d" })
      .option("json", flagOption("As JSON")),
  handler: async ({ tenant, role, email, expires, json }) => {
    const body = { role, email, expires_in: parseDuration(expires) };
    const made = await (await openTenant(tenant)).call("createInvitation", { body });
    await printLine(json ? JSON.stringify(made) : fields(made));
  },
};

/** The command that revokes an invitation or an API key. */
export const revokeCommand = (
  describe: string,
  idName: string,
  revoke: (api: Api, id: string) => Promise<{ message: string }>,
): CommandModule<object, { tenant: string; id: string; json: boolean }> => ({
  command: "revoke <tenant> <id>",
  describe,
  builder: yargs =>
    slugArgument(yargs)
      .positional("id", { type: "string", demandOption: true, describe: idName })
      .option("json", flagOption("As JSON")),
  handler: async ({ tenant, id, json }) => {
    const gone = await revoke(await openTenant(tenant), id);
    await printLine(json ? JSON.stringify(gone) : gone.message);
  },
});

const revoke = revokeCommand("Revoke an open invitation", "invitation_id", (api, invitation_id) =>
  api.call("revokeInvitation", { params: { invitation_id } }),
);

export const invitations: CommandModule = {
  command: "invitations <action>",
  describe: "List, create or revoke invitations to a tenant",
  builder: yargs =>
    yargs.command(list).command(create).command(revoke).demandCommand(1).epilogue(MEMBER_EPILOGUE),
  handler: () => {},
};
