import type { Static } from "typebox";
import type { CommandModule } from "yargs";
import { loadConfig } from "../config/config.ts";
import { StartupError } from "../errors/startup-error.ts";
import type { Explanation } from "../http/schemas/setup.ts";
import type { Claims } from "../identity/auth.ts";
import type { Asked, Refused } from "../identity/explain.ts";
import { plain } from "../values/printable.ts";
import { flagOption, nameOption, textOption } from "./options.ts";
import { printLine } from "./output.ts";
import { asOwner } from "./owner.ts";

interface Arguments {
  tenant: string | undefined;
  provider: string;
  subject: string | undefined;
  email: string | undefined;
  claims: string | undefined;
  token: string | undefined;
  json: boolean;
}

/** The answer for an identity that was looked up in the database. */
type Explained = Required<Static<typeof Explanation>>;

function claimsOf({ claims, token }: Arguments): Claims | undefined {
  try {
    if (token === undefined && claims === undefined) return undefined;
    const found = JSON.parse(claims ?? Buffer.from(token!.split(".")[1]!, "base64url").toString()) as unknown;
    if (typeof found === "object" && found !== null && !Array.isArray(found)) return found as Claims;
  } catch {}
  throw new StartupError(token === undefined ? "--claims takes a JSON object" : "--token takes a JWT");
}

function toText({ allowed, because, tenant, membership, operator, roles, tables, notes }: Explained): string {
  const flags = ({ name, superuser, bypassrls }: Explained["roles"]["login"]) =>
    [name, superuser && "superuser", bypassrls && "bypassrls"].filter(Boolean).join(", ");
  const width = Math.max(30, ...tables.map(({ table }) => table.length));
  const lines = [
    `${allowed ? "Allowed" : "Refused"}: ${because}`,
    "",
    `tenant      ${tenant.slug ?? "(default)"}, named by ${tenant.source}: ${tenant.tenant_id ? `${tenant.status}, ${tenant.tenant_id}` : "does not exist"}`,
    `membership  ${membership ? `${membership.role} since ${membership.joined_at}${membership.removed_at ? `, ended ${membership.removed_at}` : ""}` : "none"}`,
    `operator    ${operator ? "yes" : "no"}`,
    `roles       logged in as ${flags(roles.login)}; requests act as ${flags(roles.acts_as)}`,
    "",
    `${"table".padEnd(width)} ${"row security".padEnd(13)} ${"holds".padStart(7)} ${"shows".padStart(7)}`,
    ...tables.map(
      ({ table, row_security, held, shown, more }) =>
        `${table.padEnd(width)} ${row_security.padEnd(13)} ${`${held ?? "?"}${more ? "+" : ""}`.padStart(7)} ${String(shown ?? "?").padStart(7)}`,
    ),
    ...notes.flatMap(note => ["", note]),
  ];
  return lines.map(plain).join("\n");
}

/** How requests are resolved. Without the service's addresses, so that the settings they require need not be there. */
function configOf({
  SERVICE_DATABASE_URL: _primary,
  SERVICE_DATABASE_READ_URL: _replica,
  ...env
}: NodeJS.ProcessEnv) {
  return loadConfig(env).config;
}

export const explain: CommandModule<object, Arguments> = {
  command: "explain",
  describe: "Explain why an identity is refused, or sees no rows",
  builder: yargs =>
    yargs
      .option(
        "tenant",
        nameOption("tenant", "Slug of the tenant; with claims or a token, the X-Tenant header"),
      )
      .option("provider", { ...nameOption("provider", "Issuer of the identity"), default: "jwt" })
      .option("subject", nameOption("subject", "Subject of the identity"))
      .option(
        "email",
        nameOption("email", "Instead of a subject: the e-mail address that the tenant has of it"),
      )
      .option("claims", textOption("A token's claims as JSON"))
      .option("token", textOption("A token; its signature is not verified"))
      .conflicts("claims", ["token", "subject", "email"])
      .conflicts("token", ["subject", "email"])
      .conflicts("email", "subject")
      .option("json", flagOption("As JSON"))
      .epilogue(
        "With claims or a token, the environment (SERVICE_MULTI_TENANT_MODE, SERVICE_JWT_TENANT_CLAIM …) " +
          "decides as it does for requests. DATABASE_URL is tms_owner's login; without it the " +
          "embedded Postgres is asked.",
      ),
  handler: async args => {
    const claims = claimsOf(args);
    const { tenant = null, provider, subject = null, email } = args;
    // Loaded late: it imports Fastify, which the other ways through this command do not need.
    const asked: Asked | Refused = claims
      ? (await import("../identity/explain.ts")).askedByClaims(claims, args.tenant, configOf(process.env))
      : { slug: tenant, source: "given", provider, subject, email, operator: false };
    if ("refusal" in asked) {
      const { status, error } = asked.refusal;
      await printLine(
        args.json ? JSON.stringify(asked, null, 2) : `Refused: ${asked.because} (${status} ${error})`,
      );
      return;
    }
    const { slug, source, operator } = asked;
    await asOwner(async sql => {
      const [row] = await sql<{ found: Explained }[]>`
        select api.explain_access(${slug}, ${asked.provider}, ${asked.subject}, ${source}, ${operator},
          ${asked.email ?? null}) as found`;
      await printLine(args.json ? JSON.stringify(row!.found, null, 2) : toText(row!.found));
    });
  },
};
